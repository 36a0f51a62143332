//! Packet-delivery traces in the format of mahimahi: each line is a time in ms at which one packet of 1504 bytes may leave;
//! the trace begins again after its last line.

use crate::units::Rate;
use serde::{Serialize, Serializer};
use siphasher::sip128::{Hasher128, SipHasher13};
use std::hash::Hasher;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What one opportunity carries: mahimahi's packets with its TUN header.
const OPPORTUNITY_BYTES: u64 = 1504;
/// More than an hour at 1 Gbit/s takes; a file that is larger is not a trace.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// A trace that has been read; copies share it.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    /// File as the scenario names it.
    pub file: PathBuf,
    /// SipHash-1-3 of the content with key 0, 128 bits in hexadecimal digits.
    pub hash: String,
    /// Times of the opportunities from the beginning, ascending, ms; the last one is the period.
    pub opportunities_ms: Arc<[u64]>,
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
        let opened = std::fs::File::open(&path).map_err(|cause| fail(&cause))?;
        // A device could have no end.
        let is_file = opened.metadata().is_ok_and(|metadata| metadata.is_file());
        if !is_file {
            return Err(fail(&"something that is not a regular file"));
        }
        let mut text = String::new();
        opened.take(MAX_FILE_BYTES + 1).read_to_string(&mut text).map_err(|cause| fail(&cause))?;
        if text.len() as u64 > MAX_FILE_BYTES {
            return Err(fail(&"more than 64 MiB"));
        }
        let opportunities_ms = opportunities(&text).map_err(|found| fail(&found))?;
        let hash = hash(&text);
        match expected_hash {
            Some(expected) if expected != hash => {
                Err(format!("expected the content {expected} in {}, found {hash}", path.display()))
            }
            _ => Ok(Trace { file: file.into(), hash, opportunities_ms: opportunities_ms.into(), text: text.into() }),
        }
    }

    /// Mean rate over one period.
    #[must_use]
    pub fn mean_rate(&self) -> Rate {
        let period_ms = self.opportunities_ms.last().copied().unwrap_or(1).max(1);
        let bits = self.opportunities_ms.len() as u128 * u128::from(OPPORTUNITY_BYTES * 8);
        Rate { bps: u64::try_from(bits * 1000 / u128::from(period_ms)).unwrap_or(u64::MAX) }
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

/// One time per line, not descending; the last is the period and so not zero.
fn opportunities(text: &str) -> Result<Vec<u64>, String> {
    let mut times = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let time: u64 =
            line.trim().parse().map_err(|_| format!("line {}: {line:?}, not a whole number of ms", i + 1))?;
        if times.last().is_some_and(|last| time < *last) {
            return Err(format!("line {}: {time} ms after {} ms", i + 1, times.last().copied().unwrap_or_default()));
        }
        times.push(time);
    }
    match times.last() {
        None => Err("nothing".to_owned()),
        Some(0) => Err("a period of 0 ms".to_owned()),
        Some(_) => Ok(times),
    }
}

fn hash(text: &str) -> String {
    let mut hasher = SipHasher13::new();
    hasher.write(text.as_bytes());
    format!("{:032x}", hasher.finish128().as_u128())
}
