//! The tables as Markdown.

use crate::options::Options;
use crate::pairs::{Comparison, Spread};
use crate::{BASELINE, Row};

/// Callbacks named per algorithm: the ones in which most of the time is spent.
const CALLBACKS: usize = 3;

/// All tables.
pub fn text(rows: &[Row], options: &Options) -> String {
    let (pairs, seconds) = (options.pairs, options.duration.as_secs_f64());
    let mut out = format!(
        "{pairs} pairs of {seconds} s, both ends on one CPU. Ratios: median (quartiles; 95 % interval of the median).\n\n\
         | algorithm | BPF instructions | machine code B | verifier steps | BPF share of CPU time | ns per callback | \
         throughput / native {BASELINE} | CPU per byte / native {BASELINE} |\n|---|---:|---:|---:|---:|---|---|---|\n"
    );
    for row in rows {
        let programs = &row.programs;
        out += &format!(
            "| {} | {} | {} | {} | {:.1} % | {} | {} |\n",
            row.algorithm.name,
            programs.instructions,
            programs.jited_bytes,
            programs.verified,
            100.0 * programs.share,
            callbacks(row),
            ratios(&row.against_baseline),
        );
    }
    let twins: Vec<_> = rows.iter().filter_map(|row| Some((row, row.against_twin.as_ref()?))).collect();
    if !twins.is_empty() {
        out += "\n| algorithm | throughput / native twin | CPU per byte / native twin |\n|---|---|---|\n";
        for (row, twin) in twins {
            out += &format!("| {} | {} |\n", row.algorithm.name, ratios(twin));
        }
    }
    out
}

fn callbacks(row: &Row) -> String {
    let named = row.programs.callbacks.iter().filter(|callback| callback.runs > 1).take(CALLBACKS);
    named.map(|callback| format!("{} {:.0}", callback.hook, callback.ns_per_run)).collect::<Vec<_>>().join(", ")
}

fn ratios(comparison: &Comparison) -> String {
    format!("{} | {}", spread(&comparison.throughput), spread(&comparison.cpu))
}

fn spread(spread: &Spread) -> String {
    let ((q1, q3), (low, high)) = (spread.quartiles, spread.ci95);
    format!("{:.3} ({q1:.2}–{q3:.2}; {low:.2}–{high:.2})", spread.median)
}
