//! Which kernel is asked for, and the order of kernels.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// Numbers of a release in their order, without its flavour: `6.12.94+deb13-cloud-amd64` is 6, 12, 94, 13.
fn numbers(release: &str) -> Vec<u64> {
    let version = release.split('-').take_while(|part| part.starts_with(|c: char| c.is_ascii_digit()));
    let digits = version.flat_map(|part| part.split(|c: char| !c.is_ascii_digit()));
    digits.filter_map(|digits| digits.parse().ok()).collect()
}

/// Orders releases as their numbers are: 6.1.0-50 is older than 6.12, and 7.3-cloud older than 7.3.4.
#[must_use]
pub fn by_age(a: &str, b: &str) -> Ordering {
    numbers(a).cmp(&numbers(b)).then_with(|| a.cmp(b))
}

/// A kernel as a user names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// `newest`: the newest that the archive has.
    Newest,
    /// The beginning of a release up to a whole number, such as `6.12` or `6.12.94+deb13-cloud-amd64`: the newest that begins so.
    Version(String),
}

impl Request {
    /// Whether a release is one of those asked for.
    #[must_use]
    pub fn matches(&self, release: &str) -> bool {
        match self {
            Request::Newest => true,
            Request::Version(version) => release
                .strip_prefix(version.as_str())
                .is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric())),
        }
    }

    /// The newest of `releases` that is asked for.
    #[must_use]
    pub fn choose<'a>(&self, releases: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
        releases.into_iter().filter(|release| self.matches(release)).max_by(|a, b| by_age(a, b))
    }
}

/// Why a text names no kernel.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("kernel '{0}': expected newest, or the beginning of a release such as 6.12")]
pub struct BadRequest(String);

impl FromStr for Request {
    type Err = BadRequest;

    fn from_str(text: &str) -> Result<Self, BadRequest> {
        if text == "newest" {
            return Ok(Request::Newest);
        }
        // It becomes part of names of packages and of a path.
        let allowed = |c: char| c.is_ascii_alphanumeric() || ".+-_~".contains(c);
        if text.starts_with(|c: char| c.is_ascii_digit()) && text.chars().all(allowed) {
            Ok(Request::Version(text.to_owned()))
        } else {
            Err(BadRequest(text.to_owned()))
        }
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Request::Newest => "newest",
            Request::Version(version) => version,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARCHIVE: [&str; 6] = [
        "6.12.107+deb13-cloud-amd64",
        "6.1.0-47-cloud-amd64",
        "6.1.0-50-cloud-amd64",
        "7.3-cloud-amd64",
        "6.12.94+deb13-cloud-amd64",
        "7.3.4+deb13-cloud-amd64",
    ];

    fn chosen(text: &str) -> Option<&'static str> {
        text.parse::<Request>().unwrap().choose(ARCHIVE)
    }

    #[test]
    fn a_version_stands_for_the_newest_release_that_begins_with_it() {
        assert_eq!(chosen("6.1"), Some("6.1.0-50-cloud-amd64"));
        assert_eq!(chosen("6.12"), Some("6.12.107+deb13-cloud-amd64"));
        assert_eq!(chosen("6.12.94"), Some("6.12.94+deb13-cloud-amd64"));
        assert_eq!(chosen("6.12.94+deb13-cloud-amd64"), Some("6.12.94+deb13-cloud-amd64"));
        assert_eq!(chosen("7.3"), Some("7.3.4+deb13-cloud-amd64"));
        assert_eq!(chosen("newest"), Some("7.3.4+deb13-cloud-amd64"));
        assert_eq!(chosen("6"), Some("6.12.107+deb13-cloud-amd64"));
        assert_eq!(chosen("6.18"), None);
    }

    #[test]
    fn what_is_no_version_is_refused() {
        for text in ["", "six", "../6.1", "6.1/x", "6.1 ", "-6"] {
            assert!(text.parse::<Request>().is_err(), "{text:?}");
        }
    }
}
