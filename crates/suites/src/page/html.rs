//! The report as one page that needs no network and no script.

use super::cells::{Texts, notes};
use super::glossary::words;
use super::terminal::heading;
use super::{CellReport, Report, evidence, outcome};
use crate::compare::{Entry, Table};
use crate::verdict::{Outcome, Verdict};
use ccactl_report::html::{still_page, text as escaped};

/// Beyond the look of a report.
const STYLE: &str = "
table.figures td .printed, table.figures td .difference { display: block; color: var(--soft); font-size: .85em; }
table.figures td .off { font-weight: 600; color: var(--warn-ink); }
table.figures td.verdict { text-align: left; white-space: normal; }
td.pass { color: #00704a; font-weight: 600; } td.fail { color: #b03000; font-weight: 600; }
@media (prefers-color-scheme: dark) { td.pass { color: #5fd0a0; } td.fail { color: #ff9a70; } }
.gallery { display: grid; grid-template-columns: repeat(auto-fill, minmax(330px, 1fr)); gap: 1rem; }
.gallery figure { margin: 0; padding: .4rem; border: 1px solid var(--line); }
.gallery figure.wide { grid-column: 1 / -1; }
.gallery svg { width: 100%; height: auto; display: block; }
.gallery figcaption { color: var(--soft); font-size: .85rem; }
/* The drawings are made for paper; turned about, ink is light and hues stay. */
@media (prefers-color-scheme: dark) { .gallery svg { filter: invert(1) hue-rotate(180deg); } }
@media print { .gallery svg { filter: none; } }
";

/// The whole page.
pub fn text(report: &Report) -> String {
    let mut body: String = report.introduction().iter().map(|line| format!("<p>{}</p>\n", escaped(line))).collect();
    for warning in report.warnings() {
        body.push_str(&format!("<p class=\"warning\">{}</p>\n", escaped(&warning)));
    }
    report.tables.iter().filter(|table| table.is_measured()).for_each(|of| body.push_str(&table(of)));
    body.push_str(&orderings(&report.verdicts));
    body.push_str(&gallery(report));
    body.push_str(&cells(&report.cells));
    body.push_str(&format!("<p class=\"soft\">{}</p>\n", escaped(&report.basis())));
    for (word, meaning) in words(report) {
        body.push_str(&format!("<p class=\"soft\"><b>{word}</b>: {}.</p>\n", escaped(meaning)));
    }
    still_page(&report.title(), STYLE, &body)
}

fn table(table: &Table) -> String {
    let mut out = format!("<section>\n<h2>{}</h2>\n", escaped(&heading(table)));
    out.push_str("<div class=\"scroll\"><table class=\"figures\">\n<thead><tr>");
    out.extend(table.names.iter().map(|name| format!("<th class=\"name\">{}</th>", escaped(name))));
    out.extend(table.columns.iter().map(|name| format!("<th>{}</th>", escaped(name))));
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in &table.rows {
        out.push_str("<tr>");
        out.extend(row.names.iter().map(|name| format!("<td class=\"name\">{}</td>", escaped(name))));
        out.extend(row.entries.iter().zip(&table.columns).map(|(entry, column)| cell(entry, column)));
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table></div>\n");
    out.extend(notes(table).iter().map(|note| format!("<p class=\"soft\">{}</p>\n", escaped(note))));
    out.push_str("</section>\n");
    out
}

fn cell(entry: &Entry, column: &str) -> String {
    let Texts { measured, printed, difference, off } = Texts::new(entry);
    let part = |class: &str, text: Option<String>| {
        text.map_or_else(String::new, |text| format!("<span class=\"{class}\">{}</span>", escaped(&text)))
    };
    let printed = part("printed", printed.map(|printed| format!("printed {printed}")));
    let difference = part(if off { "difference off" } else { "difference" }, difference);
    format!("<td data-label=\"{}\">{}{printed}{difference}</td>", escaped(column), escaped(&measured))
}

fn orderings(verdicts: &[Verdict]) -> String {
    if verdicts.is_empty() {
        return String::new();
    }
    let mut out =
        String::from("<section>\n<h2>Orderings</h2>\n<div class=\"scroll\"><table class=\"figures\">\n<tbody>\n");
    for verdict in verdicts {
        let class = match verdict.outcome {
            Outcome::Holds => "pass",
            Outcome::Fails => "fail",
            Outcome::Undecided | Outcome::NotMeasured => "open",
        };
        let lines: Vec<String> = evidence(verdict).iter().map(|line| escaped(line)).collect();
        out.push_str(&format!(
            "<tr><td class=\"name {class}\">{}</td><td class=\"verdict\">{}<details{}><summary>Numbers</summary>{}</details></td></tr>\n",
            outcome(verdict),
            escaped(verdict.text),
            if verdict.outcome == Outcome::Fails { " open" } else { "" },
            lines.join("<br>")
        ));
    }
    out.push_str("</tbody>\n</table></div>\n</section>\n");
    out
}

fn gallery(report: &Report) -> String {
    if report.figures.is_empty() {
        return String::new();
    }
    let mut out = String::from("<section>\n<h2>Figures</h2>\n<div class=\"gallery\">\n");
    for figure in &report.figures {
        let class = if figure.is_wide { " class=\"wide\"" } else { "" };
        let caption = escaped(&figure.caption);
        out.push_str(&format!("<figure{class}>{}<figcaption>{caption}</figcaption></figure>\n", figure.svg));
    }
    out.push_str("</div>\n</section>\n");
    out
}

/// Where the pages of the cells are.
fn cells(cells: &[CellReport]) -> String {
    let mut out = String::from("<section>\n<h2>Cells</h2>\n<ul class=\"facts\">\n");
    for cell in cells {
        let (id, runs) = (escaped(&cell.id), cell.valid_runs);
        // A name may have a percent sign.
        let link = id.replace('%', "%25");
        let rejected = match cell.rejected.len() {
            0 => String::new(),
            n => format!(", {n} not valid"),
        };
        out.push_str(&format!("<li><a href=\"./{link}/report.html\">{id}</a>: {runs} valid{rejected}</li>\n"));
    }
    out.push_str("</ul>\n</section>\n");
    out
}
