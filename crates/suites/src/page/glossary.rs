//! Words of a report that a reader may meet for the first time, as far as it has them.

use super::{Report, outcome};

const WORDS: [(&str, &str); 7] = [
    ("pass", "the figures show what the paper says; with several runs, their 95 % intervals do"),
    ("FAIL", "the figures show something else than the paper says: a finding, not a fault of the run"),
    ("undecided", "the intervals leave both open; more runs (--repeat) may decide"),
    ("not judged", "cells are missing that this needs"),
    ("Jain index", "fairness: 1 when all flows have the same goodput, 1/n when one of n has all of it"),
    ("Standing queue", "mean delay in the bottleneck's queue, from the emulator, over the whole run"),
    ("BDP", "what fits on the path without a queue: rate × base RTT; buffers are multiples of it"),
];

/// Word and meaning, in a fixed order.
pub(super) fn words(report: &Report) -> Vec<(&'static str, &'static str)> {
    let labels: Vec<String> = report
        .tables
        .iter()
        .filter(|table| table.is_measured())
        .flat_map(|table| table.columns.iter().chain(&table.names).cloned().chain([table.title.clone()]))
        .collect();
    let is_there = |word: &str| {
        report.verdicts.iter().any(|verdict| outcome(verdict) == word)
            || labels.iter().any(|label| label.contains(word))
            || (word == "BDP" && report.description.contains(word))
    };
    WORDS.into_iter().filter(|(word, _)| is_there(word)).collect()
}

#[cfg(test)]
mod tests {
    use super::WORDS;
    use crate::results::Metric;

    #[test]
    fn figures_are_called_as_their_columns_are() {
        for metric in [Metric::Queue, Metric::Jain] {
            let label = metric.label();
            assert!(WORDS.iter().any(|(word, _)| label.starts_with(word)), "{label}");
        }
    }
}
