//! Changes of a scenario from the command line: `link.buffer=0.5bdp`, `flow[0].algorithm=reno`.

use super::{Scenario, ScenarioError};
use std::str::FromStr;
use toml::{Table, Value};

/// Why a change was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OverrideError {
    /// There is no `=`.
    #[error("expected FIELD=VALUE such as link.buffer=0.5bdp, found {0:?}")]
    Form(String),
    /// A flow of that name or number is not in the scenario.
    #[error("{field}: expected a flow of this scenario (0 to {last}, or one of {names}), found {found:?}")]
    NoSuchFlow {
        /// The whole field.
        field: String,
        /// Highest index.
        last: usize,
        /// Names of the flows.
        names: String,
        /// What stands in the brackets.
        found: String,
    },
    /// A part of the field is not a table.
    #[error("{field}: expected a field of the scenario, found that {part:?} is not a table")]
    NotATable {
        /// The whole field.
        field: String,
        /// The part.
        part: String,
    },
    /// The scenario with the change is not one.
    #[error("{origin} with the changes of the command line: {field}: {message}")]
    Result {
        /// File name.
        origin: String,
        /// Path such as `flow[1].algorithm`.
        field: String,
        /// Expected and found.
        message: String,
    },
}

/// One field with its new value.
#[derive(Debug, Clone, PartialEq)]
pub struct Override {
    field: String,
    value: Value,
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

/// Changes the document and parses it again with all checks.
pub(super) fn apply(origin: &str, text: &str, overrides: &[Override]) -> Result<Scenario, ScenarioError> {
    let mut document: Table = text.parse().expect("the caller has parsed it before");
    for change in overrides {
        set(&mut document, change)?;
    }
    if overrides.iter().any(|change| !KEEPS_THE_EXPERIMENT.contains(&change.field.as_str())) {
        document.remove("published");
    }
    let changed = toml::to_string(&document).expect("a document can be written again");
    Scenario::parse(origin, &changed).map_err(|error| match error {
        // Lines of the rewritten document mean nothing to the user.
        ScenarioError::Field { origin, field, message, .. } => OverrideError::Result { origin, field, message }.into(),
        other => other,
    })
}

fn set(document: &mut Table, change: &Override) -> Result<(), OverrideError> {
    let not_a_table = |part: &str| OverrideError::NotATable { field: change.field.clone(), part: part.to_owned() };
    let (parents, last) = change.field.rsplit_once('.').map_or((None, change.field.as_str()), |(p, l)| (Some(p), l));
    let mut table = document;
    for part in parents.into_iter().flat_map(|p| p.split('.')) {
        table = match part.split_once('[') {
            Some((name, rest)) => flow_entry(table, name, rest.trim_end_matches(']'), &change.field)?,
            None => table
                .entry(part)
                .or_insert_with(|| Value::Table(Table::new()))
                .as_table_mut()
                .ok_or_else(|| not_a_table(part))?,
        };
    }
    table.insert(last.to_owned(), change.value.clone());
    Ok(())
}

/// The entry of an array of tables, by index or by its `name`.
fn flow_entry<'t>(
    table: &'t mut Table,
    array_name: &str,
    key: &str,
    field: &str,
) -> Result<&'t mut Table, OverrideError> {
    let no_such = |names: Vec<String>| OverrideError::NoSuchFlow {
        field: field.to_owned(),
        last: names.len().saturating_sub(1),
        names: names.join(", "),
        found: key.to_owned(),
    };
    let Some(entries) = table.get_mut(array_name).and_then(Value::as_array_mut) else {
        return Err(no_such(Vec::new()));
    };
    let names: Vec<String> =
        entries.iter().map(|e| e.get("name").and_then(Value::as_str).unwrap_or_default().to_owned()).collect();
    let index = names.iter().position(|name| name == key).or_else(|| key.parse().ok());
    index.and_then(|i| entries.get_mut(i)).and_then(Value::as_table_mut).ok_or_else(|| no_such(names))
}
