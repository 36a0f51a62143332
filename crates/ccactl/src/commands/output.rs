//! What the subcommands share: JSON, tables, and arguments of the form NAME=VALUE.

use crate::error::Result;
use ccactl_abi::exit;
use ccactl_host::table::{self, Side};
use ccactl_host::terminal::{self, fit_line};
use serde::Serialize;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Write;

/// Version of the JSON that commands print. A field that is added leaves it; one that goes or changes its meaning makes it one
/// more (`docs/json.md`).
pub const JSON_VERSION: u32 = 1;

/// What every object begins with.
#[derive(Serialize)]
struct Versioned<'a, T> {
    schema_version: u32,
    #[serde(flatten)]
    value: &'a T,
}

impl<'a, T> Versioned<'a, T> {
    fn of(value: &'a T) -> Versioned<'a, T> {
        Versioned { schema_version: JSON_VERSION, value }
    }
}

/// An object as JSON with a final newline.
pub fn json_text(value: &impl Serialize) -> Result<String> {
    Ok(serde_json::to_string_pretty(&Versioned::of(value))? + "\n")
}

/// Prints an object as JSON.
pub fn json(value: &impl Serialize) -> Result<()> {
    Ok(terminal::json_out().write_all(json_text(value)?.as_bytes())?)
}

/// Prints an object with one list.
pub fn json_list(name: &str, list: &impl Serialize) -> Result<()> {
    json(&BTreeMap::from([(name, list)]))
}

/// Prints an object as one line of JSON, for those who read a stream.
pub fn json_line(value: &impl Serialize) -> Result<()> {
    let mut out = terminal::json_out();
    out.write_all(json_line_text(value)?.as_bytes())?;
    Ok(out.flush()?)
}

/// An object as one line of JSON.
pub fn json_line_text(value: &impl Serialize) -> Result<String> {
    Ok(serde_json::to_string(&Versioned::of(value))? + "\n")
}

#[derive(Serialize)]
struct Failed<'a> {
    error: ErrorRow<'a>,
}

#[derive(Serialize)]
struct ErrorRow<'a> {
    exit_code: u8,
    kind: &'static str,
    message: &'a str,
}

/// A failure as one line of JSON.
pub fn json_error(message: &str, exit_code: u8) -> Result<String> {
    json_line_text(&Failed { error: ErrorRow { exit_code, kind: exit::kind(exit_code), message } })
}

/// Parses `NAME=VALUE`.
pub fn name_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected NAME=VALUE".to_owned()),
    }
}

/// Prints rows under a header, each column as wide as its widest cell; on a terminal, texts are broken where it ends.
pub fn table<const N: usize>(header: [&str; N], rows: &[[String; N]]) -> Result<()> {
    // Made fit here and not on its way out, so that columns stay columns and a row stays a line.
    let rows: Vec<Vec<Cow<'_, str>>> = std::iter::once(header.map(Cow::Borrowed).to_vec())
        .chain(rows.iter().map(|row| row.iter().map(|cell| fit_line(cell)).collect()))
        .collect();
    let text = table::grid(&rows, |_| Side::Left, terminal::width());
    Ok(terminal::out().write_all(text.as_bytes())?)
}
