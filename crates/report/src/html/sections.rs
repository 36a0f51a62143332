//! The parts of the page that are there without a script.

use super::escape::text;
use super::parameters;
use crate::charts::{self, Charts, MAX_FLOWS};
use crate::render::{mbit_per_s, millis, percent};
use crate::render::{receivers as table_receivers, swaps as table_swaps, table};
use crate::summary::{Measures, RecordingSummary, Summary};
use ccactl_recording::read::Metadata;

/// Heading and unit of each figure, in the order of [`table::cells`].
const FIGURES: [(&str, &str); 13] = [
    ("Goodput", "Mbit/s"),
    ("while sending", "Mbit/s"),
    ("Throughput", "Mbit/s"),
    ("Retrans.", "packets"),
    ("Retrans.", "% of bytes"),
    ("Lost", "packets"),
    ("cwnd", "packets"),
    ("RTT mean", "ms"),
    ("RTT p50", "ms"),
    ("RTT p95", "ms"),
    ("RTT p99", "ms"),
    ("RTT min", "ms"),
    ("Queueing", "ms"),
];
/// The same for repeats, in the order of [`table::repeat_cells`].
const REPEAT_FIGURES: [(&str, &str); 6] = [
    ("Goodput", "Mbit/s"),
    ("Throughput", "Mbit/s"),
    ("Retrans.", "packets"),
    ("cwnd", "packets"),
    ("RTT mean", "ms"),
    ("RTT p95", "ms"),
];
/// Rows of the table of flows; the JSON has all.
const MAX_ROWS: usize = 200;

/// One recording: facts, warnings, table, a place for its charts, its scenario.
pub fn recording(index: usize, metadata: &Metadata, recording: &RecordingSummary, charts: &Charts) -> String {
    let mut out = format!("<section>\n<h2>{}</h2>\n<ul class=\"facts\">\n", text(&recording.name));
    for fact in table::facts(recording) {
        out.push_str(&format!("<li>{}</li>\n", text(&fact)));
    }
    out.push_str("</ul>\n");
    for warning in &recording.warnings {
        out.push_str(&format!("<p class=\"warning\">{}</p>\n", text(warning)));
    }
    if charts.groups.is_empty() {
        out.push_str(&figures(recording));
        out.push_str(&notes(recording, charts));
        out.push_str(&format!("<div data-charts=\"{index}\"></div>\n"));
    } else {
        out.push_str(&groups(recording, charts));
        out.push_str(&phases(recording));
        out.push_str(&format!("<div data-charts=\"{index}\"></div>\n"));
        out.push_str(&one_by_one(index, recording, charts));
    }
    out.push_str(&swaps(recording));
    out.push_str(&receivers(recording));
    out.push_str(&parameters::section(metadata, recording));
    if let Some(scenario) = &recording.scenario {
        out.push_str(&format!("<details>\n<summary>Scenario</summary>\n<pre>{}</pre>\n</details>\n", text(scenario)));
    }
    out.push_str("</section>\n");
    out
}

