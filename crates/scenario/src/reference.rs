//! The reference of all fields in Markdown, from the tables of fields; `docs/scenarios.md` has it.

use crate::fields::{ANY, DOCUMENT, Field, Kind, Table};
use crate::queue::DISCIPLINES;

/// One table per table of the document, then the queue disciplines and the tables that their parameters are made of.
#[must_use]
pub fn reference() -> String {
    let mut seen = Vec::new();
    collect(&DOCUMENT, &mut seen);
    let tables = seen.into_iter().map(|table| format!("### {}\n\n{}", table.title, rows(table)));
    let mut out = tables.collect::<Vec<_>>().join("\n");
    out += "\n### Queue disciplines\n\n| discipline | what it does |\n|---|---|\n";
    for row in DISCIPLINES {
        out += &format!("| `{}` | {} |\n", row.name, row.doc);
    }
    out += "\n| discipline | parameter | value | default | meaning |\n|---|---|---|---|---|\n";
    for row in DISCIPLINES {
        // The first field is the name of the discipline itself.
        for field in &row.table.fields[1..] {
            out += &format!("| `{}` {}\n", row.name, cells(field));
        }
    }
    let fields = DISCIPLINES.iter().flat_map(|row| row.table.fields);
    for field in fields {
        if let Kind::Tables(inner) = field.kind {
            out += &format!("\n#### {}\n\n{}", inner.title, rows(inner));
        }
    }
    out
}

/// A table and those below it, each once, in the order of their first appearance.
fn collect(table: &'static Table, seen: &mut Vec<&'static Table>) {
    if seen.iter().any(|other| std::ptr::eq(*other, table)) {
        return;
    }
    seen.push(table);
    for field in table.fields {
        match field.kind {
            Kind::Table(inner) | Kind::Tables(inner) | Kind::Map(inner) | Kind::SpanOr(inner) | Kind::TextOr(inner) => {
                collect(inner, seen);
            }
            Kind::Loss => collect(&crate::fields::LOSS, seen),
            _ => {}
        }
    }
}

fn rows(table: &Table) -> String {
    let mut out = String::from("| field | value | default | meaning |\n|---|---|---|---|\n");
    for field in table.fields {
        out += &cells(field);
        out.push('\n');
    }
    out
}

fn cells(field: &Field) -> String {
    let default = field.default.unwrap_or("–");
    format!("| `{}` | {} | {default} | {} |", field.name, value(field.kind), field.doc)
}

/// What may stand there, in a few words.
fn value(kind: Kind) -> String {
    match kind {
        Kind::Text | Kind::Name | Kind::Discipline => "text".to_owned(),
        Kind::Flag => "`true`, `false`".to_owned(),
        Kind::Count(0, ANY) => "whole number".to_owned(),
        Kind::Count(min, ANY) => format!("whole number from {min}"),
        Kind::Count(min, max) => format!("{min} to {max}"),
        Kind::Number(min, max) => format!("number, {min} to {max}"),
        Kind::Rate => "rate".to_owned(),
        Kind::Span => "time".to_owned(),
        Kind::Size => "size".to_owned(),
        Kind::Word(words) => words.iter().map(|word| format!("`\"{word}\"`")).collect::<Vec<_>>().join(", "),
        Kind::Sampling => "`\"ack\"`, `\"rtt\"`, time".to_owned(),
        Kind::Strings => "array of text".to_owned(),
        Kind::Counts => "array of whole numbers".to_owned(),
        Kind::Settings => "table".to_owned(),
        Kind::Repeat => "whole number from 1, `\"until-stop\"`".to_owned(),
        Kind::Through => "`\"all\"`, array of text".to_owned(),
        Kind::Loss => "number, table".to_owned(),
        Kind::SpanOr(_) => "time, table".to_owned(),
        Kind::TextOr(_) => "text, table".to_owned(),
        Kind::Queue => "text, table".to_owned(),
        Kind::Changes => "values by field".to_owned(),
        Kind::Values => "array".to_owned(),
        Kind::Labels => "arrays by axis".to_owned(),
        Kind::Exchanges => "tables by axis".to_owned(),
        Kind::Table(_) => "table".to_owned(),
        Kind::Tables(_) => "tables".to_owned(),
        Kind::Map(_) => "tables by name".to_owned(),
    }
}
