//! Printed figures from which a condition of `[as-printed]` was inferred, each with the condition. A run under that condition has to
//! meet them, so they say nothing about it.

use super::remark::Remark;

const RATE: &str = "the link's rate";
const PATH: &str = "the path's delay";
const BUFFER: &str = "the size of the buffer";
const BURSTS: &str = "at most two packets at once";
const NV: &str = "nv in NewVegas' place";
const AGGREGATION: &str = "BBR without an allowance for ACK aggregation";
const MEMORY: &str = "a remembered ssthresh";
const P1: &str = "what UP sets and the headroom (preset p1)";

const WINDOW: &[&str] = &["mean_cwnd_mss", "mean_rtt_ms"];
const LOSSES: &[&str] = &["retransmits"];
const THROUGHPUT: &[&str] = &["throughput_mbps"];
const OF_BOTH: &[&str] = &["retransmits_1", "retransmits_2"];

const fn single(
    row: &'static [(&'static str, &'static str)],
    columns: &'static [&'static str],
    text: &'static str,
) -> Remark {
    Remark { sheet: "p0_single_flow", row, columns, text }
}

const fn pair(row: &'static [(&'static str, &'static str)]) -> Remark {
    Remark { sheet: "p0_pairs", row, columns: OF_BOTH, text: BURSTS }
}

const fn p1(row: &'static [(&'static str, &'static str)]) -> Remark {
    Remark { sheet: "p1_vs_cubic", row, columns: &["jain_index", "throughput_gap_mbps"], text: P1 }
}

/// A window and its RTT are one fact: at a full link they are proportional.
const EVIDENCE: &[Remark] = &[
    single(&[("algorithm", "Reno")], THROUGHPUT, RATE),
    single(&[("algorithm", "CUBIC")], THROUGHPUT, RATE),
    single(&[("algorithm", "Vegas")], THROUGHPUT, RATE),
    single(&[("algorithm", "NewVegas")], THROUGHPUT, RATE),
    single(&[("algorithm", "Veno")], THROUGHPUT, RATE),
    single(&[("algorithm", "Vegas")], WINDOW, PATH),
    single(&[("algorithm", "Reno")], WINDOW, BUFFER),
    single(&[("algorithm", "CUBIC")], WINDOW, BUFFER),
    single(&[("algorithm", "NewVegas")], WINDOW, NV),
    single(&[("algorithm", "BBR")], &["mean_cwnd_mss"], AGGREGATION),
    single(&[("algorithm", "Reno")], LOSSES, MEMORY),
    single(&[("algorithm", "Veno")], LOSSES, MEMORY),
    pair(&[("buffer_bdp", "0.8"), ("algorithm_2", "BBR")]),
    pair(&[("buffer_bdp", "0.8"), ("algorithm_1", "BBR")]),
    p1(&[("buffer_bdp", "4"), ("algorithm", "BBRv2")]),
    p1(&[("buffer_bdp", "4"), ("algorithm", "F-BBRv2")]),
];

/// The condition that was inferred from a figure, if one was.
pub fn of(sheet: &str, keys: &[(&str, &str)], column: &str) -> Option<&'static str> {
    Remark::on(EVIDENCE, sheet, keys, column)
}
