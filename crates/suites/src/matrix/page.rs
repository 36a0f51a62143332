//! The matrix as one page: heat maps whose places lead to the runs.

use super::grid::{Entry, Grid, Standing};
use crate::evaluation::page::wrapped;
use ccactl_host::table::{self, Side};
use ccactl_report::figure::{self, GridCell, grid as heat_map, heat_colors, paper::Width};
use ccactl_report::html::{still_page, text as escaped};

/// Beyond the look of a report.
const STYLE: &str = "
main { max-width: none; } table.pairs { border-collapse: collapse; font-size: .78rem; }
table.pairs th { font-weight: 500; text-align: left; white-space: nowrap; } table.pairs thead th { vertical-align: bottom; }
table.pairs thead th span { writing-mode: vertical-rl; transform: rotate(180deg); display: inline-block; }
table.pairs td { padding: 0; text-align: center; min-width: 2.1rem; }
table.pairs td a { display: block; padding: .18rem .1rem; text-decoration: none; color: inherit; }
table.pairs td a:hover { outline: 2px solid currentColor; } table.pairs td.open a { text-decoration: underline dotted; }
";

const HARM: &str = "Row: who does it. Column: who suffers it. Harm: what the column's algorithm loses beside the row's, of its \
goodput alone (Ware et al. 2019); 50 is an even share, orange is more. Median of the runs. A dotted figure hangs on chance: its runs are 10 points \
of the share or more apart. Each place leads to its runs.";
const JAIN: &str = "Jain index of the two goodputs, in hundredths: 100 is an even share, 50 is all for one of them.";

const FAIR_JAIN: f64 = 0.95;
/// Of both goodputs, %.
const NEARLY_ALL: f64 = 90.0;

/// One of the two maps of a grid.
#[derive(Clone, Copy)]
enum Map {
    Harm,
    Jain,
}

impl Map {
    fn figure(self, entry: &Entry) -> f64 {
        match self {
            Map::Harm => entry.harm.median,
            Map::Jain => entry.jain.median * 100.0,
        }
    }

    /// On the scale of colours: white is even, orange is much harm or an unfair share, blue is little harm.
    fn share(self, entry: &Entry) -> f64 {
        let share = match self {
            Map::Harm => 1.0 - entry.harm.median / 100.0,
            Map::Jain => entry.jain.median - 0.5,
        };
        share.clamp(0.0, 1.0)
    }
}

/// The whole page.
#[must_use]
pub fn html(grids: &[Grid], warnings: &[String], described: &str) -> String {
    let mut body = String::new();
    body.extend(warnings.iter().map(|warning| format!("<p class=\"warning\">{}</p>\n", escaped(warning))));
    for grid in grids {
        body.push_str(&format!(
            "<section>\n<h2>{}</h2>\n<p>{}</p>\n",
            escaped(&grid.link.to_string()),
            escaped(&summary(grid))
        ));
        for (map, name, how) in [(Map::Harm, "Harm in percent", HARM), (Map::Jain, "Jain index", JAIN)] {
            body.push_str(&format!("<h3>{name}</h3>\n<p class=\"soft\">{how}</p>\n{}", heat(grid, map)));
        }
        body.push_str("</section>\n");
    }
    body.push_str(&format!("<p class=\"soft\">Links: {}.</p>\n", escaped(described)));
    still_page("Every algorithm beside every other", STYLE, &body)
}

