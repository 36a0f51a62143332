//! Two sides compared, each one recording or several repeats.
//!
//! A sample is a figure of one recording. The rows of a recording are no samples: neighbours depend on one another, so
//! their number says nothing about how much a second run would differ.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::metric::{self, Metric};
use crate::pairing::{By, Pair, pairs};
use crate::stats::{holm, welch};
use crate::summary::{AlgorithmSummary, Convergence, Estimate, FlowSummary, Measures, RecordingSummary, Summary};
use crate::{Error, repeats};

/// Level below which a corrected p value is called significant.
pub const SIGNIFICANT: f64 = 0.05;

/// What is different between A and B.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The reference.
    pub a: Side,
    /// What is compared with it.
    pub b: Side,
    /// How the p values were found, or why there are none.
    pub method: String,
    /// Algorithms that only one side has, and what else is not compared.
    pub notes: Vec<String>,
    /// One entry per figure.
    pub figures: Vec<Difference>,
}

/// One side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Side {
    /// As the user gave it.
    pub name: String,
    /// The recordings.
    pub paths: Vec<String>,
}

/// One figure on both sides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// Name of the flow, where flows are compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<String>,
    /// Algorithm, or `A's → B's` where each side has another one; `null` for figures of the whole run.
    pub algorithm: Option<String>,
    /// Key of the figure, with its unit.
    pub metric: String,
    /// Over the recordings of A.
    pub a: Option<Estimate>,
    /// Over the recordings of B.
    pub b: Option<Estimate>,
    /// B − A.
    pub difference: Option<f64>,
    /// (B − A) / A; `null` when A is 0.
    pub relative: Option<f64>,
    /// Half the width of the 95 % confidence interval of the difference (Welch).
    pub ci95: Option<f64>,
    /// Two-sided p value of Welch's t test.
    pub p: Option<f64>,
    /// The same after Holm's correction over all figures listed that have one.
    pub p_holm: Option<f64>,
    /// Whether the corrected p value is below 0.05; `null` when there is none.
    pub significant: Option<bool>,
}

/// Reads a figure off what it is a figure of; `None`: not known.
type Value<T> = Box<dyn Fn(&T) -> Option<f64>>;

/// A figure that is compared, `T` being what it is a figure of.
struct Figure<T> {
    key: &'static str,
    heading: &'static str,
    unit: &'static str,
    scale: f64,
    value: Value<T>,
}

/// Figures of a table of flows that are not compared: sums over a run, whose ratios are, and a second goodput. Each more makes
/// all others less significant.
const NOT_COMPARED: [&str; 3] = ["retrans_pkts", "lost_pkts", "sending_goodput_bps"];

fn of_measures<T: 'static>(measures: fn(&T) -> &Measures) -> impl Iterator<Item = Figure<T>> {
    let compared = metric::SHOWN.into_iter().filter(|key| !NOT_COMPARED.contains(key)).map(metric::by_key);
    compared.map(move |metric| Figure {
        key: metric.key,
        heading: alone(&metric),
        unit: metric.unit,
        scale: metric.scale,
        value: Box::new(move |of: &T| metric.number(measures(of))) as Value<T>,
    })
}

fn of_flow() -> Vec<Figure<FlowSummary>> {
    of_measures(|of: &FlowSummary| &of.measures).collect()
}

fn of_algorithm() -> Vec<Figure<AlgorithmSummary>> {
    let completion = |key, heading, value: fn(&crate::Distribution) -> f64| Figure {
        key,
        heading,
        unit: "ms",
        scale: 1e3,
        value: Box::new(move |of: &AlgorithmSummary| of.connections.completion.as_ref().map(value)) as Box<_>,
    };
    of_measures(|of: &AlgorithmSummary| &of.measures)
        .chain([
            completion("completion_mean_us", "FCT mean", |d| d.mean_us),
            completion("completion_p95_us", "FCT p95", |d| d.p95_us as f64),
        ])
        .collect()
}

