//! What a store answers when it does not take a part: in one line, and whether waiting helps.

use object_store::Error;
use std::error::Error as _;
use std::fmt;

/// What kind of failure it is, which says what to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// No answer: no route, refused, cut off.
    Unreachable,
    /// No answer in time.
    Slow,
    /// A status of 500 and above, or one that asks for another try.
    Server,
    /// The credentials are unknown, have run out, or do not suffice.
    Denied,
    /// The bucket or the folder does not exist.
    Missing,
    /// The store writes over what is there, although it is asked not to.
    Overwrites,
    /// This request is wrong in itself.
    Refused,
    /// Something else stands under that name.
    Conflict,
    /// Something is said to stand under that name, and is not found there.
    Unclear,
    /// The file in the spool cannot be read.
    Local,
}

/// A failure, told in one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// What to do about it.
    pub kind: Kind,
    /// What was found.
    pub found: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.found)
    }
}

impl Fault {
    pub(crate) fn new(kind: Kind, found: impl Into<String>) -> Fault {
        Fault { kind, found: found.into() }
    }

    /// Whether it is this part's own, so that others may well be taken.
    pub(crate) fn is_of_the_part(&self) -> bool {
        matches!(self.kind, Kind::Refused | Kind::Conflict | Kind::Local)
    }

    /// Whether it may pass by itself. Credentials may be renewed while a recording runs, but before it begins they are
    /// an error.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        matches!(self.kind, Kind::Unreachable | Kind::Slow | Kind::Server)
    }

    /// What to do.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self.kind {
            Kind::Unreachable => "check AWS_ENDPOINT_URL, the network and, for http://, AWS_ALLOW_HTTP=true",
            Kind::Slow => "check the network and the store's load",
            Kind::Server => "check the store; it is asked again",
            Kind::Denied => {
                "check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, and that they may put objects there"
            }
            Kind::Missing => "make the bucket or the folder, or name another",
            Kind::Overwrites => "name a store with conditional puts (If-None-Match)",
            Kind::Refused => "see what the store says",
            Kind::Conflict => "move one of the two away",
            Kind::Unclear => "see what the store has under that name",
            Kind::Local => "see what is wrong with the file",
        }
    }

    /// From what the library makes of an answer.
    pub(crate) fn of(error: &Error) -> Fault {
        let text = chain(error);
        let status = status(&text);
        let code = between(&text, "<Code>", "</Code>");
        let found = match (status, code) {
            (Some(status), Some(code)) => {
                let message = between(&text, "<Message>", "</Message>").unwrap_or_default();
                one_line(&format!("it answers {status} {code} {message}"))
            }
            (Some(status), None) => format!("it answers {status}"),
            (None, _) => one_line(&innermost(error)),
        };
        let kind = match (error, status, code) {
            (_, _, Some("NoSuchBucket")) | (Error::NotFound { .. }, _, _) => Kind::Missing,
            // Answers with the status 400.
            (_, _, Some("ExpiredToken" | "InvalidToken" | "InvalidAccessKeyId" | "TokenRefreshRequired"))
            | (Error::PermissionDenied { .. } | Error::Unauthenticated { .. }, _, _) => Kind::Denied,
            (Error::NotImplemented { .. } | Error::NotSupported { .. }, _, _) => Kind::Overwrites,
            (_, Some(408 | 409 | 429 | 500..), _) => Kind::Server,
            (_, Some(400..), _) => Kind::Refused,
            // A redirection without an address, as of another region.
            (_, Some(_), _) => Kind::Refused,
            (_, None, _) if text.contains("incorrectly configured region") => Kind::Refused,
            _ => Kind::Unreachable,
        };
        Fault { kind, found }
    }
}

/// All texts from the outermost cause to the innermost.
fn chain(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.push('\n');
        text += &inner.to_string();
        cause = inner.source();
    }
    text
}

fn innermost(error: &Error) -> String {
    let mut last = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        last = inner.to_string();
        cause = inner.source();
    }
    last
}

/// The library's errors of requests are not public; their texts are.
fn status(text: &str) -> Option<u16> {
    let (_, rest) = text.split_once("status code: ")?;
    rest.get(..3)?.parse().ok()
}

fn between<'a>(text: &'a str, begin: &str, end: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(begin)?;
    Some(rest.split_once(end)?.0)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn generic(text: &'static str) -> Error {
        Error::Generic { store: "S3", source: text.into() }
    }

    #[test]
    fn the_status_decides_whether_waiting_helps() {
        for (text, kind) in [
            ("Server returned non-2xx status code: 500 Internal Server Error: ", Kind::Server),
            ("Server returned non-2xx status code: 503 Slow Down: <Error><Code>SlowDown</Code></Error>", Kind::Server),
            ("Server returned non-2xx status code: 429 Too Many Requests: ", Kind::Server),
            ("Server returned non-2xx status code: 400 Bad Request: <Code>EntityTooLarge</Code>", Kind::Refused),
            ("Server returned non-2xx status code: 400 Bad Request: <Code>ExpiredToken</Code>", Kind::Denied),
            (
                "Received redirect without LOCATION, this normally indicates an incorrectly configured region",
                Kind::Refused,
            ),
            ("error sending request", Kind::Unreachable),
        ] {
            assert_eq!(Fault::of(&generic(text)).kind, kind, "{text}");
        }
    }

    #[test]
    fn an_answer_is_told_in_one_line() {
        let text = "Server returned non-2xx status code: 503 Service Unavailable: <?xml version=\"1.0\"?>\n<Error><Code>SlowDown</Code>\n\
                    <Message>Please reduce\n your rate.</Message></Error>";
        assert_eq!(Fault::of(&generic(text)).found, "it answers 503 SlowDown Please reduce your rate.");
    }
}
