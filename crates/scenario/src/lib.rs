//! Scenarios: what a bench runs, from a TOML file with strict fields. The format is described in
//! `docs/scenarios.md`.

mod check;
mod overrides;
mod parse;
mod reader;
mod shipped;
mod swaps;
pub mod units;

pub use overrides::{Override, OverrideError};
pub use shipped::{SHIPPED, Shipped};

use crate::units::{Buffer, Rate, Span};
use ccactl_link::{Capacity, Discipline, LinkConfig, Loss, RatePlan, WireConfig};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Why a scenario was not taken.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// The file could not be read.
    #[error("{origin}: expected a scenario file or one of the shipped scenarios ({shipped}), found: {cause}")]
    Read {
        /// What the user named.
        origin: String,
        /// Names of the shipped ones.
        shipped: String,
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

/// One experiment, with every default filled in.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Scenario {
    /// Name of the scenario, of its output folder and of its row in tables.
    pub name: String,
    /// One sentence.
    pub description: String,
    /// Length of a run.
    pub duration: Span,
    /// Number of runs.
    pub repeat: u32,
    /// Sampling of the recording: `ack`, `rtt` or a time span.
    pub every: String,
    /// The bottleneck.
    pub link: LinkSpec,
    /// The senders.
    #[serde(rename = "flow")]
    pub flows: Vec<FlowSpec>,
    /// Changes of algorithm during the run, in the order of time; tours of the document written out.
    #[serde(rename = "swap", skip_serializing_if = "Vec::is_empty")]
    pub swaps: Vec<SwapSpec>,
    /// Background traffic that does not respond to anything.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub udp: Vec<UdpSpec>,
    /// Figures that the mean over the valid runs must reach.
    #[serde(skip_serializing_if = "Thresholds::is_empty")]
    pub thresholds: Thresholds,
    /// Printed figures, shown beside the measured ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published: Option<Published>,
}

/// Figures that a paper prints for this experiment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Published {
    /// Paper and figure.
    pub source: String,
    /// Jain index.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jain: Option<f64>,
    /// Difference of the two goodputs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap: Option<Rate>,
    /// Goodput of a single flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goodput: Option<Rate>,
}

/// The bottleneck and the path around it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LinkSpec {
    /// Rate on the wire, in the data direction.
    pub rate: Rate,
    /// Round-trip propagation delay, half of it in each direction.
    pub base_rtt: Span,
    /// Drop-tail buffer of the data direction.
    pub buffer: Buffer,
    /// Queue beyond which ECN-capable packets are marked; they are never marked when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn_threshold: Option<Buffer>,
    /// Probability that a data packet is lost on the wire.
    pub loss: f64,
    /// Bytes that the wire adds to each IP packet; 14 = Ethernet header.
    pub overhead_bytes: u32,
    /// MTU of every device.
    pub mtu: u32,
    /// Seed of the random losses; run N uses seed + N.
    pub seed: u64,
}

/// One sender.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FlowSpec {
    /// Unique name; also of the flow's cgroup.
    pub name: String,
    /// Name of the registry, or `native:NAME`.
    pub algorithm: String,
    /// Tunables set by the user, as written.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, String>,
    /// Kernel name to register the algorithm under.
    #[serde(rename = "as", skip_serializing_if = "Option::is_none")]
    pub alias: Option<String>,
    /// Added to the base RTT of this flow, half of it in each direction.
    pub extra_rtt: Span,
    /// When the flow starts.
    pub start: Span,
    /// When it stops.
    pub stop: Span,
    /// Payload to send; endless when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Runs in place of the built-in sender.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
}

/// A flow is given another algorithm while it runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SwapSpec {
    /// Relative to the beginning of the run.
    pub at: Span,
    /// Name of the flow.
    pub flow: String,
    /// Name of the registry, or `native:NAME`.
    pub algorithm: String,
    /// Tunables set by the user, as written.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, String>,
    /// Kernel name to register the algorithm under.
    #[serde(rename = "as", skip_serializing_if = "Option::is_none")]
    pub alias: Option<String>,
}

/// An algorithm as a flow or a swap asks for it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wanted<'a> {
    /// Name of the registry, or `native:NAME`.
    pub algorithm: &'a str,
    /// Tunables, as written.
    pub set: &'a BTreeMap<String, String>,
    /// Kernel name to register it under.
    pub alias: Option<&'a str>,
}

impl FlowSpec {
    /// What the flow starts with.
    #[must_use]
    pub fn wanted(&self) -> Wanted<'_> {
        Wanted { algorithm: &self.algorithm, set: &self.set, alias: self.alias.as_deref() }
    }
}

impl SwapSpec {
    /// What the flow is given.
    #[must_use]
    pub fn wanted(&self) -> Wanted<'_> {
        Wanted { algorithm: &self.algorithm, set: &self.set, alias: self.alias.as_deref() }
    }
}

impl Wanted<'_> {
    /// The tunables as a list, as the loader takes them.
    #[must_use]
    pub fn tunables(&self) -> Vec<(String, String)> {
        self.set.iter().map(|(name, value)| (name.clone(), value.clone())).collect()
    }
}

