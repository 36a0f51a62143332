//! What of a scenario a back end cannot do.

use std::fmt;

/// A field with a value that another back end can carry out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lack {
    /// As on the command line.
    pub field: String,
    /// What this one can do.
    pub expected: String,
    /// What the scenario asks for.
    pub found: String,
}

/// Everything of a scenario that would not be as it says.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Unsupported {
    /// Which back end, as on the command line.
    pub backend: &'static str,
    /// At least one, in the order of the fields.
    pub lacks: Vec<Lack>,
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--link {}: ", self.backend)?;
        for lack in &self.lacks {
            write!(f, "{}: expected {}, found {}; ", lack.field, lack.expected, lack.found)?;
        }
        f.write_str("run it with --link emulator, or change it with --set")
    }
}

/// Collects them, so that one look tells all.
#[derive(Debug, Default)]
pub(crate) struct Lacks(Vec<Lack>);

impl Lacks {
    /// Remembers what is not fulfilled.
    pub fn ensure(
        &mut self,
        fulfilled: bool,
        field: impl Into<String>,
        expected: impl Into<String>,
        found: impl fmt::Display,
    ) {
        if !fulfilled {
            self.0.push(Lack { field: field.into(), expected: expected.into(), found: found.to_string() });
        }
    }

    /// `value`, if there was nothing.
    pub fn none_or<T>(self, backend: &'static str, value: T) -> Result<T, Unsupported> {
        if self.0.is_empty() { Ok(value) } else { Err(Unsupported { backend, lacks: self.0 }) }
    }
}
