//! The `ccactl.` keys of a recording, parsed. Their list is in `docs/schema.md`.

use std::collections::BTreeMap;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::Error;
use super::schema::VERSIONS;

/// What the recorder wrote beside the rows. Only the schema version must be there.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Metadata {
    /// Version of the columns and keys.
    pub schema_version: u32,
    /// Version of ccactl.
    pub writer: Option<String>,
    /// `uname -r`.
    pub kernel: Option<String>,
    /// RFC 3339, UTC.
    pub started: Option<String>,
    /// Sampling rate as asked for: `ack`, `rtt` or a duration.
    pub every: Option<String>,
    /// Filter as asked for, JSON.
    pub filter: Option<String>,
    /// Which events are recorded.
    pub events: Option<String>,
    /// Size of the ring buffer.
    pub buffer_bytes: Option<u64>,
    /// Algorithms that were loaded or seen.
    pub algorithms: Vec<AlgorithmInfo>,
    /// Flows that have a name.
    pub flows: Vec<FlowInfo>,
    /// The bottleneck, when it is known.
    pub link: Option<Link>,
    /// The resolved scenario, TOML.
    pub scenario: Option<String>,
    /// Length of the recording; known at its end only.
    pub duration_us: Option<u64>,
    /// Rows written; known at the end only.
    pub rows: Option<u64>,
    /// Rows that were lost, for whatever reason; known at the end only.
    pub drops: Option<u64>,
    /// The same by reason, since version 2.
    pub drops_by_reason: Option<DropReasons>,
    /// Rows of each kind of event, since version 2; empty when not known.
    pub rows_by_event: BTreeMap<String, u64>,
    /// Shared by the parts of one recording that was rotated.
    pub dataset: Option<String>,
    /// Which of them this is, from 0.
    pub part: Option<u64>,
    /// How many there are; the last one knows.
    pub parts: Option<u64>,
    /// Made by `ccactl recover`.
    pub recovered: Option<Recovered>,
}

/// Why rows were lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct DropReasons {
    /// Samples for which the ring buffer had no room.
    pub ring_full_samples: u64,
    /// Other events for which the ring buffer had no room.
    pub ring_full_events: u64,
    /// The kernel gave no storage for the socket.
    pub no_storage: u64,
}

/// What `ccactl recover` found in the stream of a killed recording.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct Recovered {
    /// Whole rows.
    pub rows: u64,
    /// Time of the last one, RFC 3339.
    pub until: Option<String>,
    /// Whether the stream ended in the middle of a batch.
    pub truncated: bool,
}

/// From a kernel name to what the user calls it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct AlgorithmInfo {
    /// Name in the rows.
    pub kernel_name: String,
    /// Name that the user knows.
    pub algorithm: String,
    /// `#rrggbb`.
    pub color: Option<String>,
    /// Phases in the order of the registry.
    pub modes: Vec<String>,
    /// What `trace_v0` holds.
    pub v0: Option<ValueInfo>,
    /// What `trace_v1` holds.
    pub v1: Option<ValueInfo>,
    /// Values of the tunables, as the recorder wrote them.
    pub tunables: serde_json::Value,
}

/// Name and meaning of one of the free values of the trace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct ValueInfo {
    /// Short name with its unit.
    pub name: String,
    /// What it is.
    pub doc: String,
}

/// Name of the flow or flows of one cgroup.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct FlowInfo {
    /// cgroup2 id.
    pub cgroup_id: u64,
    /// Name in the scenario.
    pub name: String,
    /// Algorithm that the scenario asked for.
    pub algorithm: Option<String>,
    /// Round-trip time of this flow's empty path, when flows differ.
    pub base_rtt_us: Option<f64>,
    /// Which way its data pass the bottleneck, `up` or `down`, where that has a transmitter for each; `beside` when they do not pass it.
    pub way: Option<String>,
}

/// The bottleneck.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct Link {
    /// Rate on the wire, framing included.
    pub rate_bps: f64,
    /// Mean over the run, where the rate changes.
    pub mean_rate_bps: Option<f64>,
    /// Round-trip time of the empty path.
    pub base_rtt_us: Option<f64>,
    /// Size of the buffer.
    pub buffer_bytes: Option<f64>,
    /// Framing that the link adds to each IP packet.
    pub overhead_bytes: f64,
}

