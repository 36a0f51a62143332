//! What the subcommands share: JSON, tables, and arguments of the form NAME=VALUE.

use ccactl_abi::Tunable;
use serde::Serialize;
use serde_json::Value;
use std::io::{self, Write};

/// Prints a value as JSON with a final newline.
pub fn json(value: &impl Serialize) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, value)?;
    writeln!(out)?;
    Ok(())
}

/// Prints a value as one line of JSON, for those who read a stream.
pub fn json_line(value: &impl Serialize) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    serde_json::to_writer(&mut out, value)?;
    writeln!(out)?;
    out.flush()?;
    Ok(())
}

/// Parses `NAME=VALUE`.
pub fn name_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected NAME=VALUE".to_owned()),
    }
}

/// A tunable's value as the user writes it, as a JSON number.
pub fn number(tunable: &Tunable, raw: i64) -> Value {
    serde_json::from_str(&tunable.display(raw)).expect("a decimal number is JSON")
}

/// Prints rows under a header, each column as wide as its widest cell.
pub fn table<const N: usize>(header: [&str; N], rows: &[[String; N]]) -> anyhow::Result<()> {
    let mut width = header.map(|cell| cell.chars().count());
    for row in rows {
        for (width, cell) in width.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut out = io::stdout().lock();
    for row in std::iter::once(&header.map(str::to_owned)).chain(rows) {
        let cells: Vec<String> = row.iter().zip(width).map(|(cell, width)| format!("{cell:<width$}")).collect();
        writeln!(out, "{}", cells.join("  ").trim_end())?;
    }
    Ok(())
}
