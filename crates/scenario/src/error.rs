//! Why a scenario was not taken.

use crate::OverrideError;

/// Why a scenario was not taken.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// The file could not be read.
    #[error("{origin}: expected a scenario file or one of the shipped scenarios ({shipped}), found: {cause}")]
    Read {
        /// What the user named.
        origin: String,
        /// Names of the shipped ones.
        shipped: String,
        /// What the system answered.
        cause: std::io::Error,
    },
    /// It is not TOML.
    #[error("{origin}:{line}: not valid TOML: {message}")]
    Syntax {
        /// File name.
        origin: String,
        /// Line, from 1.
        line: usize,
        /// What the parser says.
        message: String,
    },
    /// A field is unknown, missing or has a value that cannot be.
    #[error("{origin}:{line}: {field}: {message}")]
    Field {
        /// File name.
        origin: String,
        /// Line, from 1.
        line: usize,
        /// Path such as `flow[1].algorithm`.
        field: String,
        /// Expected and found.
        message: String,
    },
    /// A change asked for on the command line does not fit the scenario.
    #[error(transparent)]
    Override(#[from] OverrideError),
}
