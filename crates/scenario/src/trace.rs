//! Packet-delivery traces as files that a scenario names.

use crate::units::Rate;
use ccactl_host::input;
use serde::{Serialize, Serializer};
use siphasher::sip128::{Hasher128, SipHasher13};
use std::hash::Hasher;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// More than an hour at 1 Gbit/s takes; a file that is larger is not a trace.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// A trace that has been read; copies share it.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    /// File as the scenario names it.
    pub file: PathBuf,
    /// SipHash-1-3 of the content with key 0, 128 bits in hexadecimal digits.
    pub hash: String,
    /// When packets may leave.
    pub opportunities: Arc<ccactl_link::Trace>,
    /// The content.
    text: Arc<str>,
}

impl Trace {
    /// Reads a trace; a relative `file` is relative to `folder`. With `expected_hash` it must be that content.
    ///
    /// The error says what was expected and what was found.
    pub(crate) fn read(folder: &Path, file: &str, expected_hash: Option<&str>) -> Result<Trace, String> {
        let path = folder.join(file);
        let fail = |found: &dyn std::fmt::Display| format!("expected a trace in {}, found: {found}", path.display());
        let text = input::read_text(&path, MAX_FILE_BYTES).map_err(|cause| fail(&cause))?;
        let opportunities = ccactl_link::Trace::parse(&text).map_err(|error| format!("{}: {error}", path.display()))?;
        let hash = hash(&text);
        match expected_hash {
            Some(expected) if expected != hash => {
                Err(format!("expected the content {expected} in {}, found {hash}", path.display()))
            }
            _ => Ok(Trace { file: file.into(), hash, opportunities: opportunities.into(), text: text.into() }),
        }
    }

    /// Mean rate over one period.
    #[must_use]
    pub fn mean_rate(&self) -> Rate {
        Rate { bps: self.opportunities.mean_rate_bps() }
    }

    /// Name under which the trace lies beside a resolved scenario: by content, so that it is the same for the same trace.
    #[must_use]
    pub fn file_name(&self) -> String {
        format!("trace-{}", self.hash)
    }

    /// The content of the file.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl Serialize for Trace {
    /// By content: the file is expected beside the scenario.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap;
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("file", &self.file_name())?;
        map.serialize_entry("hash", &self.hash)?;
        map.end()
    }
}

fn hash(text: &str) -> String {
    let mut hasher = SipHasher13::new();
    hasher.write(text.as_bytes());
    format!("{:032x}", hasher.finish128().as_u128())
}
