//! Where cells run, and who carries their packets.

use ccactl_testbed::bench::Backend;
use serde::{Deserialize, Serialize};

/// Results of one kind only are in one folder.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Place {
    /// Who carries the packets; the emulator in plans that do not say.
    #[serde(default)]
    pub backend: Backend,
    /// Kernel of the virtual lab's guests, as `uname -r` shows it; none for this host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lab: Option<String>,
}

impl From<Backend> for Place {
    fn from(backend: Backend) -> Place {
        Place { backend, lab: None }
    }
}

impl Place {
    /// In the words of the command line.
    pub(crate) fn options(&self) -> String {
        let Place { backend, lab } = self;
        let lab = lab.as_ref().map_or_else(String::new, |release| format!(" in a guest with Linux {release}"));
        format!("--link {backend}{lab}")
    }

    /// For a report.
    #[must_use]
    pub fn described(&self) -> String {
        let lab =
            self.lab.as_ref().map_or_else(String::new, |release| format!(", in the virtual lab with Linux {release}"));
        format!("{}{lab}", self.backend.described())
    }
}
