//! What stands behind a kernel name: an algorithm with its tunables. One name can only be one code at a time.

use crate::fleet::file::Entry;
use crate::{Choice, LoadRequest, PolicyStatus, State, exact_name};
use ccactl_abi::Tunable;
use siphasher::sip::SipHasher13;
use std::fmt;
use std::hash::Hasher;

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

    /// Names what a policy does: the same for a file and for the host that has it in force, on any machine.
    fn revision(&self, kernel_name: &str, enforce: bool) -> String {
        let mut hasher = SipHasher13::new();
        hasher.write(format!("{self}\n{kernel_name}\n{enforce}").as_bytes());
        format!("{:016x}", hasher.finish())
    }

    /// A value that equals the default makes no difference.
    fn new(algorithm: String, mut tunables: Vec<(&'static Tunable, i64)>) -> Self {
        tunables.retain(|(tunable, raw)| *raw != tunable.default_raw);
        tunables.sort_by_key(|(tunable, _)| tunable.name);
        Self { algorithm, tunables }
    }
}

impl PolicyStatus {
    /// Names what the policy does, as [`Entry::revision`] does for a file; none when nothing is registered under its name.
    #[must_use]
    pub fn revision(&self) -> Option<String> {
        Some(Code::loaded(self)?.revision(&self.kernel_name, self.enforce))
    }
}

impl Entry {
    /// Names what the policy does: algorithm, its code where that is from a file, tunables, kernel name, and whether it overrules
    /// applications.
    #[must_use]
    pub fn revision(&self) -> String {
        let LoadRequest { choice, enforce, .. } = &self.request;
        Code::wanted(choice).revision(choice.kernel_name(), *enforce)
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
