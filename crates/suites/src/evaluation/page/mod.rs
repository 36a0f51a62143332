//! Cards on a terminal, as Markdown and as one HTML page.

mod bar;
pub mod cases;
mod html;
mod markdown;
mod terminal;

use super::card::{Card, Row};
use super::measure::Measure;
use ccactl_report::Estimate;

pub use html::text as html;
pub use markdown::text as markdown;
pub use terminal::text as terminal;

const UNKNOWN: &str = "–";

fn title(card: &Card) -> String {
    format!("{}: evaluation by RFC 9743", card.algorithm)
}

/// How much stands behind the figures, and how they are judged.
fn method(card: &Card) -> Vec<String> {
    let runs = card.rows().filter_map(|row| row.subject.as_ref()).map(|estimate| estimate.n).max().unwrap_or(0);
    let judged = if runs > 1 {
        "A row is \"better\" or \"worse\" when the 95 % interval of the difference says so and the difference is beyond the margin. \
         It is \"as good\" when the interval leaves no room for more than a margin worse, else \"not decided\"."
    } else {
        "Of one run each there is no interval: verdicts are those of the figures as they are."
    };
    vec![
        format!("{} per path. Links: {}. CUBIC is the kernel's own, in the algorithm's place.", if runs == 1 { "One run".to_owned() } else { format!("Up to {runs} runs") }, card.place.described()),
        judged.to_owned(),
        "Harm (Ware et al. 2019) is what others lose beside the algorithm of what they have without it: (alone - beside) / alone \
         of a goodput, (beside - alone) / beside of a time."
            .to_owned(),
        super::section::NOT_COVERED.to_owned(),
    ]
}

/// A paragraph of a page of documentation: lines of at most 100 characters.
pub(crate) fn wrapped(text: &str) -> String {
    const WIDTH: usize = 100;
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= WIDTH => *line += &format!(" {word}"),
            _ => lines.push(word.to_owned()),
        }
    }
    lines.join("\n")
}

/// `18.93 ± 0.12`
fn estimate_text(measure: Measure, estimate: Option<&Estimate>) -> String {
    let Some(estimate) = estimate else { return UNKNOWN.to_owned() };
    let half =
        estimate.ci95.map_or_else(String::new, |half| format!(" ± {}", measure.text_beside(half, estimate.mean)));
    format!("{}{half}", measure.text(estimate.mean))
}

/// `standing queue, mean [ms]`
fn measure_text(row: &Row) -> String {
    match row.unit {
        "" => row.measure.heading().to_owned(),
        unit => format!("{} [{unit}]", row.measure.heading()),
    }
}

/// `as good within 2.0 ms`
fn verdict_text(row: &Row) -> String {
    match (row.verdict, row.margin) {
        (super::Verdict::AsGood, Some(margin)) => {
            let beside = row.cubic.as_ref().map_or(margin, |cubic| cubic.mean);
            let text =
                format!("{} within {} {}", row.verdict.word(), row.measure.text_beside(margin, beside), row.unit);
            text.trim_end().to_owned()
        }
        _ => row.verdict.word().to_owned(),
    }
}
