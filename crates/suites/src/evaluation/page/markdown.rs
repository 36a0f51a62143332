//! The card as a page of documentation.

use super::{estimate_text, measure_text, method, title, verdict_text, wrapped};
use crate::evaluation::{Card, Row, Verdict};

/// The whole card.
#[must_use]
pub fn text(card: &Card) -> String {
    let mut out =
        format!("# {}\n\n{}\n\n{}.\n\n", title(card), wrapped(&format!("**{}**", card.headline)), card.counts());
    let warnings = card.warnings.len();
    if warnings > 0 {
        out.push_str(&wrapped(&format!(
            "{warnings} runs or paths are in no figure; the page beside the runs says why."
        )));
        out.push_str("\n\n");
    }
    out.push_str(&format!("| | path | figure | {} | CUBIC | verdict |\n|---|---|---|---:|---:|---|\n", card.algorithm));
    for group in &card.groups {
        let section = group.section;
        out.push_str(&format!("| **{}** | *{}* | | | | |\n", section.number, section.title));
        out.extend(group.rows.iter().map(row));
    }
    out.push('\n');
    out.extend(method(card).iter().map(|line| format!("{}\n\n", wrapped(line))));
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

fn row(row: &Row) -> String {
    let verdict = verdict_text(row);
    let verdict = match row.verdict {
        Verdict::Better | Verdict::Worse => format!("**{verdict}**"),
        _ => verdict,
    };
    format!(
        "| | {} | {} | {} | {} | {verdict} |\n",
        row.path,
        measure_text(row),
        estimate_text(row.measure, row.subject.as_ref()),
        estimate_text(row.measure, row.cubic.as_ref()),
    )
}