/// A row per group: how its flows are distributed.
fn groups(recording: &RecordingSummary, charts: &Charts) -> String {
    const HEAD: [(&str, &str); 8] = [
        ("Flows", ""),
        ("Goodput p10", "Mbit/s"),
        ("Goodput p50", "Mbit/s"),
        ("Goodput p90", "Mbit/s"),
        ("Goodput sum", "Mbit/s"),
        ("RTT p50", "ms"),
        ("RTT p90", "ms"),
        ("Retrans.", "% of bytes"),
    ];
    let mut out = head(&["Group"], &HEAD);
    out.push_str("<tbody>\n");
    for group in &charts.groups {
        let of: Vec<&Measures> = recording
            .flows
            .iter()
            .filter(|flow| charts::group_of(flow, charts) == group.name)
            .map(|f| &f.measures)
            .collect();
        let quantile = |value: fn(&Measures) -> Option<f64>, share: f64| {
            let mut values: Vec<f64> = of.iter().filter_map(|measures| value(measures)).collect();
            values.sort_by(f64::total_cmp);
            values.get((share * values.len().saturating_sub(1) as f64).round() as usize).copied()
        };
        let goodput = |share| mbit_per_s(quantile(|m| m.goodput_bps, share));
        let sum = |bytes: fn(&Measures) -> f64| of.iter().map(|measures| bytes(measures)).sum::<f64>();
        let sent = sum(|m| m.sent_bytes as f64);
        let again = sum(|m| m.retrans_ratio.unwrap_or(0.0) * m.sent_bytes as f64);
        let cells = [
            group.flows.to_string(),
            goodput(0.1),
            goodput(0.5),
            goodput(0.9),
            mbit_per_s(Some(sum(|m| m.goodput_bps.unwrap_or(0.0)))),
            millis(quantile(|m| m.rtt_mean_us, 0.5)),
            millis(quantile(|m| m.rtt_mean_us, 0.9)),
            percent((sent > 0.0).then(|| again / sent)),
        ];
        let key = format!("<i class=\"key\" style=\"background:{}\"></i>", text(&group.color));
        out.push_str(&format!("<tr><td class=\"name\">{key}{}</td>", text(&group.name)));
        out.extend(cells.iter().zip(HEAD).map(|(cell, figure)| cell_html(cell, figure)));
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table></div>\n");
    out.push_str(
        "<p class=\"soft\">Each flow counts once: goodput over its time, and its mean RTT. Sums are over flows.</p>\n",
    );
    out
}

/// The flows and their charts, folded.
fn one_by_one(index: usize, recording: &RecordingSummary, charts: &Charts) -> String {
    let (all, drawn) = (recording.flows.len(), charts.flows.len());
    let mut out =
        format!("<details class=\"flows\" data-flows=\"{index}\">\n<summary>{all} flows, one by one</summary>\n");
    out.push_str(&figures(recording));
    if all > MAX_ROWS {
        out.push_str(&format!("<p class=\"soft\">The table shows {MAX_ROWS} of {all} flows.</p>\n"));
    }
    out.push_str("</details>\n");
    out.push_str(&format!(
        "<details class=\"flows\" data-lines=\"{index}\">\n<summary>Charts of {drawn} flows: the most different ones, and those that moved \
         most data</summary>\n</details>\n"
    ));
    out
}

fn figures(recording: &RecordingSummary) -> String {
    let mut out = head(&["Flow", "Algorithm"], &FIGURES);
    out.push_str("<tbody>\n");
    for flow in recording.flows.iter().take(MAX_ROWS) {
        out.push_str(&row(
            &flow.name,
            &flow.algorithm,
            recording.color_of(flow),
            &table::cells(&flow.measures),
            &FIGURES,
        ));
    }
    out.push_str("</tbody>\n");
    if recording.algorithms_differ_from_flows() {
        let columns = 2 + FIGURES.len();
        let heading = table::PER_ALGORITHM;
        out.push_str(&format!("<tbody>\n<tr><th class=\"name\" colspan=\"{columns}\">{heading}</th></tr>\n"));
        for algorithm in &recording.algorithms {
            let name = table::flow_count(algorithm);
            let cells = table::cells(&algorithm.measures);
            out.push_str(&row(&name, &algorithm.algorithm, Some(&algorithm.color), &cells, &FIGURES));
        }
        out.push_str("</tbody>\n");
    }
    out.push_str("</table></div>\n");
    out
}

/// What each change of algorithm did; nothing when there are none.
fn swaps(recording: &RecordingSummary) -> String {
    let changes: Vec<_> = recording.changes().collect();
    if changes.is_empty() {
        return String::new();
    }
    let mut out = String::from("<h3>Swaps</h3>\n");
    out.push_str(&head(&["Flow", "Algorithm"], &table_swaps::FIGURES));
    out.push_str("<tbody>\n");
    for (flow, change) in changes.iter().take(table::MAX_SWAPS) {
        let name = format!("{} → {}", change.from, change.to);
        let cells = table_swaps::cells(change);
        out.push_str(&row(&flow.name, &name, Some(&change.color), &cells, &table_swaps::FIGURES));
    }
    out.push_str("</tbody>\n</table></div>\n");
    if changes.len() > table::MAX_SWAPS {
        let (shown, all) = (table::MAX_SWAPS, changes.len());
        out.push_str(&format!("<p class=\"soft\">The table shows {shown} of {all} swaps.</p>\n"));
    }
    out
}

/// What sockets with a receiving algorithm offered; nothing when there are none.
fn receivers(recording: &RecordingSummary) -> String {
    let receivers = &recording.receivers;
    if receivers.is_empty() {
        return String::new();
    }
    let figures = &table_receivers::FIGURES;
    let mut out = String::from("<h3>Receivers</h3>\n");
    out.push_str(&head(&["Flow"], figures));
    out.push_str("<tbody>\n");
    for of in receivers.iter().take(MAX_ROWS) {
        out.push_str(&format!("<tr><td class=\"name\">{}</td>", text(&of.name)));
        out.extend(table_receivers::cells(of).iter().zip(figures).map(|(cell, figure)| cell_html(cell, *figure)));
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table></div>\n");
    if receivers.len() > MAX_ROWS {
        out.push_str(&format!("<p class=\"soft\">The table shows {MAX_ROWS} of {} receivers.</p>\n", receivers.len()));
    }
    out
}

fn phases(recording: &RecordingSummary) -> String {
    let mut out = String::new();
    for algorithm in recording.algorithms.iter().filter(|a| !a.measures.phases.is_empty()) {
        let phases = table::phases(&algorithm.measures);
        out.push_str(&format!(
            "<p class=\"phase-list\">Phases of {}: {}</p>\n",
            text(&algorithm.algorithm),
            text(&phases)
        ));
    }
    out
}

fn notes(recording: &RecordingSummary, charts: &Charts) -> String {
    let mut out = phases(recording);
    for flow in recording.flows.iter().take(MAX_ROWS).filter(|flow| !flow.measures.inner_state.is_empty()) {
        let line = format!("Inner state of {}: {}", flow.name, table::inner_state(&flow.measures));
        out.push_str(&format!("<p class=\"phase-list\">{}</p>\n", text(&line)));
    }
    let flows = recording.flows.len();
    if flows > MAX_ROWS {
        out.push_str(&format!("<p class=\"soft\">The table shows {MAX_ROWS} of {flows} flows.</p>\n"));
    }
    if flows > charts.flows.len() {
        out.push_str(&format!("<p class=\"soft\">The charts show the {MAX_FLOWS} flows that moved most data.</p>\n"));
    }
    out
}

pub(super) fn head(names: &[&str], figures: &[(&str, &str)]) -> String {
    let mut out = String::from("<div class=\"scroll\"><table class=\"figures\">\n<thead><tr>");
    out.extend(names.iter().map(|name| format!("<th class=\"name\">{name}</th>")));
    out.extend(figures.iter().map(|(name, unit)| format!("<th>{name}<small>{unit}</small></th>")));
    out.push_str("</tr></thead>\n");
    out
}

fn row(name: &str, algorithm: &str, color: Option<&str>, cells: &[String], figures: &[(&str, &str)]) -> String {
    let key =
        color.map(|color| format!("<i class=\"key\" style=\"background:{}\"></i>", text(color))).unwrap_or_default();
    let mut out = format!("<tr><td class=\"name\">{}</td><td class=\"name\">{key}{}</td>", text(name), text(algorithm));
    out.extend(cells.iter().zip(figures).map(|(cell, figure)| cell_html(cell, *figure)));
    out.push_str("</tr>\n");
    out
}

pub(super) fn cell_html(cell: &str, (name, unit): (&str, &str)) -> String {
    let label = if unit.is_empty() { name.to_owned() } else { format!("{name} [{unit}]") };
    format!("<td data-label=\"{label}\">{}</td>", text(cell))
}

/// Mean and interval of scenarios that were recorded more than once.
pub fn repeats(summary: &Summary) -> String {
    let mut out = String::new();
    for repeats in &summary.repeats {
        out.push_str(&format!(
            "<section>\n<h2>{} repeats: mean ± 95 % interval (standard deviation)</h2>\n",
            repeats.paths.len()
        ));
        out.push_str(&head(&["Algorithm"], &REPEAT_FIGURES));
        out.push_str("<tbody>\n");
        for algorithm in &repeats.algorithms {
            out.push_str(&format!("<tr><td class=\"name\">{}</td>", text(&algorithm.algorithm)));
            out.extend(
                table::repeat_cells(algorithm).iter().zip(REPEAT_FIGURES).map(|(cell, figure)| cell_html(cell, figure)),
            );
            out.push_str("</tr>\n");
        }
        out.push_str("</tbody>\n</table></div>\n");
        let estimates = [("Jain index", repeats.jain, 1.0), ("Utilisation in %", repeats.utilisation, 0.01)];
        for (name, value, unit) in estimates.iter().filter(|(_, value, _)| value.is_some()) {
            out.push_str(&format!("<p>{name}: {}</p>\n", table::estimate(*value, *unit)));
        }
        out.push_str("</section>\n");
    }
    out
}

/// Who made the page.
pub fn footer(summary: &Summary) -> String {
    let recorded_by = summary.recordings.iter().find_map(|r| r.ccactl_version.as_ref());
    let recorded = recorded_by.map(|version| format!(" from a recording by ccactl {}", text(version)));
    format!(
        "Made by ccactl {}{}. Charts: uPlot (MIT). This file needs no network.",
        env!("CARGO_PKG_VERSION"),
        recorded.unwrap_or_default()
    )
}
