//! The matrix as one page: heat maps whose places lead to the runs.

use super::grid::{Entry, Grid, Range};
use ccactl_host::table::{self, Side};
use ccactl_report::html::{still_page, text as escaped};

/// Beyond the look of a report.
const STYLE: &str = "
table.heat { border-collapse: collapse; font-size: .78rem; } table.heat th { font-weight: 500; text-align: left; white-space: nowrap; }
table.heat thead th { vertical-align: bottom; } table.heat thead th span { writing-mode: vertical-rl; transform: rotate(180deg); display: inline-block; }
table.heat td { padding: 0; text-align: center; min-width: 2.1rem; } table.heat td a { display: block; padding: .18rem .1rem; color: #111; text-decoration: none; }
table.heat td a:hover { outline: 2px solid #111; } table.heat td.open a { text-decoration: underline dotted; }
";

const HOW: &str = "Row: who does it. Column: who suffers it. Harm: what the column's algorithm loses beside the row's, of its goodput \
alone (Ware et al. 2019); half of it is an even share. Median of the runs; a dotted figure has runs that reach 10 points or more \
from one another. Each place leads to its runs.";

/// A figure whose runs reach so far apart hangs on chance.
const APART: f64 = 10.0;

/// The whole page.
#[must_use]
pub fn html(grids: &[Grid], warnings: &[String], described: &str) -> String {
    let mut body = format!("<p>{}</p>\n", escaped(HOW));
    body.extend(warnings.iter().map(|warning| format!("<p class=\"warning\">{}</p>\n", escaped(warning))));
    for grid in grids {
        let title = escaped(&grid.title());
        body.push_str(&format!("<section>\n<h2>Harm in percent, {title}</h2>\n"));
        body.push_str(&heat(grid, |entry| (entry.harm, 0), |harm| harm / 100.0));
        body.push_str(&format!("</section>\n<section>\n<h2>Jain index in hundredths, {title}</h2>\n"));
        // 0.5: one has all. The more even, the whiter.
        body.push_str(&heat(grid, |entry| (scaled(entry.jain, 100.0), 0), |jain| 0.5 + (100.0 - jain) / 100.0));
        body.push_str("</section>\n");
    }
    body.push_str(&format!("<p class=\"soft\">Links: {}.</p>\n", escaped(described)));
    still_page("Every algorithm beside every other", STYLE, &body)
}

fn scaled(range: Range, factor: f64) -> Range {
    Range { median: range.median * factor, min: range.min * factor, max: range.max * factor, n: range.n }
}

/// Blue at 0, white at a half, vermilion at 1.
fn color(share: f64) -> String {
    const LESS: [f64; 3] = [0.0, 114.0, 178.0];
    const MORE: [f64; 3] = [213.0, 94.0, 0.0];
    let distance = (share.clamp(0.0, 1.0) - 0.5) * 2.0;
    let end = if distance < 0.0 { LESS } else { MORE };
    // Ink has to be read on it.
    let mixed = end.map(|of| 255.0 + (of - 255.0) * distance.abs() * 0.85);
    format!("rgb({:.0},{:.0},{:.0})", mixed[0], mixed[1], mixed[2])
}

fn heat(grid: &Grid, figure: impl Fn(&Entry) -> (Range, usize), share: impl Fn(f64) -> f64) -> String {
    let names: Vec<&str> = grid.standings.iter().map(|standing| standing.algorithm.as_str()).collect();
    let mut out = String::from("<div class=\"scroll\"><table class=\"heat\">\n<thead><tr><th></th>");
    out.extend(names.iter().map(|name| format!("<th><span>{}</span></th>", escaped(name))));
    out.push_str("</tr></thead>\n<tbody>\n");
    for does in &names {
        out.push_str(&format!("<tr><th>{}</th>", escaped(does)));
        for suffers in &names {
            let Some(entry) = grid.entries.get(&((*does).to_owned(), (*suffers).to_owned())) else {
                out.push_str("<td></td>");
                continue;
            };
            let (range, decimals) = figure(entry);
            let class = if range.max - range.min >= APART { " class=\"open\"" } else { "" };
            let link = format!("./{}/report.html", entry.cell.replace('%', "%25"));
            out.push_str(&format!(
                "<td{class} style=\"background:{}\"><a href=\"{}\" title=\"{}\">{:.decimals$}</a></td>",
                color(share(range.median)),
                escaped(&link),
                escaped(&told(does, suffers, entry)),
                range.median,
            ));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table></div>\n");
    out
}

fn told(does: &str, suffers: &str, entry: &Entry) -> String {
    let Entry { harm, jain, own_mbps, other_mbps, queue_ms, .. } = entry;
    let queue = queue_ms.map_or_else(String::new, |queue| format!(", queue {:.1} ms", queue.median));
    format!(
        "{does} {:.1} Mbit/s, {suffers} {:.1}: harm {:.0} % ({:.0} … {:.0}), Jain {:.2}{queue}, {} runs",
        own_mbps.median, other_mbps.median, harm.median, harm.min, harm.max, jain.median, jain.n
    )
}

fn standings(grid: &Grid) -> Vec<[String; 4]> {
    let percent = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| format!("{value:.0}"));
    let row = |of: &super::Standing| {
        let alone = of.alone_mbps.map_or_else(|| "–".to_owned(), |range| format!("{:.1}", range.median));
        [of.algorithm.clone(), alone, percent(of.does), percent(of.suffers)]
    };
    grid.standings.iter().map(row).collect()
}

const HEAD: [&str; 4] = ["algorithm", "alone Mbit/s", "does harm of %", "suffers harm of %"];

/// How each algorithm stands: on a terminal.
#[must_use]
pub fn terminal(grids: &[Grid], warnings: &[String], width: Option<usize>) -> String {
    let mut out = String::new();
    for grid in grids {
        let mut lines = vec![HEAD.map(str::to_owned).to_vec()];
        lines.extend(standings(grid).into_iter().map(Vec::from));
        let side = |column| if column == 0 { Side::Left } else { Side::Right };
        out.push_str(&format!("{} (medians over the others)\n{}\n", grid.title(), table::grid(&lines, side, width)));
    }
    warnings.iter().for_each(|warning| out.push_str(&format!("{warning}\n")));
    out
}

/// The same as a page of documentation.
#[must_use]
pub fn markdown(grids: &[Grid], warnings: &[String]) -> String {
    let mut out = String::from("# Every algorithm beside every other\n\n");
    for grid in grids {
        out.push_str(&format!("## {}\n\n| {} |\n|---|---:|---:|---:|\n", grid.title(), HEAD.join(" | ")));
        standings(grid).iter().for_each(|row| out.push_str(&format!("| {} |\n", row.join(" | "))));
        out.push('\n');
    }
    warnings.iter().for_each(|warning| out.push_str(&format!("{warning}\n\n")));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Standing;
    use std::collections::BTreeMap;

    fn range(median: f64, apart: f64) -> Range {
        Range { median, min: median - apart / 2.0, max: median + apart / 2.0, n: 3 }
    }

    #[test]
    fn each_place_leads_to_its_runs_and_chance_is_marked() {
        let standing = |name: &str| Standing {
            algorithm: name.to_owned(),
            alone_mbps: Some(range(19.0, 0.1)),
            does: Some(40.0),
            suffers: None,
        };
        let entry = Entry {
            harm: range(61.4, 22.0),
            jain: range(0.93, 0.01),
            own_mbps: range(11.0, 1.0),
            other_mbps: range(7.3, 1.0),
            queue_ms: None,
            cell: "rtt=20ms,buffer=1bdp,one=bbr<>,other=reno".to_owned(),
        };
        let grid = Grid {
            rtt: "20ms".to_owned(),
            buffer: "1bdp".to_owned(),
            standings: vec![standing("bbr<>"), standing("reno")],
            entries: BTreeMap::from([(("bbr<>".to_owned(), "reno".to_owned()), entry)]),
        };
        let page = html(&[grid.clone()], &[], "the emulator");
        assert!(page.contains("href=\"./rtt=20ms,buffer=1bdp,one=bbr&lt;&gt;,other=reno/report.html\""), "{page}");
        assert!(page.contains("<td class=\"open\" style=\"background:rgb(") && page.contains(">61</a>"), "{page}");
        assert!(!page.contains("bbr<>"), "names are escaped");
        assert!(markdown(&[grid.clone()], &[]).contains("| reno | 19.0 | 40 | – |"));
        assert!(terminal(&[grid], &["3 of 9 cells are not run".to_owned()], None).contains("3 of 9 cells"));
    }

    #[test]
    fn an_even_share_is_white() {
        assert_eq!(color(0.5), "rgb(255,255,255)");
        assert_ne!(color(0.9), color(0.1));
    }
}
