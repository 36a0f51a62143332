//! Swaps of a live flow: what each costs in throughput, and what the socket is allowed to send around it.

use crate::jobs::Job;
use crate::plans::{Outcome, Settings, args};
use crate::tables::{number, result};
use serde_json::Value;
use std::fmt::Write as _;
use std::path::Path;

/// One table each, in this order: folder, heading.
const TABLES: &[(&str, &str)] = &[
    ("tour", "The tour"),
    ("from-cubic", "From CUBIC to each, and back"),
    ("twins", "CUBIC to its twin"),
    ("bbr-cubic", "BBR to CUBIC and back"),
];
/// The same algorithm, twice: what a swap costs when nothing but the implementation changes.
const TWINS: &[&str] = &["native:cubic", "cubic"];
const TWIN_SWAPS: usize = 10;

/// One after the other: a swap is looked at by the millisecond.
pub fn groups(settings: &Settings) -> Vec<Vec<Job>> {
    let repeat = |times: &'static str| if settings.quick { "1" } else { times };
    let through = |names: &[String]| format!("[{}]", names.join(", "));
    let quoted = |name: &str| format!("\"{name}\"");
    let others = settings.algorithms().into_iter().map(|algorithm| algorithm.name).filter(|name| *name != "cubic");
    let and_back: Vec<String> = others.flat_map(|name| [quoted(name), quoted("cubic")]).collect();
    let twins: Vec<String> = TWINS.iter().cycle().take(TWIN_SWAPS).map(|name| quoted(name)).collect();
    // Two seconds each: the second before a swap is then free of the swap before.
    let every_2s = |label: &str, names: &[String]| Job {
        label: label.to_owned(),
        scenario: "swap-tour",
        args: args(&[
            ("flow[0].tour.every", "2s"),
            ("flow[0].tour.through", &through(names)),
            ("duration", &format!("{}s", 2 + 2 * names.len())),
            ("repeat", repeat("2")),
        ]),
    };
    let shipped = |label: &str, scenario, times| Job {
        label: label.to_owned(),
        scenario,
        args: args(&[("repeat", repeat(times))]),
    };
    let jobs = [
        shipped("tour", "swap-tour", "5"),
        every_2s("from-cubic", &and_back),
        every_2s("twins", &twins),
        shipped("bbr-cubic", "swap-bbr-cubic", "3"),
    ];
    jobs.map(|job| vec![job]).to_vec()
}

/// The tables of `docs/experiments/swap.md`.
pub fn tables(dir: &Path, _: &Settings) -> Result<Outcome, String> {
    let mut text = String::new();
    for (label, heading) in TABLES {
        let Some(result) = result(dir, label)? else { continue };
        let runs: Vec<&Value> =
            result["runs"].as_array().into_iter().flatten().filter(|run| run["valid"] == true).collect();
        let _ = writeln!(text, "### {heading}\n\n{} valid runs{}.\n", runs.len(), took(&runs));
        text.push_str(&table(&runs));
        text.push('\n');
    }
    Ok(Outcome::table(text))
}

/// How long the swaps of all runs took.
fn took(runs: &[&Value]) -> String {
    let swaps = runs.iter().flat_map(|run| run["swaps"].as_array().into_iter().flatten());
    let mut took_ms: Vec<f64> = swaps.filter_map(took_ms).collect();
    took_ms.sort_by(f64::total_cmp);
    match took_ms.as_slice() {
        [] => String::new(),
        [shortest, .., longest] => {
            let median = took_ms[took_ms.len() / 2];
            format!("; a swap took {shortest:.0} to {longest:.0} ms, half of them {median:.0} ms or less")
        }
        [one] => format!("; the swap took {one:.0} ms"),
    }
}

fn took_ms(swap: &Value) -> Option<f64> {
    Some((number(swap, "/ended_s")? - number(swap, "/started_s")?) * 1e3)
}

