//! What a person sees of a canary: a line while it is watched, tables at the end.

use super::output;
use crate::error::Result;
use ccactl_host::terminal::{self, fit};
use ccactl_host::{errln, outln};
use ccactl_observe::rollout::canary::{CanaryRequest, Event};
use ccactl_observe::rollout::{Decision, Figures, Metric, Moves, Outcome, State, Verdict};
use indicatif::{ProgressBar, ProgressStyle};

/// Progress on standard error; a line per event other than the evaluations where that is not a terminal.
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// For the watch of this request.
    pub fn new(request: &CanaryRequest) -> Self {
        let bar = ProgressBar::new(request.watch.as_secs());
        let style = ProgressStyle::with_template("{msg} [{bar:20}] {pos}/{len} s").expect("a constant");
        bar.set_style(style.progress_chars("=> "));
        super::bench_view::hide_if_unwanted(&bar);
        Progress { bar }
    }

    /// Shows one event.
    pub fn show(&mut self, event: &Event<'_>) {
        match event {
            Event::Rehearsal { algorithm, length } => {
                self.say(&format!(
                    "{} s with {algorithm} in both groups, to see whether a guard holds",
                    length.as_secs()
                ));
            }
            Event::Started { moves, canary, baseline } => {
                self.say(&format!("canary {canary} beside {baseline}: {}", moves_text(moves)));
            }
            Event::Evaluated { elapsed, verdicts, canary_flows, baseline_flows, drops } => {
                self.bar.set_position(elapsed.as_secs());
                let held: Vec<String> = verdicts.iter().filter_map(held_text).collect();
                let held = if held.is_empty() { String::new() } else { format!(" · {}", held.join(", ")) };
                self.bar.set_message(format!("{canary_flows} + {baseline_flows} flows · {drops} drops{held}"));
            }
            Event::Decided { cause } => self.say(&cause.to_string()),
        }
    }

    /// Takes the line away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn say(&self, line: &str) {
        if self.bar.is_hidden() { terminal::note(line) } else { self.bar.println(fit(line)) }
    }
}

fn held_text(verdict: &Verdict) -> Option<String> {
    (verdict.held > 0).then(|| format!("{} holds ({})", verdict.metric, verdict.held))
}

/// The tables of a decision.
pub fn print(decision: &Decision) -> Result<()> {
    outln!("{}: {}", outcome_text(decision), decision.reason());
    let value = |verdict: &Verdict, value: Option<f64>| shown(verdict.metric, value);
    let guards: Vec<_> = decision
        .guards
        .iter()
        .map(|verdict| {
            [
                verdict.guard.to_string(),
                value(verdict, verdict.canary),
                value(verdict, verdict.baseline),
                value(verdict, verdict.threshold),
                state_text(verdict),
            ]
        })
        .collect();
    output::table(["revert if", "canary", "baseline", "threshold", "verdict"], &guards)?;
    outln!();
    output::table(["", "canary", "baseline"], &figures(&decision.canary, &decision.baseline))?;
    outln!();
    outln!(
        "{}, {} of the sockets, watched {:.1} of {} s from {} (+ {:.1} s to settle), sampled every {} ms",
        decision.cgroup,
        decision.share,
        decision.watched_s,
        decision.watch_s,
        decision.started,
        decision.settle_s,
        decision.recording.interval_us as f64 / 1000.0,
    );
    outln!("start: {}", moves_text(&decision.start));
    if let Some(end) = &decision.end {
        outln!("end: {}", moves_text(end));
    }
    outln!("stored: {}", decision.stored.display());
    if let Some(path) = &decision.recording.path {
        outln!("recording: {} ({} rows)", path.display(), decision.recording.rows);
    }
    Ok(())
}

/// What makes the figures less certain, or the evidence incomplete, on standard error.
pub fn warn(decision: &Decision) {
    let drops = decision.recording.drops_ring_full + decision.recording.drops_no_storage;
    if drops > 0 {
        errln!("{drops} rows were lost: bytes and packets are still right, RTTs and windows lack those samples");
    }
    let ignored = decision.ignored;
    for (rows, reason) in [
        (ignored.other_algorithm_rows, "of another algorithm than the two"),
        (ignored.other_cgroup_rows, "of cgroups with a policy of their own"),
        (ignored.fixed_socket_rows, "of sockets that keep their algorithm whatever the policy says"),
        (ignored.other_side_rows, "of sockets with the other algorithm than their share says"),
    ] {
        if rows > 0 {
            errln!("{rows} rows {reason} were left out");
        }
    }
    for problem in &decision.problems {
        errln!("{problem}");
    }
}

fn outcome_text(decision: &Decision) -> String {
    match decision.outcome {
        Outcome::Promoted => format!("promoted {} to every socket", decision.canary.kernel_name),
        Outcome::Reverted => format!("reverted to {}", decision.baseline.kernel_name),
        Outcome::Superseded => "left alone".to_owned(),
    }
}

fn state_text(verdict: &Verdict) -> String {
    let state = match verdict.state {
        State::Holds => "holds",
        State::Clear => "clear",
        State::Unproven => "unproven",
        State::TooLittleData => "too little data",
    };
    verdict.note.as_ref().map_or_else(|| state.to_owned(), |note| format!("{state}: {note}"))
}

fn figures(canary: &Figures, baseline: &Figures) -> Vec<[String; 3]> {
    let mut rows = vec![["algorithm".to_owned(), canary.kernel_name.clone(), baseline.kernel_name.clone()]];
    let mut count = |name: &str, of: fn(&Figures) -> u64| {
        rows.push([name.to_owned(), of(canary).to_string(), of(baseline).to_string()]);
    };
    count("active flows", |figures| figures.flows);
    count("sent bytes", |figures| figures.sent_bytes);
    count("retransmitted bytes", |figures| figures.retrans_bytes);
    count("acknowledged bytes", |figures| figures.acked_bytes);
    count("RTT samples", |figures| figures.rtt_samples);
    for metric in Metric::ALL {
        let value = |figures: &Figures| shown(metric, figures.metrics.get(metric.name()).copied().flatten());
        rows.push([metric.name().to_owned(), value(canary), value(baseline)]);
    }
    rows
}

fn shown(metric: Metric, value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| metric.dimension().display(value))
}

fn moves_text(Moves { counts, .. }: &Moves) -> String {
    let failed: u64 = counts.failed.values().sum();
    let parts = [
        (counts.moved, "moved"),
        (counts.there, "already there"),
        (counts.application, "application-chosen"),
        (counts.locked, "route-locked"),
        (counts.refused, "refused by the algorithm"),
        (failed, "failed"),
    ];
    let parts = parts.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
    let text = parts.collect::<Vec<_>>().join(", ");
    if text.is_empty() { "no live socket".to_owned() } else { text }
}