/// One source of evenly paced UDP packets. Its rates are those on the wire, as the link's is: headers and
/// `overhead_bytes` included.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UdpSpec {
    /// Unique name.
    pub name: String,
    /// When it starts.
    pub start: Span,
    /// When it stops.
    pub stop: Span,
    /// Rate from the start on.
    pub rate: Rate,
    /// Size of the IP packets.
    pub packet_bytes: u32,
    /// Later rates, in the order of time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<RateStep>,
}

/// A new rate of a [`UdpSpec`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RateStep {
    /// Relative to the beginning of the run.
    pub at: Span,
    /// From then on.
    pub rate: Rate,
}

/// Limits on the mean over the valid runs; a miss is exit code 6.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Thresholds {
    /// Jain index of the goodputs, at least.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jain_min: Option<f64>,
    /// Link utilisation, at least.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub utilisation_min: Option<f64>,
    /// Mean RTT over all flows, at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt_mean_max: Option<Span>,
    /// Sum of retransmitted packets, at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retransmissions_max: Option<u64>,
}

impl Thresholds {
    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Thresholds::default()
    }
}

impl LinkSpec {
    /// Bandwidth-delay product in bytes on the wire.
    #[must_use]
    pub fn bdp_bytes(&self) -> f64 {
        self.rate.bps as f64 / 8.0 * self.base_rtt.secs_f64()
    }

    /// Size of a full packet on the wire.
    #[must_use]
    pub fn frame_bytes(&self) -> u64 {
        u64::from(self.mtu + self.overhead_bytes)
    }

    /// The buffer as the link model takes it.
    #[must_use]
    pub fn capacity(&self) -> Capacity {
        self.queue_size(self.buffer)
    }

    /// The marking threshold as the link model takes it.
    #[must_use]
    pub fn mark_above(&self) -> Option<Capacity> {
        self.ecn_threshold.map(|threshold| self.queue_size(threshold))
    }

    fn queue_size(&self, size: Buffer) -> Capacity {
        match size {
            Buffer::Bdp(multiple) => Capacity::Bytes((multiple * self.bdp_bytes()).round() as u64),
            Buffer::Bytes(bytes) => Capacity::Bytes(bytes),
            Buffer::Packets(packets) => Capacity::Packets(packets),
        }
    }

    /// The buffer in bytes; packets count as full ones.
    #[must_use]
    pub fn buffer_bytes(&self) -> u64 {
        self.in_bytes(self.capacity())
    }

    /// The marking threshold in bytes; packets count as full ones.
    #[must_use]
    pub fn ecn_threshold_bytes(&self) -> Option<u64> {
        self.mark_above().map(|threshold| self.in_bytes(threshold))
    }

    fn in_bytes(&self, size: Capacity) -> u64 {
        match size {
            Capacity::Bytes(bytes) => bytes,
            Capacity::Packets(packets) => packets.saturating_mul(self.frame_bytes()),
        }
    }

    /// Parameters of the link model for run `run`, from 1.
    #[must_use]
    pub fn config(&self, run: u32) -> LinkConfig {
        LinkConfig {
            rate: RatePlan::constant(self.rate.bps),
            capacity: self.capacity(),
            queue: Discipline::DropTail,
            mark_above: self.mark_above(),
            wire: WireConfig { loss: Loss::Bernoulli(self.loss), ..WireConfig::default() },
            seed: self.seed.wrapping_add(u64::from(run)),
        }
    }
}

impl Scenario {
    /// Reads a scenario: the file of that name, or else the shipped scenario.
    ///
    /// # Errors
    /// [`ScenarioError`] with file, line and field.
    pub fn open(name_or_path: &str, overrides: &[Override]) -> Result<Scenario, ScenarioError> {
        if let Some(shipped) = Shipped::by_name(name_or_path)
            && !Path::new(name_or_path).exists()
        {
            return Scenario::parse_with(&format!("{name_or_path}.toml"), shipped.text, overrides);
        }
        let text = std::fs::read_to_string(name_or_path).map_err(|cause| ScenarioError::Read {
            origin: name_or_path.to_owned(),
            shipped: SHIPPED.iter().map(|shipped| shipped.name).collect::<Vec<_>>().join(", "),
            cause,
        })?;
        Scenario::parse_with(name_or_path, &text, overrides)
    }

    /// Parses a scenario and applies changes; `origin` is the file name that errors show.
    ///
    /// # Errors
    /// [`ScenarioError`] with file, line and field.
    pub fn parse_with(origin: &str, text: &str, overrides: &[Override]) -> Result<Scenario, ScenarioError> {
        // The unchanged file is checked first: only then do line numbers mean something to its author.
        let scenario = Scenario::parse(origin, text)?;
        if overrides.is_empty() { Ok(scenario) } else { overrides::apply(origin, text, overrides) }
    }

    /// The scenario with every default written out, as TOML.
    #[must_use]
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a scenario has only types that TOML knows")
    }
}
