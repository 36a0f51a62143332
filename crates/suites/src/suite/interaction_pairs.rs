//! E2: every pair of six algorithms over a deep and a shallow buffer.

use super::drawing::Kind;
use super::names::P0;
use super::{Drawing, Suite};
use crate::compare::{Pairs, Printed, Table, sheet};
use crate::results::{CellResults, Metric, Results};
use crate::verdict::{Claims, Ordering, Value};
use ccactl_report::figure::{Grid, GridCell};

/// See [`Suite`].
pub const SUITE: Suite = Suite {
    name: "interaction-pairs",
    experiment: "E2",
    paper: "P0 §3.2.1, figures 8 and 9, appendix",
    look_at: "Where the Jain index is far below 1. In the large buffer Vegas and NewVegas lose to the others.",
    windows: &[],
    tables,
    orderings: ORDERINGS,
    figures,
};

/// Value on the axis, as printed, and heading.
const BUFFERS: [(&str, &str, &str); 2] =
    [("5bdp", "5", "large buffer, 5 BDP"), ("0.8bdp", "0.8", "small buffer, 0.8 BDP")];
const METRICS: [(Metric, &str); 5] = [
    (Metric::Throughput, "Throughput"),
    (Metric::Jain, "Jain index"),
    (Metric::Cwnd, "Mean cwnd"),
    (Metric::Rtt, "Mean RTT"),
    (Metric::Retransmissions, "Retransmitted packets"),
];
/// What a flow is starved to: below a fifth of the link. The print has 1 to 17 Mbit/s.
const STARVED_MBIT: f64 = 20.0;
/// Printed for a starved Vegas: 0.51 to 0.57; the printed digits of a monopoly leave some room.
const STARVED_JAIN: f64 = 0.60;
/// Printed for BBR beside Reno (0.991) and CUBIC (0.947) with 5 BDP, with the 10 % that a reproduction may be off.
const SHARED_JAIN: f64 = 0.85;
/// Printed for Reno and CUBIC: 0.905 with 5 BDP, 0.995 with 0.8.
const LOSS_BASED_JAIN: f64 = 0.90;
/// Two flows of one algorithm: the least in print is 0.990.
const ALIKE_JAIN: f64 = 0.95;