fn heat(grid: &Grid, map: Map) -> String {
    let names: Vec<&str> = grid.standings.iter().map(|standing| standing.algorithm.as_str()).collect();
    let mut out = String::from("<div class=\"scroll\"><table class=\"pairs\">\n<thead><tr><th></th>");
    out.extend(names.iter().map(|name| format!("<th><span>{}</span></th>", escaped(name))));
    out.push_str("</tr></thead>\n<tbody>\n");
    for does in &names {
        out.push_str(&format!("<tr><th>{}</th>", escaped(does)));
        for suffers in &names {
            let Some(entry) = grid.entry(does, suffers) else {
                out.push_str("<td></td>");
                continue;
            };
            let (paper, ink) = heat_colors(map.share(entry));
            out.push_str(&format!(
                "<td{} style=\"background:{paper};color:{ink}\"><a href=\"{}\" title=\"{}\">{:.0}</a></td>",
                if entry.hangs_on_chance() { " class=\"open\"" } else { "" },
                escaped(&format!("./{}/report.html", entry.cell.replace('%', "%25"))),
                escaped(&told(entry)),
                map.figure(entry),
            ));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table></div>\n");
    out
}

fn told(entry: &Entry) -> String {
    let Entry { does, suffers, harm, jain, own_mbps, other_mbps, queue_ms, runs, .. } = entry;
    let queue = queue_ms.map_or_else(String::new, |queue| format!(", queue {:.1} ms", queue.median));
    format!(
        "{does} {:.1} Mbit/s, {suffers} {:.1}: harm {:.0} % ({:.0} … {:.0}), Jain {:.2}{queue}, {} runs",
        own_mbps.median, other_mbps.median, harm.median, harm.min, harm.max, jain.median, runs
    )
}

/// How the pairs of a grid share, in one sentence.
fn summary(grid: &Grid) -> String {
    let count = |is_it: &dyn Fn(&Entry) -> bool| grid.pairs().filter(|entry| is_it(entry)).count();
    let all = count(&|_| true);
    let fair = count(&|entry| entry.jain.median >= FAIR_JAIN);
    let nearly_all = count(&|entry| entry.share.median >= NEARLY_ALL || entry.share.median <= 100.0 - NEARLY_ALL);
    let chance = match grid.pairs().map(|entry| entry.runs).min() {
        Some(2..) => format!("{} hang on chance", grid.hanging_on_chance().len()),
        _ => "one run says nothing of chance".to_owned(),
    };
    format!(
        "Of {all} pairs {fair} share alike (Jain index of at least {FAIR_JAIN}); in {nearly_all} one has more than nine tenths; \
         {chance}."
    )
}

fn standings(grid: &Grid) -> Vec<[String; 4]> {
    let percent = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| format!("{value:.0}"));
    let row = |of: &Standing| {
        let alone = format!("{:.1}", of.alone_mbps.median);
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
        let table = table::grid(&lines, side, width);
        out.push_str(&format!("{} (medians over the others)\n{table}\n{}\n\n", grid.link, summary(grid)));
    }
    warnings.iter().for_each(|warning| out.push_str(&format!("{warning}\n")));
    out
}

/// A drawing of a page of documentation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drawing {
    /// Name of its file, without an extension.
    pub name: String,
    /// The drawing.
    pub svg: String,
}

/// The same as a page of documentation, and the heat map of each grid for the folder `figures` beside it.
#[must_use]
pub fn markdown(grids: &[Grid], warnings: &[String]) -> (String, Vec<Drawing>) {
    let mut out = String::from("# Every algorithm beside every other\n\n");
    let mut drawings = Vec::new();
    for grid in grids {
        let title = grid.link.to_string();
        let name = format!("matrix-{}", title.to_lowercase().replace([' ', ',', '/'], "-").replace("--", "-"));
        let told = wrapped(&summary(grid));
        out.push_str(&format!("## {title}\n\n{told}\n\n![Harm of each pair, {title}](figures/{name}.svg)\n\n"));
        out.push_str(&format!("| {} |\n|---|---:|---:|---:|\n", HEAD.join(" | ")));
        standings(grid).iter().for_each(|row| out.push_str(&format!("| {} |\n", row.join(" | "))));
        out.push('\n');
        drawings.push(Drawing { name, svg: drawn(grid) });
    }
    warnings.iter().for_each(|warning| out.push_str(&format!("{warning}\n\n")));
    (out, drawings)
}

