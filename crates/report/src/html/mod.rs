//! One self-contained page: tables, method and interactive charts, with everything it needs inside.
//!
//! Up to eight flows have a row and a line each. More are shown by groups; their rows and lines are behind folds.

mod across;
pub(crate) mod escape;
mod flows;
mod live;
mod parameters;
mod sections;
mod still;
mod template;

use std::path::Path;

use serde::Serialize;

use crate::charts::{self, Charts};
use crate::{Error, Recording, Summary, output};

pub use escape::text;
pub use live::{LivePage, live_page};
pub use still::still_page;

const TEMPLATE: &str = include_str!("../../assets/page/page.html");
const METHOD: &str = include_str!("../../assets/page/method.html");
const PAGE_CSS: &str = include_str!("../../assets/page/page.css");
/// One script in parts, which share their names; in the order in which they build on each other.
const PAGE_JS: [&str; 7] = [
    include_str!("../../assets/page/look.js"),
    include_str!("../../assets/page/group.js"),
    include_str!("../../assets/page/time.js"),
    include_str!("../../assets/page/other.js"),
    include_str!("../../assets/page/groups.js"),
    include_str!("../../assets/page/flows.js"),
    include_str!("../../assets/page/start.js"),
];
const UPLOT_CSS: &str = include_str!("../../assets/uplot/uPlot.min.css");
const UPLOT_JS: &str = include_str!("../../assets/uplot/uPlot.iife.min.js");

/// What the page says beside the figures.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Heading {
    /// Title of the page; the recordings' names when empty.
    pub title: String,
    /// Lines under the title, such as how well an emulated link kept time.
    pub notes: Vec<String>,
}

/// The page as text.
#[must_use]
pub fn page(recordings: &[Recording], summary: &Summary, charts: &[Charts], heading: &Heading) -> String {
    let windows: Vec<serde_json::Value> =
        charts.iter().zip(&summary.recordings).map(|(c, s)| chart_json(c, s)).collect();
    let across = charts::across(summary);
    let title = if heading.title.is_empty() { default_title(summary) } else { heading.title.clone() };
    let fields = |name: &str| match name {
        "title" => text(&title),
        "uplot_css" => UPLOT_CSS.to_owned(),
        "page_css" => PAGE_CSS.to_owned(),
        "notes" => heading.notes.iter().map(|note| format!("<p class=\"soft\">{}</p>\n", text(note))).collect(),
        "repeats" => sections::repeats(summary),
        "across" => across::section(&across),
        "recordings" => recordings
            .iter()
            .zip(&summary.recordings)
            .zip(charts)
            .enumerate()
            .map(|(i, ((recording, summary), charts))| sections::recording(i, recording.metadata(), summary, charts))
            .collect(),
        "method" => METHOD.to_owned(),
        "footer" => sections::footer(summary),
        "data" => script_json(&windows),
        "across_data" => script_json(&across),
        "uplot_js" => UPLOT_JS.to_owned(),
        "page_js" => wrapped(&PAGE_JS),
        other => unreachable!("the template has no field {other}"),
    };
    template::fill(TEMPLATE, fields)
}

/// Parts of one script, whose names are nobody else's.
fn wrapped(parts: &[&str]) -> String {
    format!("(() => {{\n\"use strict\";\n{}}})();", parts.concat())
}

/// Writes the page to `path`, whole or not at all.
///
/// # Errors
/// When the file cannot be written.
pub fn write(
    path: &Path,
    recordings: &[Recording],
    summary: &Summary,
    charts: &[Charts],
    heading: &Heading,
) -> Result<(), Error> {
    output::write_whole(path, page(recordings, summary, charts, heading).as_bytes())
}

fn default_title(summary: &Summary) -> String {
    let mut algorithms: Vec<&str> = Vec::new();
    for algorithm in summary.recordings.iter().flat_map(|recording| &recording.algorithms) {
        if !algorithms.contains(&algorithm.algorithm.as_str()) {
            algorithms.push(&algorithm.algorithm);
        }
    }
    algorithms.join(" vs ")
}

fn chart_json(charts: &Charts, summary: &crate::RecordingSummary) -> serde_json::Value {
    let mut value = serde_json::to_value(charts).expect("charts have text keys and finite numbers");
    value["window_s"] = serde_json::json!([summary.from_s, summary.to_s.max(summary.from_s + 1e-3)]);
    value["listed"] = flows::listed(summary, charts);
    value["drop_spans"] = serde_json::json!(summary.drop_spans);
    if let Some(trigger) = &summary.trigger {
        value["trigger"] = serde_json::json!(trigger);
    }
    value
}

/// JSON that cannot end the script element that holds it.
fn script_json(value: &impl Serialize) -> String {
    let json = serde_json::to_string(value).expect("charts have text keys and finite numbers");
    json.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_end_in_the_data_does_not_end_the_script() {
        let json = script_json(&["</script><script>alert(1)"]);
        assert!(!json.contains('<'));
        assert_eq!(serde_json::from_str::<Vec<String>>(&json).unwrap(), ["</script><script>alert(1)"]);
    }
}
