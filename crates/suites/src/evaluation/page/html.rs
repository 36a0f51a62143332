//! The card as one page that needs no network and no script.

use super::{bar, estimate_text, measure_text, method, title, verdict_text};
use crate::evaluation::{Card, Group, Row, Verdict};
use ccactl_report::html::{still_page, text as escaped};

/// Beyond the look of a report.
const STYLE: &str = "
p.headline { font-size: 1.15rem; font-weight: 600; max-width: 60rem; }
table.card { width: 100%; } table.card th.name { text-align: left; } table.card td, table.card th { vertical-align: middle; }
table.card td.what { text-align: left; white-space: normal; } table.card td.what small { color: var(--soft); display: block; }
table.card td.verdict { text-align: left; }
table.card tr.section td { text-align: left; white-space: normal; padding-top: 1.1rem; border-bottom: 2px solid var(--line); }
table.card tr.section q { color: var(--soft); font-style: italic; }
td.better { color: #00704a; font-weight: 600; } td.worse { color: #b03000; font-weight: 600; } td.undecided { color: var(--soft); }
svg.bar { display: block; } svg.bar .band { fill: var(--line); opacity: .55; } svg.bar .zero { stroke: var(--soft); stroke-width: 1; }
svg.bar .interval { stroke: currentColor; stroke-width: 2; } svg.bar circle { fill: currentColor; }
svg.bar.better { color: #00704a; } svg.bar.worse { color: #b03000; } svg.bar.even { color: var(--soft); }
@media (prefers-color-scheme: dark) { td.better, svg.bar.better { color: #5fd0a0; } td.worse, svg.bar.worse { color: #ff9a70; } }
";

/// The whole page. `folder` is the algorithm's beside it, with a folder for each path; none when there are no pages to link to.
#[must_use]
pub fn text(card: &Card, folder: Option<&str>) -> String {
    let mut body =
        format!("<p class=\"headline\">{}</p>\n<p>{}.</p>\n", escaped(&card.headline), escaped(&card.counts()));
    for warning in &card.warnings {
        body.push_str(&format!("<p class=\"warning\">{}</p>\n", escaped(warning)));
    }
    body.push_str("<section>\n<div class=\"scroll\"><table class=\"card\">\n<thead><tr><th class=\"name\">Path</th><th class=\"name\">Figure</th>");
    body.push_str(&format!("<th>{}</th><th>CUBIC</th>", escaped(&card.algorithm)));
    body.push_str("<th class=\"name\">worse ← → better</th><th class=\"name\">Verdict</th></tr></thead>\n<tbody>\n");
    card.groups.iter().for_each(|group| body.push_str(&rows(group, folder)));
    body.push_str("</tbody>\n</table></div>\n</section>\n");
    body.extend(method(card).iter().map(|line| format!("<p class=\"soft\">{}</p>\n", escaped(line))));
    still_page(&title(card), STYLE, &body)
}

fn rows(group: &Group, folder: Option<&str>) -> String {
    let section = group.section;
    let mut out = format!(
        "<tr class=\"section\"><td colspan=\"6\"><b>{} {}</b> <q>{}</q></td></tr>\n",
        section.number,
        escaped(section.title),
        escaped(section.words)
    );
    out.extend(group.rows.iter().map(|of| row(of, folder)));
    out
}

fn row(row: &Row, folder: Option<&str>) -> String {
    let class = match row.verdict {
        Verdict::Better => "better",
        Verdict::AsGood => "as-good",
        Verdict::Worse => "worse",
        Verdict::Undecided | Verdict::Unknown => "undecided",
    };
    let name = match folder {
        Some(folder) => {
            let link = format!("./{folder}/{}/report.html", row.path).replace('%', "%25");
            format!("<a href=\"{}\">{}</a>", escaped(&link), row.path)
        }
        None => row.path.to_owned(),
    };
    let (subject, cubic) = (row.subject.as_ref(), row.cubic.as_ref());
    format!(
        "<tr><td class=\"what\">{name}<small>{}</small></td><td class=\"what\">{}</td><td>{}</td><td>{}</td><td>{}</td>\
         <td class=\"verdict {class}\">{}</td></tr>\n",
        escaped(&row.description),
        escaped(&measure_text(row)),
        escaped(&estimate_text(row.measure, subject)),
        escaped(&estimate_text(row.measure, cubic)),
        bar::svg(row),
        escaped(&verdict_text(row)),
    )
}
