//! A.12 to A.19: paths that aggregate, change, police or reorder.

use super::finding::Finding::{self, NotSeen};
use super::startup::is_probe_bw;
use super::trace::{Sample, Trace, mean, phase};

/// Of the link's rate: full.
const FULL: f64 = 0.95;

/// A.12
pub fn aggregation_does_not_stop_startup(trace: &Trace) -> Finding {
    let Some((startup, next)) = trace.stays_of(phase::STARTUP).into_iter().next() else {
        return NotSeen("no end of STARTUP".to_owned());
    };
    let max_bw = trace.samples[next.from].max_bw_bps;
    let share = max_bw / trace.payload_bps(0.0);
    let windows = trace.samples.iter().take(next.to).map(|sample| sample.cwnd_pkts / sample.bdp_pkts().max(1.0));
    let most = windows.skip(startup.to.saturating_sub(1)).fold(0.0, f64::max);
    Finding::of(
        (FULL..=1.05).contains(&share) && most > 2.0,
        format!("max_bw is {:.1} % of the link at the end of STARTUP; cwnd up to {most:.2} BDP", share * 100.0),
    )
}

/// A.13
pub fn aggregation_does_not_stall_cruise(trace: &Trace) -> Finding {
    let cruising: Vec<&Sample> = trace.samples.iter().filter(|sample| sample.phase == phase::CRUISE).collect();
    if cruising.is_empty() {
        return NotSeen("no CRUISE".to_owned());
    }
    let window = mean(cruising.iter().map(|sample| sample.cwnd_pkts / sample.bdp_pkts().max(1.0)));
    let share = trace.goodput_bps(5.0, trace.end_s()) / trace.payload_bps(5.0);
    Finding::of(
        share >= FULL && window > 2.0,
        format!(
            "{:.1} % of the link from 5 s on; cwnd in CRUISE {window:.2} BDP on average, 2 without an allowance",
            share * 100.0
        ),
    )
}

/// A.14
pub fn four_packets_are_the_least(trace: &Trace) -> Finding {
    let probing: Vec<&Sample> = trace.samples.iter().filter(|sample| is_probe_bw(&sample.phase)).collect();
    if probing.is_empty() {
        return NotSeen("no PROBE_BW".to_owned());
    }
    let least = probing.iter().map(|sample| sample.cwnd_pkts).fold(f64::INFINITY, f64::min);
    let bdp = mean(probing.iter().map(|sample| sample.bdp_pkts()));
    let share = trace.goodput_bps(5.0, trace.end_s()) / trace.payload_bps(5.0);
    Finding::of(
        least >= 4.0 && share >= FULL,
        format!("cwnd {least:.0} packets or more, BDP {bdp:.2}; {:.1} % of the link from 5 s on", share * 100.0),
    )
}

/// What the draft calls a reasonable number of rounds, O(log BDP). For ten times the rate, growth by a quarter a round takes
/// log(10) / log(1.25) = 10.3 of them. Three times as many leave room for the wait for a probe.
const ROUNDS_TO_TEN_TIMES: f64 = 3.0 * 10.3;

/// A.15
pub fn ten_times_is_found(trace: &Trace) -> Finding {
    let Some(&(at, _)) = trace.rate_steps.first() else { return NotSeen("no step of the rate".to_owned()) };
    let goal = 0.9 * trace.payload_bps(at);
    let found = trace.samples.iter().find(|sample| sample.t_s > at && sample.max_bw_bps >= goal);
    let probing: Vec<&Sample> = trace
        .samples
        .iter()
        .filter(|sample| sample.t_s > at && found.is_none_or(|found| sample.t_s <= found.t_s))
        .filter(|sample| [phase::UP, phase::REFILL].contains(&sample.phase.as_str()))
        .collect();
    let probing_s: f64 = probing.windows(2).map(|pair| (pair[1].t_s - pair[0].t_s).min(0.2)).sum();
    let rounds = probing_s / mean(probing.iter().map(|sample| sample.rtt_us / 1e6)).max(1e-6);
    match found {
        None => {
            let last = trace.samples.last().map_or(0.0, |sample| sample.max_bw_bps);
            Finding::Fails(format!("max_bw is {:.1} Mbit/s at the end, {:.1} expected", last / 1e6, goal / 1e6))
        }
        Some(found) => Finding::of(
            rounds <= ROUNDS_TO_TEN_TIMES,
            format!(
                "max_bw has nine tenths of it {:.2} s after the step, {rounds:.0} rounds of REFILL and UP among them",
                found.t_s - at
            ),
        ),
    }
}

/// What the draft calls rapidly: within a second, which at the new rate are a few round trips through the queue.
const RAPIDLY_S: f64 = 1.0;

