//! Orderings: what a paper says that the reader of its figures should see, judged on measured means and, where there are several
//! runs, on their 95 % intervals.

use crate::results::{CellResults, Metric, Results, Run};
use serde::{Deserialize, Serialize};

/// A statement of a paper, and how it is checked.
pub struct Ordering {
    /// What should be seen.
    pub text: &'static str,
    /// What has to hold for it.
    pub claims: fn(&Results) -> Claims,
}

/// What became of an ordering, or of one comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It is not so.
    Fails,
    /// The 95 % interval of the figures has room for both.
    Undecided,
    /// A figure that it needs is missing.
    NotMeasured,
    /// It is so.
    Holds,
}

/// An ordering with its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// What should be seen.
    pub text: &'static str,
    /// The first of its comparisons' outcomes in the order of [`Outcome`].
    pub outcome: Outcome,
    /// The numbers compared, in the order of their outcomes.
    pub evidence: Vec<Claim>,
}

/// A measured figure with its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Value {
    name: String,
    metric: Metric,
    /// Mean and, from two runs on, half the width of its 95 % confidence interval.
    mean: Option<(f64, Option<f64>)>,
    /// Name of the cell with the figure of each run, while it is one of a single cell.
    runs: Option<(String, Vec<f64>)>,
}

/// Comparisons that together make an ordering.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Claims(Vec<Claim>);

/// One comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Claim {
    /// The numbers compared.
    pub text: String,
    /// Whether it holds.
    pub outcome: Outcome,
}

impl Ordering {
    /// Judges it on what was measured.
    #[must_use]
    pub fn judge(&self, results: &Results) -> Verdict {
        let Claims(mut claims) = (self.claims)(results);
        claims.sort_by_key(|claim| claim.outcome);
        let outcome = claims.first().map_or(Outcome::NotMeasured, |claim| claim.outcome);
        Verdict { text: self.text, outcome, evidence: claims }
    }
}

impl Verdict {
    /// The comparisons that matter to a reader: those with the outcome of the whole, or those that hold where figures are
    /// missing; and how many have no figures.
    #[must_use]
    pub fn told(&self) -> (Vec<&str>, usize) {
        let with = |outcome: Outcome| self.evidence.iter().filter(move |claim| claim.outcome == outcome);
        let telling = if self.outcome == Outcome::NotMeasured { Outcome::Holds } else { self.outcome };
        (with(telling).map(|claim| claim.text.as_str()).collect(), with(Outcome::NotMeasured).count())
    }
}

impl Results {
    /// The mean of a metric in the cell with these labels.
    #[must_use]
    pub fn value(&self, labels: &[(&str, &str)], metric: Metric, flow: usize) -> Value {
        Value::new(self.cell(labels), labels, None, metric, flow)
    }

    /// The same within a window of the suite.
    #[must_use]
    pub fn value_in(&self, window: &str, labels: &[(&str, &str)], metric: Metric, flow: usize) -> Value {
        Value::new(self.cell(labels), labels, Some(window), metric, flow)
    }
}

