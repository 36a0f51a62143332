//! What a person sees of a bench: progress while it runs, tables and the page at the end.

use super::output;
use crate::error::Result;
use ccactl_host::terminal::{self, fit, fit_line};
use ccactl_host::{errln, outln};
use ccactl_link::network::{FlowCounters, Lateness};
use ccactl_loader::plain_name;
use ccactl_report::{Estimate, html};
use ccactl_scenario::Scenario;
use ccactl_testbed::bench::{BenchResult, Event, RECORDING_FILE, REMEDY, RunResult, UdpResult};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Name of the page in the folder of a bench.
pub const PAGE: &str = "report.html";

/// With `--quiet` nothing is drawn.
pub fn hide_if_unwanted(bar: &ProgressBar) {
    if terminal::is_quiet() {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
}

/// Progress on standard error; a line per run where that is not a terminal.
pub struct Progress {
    bar: ProgressBar,
    title: String,
    runs: u32,
}

impl Progress {
    /// For all runs of a scenario; `heading` stands before its name.
    pub fn new(scenario: &Scenario, heading: Option<&str>) -> Self {
        let bar = ProgressBar::new(Duration::from(scenario.duration).as_secs());
        hide_if_unwanted(&bar);
        let style = "{msg} [{bar:30}] {pos}/{len} s";
        bar.set_style(ProgressStyle::with_template(style).expect("a constant").progress_chars("=> "));
        let title = heading.map_or_else(|| scenario.name.clone(), |heading| format!("{heading} {}", scenario.name));
        Progress { bar, title, runs: scenario.repeat }
    }

    /// Shows one event.
    pub fn show(&mut self, event: Event<'_>) {
        match event {
            Event::Started { run, attempt } => {
                let again = if attempt > 1 { " again" } else { "" };
                self.bar.set_position(0);
                let line = format!("{} run {run}/{}{again}", self.title, self.runs);
                self.bar.set_message(fit_line(&line).into_owned());
                if self.bar.is_hidden() {
                    terminal::note(&line);
                }
            }
            Event::Running { elapsed, .. } => self.bar.set_position(elapsed.as_secs()),
            Event::Ended(result) if !result.valid => {
                let line = format!("run {} is not valid: {}", result.run, result.problems.join("; "));
                if self.bar.is_hidden() { errln!("{line}") } else { self.bar.println(fit(&line)) }
            }
            Event::Ended(_) => {}
        }
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// Makes the page from the valid runs, or from all when none is.
pub fn write_page(scenario: &Scenario, result: &BenchResult, folder: &Path) -> Result<()> {
    let any_valid = result.aggregate.is_some();
    let runs = result.runs.iter().filter(|run| run.valid || !any_valid);
    let files: Vec<PathBuf> = runs.map(|run| folder.join(&run.directory).join(RECORDING_FILE)).collect();
    let recordings = ccactl_report::open_all(&files)?;
    let options = ccactl_report::Options::default();
    let summary = ccactl_report::summarize(&recordings, &options)?;
    let title = format!("{}: {}", scenario.name, scenario.description);
    let carried = format!("Links: {}.", result.backend.described());
    let notes = std::iter::once(carried).chain(result.runs.iter().map(note)).collect();
    let heading = html::Heading { title, notes };
    let charts = ccactl_report::charts(&recordings, &summary, &options)?;
    html::write(&folder.join(PAGE), &recordings, &summary, &charts, &heading)?;
    Ok(())
}

/// What became of one run, and how well an emulated link kept time in it.
fn note(run: &RunResult) -> String {
    let verdict = if run.valid { "valid".to_owned() } else { format!("not valid ({})", run.problems.join("; ")) };
    let kept = run.link.lateness.map(|lateness| kept_note(&lateness, run.link.rate_error())).unwrap_or_default();
    let counted = |count: u64, what: &str| if count > 0 { format!(", {count} {what}") } else { String::new() };
    let rarer = counted(run.link.dropped_early_packets, "dropped before it was full")
        + &counted(run.link.lost_wireless_packets, "lost after all retries")
        + &counted(run.link.marked_packets, "marked");
    let waited = run.link.queue.map_or_else(String::new, |queue| {
        let [mean_ms, p99_ms] = [queue.queueing.mean_us, queue.queueing.p99_us].map(|us| us / 1000.0);
        format!("; delay in its queue mean {mean_ms:.2}, p99 {p99_ms:.2} ms")
    });
    let udp: String = run.udp.iter().map(udp_note).collect();
    let swaps = swaps_note(run).map(|note| format!(" {note}.")).unwrap_or_default();
    format!(
        "Run {}: {verdict}. {kept}{} of {} packets dropped by the full buffer, {} lost at random{rarer}{waited}.{udp}{swaps}",
        run.run, run.link.dropped_full_packets, run.link.packets, run.link.lost_packets,
    )
}

fn kept_note(late: &Lateness, rate_error: Option<f64>) -> String {
    let rate = rate_error.map_or_else(String::new, |e| format!(", rate error {:+.2} %", e * 100.0));
    let [p50_ms, p99_ms, max_ms] = [late.p50_us, late.p99_us, late.max_us].map(|us| us / 1000.0);
    format!("Lateness p50 {p50_ms:.3}, p99 {p99_ms:.3}, max {max_ms:.1} ms{rate}; ")
}

/// Share of packets that the bottleneck marked, by flow, over the valid runs.
fn marked_line(result: &BenchResult) -> String {
    let valid: Vec<&RunResult> = result.runs.iter().filter(|run| run.valid).collect();
    let names = valid.first().map_or(&[][..], |run| &run.flows);
    let shares = names.iter().enumerate().map(|(i, flow)| {
        let links = || valid.iter().filter_map(|run| run.flows[i].link.as_ref());
        let sum = |count: fn(&FlowCounters) -> u64| links().map(count).sum::<u64>();
        let accepted = sum(|link| link.offered_packets - link.dropped_packets());
        let percent = sum(|link| link.marked_packets) as f64 * 100.0 / accepted.max(1) as f64;
        format!("{} {percent:.1} %", flow.name)
    });
    format!("packets marked: {}", shares.collect::<Vec<_>>().join(", "))
}

/// What became of the swaps of one run: how many, how long the slowest took, and which algorithms did not take the flow.
fn swaps_note(run: &RunResult) -> Option<String> {
    let slowest_s = run.swaps.iter().map(|swap| swap.ended_s - swap.started_s).reduce(f64::max)?;
    let mut note = format!("{} swaps, the slowest took {:.1} ms", run.swaps.len(), slowest_s * 1000.0);
    for swap in run.swaps.iter().filter(|swap| swap.counts.refused > 0) {
        let (flow, algorithm, now) = (&swap.flow, &swap.algorithm, &swap.now);
        note.push_str(&format!("; {algorithm} refused {flow}, which has no ECN and keeps {now}"));
    }
    Some(note)
}

fn udp_note(udp: &UdpResult) -> String {
    let UdpResult { name, sent_packets, received_packets, .. } = udp;
    let dropped =
        udp.link.map_or_else(String::new, |link| format!(", {} dropped by the full buffer", link.dropped_full_packets));
    format!(" UDP {name}: {sent_packets} packets sent, {received_packets} received{dropped}.")
}

/// Flows that a terminal shows one by one.
const SHOWN_FLOWS: usize = 30;

/// The table of a bench.
pub fn print(scenario: &Scenario, result: &BenchResult, folder: &Path) -> Result<()> {
    if result.runs.iter().any(|run| !run.valid) {
        terminal::note(REMEDY);
    }
    let Some(sum) = &result.aggregate else {
        outln!("{}: no valid run in {} attempts", result.scenario, result.runs.len());
        outln!("figures of the attempts: {}", folder.join("result.json").display());
        return Ok(());
    };
    let valid = result.runs.iter().filter(|run| run.valid);
    let p99_us = valid.filter_map(|run| Some(run.link.lateness?.p99_us)).reduce(f64::max);
    let kept = p99_us
        .map_or_else(|| result.backend.described().to_owned(), |us| format!("lateness p99 {:.2} ms", us / 1000.0));
    outln!(
        "{}: {} valid run{} of {} ({kept})",
        result.scenario,
        sum.valid_runs,
        if sum.valid_runs == 1 { "" } else { "s" },
        scenario.duration
    );
    let rows: Vec<_> = sum
        .flows
        .iter()
        .take(SHOWN_FLOWS)
        .map(|flow| {
            [
                flow.name.clone(),
                plain_name(&flow.algorithm).to_owned(),
                mbit(flow.goodput_bps),
                millis(flow.rtt_mean_us),
                number(flow.retrans_pkts, 0),
                number(flow.cwnd_mean_pkts, 0),
            ]
        })
        .collect();
    output::table(["flow", "algorithm", "goodput Mbit/s", "mean RTT ms", "retransmitted", "mean cwnd"], &rows)?;
    if let Some(more) = sum.flows.len().checked_sub(SHOWN_FLOWS).filter(|more| *more > 0) {
        outln!("and {more} more flows in {}", folder.join("result.json").display());
    }
    outln!("{}", shared_line(result));
    for flow in sum.flows.iter().take(SHOWN_FLOWS).filter(|flow| flow.complete_transfers.is_some()) {
        let [mean, p50, p99] = [flow.completion_mean_us, flow.completion_p50_us, flow.completion_p99_us].map(millis);
        let transfers = number(flow.complete_transfers, 0);
        outln!("{}: {transfers} transfers, completion time mean {mean} ms, p50 {p50} ms, p99 {p99} ms", flow.name);
    }
    if scenario.link.ecn_threshold.is_some() {
        outln!("{}", marked_line(result));
    }
    for run in result.runs.iter().filter(|run| run.valid) {
        swaps_note(run).iter().for_each(|note| outln!("run {}: {note}", run.run));
        run.udp.iter().for_each(|udp| outln!("run {}:{}", run.run, udp_note(udp)));
    }
    for missed in &result.missed_thresholds {
        let measured = missed.measured.map_or_else(|| "nothing".to_owned(), |value| format!("{value:.4}"));
        outln!("threshold {} missed: expected {}, measured {measured}", missed.name, missed.limit);
    }
    outln!("page: {}", folder.join(PAGE).display());
    Ok(())
}

/// Jain index, gap and utilisation with the printed figures in brackets.
fn shared_line(result: &BenchResult) -> String {
    let Some(sum) = &result.aggregate else { return String::new() };
    let published = result.published.as_ref();
    let printed = |text: Option<String>| text.map_or_else(String::new, |text| format!(" (printed {text})"));
    let mut parts = Vec::new();
    if sum.jain.is_some() {
        let beside = published.and_then(|p| p.jain).map(|jain| format!("{jain:.2}"));
        parts.push(format!("Jain index {}{}", number(sum.jain, 2), printed(beside)));
        let beside = published.and_then(|p| p.gap).map(|gap| format!("{:.1}", gap.bps as f64 / 1e6));
        parts.push(format!("gap {} Mbit/s{}", mbit(sum.gap_bps), printed(beside)));
    }
    if let Some(goodput) = published.and_then(|p| p.goodput) {
        parts.push(format!("printed goodput {:.1} Mbit/s", goodput.bps as f64 / 1e6));
    }
    let percent = sum.utilisation.map(|u| Estimate { mean: u.mean * 100.0, sd: u.sd.map(|sd| sd * 100.0), ..u });
    parts.push(format!("utilisation {} %", number(percent, 1)));
    parts.join(", ")
}

/// A mean with its standard deviation, where there is one.
pub fn number(estimate: Option<Estimate>, decimals: usize) -> String {
    match estimate {
        None => "-".to_owned(),
        Some(Estimate { mean, sd: Some(sd), .. }) => format!("{mean:.decimals$} ± {sd:.decimals$}"),
        Some(Estimate { mean, .. }) => format!("{mean:.decimals$}"),
    }
}

fn scaled(estimate: Option<Estimate>, divisor: f64, decimals: usize) -> String {
    number(estimate.map(|e| Estimate { mean: e.mean / divisor, sd: e.sd.map(|sd| sd / divisor), ..e }), decimals)
}

/// bit/s as Mbit/s.
pub fn mbit(estimate: Option<Estimate>) -> String {
    scaled(estimate, 1e6, 1)
}

/// µs as ms.
pub fn millis(estimate: Option<Estimate>) -> String {
    scaled(estimate, 1e3, 1)
}
