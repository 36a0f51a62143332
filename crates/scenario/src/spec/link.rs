//! Links: one transmitter with its queue and wire, or one in each direction.

use crate::queue;
use crate::trace::Trace;
use crate::units::{Buffer, Rate, Span};
use ccactl_link::queue::Discipline;
use ccactl_link::{Capacity, LinkConfig, Nanos, RatePlan, WireConfig};
use serde::ser::Error;
use serde::{Serialize, Serializer};
use std::sync::Arc;

/// Name of the bottleneck in paths.
pub const LINK: &str = "link";

/// The bottleneck, or a further hop: transmitter, queue and wire.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LinkSpec {
    /// Rate on the wire at the beginning of the run; beside a trace what a BDP is counted with.
    pub rate: Rate,
    /// Round-trip propagation delay, half of it in each direction.
    pub base_rtt: Span,
    /// Room for waiting packets.
    pub buffer: Buffer,
    /// Which packets go first, and which are dropped or marked before the buffer is full.
    #[serde(serialize_with = "queue::serialize")]
    pub queue: Discipline,
    /// Queue beyond which ECN-capable packets are marked; they are never marked when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn_threshold: Option<Buffer>,
    /// Losses after transmission.
    pub loss: LossSpec,
    /// Later rates, in the order of time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rate_steps: Vec<RateStep>,
    /// Packet-delivery opportunities in place of a rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_trace: Option<Trace>,
    /// Later round-trip propagation delays, in the order of time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub base_rtt_steps: Vec<RttStep>,
    /// Variation of the delay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jitter: Option<JitterSpec>,
    /// What goes back is handed over at multiples of this time only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack_batch: Option<Span>,
    /// Of the ACKs of a connection that are handed over together only the latest goes on.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ack_filter: bool,
    /// Marks are taken off again behind the link: the receiver does not tell of them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub hide_marks: bool,
    /// Retransmission below IP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wireless: Option<WirelessSpec>,
    /// Cache of a Snoop agent ahead of the link, in either direction; there is none when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snoop: Option<Buffer>,
    /// Whether there is a transmitter of the same kind in the other direction.
    pub duplex: bool,
    /// Room for waiting packets in the other direction of a duplex link; as in `buffer` when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub down_buffer: Option<Buffer>,
    /// Bytes that the wire adds to each IP packet; 14 = Ethernet header.
    pub overhead_bytes: u32,
    /// RTT that a BDP is counted with; `base_rtt` when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bdp_rtt: Option<Span>,
    /// MTU of every device.
    pub mtu: u32,
    /// Seed of the random events; run N uses seed + N.
    pub seed: u64,
}

/// A link beside the bottleneck.
#[derive(Debug, Clone, PartialEq)]
pub struct HopSpec {
    /// Unique name, as paths use it.
    pub name: String,
    /// Its `base_rtt` is twice the `delay` of the document, its `mtu` that of the scenario.
    pub link: LinkSpec,
}

impl Serialize for HopSpec {
    /// The form of the document: `delay` of one direction, no `mtu`.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let one_way = |rtt: Span| toml::Value::String(Span { ns: rtt.ns / 2 }.to_string());
        let mut table = toml::Table::try_from(&self.link).map_err(S::Error::custom)?;
        for other in ["mtu", "base_rtt", "base_rtt_steps"] {
            table.remove(other);
        }
        table.insert("name".to_owned(), self.name.clone().into());
        table.insert("delay".to_owned(), one_way(self.link.base_rtt));
        if !self.link.base_rtt_steps.is_empty() {
            let step = |step: &RttStep| {
                toml::Table::from_iter([
                    ("at".to_owned(), step.at.to_string().into()),
                    ("delay".to_owned(), one_way(step.base_rtt)),
                ])
            };
            let steps: Vec<toml::Table> = self.link.base_rtt_steps.iter().map(step).collect();
            table.insert("delay_steps".to_owned(), steps.into());
        }
        table.serialize(serializer)
    }
}