fn with_matrix<T>(buffer: (&str, &str, &str), use_it: impl Fn(&Pairs<'_>) -> T) -> T {
    let printed =
        |first: &str, second: &str, metric: Metric, flow: usize| of_print(buffer.1, first, second, metric, flow);
    let common = [("buffer", buffer.0)];
    use_it(&Pairs { source: "appendix", common: &common, axis: "pair", algorithms: P0, printed: &printed })
}

fn of_print(buffer: &str, first: &str, second: &str, metric: Metric, flow: usize) -> Option<Printed> {
    let column = match (metric, flow) {
        (Metric::Throughput, 0) => "throughput_1_mbps",
        (Metric::Throughput, _) => "throughput_2_mbps",
        (Metric::Jain, _) => "jain_index",
        (Metric::Cwnd, 0) => "mean_cwnd_1_mss",
        (Metric::Cwnd, _) => "mean_cwnd_2_mss",
        (Metric::Rtt, 0) => "mean_rtt_1_ms",
        (Metric::Rtt, _) => "mean_rtt_2_ms",
        (Metric::Retransmissions, 0) => "retransmits_1",
        (Metric::Retransmissions, _) => "retransmits_2",
        _ => return None,
    };
    sheet("p0_pairs").number(&[("buffer_bdp", buffer), ("algorithm_1", first), ("algorithm_2", second)], column)
}

fn tables(results: &Results) -> Vec<Table> {
    let of_buffer = |buffer: &(&str, &str, &str)| {
        with_matrix(*buffer, |pairs| {
            METRICS.map(|(metric, name)| pairs.table(&format!("{name}, {}", buffer.2), metric, results))
        })
    };
    BUFFERS.iter().flat_map(of_buffer).collect()
}

/// A matrix per buffer: share of the row's algorithm, Jain index, throughputs.
fn figures(results: &Results) -> Vec<Drawing> {
    let names: Vec<String> = P0.iter().map(|(_, name)| (*name).to_owned()).collect();
    let of_buffer = |buffer: &(&str, &str, &str)| {
        let cells = with_matrix(*buffer, |pairs| {
            let row = |row: usize| {
                (0..P0.len()).map(|column| Some((row, column, pairs.cell(results, row, column)?))).collect()
            };
            (0..P0.len()).map(row).collect::<Vec<Vec<_>>>()
        });
        let cells = cells.into_iter().map(|row| row.into_iter().map(|of| grid_cell(buffer.1, of?)).collect()).collect();
        Drawing {
            name: format!("pairs-{}", buffer.0),
            caption: format!("Throughput of the row beside the column [Mbit/s] and Jain index, {}", buffer.2),
            kind: Kind::Matrix(Grid {
                title: format!("Throughput and Jain index of each pair, {}", buffer.2),
                row_label: "Algorithm".to_owned(),
                column_label: "beside … (its / the other's throughput [Mbit/s], J: Jain index)".to_owned(),
                rows: names.clone(),
                columns: names.clone(),
                cells,
            }),
        }
    };
    let measured = |buffer: &&(&str, &str, &str)| {
        results.cells.iter().any(|cell| cell.has(&[("buffer", buffer.0)]) && !cell.runs.is_empty())
    };
    BUFFERS.iter().filter(measured).map(of_buffer).collect()
}

fn grid_cell(buffer: &str, (row, column, cell): (usize, usize, &CellResults)) -> Option<GridCell> {
    let throughput = |flow: usize| Some(cell.estimate(Metric::Throughput, flow)?.mean);
    // The first flow is that of the algorithm that comes first.
    let (of_row, of_column) =
        if row <= column { (throughput(0)?, throughput(1)?) } else { (throughput(1)?, throughput(0)?) };
    let jain = cell.estimate(Metric::Jain, 0)?.mean;
    let share = if of_row + of_column > 0.0 { of_row / (of_row + of_column) } else { 0.5 };
    let mut lines = vec![format!("{of_row:.1} / {of_column:.1}"), format!("J {jain:.2}")];
    let print = |metric, flow| of_print(buffer, P0[row.min(column)].1, P0[row.max(column)].1, metric, flow);
    if let (Some(first), Some(second)) = (print(Metric::Throughput, 0), print(Metric::Throughput, 1)) {
        let (of_row, of_column) = if row <= column { (first, second) } else { (second, first) };
        lines.push(format!("print {} / {}", of_row.text, of_column.text));
    }
    Some(GridCell { share, lines })
}

/// Throughput of `one` beside `other`.
fn throughput(results: &Results, buffer: &str, one: &str, other: &str) -> Value {
    let place = |name: &str| P0.iter().position(|(ours, _)| *ours == name);
    let first = place(one) <= place(other);
    let pair = if first { format!("{one}+{other}") } else { format!("{other}+{one}") };
    results.value(&[("buffer", buffer), ("pair", &pair)], Metric::Throughput, usize::from(!first))
}

fn jain(results: &Results, buffer: &str, pair: &str) -> Value {
    results.value(&[("buffer", buffer), ("pair", pair)], Metric::Jain, 0)
}

const ORDERINGS: &[Ordering] = &[
    Ordering {
        text: "Reno and CUBIC have a Jain index of 0.9 or more, and share more evenly over the small buffer",
        claims: |results| {
            let of = |buffer| results.value(&[("buffer", buffer), ("pair", "reno+cubic")], Metric::Jain, 0);
            let mut claims = Claims::new();
            claims.at_least(&of("5bdp"), LOSS_BASED_JAIN);
            claims.at_least(&of("0.8bdp"), LOSS_BASED_JAIN);
            claims.below(&of("5bdp"), &of("0.8bdp"));
            claims
        },
    },
    Ordering {
        text: "Reno and CUBIC starve Vegas whatever the buffer (Jain index 0.51 to 0.57 in print)",
        claims: |results| {
            let mut claims = Claims::new();
            for (buffer, ..) in BUFFERS {
                for strong in ["reno", "cubic"] {
                    claims.at_most(&throughput(results, buffer, "vegas", strong), STARVED_MBIT);
                    claims.at_most(&jain(results, buffer, &format!("{strong}+vegas")), STARVED_JAIN);
                }
            }
            claims
        },
    },
    Ordering {
        text: "BBR starves Reno and CUBIC in the small buffer (6 to 7 beside 85 Mbit/s in print)",
        claims: |results| {
            let mut claims = Claims::new();
            for loss_based in ["reno", "cubic"] {
                claims.at_most(&throughput(results, "0.8bdp", loss_based, "bbr"), STARVED_MBIT);
            }
            claims
        },
    },
    Ordering {
        text: "BBR shares with Reno and CUBIC in the large buffer (Jain index 0.947 and more in print)",
        claims: |results| {
            let mut claims = Claims::new();
            for pair in ["reno+bbr", "cubic+bbr"] {
                claims.at_least(&jain(results, "5bdp", pair), SHARED_JAIN);
            }
            claims
        },
    },
    Ordering {
        text: "BBR starves Vegas whatever the buffer",
        claims: |results| {
            let mut claims = Claims::new();
            for (buffer, ..) in BUFFERS {
                claims.at_most(&throughput(results, buffer, "vegas", "bbr"), STARVED_MBIT);
            }
            claims
        },
    },
    Ordering {
        text: "Veno loses to CUBIC (16 to 30 Mbit/s in print)",
        claims: |results| {
            let mut claims = Claims::new();
            for (buffer, ..) in BUFFERS {
                let of = |one, other| throughput(results, buffer, one, other);
                claims.below(&of("veno", "cubic"), &of("cubic", "veno"));
            }
            claims
        },
    },
    Ordering {
        text: "NewVegas beats Vegas",
        claims: |results| {
            let mut claims = Claims::new();
            for (buffer, ..) in BUFFERS {
                let of = |one, other| throughput(results, buffer, one, other);
                claims.below(&of("vegas", "new-vegas"), &of("new-vegas", "vegas"));
            }
            claims
        },
    },
    Ordering {
        text: "Two flows of one algorithm share evenly (Jain index 0.99 and more in print)",
        claims: |results| {
            let mut claims = Claims::new();
            for (buffer, ..) in BUFFERS {
                for (algorithm, _) in P0 {
                    claims.at_least(&jain(results, buffer, &format!("{algorithm}+{algorithm}")), ALIKE_JAIN);
                }
            }
            claims
        },
    },
];
