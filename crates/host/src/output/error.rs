//! Why something cannot be written under a name.

use nix::unistd::geteuid;
use std::io;

pub(super) const A_FILE: &str = "a regular file";
pub(super) const A_FOLDER: &str = "a folder";

/// Result of this module.
pub type Result<T> = std::result::Result<T, Error>;

/// Why something cannot be written under a name. The name is the caller's to tell.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file of ours stands there and is to stay.
    #[error("it exists")]
    Exists,
    /// Something that is not ours stands there.
    #[error("it is {found}, not {expected} of user {user}; remove it, or choose another name")]
    Unfit {
        /// What it is, and whose.
        found: String,
        /// What it should be.
        expected: &'static str,
        /// Whose it should be.
        user: u32,
    },
    /// Another user's link is on the way to the folder, and leads to what is not that user's.
    #[error(
        "{link} on the way is a symbolic link of user {owner} to a folder of user {found}; name the folder itself, or \
         choose another"
    )]
    Led {
        /// Last part of its path.
        link: String,
        /// Who made the link.
        owner: u32,
        /// Who owns the folder.
        found: u32,
    },
    /// The system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<Error> for io::Error {
    fn from(error: Error) -> io::Error {
        match error {
            Error::Io(error) => error,
            Error::Exists => io::Error::new(io::ErrorKind::AlreadyExists, error),
            Error::Unfit { .. } | Error::Led { .. } => io::Error::new(io::ErrorKind::InvalidInput, error),
        }
    }
}

pub(super) fn unfit_as(found: String, expected: &'static str) -> Error {
    Error::Unfit { found, expected, user: geteuid().as_raw() }
}
