//! Flows, their swaps, and UDP sources.

use super::RateStep;
use crate::units::{Rate, Span};
use ccactl_loader::{Choice, Loadable};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// Which way a flow's data go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// From the flow's host to the server.
    Upload,
    /// From the server to the flow's host, which opens the connection.
    Download,
}

/// How often a flow transfers its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeat {
    /// So many transfers, at the most until the flow stops.
    Times(u32),
    /// One after the other until the flow stops.
    UntilStop,
}

/// Word for [`Repeat::UntilStop`].
pub(crate) const UNTIL_STOP: &str = "until-stop";

impl Serialize for Repeat {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Repeat::Times(times) => serializer.serialize_u32(*times),
            Repeat::UntilStop => serializer.serialize_str(UNTIL_STOP),
        }
    }
}

/// One TCP flow, between a host of its own and the common server.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FlowSpec {
    /// Unique name; also of the flow's cgroup and host.
    pub name: String,
    /// Name of the registry, `native:NAME`, or `NAME-HASH.bpf.o` for what was a path: see [`Scenario::files`](crate::Scenario::files).
    pub algorithm: String,
    /// Tunables set by the user, as written.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, String>,
    /// Kernel name to register the algorithm under.
    #[serde(rename = "as", skip_serializing_if = "Option::is_none")]
    pub alias: Option<String>,
    /// What a download's client offers: a receiving algorithm, written as [`FlowSpec::algorithm`] is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive: Option<String>,
    /// Tunables of it, as written.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub receive_set: BTreeMap<String, String>,
    /// Links in the order from the flow's host to the server; empty beside `paths`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<String>,
    /// Names of [`PathSpec`]s: an MPTCP connection with a subflow on each, the first of them on the first. Empty for plain TCP.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// Of its packets, both ways, for disciplines that have classes.
    pub class: u8,
    /// Which way the data go.
    pub direction: Direction,
    /// Added to the base RTT of this flow, half of it in each direction.
    pub extra_rtt: Span,
    /// When the flow starts.
    pub start: Span,
    /// When it stops.
    pub stop: Span,
    /// Payload of one transfer; endless when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// How many transfers, each on a connection of its own.
    pub repeat: Repeat,
    /// From the end of a transfer to the beginning of the next.
    pub gap: Span,
    /// What makes its data; there is always more without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub application: Option<ApplicationSpec>,
    /// Runs in place of the built-in sender.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
}

/// What makes the data of an endless flow: a piece of payload at even times.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ApplicationSpec {
    /// Payload per second from the flow's start on.
    pub rate: Rate,
    /// From one piece to the next.
    pub every: Span,
    /// Later rates, in the order of time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<RateStep>,
}

impl ApplicationSpec {
    /// Unless the scenario says otherwise: about what a camera or a voice codec makes at a time.
    pub(crate) const EVERY: Span = Span { ns: 20_000_000 };
}

/// A path that MPTCP flows may take, with an address of its own at the flow's host.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PathSpec {
    /// Unique name.
    pub name: String,
    /// Links in the order from the flow's host to the server.
    pub links: Vec<String>,
    /// Added to the base RTT of this path, half of it in each direction.
    pub extra_rtt: Span,
}

/// One way between the host of a flow and the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowPath<'a> {
    /// That of its [`PathSpec`]; none of a plain TCP flow.
    pub name: Option<&'a str>,
    /// Links in the order from the flow's host to the server.
    pub links: &'a [String],
    /// Added to the base RTT, half of it in each direction.
    pub extra_rtt: Span,
}

/// A flow is given another algorithm while it runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SwapSpec {
    /// Relative to the beginning of the run.
    pub at: Span,
    /// Name of the flow.
    pub flow: String,
    /// Name of the registry, `native:NAME`, or `NAME-HASH.bpf.o` for what was a path: see [`Scenario::files`](crate::Scenario::files).
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
    /// As in [`FlowSpec`].
    pub algorithm: &'a str,
    /// Tunables, as written.
    pub set: &'a BTreeMap<String, String>,
    /// Kernel name to register it under.
    pub alias: Option<&'a str>,
}

impl FlowSpec {
    /// Whether it is an MPTCP connection.
    #[must_use]
    pub fn is_mptcp(&self) -> bool {
        !self.paths.is_empty()
    }

    /// What the flow starts with.
    #[must_use]
    pub fn wanted(&self) -> Wanted<'_> {
        Wanted { algorithm: &self.algorithm, set: &self.set, alias: self.alias.as_deref() }
    }

    /// What its client offers, as the loader takes it.
    ///
    /// # Errors
    /// None of a scenario, which was checked.
    pub fn receiver(&self) -> Result<Option<Loadable>, ccactl_loader::Error> {
        let set: Vec<_> = self.receive_set.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        self.receive.as_deref().map(|name| Loadable::receiver(name, &set, None)).transpose()
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
    /// What the loader takes.
    ///
    /// # Errors
    /// None of a scenario, which was checked.
    pub fn choice(&self) -> Result<Choice, ccactl_loader::Error> {
        let choice = Choice::parse(self.algorithm, &[], self.alias)?;
        self.set.iter().try_fold(choice, |choice, (name, value)| choice.with(name, value))
    }
}

/// One source of evenly paced UDP packets on a host of its own, towards the server. Its rates are those on the wire, as the
/// link's is: headers and `overhead_bytes` included.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UdpSpec {
    /// Unique name.
    pub name: String,
    /// Links in the order from the source to the server.
    pub path: Vec<String>,
    /// Of its packets, for disciplines that have classes.
    pub class: u8,
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
