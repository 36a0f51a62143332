//! Changes of a document by field: `link.buffer=0.5bdp`, `flow[0].algorithm=reno`. The command line, the axes of a matrix and
//! `[quick]` make them, and every check of a document holds for the changed one.

use crate::field_path::FieldPath;
use crate::parse;
use crate::reader::Source;
use crate::{OverrideError, Scenario, ScenarioError};
use std::str::FromStr;
use toml::{Table, Value};

/// One field with its new value.
#[derive(Debug, Clone, PartialEq)]
pub struct Override {
    pub(crate) field: String,
    pub(crate) value: Value,
}

impl Override {
    /// A text value.
    #[must_use]
    pub fn text(field: &str, value: impl Into<String>) -> Self {
        Override { field: field.to_owned(), value: Value::String(value.into()) }
    }

    /// Any TOML value.
    #[must_use]
    pub fn value(field: &str, value: impl Into<Value>) -> Self {
        Override { field: field.to_owned(), value: value.into() }
    }
}

impl FromStr for Override {
    type Err = OverrideError;

    /// `FIELD=VALUE`: the value is TOML (`0.005`, `{ bdp = 4 }`) or else plain text (`50Mbit/s`).
    fn from_str(text: &str) -> Result<Self, OverrideError> {
        let form = || OverrideError::Form(text.to_owned());
        let (field, value) = text.split_once('=').ok_or_else(form)?;
        if field.is_empty() || value.is_empty() {
            return Err(form());
        }
        let value = Value::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
        Ok(Override { field: field.to_owned(), value })
    }
}

/// Changes after which printed figures may still stand beside the measured ones.
const KEEPS_THE_EXPERIMENT: &[&str] = &["name", "description", "duration", "repeat", "every", "link.seed"];
const PUBLISHED: &str = "published";

/// Makes the changes in their order. Printed figures go where the experiment becomes another one, unless a change sets them.
pub(crate) fn apply<'c>(
    document: &mut Table,
    changes: impl IntoIterator<Item = &'c Override>,
) -> Result<(), OverrideError> {
    let changes: Vec<&Override> = changes.into_iter().collect();
    let is_published = |change: &Override| change.field.split('.').next() == Some(PUBLISHED);
    if changes.iter().any(|change| !is_published(change) && !KEEPS_THE_EXPERIMENT.contains(&change.field.as_str())) {
        document.remove(PUBLISHED);
    }
    changes.into_iter().try_for_each(|change| FieldPath::parse(&change.field)?.set(document, change.value.clone()))
}

/// Parses a document that is no longer the text of a file, so that lines mean nothing.
pub(crate) fn parse_changed(origin: &str, document: &Table) -> Result<Scenario, (String, String)> {
    let text = toml::to_string(document).expect("a document can be written again");
    let source = Source { origin, text: &text };
    source.parse().and_then(|document| parse::scenario(&source, &document)).map_err(|error| match error {
        ScenarioError::Field { field, message, .. } => (field, message),
        other => (String::new(), other.to_string()),
    })
}

/// The scenario of a document with changes of the command line.
pub(crate) fn parse_with(origin: &str, mut document: Table, overrides: &[Override]) -> Result<Scenario, ScenarioError> {
    apply(&mut document, overrides)?;
    parse_changed(origin, &document)
        .map_err(|(field, message)| OverrideError::Result { origin: origin.to_owned(), field, message }.into())
}
