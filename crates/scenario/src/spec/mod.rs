//! What a scenario says, with every default filled in.

mod flow;
mod host;
mod link;
mod proxy;

pub use flow::{ApplicationSpec, Direction, FlowPath, FlowSpec, PathSpec, Repeat, SwapSpec, UdpSpec, Wanted};
pub use host::{ALL_HOSTS, HostSpec, SERVER};
pub use link::{Distribution, HopSpec, JitterSpec, LINK, LinkSpec, LossSpec, RateStep, RttStep, WirelessSpec};
pub(crate) use link::{bdp_bytes, queue_size};
pub use proxy::ProxySpec;

pub(crate) use flow::UNTIL_STOP;

use crate::units::{Rate, Span};
use ccactl_loader::{is_file, pick_algorithm};
use serde::Serialize;
use std::collections::BTreeMap;

/// One experiment, with every default filled in.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Scenario {
    /// Name of the scenario, of its output folder and of its row in tables.
    pub name: String,
    /// One sentence.
    pub description: String,
    /// Length of a run.
    pub duration: Span,
    /// How long the flows send before each run, so that hosts remember the path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warm_up: Option<Span>,
    /// Number of runs.
    pub repeat: u32,
    /// Sampling of the recording: `ack`, `rtt` or a time span.
    pub every: String,
    /// The bottleneck: the link that figures are about.
    pub link: LinkSpec,
    /// Further links.
    #[serde(rename = "hop", skip_serializing_if = "Vec::is_empty")]
    pub hops: Vec<HopSpec>,
    /// Paths of MPTCP flows.
    #[serde(rename = "path", skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<PathSpec>,
    /// The proxy on the path, if there is one.
    #[serde(rename = "proxy", skip_serializing_if = "Vec::is_empty")]
    pub proxies: Vec<ProxySpec>,
    /// Settings of hosts by name: of the server, of a flow, UDP source or proxy, or of all.
    #[serde(rename = "host", skip_serializing_if = "BTreeMap::is_empty")]
    pub hosts: BTreeMap<String, HostSpec>,
    /// The TCP flows.
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

impl Scenario {
    /// The scenario with every default written out, as TOML. Traces of rates and algorithms from files are named by their
    /// content: whoever writes this text writes [`Scenario::files`] beside it.
    #[must_use]
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a scenario has only types that TOML knows")
    }

    /// What the scenario's text needs beside it, by name: traces of rates, and objects of algorithms that are not built in.
    #[must_use]
    pub fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let traces = self.links().filter_map(|(_, link)| link.rate_trace.as_ref());
        let traces = traces.map(|trace| (trace.file_name(), trace.text().as_bytes().to_vec()));
        let algorithms = self.flows.iter().map(FlowSpec::wanted).chain(self.swaps.iter().map(SwapSpec::wanted));
        let objects = algorithms.filter(|wanted| is_file(wanted.algorithm)).map(|wanted| {
            let algorithm = pick_algorithm(wanted.algorithm).expect("read with the scenario");
            (wanted.algorithm.to_owned(), algorithm.object().to_vec())
        });
        traces.chain(objects).collect()
    }

    /// How long a run takes with what goes before it.
    #[must_use]
    pub fn with_warm_up(&self) -> Span {
        Span { ns: self.duration.ns.saturating_add(self.warm_up.unwrap_or_default().ns) }
    }

    /// How many addresses its hosts have: one for each flow, UDP source and further path of a flow.
    #[must_use]
    pub fn addresses(&self) -> usize {
        let further = self.flows.iter().map(|flow| flow.paths.len().saturating_sub(1)).sum::<usize>();
        self.flows.len() + self.udp.len() + further
    }

    /// A link by the name that paths use.
    #[must_use]
    pub fn link_named(&self, name: &str) -> Option<&LinkSpec> {
        if name == LINK {
            return Some(&self.link);
        }
        self.hops.iter().find(|hop| hop.name == name).map(|hop| &hop.link)
    }

    /// The bottleneck first, then the hops: name and parameters.
    pub fn links(&self) -> impl Iterator<Item = (&str, &LinkSpec)> {
        std::iter::once((LINK, &self.link)).chain(self.hops.iter().map(|hop| (hop.name.as_str(), &hop.link)))
    }

    /// Propagation delay of the round trip over a path at the beginning of the run, without what a flow adds.
    #[must_use]
    pub fn path_rtt(&self, path: &[String]) -> Span {
        let ns = path
            .iter()
            .filter_map(|name| self.link_named(name))
            .fold(0u64, |sum, link| sum.saturating_add(link.base_rtt.ns));
        Span { ns }
    }

    /// The paths of a flow, the one that it begins on first: one of plain TCP, one or several of MPTCP.
    #[must_use]
    pub fn paths_of<'a>(&'a self, flow: &'a FlowSpec) -> Vec<FlowPath<'a>> {
        if !flow.is_mptcp() {
            return vec![FlowPath { name: None, links: &flow.path, extra_rtt: flow.extra_rtt }];
        }
        let named = |name: &String| self.paths.iter().find(|path| path.name == *name);
        let path = |path: &'a PathSpec| FlowPath {
            name: Some(&path.name),
            links: &path.links,
            extra_rtt: Span { ns: path.extra_rtt.ns.saturating_add(flow.extra_rtt.ns) },
        };
        flow.paths.iter().filter_map(named).map(path).collect()
    }

    /// Propagation delay of the round trip that the sender of a flow sees at the beginning of the run: of several paths the first,
    /// with a proxy that of its own leg. What the flow adds lies on the leg of its host.
    #[must_use]
    pub fn base_rtt(&self, flow: &FlowSpec) -> Span {
        let Some(path) = self.paths_of(flow).into_iter().next() else { return Span::default() };
        let legs = self.proxies.first().and_then(|proxy| proxy.split(path.links));
        let (links, extra_ns) = match (legs, flow.direction) {
            (None, _) => (path.links, path.extra_rtt.ns),
            (Some((near, _)), Direction::Upload) => (near, path.extra_rtt.ns),
            (Some((_, far)), Direction::Download) => (far, 0),
        };
        Span { ns: self.path_rtt(links).ns.saturating_add(extra_ns) }
    }

    /// Settings of a host, by the name of its flow or UDP source or [`SERVER`]: its own before those of all hosts.
    #[must_use]
    pub fn host(&self, name: &str) -> HostSpec {
        let mut merged = self.hosts.get(ALL_HOSTS).cloned().unwrap_or_default();
        if let Some(own) = self.hosts.get(name) {
            merged.rcvbuf_max = own.rcvbuf_max.or(merged.rcvbuf_max);
            merged.sndbuf_max = own.sndbuf_max.or(merged.sndbuf_max);
            merged.gso_max_segs = own.gso_max_segs.or(merged.gso_max_segs);
            merged.sysctl.extend(own.sysctl.clone());
        }
        merged
    }
}
