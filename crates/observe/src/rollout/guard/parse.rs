//! `METRIC (> | >= | < | <=) TERM [+ TERM]…`, TERM = `[NUMBER *] baseline` | `baseline * NUMBER` | `NUMBER[UNIT]`.

use super::Guard;
use crate::expression::{ScanError, Scanner, as_factor};
use crate::rollout::metric::Metric;
use ccactl_host::units::dimension::Dimension;
use std::str::FromStr;

/// Why a guard was not understood. Columns count characters from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GuardError {
    /// It is not written as a guard is.
    #[error(transparent)]
    Scan(#[from] ScanError),
    /// No metric has this name.
    #[error("column {column}: unknown metric '{name}'{}; the metrics are {}", nearest_hint(nearest.as_deref()), metric_names())]
    UnknownMetric {
        /// Where.
        column: usize,
        /// As written.
        name: String,
        /// What may have been meant.
        nearest: Option<String>,
    },
    /// A value of another dimension than the metric's.
    #[error("column {column}: {metric} is compared with {expected}, found '{found}'")]
    WrongUnit {
        /// Where.
        column: usize,
        /// The metric.
        metric: Metric,
        /// How its values are written.
        expected: &'static str,
        /// As written.
        found: String,
    },
}

fn nearest_hint(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!(", nearest: {name}"))
}

fn metric_names() -> String {
    Metric::ALL.map(Metric::name).join(", ")
}

impl FromStr for Guard {
    type Err = GuardError;

    fn from_str(text: &str) -> Result<Self, GuardError> {
        parse(text)
    }
}

fn parse(text: &str) -> Result<Guard, GuardError> {
    let mut input = Scanner::new(text);
    let metric = metric(&mut input)?;
    let comparison = input.comparison()?;
    let mut guard = Guard { metric, comparison, factor: 0.0, offset: 0.0 };
    loop {
        match term(&mut input, metric)? {
            Term::Baseline(factor) => guard.factor += factor,
            Term::Absolute(offset) => guard.offset += offset,
        }
        if input.take("+") {
            continue;
        }
        return if input.rest().is_empty() { Ok(guard) } else { Err(input.unexpected("'+' or the end").into()) };
    }
}

enum Term {
    /// This many times the baseline's value.
    Baseline(f64),
    /// In the unit of the metric's dimension.
    Absolute(f64),
}

const BASELINE: &str = "baseline";

fn metric(input: &mut Scanner<'_>) -> Result<Metric, GuardError> {
    let error = input.unexpected(format!("a metric ({})", metric_names()));
    let column = input.column();
    // A hyphen is a slip that is pointed at as a whole.
    let name = input.take_while(|c| c.is_alphanumeric() || c == '_' || c == '-');
    match Metric::by_name(name) {
        Some(metric) => Ok(metric),
        None if name.is_empty() => Err(error.into()),
        None => Err(GuardError::UnknownMetric { column, name: name.to_owned(), nearest: nearest(name) }),
    }
}

fn term(input: &mut Scanner<'_>, metric: Metric) -> Result<Term, GuardError> {
    if input.take_word(BASELINE) {
        let factor = if input.take("*") { factor(input)? } else { 1.0 };
        return Ok(Term::Baseline(factor));
    }
    input.rest();
    let (start, column) = (*input, input.column());
    let number = input.number("a number or 'baseline'")?;
    let unit = input.unit()?;
    if input.take("*") {
        let factor = as_factor(number, unit).ok_or_else(|| ScanError::Unexpected {
            column,
            expected: "a plain factor before '*'".to_owned(),
            found: format!("'{}'", input.since(start).trim_end_matches('*').trim_end()),
        })?;
        let is_next = input.take_word(BASELINE);
        return if is_next { Ok(Term::Baseline(factor)) } else { Err(input.unexpected("'baseline'").into()) };
    }
    // A bare number is a share; every other dimension has to be named.
    let (dimension, size) = unit.unwrap_or((Dimension::Ratio, 1.0));
    if dimension != metric.dimension() {
        let found = input.since(start).trim_end().to_owned();
        return Err(GuardError::WrongUnit { column, metric, expected: metric.dimension().example(), found });
    }
    Ok(Term::Absolute(number * size))
}

/// What stands behind `baseline *`.
fn factor(input: &mut Scanner<'_>) -> Result<f64, GuardError> {
    let mut before = *input;
    let number = input.number("a factor")?;
    Ok(as_factor(number, input.unit()?).ok_or_else(|| before.unexpected("a plain factor after '*'"))?)
}

fn nearest(name: &str) -> Option<String> {
    ccactl_loader::nearest(name, Metric::ALL.into_iter().map(Metric::name)).into_iter().next()
}