/// A.16
pub fn a_tenth_is_found(trace: &Trace) -> Finding {
    let Some(&(at, _)) = trace.rate_steps.first() else { return NotSeen("no step of the rate".to_owned()) };
    let (old, new) = (trace.payload_bps(0.0), trace.payload_bps(at));
    let after = || trace.samples.iter().filter(|sample| sample.t_s > at);
    let short = after().find(|sample| sample.bw_lo_bps.is_some_and(|lo| lo < 0.5 * old));
    let rapidly = short.is_some_and(|short| short.t_s - at <= RAPIDLY_S);
    let long = after().find(|sample| sample.max_bw_bps <= 1.1 * new);
    // REFILL begins a cycle.
    let cycles = long.map(|long| {
        let refills = trace.stays_of(phase::REFILL);
        refills.iter().map(|(refill, _)| trace.times(*refill).0).filter(|t_s| (at..long.t_s).contains(t_s)).count()
    });
    let told = |sample: Option<&Sample>| {
        sample.map_or_else(|| "never".to_owned(), |sample| format!("{:.2} s after the step", sample.t_s - at))
    };
    Finding::of(
        rapidly && cycles.is_some_and(|cycles| cycles <= 3),
        format!(
            "bw_lo below half of the old rate {}; max_bw at the new one {}, after {} cycles",
            told(short),
            told(long),
            cycles.map_or_else(|| "–".to_owned(), |n| n.to_string())
        ),
    )
}

/// Share of its packets that a flow may go on to lose.
const CONTINUOUS_LOSS: f64 = 0.05;

/// A.17
pub fn a_policer_is_kept_to(trace: &Trace, token_bps: f64) -> Finding {
    let bounded = trace.samples.iter().any(|sample| sample.inflight_lo_pkts.is_some() || sample.bw_lo_bps.is_some());
    let half = trace.end_s() / 2.0;
    let late: Vec<&Sample> = trace.samples.iter().filter(|sample| sample.t_s >= half).collect();
    let (Some(first), Some(last)) = (late.first(), late.last()) else { return NotSeen("nothing".to_owned()) };
    let lost = last.lost_pkts - first.lost_pkts;
    let delivered = (last.bytes_acked - first.bytes_acked) / last.mss_bytes.max(1.0);
    let (loss, goodput) = (lost / (lost + delivered).max(1.0), trace.goodput_bps(half, trace.end_s()));
    Finding::of(
        bounded && loss <= CONTINUOUS_LOSS && goodput >= 0.8 * token_bps,
        format!(
            "in the second half {:.2} Mbit/s of {:.1}, {:.1} % of the packets lost; short-term bounds {}",
            goodput / 1e6,
            token_bps / 1e6,
            loss * 100.0,
            if bounded { "were set" } else { "were not set" }
        ),
    )
}

/// A.18
pub fn spurious_recovery_is_undone(trace: &Trace) -> Finding {
    let begins =
        trace.samples.windows(2).filter(|pair| pair[0].ca_state != "recovery" && pair[1].ca_state == "recovery");
    let recoveries = begins.count();
    if recoveries == 0 {
        return NotSeen("no fast recovery".to_owned());
    }
    let share = trace.goodput_bps(5.0, trace.end_s()) / trace.payload_bps(5.0);
    let cut = trace
        .samples
        .iter()
        .filter(|sample| sample.t_s > 5.0 && sample.inflight_hi_pkts.is_some_and(|hi| hi < sample.bdp_pkts()))
        .count();
    let of = cut as f64 / trace.samples.len().max(1) as f64;
    Finding::of(
        share >= 0.9 && of < 0.01,
        format!(
            "{recoveries} recoveries, none for a lost packet; {:.1} % of the link from 5 s on; inflight_hi below the BDP in {:.1} % of the samples",
            share * 100.0,
            of * 100.0
        ),
    )
}

/// A.19
pub fn spurious_timeout_is_undone(trace: &Trace) -> Finding {
    let timeout = trace.samples.windows(2).find(|pair| pair[1].rto_count > pair[0].rto_count);
    let Some([before, at]) = timeout else { return NotSeen("no timeout".to_owned()) };
    let after = trace.samples.iter().find(|sample| sample.t_s > at.t_s + 1.0);
    let Some(after) = after else { return NotSeen("nothing after the timeout".to_owned()) };
    let hi_kept = match (before.inflight_hi_pkts, after.inflight_hi_pkts) {
        (_, None) => true,
        (None, Some(hi)) => hi >= after.bdp_pkts(),
        (Some(old), Some(new)) => new >= 0.95 * old,
    };
    let share = trace.goodput_bps(at.t_s + 2.0, trace.end_s()) / trace.payload_bps(at.t_s);
    Finding::of(
        hi_kept && is_probe_bw(&after.phase) && share >= 0.9,
        format!(
            "timeout at {:.2} s in {}; a second later {}, inflight_hi {}; {:.1} % of the link from two seconds on",
            at.t_s,
            before.phase,
            after.phase,
            if hi_kept { "is kept" } else { "is cut" },
            share * 100.0
        ),
    )
}
