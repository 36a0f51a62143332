//! Who may look: whoever has the URL, from a page of this server.

use super::error::{Error, Result};
use ccactl_host::output::{Folder, Place, Replace};
use rand::{TryRngCore, rngs::OsRng};
use std::fmt::Write as _;
use std::fs::Permissions;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use subtle::ConstantTimeEq;

/// Name of the file with the token, in the folder of ccactl's state.
const FILE: &str = "serve-token";
/// Of each half: 128 bits in hexadecimal digits.
const DIGITS: usize = 32;

/// The secret in the URL. It outlives the server, so that an open page goes on after a restart.
#[derive(Clone)]
pub struct Token {
    page: String,
    files: String,
}

impl Token {
    /// The token that lies in `folder`, or a new one that is put there for the owner alone.
    ///
    /// # Errors
    /// [`Error::Token`].
    pub fn of(folder: &Path) -> Result<Token> {
        let path = folder.join(FILE);
        let failed = |cause| Error::Token { path: path.clone(), cause };
        match ccactl_host::input::read_text(&path, 4096) {
            Ok(text) => Token::parse(&text).ok_or_else(|| {
                failed(io::Error::new(io::ErrorKind::InvalidData, "it holds something else: remove it for a new one"))
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let token = Token::new();
                token.write(folder, &path).map_err(failed)?;
                Ok(token)
            }
            Err(cause) => Err(failed(cause)),
        }
    }

    fn write(&self, folder: &Path, path: &Path) -> io::Result<()> {
        Folder::make_for_state(folder)?;
        let draft = Place::at(path)?.draft(Replace::Never)?;
        let mut file = draft.file();
        file.set_permissions(Permissions::from_mode(0o600))?;
        writeln!(file, "{}{}", self.page, self.files)?;
        Ok(draft.publish()?)
    }

    fn new() -> Token {
        let mut bytes = [0; DIGITS];
        OsRng.try_fill_bytes(&mut bytes).expect("the kernel has random numbers");
        let digits = bytes.iter().fold(String::new(), |mut digits, byte| {
            write!(digits, "{byte:02x}").expect("a string takes all");
            digits
        });
        let (page, files) = digits.split_at(DIGITS);
        Token { page: page.to_owned(), files: files.to_owned() }
    }

    fn parse(text: &str) -> Option<Token> {
        let digits = text.trim_end();
        let is_token = digits.len() == 2 * DIGITS && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let (page, files) = digits.split_at_checked(DIGITS).filter(|_| is_token)?;
        Some(Token { page: page.to_owned(), files: files.to_owned() })
    }

    /// First part of the path of everything that the live page is made of.
    #[must_use]
    pub fn page(&self) -> &str {
        &self.page
    }

    /// The same of the files of results: a page among these learns its own address, which leads to no live figures.
    #[must_use]
    pub fn files(&self) -> &str {
        &self.files
    }
}

/// Whether two secrets are the same, in a time that tells nothing of where they differ.
pub(super) fn is_same(given: &str, secret: &str) -> bool {
    given.as_bytes().ct_eq(secret.as_bytes()).into()
}

/// By which names this server may be called. A name that somebody else's DNS leads here is none of them, so that no page
/// of another site can read what is answered.
#[derive(Debug, Clone)]
pub struct Hosts(Vec<String>);

impl Hosts {
    /// An address with its port, and `localhost` where that is a loopback one; further names may have any port.
    #[must_use]
    pub fn new(listening: Option<SocketAddr>, further: Vec<String>) -> Hosts {
        let mut names = further;
        if let Some(address) = listening {
            names.push(address.to_string());
            if address.ip().is_loopback() || address.ip().is_unspecified() {
                names.extend(["localhost", "127.0.0.1", "[::1]"].map(|name| format!("{name}:{}", address.port())));
            }
        }
        Hosts(names)
    }

    /// Whether a `Host` header is one of them.
    #[must_use]
    pub fn has(&self, host: &str) -> bool {
        let bare = host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
        let is = |name: &String| {
            name.eq_ignore_ascii_case(host) || bare.is_some_and(|(bare, _)| name.eq_ignore_ascii_case(bare))
        };
        self.0.iter().any(is)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_stays_and_is_for_its_owner() {
        let folder = tempfile::tempdir().unwrap();
        let (first, second) = (Token::of(folder.path()).unwrap(), Token::of(folder.path()).unwrap());
        assert_eq!((first.page(), first.files()), (second.page(), second.files()));
        assert!(first.page().len() == DIGITS && first.page() != first.files());
        let file = folder.path().join(FILE);
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o077, 0);
        std::fs::write(&file, "guess").unwrap();
        let error = Token::of(folder.path()).err().unwrap().to_string();
        assert!(error.contains("serve-token") && error.contains("remove it"), "{error}");
    }

    #[test]
    fn only_names_of_this_server_are_hosts() {
        let hosts = Hosts::new(Some("127.0.0.1:9098".parse().unwrap()), vec!["edge1.example".to_owned()]);
        for known in ["127.0.0.1:9098", "localhost:9098", "LocalHost:9098", "edge1.example", "edge1.example:443"] {
            assert!(hosts.has(known), "{known}");
        }
        for other in ["", "evil.example", "evil.example:9098", "127.0.0.1", "localhost:80", "edge1.example.evil"] {
            assert!(!hosts.has(other), "{other}");
        }
        let outside = Hosts::new(Some("192.0.2.1:9098".parse().unwrap()), Vec::new());
        assert!(outside.has("192.0.2.1:9098") && !outside.has("localhost:9098"));
    }
}
