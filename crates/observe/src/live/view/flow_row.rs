//! A flow as a table has it.

use super::inner::{self, InnerValue};
use crate::live::board::{CLOSED_NS, Flow, FlowKey, Pace, Totals};
use crate::live::labels::Labels;
use ccactl_abi::layout::{FLAG_APP_LIMITED, FLAG_CWND_LIMITED, FLAG_TRACE, INFINITE_SSTHRESH, Sample, name_str};
use ccactl_collector::rows;
use serde::Serialize;
use std::net::SocketAddr;

/// How long a change of algorithm is pointed at.
const SWAP_SHOWN_S: f64 = CLOSED_NS as f64 / 1e9;
/// RTTs for the bars of a table.
const RTT_POINTS: usize = 40;

/// Figures of one flow. `None` is "not known"; rates are over the window.
#[derive(Debug, Clone, Serialize)]
pub struct FlowRow {
    /// Socket cookie.
    pub flow_id: u64,
    /// Local address and port.
    pub local: SocketAddr,
    /// Remote address and port.
    pub remote: SocketAddr,
    /// Path of its cgroup.
    pub cgroup: String,
    /// Name of its network namespace.
    pub netns: String,
    /// Inode number of that.
    pub netns_inode: u32,
    /// Kernel name of the algorithm.
    pub kernel_name: String,
    /// Its row of the registry; `None` for the kernel's own.
    pub algorithm: Option<&'static str>,
    /// Colour of the registry.
    #[serde(skip)]
    pub color: Option<&'static str>,
    /// Kernel name of the algorithm before the latest change, if that was while we looked.
    pub changed_from: Option<String>,
    /// Seconds since then.
    pub changed_s: Option<f64>,
    /// Phase that the algorithm publishes.
    pub phase: Option<String>,
    /// Congestion state of the kernel.
    pub ca_state: &'static str,
    /// Acknowledged payload.
    pub goodput_bps: Option<f64>,
    /// Payload sent, retransmissions included.
    pub throughput_bps: Option<f64>,
    /// The kernel's smoothed RTT.
    pub srtt_us: Option<u32>,
    /// Its latest RTT sample.
    pub rtt_us: Option<u32>,
    /// Its windowed minimum.
    pub min_rtt_us: Option<u32>,
    /// Congestion window.
    pub cwnd_pkts: u32,
    /// Packets in flight.
    pub inflight_pkts: u32,
    /// Slow-start threshold; `None`: infinite.
    pub ssthresh_pkts: Option<u32>,
    /// Payload per packet.
    pub mss_bytes: u32,
    /// Window that the receiver offers.
    pub snd_wnd_bytes: u32,
    /// `None`: unpaced.
    pub pacing_rate_bps: Option<u64>,
    /// The kernel's latest estimate.
    pub delivery_rate_bps: Option<u64>,
    /// The sender had nothing to send.
    pub app_limited: bool,
    /// The window kept the sender back.
    pub cwnd_limited: bool,
    /// Packets retransmitted over the life of the connection.
    pub retrans_pkts: u32,
    /// The same within the window, per second.
    pub retrans_pkts_per_s: Option<f64>,
    /// Retransmitted of the bytes sent within the window.
    pub retrans_ratio: Option<f64>,
    /// Packets that were ever marked lost.
    pub lost_pkts: u32,
    /// Retransmission timeouts over the life of the connection.
    pub rto_count: u32,
    /// Packets delivered with an ECN mark over the life of the connection.
    pub delivered_ce_pkts: u32,
    /// Marked of the packets delivered within the window.
    pub ce_ratio: Option<f64>,
    /// Payload acknowledged over the life of the connection.
    pub acked_bytes: u64,
    /// Since the handshake; `None`: that was before we looked.
    pub age_s: Option<f64>,
    /// Since the latest row.
    pub silent_s: f64,
    /// Whether it is closed.
    pub is_closed: bool,
    /// Of a closed flow that was opened while we looked: from the handshake to the end.
    pub duration_us: Option<u64>,
    /// Of such a flow: from the handshake to the last ACK of new data.
    pub completion_us: Option<u64>,
    /// Inner state of the algorithm.
    pub inner: Vec<InnerValue>,
    /// Final figures of a closed flow.
    #[serde(skip)]
    pub totals: Option<Totals>,
    /// RTTs of the last moments, the latest last.
    #[serde(skip)]
    pub rtts_us: Vec<Option<f32>>,
}