impl Metadata {
    /// Parses the key–value pairs of a file.
    pub(super) fn parse(path: &Path, raw: &BTreeMap<String, String>) -> Result<Metadata, Error> {
        let text = |key: &str| raw.get(&format!("ccactl.{key}")).cloned();
        let Some(found) = text("schema_version") else {
            return Err(Error::NotARecording {
                path: path.to_owned(),
                found: "a file without the metadata key ccactl.schema_version".to_owned(),
            });
        };
        let version = found.trim().parse().ok().filter(|version| VERSIONS.contains(version));
        let Some(schema_version) = version else {
            return Err(Error::SchemaVersion {
                path: path.to_owned(),
                found,
                expected: (*VERSIONS.start(), *VERSIONS.end()),
                writer: text("version"),
            });
        };
        Ok(Metadata {
            schema_version,
            writer: text("version"),
            kernel: text("kernel"),
            started: text("started"),
            every: text("every"),
            filter: text("filter"),
            events: text("events"),
            buffer_bytes: json(path, raw, "buffer_bytes", "a number")?,
            algorithms: json(path, raw, "algorithms", "a JSON list of algorithms")?.unwrap_or_default(),
            flows: json(path, raw, "flows", "a JSON list of flows")?.unwrap_or_default(),
            link: json(path, raw, "link", "a JSON object with rate_bps")?,
            scenario: text("scenario"),
            duration_us: json(path, raw, "duration_us", "a number")?,
            rows: json(path, raw, "rows", "a number")?,
            drops: json(path, raw, "drops", "a number")?,
            drops_by_reason: json(path, raw, "drops_by_reason", "a JSON object of counts")?,
            rows_by_event: json(path, raw, "rows_by_event", "a JSON object of counts")?.unwrap_or_default(),
            dataset: text("dataset"),
            part: json(path, raw, "part", "a number")?,
            parts: json(path, raw, "parts", "a number")?,
            recovered: json(path, raw, "recovered", "a JSON object with rows")?,
        })
    }
}

fn json<T: DeserializeOwned>(
    path: &Path,
    raw: &BTreeMap<String, String>,
    key: &str,
    expected: &'static str,
) -> Result<Option<T>, Error> {
    let key = format!("ccactl.{key}");
    let Some(text) = raw.get(&key) else { return Ok(None) };
    serde_json::from_str(text).map_err(|error| Error::Metadata {
        path: path.to_owned(),
        key,
        expected,
        found: error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(pairs: &[(&str, &str)]) -> Result<Metadata, Error> {
        let raw = pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Metadata::parse(Path::new("x.parquet"), &raw)
    }

    #[test]
    fn only_the_schema_version_must_be_there() {
        for (text, schema_version) in [("1", 1), ("2", 2)] {
            let expected = Metadata { schema_version, ..Metadata::default() };
            assert_eq!(parse(&[("ccactl.schema_version", text)]).unwrap(), expected);
        }
    }

    #[test]
    fn another_version_names_both_and_the_writer() {
        let error = parse(&[("ccactl.schema_version", "7"), ("ccactl.version", "3.1.0")]).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("version 7") && text.contains("1 to 2") && text.contains("(3.1.0)"), "{text}");
    }

    #[test]
    fn values_are_typed_and_unknown_fields_are_passed_over() {
        let metadata = parse(&[
            ("ccactl.schema_version", "1"),
            ("ccactl.link", r#"{"rate_bps": 50000000, "base_rtt_us": 40000, "later": 1}"#),
            ("ccactl.flows", r#"[{"cgroup_id": 18446744073709551615, "name": "a"}]"#),
            ("ccactl.drops", "3"),
        ])
        .unwrap();
        assert_eq!(metadata.link.unwrap().base_rtt_us, Some(40_000.0));
        assert_eq!(metadata.flows[0].cgroup_id, u64::MAX);
        assert_eq!(metadata.drops, Some(3));
    }

    #[test]
    fn a_broken_value_names_its_key() {
        let error = parse(&[("ccactl.schema_version", "1"), ("ccactl.link", "{")]).unwrap_err();
        assert!(error.to_string().starts_with("x.parquet: metadata ccactl.link: expected a JSON object"), "{error}");
    }
}
