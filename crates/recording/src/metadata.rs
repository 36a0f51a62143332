//! What a recording says beside its rows: the `ccactl.` keys of its file, for those who write them and those who read them.
//!
//! Each key is declared once, with where it is found and what it holds; `docs/schema.md` has the same list.

mod values;

use crate::{OLDEST_VERSION, SCHEMA_VERSION};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::fmt::Write;
pub use values::{AlgorithmInfo, Canary, DropReasons, Filter, FlowInfo, Link, Recovered, TriggerInfo, ValueInfo};

/// Versions of the columns and keys that are read, oldest and newest.
pub const VERSIONS: std::ops::RangeInclusive<u32> = OLDEST_VERSION..=SCHEMA_VERSION;

/// What is wrong with the metadata of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MetadataError {
    /// It is no recording: nothing says which version it has.
    NoVersion,
    /// Written by a ccactl with other columns.
    OtherVersion {
        /// In the file.
        found: String,
        /// Version of the ccactl that wrote it.
        writer: Option<String>,
    },
    /// A value that does not parse.
    Value {
        /// Where it stands.
        key: Key,
        /// What the key should hold.
        expected: &'static str,
        /// What is wrong with the value.
        found: String,
    },
}

/// Makes [`Key`] and [`Metadata`] of one list. Behind a key stands its field, if it has one, with the way to its text:
/// `text` as it is, `json`, or `loose`. Loose JSON is passed over when it does not parse, as no reader needs it.
macro_rules! metadata {
    ($(
        #[doc = $value:literal]
        $key:ident $name:literal in $place:literal $(=> $field:ident: $ty:ty, $codec:ident $(($expected:literal))?)?;
    )*) => {
        /// A key of the metadata.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Key {
            $(#[doc = $value] $key,)*
        }

        impl Key {
            /// All of them, in the order of `docs/schema.md`.
            const ALL: &'static [Key] = &[$(Key::$key,)*];

            /// As it stands in the file.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Key::$key => concat!("ccactl.", $name),)*
                }
            }

            /// Files that have it.
            const fn place(self) -> &'static str {
                match self {
                    $(Key::$key => $place,)*
                }
            }

            /// What it holds.
            const fn value(self) -> &'static str {
                match self {
                    $(Key::$key => $value,)*
                }
            }
        }

        /// What the recorder writes beside the rows. Only the schema version must be there.
        #[derive(Debug, Clone, PartialEq, Default)]
        pub struct Metadata {
            /// Version of the columns and keys.
            pub schema_version: u32,
            $($(#[doc = $value] pub $field: Option<$ty>,)?)*
        }

        impl Metadata {
            /// The pairs of a file. A key whose value is not known is not among them.
            #[must_use]
            pub fn to_pairs(&self) -> BTreeMap<String, String> {
                let mut pairs = BTreeMap::new();
                pairs.insert(Key::SchemaVersion.name().to_owned(), self.schema_version.to_string());
                $($(if let Some(value) = &self.$field {
                    pairs.insert(Key::$key.name().to_owned(), metadata!(@write $codec value));
                })?)*
                pairs
            }

            /// Parses the pairs of a file; those with other keys are passed over.
            ///
            /// # Errors
            /// When the schema version is missing or another one, and when a value does not parse.
            pub fn from_pairs(pairs: &BTreeMap<String, String>) -> Result<Metadata, MetadataError> {
                Ok(Metadata {
                    schema_version: schema_version(pairs)?,
                    $($($field: metadata!(@read $codec pairs, Key::$key $(, $expected)?),)?)*
                })
            }
        }
    };
    (@write text $value:ident) => { $value.clone() };
    (@write $json:ident $value:ident) => { to_json($value) };
    (@read text $pairs:ident, $key:expr) => { text($pairs, $key).cloned() };
    (@read json $pairs:ident, $key:expr, $expected:literal) => { from_json($pairs, $key, $expected)? };
    (@read loose $pairs:ident, $key:expr) => { from_json($pairs, $key, "").unwrap_or_default() };
}

