//! E4: a fourth flow joins three others after 100 of 250 s.

use super::{Drawing, OverTime, Suite};
use crate::compare::{Listed, Table};
use crate::results::{Metric, Results, Window};
use crate::verdict::{Claims, Ordering};

/// See [`Suite`].
pub const SUITE: Suite = Suite {
    name: "interaction-late-joiner",
    experiment: "E4",
    paper: "P0 §3.3, figure 11",
    look_at: "How long the fourth flow takes until all four have about the same.",
    windows: &[BEFORE, AFTER, LAST],
    tables,
    orderings: ORDERINGS,
    figures: |results| Drawing::over_time(results, &[OverTime::Throughput, OverTime::Jain], |_| true),
};

/// 50 to 100 s: the three have settled.
const BEFORE: Window = Window { name: "before the newcomer", from: 0.2, to: 0.4 };
/// 100 to 250 s.
const AFTER: Window = Window { name: "with the newcomer", from: 0.4, to: 1.0 };
/// 200 to 250 s.
const LAST: Window = Window { name: "last fifth", from: 0.8, to: 1.0 };
const NEWCOMER: usize = 3;
/// "Near 1.0 with dips at losses".
const NEAR_ONE: f64 = 0.90;
/// "About 30 s until fair" of BBR, read off a figure: 150 s are left after the newcomer's start.
const UNTIL_FAIR_S: f64 = 45.0;

fn tables(results: &Results) -> Vec<Table> {
    let listed = Listed {
        title: "Three flows, and a fourth from 40 % of the time on",
        source: "figure 11, no numbers",
        axes: &[("algorithm", "Algorithm")],
        metrics: &[
            (Metric::Throughput, 0),
            (Metric::Throughput, 1),
            (Metric::Throughput, 2),
            (Metric::Throughput, NEWCOMER),
            (Metric::Jain, 0),
        ],
        printed: &|_, _, _| None,
    };
    vec![listed.table(results)]
}

const ORDERINGS: &[Ordering] = &[
    Ordering {
        text: "CUBIC: the Jain index stays near 1.0, before and with the newcomer",
        claims: |results| {
            let mut claims = Claims::new();
            for window in [BEFORE, LAST] {
                let jain = results.value_in(window.name, &[("algorithm", "cubic")], Metric::JainPerSecond, 0);
                claims.at_least(&jain, NEAR_ONE);
            }
            claims
        },
    },
    Ordering {
        text: "Vegas: the newcomer gets more than the others, and the Jain index falls",
        claims: |results| {
            let vegas = [("algorithm", "vegas")];
            let throughput = |flow| results.value_in(AFTER.name, &vegas, Metric::Throughput, flow);
            let jain = |window: Window| results.value_in(window.name, &vegas, Metric::JainPerSecond, 0);
            let mut claims = Claims::new();
            (0..NEWCOMER).for_each(|flow| claims.below(&throughput(flow), &throughput(NEWCOMER)));
            claims.below(&jain(LAST), &jain(BEFORE));
            claims
        },
    },
    Ordering {
        text: "BBR: fair again about 30 s after the newcomer's start, and then near 1.0",
        claims: |results| {
            let bbr = [("algorithm", "bbr")];
            let mut claims = Claims::new();
            claims.at_most(&results.value_in(AFTER.name, &bbr, Metric::Convergence, 0), UNTIL_FAIR_S);
            claims.at_least(&results.value_in(LAST.name, &bbr, Metric::JainPerSecond, 0), NEAR_ONE);
            claims
        },
    },
];
