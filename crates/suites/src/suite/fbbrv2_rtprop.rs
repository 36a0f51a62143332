//! E6: what BBRv2 believes RTprop to be, beside itself and beside CUBIC.

use super::{Drawing, OfFlow, OverTime, Suite};
use crate::compare::{Listed, Table};
use crate::results::{Metric, Results, Window};
use crate::verdict::{Claims, Ordering};

/// See [`Suite`].
pub const SUITE: Suite = Suite {
    name: "fbbrv2-rtprop",
    experiment: "E6",
    paper: "P1 figure 4",
    look_at: "RTprop, the least RTT that BBRv2 knows of: near 40 ms beside BBRv2, and rising beside CUBIC.",
    windows: &[SETTLED],
    tables,
    orderings: ORDERINGS,
    figures,
};

fn figures(results: &Results) -> Vec<Drawing> {
    let mut figures = Drawing::across(results, OfFlow::MinRtt, &[], "beside", "figure 4");
    figures.extend(Drawing::over_time(results, &[OverTime::Rtt, OverTime::Queue, OverTime::Throughput], |_| true));
    figures
}

/// After start-up and several probes of the RTT.
const SETTLED: Window = Window { name: "after the first fifth", from: 0.2, to: 1.0 };
/// 1.2 times the base RTT of 40 ms.
pub(super) const BARELY_ABOVE_BASE_MS: f64 = 48.0;

fn tables(results: &Results) -> Vec<Table> {
    let listed = Listed {
        title: "RTprop as BBRv2 (flow 1) believes it to be; the base RTT is 40 ms",
        source: "figure 4, no numbers",
        axes: &[("beside", "Beside")],
        metrics: &[(Metric::MinRttEstimate, 0), (Metric::Rtt, 0), (Metric::Throughput, 0), (Metric::Throughput, 1)],
        printed: &|_, _, _| None,
    };
    vec![listed.table(results)]
}

const ORDERINGS: &[Ordering] = &[
    Ordering {
        text: "Beside BBRv2, RTprop stays below 1.2 times the base RTT",
        claims: |results| {
            let mut claims = Claims::new();
            let estimate = results.value_in(SETTLED.name, &[("beside", "bbrv2")], Metric::MinRttEstimate, 0);
            claims.at_most(&estimate, BARELY_ABOVE_BASE_MS);
            claims
        },
    },
    Ordering {
        text: "Beside CUBIC, RTprop rises well beyond that",
        claims: |results| {
            let mut claims = Claims::new();
            let estimate = results.value_in(SETTLED.name, &[("beside", "cubic")], Metric::MinRttEstimate, 0);
            claims.at_least(&estimate, BARELY_ABOVE_BASE_MS);
            claims
        },
    },
];