#[rustfmt::skip]
metadata! {
    /// `4`; readers take `1` to `3` too and refuse what they do not know
    SchemaVersion "schema_version" in "all";
    /// of ccactl
    Version "version" in "all" => writer: String, text;
    /// `uname -r`
    Kernel "kernel" in "all" => kernel: String, text;
    /// name of the host (`uname -n`)
    Host "host" in "all" => host: String, text;
    /// `/proc/sys/kernel/random/boot_id`. A flow is named by `host`, `boot_id`, `netns` and `flow_id` among all recordings
    BootId "boot_id" in "all" => boot_id: String, text;
    /// as given by `--label`: JSON object of texts
    Labels "labels" in "with `--label`" => labels: BTreeMap<String, String>, json("a JSON object of texts");
    /// RFC 3339, UTC
    Started "started" in "all" => started: String, text;
    /// as asked: `ack`, `rtt` or a duration
    Every "every" in "all" => every: String, text;
    /// as asked: which events are recorded beside the samples
    Events "events" in "all" => events: String, text;
    /// as asked: JSON `{cgroup, cgroup_id, netns, port, pid, algorithm}`
    Filter "filter" in "all" => filter: String, text;
    /// size of the ring buffer
    BufferBytes "buffer_bytes" in "all" => buffer_bytes: u64, json("a number");
    /// `true` when sockets are sampled after one side has closed them
    HalfClosedSamples "half_closed_samples" in "all" => half_closed_samples: bool, loose;
    /// JSON: list of `{kernel_name, algorithm, color, modes, v0, v1, tunables}`, loaded or seen; in a stream the whole registry
    Algorithms "algorithms" in "all" => algorithms: Vec<AlgorithmInfo>, json("a JSON list of algorithms");
    /// length of the recording, known at the end
    DurationUs "duration_us" in "Parquet" => duration_us: u64, json("a number");
    /// rows written, known at the end
    Rows "rows" in "Parquet" => rows: u64, json("a number");
    /// JSON: rows by `event`
    RowsByEvent "rows_by_event" in "Parquet" => rows_by_event: BTreeMap<String, u64>, json("a JSON object of counts");
    /// rows lost, for whatever reason
    Drops "drops" in "Parquet" => drops: u64, json("a number");
    /// the same as JSON `{ring_full_samples, ring_full_events, no_storage}`
    DropsByReason "drops_by_reason" in "Parquet" => drops_by_reason: DropReasons, json("a JSON object of counts");
    /// columns by which the rows of a row group are sorted: `netns,flow_id,time`, without `time` if a row came too late for its place. A file without the key is in order of `time`
    Order "order" in "Parquet";
    /// CRC-32 of the whole file with these eight digits being zeros; a reader refuses a file that differs
    Crc32 "crc32" in "Parquet";
    /// id that they share
    Dataset "dataset" in "parts of `--rotate`" => dataset: String, text;
    /// number from 0. `rows`, `rows_by_event`, `drops` and `duration_us` are those of the part
    Part "part" in "parts of `--rotate`" => part: u64, json("a number");
    /// RFC 3339, UTC: when the part began; `started` is that of the recording
    PartStarted "part_started" in "parts of `--rotate`" => part_started: String, text;
    /// rows lost before the part began
    DropsBefore "drops_before" in "streams of parts" => drops_before: u64, loose;
    /// how many there are; `drops_by_reason` of the whole recording stands beside it
    Parts "parts" in "last part" => parts: u64, json("a number");
    /// JSON `{rows, until, truncated}`: whole rows, time of the last, whether the stream ended without its end mark. `drops` is then what the last row knew
    Recovered "recovered" in "files of `recover`" => recovered: Recovered, json("a JSON object with rows");
    /// JSON: list of `{cgroup_id, name, algorithm, base_rtt_us, paths, way}`; `paths` of MPTCP by address, `way` past the bottleneck: `up`, `down`, `beside` or `partly`
    Flows "flows" in "testbed" => flows: Vec<FlowInfo>, json("a JSON list of flows");
    /// JSON `{rate_bps, mean_rate_bps, base_rtt_us, buffer_bytes, overhead_bytes}`
    Link "link" in "testbed" => link: Link, json("a JSON object with rate_bps");
    /// the resolved scenario, TOML
    Scenario "scenario" in "testbed" => scenario: String, text;
    /// JSON `{canary, baseline, share, decided_us}`, kernel names
    Canary "canary" in "guarded roll-outs" => canary: Canary, loose;
    /// JSON `{condition, flow_id, netns, at_us, further, suppressed}`: what a black box has kept the rows for, when, how often again in the same file, and how many triggers before it have no file
    Trigger "trigger" in "black boxes" => trigger: TriggerInfo, loose;
}

impl Metadata {
    /// Takes in what the next part of the same dataset says. A count is known when every part knows its own; the last part alone
    /// knows the reasons of all drops.
    pub fn append(&mut self, later: &Metadata) {
        let add = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_add(b?));
        self.rows = add(self.rows, later.rows);
        self.drops = add(self.drops, later.drops);
        self.duration_us = add(self.duration_us, later.duration_us);
        for (event, rows) in later.rows_by_event.iter().flatten() {
            let so_far = self.rows_by_event.get_or_insert_default().entry(event.clone()).or_default();
            *so_far = so_far.saturating_add(*rows);
        }
        for algorithm in later.algorithms.iter().flatten() {
            let algorithms = self.algorithms.get_or_insert_default();
            if !algorithms.iter().any(|known| known.kernel_name == algorithm.kernel_name) {
                algorithms.push(algorithm.clone());
            }
        }
        self.drops_by_reason = later.drops_by_reason;
    }
}

/// The schema version of a file with these pairs.
///
/// # Errors
/// When it is missing or not one of [`VERSIONS`].
pub fn schema_version(pairs: &BTreeMap<String, String>) -> Result<u32, MetadataError> {
    let found = text(pairs, Key::SchemaVersion).ok_or(MetadataError::NoVersion)?;
    let version = found.trim().parse().ok().filter(|version| VERSIONS.contains(version));
    version
        .ok_or_else(|| MetadataError::OtherVersion { found: found.clone(), writer: text(pairs, Key::Version).cloned() })
}

/// The metadata keys as lines of a Markdown table.
#[must_use]
pub fn keys_table() -> String {
    let mut table = String::from("| key | there in | value |\n|---|---|---|\n");
    for key in Key::ALL {
        writeln!(table, "| `{}` | {} | {} |", key.name(), key.place(), key.value().trim())
            .expect("writing into memory");
    }
    table
}

fn text(pairs: &BTreeMap<String, String>, key: Key) -> Option<&String> {
    pairs.get(key.name())
}

fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("strings, numbers and maps with string keys are JSON")
}

fn from_json<T: DeserializeOwned>(
    pairs: &BTreeMap<String, String>,
    key: Key,
    expected: &'static str,
) -> Result<Option<T>, MetadataError> {
    let Some(text) = text(pairs, key) else { return Ok(None) };
    let wrong = |error: serde_json::Error| MetadataError::Value { key, expected, found: error.to_string() };
    serde_json::from_str(text).map(Some).map_err(wrong)
}

#[cfg(test)]
mod tests;
