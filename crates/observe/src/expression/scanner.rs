//! Reads expressions such as `p95_rtt > 2 * baseline + 5ms` and `rtt > 10 * min_rtt`, whose names are their callers' own.

use super::Comparison;
use ccactl_host::units::dimension::{self, Dimension};

/// Why an expression was not understood. Columns count characters from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScanError {
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
    /// No unit has this name.
    #[error("column {column}: unknown unit '{name}'; the units are {}", dimension::unit_names())]
    UnknownUnit {
        /// Where.
        column: usize,
        /// As written.
        name: String,
    },
}

/// What is left of the text.
#[derive(Clone, Copy)]
pub(crate) struct Scanner<'a> {
    text: &'a str,
    /// Byte offset, never inside white space.
    at: usize,
}

impl<'a> Scanner<'a> {
    /// At the beginning of a text.
    pub(crate) fn new(text: &'a str) -> Scanner<'a> {
        Scanner { text, at: 0 }
    }

    /// What is left, after white space.
    pub(crate) fn rest(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        let trimmed = rest.trim_start();
        self.at += rest.len() - trimmed.len();
        trimmed
    }

    pub(crate) fn column(&self) -> usize {
        self.text[..self.at].chars().count() + 1
    }

    pub(crate) fn unexpected(&mut self, expected: impl Into<String>) -> ScanError {
        let rest = self.rest();
        let word_end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let found = if rest.is_empty() { "the end".to_owned() } else { format!("'{}'", &rest[..word_end]) };
        ScanError::Unexpected { column: self.column(), expected: expected.into(), found }
    }

    /// What was taken since another place of the same text.
    pub(crate) fn since(&self, start: Scanner<'a>) -> &'a str {
        &self.text[start.at..self.at]
    }

    /// Takes a word if it comes next as a whole.
    pub(crate) fn take_word(&mut self, word: &str) -> bool {
        let is_next = self.rest().strip_prefix(word).is_some_and(|after| !after.starts_with(is_word_character));
        self.at += if is_next { word.len() } else { 0 };
        is_next
    }

    /// Takes the name that comes next; empty where there is none.
    pub(crate) fn name(&mut self) -> &'a str {
        self.rest();
        self.take_while(is_word_character)
    }

    /// Takes `sign` if it comes next.
    pub(crate) fn take(&mut self, sign: &str) -> bool {
        let comes_next = self.rest().starts_with(sign);
        self.at += if comes_next { sign.len() } else { 0 };
        comes_next
    }

    /// Takes the characters that come next and are `wanted`.
    pub(crate) fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        let rest = &self.text[self.at..];
        let end = rest.find(|c| !wanted(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    pub(crate) fn comparison(&mut self) -> Result<Comparison, ScanError> {
        let found = Comparison::ALL.into_iter().find(|comparison| self.take(comparison.sign()));
        found.ok_or_else(|| self.unexpected("one of > >= < <="))
    }

    pub(crate) fn number(&mut self, expected: &str) -> Result<f64, ScanError> {
        let error = self.unexpected(expected);
        let digits = self.take_while(|c| c.is_ascii_digit() || c == '.');
        digits.parse().ok().filter(|number: &f64| number.is_finite()).ok_or(error)
    }

    /// The unit behind a number, if there is one.
    pub(crate) fn unit(&mut self) -> Result<Option<(Dimension, f64)>, ScanError> {
        self.rest();
        let column = self.column();
        let name = if self.take("%") { "%" } else { self.take_while(|c| c.is_alphabetic() || c == '/') };
        if name.is_empty() {
            return Ok(None);
        }
        dimension::find_unit(name).map(Some).ok_or_else(|| ScanError::UnknownUnit { column, name: name.to_owned() })
    }
}

/// `2` and `200%` are factors, `2ms` is none.
pub(crate) fn as_factor(number: f64, unit: Option<(Dimension, f64)>) -> Option<f64> {
    match unit {
        None => Some(number),
        Some((Dimension::Ratio, size)) => Some(number * size),
        Some(_) => None,
    }
}

fn is_word_character(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}
