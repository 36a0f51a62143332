//! A comparison as a document and as CSV.

use polars::prelude::*;

use super::UNKNOWN;
use super::document::{Block, Table};
use super::format::significant;
use super::table;
use crate::compare::{Comparison, Difference, display};

const FIGURES: [(&str, &str); 7] =
    [("A", ""), ("B", ""), ("B − A", ""), ("± 95 %", ""), ("B − A", "%"), ("p", "Holm"), ("sig.", "")];

/// Everything in the comparison, for people.
pub fn document(comparison: &Comparison) -> Vec<Block> {
    let side = |name: &str, side: &crate::compare::Side| {
        let runs = if side.paths.len() == 1 { "1 run".to_owned() } else { format!("{} runs", side.paths.len()) };
        format!("{name}: {} ({runs})", side.name)
    };
    let mut facts = vec![side("A", &comparison.a), side("B", &comparison.b), comparison.method.clone()];
    facts.extend(comparison.notes.iter().cloned());
    let mut tables: Vec<(String, Table)> = Vec::new();
    for difference in &comparison.figures {
        let heading = match (&difference.flow, &difference.algorithm) {
            (_, None) => "run".to_owned(),
            (None, Some(algorithm)) => algorithm.clone(),
            (Some(flow), Some(algorithm)) => format!("{flow}: {algorithm}"),
        };
        if tables.last().is_none_or(|(last, _)| *last != heading) {
            tables.push((heading.clone(), Table::new(&[&heading, "unit"], FIGURES)));
        }
        if let Some((_, table)) = tables.last_mut() {
            let (heading, unit, scale) = display(&difference.metric);
            table.row(vec![heading.to_owned(), unit.to_owned()], cells(difference, scale));
        }
    }
    let blocks = vec![Block::Heading("comparison of B with A".to_owned()), Block::Facts(facts)];
    blocks.into_iter().chain(tables.into_iter().map(|(_, table)| Block::Table(table))).collect()
}

fn cells(difference: &Difference, scale: f64) -> Vec<String> {
    let number = |value: Option<f64>, scale: f64| value.map_or(UNKNOWN.to_owned(), |value| significant(value / scale));
    vec![
        table::mean_and_deviation(difference.a, scale),
        table::mean_and_deviation(difference.b, scale),
        number(difference.difference, scale),
        number(difference.ci95, scale),
        number(difference.relative, 0.01),
        number(difference.p_holm, 1.0),
        difference.significant.map_or(UNKNOWN, |significant| if significant { "yes" } else { "no" }).to_owned(),
    ]
}

/// One line per figure, named like the keys of the JSON; an empty field is `null`.
///
/// # Panics
/// Never: the columns have equal lengths and the text goes to memory.
#[must_use]
pub fn csv(comparison: &Comparison) -> String {
    let figures = &comparison.figures;
    let text = |value: fn(&Difference) -> Option<&str>| -> Vec<Option<&str>> { figures.iter().map(value).collect() };
    let float = |value: fn(&Difference) -> Option<f64>| -> Vec<Option<f64>> { figures.iter().map(value).collect() };
    let count = |value: fn(&Difference) -> Option<u64>| -> Vec<Option<u64>> { figures.iter().map(value).collect() };
    let frame = df!(
        "flow" => text(|d| d.flow.as_deref()),
        "algorithm" => text(|d| d.algorithm.as_deref()),
        "metric" => text(|d| Some(&d.metric)),
        "a_n" => count(|d| Some(d.a?.n)),
        "a_mean" => float(|d| Some(d.a?.mean)),
        "a_sd" => float(|d| d.a?.sd),
        "b_n" => count(|d| Some(d.b?.n)),
        "b_mean" => float(|d| Some(d.b?.mean)),
        "b_sd" => float(|d| d.b?.sd),
        "difference" => float(|d| d.difference),
        "ci95" => float(|d| d.ci95),
        "relative" => float(|d| d.relative),
        "p" => float(|d| d.p),
        "p_holm" => float(|d| d.p_holm),
        "significant" => figures.iter().map(|d| d.significant).collect::<Vec<_>>(),
    );
    super::csv::of_frame(frame.expect("columns of equal length"))
}