/// One line per swap, means over the runs.
fn table(runs: &[&Value]) -> String {
    let mut out = String::from(
        "| swap | before | lowest | after | dip % | retransmissions | RTT before | after | cwnd | ssthresh | pacing | cwnd 1 RTT later | pacing 1 RTT later |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for (name, samples) in lines(runs) {
        let values = |pointer: &str| samples.iter().filter_map(|change| number(change, pointer)).collect::<Vec<f64>>();
        let mean = |pointer: &str, unit: f64, decimals: usize, unknown: &str| {
            let values = values(pointer);
            let sum: f64 = values.iter().sum();
            if values.is_empty() {
                unknown.to_owned()
            } else {
                format!("{:.decimals$}", sum / values.len() as f64 / unit)
            }
        };
        let both = |field: &str, unit: f64, decimals: usize, unknown: &str| {
            let [before, after] =
                ["before", "after"].map(|side| mean(&format!("/{side}/{field}"), unit, decimals, unknown));
            format!("{before} → {after}")
        };
        let _ = writeln!(
            out,
            "| {name} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            mean("/before/goodput_bps", 1e6, 1, "–"),
            mean("/lowest_goodput_bps", 1e6, 1, "–"),
            mean("/after/goodput_bps", 1e6, 1, "–"),
            percent(&values("/dip_ratio")),
            both("retrans_pkts", 1.0, 0, "–"),
            mean("/before/rtt_mean_us", 1e3, 1, "–"),
            mean("/after/rtt_mean_us", 1e3, 1, "–"),
            both("cwnd_pkts", 1.0, 0, "–"),
            both("ssthresh_pkts", 1.0, 0, "∞"),
            both("pacing_rate_bps", 1e6, 0, "∞"),
            mean("/one_rtt_later/cwnd_pkts", 1.0, 0, "–"),
            if values("/one_rtt_later/cwnd_pkts").is_empty() {
                "–".to_owned()
            } else {
                mean("/one_rtt_later/pacing_rate_bps", 1e6, 0, "∞")
            },
        );
    }
    out
}

/// Mean with the smallest and the largest.
fn percent(ratios: &[f64]) -> String {
    if ratios.is_empty() {
        return "–".to_owned();
    }
    let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
    let (min, max) = ratios.iter().fold((f64::MAX, f64::MIN), |(min, max), &ratio| (min.min(ratio), max.max(ratio)));
    format!("{:.0} ({:.0} … {:.0})", mean * 100.0, min * 100.0, max * 100.0)
}

/// The changes of the first flow by what they are, over all runs, in the order of the first run that has them. A swap that happens
/// more than once in a run has one line.
fn lines<'a>(runs: &[&'a Value]) -> Vec<(String, Vec<&'a Value>)> {
    let mut lines: Vec<(String, Vec<&Value>)> = Vec::new();
    for change in runs.iter().flat_map(|run| run["flows"][0]["changes"].as_array().into_iter().flatten()) {
        let text = |key: &str| change[key].as_str().unwrap_or("?");
        let name = format!("{} → {}", text("from"), text("to"));
        match lines.iter_mut().find(|(known, _)| *known == name) {
            Some((_, changes)) => changes.push(change),
            None => lines.push((name, vec![change])),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use ccactl_scenario::Override;
    use ccactl_scenario::Scenario;

    #[test]
    fn every_job_is_a_scenario() {
        for job in groups(&Settings::default()).concat() {
            let changes: Vec<Override> =
                job.args.iter().filter(|arg| *arg != "--set").map(|arg| arg.parse().unwrap()).collect();
            let scenario = Scenario::open(job.scenario, &changes).unwrap();
            assert!(scenario.swaps.len() >= 4, "{}", job.label);
        }
    }

    #[test]
    fn a_line_is_the_mean_of_the_same_swap_in_all_runs() {
        let run = |dip: f64| serde_json::json!({"flows": [{"changes": [{"from": "a", "to": "b", "dip_ratio": dip}]}]});
        let (one, two) = (run(0.1), run(0.3));
        let table = table(&[&one, &two]);
        assert!(table.contains("| a → b | – | – | – | 20 (10 … 30) |"), "{table}");
    }
}
