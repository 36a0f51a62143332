//! The table of changes of algorithm: its columns, for the terminal and for the page.

use super::UNKNOWN;
use super::format::{mbit_per_s, millis, percent, significant};
use crate::summary::{AlgorithmChange, ChangeSide, SocketState};

/// Heading and unit of each figure, in the order of [`cells`].
pub(crate) const FIGURES: [(&str, &str); 13] = [
    ("at", "s"),
    ("before", "Mbit/s"),
    ("lowest", "Mbit/s"),
    ("after", "Mbit/s"),
    ("dip", "%"),
    ("retrans", "pkts"),
    ("RTT before", "ms"),
    ("RTT after", "ms"),
    ("cwnd", "pkts"),
    ("ssthresh", "pkts"),
    ("pacing", "Mbit/s"),
    ("cwnd later", "pkts"),
    ("pacing later", "Mbit/s"),
];

/// The figures of one change. Those of the socket are `before → after`.
pub(crate) fn cells(change: &AlgorithmChange) -> [String; 13] {
    let AlgorithmChange { before, after, one_rtt_later, .. } = change;
    let both = |value: fn(&SocketState) -> String| turn(&value(&before.state), &value(&after.state));
    let later = |value: fn(&SocketState) -> String| one_rtt_later.as_ref().map_or(UNKNOWN.to_owned(), value);
    [
        format!("{:.3}", change.at_s),
        mbit_per_s(before.goodput_bps),
        mbit_per_s(change.lowest_goodput_bps),
        mbit_per_s(after.goodput_bps),
        percent(change.dip_ratio),
        turn(&before.retrans_pkts.to_string(), &after.retrans_pkts.to_string()),
        rtt(before),
        rtt(after),
        both(cwnd),
        both(ssthresh),
        both(pacing),
        later(cwnd),
        later(pacing),
    ]
}

fn turn(before: &str, after: &str) -> String {
    format!("{before} → {after}")
}

fn rtt(side: &ChangeSide) -> String {
    millis(side.rtt_mean_us)
}

fn cwnd(state: &SocketState) -> String {
    state.cwnd_pkts.map_or(UNKNOWN.to_owned(), |pkts| pkts.to_string())
}

/// No threshold is an infinite one.
fn ssthresh(state: &SocketState) -> String {
    state.ssthresh_pkts.map_or("∞".to_owned(), |pkts| pkts.to_string())
}

fn pacing(state: &SocketState) -> String {
    state.pacing_rate_bps.map_or("∞".to_owned(), |bps| significant(bps as f64 / 1e6))
}
