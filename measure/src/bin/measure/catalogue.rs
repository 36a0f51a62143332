//! Every algorithm alone on P0's link, and those that P0 prints beside its figures.

use crate::jobs::Job;
use crate::plans::{Outcome, P0_BUFFERS, Settings, grouped, only_flow};
use crate::tables::{estimate, printed, published, result, text, worst_lateness_us};
use serde_json::Value;
use std::fmt::Write as _;
use std::path::Path;

const P0: &str = include_str!("../../../../docs/experiments/published/p0_single_flow.csv");
/// Ours, and the name under which P0 prints it. Whether its NewVegas was that of Sing & Soh or Linux' `nv` it does not say.
const PRINTED_AS: &[(&str, &str)] = &[
    ("reno", "Reno"),
    ("cubic", "CUBIC"),
    ("vegas", "Vegas"),
    ("new-vegas", "NewVegas"),
    ("nv", "NewVegas"),
    ("bbr", "BBR"),
    ("veno", "Veno"),
];
/// A 100 Mbit/s link in real time keeps a core busy by half.
const SIDE_BY_SIDE: usize = 2;
/// Differences beyond this share are to be explained.
const TOLERANCE: f64 = 0.1;

/// A figure of the tables: name, place in the aggregate, scale, decimals, column of the published file.
struct Figure {
    name: &'static str,
    pointer: &'static str,
    scale: f64,
    decimals: usize,
    column: usize,
}

const FIGURES: [Figure; 4] = [
    Figure { name: "goodput", pointer: "flows/0/goodput_bps", scale: 1e-6, decimals: 2, column: 2 },
    Figure { name: "retransmissions", pointer: "flows/0/retrans_pkts", scale: 1.0, decimals: 0, column: 3 },
    Figure { name: "mean cwnd", pointer: "flows/0/cwnd_mean_pkts", scale: 1.0, decimals: 0, column: 4 },
    Figure { name: "mean RTT", pointer: "flows/0/rtt_mean_us", scale: 1e-3, decimals: 2, column: 5 },
];

/// Retransmissions included; P0 does not print it.
const THROUGHPUT: Figure =
    Figure { name: "throughput", pointer: "flows/0/throughput_bps", scale: 1e-6, decimals: 2, column: usize::MAX };

/// 60 s each, two different algorithms side by side.
pub fn groups(settings: &Settings) -> Vec<Vec<Job>> {
    let duration = if settings.quick { "5s" } else { "60s" };
    let jobs = P0_BUFFERS.iter().flat_map(|buffer| {
        settings.algorithms().into_iter().map(move |algorithm| Job {
            label: label(algorithm.name, buffer),
            scenario: "single",
            args: only_flow(algorithm, &[("link.buffer", &format!("{{ bdp = {buffer} }}")), ("duration", duration)]),
        })
    });
    grouped(jobs.collect(), SIDE_BY_SIDE)
}

fn label(algorithm: &str, buffer: &str) -> String {
    format!("{algorithm}-{buffer}bdp")
}

/// One table of everything measured and one beside the print, for each buffer.
pub fn tables(dir: &Path, settings: &Settings) -> Result<Outcome, String> {
    let mut out = String::new();
    for buffer in P0_BUFFERS {
        let _ = writeln!(out, "### Buffer of {buffer} BDP\n\n{}", measured(dir, settings, buffer)?);
        let _ = writeln!(out, "### Buffer of {buffer} BDP beside print\n\n{}", beside_print(dir, settings, buffer)?);
    }
    Ok(Outcome::table(out))
}

fn measured(dir: &Path, settings: &Settings, buffer: &str) -> Result<String, String> {
    let mut out = String::from(
        "| algorithm | goodput | throughput | retransmissions | mean cwnd | mean RTT | lateness p99 |\n|---|---|---|---|---|---|---|\n",
    );
    for algorithm in settings.algorithms() {
        let result = result(dir, &label(algorithm.name, buffer))?.unwrap_or_default();
        let [goodput, retrans, cwnd, rtt] = FIGURES.each_ref().map(|figure| cell(&result, figure));
        let throughput = cell(&result, &THROUGHPUT);
        let lateness = worst_lateness_us(&result).map_or("—".to_owned(), |us| format!("{us:.0}"));
        let name = algorithm.name;
        let _ = writeln!(out, "| {name} | {goodput} | {throughput} | {retrans} | {cwnd} | {rtt} | {lateness} |");
    }
    Ok(out)
}

fn cell(result: &Value, figure: &Figure) -> String {
    if result.is_null() {
        return "not run".to_owned();
    }
    text(estimate(result, figure.pointer, figure.scale), figure.decimals)
}

/// Measured, printed and their ratio; a ratio beyond the tolerance is bold.
fn beside_print(dir: &Path, settings: &Settings, buffer: &str) -> Result<String, String> {
    let mut out = String::from("| algorithm | printed as |");
    for figure in &FIGURES {
        let _ = write!(out, " {} | printed | ratio |", figure.name);
    }
    let _ = writeln!(out, " beyond 10 % |\n|---|---|{}---|", "---|---|---|".repeat(FIGURES.len()));
    for (algorithm, name) in PRINTED_AS.iter().filter(|(algorithm, _)| settings.chooses(algorithm)) {
        let result = result(dir, &label(algorithm, buffer))?.unwrap_or_default();
        let _ = write!(out, "| {algorithm} | {name} |");
        let mut beyond = Vec::new();
        for figure in &FIGURES {
            let from_print = published(P0, buffer, name, figure.column);
            let ratio = ratio(estimate(&result, figure.pointer, figure.scale).map(|(mean, _)| mean), from_print);
            let far = is_far(ratio);
            if far {
                beyond.push(figure.name);
            }
            let mark = if far { "**" } else { "" };
            let ratio = ratio.map_or("—".to_owned(), |ratio| format!("{mark}{ratio:.3}{mark}"));
            let _ = write!(out, " {} | {} | {ratio} |", cell(&result, figure), printed(from_print));
        }
        let _ = writeln!(out, " {} |", if beyond.is_empty() { "—".to_owned() } else { beyond.join(", ") });
    }
    Ok(out)
}

/// Measured over printed; nothing where one of them is not there, infinite where only the print is 0.
fn ratio(measured: Option<f64>, printed: Option<f64>) -> Option<f64> {
    match (measured?, printed?) {
        (0.0, 0.0) => Some(1.0),
        (measured, printed) => Some(measured / printed),
    }
}

fn is_far(ratio: Option<f64>) -> bool {
    ratio.is_some_and(|ratio| (ratio - 1.0).abs() > TOLERANCE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_of_more_than_a_tenth_is_far() {
        assert!(!is_far(ratio(Some(92.8), Some(92.9))));
        assert!(is_far(ratio(Some(88.0), Some(78.0))));
        assert!(is_far(ratio(Some(12.0), Some(0.0))), "the print has none");
        assert!(!is_far(ratio(Some(0.0), Some(0.0))));
        assert!(!is_far(ratio(None, Some(1.0))));
    }

    #[test]
    fn everything_said_to_be_printed_is_in_the_file() {
        for (_, name) in PRINTED_AS {
            for buffer in P0_BUFFERS {
                for figure in &FIGURES {
                    assert!(published(P0, buffer, name, figure.column).is_some(), "{name} {buffer} {}", figure.name);
                }
            }
        }
    }
}