/// The heading of a figure that does not stand beside the mean RTT, which says what it is of.
fn alone(metric: &Metric) -> &'static str {
    match metric.key {
        "rtt_p50_us" => "RTT p50",
        "rtt_p95_us" => "RTT p95",
        "rtt_p99_us" => "RTT p99",
        "rtt_min_us" => "RTT min",
        _ => metric.heading,
    }
}

fn of_run() -> Vec<Figure<RecordingSummary>> {
    let figure = |key, heading, unit, scale, value: fn(&RecordingSummary) -> Option<f64>| Figure {
        key,
        heading,
        unit,
        scale,
        value: Box::new(value) as Box<dyn Fn(&RecordingSummary) -> _>,
    };
    vec![
        figure("utilisation", "utilisation", "%", 0.01, |r| r.link.as_ref()?.utilisation),
        figure("jain", "Jain index", "", 1.0, |r| r.fairness.as_ref()?.jain),
        figure("jain_interval_mean", "Jain per interval", "", 1.0, |r| r.fairness.as_ref()?.jain_interval_mean),
        figure("convergence_s", "convergence", "s", 1.0, |r| match r.fairness.as_ref()?.convergence? {
            Convergence::Reached { after_s, .. } => Some(after_s),
            Convergence::NotReached { .. } => None,
        }),
    ]
}

/// Heading, unit and scale of a figure of a comparison.
pub(crate) fn display(key: &str) -> (&'static str, &'static str, f64) {
    let of_run = of_run().into_iter().map(|figure| (figure.key, (figure.heading, figure.unit, figure.scale)));
    let of_algorithm =
        of_algorithm().into_iter().map(|figure| (figure.key, (figure.heading, figure.unit, figure.scale)));
    of_run.chain(of_algorithm).find(|(known, _)| *known == key).map_or(("", "", 1.0), |(_, display)| display)
}

/// Compares side B with side A; the names are what the user called them. Without `by`, it is what leaves least out.
///
/// # Errors
/// When the recordings of a side are not repeats of one another, or no flow of one has a counterpart of its name.
pub fn compare(
    (name_a, a): (&str, &Summary),
    (name_b, b): (&str, &Summary),
    by: Option<By>,
) -> Result<Comparison, Error> {
    check_repeats(name_a, a)?;
    check_repeats(name_b, b)?;
    let mut figures = Vec::new();
    for figure in of_run() {
        figures.extend(difference(&Of::default(), &figure, a.recordings.iter(), b.recordings.iter()));
    }
    let (pairs, mut notes) = pairs(a, b, by)?;
    for Pair { flow, in_a, in_b } in pairs {
        let label = if in_a == in_b { in_a.clone() } else { format!("{in_a} → {in_b}") };
        let of = Of { flow: flow.clone(), algorithm: Some(label) };
        if let Some(flow) = flow {
            let named = |summary| of_each(summary, |r: &RecordingSummary| r.flows.iter().find(|f| f.name == flow));
            for figure in of_flow() {
                figures.extend(difference(&of, &figure, named(a).into_iter(), named(b).into_iter()));
            }
        } else {
            for figure in of_algorithm() {
                let (a, b) = (algorithms(a, &in_a), algorithms(b, &in_b));
                figures.extend(difference(&of, &figure, a.into_iter(), b.into_iter()));
            }
        }
    }
    notes.extend([(name_a, a), (name_b, b)].into_iter().filter_map(|(name, side)| not_converged(name, side)));
    correct(&mut figures);
    let method = method(a.recordings.len(), b.recordings.len(), &figures);
    Ok(Comparison { a: side(name_a, a), b: side(name_b, b), method, notes, figures })
}

fn side(name: &str, summary: &Summary) -> Side {
    Side { name: name.to_owned(), paths: summary.recordings.iter().map(|recording| recording.path.clone()).collect() }
}