fn drawn(grid: &Grid) -> String {
    let names: Vec<String> = grid.standings.iter().map(|standing| standing.algorithm.clone()).collect();
    let cell =
        |entry: &Entry| GridCell { share: Map::Harm.share(entry), lines: vec![format!("{:.0}", entry.harm.median)] };
    let row = |does: &String| names.iter().map(|suffers| grid.entry(does, suffers).map(cell)).collect();
    let map = figure::Grid {
        title: format!("Harm of each pair of algorithms, {}", grid.link),
        row_label: "does harm".to_owned(),
        column_label: "to … (% of its goodput alone; 50: an even share)".to_owned(),
        rows: names.clone(),
        columns: names.clone(),
        cells: names.iter().map(row).collect(),
    };
    heat_map(&map, Width::Double)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::{Link, Range};
    use std::collections::BTreeMap;

    fn range(median: f64, apart: f64) -> Range {
        Range { median, min: median - apart / 2.0, max: median + apart / 2.0, n: 3 }
    }

    fn grid() -> Grid {
        let standing = |name: &str| Standing {
            algorithm: name.to_owned(),
            alone_mbps: range(19.0, 0.1),
            does: Some(40.0),
            suffers: None,
        };
        let entry = Entry {
            does: "bbr<>".to_owned(),
            suffers: "reno".to_owned(),
            harm: range(61.4, 22.0),
            jain: range(0.93, 0.01),
            own_mbps: range(11.0, 1.0),
            other_mbps: range(7.3, 1.0),
            share: range(60.0, 11.0),
            queue_ms: None,
            runs: 3,
            cell: "rtt=20ms,buffer=1bdp,one=bbr<>,other=reno".to_owned(),
        };
        let link = Link { rate: "20Mbit/s".to_owned(), rtt: "20ms".to_owned(), buffer: "0.5bdp".to_owned(), flows: 1 };
        let entries = BTreeMap::from([(("bbr<>".to_owned(), "reno".to_owned()), entry)]);
        Grid { link, standings: vec![standing("bbr<>"), standing("reno")], entries }
    }

    #[test]
    fn each_place_leads_to_its_runs_and_chance_is_marked() {
        let page = html(&[grid()], &[], "the emulator");
        assert!(page.contains("href=\"./rtt=20ms,buffer=1bdp,one=bbr&lt;&gt;,other=reno/report.html\""), "{page}");
        assert!(page.contains("<td class=\"open\" style=\"background:#") && page.contains(">61</a>"), "{page}");
        assert!(page.contains(">93</a>"), "its Jain index");
        assert!(!page.contains("bbr<>"), "names are escaped");
        assert!(page.contains("20 Mbit/s, base RTT 20 ms, buffer 0.5 BDP"), "{page}");
    }

    #[test]
    fn the_documentation_has_a_map_of_each_grid() {
        let (page, drawings) = markdown(&[grid()], &[]);
        assert!(page.contains("| reno | 19.0 | 40 | – |"), "{page}");
        assert!(
            page.contains("Of 1 pairs 0 share alike")
                && page.contains("; 1 hang")
                && page.lines().all(|line| line.starts_with("![") || line.len() <= 100),
            "{page}"
        );
        let [map] = drawings.as_slice() else { panic!("{drawings:?}") };
        assert_eq!(map.name, "matrix-20-mbit-s-base-rtt-20-ms-buffer-0.5-bdp");
        assert!(page.contains(&format!("(figures/{}.svg)", map.name)), "{page}");
        assert!(map.svg.contains("\n61\n"), "the figure of its place");
        assert!(terminal(&[grid()], &["3 of 9 cells are not run".to_owned()], None).contains("3 of 9 cells"));
    }

    #[test]
    fn an_even_share_is_white_and_an_unfair_one_is_not() {
        let entry = |harm: f64, jain: f64| Entry {
            harm: range(harm, 0.0),
            jain: range(jain, 0.0),
            ..grid().entries.into_values().next().unwrap()
        };
        assert_eq!((Map::Harm.share(&entry(50.0, 1.0)), Map::Jain.share(&entry(50.0, 1.0))), (0.5, 0.5));
        assert_eq!((Map::Harm.share(&entry(104.0, 0.5)), Map::Jain.share(&entry(104.0, 0.5))), (0.0, 0.0));
    }
}