impl FlowRow {
    /// How a flow looks at this moment.
    #[must_use]
    pub fn new(flow: &Flow, labels: &Labels, pace: &Pace, now_ns: u64) -> FlowRow {
        let row = &flow.last;
        let counts = flow.counts(pace, now_ns);
        let counted_s = flow.counted_s(pace, now_ns);
        let per_s = |count: f64| counted_s.map(|seconds| count / seconds);
        let algorithm = labels.algorithm(flow.algorithm());
        let change = flow.swap.map(|swap| (swap, now_ns.saturating_sub(swap.time_ns) as f64 / 1e9));
        let change = change.filter(|(_, ago_s)| *ago_s < SWAP_SHOWN_S);
        let totals = flow.totals();
        FlowRow {
            flow_id: row.flow_id,
            local: socket_address(row, &row.saddr, row.sport),
            remote: socket_address(row, &row.daddr, row.dport),
            cgroup: labels.names().cgroup(row.cgroup_id),
            netns: labels.names().netns(row.netns),
            netns_inode: row.netns,
            kernel_name: flow.algorithm().to_owned(),
            algorithm: algorithm.map(|algorithm| algorithm.name),
            color: algorithm.map(|algorithm| algorithm.color),
            changed_from: change.map(|(swap, _)| name_str(&swap.from).to_owned()),
            changed_s: change.map(|(_, ago_s)| ago_s),
            phase: (row.flags & FLAG_TRACE != 0).then(|| labels.phase(flow.algorithm(), row.trace.mode)),
            ca_state: rows::CA_STATES[usize::from(row.ca_state) % rows::CA_STATES.len()],
            goodput_bps: per_s(counts.acked_bytes * 8.0),
            throughput_bps: per_s(counts.sent_bytes * 8.0),
            srtt_us: nonzero(row.srtt_us),
            rtt_us: nonzero(row.rtt_us),
            min_rtt_us: nonzero(row.min_rtt_us).filter(|us| *us != u32::MAX),
            cwnd_pkts: row.cwnd_pkts,
            inflight_pkts: row.inflight_pkts,
            ssthresh_pkts: Some(row.ssthresh_pkts).filter(|pkts| *pkts < INFINITE_SSTHRESH),
            mss_bytes: row.mss_bytes,
            snd_wnd_bytes: row.snd_wnd_bytes,
            pacing_rate_bps: rows::pacing_rate_bps(row),
            delivery_rate_bps: rows::delivery_rate_bps(row),
            app_limited: row.flags & FLAG_APP_LIMITED != 0,
            cwnd_limited: row.flags & FLAG_CWND_LIMITED != 0,
            retrans_pkts: row.retrans_pkts,
            retrans_pkts_per_s: per_s(counts.retrans_pkts),
            retrans_ratio: counts.retrans_ratio(),
            lost_pkts: row.lost_pkts,
            rto_count: row.rto_count,
            delivered_ce_pkts: row.delivered_ce_pkts,
            ce_ratio: counts.ce_ratio(),
            acked_bytes: row.bytes_acked,
            age_s: flow.age_ns(now_ns).map(|ns| ns as f64 / 1e9),
            silent_s: flow.silent_ns(now_ns) as f64 / 1e9,
            is_closed: flow.is_closed(),
            duration_us: totals.and_then(|totals| totals.duration_us),
            completion_us: totals.and_then(|totals| totals.completion_us),
            inner: inner::inner(row, algorithm),
            totals,
            rtts_us: flow.history.latest(RTT_POINTS, |point| point.rtt_us),
        }
    }

    /// Which flow it is.
    #[must_use]
    pub fn key(&self) -> FlowKey {
        (self.flow_id, self.netns_inode)
    }

    /// What keeps the sender back, as the kernel sees it.
    #[must_use]
    pub fn limited(&self) -> &'static str {
        match (self.app_limited, self.cwnd_limited) {
            (true, _) => "app",
            (false, true) => "cwnd",
            (false, false) => "–",
        }
    }
}

fn socket_address(row: &Sample, bytes: &[u8; 16], port: u16) -> SocketAddr {
    SocketAddr::new(rows::address(row.family, bytes), port)
}

fn nonzero(value: u32) -> Option<u32> {
    Some(value).filter(|value| *value > 0)
}
