//! The figures of changes of algorithm.

use super::fold::Flow;
use super::{BITS_PER_BYTE, US_PER_S};
use crate::labels::Algorithms;
use crate::measure::swaps::{DIP_WINDOW_US, Side, State, Swap};
use crate::summary::{AlgorithmChange, ChangeSide, SocketState};
use crate::walk::{Counter, Names};
use ccactl_recording::read::Metadata;

/// One entry per change of a flow.
pub fn changes(metadata: &Metadata, names: &Names, flow: &Flow, algorithms: &Algorithms) -> Vec<AlgorithmChange> {
    let bits_per_pkt = bits_per_pkt(flow);
    let of_swap = |swap: &Swap| {
        let between = [swap.change.from, swap.change.to].map(|name| names.text(name));
        change(metadata, swap, between, bits_per_pkt, algorithms)
    };
    flow.swaps.iter().map(of_swap).collect()
}

/// Mean payload of the flow's packets. The bytes acknowledged in a short time would not do: they stand still while a
/// hole is repaired, and then jump.
fn bits_per_pkt(flow: &Flow) -> f64 {
    let pkts = flow.grown(Counter::DeliveredPkts).max(1);
    flow.grown(Counter::BytesAcked) as f64 * BITS_PER_BYTE / pkts as f64
}

fn change(
    metadata: &Metadata,
    swap: &Swap,
    [from, to]: [&str; 2],
    bits_per_pkt: f64,
    algorithms: &Algorithms,
) -> AlgorithmChange {
    let before = side(&swap.before, swap.state_before, bits_per_pkt);
    let lowest_pkts = swap.lowest_pkts.filter(|_| resolves_windows(metadata, &swap.after));
    let lowest_goodput_bps = lowest_pkts.map(|pkts| pkts * bits_per_pkt * US_PER_S / DIP_WINDOW_US as f64);
    let reference_bps = before.goodput_bps.filter(|bps| *bps > 0.0);
    AlgorithmChange {
        at_s: swap.change.at_us as f64 / US_PER_S,
        from: algorithms.name(from),
        to: algorithms.name(to),
        to_kernel_name: to.to_owned(),
        color: algorithms.color(to),
        dip_ratio: lowest_goodput_bps.zip(reference_bps).map(|(lowest, before)| 1.0 - lowest / before),
        before,
        after: side(&swap.after, swap.state_after, bits_per_pkt),
        lowest_goodput_bps,
        one_rtt_later: swap.state_later.map(state),
    }
}

/// Whether rows are frequent enough to tell one window from the next. With a row per ACK a silence is a silence; rows
/// that are taken at longer intervals would hide a dip.
fn resolves_windows(metadata: &Metadata, after: &Side) -> bool {
    metadata.every.as_deref() == Some("ack") || after.rows * DIP_WINDOW_US >= after.span_us
}

fn side(side: &Side, next_to: State, bits_per_pkt: f64) -> ChangeSide {
    let span_s = side.span_us as f64 / US_PER_S;
    ChangeSide {
        span_s,
        goodput_bps: (side.span_us > 0).then(|| side.delivered_pkts * bits_per_pkt / span_s),
        retrans_pkts: side.retrans_pkts,
        rtt_mean_us: (side.rtt_samples > 0).then(|| side.rtt_sum_us as f64 / side.rtt_samples as f64),
        state: state(next_to),
    }
}

fn state(state: State) -> SocketState {
    let State { cwnd_pkts, ssthresh_pkts, pacing_rate_bps } = state;
    SocketState { cwnd_pkts: cwnd_pkts.map(u64::from), ssthresh_pkts: ssthresh_pkts.map(u64::from), pacing_rate_bps }
}
