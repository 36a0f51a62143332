//! E17: two uploads and a repeated download of 320 KB over 1.5 Mbit/s, with a small and a large buffer.

use super::{BarLine, Drawing, OverTime, Suite, distribution};
use crate::compare::{Listed, Table};
use crate::results::{Metric, Results, Window};
use crate::verdict::{Claims, Ordering, Value};

/// See [`Suite`].
pub const SUITE: Suite = Suite {
    name: "bufferbloat",
    experiment: "E17",
    paper: "P3",
    look_at: "RTT of the uploads and completion time of the download: with CUBIC and Reno both follow the buffer.",
    windows: &[WHOLE],
    tables,
    orderings: ORDERINGS,
    figures,
};

/// The index per second is in the recordings alone.
const WHOLE: Window = Window { name: "whole run", from: 0.0, to: 1.0 };
const SMALL: &str = "2bdp";
const LARGE: &str = "10bdp";
/// Of the two uploads the first one.
pub(super) const UPLOAD: usize = 0;
pub(super) const DOWNLOAD: usize = 2;
const ALL: [&str; 4] = ["reno", "cubic", "vegas", "bbr"];
/// "Throughput similar", and BBR's RTT independent: of one algorithm with either buffer.
const SIMILAR: f64 = 0.25;

fn tables(results: &Results) -> Vec<Table> {
    let listed = Listed {
        title: "Two uploads (flows 1 and 2) and a repeated download (flow 3) over 1.5 Mbit/s",
        source: "figures, no numbers",
        axes: &[("buffer", "Buffer"), ("algorithm", "Algorithm")],
        metrics: &[
            (Metric::Throughput, UPLOAD),
            (Metric::Throughput, UPLOAD + 1),
            (Metric::Rtt, UPLOAD),
            (Metric::Rtt, UPLOAD + 1),
            (Metric::Jain, 0),
            (Metric::Queue, 0),
            (Metric::Completion, DOWNLOAD),
        ],
        printed: &|_, _, _| None,
    };
    vec![listed.table(results)]
}

fn figures(results: &Results) -> Vec<Drawing> {
    let mut figures = bars(results);
    for buffer in [SMALL, LARGE] {
        let plot = distribution(results, &[("buffer", buffer)], "algorithm", DOWNLOAD);
        let caption = format!("Completion times of the download, buffer of {buffer}");
        figures.extend(Drawing::lines(&format!("completion-{buffer}"), &caption, plot));
    }
    figures.extend(Drawing::over_time(
        results,
        &[OverTime::Rtt, OverTime::Queue, OverTime::Throughput, OverTime::Jain],
        |_| true,
    ));
    figures
}

/// Figures 2 to 5: what each algorithm has over the small and over the large buffer.
fn bars(results: &Results) -> Vec<Drawing> {
    let shown = [
        ("rtt", "Mean RTT of an upload, as figure 2", Metric::Rtt, UPLOAD),
        ("throughput", "Throughput of an upload, as figure 3", Metric::Throughput, UPLOAD),
        ("jain", "Jain index of the uploads, as figure 4", Metric::Jain, 0),
        ("completion", "Completion time of the download, as figure 5", Metric::Completion, DOWNLOAD),
    ];
    let bars = |(name, caption, metric, flow): (&str, &str, Metric, usize)| {
        let line = |buffer: &&str| {
            let cell = |algorithm: &&str| results.cell(&[("buffer", buffer), ("algorithm", algorithm)]);
            let measured = ALL.iter().map(|algorithm| cell(algorithm)?.estimate(metric, flow)).collect();
            BarLine { name: (*buffer).to_owned(), measured, printed: Vec::new() }
        };
        let lines: Vec<BarLine> = [SMALL, LARGE].iter().map(line).collect();
        Drawing::bars(&format!("bars-{name}"), caption, (metric, "Algorithm"), &ALL, &lines)
    };
    shown.into_iter().flat_map(bars).collect()
}

/// Of both uploads.
fn rtt(results: &Results, buffer: &str, algorithm: &str) -> Value {
    let of = |flow| value(results, buffer, algorithm, Metric::Rtt, flow);
    of(UPLOAD).plus(&of(UPLOAD + 1)).times(0.5)
}

fn value(results: &Results, buffer: &str, algorithm: &str, metric: Metric, flow: usize) -> Value {
    results.value(&[("buffer", buffer), ("algorithm", algorithm)], metric, flow)
}

const ORDERINGS: &[Ordering] = &[
    Ordering {
        text: "The RTT of Reno and CUBIC rises with the large buffer, CUBIC's most",
        claims: |results| {
            let rtt = |buffer, algorithm| rtt(results, buffer, algorithm);
            let mut claims = Claims::new();
            ["reno", "cubic"].iter().for_each(|name| claims.below(&rtt(SMALL, name).times(1.5), &rtt(LARGE, name)));
            claims.below(&rtt(LARGE, "reno"), &rtt(LARGE, "cubic"));
            claims
        },
    },
    Ordering {
        text: "The RTT of Vegas and BBR stays low",
        claims: |results| {
            let rtt = |algorithm| rtt(results, LARGE, algorithm);
            let mut claims = Claims::new();
            for low in ["vegas", "bbr"] {
                claims.below(&rtt(low), &rtt("reno"));
                claims.below(&rtt(low), &rtt("cubic"));
            }
            claims
        },
    },
    Ordering {
        text: "The RTT of BBR does not depend on the buffer",
        claims: |results| {
            let mut claims = Claims::new();
            claims.near(&rtt(results, SMALL, "bbr"), &rtt(results, LARGE, "bbr"), SIMILAR);
            claims
        },
    },
    Ordering {
        text: "The throughput is similar with either buffer",
        claims: |results| {
            let mut claims = Claims::new();
            for algorithm in ALL {
                let sum = |buffer| {
                    let of = |flow| value(results, buffer, algorithm, Metric::Throughput, flow);
                    of(UPLOAD).plus(&of(UPLOAD + 1))
                };
                claims.near(&sum(SMALL), &sum(LARGE), SIMILAR);
            }
            claims
        },
    },
    Ordering {
        text: "Reno's Jain index per second falls with the large buffer",
        claims: |results| {
            let jain = |buffer| {
                let labels = [("buffer", buffer), ("algorithm", "reno")];
                results.value_in(WHOLE.name, &labels, Metric::JainPerSecond, 0)
            };
            let mut claims = Claims::new();
            claims.below(&jain(LARGE), &jain(SMALL));
            claims
        },
    },
    Ordering {
        text: "The completion time of the download follows the RTT: longest with CUBIC and Reno in the large buffer",
        claims: |results| {
            let time = |buffer, algorithm| value(results, buffer, algorithm, Metric::Completion, DOWNLOAD);
            let mut claims = Claims::new();
            for slow in ["reno", "cubic"] {
                claims.below(&time(SMALL, slow), &time(LARGE, slow));
                ["vegas", "bbr"].iter().for_each(|fast| claims.below(&time(LARGE, fast), &time(LARGE, slow)));
            }
            claims
        },
    },
];
