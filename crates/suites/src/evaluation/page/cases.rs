//! The test cases of a BBR: on a terminal, as Markdown and as one HTML page.

use super::wrapped;
use crate::evaluation::bbr::{CaseCard, CaseRow, Outcome};
use ccactl_host::table::{self, Side};
use ccactl_report::html::{still_page, text as escaped};

const SOURCE: &str = "Test cases: draft-ietf-ccwg-bbr-06, appendix A. A case passes when every valid run in which its situation came \
about shows what the case asks for.";

/// Beyond the look of a report.
const STYLE: &str = "
p.headline { font-size: 1.15rem; font-weight: 600; max-width: 60rem; }
table.cases td { text-align: left; white-space: normal; vertical-align: top; } table.cases td small { color: var(--soft); display: block; }
td.pass { color: #00704a; font-weight: 600; } td.fail { color: #b03000; font-weight: 600; } td.open { color: var(--soft); }
@media (prefers-color-scheme: dark) { td.pass { color: #5fd0a0; } td.fail { color: #ff9a70; } }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(320px, 1fr)); gap: 1rem; }
.pair svg { width: 100%; height: auto; }
@media (prefers-color-scheme: dark) { .pair svg { filter: invert(1) hue-rotate(180deg); } }
@media print { .pair svg { filter: none; } }
";

/// On a terminal.
#[must_use]
pub fn terminal(card: &CaseCard, width: Option<usize>) -> String {
    let mut lines = vec![["case", "title", "", "what was seen"].map(str::to_owned).to_vec()];
    for case in &card.cases {
        lines.push(vec![
            case.number.to_owned(),
            case.title.to_owned(),
            case.outcome.word().to_owned(),
            case.told.join(" · "),
        ]);
    }
    format!("{}\n\n{}\n{}\n", card.headline, table::grid(&lines, |_| Side::Left, width), basis(card))
}

/// As a page of documentation; figures are files of the folder beside it.
#[must_use]
pub fn markdown(card: &CaseCard, figures: &str) -> String {
    let mut out = format!(
        "# {}: the test cases of its draft\n\n{}\n\n",
        card.algorithm,
        wrapped(&format!("**{}**", card.headline))
    );
    out.push_str("| case | | | what was seen |\n|---|---|---|---|\n");
    for case in &card.cases {
        let word = match case.outcome {
            Outcome::Fail => format!("**{}**", case.outcome.word()),
            other => other.word().to_owned(),
        };
        let told = case.told.join("<br>").replace('|', "\\|");
        out.push_str(&format!("| {} | {} | {word} | {told} |\n", case.number, case.title));
    }
    for (name, caption, _) in drawings(card) {
        out.push_str(&format!("\n![{caption}]({figures}/{name}.svg)\n\n*{caption}*\n"));
    }
    out.push_str(&format!("\n{}\n", wrapped(&basis(card))));
    out
}

/// As one page that needs no network and no script. `folder` is the algorithm's beside it.
#[must_use]
pub fn html(card: &CaseCard, folder: Option<&str>) -> String {
    let mut body = format!("<p class=\"headline\">{}</p>\n<section>\n", escaped(&card.headline));
    body.push_str("<div class=\"scroll\"><table class=\"cases\">\n<tbody>\n");
    card.cases.iter().for_each(|case| body.push_str(&row(case, folder)));
    body.push_str("</tbody>\n</table></div>\n</section>\n");
    for case in card.cases.iter().filter(|case| !case.figures.is_empty()) {
        let title = format!("{} {}", case.number, case.title);
        body.push_str(&format!("<section>\n<h2>{}</h2>\n<div class=\"pair\">", escaped(&title)));
        body.extend(case.figures.iter().map(|svg| format!("<figure>{svg}</figure>")));
        body.push_str(&format!("</div>\n<p class=\"soft\">{}</p>\n</section>\n", escaped(&case.told.join(" · "))));
    }
    body.push_str(&format!("<p class=\"soft\">{}</p>\n", escaped(&basis(card))));
    still_page(&format!("{}: the test cases of its draft", card.algorithm), STYLE, &body)
}

/// Name, caption and SVG of each figure.
pub fn drawings(card: &CaseCard) -> Vec<(String, String, &str)> {
    let mut drawings = Vec::new();
    for case in &card.cases {
        for (svg, what) in case.figures.iter().zip(["packets", "rates"]) {
            let name = format!("{}-{}-{what}", card.algorithm, case.number);
            drawings.push((name, format!("{} {}: {what}", case.number, case.title), svg.as_str()));
        }
    }
    drawings
}

fn basis(card: &CaseCard) -> String {
    format!("{SOURCE} Links: {}.", card.place.described())
}

fn row(case: &CaseRow, folder: Option<&str>) -> String {
    let class = match case.outcome {
        Outcome::Pass => "pass",
        Outcome::Fail => "fail",
        Outcome::NotSeen | Outcome::NotRun => "open",
    };
    let path = match folder {
        Some(folder) => {
            let link = format!("./{folder}/{}/report.html", case.path).replace('%', "%25");
            format!("<a href=\"{}\">{}</a>", escaped(&link), case.path)
        }
        None => case.path.to_owned(),
    };
    let told: Vec<String> = case.told.iter().map(|told| escaped(told)).collect();
    format!(
        "<tr><td>{}</td><td>{}<small>{path}: {}</small></td><td class=\"{class}\">{}</td><td>{}</td></tr>\n",
        case.number,
        escaped(case.title),
        escaped(&case.description),
        case.outcome.word(),
        told.join("<br>")
    )
}
