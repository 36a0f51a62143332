//! Printed figures and statements from which a condition of `[as-printed]` was inferred, each with the condition. A run under that
//! condition has to meet them, so they say nothing about it.

use super::remark::Remark;

const RATE: &str = "the link's rate";
const PATH: &str = "the path's delay";
const BUFFER: &str = "the size of the buffer";
const BURSTS: &str = "at most two packets at once";
const NV: &str = "nv in NewVegas' place";
const AGGREGATION: &str = "BBR without an allowance for ACK aggregation";
const MEMORY: &str = "a remembered ssthresh";
const P1: &str = "F-BBRv2 without headroom (preset p1)";
const P2_RTT: &str = "the RTT that ACA-TCP takes (preset p2)";
const P2_COUNT: &str = "what HSTCP counts (preset p2)";
const P2_LINK: &str = "the link's rate and queue";
const WAY_BACK: &str = "a small buffer on the way back";
const UPLINK: &str = "the uplink's rate";

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

const fn p2(row: &'static [(&'static str, &'static str)]) -> Remark {
    Remark { sheet: "p2_rtt_ratio", row, columns: &["throughput_ratio"], text: P2_LINK }
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
    p1(&[("buffer_bdp", "4"), ("algorithm", "F-BBRv2")]),
    p2(&[("algorithm", "ACA-TCP")]),
];

/// Orderings that say no more than what a condition was inferred from: suite, words and condition.
const STATEMENTS: &[(&str, &str, &str)] = &[
    ("fbbrv2-vs-cubic", "F-BBRv2 has a smaller gap to CUBIC than BBRv2 at 4 BDP", P1),
    ("aca-cwnd", "ACA-TCP does not overflow the buffer, HSTCP overshoots", P2_RTT),
    ("aca-throughput", "At low loss both deliver the same", P2_COUNT),
    ("bufferbloat", "The throughput is similar with either buffer", WAY_BACK),
    ("wmem-sweep", "About 200 KB are enough for the throughput", UPLINK),
];

/// The condition that was inferred from an ordering of a suite, if one was.
pub fn of_ordering(suite: &str, text: &str) -> Option<&'static str> {
    STATEMENTS.iter().find(|(of, words, _)| (*of, *words) == (suite, text)).map(|(.., condition)| *condition)
}

/// The condition that was inferred from a figure, if one was.
pub fn of(sheet: &str, keys: &[(&str, &str)], column: &str) -> Option<&'static str> {
    Remark::on(EVIDENCE, sheet, keys, column)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_statement_is_an_ordering_of_its_suite() {
        for (name, text, _) in STATEMENTS {
            let suite = crate::suite::by_name(name).unwrap_or_else(|| panic!("{name} is a suite"));
            assert!(suite.orderings.iter().any(|ordering| ordering.text == *text), "{name}: {text}");
        }
    }
}
