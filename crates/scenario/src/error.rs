//! Why a scenario was not taken.

/// Why a scenario was not taken.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// The file could not be read.
    #[error("{origin}: expected a scenario file or the name of a shipped one, found: {cause}{}", names_hint(nearest))]
    Read {
        /// What the user named.
        origin: String,
        /// Shipped ones with such a name.
        nearest: Vec<String>,
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

/// Why a change was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OverrideError {
    /// There is no `=`.
    #[error("expected FIELD=VALUE such as link.buffer=0.5bdp, found {0:?}")]
    Form(String),
    /// No way to a field.
    #[error("expected a field such as link.buffer, flow[0].start or host.server.rcvbuf_max, found {0:?}")]
    NotAPath(String),
    /// What stands in brackets is not in the scenario.
    #[error("{field}: expected a {of} of this scenario ({there}), found {found:?}")]
    NoSuchEntry {
        /// The whole field.
        field: String,
        /// The array, such as `flow`.
        of: String,
        /// Its entries.
        there: String,
        /// What stands in the brackets.
        found: String,
    },
    /// A part of the field is not a table.
    #[error("{field}: expected a field of the scenario, found that {part:?} is not a table")]
    NotATable {
        /// The whole field.
        field: String,
        /// The part.
        part: String,
    },
    /// An axis of the matrix gives the field another value in every cell.
    #[error("{field}: expected a field that no axis sets, found the axis {axis:?}: choose among its points instead")]
    SetByAxis {
        /// The whole field.
        field: String,
        /// Name of the axis.
        axis: String,
    },
    /// The scenario with the change is not one.
    #[error("{origin} with the changes of the command line: {field}: {message}")]
    Result {
        /// File name.
        origin: String,
        /// Path such as `flow[1].algorithm`.
        field: String,
        /// Expected and found.
        message: String,
    },
}

fn names_hint(nearest: &[String]) -> String {
    let nearest = if nearest.is_empty() { String::new() } else { format!("; nearest: {}", nearest.join(", ")) };
    format!("{nearest}; `ccactl bench list` shows all of them")
}
