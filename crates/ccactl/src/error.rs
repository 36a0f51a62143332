//! What ends a subcommand: one line for people, and an exit code, which the library that failed knows.

use ccactl_abi::exit;
use std::io;

/// Result of a subcommand and of its parts.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Any failure of the binary. Its text without those of its causes; [`ccactl_loader::fleet::one_line`] has both.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each is named after what failed")]
pub enum Error {
    #[error(transparent)]
    Loader(#[from] ccactl_loader::Error),
    #[error(transparent)]
    PolicyFile(#[from] ccactl_loader::fleet::FileError),
    #[error(transparent)]
    Fleet(#[from] ccactl_loader::fleet::Error),
    #[error(transparent)]
    Collector(#[from] ccactl_collector::Error),
    #[error(transparent)]
    Report(#[from] ccactl_report::Error),
    #[error(transparent)]
    Screen(#[from] ccactl_observe::live::screen::Error),
    #[error(transparent)]
    Exporter(#[from] ccactl_observe::metrics::Error),
    #[error(transparent)]
    Serve(#[from] ccactl_observe::serve::Error),
    #[error(transparent)]
    Bounds(#[from] ccactl_observe::metrics::BoundsError),
    #[error(transparent)]
    Rollout(#[from] ccactl_observe::rollout::Error),
    #[error(transparent)]
    Split(#[from] ccactl_split::Error),
    #[cfg(feature = "object-store")]
    #[error(transparent)]
    Store(#[from] ccactl_store::Error),
    #[error(transparent)]
    Testbed(#[from] ccactl_testbed::Error),
    #[error(transparent)]
    Search(#[from] ccactl_search::Error),
    #[error(transparent)]
    Suites(#[from] ccactl_suites::Error),
    #[error(transparent)]
    Lab(#[from] ccactl_lab::Error),
    #[error(transparent)]
    Build(#[from] ccactl_native::BuildError),
    #[error(transparent)]
    Output(#[from] ccactl_host::output::Error),
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    System(#[from] nix::errno::Errno),
    /// An argument that the binary itself does not take: what was expected, what was found.
    #[error("{0}")]
    Argument(String),
    /// The binary itself refuses: what was found, what was expected.
    #[error("{0}")]
    Refused(String),
    /// Another failure, with what was being done.
    #[error("{doing}")]
    While { doing: String, source: Box<Error> },
}

impl Error {
    /// Exit code of the binary for this error (`ccactl_abi::exit`). What no library has a code for is a plain failure.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Loader(error) => error.exit_code(),
            Self::PolicyFile(error) => error.exit_code(),
            Self::Fleet(error) => error.exit_code(),
            Self::Collector(error) => error.exit_code(),
            Self::Report(error) => error.exit_code(),
            Self::Screen(error) => error.exit_code(),
            Self::Exporter(error) => error.exit_code(),
            Self::Serve(error) => error.exit_code(),
            Self::Bounds(error) => error.exit_code(),
            Self::Rollout(error) => error.exit_code(),
            Self::Split(error) => error.exit_code(),
            #[cfg(feature = "object-store")]
            Self::Store(ccactl_store::Error::Interrupted) => exit::INTERRUPTED,
            #[cfg(feature = "object-store")]
            Self::Store(error) if error.is_usage() => exit::USAGE,
            #[cfg(feature = "object-store")]
            Self::Store(error) if error.is_denied() => exit::PERMISSION,
            #[cfg(feature = "object-store")]
            Self::Store(_) => exit::FAILURE,
            Self::Testbed(error) => error.exit_code(),
            Self::Search(error) => error.exit_code(),
            Self::Suites(error) => error.exit_code(),
            Self::Lab(error) => error.exit_code(),
            Self::While { source, .. } => source.exit_code(),
            Self::Argument(_) => exit::USAGE,
            Self::Build(_) | Self::Output(_) | Self::Json(_) | Self::Io(_) | Self::System(_) | Self::Refused(_) => {
                exit::FAILURE
            }
        }
    }
}

/// For failures that do not say by themselves what was being done.
pub trait Context<T> {
    /// Puts what was being done before the error.
    fn context(self, doing: &str) -> Result<T>;
    /// The same, where the text takes work.
    fn with_context(self, doing: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: Into<Error>> Context<T> for Result<T, E> {
    fn context(self, doing: &str) -> Result<T> {
        self.with_context(|| doing.to_owned())
    }

    fn with_context(self, doing: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|error| Error::While { doing: doing(), source: Box::new(error.into()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ccactl_loader::fleet::one_line;

    #[test]
    fn what_was_being_done_changes_the_text_and_not_the_code() {
        let bounds: Result<(), _> = Err(ccactl_observe::metrics::BoundsError::Empty);
        let error = bounds.context("--rtt-buckets").unwrap_err();
        assert_eq!(one_line(&error), "--rtt-buckets: expected at least one bound");
        assert_eq!(error.exit_code(), exit::USAGE);
    }

    #[test]
    fn what_no_library_has_a_code_for_is_a_plain_failure() {
        let denied: Result<(), _> = Err(io::Error::from(io::ErrorKind::PermissionDenied));
        let error = denied.with_context(|| "cannot remove it".to_owned()).unwrap_err();
        assert_eq!(one_line(&error), "cannot remove it: permission denied");
        assert_eq!(error.exit_code(), exit::FAILURE);
    }
}
