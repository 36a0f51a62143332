//! What stands behind a kernel name: an algorithm with its tunables. One name can only be one code at a time.

use crate::{Choice, PolicyStatus, State, exact_name};
use ccactl_abi::Tunable;
use std::fmt;

/// An algorithm with the tunables that differ from their defaults.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Code {
    /// As the user writes it: `f-bbrv2`, `native:cubic`; what is from a file with its hash.
    algorithm: String,
    tunables: Vec<(&'static Tunable, i64)>,
}

impl Code {
    /// What a file asks for.
    pub(crate) fn wanted(choice: &Choice) -> Self {
        Self::new(choice.exact_name(), choice.tunables().to_vec())
    }

    /// What a policy has now; `None` when nothing is registered under its name.
    pub(crate) fn loaded(status: &PolicyStatus) -> Option<Self> {
        if status.state == State::Unregistered {
            return None;
        }
        let tunables = status.tunables.iter().map(|setting| (setting.tunable, setting.raw)).collect();
        // What is from a file may have changed behind its name.
        let own = status.known.filter(|algorithm| !algorithm.is_built_in());
        Some(Self::new(own.map_or_else(|| status.algorithm.clone(), exact_name), tunables))
    }

    /// A value that equals the default makes no difference.
    fn new(algorithm: String, mut tunables: Vec<(&'static Tunable, i64)>) -> Self {
        tunables.retain(|(tunable, raw)| *raw != tunable.default_raw);
        tunables.sort_by_key(|(tunable, _)| tunable.name);
        Self { algorithm, tunables }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.algorithm)?;
        for (tunable, raw) in &self.tunables {
            write!(f, " {}={}", tunable.name, tunable.display(*raw))?;
        }
        Ok(())
    }
}
