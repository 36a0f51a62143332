//! Facts about a recording, one sentence each: its origin, what it lost, the link, the fairness.

use super::format::{bytes, grouped, index, percent, significant};
use crate::summary::{Convergence, DropSpan, Fairness, LinkSummary, RecordingSummary, Trigger};

/// Times of losses that are told; there may be one per interval.
const MAX_DROP_SPANS: usize = 5;

/// All sentences.
pub(crate) fn facts(recording: &RecordingSummary) -> Vec<String> {
    let mut facts = vec![origin(recording)];
    facts.extend(drops(recording));
    facts.extend(recording.trigger.as_ref().map(trigger));
    facts.extend(recording.link.as_ref().map(link));
    if let Some(of) = &recording.fairness {
        facts.push(fairness(of));
        facts.push(convergence(of));
    }
    facts
}

fn origin(recording: &RecordingSummary) -> String {
    let mut origin = vec![format!("{} s", significant(recording.duration_s))];
    origin.extend(recording.started.iter().map(|started| format!("started {started}")));
    origin.extend(recording.kernel.iter().map(|kernel| format!("kernel {kernel}")));
    origin.extend(recording.every.iter().map(|every| format!("every {every}")));
    origin.push(format!("{} rows", grouped(recording.rows)));
    origin.push(match recording.drops {
        Some(0) => "no drops".to_owned(),
        Some(drops) => format!("{} drops", grouped(drops)),
        None => "drops not known".to_owned(),
    });
    origin.join(" · ")
}

/// Why and when rows were lost; nothing when none were.
fn drops(recording: &RecordingSummary) -> Option<String> {
    let mut parts = Vec::new();
    if let Some(reasons) = recording.drops_by_reason.filter(|_| recording.drops != Some(0)) {
        let counts = [
            (reasons.ring_full_samples, "samples without room in the ring buffer"),
            (reasons.ring_full_events, "events without room in the ring buffer"),
            (reasons.no_storage, "for which the kernel had no socket storage"),
        ];
        parts.extend(counts.iter().filter(|(n, _)| *n > 0).map(|(n, why)| format!("{} {why}", grouped(*n))));
    }
    let spans = &recording.drop_spans;
    if !spans.is_empty() {
        let mut told: Vec<String> = spans.iter().take(MAX_DROP_SPANS).map(span).collect();
        if spans.len() > MAX_DROP_SPANS {
            let rows: u64 = spans[MAX_DROP_SPANS..].iter().map(|span| span.rows).sum();
            let others = spans.len() - MAX_DROP_SPANS;
            told.push(format!("and {} rows in {others} other times", grouped(rows)));
        }
        parts.push(told.join(", "));
    }
    (!parts.is_empty()).then(|| format!("dropped: {}", parts.join(" · ")))
}

/// Of a black box: what it was kept for.
fn trigger(trigger: &Trigger) -> String {
    let flow = trigger.flow.as_ref().map_or_else(String::new, |flow| format!(" on {flow}"));
    let mut fact = format!("kept for '{}' at {:.3} s{flow}", trigger.condition, trigger.at_s);
    let count = |n: u64, one: &str, many: &str| format!(" · {} {}", grouped(n), if n == 1 { one } else { many });
    if trigger.further > 0 {
        fact.push_str(&count(trigger.further, "further trigger of it", "further triggers of it"));
    }
    if trigger.suppressed > 0 {
        fact.push_str(&count(trigger.suppressed, "trigger before it has no file", "triggers before it have no file"));
    }
    fact
}

fn span(span: &DropSpan) -> String {
    format!("{} rows between {:.3} s and {:.3} s", grouped(span.rows), span.from_s, span.to_s)
}

fn link(link: &LinkSummary) -> String {
    let mut parts = vec![format!("link {} Mbit/s", significant(link.rate_bps / 1e6))];
    parts.extend(link.base_rtt_us.map(|us| format!("base RTT {} ms", significant(us / 1e3))));
    parts.extend(link.buffer_bytes.map(|size| {
        let bdp = link.buffer_bdp.map(|bdp| format!(" ({} BDP)", significant(bdp)));
        format!("buffer {}{}", bytes(size), bdp.unwrap_or_default())
    }));
    parts.push(format!("utilisation {} %", percent(link.utilisation)));
    parts.join(" · ")
}

fn fairness(fairness: &Fairness) -> String {
    let mut fact = format!("Jain index {}", index(fairness.jain));
    if fairness.jain_interval_mean.is_some() {
        let mean = index(fairness.jain_interval_mean);
        let width = significant(fairness.interval_s);
        fact.push_str(&format!(" · {mean} on average over {} intervals of {width} s", fairness.intervals));
    }
    fact
}

fn convergence(fairness: &Fairness) -> String {
    match fairness.convergence {
        Some(Convergence::Reached { after_s, lost_at_s, .. }) => {
            let lost = lost_at_s.map(|s| format!(", below again at {s:.1} s")).unwrap_or_default();
            format!("convergence {} s after the last flow started{lost}", significant(after_s))
        }
        Some(Convergence::NotReached { observed_s }) => {
            format!("convergence not reached in {} s with all flows", significant(observed_s))
        }
        None => "convergence not known: all flows together for less than 5 s".to_owned(),
    }
}
