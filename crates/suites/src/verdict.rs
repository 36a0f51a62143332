//! Orderings: what a paper says that the reader of its figures should see, judged on measured means.

use crate::results::{CellResults, Metric, Results};
use serde::Serialize;

/// A statement of a paper, and how it is checked.
pub struct Ordering {
    /// What should be seen.
    pub text: &'static str,
    /// What has to hold for it.
    pub claims: fn(&Results) -> Claims,
}

/// What became of an ordering.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// What should be seen.
    pub text: &'static str,
    /// Whether it is; `None` when cells or figures that it needs are missing and none that is there speaks against it.
    pub passed: Option<bool>,
    /// The numbers compared, those that speak against it first.
    pub evidence: Vec<Claim>,
}

/// A measured figure with its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Value {
    name: String,
    metric: Metric,
    value: Option<f64>,
}

/// Comparisons that together make an ordering.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Claims(Vec<Claim>);

/// One comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Claim {
    /// The numbers compared.
    pub text: String,
    /// Whether it holds; `None` when a number is missing.
    pub holds: Option<bool>,
}

impl Ordering {
    /// Judges it on what was measured.
    #[must_use]
    pub fn judge(&self, results: &Results) -> Verdict {
        let Claims(mut claims) = (self.claims)(results);
        let passed = if claims.iter().any(|claim| claim.holds == Some(false)) {
            Some(false)
        } else if claims.is_empty() || claims.iter().any(|claim| claim.holds.is_none()) {
            None
        } else {
            Some(true)
        };
        // `Some(false)` first, then what is not known, then what holds.
        claims.sort_by_key(|claim| match claim.holds {
            Some(false) => 0,
            None => 1,
            Some(true) => 2,
        });
        Verdict { text: self.text, passed, evidence: claims }
    }
}

impl Verdict {
    /// The comparisons that matter to a reader: those that speak against it, else those that hold; and how many have no
    /// figures.
    #[must_use]
    pub fn told(&self) -> (Vec<&str>, usize) {
        let with = |holds: Option<bool>| self.evidence.iter().filter(move |claim| claim.holds == holds);
        let telling = if self.passed == Some(false) { Some(false) } else { Some(true) };
        (with(telling).map(|claim| claim.text.as_str()).collect(), with(None).count())
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
        let estimate = cell.and_then(|cell| match window {
            None => cell.estimate(metric, flow),
            Some(window) => cell.estimate_in(window, metric, flow),
        });
        let place: Vec<&str> = labels.iter().map(|(_, value)| *value).collect();
        let mut name = place.join(" ");
        let flows = cell.and_then(|cell| cell.runs.first()).map_or(&[][..], |run| &run.whole.flows);
        if let Some(of) = flows.get(flow).filter(|_| metric.is_of_a_flow() && flows.len() > 1) {
            name = format!("{} in {name}", of.name);
        }
        if let Some(window) = window {
            name = format!("{name}, {window}");
        }
        Value { name, metric, value: estimate.map(|estimate| estimate.mean) }
    }

    /// The sum of two figures, of both flows of a pair for example.
    #[must_use]
    pub fn plus(self, other: &Value) -> Value {
        let value = self.value.zip(other.value).map(|(a, b)| a + b);
        Value { name: format!("{} and {}", self.name, other.name), value, ..self }
    }

    /// How much the figure is above another one.
    #[must_use]
    pub fn minus(self, other: &Value) -> Value {
        let value = self.value.zip(other.value).map(|(a, b)| a - b);
        Value { name: format!("{} minus {}", self.name, other.name), value, ..self }
    }

    /// How many times another throughput this one is.
    #[must_use]
    pub fn over(self, other: &Value) -> Value {
        let value = self.value.zip(other.value).filter(|(_, b)| *b > 0.0).map(|(a, b)| a / b);
        let name = format!("{} over {}", self.name, other.name);
        Value { name, value, metric: Metric::ThroughputRatio }
    }

    /// So many times the figure.
    #[must_use]
    pub fn times(self, factor: f64) -> Value {
        Value { name: format!("{factor} × {}", self.name), value: self.value.map(|value| value * factor), ..self }
    }

    fn text(&self) -> String {
        match self.value {
            Some(value) if value.is_infinite() => format!("{}: never", self.name),
            Some(value) => {
                let unit = self.metric.unit().name;
                format!("{} {}{}{unit}", self.name, self.metric.text(value), if unit.is_empty() { "" } else { " " })
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
        let holds = less.value.zip(more.value).map(|(less, more)| less < more);
        self.add(less.metric, format!("{} < {}", less.text(), more.text()), holds);
    }

    /// `value` is at most `limit`, in the unit of its metric.
    pub fn at_most(&mut self, value: &Value, limit: f64) {
        let text = format!("{} ≤ {}", value.text(), value.metric.text(limit));
        self.add(value.metric, text, value.value.map(|value| value <= limit));
    }

    /// `value` is at least `limit`.
    pub fn at_least(&mut self, value: &Value, limit: f64) {
        let text = format!("{} ≥ {}", value.text(), value.metric.text(limit));
        self.add(value.metric, text, value.value.map(|value| value >= limit));
    }

    /// The two differ by at most `share` of the larger one.
    pub fn near(&mut self, one: &Value, other: &Value, share: f64) {
        let holds = one.value.zip(other.value).map(|(a, b)| (a - b).abs() <= share * a.abs().max(b.abs()));
        let text = format!("{} ≈ {} (within {:.0} %)", one.text(), other.text(), share * 100.0);
        self.add(one.metric, text, holds);
    }

    fn add(&mut self, metric: Metric, text: String, holds: Option<bool>) {
        self.0.push(Claim { text: format!("{}: {text}", metric.heading()), holds });
    }
}
