//! What a subcommand returns: one line for the user and the exit code, which follow `ccactl`'s own.

use std::fmt;

/// Any failure that has no code of its own.
pub const FAILURE: u8 = 1;
/// Bad arguments.
pub const USAGE: u8 = 2;
/// The kernel, or the way it is set up, lacks something.
pub const KERNEL: u8 = 3;
/// Not root, and no way to become root.
pub const PERMISSION: u8 = 4;

/// A message and the code to exit with.
#[derive(Debug, PartialEq, Eq)]
pub struct Error {
    pub code: u8,
    pub message: String,
}

/// Result of everything in xtask that can fail.
pub type Result<T = ()> = std::result::Result<T, Error>;

impl Error {
    pub fn new(code: u8, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// An I/O error with the object that it is about.
    pub fn io(what: &str, error: &std::io::Error) -> Self {
        Self::new(FAILURE, format!("{what}: {error}"))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
