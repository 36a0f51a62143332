//! E7: a single flow of each version of BBR, with and without random loss.

use super::names::{P1, printed};
use super::{Drawing, OverTime, Suite};
use crate::compare::{Listed, Printed, Table, sheet};
use crate::results::{CellResults, Metric, Results};
use crate::verdict::{Claims, Ordering, Value};

/// See [`Suite`].
pub const SUITE: Suite = Suite {
    name: "fbbrv2-single",
    experiment: "E7",
    paper: "P1 scenario 1",
    look_at: "How much of 50 Mbit/s each BBR keeps when 0.5 % of the packets are lost.",
    windows: &[],
    tables,
    orderings: ORDERINGS,
    figures: |results| Drawing::over_time(results, &[OverTime::Throughput], |_| true),
};

/// No penalty: F-BBRv2 and BBRv2 print the same digits.
const SAME: f64 = 0.02;
/// Value on the axis and percent in print.
const LOSSES: [(&str, &str); 2] = [("0", "0"), ("0.005", "0.5")];

fn tables(results: &Results) -> Vec<Table> {
    let listed = Listed {
        title: "One flow, 50 Mbit/s, 40 ms, 4 BDP",
        source: "scenario 1, in the text",
        axes: &[("loss", "Random loss"), ("algorithm", "Algorithm")],
        metrics: &[(Metric::Throughput, 0), (Metric::Rtt, 0), (Metric::Retransmissions, 0), (Metric::Queue, 0)],
        printed: &of_print,
    };
    vec![listed.table(results)]
}

fn of_print(cell: &CellResults, metric: Metric, _flow: usize) -> Option<Printed> {
    if metric != Metric::Throughput {
        return None;
    }
    let (_, percent) = LOSSES.iter().find(|(label, _)| Some(*label) == cell.label("loss"))?;
    let algorithm = printed(P1, cell.label("algorithm")?);
    let keys = [("random_loss_percent", *percent), ("algorithm", algorithm)];
    sheet("p1_single_flow").number(&keys, "throughput_mbps")
}

fn throughput(results: &Results, loss: &str, algorithm: &str) -> Value {
    results.value(&[("loss", loss), ("algorithm", algorithm)], Metric::Throughput, 0)
}

const ORDERINGS: &[Ordering] = &[
    Ordering {
        text: "F-BBRv2 has no penalty when alone: as much as BBRv2, with and without random loss",
        claims: |results| {
            let mut claims = Claims::new();
            for (loss, _) in LOSSES {
                claims.near(&throughput(results, loss, "f-bbrv2"), &throughput(results, loss, "bbrv2"), SAME);
            }
            claims
        },
    },
    Ordering {
        text: "BBRv1 has less than BBRv2",
        claims: |results| {
            let mut claims = Claims::new();
            for (loss, _) in LOSSES {
                claims.below(&throughput(results, loss, "bbr"), &throughput(results, loss, "bbrv2"));
            }
            claims
        },
    },
];
