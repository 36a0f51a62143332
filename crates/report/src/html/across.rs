//! Charts over several recordings: fairness of pairs as a table that is its own legend, buffer sweeps with their numbers.

use super::escape::text;
use super::sections::{cell_html, head};
use crate::charts::{Across, HeatCell, HeatMap, Sweep, SweepPoint, plain};
use crate::figure::heat_colors;

/// Nothing when there is nothing to compare.
pub fn section(across: &Across) -> String {
    if across.fairness.is_empty() && across.sweeps.is_empty() {
        return String::new();
    }
    let mut out = String::from("<section>\n<h2>Recordings side by side</h2>\n");
    out.extend(across.fairness.iter().map(heat_map));
    out.extend(across.sweeps.iter().enumerate().map(|(index, sweep)| buffer_sweep(index, sweep)));
    out.push_str("</section>\n");
    out
}

fn heading(title: &str, link: &str) -> String {
    let link = if link.is_empty() { String::new() } else { format!(" <span class=\"soft\">{}</span>", text(link)) };
    format!("<h3>{}{link}</h3>\n", text(title))
}

fn heat_map(map: &HeatMap) -> String {
    let mut out = heading("Fairness of pairs", &map.link);
    out.push_str("<p class=\"soft\">Share of the average flow of the row beside one of the column; 50 % is fair. J: Jain index of all flows.</p>\n");
    out.push_str("<div class=\"scroll\"><table class=\"heat\">\n<thead><tr><th></th>");
    out.extend(map.algorithms.iter().map(|name| format!("<th scope=\"col\">{}</th>", text(name))));
    out.push_str("</tr></thead>\n<tbody>\n");
    for (name, cells) in map.algorithms.iter().zip(&map.cells) {
        out.push_str(&format!("<tr><th scope=\"row\">{}</th>", text(name)));
        out.extend(cells.iter().map(|cell| heat_cell(cell.as_ref())));
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table></div>\n");
    out
}

fn heat_cell(cell: Option<&HeatCell>) -> String {
    let Some(cell) = cell else { return "<td>–</td>".to_owned() };
    let (paper, ink) = heat_colors(cell.share);
    let jain = cell.jain.map(|jain| format!("<small>J {jain:.2}</small>")).unwrap_or_default();
    let (percent, runs) = (cell.share * 100.0, cell.runs);
    let title = format!("mean of {runs} recording{}", if runs == 1 { "" } else { "s" });
    format!("<td style=\"background:{paper};color:{ink}\" title=\"{title}\">{percent:.0} %{jain}</td>")
}

fn buffer_sweep(index: usize, sweep: &Sweep) -> String {
    let mut out = heading(&format!("{} over the size of the buffer", sweep.title), &sweep.link);
    out.push_str(&format!("<div data-sweep=\"{index}\"></div>\n<details>\n<summary>Numbers</summary>\n"));
    let unit = if sweep.unit.is_empty() { "" } else { sweep.unit };
    let columns = [("Buffer", "BDP"), (sweep.title, unit), ("± 95 %", unit), ("Recordings", "")];
    out.push_str(&head(&["Algorithm"], &columns));
    out.push_str("<tbody>\n");
    for line in &sweep.lines {
        for SweepPoint { buffer_bdp, mean, ci95, n } in &line.points {
            let ci95 = ci95.map_or("–".to_owned(), plain);
            let cells = [plain(*buffer_bdp), plain(*mean), ci95, n.to_string()];
            out.push_str(&format!("<tr><td class=\"name\">{}</td>", text(&line.name)));
            out.extend(cells.iter().zip(columns).map(|(cell, column)| cell_html(cell, column)));
            out.push_str("</tr>\n");
        }
    }
    out.push_str("</tbody>\n</table></div>\n</details>\n");
    out
}