/// Different scenarios on one side would be averaged as if they were one.
fn check_repeats(name: &str, summary: &Summary) -> Result<(), Error> {
    let [first, others @ ..] = summary.recordings.as_slice() else { return Ok(()) };
    // Not their numbers of flows: short connections need not be as many in each run.
    let names = |r: &RecordingSummary| r.algorithms.iter().map(|a| a.algorithm.clone()).collect::<BTreeSet<_>>();
    let is_repeat = |other: &RecordingSummary| other.scenario == first.scenario && names(other) == names(first);
    match others.iter().find(|other| !is_repeat(other)) {
        None => Ok(()),
        Some(other) => {
            Err(Error::NotRepeats { side: name.to_owned(), one: first.path.clone(), other: other.path.clone() })
        }
    }
}

fn algorithms<'a>(summary: &'a Summary, name: &str) -> Vec<&'a AlgorithmSummary> {
    of_each(summary, |recording| recording.algorithms.iter().find(|of| of.algorithm == name))
}

fn of_each<'a, T>(summary: &'a Summary, find: impl Fn(&'a RecordingSummary) -> Option<&'a T>) -> Vec<&'a T> {
    summary.recordings.iter().filter_map(find).collect()
}

/// A run that did not converge has no convergence time, and a mean over the others would flatter it.
fn not_converged(name: &str, summary: &Summary) -> Option<String> {
    let not_reached = |recording: &&RecordingSummary| {
        let convergence = recording.fairness.as_ref().and_then(|fairness| fairness.convergence);
        matches!(convergence, Some(Convergence::NotReached { .. }))
    };
    let count = summary.recordings.iter().filter(not_reached).count();
    let all = summary.recordings.len();
    (count > 0)
        .then(|| format!("{name}: convergence was not reached in {count} of {all} runs, which its mean leaves out"))
}

/// What a difference is one of; nothing of that for a run.
#[derive(Default)]
struct Of {
    flow: Option<String>,
    algorithm: Option<String>,
}

/// One figure on both sides; `None` when neither has it.
fn difference<'a, T: 'a>(
    of: &Of,
    figure: &Figure<T>,
    a: impl Iterator<Item = &'a T>,
    b: impl Iterator<Item = &'a T>,
) -> Option<Difference> {
    let a: Vec<f64> = a.filter_map(|of| (figure.value)(of)).collect();
    let b: Vec<f64> = b.filter_map(|of| (figure.value)(of)).collect();
    if a.is_empty() && b.is_empty() {
        return None;
    }
    let test = welch(&a, &b);
    let (a, b) = (repeats::estimate(a.into_iter()), repeats::estimate(b.into_iter()));
    let means = a.zip(b).map(|(a, b)| (a.mean, b.mean));
    Some(Difference {
        flow: of.flow.clone(),
        algorithm: of.algorithm.clone(),
        metric: figure.key.to_owned(),
        a,
        b,
        difference: means.map(|(a, b)| b - a),
        relative: means.filter(|(a, _)| *a != 0.0).map(|(a, b)| (b - a) / a),
        ci95: test.map(|test| test.ci95),
        p: test.map(|test| test.p),
        p_holm: None,
        significant: None,
    })
}

/// Holm's correction over all figures that have a p value.
fn correct(figures: &mut [Difference]) {
    let tested: Vec<&mut Difference> = figures.iter_mut().filter(|figure| figure.p.is_some()).collect();
    let p_values: Vec<f64> = tested.iter().filter_map(|figure| figure.p).collect();
    for (figure, p) in tested.into_iter().zip(holm(&p_values)) {
        figure.p_holm = Some(p);
        figure.significant = Some(p < SIGNIFICANT);
    }
}

fn method(n_a: usize, n_b: usize, figures: &[Difference]) -> String {
    let tested = figures.iter().filter(|figure| figure.p.is_some()).count();
    match (n_a, n_b) {
        (1, 1) => "one run each: no statement about significance is possible; repeat both sides".to_owned(),
        (1, _) | (_, 1) => {
            "one run on one side: no statement about significance is possible; repeat that side".to_owned()
        }
        _ => format!(
            "{n_a} and {n_b} runs: Welch's t test (two-sided), p values after Holm's correction for {tested} figures, \
             significant below {SIGNIFICANT}; figures that vary in no run have no p value"
        ),
    }
}
