//! E1: one flow of each algorithm over a deep and a shallow buffer.

use super::names::{P0, printed};
use super::{BarLine, Drawing, OverTime, Suite};
use crate::compare::{Listed, Printed, Table, sheet};
use crate::results::{CellResults, Metric, Results};
use crate::verdict::{Claims, Ordering};

/// See [`Suite`].
pub const SUITE: Suite = Suite {
    name: "interaction-single",
    experiment: "E1",
    paper: "P0 §3.1.1, table 1",
    look_at: "Which algorithms fill the large buffer (a mean RTT near 50 ms), and which keep the RTT near 10 ms.",
    windows: &[],
    tables,
    orderings: ORDERINGS,
    figures,
};

/// The table as bars beside print, then each cell over time.
fn figures(results: &Results) -> Vec<Drawing> {
    let buffers = [DEEP.1, SHALLOW.1];
    let bars = |(name, metric): (&str, Metric)| {
        let line = |(algorithm, _): &(&str, &str)| {
            let cells = buffers.map(|buffer| results.cell(&[("buffer", buffer), ("algorithm", algorithm)]));
            let print = |cell: &CellResults| of_print(cell, metric, 0).filter(|p| p.fault.is_none()).map(|p| p.value);
            BarLine {
                name: (*algorithm).to_owned(),
                measured: cells.iter().map(|cell| cell.as_ref()?.estimate(metric, 0)).collect(),
                printed: cells.iter().map(|cell| print(cell.as_ref()?)).collect(),
            }
        };
        let lines: Vec<BarLine> = P0.iter().map(line).collect();
        let caption = format!("{} of a single flow, beside table 1", metric.heading());
        Drawing::bars(&format!("single-{name}"), &caption, (metric, "Buffer"), &buffers, &lines)
    };
    let shown = [("cwnd", Metric::Cwnd), ("rtt", Metric::Rtt), ("retransmissions", Metric::Retransmissions)];
    let mut figures: Vec<Drawing> = shown.into_iter().flat_map(bars).collect();
    figures.extend(Drawing::over_time(results, &[OverTime::Cwnd, OverTime::Rtt, OverTime::Queue], |_| true));
    figures
}

const DEEP: (&str, &str) = ("buffer", "5bdp");
const SHALLOW: (&str, &str) = ("buffer", "0.8bdp");
/// What the probing of the RTT costs BBR: 91.2 instead of 92.8 Mbit/s in print. At least this much …
const PROBE_RTT_COST_MIN_MBIT: f64 = 0.5;
/// … and no more than that.
const PROBE_RTT_COST_MAX_MBIT: f64 = 3.0;

fn tables(results: &Results) -> Vec<Table> {
    let listed = Listed {
        title: "One flow, 100 Mbit/s, 10 ms",
        source: "table 1",
        axes: &[("buffer", "Buffer"), ("algorithm", "Algorithm")],
        metrics: &[(Metric::Throughput, 0), (Metric::Retransmissions, 0), (Metric::Cwnd, 0), (Metric::Rtt, 0)],
        printed: &of_print,
    };
    vec![listed.table(results)]
}

fn of_print(cell: &CellResults, metric: Metric, _flow: usize) -> Option<Printed> {
    let column = match metric {
        Metric::Throughput => "throughput_mbps",
        Metric::Retransmissions => "retransmits",
        Metric::Cwnd => "mean_cwnd_mss",
        Metric::Rtt => "mean_rtt_ms",
        _ => return None,
    };
    let buffer = cell.label("buffer")?.trim_end_matches("bdp");
    let algorithm = printed(P0, cell.label("algorithm")?);
    sheet("p0_single_flow").number(&[("buffer_bdp", buffer), ("algorithm", algorithm)], column)
}

const ORDERINGS: &[Ordering] = &[
    Ordering {
        text: "With 5 BDP only the loss-based algorithms (Reno, CUBIC) retransmit",
        claims: |results| {
            let retransmissions =
                |algorithm| results.value(&[DEEP, ("algorithm", algorithm)], Metric::Retransmissions, 0);
            let mut claims = Claims::new();
            ["reno", "cubic"].iter().for_each(|algorithm| claims.at_least(&retransmissions(algorithm), 1.0));
            ["vegas", "new-vegas", "bbr", "veno"].iter().for_each(|algorithm| {
                claims.at_most(&retransmissions(algorithm), 0.0);
            });
            claims
        },
    },
    Ordering {
        text: "With 0.8 BDP BBR retransmits most, and Reno and CUBIC more than Vegas, NewVegas and Veno",
        claims: |results| {
            let retransmissions =
                |algorithm| results.value(&[SHALLOW, ("algorithm", algorithm)], Metric::Retransmissions, 0);
            let mut claims = Claims::new();
            for loss_based in ["reno", "cubic"] {
                claims.below(&retransmissions(loss_based), &retransmissions("bbr"));
                for other in ["vegas", "new-vegas", "veno"] {
                    claims.below(&retransmissions(other), &retransmissions(loss_based));
                }
            }
            claims
        },
    },
    Ordering {
        text: "BBR's throughput is about 1.6 Mbit/s below that of the others (ProbeRTT)",
        claims: |results| {
            let mut claims = Claims::new();
            for buffer in [DEEP, SHALLOW] {
                let throughput = |algorithm| results.value(&[buffer, ("algorithm", algorithm)], Metric::Throughput, 0);
                for other in ["reno", "cubic", "vegas", "new-vegas", "veno"] {
                    let gap = throughput(other).minus(&throughput("bbr"));
                    claims.at_least(&gap, PROBE_RTT_COST_MIN_MBIT);
                    claims.at_most(&gap, PROBE_RTT_COST_MAX_MBIT);
                }
            }
            claims
        },
    },
    Ordering {
        text: "With 5 BDP the RTT of CUBIC is the longest, then Reno and Veno; Vegas, NewVegas and BBR keep it short",
        claims: |results| {
            let rtt = |algorithm| results.value(&[DEEP, ("algorithm", algorithm)], Metric::Rtt, 0);
            let mut claims = Claims::new();
            claims.below(&rtt("reno"), &rtt("cubic"));
            claims.below(&rtt("veno"), &rtt("reno"));
            ["vegas", "new-vegas", "bbr"].iter().for_each(|short| claims.below(&rtt(short).times(2.0), &rtt("veno")));
            claims
        },
    },
];