/// A new rate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RateStep {
    /// Relative to the beginning of the run.
    pub at: Span,
    /// From then on.
    pub rate: Rate,
}

/// A new propagation delay.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RttStep {
    /// Relative to the beginning of the run.
    pub at: Span,
    /// Of the round trip, for packets that are sent from then on.
    pub base_rtt: Span,
}

/// Losses of packets that have been transmitted.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LossSpec {
    /// In bursts: a Markov chain of a good and a bad state, one step per packet (Gilbert 1960, Elliott 1963).
    GilbertElliott {
        /// Probability to go from the good to the bad state.
        good_to_bad: f64,
        /// And back.
        bad_to_good: f64,
        /// Loss probability in the good state.
        loss_good: f64,
        /// In the bad state.
        loss_bad: f64,
    },
    /// Each packet with this probability, independently.
    #[serde(untagged)]
    Random(f64),
}

/// A random time on top of the delay of each packet.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct JitterSpec {
    /// Largest.
    pub max: Span,
    /// How it is distributed below that.
    #[serde(flatten)]
    pub distribution: Distribution,
    /// Whether packets may overtake each other.
    pub reorder: bool,
}

/// Distribution of the jitter.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(tag = "distribution", rename_all = "kebab-case")]
pub enum Distribution {
    /// Evenly from 0 to the largest value.
    Uniform,
    /// Normal, truncated to what lies between 0 and the largest value.
    Normal {
        /// Mean before the truncation.
        mean: Span,
        /// Standard deviation before the truncation.
        std_dev: Span,
    },
}

/// Retransmission below IP, as of Wi-Fi: in order, and the transmitter is busy meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct WirelessSpec {
    /// Probability that one attempt fails.
    pub error: f64,
    /// Further attempts before the packet is lost.
    pub retries: u32,
    /// Between two attempts, in addition to the transmission.
    pub retry_delay: Span,
}

/// Bandwidth-delay product in bytes on the wire.
pub(crate) fn bdp_bytes(rate: Rate, rtt: Span) -> f64 {
    rate.bps as f64 / 8.0 * rtt.secs_f64()
}

/// A size as the link model takes it.
pub(crate) fn queue_size(size: Buffer, bdp_bytes: f64) -> Capacity {
    match size {
        Buffer::Bdp(multiple) => Capacity::Bytes((multiple * bdp_bytes).round() as u64),
        Buffer::Bytes(bytes) => Capacity::Bytes(bytes),
        Buffer::Packets(packets) => Capacity::Packets(packets),
    }
}

impl LinkSpec {
    /// Bandwidth-delay product in bytes on the wire.
    #[must_use]
    pub fn bdp_bytes(&self) -> f64 {
        bdp_bytes(self.rate, self.bdp_rtt.unwrap_or(self.base_rtt))
    }

    /// Size of a full packet on the wire.
    #[must_use]
    pub fn frame_bytes(&self) -> u64 {
        u64::from(self.mtu) + u64::from(self.overhead_bytes)
    }

    /// The buffer as the link model takes it.
    #[must_use]
    pub fn capacity(&self) -> Capacity {
        self.queue_size(self.buffer)
    }

    /// The buffer of the other direction.
    #[must_use]
    pub fn down_capacity(&self) -> Capacity {
        self.queue_size(self.down_buffer.unwrap_or(self.buffer))
    }

    /// The same in bytes; packets count as full ones.
    #[must_use]
    pub fn down_buffer_bytes(&self) -> u64 {
        self.in_bytes(self.down_capacity())
    }

    /// The marking threshold as the link model takes it.
    #[must_use]
    pub fn mark_above(&self) -> Option<Capacity> {
        self.ecn_threshold.map(|threshold| self.queue_size(threshold))
    }

