//! E5: BBRv2 beside CUBIC over a deep buffer.

use super::{Drawing, OverTime, Suite};
use crate::compare::{Listed, Table};
use crate::results::{Metric, Results};
use crate::verdict::{Claims, Ordering};

/// See [`Suite`].
pub const SUITE: Suite = Suite {
    name: "fbbrv2-timeline",
    experiment: "E5",
    paper: "P1 figure 1",
    look_at: "Whether CUBIC stays above BBRv2 all the time.",
    windows: &[],
    tables,
    orderings: ORDERINGS,
    figures: |results| {
        Drawing::over_time(results, &[OverTime::Throughput, OverTime::Jain, OverTime::Rtt, OverTime::Queue], |_| true)
    },
};

const BBRV2: usize = 0;
const CUBIC: usize = 1;

fn tables(results: &Results) -> Vec<Table> {
    let listed = Listed {
        title: "BBRv2 (flow 1) and CUBIC (flow 2), 50 Mbit/s, 40 ms, 4 BDP",
        source: "figure 1, no numbers",
        axes: &[],
        metrics: &[(Metric::Throughput, BBRV2), (Metric::Throughput, CUBIC), (Metric::Jain, 0), (Metric::Queue, 0)],
        printed: &|_, _, _| None,
    };
    vec![listed.table(results)]
}

const ORDERINGS: &[Ordering] = &[Ordering {
    text: "CUBIC dominates BBRv2 in the deep buffer",
    claims: |results| {
        let throughput = |flow| results.value(&[], Metric::Throughput, flow);
        let mut claims = Claims::new();
        // "Dominates": at least twice as much. The gap in print is 31.5 of 47 Mbit/s.
        claims.below(&throughput(BBRV2).times(2.0), &throughput(CUBIC));
        claims
    },
}];
