//! The report as a page of documentation.

use super::cells::{Texts, notes};
use super::terminal::heading;
use super::{Report, evidence, outcome};
use crate::compare::{Entry, Table};

/// The whole report.
pub fn text(report: &Report) -> String {
    let mut out = format!("# {}\n\n", escaped(&report.title()));
    report.introduction().iter().for_each(|line| out.push_str(&format!("{}\n\n", escaped(line))));
    report.warnings().iter().for_each(|warning| out.push_str(&format!("> {}\n\n", escaped(warning))));
    for table in report.tables.iter().filter(|table| table.is_measured()) {
        out.push_str(&format!("## {}\n\n{}\n", escaped(&heading(table)), grid(table)));
        notes(table).iter().for_each(|note| out.push_str(&format!("{}\n\n", escaped(note))));
    }
    if !report.verdicts.is_empty() {
        out.push_str("## Orderings\n\n| | ordering | numbers |\n|---|---|---|\n");
    }
    for verdict in &report.verdicts {
        let lines: Vec<String> = evidence(verdict).iter().map(|line| escaped(line)).collect();
        out.push_str(&format!("| {} | {} | {} |\n", outcome(verdict), escaped(verdict.text), lines.join("<br>")));
    }
    if !report.figures.is_empty() {
        out.push_str("\n## Figures\n");
    }
    for figure in &report.figures {
        let caption = escaped(&figure.caption);
        out.push_str(&format!("\n![{caption}](figures/{}.svg)\n\n*{caption}*\n", figure.name));
    }
    out.push_str(&format!("\n{} Made by ccactl {}.\n", report.basis(), report.ccactl_version));
    out
}

fn grid(table: &Table) -> String {
    let row = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let mut out = row(table.names.iter().chain(&table.columns).map(|name| escaped(name)).collect());
    let rules = table.names.iter().map(|_| "---").chain(table.columns.iter().map(|_| "---:"));
    out.push_str(&format!("|{}|\n", rules.collect::<Vec<_>>().join("|")));
    for of in &table.rows {
        let names = of.names.iter().map(|name| escaped(name));
        out.push_str(&row(names.chain(of.entries.iter().map(cell)).collect()));
    }
    out
}

/// Measured, printed and difference, one above the other.
fn cell(entry: &Entry) -> String {
    let Texts { measured, printed, difference, off } = Texts::new(entry);
    let mut lines = vec![measured];
    lines.extend(printed.map(|printed| format!("*{printed}*")));
    lines.extend(difference.map(|difference| if off { format!("**{difference}**") } else { difference }));
    lines.join("<br>")
}

/// Names come from scenarios and files: none may end a cell, begin a tag or a link.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '|' | '<' | '`' | '[' | ']' | '\\' | '*' => out.extend(['\\', c]),
            '\n' | '\r' => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
