//! `METRIC (> | >= | < | <=) TERM [+ TERM]…`, TERM = `[NUMBER *] baseline` | `baseline * NUMBER` | `NUMBER[UNIT]`.

use super::{Comparison, Guard};
use crate::rollout::metric::Metric;
use ccactl_host::units::dimension::{self, Dimension};
use std::str::FromStr;

/// Metrics that resemble a name at least this much are suggested.
const ALIKE: f64 = 0.7;

/// Why a guard was not understood. Columns count characters from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GuardError {
    /// Something else was expected at this place.
    #[error("column {column}: expected {expected}, found {found}")]
    Unexpected {
        /// Where.
        column: usize,
        /// What would have been right.
        expected: String,
        /// What is there.
        found: String,
    },
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
    /// No unit has this name.
    #[error("column {column}: unknown unit '{name}'; the units are {}", dimension::unit_names())]
    UnknownUnit {
        /// Where.
        column: usize,
        /// As written.
        name: String,
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
    let mut input = Input { text, at: 0 };
    let metric = input.metric()?;
    let comparison = input.comparison()?;
    let mut guard = Guard { metric, comparison, factor: 0.0, offset: 0.0 };
    loop {
        match input.term(metric)? {
            Term::Baseline(factor) => guard.factor += factor,
            Term::Absolute(offset) => guard.offset += offset,
        }
        if input.take("+") {
            continue;
        }
        return if input.rest().is_empty() { Ok(guard) } else { Err(input.unexpected("'+' or the end")) };
    }
}

enum Term {
    /// This many times the baseline's value.
    Baseline(f64),
    /// In the unit of the metric's dimension.
    Absolute(f64),
}

const BASELINE: &str = "baseline";

/// What is left of the text.
struct Input<'a> {
    text: &'a str,
    /// Byte offset, never inside white space.
    at: usize,
}

impl<'a> Input<'a> {
    /// What is left, after white space.
    fn rest(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        let trimmed = rest.trim_start();
        self.at += rest.len() - trimmed.len();
        trimmed
    }

    fn column(&self) -> usize {
        self.text[..self.at].chars().count() + 1
    }

    fn unexpected(&mut self, expected: impl Into<String>) -> GuardError {
        let rest = self.rest();
        let word_end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let found = if rest.is_empty() { "the end".to_owned() } else { format!("'{}'", &rest[..word_end]) };
        GuardError::Unexpected { column: self.column(), expected: expected.into(), found }
    }

    /// Takes `sign` if it comes next.
    fn take(&mut self, sign: &str) -> bool {
        let comes_next = self.rest().starts_with(sign);
        self.at += if comes_next { sign.len() } else { 0 };
        comes_next
    }

    /// Takes the characters that come next and are `wanted`.
    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        let rest = &self.text[self.at..];
        let end = rest.find(|c| !wanted(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn metric(&mut self) -> Result<Metric, GuardError> {
        let error = self.unexpected(format!("a metric ({})", metric_names()));
        let column = self.column();
        let name = self.take_while(|c| c.is_alphanumeric() || c == '_' || c == '-');
        match Metric::by_name(name) {
            Some(metric) => Ok(metric),
            None if name.is_empty() => Err(error),
            None => Err(GuardError::UnknownMetric { column, name: name.to_owned(), nearest: nearest(name) }),
        }
    }

    fn comparison(&mut self) -> Result<Comparison, GuardError> {
        let found = Comparison::ALL.into_iter().find(|comparison| self.take(comparison.sign()));
        found.ok_or_else(|| self.unexpected("one of > >= < <="))
    }

    fn term(&mut self, metric: Metric) -> Result<Term, GuardError> {
        if self.baseline() {
            let factor = if self.take("*") { self.factor()? } else { 1.0 };
            return Ok(Term::Baseline(factor));
        }
        self.rest();
        let (start, column) = (self.at, self.column());
        let number = self.number("a number or 'baseline'")?;
        let unit = self.unit()?;
        if self.take("*") {
            let factor = as_factor(number, unit).ok_or_else(|| GuardError::Unexpected {
                column,
                expected: "a plain factor before '*'".to_owned(),
                found: format!("'{}'", self.text[start..self.at].trim_end_matches('*').trim_end()),
            })?;
            return if self.baseline() { Ok(Term::Baseline(factor)) } else { Err(self.unexpected("'baseline'")) };
        }
        // A bare number is a share; every other dimension has to be named.
        let (dimension, size) = unit.unwrap_or((Dimension::Ratio, 1.0));
        if dimension != metric.dimension() {
            let found = self.text[start..self.at].trim_end().to_owned();
            return Err(GuardError::WrongUnit { column, metric, expected: metric.dimension().example(), found });
        }
        Ok(Term::Absolute(number * size))
    }

    fn baseline(&mut self) -> bool {
        let rest = self.rest();
        let is_word = rest.strip_prefix(BASELINE).is_some_and(|after| !after.starts_with(is_word_character));
        self.at += if is_word { BASELINE.len() } else { 0 };
        is_word
    }

    /// What stands behind `baseline *`.
    fn factor(&mut self) -> Result<f64, GuardError> {
        let mut before = Input { ..*self };
        let number = self.number("a factor")?;
        as_factor(number, self.unit()?).ok_or_else(|| before.unexpected("a plain factor after '*'"))
    }

    fn number(&mut self, expected: &str) -> Result<f64, GuardError> {
        let error = self.unexpected(expected);
        let digits = self.take_while(|c| c.is_ascii_digit() || c == '.');
        digits.parse().ok().filter(|number: &f64| number.is_finite()).ok_or(error)
    }

    /// The unit behind a number, if there is one.
    fn unit(&mut self) -> Result<Option<(Dimension, f64)>, GuardError> {
        self.rest();
        let column = self.column();
        let name = if self.take("%") { "%" } else { self.take_while(|c| c.is_alphabetic() || c == '/') };
        if name.is_empty() {
            return Ok(None);
        }
        dimension::find_unit(name).map(Some).ok_or_else(|| GuardError::UnknownUnit { column, name: name.to_owned() })
    }
}

/// `2` and `200%` are factors, `2ms` is none.
fn as_factor(number: f64, unit: Option<(Dimension, f64)>) -> Option<f64> {
    match unit {
        None => Some(number),
        Some((Dimension::Ratio, size)) => Some(number * size),
        Some(_) => None,
    }
}

fn is_word_character(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn nearest(name: &str) -> Option<String> {
    let alike = |metric: &Metric| strsim::jaro_winkler(name, metric.name());
    let best = Metric::ALL.into_iter().max_by(|a, b| alike(a).total_cmp(&alike(b)))?;
    (alike(&best) >= ALIKE).then(|| best.name().to_owned())
}
