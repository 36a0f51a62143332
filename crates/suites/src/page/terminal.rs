//! The report on a terminal.

use super::cells::{Texts, notes};
use super::glossary::words;
use super::{Report, evidence, outcome};
use crate::compare::{Row, Table};
use crate::verdict::Outcome;
use ccactl_host::table::{self, Side};

/// The whole report as text; tables keep to the width as far as they can.
#[must_use]
pub fn terminal(report: &Report, width: Option<usize>) -> String {
    let mut out = format!("{}\n", report.title());
    report.introduction().iter().for_each(|line| out.push_str(&format!("{line}\n")));
    report.warnings().iter().for_each(|warning| out.push_str(&format!("{warning}\n")));
    for table in report.tables.iter().filter(|table| table.is_measured()) {
        out.push_str(&format!("\n{}\n{}", heading(table), grid(table, width)));
        notes(table).iter().for_each(|note| out.push_str(&format!("{note}\n")));
    }
    if !report.verdicts.is_empty() {
        out.push_str("\nOrderings\n");
    }
    for verdict in &report.verdicts {
        out.push_str(&format!("{:<11} {}\n", outcome(verdict), verdict.text));
        if verdict.outcome != Outcome::Holds {
            evidence(verdict).iter().for_each(|line| out.push_str(&format!("{:<12}{line}\n", "")));
        }
    }
    out.push_str(&format!("\n{}\n", report.basis()));
    words(report).iter().for_each(|(word, meaning)| out.push_str(&format!("{word}: {meaning}.\n")));
    out
}

pub(super) fn heading(table: &Table) -> String {
    if table.source.is_empty() { table.title.clone() } else { format!("{} ({})", table.title, table.source) }
}

/// Each row on up to three lines: measured, printed, difference.
fn grid(table: &Table, width: Option<usize>) -> String {
    let head: Vec<String> = table.names.iter().chain(&table.columns).cloned().collect();
    let lines: Vec<Vec<String>> = std::iter::once(head).chain(table.rows.iter().flat_map(lines)).collect();
    let side = |column| if column < table.names.len() { Side::Left } else { Side::Right };
    table::grid(&lines, side, width)
}

fn lines(row: &Row) -> Vec<Vec<String>> {
    let texts: Vec<Texts> = row.entries.iter().map(Texts::new).collect();
    let line = |names: Vec<String>, of: &dyn Fn(&Texts) -> String| -> Vec<String> {
        names.into_iter().chain(texts.iter().map(of)).collect()
    };
    let under = |name: &str| {
        let mut names = vec![String::new(); row.names.len()];
        if let Some(last) = names.last_mut() {
            *last = format!("  {name}");
        }
        names
    };
    let mut lines = vec![line(row.names.clone(), &|texts| texts.measured.clone())];
    if texts.iter().any(|texts| texts.printed.is_some()) {
        lines.push(line(under("printed"), &|texts| texts.printed.clone().unwrap_or_default()));
    }
    if texts.iter().any(|texts| texts.difference.is_some()) {
        lines.push(line(under("difference"), &|texts| texts.difference.clone().unwrap_or_default()));
    }
    lines
}
