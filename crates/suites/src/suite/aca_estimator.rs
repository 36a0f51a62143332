//! E10: how ACA-TCP's estimate of the bandwidth follows a link that UDP takes more and more of.

use super::{Drawing, OfFlow, OverTime, Suite};
use crate::compare::{Compared, Entry, Printed, Row, Table};
use crate::results::{Metric, Results, Window};
use crate::verdict::{Claims, Ordering};

/// See [`Suite`].
pub const SUITE: Suite = Suite {
    name: "aca-estimator",
    experiment: "E10",
    paper: "P2 figure 3",
    look_at: "Whether the estimate falls by 10 Mbit/s with each step of the UDP traffic.",
    windows: &STEPS,
    tables,
    orderings: ORDERINGS,
    figures,
};

fn figures(results: &Results) -> Vec<Drawing> {
    let mut figures = Drawing::across(results, OfFlow::Bandwidth, &[], "algorithm", "figure 3");
    figures.extend(Drawing::over_time(results, &[OverTime::Throughput, OverTime::Cwnd], |_| true));
    figures
}

/// The second half of each step of the UDP traffic: the estimate has had time to follow.
const STEPS: [Window; 5] = [
    Window { name: "100 Mbit/s left", from: 0.10, to: 0.20 },
    Window { name: "90 Mbit/s left", from: 0.30, to: 0.40 },
    Window { name: "80 Mbit/s left", from: 0.50, to: 0.60 },
    Window { name: "70 Mbit/s left", from: 0.70, to: 0.80 },
    Window { name: "60 Mbit/s left", from: 0.90, to: 1.00 },
];
/// What the figure shows in each step: the capacity that UDP leaves. On the wire, where the estimate is payload.
const LEFT_MBIT: [(f64, &str); 5] = [(100.0, "100"), (90.0, "90"), (80.0, "80"), (70.0, "70"), (60.0, "60")];
/// Payload of a full packet against its size on the wire, and a tenth for what a reproduction may be off.
const FOLLOWS: (f64, f64) = (0.9 * 1448.0 / 1514.0, 1.1);

fn tables(results: &Results) -> Vec<Table> {
    let Some(cell) = results.cell(&[]) else { return Vec::new() };
    let row = |(step, (value, text)): (&Window, (f64, &'static str))| {
        let left = Printed { value, text, fault: None, evidence: None };
        let compared = |metric: Metric, printed: Option<Printed>| {
            Entry(vec![Compared { metric, measured: cell.estimate_in(step.name, metric, 0), printed }])
        };
        let entries = vec![compared(Metric::BandwidthEstimate, Some(left)), compared(Metric::Throughput, None)];
        Row { names: vec![step.name.to_owned()], entries }
    };
    vec![Table {
        title: "Estimate in the second half of each step of UDP traffic".to_owned(),
        source: "figure 3, read off".to_owned(),
        names: vec!["Step".to_owned()],
        columns: vec![Metric::BandwidthEstimate.label(), Metric::Throughput.label()],
        rows: STEPS.iter().zip(LEFT_MBIT).map(row).collect(),
    }]
}

const ORDERINGS: &[Ordering] = &[
    Ordering {
        text: "The estimate falls with every step of the UDP traffic",
        claims: |results| {
            let estimate = |step: &Window| results.value_in(step.name, &[], Metric::BandwidthEstimate, 0);
            let mut claims = Claims::new();
            STEPS.windows(2).for_each(|pair| claims.below(&estimate(&pair[1]), &estimate(&pair[0])));
            claims
        },
    },
    Ordering {
        text: "The estimate follows what UDP leaves: 100, 90, 80, 70, 60 Mbit/s on the wire",
        claims: |results| {
            let mut claims = Claims::new();
            for (step, (left, _)) in STEPS.iter().zip(LEFT_MBIT) {
                let estimate = results.value_in(step.name, &[], Metric::BandwidthEstimate, 0);
                claims.at_least(&estimate, left * FOLLOWS.0);
                claims.at_most(&estimate, left * FOLLOWS.1);
            }
            claims
        },
    },
];