impl Value {
    fn new(
        cell: Option<&CellResults>,
        labels: &[(&str, &str)],
        window: Option<&str>,
        metric: Metric,
        flow: usize,
    ) -> Value {
        let part = |run: &'_ Run| match window {
            None => metric.of(&run.whole, flow),
            Some(window) => metric.of(run.windows.get(window)?, flow),
        };
        let runs = cell.map(|cell| (cell.id.clone(), cell.runs.iter().filter_map(part).collect::<Vec<f64>>()));
        let place: Vec<&str> = labels.iter().map(|(_, value)| *value).collect();
        let mut name = place.join(" ");
        let flows = cell.and_then(|cell| cell.runs.first()).map_or(&[][..], |run| &run.whole.flows);
        if let Some(of) = flows.get(flow).filter(|_| metric.is_of_a_flow() && flows.len() > 1) {
            name = format!("{} in {name}", of.name);
        }
        if let Some(window) = window {
            name = format!("{name}, {window}");
        }
        Value { name, metric, mean: runs.as_ref().and_then(|(_, runs)| mean(runs)), runs }
    }

    /// The sum of two figures, of both flows of a pair for example.
    #[must_use]
    pub fn plus(self, other: &Value) -> Value {
        let name = format!("{} and {}", self.name, other.name);
        self.with(other, name, |a, b| Some(a + b))
    }

    /// How much the figure is above another one.
    #[must_use]
    pub fn minus(self, other: &Value) -> Value {
        let name = format!("{} minus {}", self.name, other.name);
        self.with(other, name, |a, b| Some(a - b))
    }

    /// How many times another throughput this one is.
    #[must_use]
    pub fn over(self, other: &Value) -> Value {
        let name = format!("{} over {}", self.name, other.name);
        Value { metric: Metric::ThroughputRatio, ..self.with(other, name, |a, b| (b > 0.0).then(|| a / b)) }
    }

    /// So many times the figure.
    #[must_use]
    pub fn times(self, factor: f64) -> Value {
        let name = format!("{factor} × {}", self.name);
        let mean = self.mean.map(|(mean, half)| (mean * factor, half.map(|half| half * factor.abs())));
        let runs = self.runs.map(|(cell, runs)| (cell, runs.into_iter().map(|run| run * factor).collect()));
        Value { name, mean, runs, ..self }
    }

    /// A figure made of two: run by run within a cell, where what one flow gains another may lose; otherwise of the means, with
    /// the intervals as those of independent figures.
    fn with(self, other: &Value, name: String, of: impl Fn(f64, f64) -> Option<f64>) -> Value {
        let together = match (&self.runs, &other.runs) {
            (Some((cell, a)), Some((same, b))) if cell == same && a.len() == b.len() => Some((cell, a, b)),
            _ => None,
        };
        if let Some((cell, a, b)) = together {
            let runs: Option<Vec<f64>> = a.iter().zip(b).map(|(&a, &b)| of(a, b)).collect();
            let runs = runs.map(|runs| (cell.clone(), runs));
            return Value { name, mean: runs.as_ref().and_then(|(_, runs)| mean(runs)), runs, ..self };
        }
        let mean = self.mean.zip(other.mean).and_then(|((a, half_a), (b, half_b))| {
            let middle = of(a, b)?;
            let moved = |a: f64, b: f64| of(a, b).map(|moved| moved - middle);
            let half = half_a.zip(half_b).and_then(|(x, y)| Some(moved(a + x, b)?.hypot(moved(a, b + y)?)));
            Some((middle, half))
        });
        Value { name, mean, runs: None, ..self }
    }

    /// By how much this figure is the larger one, with half the width of the interval.
    fn margin_over(&self, other: &Value) -> Option<(f64, Option<f64>)> {
        // Infinite is "never": two of them are no measure of each other.
        self.clone().minus(other).mean
    }

    fn text(&self) -> String {
        match self.mean {
            Some((value, _)) if value.is_infinite() => format!("{}: never", self.name),
            Some((value, half)) => {
                let unit = self.metric.unit().name;
                let half = half.filter(|half| half.is_finite()).map(|half| format!(" ± {}", self.metric.text(half)));
                let space = if unit.is_empty() { "" } else { " " };
                format!("{} {}{}{space}{unit}", self.name, self.metric.text(value), half.unwrap_or_default())
            }
            None => format!("{}: not measured", self.name),
        }
    }
}

impl Claims {
    /// None yet.
    #[must_use]
    pub fn new() -> Self {
        Claims::default()
    }

    /// Each of them.
    #[must_use]
    pub fn list(&self) -> &[Claim] {
        &self.0
    }

    /// `less` is below `more`.
    pub fn below(&mut self, less: &Value, more: &Value) {
        let text = format!("{} < {}", less.text(), more.text());
        self.add(less.metric, text, more.margin_over(less).map(|margin| (margin, margin.0 > 0.0)));
    }

    /// `value` is at most `limit`, in the unit of its metric.
    pub fn at_most(&mut self, value: &Value, limit: f64) {
        let text = format!("{} ≤ {}", value.text(), value.metric.text(limit));
        self.add(value.metric, text, value.mean.map(|(mean, half)| ((limit - mean, half), mean <= limit)));
    }

    /// `value` is at least `limit`.
    pub fn at_least(&mut self, value: &Value, limit: f64) {
        let text = format!("{} ≥ {}", value.text(), value.metric.text(limit));
        self.add(value.metric, text, value.mean.map(|(mean, half)| ((mean - limit, half), mean >= limit)));
    }

    /// The two differ by at most `share` of the larger one.
    pub fn near(&mut self, one: &Value, other: &Value, share: f64) {
        let text = format!("{} ≈ {} (within {:.0} %)", one.text(), other.text(), share * 100.0);
        let margin = one.mean.zip(other.mean).zip(one.margin_over(other)).map(|(((a, _), (b, _)), (apart, half))| {
            let room = share * a.abs().max(b.abs()) - apart.abs();
            ((room, half), room >= 0.0)
        });
        self.add(one.metric, text, margin);
    }

    /// A comparison with its margin and half the width of that margin's interval, and whether it holds of the means.
    fn add(&mut self, metric: Metric, text: String, judged: Option<((f64, Option<f64>), bool)>) {
        let outcome = match judged {
            None => Outcome::NotMeasured,
            Some(((margin, Some(half)), _)) if margin.abs() < half => Outcome::Undecided,
            Some((_, true)) => Outcome::Holds,
            Some((_, false)) => Outcome::Fails,
        };
        self.0.push(Claim { text: format!("{}: {text}", metric.heading()), outcome });
    }
}

/// Mean of runs with half the width of its interval.
fn mean(runs: &[f64]) -> Option<(f64, Option<f64>)> {
    ccactl_report::estimate(runs.iter().copied()).map(|estimate| (estimate.mean, estimate.ci95))
}