    fn queue_size(&self, size: Buffer) -> Capacity {
        queue_size(size, self.bdp_bytes())
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

    /// The cache of the Snoop agent in bytes; packets count as full ones.
    #[must_use]
    pub fn snoop_bytes(&self) -> Option<u64> {
        self.snoop.map(|cache| self.in_bytes(self.queue_size(cache)))
    }

    /// Whether its wire can lose a packet, or repeats what would be lost.
    #[must_use]
    pub fn is_lossy(&self) -> bool {
        self.wireless.is_some() || self.loss != LossSpec::Random(0.0)
    }

    fn in_bytes(&self, size: Capacity) -> u64 {
        match size {
            Capacity::Bytes(bytes) => bytes,
            Capacity::Packets(packets) => packets.saturating_mul(self.frame_bytes()),
        }
    }

    /// Rate on the wire in bit/s, mean over a run of that length.
    #[must_use]
    pub fn mean_rate_bps(&self, duration: Span) -> f64 {
        if let Some(trace) = &self.rate_trace {
            return trace.opportunities.mean_rate_over_bps(duration.ns);
        }
        let starts = std::iter::once((0, self.rate)).chain(self.rate_steps.iter().map(|step| (step.at.ns, step.rate)));
        let ends = self.rate_steps.iter().map(|step| step.at.ns).chain([u64::MAX]);
        let bits = starts
            .zip(ends)
            .map(|((start, rate), end)| rate.bps as f64 * end.min(duration.ns).saturating_sub(start) as f64);
        bits.sum::<f64>() / duration.ns as f64
    }

    /// Propagation delays of one direction, each for what leaves from its time on, ns.
    #[must_use]
    pub fn one_way(&self) -> Vec<(Nanos, Nanos)> {
        let later = self.base_rtt_steps.iter().map(|step| (step.at.ns, step.base_rtt.ns / 2));
        std::iter::once((0, self.base_rtt.ns / 2)).chain(later).collect()
    }

    /// Parameters of the link model for run `run`, from 1: the transmitter of one direction.
    #[must_use]
    pub fn config(&self, run: u32) -> LinkConfig {
        let steps = || self.rate_steps.iter().map(|step| (step.at.ns, step.rate.bps));
        LinkConfig {
            rate: match &self.rate_trace {
                Some(trace) => RatePlan::Trace(Arc::clone(&trace.opportunities)),
                None => RatePlan::Steps(std::iter::once((0, self.rate.bps)).chain(steps()).collect()),
            },
            capacity: self.capacity(),
            queue: self.queue.clone(),
            mark_above: self.mark_above(),
            wire: WireConfig {
                delay: self.one_way(),
                jitter: self.jitter.map(JitterSpec::config),
                loss: self.loss.config(),
                wireless: self.wireless.map(WirelessSpec::config),
            },
            seed: self.seed.wrapping_add(u64::from(run)),
        }
    }
}

impl JitterSpec {
    fn config(self) -> ccactl_link::Jitter {
        let max = self.max.ns;
        let distribution = match self.distribution {
            Distribution::Uniform => ccactl_link::Distribution::Uniform { max },
            Distribution::Normal { mean, std_dev } => {
                ccactl_link::Distribution::Normal { mean: mean.ns, std_dev: std_dev.ns, max }
            }
        };
        ccactl_link::Jitter { distribution, reorder: self.reorder }
    }
}

impl LossSpec {
    fn config(self) -> ccactl_link::Loss {
        match self {
            LossSpec::Random(0.0) => ccactl_link::Loss::None,
            LossSpec::Random(probability) => ccactl_link::Loss::Bernoulli(probability),
            LossSpec::GilbertElliott { good_to_bad: p, bad_to_good: r, loss_good, loss_bad } => {
                ccactl_link::Loss::GilbertElliott(ccactl_link::GilbertElliott { p, r, loss_good, loss_bad })
            }
        }
    }
}

impl WirelessSpec {
    fn config(self) -> ccactl_link::Wireless {
        ccactl_link::Wireless { error: self.error, retries: self.retries, retry_delay: self.retry_delay.ns }
    }
}
