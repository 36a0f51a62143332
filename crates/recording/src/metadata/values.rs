//! What the keys with JSON hold. The order of the fields is the order in which they are written.

use serde::{Deserialize, Serialize, Serializer};
use std::collections::BTreeMap;

/// Why rows were lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct DropReasons {
    /// Samples that found the ring buffer filled beyond the part that they may use: user space did not keep up.
    pub ring_full_samples: u64,
    /// Other events that found the ring buffer full.
    pub ring_full_events: u64,
    /// The kernel had no memory for what the recorder remembers of a socket.
    pub no_storage: u64,
}

impl DropReasons {
    /// All of them.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.ring_full_samples + self.ring_full_events + self.no_storage
    }
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

/// Which sockets were asked for; none is any.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Default)]
pub struct Filter {
    /// Path below the cgroup2 mount.
    pub cgroup: Option<String>,
    /// Its id.
    pub cgroup_id: Option<u64>,
    /// Inode number of a network namespace.
    pub netns: Option<u32>,
    /// Local or remote port.
    pub port: Option<u16>,
    /// Process that has the sockets.
    pub pid: Option<u32>,
    /// Kernel name of an algorithm.
    pub algorithm: Option<String>,
}

impl Filter {
    /// As the metadata have it: a reader shows the text and needs none of its parts.
    #[must_use]
    pub fn to_json(&self) -> String {
        super::to_json(self)
    }
}

/// From a kernel name to what the user calls it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct AlgorithmInfo {
    /// Name in the rows.
    pub kernel_name: String,
    /// Name that the user knows; empty when there is none.
    #[serde(skip_serializing_if = "String::is_empty")]
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

impl AlgorithmInfo {
    /// One of which nothing but the kernel name is known.
    #[must_use]
    pub fn unknown(kernel_name: &str) -> AlgorithmInfo {
        let tunables = serde_json::Value::Object(serde_json::Map::new());
        AlgorithmInfo { kernel_name: kernel_name.to_owned(), tunables, ..AlgorithmInfo::default() }
    }
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
    /// Algorithm that the scenario asked for.
    pub algorithm: Option<String>,
    /// Round-trip time of this flow's empty path in µs, when flows differ.
    pub base_rtt_us: Option<f64>,
    /// cgroup2 id.
    pub cgroup_id: u64,
    /// Name in the scenario.
    pub name: String,
    /// Of an MPTCP flow: names of its paths by the address that each has at the flow's host.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub paths: BTreeMap<String, String>,
    /// Which way its data pass the bottleneck, `up` or `down`, where that has a transmitter for each; `beside` when they do not pass it, `partly` when not on every path.
    pub way: Option<String>,
}

/// The bottleneck.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct Link {
    /// Round-trip time of the empty path in µs.
    pub base_rtt_us: Option<f64>,
    /// Size of the buffer in bytes.
    #[serde(serialize_with = "whole_if_any")]
    pub buffer_bytes: Option<f64>,
    /// Mean rate over the run in bit/s, where the rate changes.
    pub mean_rate_bps: Option<f64>,
    /// Framing in bytes that the link adds to each IP packet.
    #[serde(serialize_with = "whole")]
    pub overhead_bytes: f64,
    /// Rate on the wire in bit/s, framing included.
    #[serde(serialize_with = "whole")]
    pub rate_bps: f64,
}

/// The two algorithms of a roll-out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct Canary {
    /// Kernel name that most sockets have.
    pub baseline: String,
    /// Kernel name on trial.
    pub canary: String,
    /// Share of the sockets that try it, of 1.
    pub share: f64,
    /// When it was decided, since the start of the recording: what is promoted later is no side of the comparison.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_us: Option<u64>,
}

/// Why a black box has kept these rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct TriggerInfo {
    /// As the user wrote it.
    pub condition: String,
    /// Cookie of the socket.
    pub flow_id: u64,
    /// Its network namespace.
    pub netns: u32,
    /// When, since the first row.
    pub at_us: u64,
    /// How often a trigger fired again for that socket.
    pub further: u64,
    /// Triggers since the file before of which nothing was kept.
    pub suppressed: u64,
}

/// Largest whole number up to which a float holds every other one.
const LAST_WHOLE: f64 = (1_u64 << 53) as f64;

/// A figure that is whole where it comes from is written without a fraction.
fn whole<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if value.fract() == 0.0 && (0.0..=LAST_WHOLE).contains(value) {
        serializer.serialize_u64(*value as u64)
    } else {
        serializer.serialize_f64(*value)
    }
}

fn whole_if_any<S: Serializer>(value: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => whole(value, serializer),
        None => serializer.serialize_none(),
    }
}
