//! A.1 to A.4, A.20: STARTUP and DRAIN.

use super::finding::Finding::{self, NotSeen};
use super::trace::{Trace, mean, phase};

/// A round in which the rate grows by less does not count as growth.
const GROWTH: f64 = 1.25;
/// What the draft calls close.
const CLOSE: f64 = 0.02;
/// Packets that the window of a phase may exceed its bound by: three bursts, an even number, and what the ACK of the moment lets go.
pub(super) const QUANTISATION_PKTS: f64 = 12.0;

/// A.1
pub fn ends_on_a_plateau(trace: &Trace) -> Finding {
    let Some((startup, next)) = first(trace, phase::STARTUP) else { return NotSeen("no end of STARTUP".to_owned()) };
    let (_, end_s) = trace.times(startup);
    let max_bw = trace.samples[next.from].max_bw_bps;
    let payload = trace.payload_bps(end_s);
    let off = max_bw / payload - 1.0;
    let grown = trace.of(startup).iter().find(|sample| sample.max_bw_bps * GROWTH >= max_bw);
    let since_s = grown.map_or(end_s, |sample| sample.t_s);
    let rtt_s = mean(trace.of(startup).iter().filter(|sample| sample.t_s >= since_s).map(|sample| sample.rtt_us / 1e6));
    let rounds = (end_s - since_s) / rtt_s.max(1e-6);
    let to = trace.phase(next);
    let holds = off.abs() <= CLOSE && (2.0..=6.0).contains(&rounds) && to == phase::DRAIN;
    Finding::of(
        holds,
        format!(
            "STARTUP ends after {end_s:.2} s, {rounds:.1} rounds after the last growth by a quarter, with max_bw {:+.1} % off the link; {to} follows",
            off * 100.0
        ),
    )
}

/// A.2
pub fn ends_on_loss_when_limited(trace: &Trace) -> Finding {
    let stays = trace.stays();
    let Some(&startup) = stays.first() else { return NotSeen("no STARTUP".to_owned()) };
    let limited = mean(trace.of(startup).iter().map(|sample| f64::from(u8::from(sample.app_limited))));
    let (_, end_s) = trace.times(startup);
    let lost = trace.of(startup).last().map_or(0.0, |sample| sample.lost_pkts);
    if limited < 0.5 {
        return NotSeen(format!(
            "only {:.0} % of the samples of STARTUP were limited by the application",
            limited * 100.0
        ));
    }
    let left = stays.len() > 1;
    let told = if left { format!("STARTUP ends after {end_s:.2} s") } else { "STARTUP does not end".to_owned() };
    Finding::of(
        left,
        format!("{told}; {:.0} % of its samples limited by the application, {lost:.0} packets lost", limited * 100.0),
    )
}

/// A.3
pub fn drains_to_the_bdp(trace: &Trace) -> Finding {
    let Some((drain, next)) = first(trace, phase::DRAIN) else { return NotSeen("no DRAIN that ends".to_owned()) };
    let gain = trace.of(drain).last().map_or(0.0, |sample| sample.pacing_gain);
    let after = &trace.samples[next.from];
    let (inflight, bdp) = (after.inflight_pkts, after.bdp_pkts());
    let holds = (gain - 0.5).abs() < 0.005 && inflight <= bdp + QUANTISATION_PKTS && is_probe_bw(trace.phase(next));
    Finding::of(
        holds,
        format!(
            "pacing gain {gain:.3} (0.5 expected); {inflight:.0} packets in flight at its end, BDP {bdp:.0}; {} follows",
            trace.phase(next)
        ),
    )
}

/// A.4
pub fn drain_has_an_end(trace: &Trace) -> Finding {
    let Some((drain, next)) = first(trace, phase::DRAIN) else { return NotSeen("no DRAIN that ends".to_owned()) };
    let rounds = trace.rounds(drain);
    let after = &trace.samples[next.from];
    let (inflight, bdp) = (after.inflight_pkts, after.bdp_pkts());
    if inflight <= bdp + QUANTISATION_PKTS && rounds < 2.5 {
        return NotSeen(format!(
            "it drained by itself in {rounds:.1} rounds ({inflight:.0} packets in flight, BDP {bdp:.0})"
        ));
    }
    let holds = rounds <= 5.0;
    Finding::of(
        holds,
        format!("DRAIN ends after {rounds:.1} rounds with {inflight:.0} packets in flight, BDP {bdp:.0}"),
    )
}

/// A.20
pub fn probe_rtt_returns_to_startup(trace: &Trace) -> Finding {
    let stays = trace.stays();
    let mut probes = stays
        .windows(3)
        .filter(|three| trace.phase(three[1]) == phase::PROBE_RTT && trace.phase(three[0]) == phase::STARTUP);
    let Some(three) = probes.next() else { return NotSeen("no PROBE_RTT in STARTUP".to_owned()) };
    let (from, to) = trace.times(three[1]);
    let next = trace.phase(three[2]);
    Finding::of(next == phase::STARTUP, format!("PROBE_RTT from {from:.2} to {to:.2} s; {next} follows"))
}

fn first(trace: &Trace, phase: &str) -> Option<(super::trace::Stay, super::trace::Stay)> {
    trace.stays_of(phase).into_iter().next()
}

pub(super) fn is_probe_bw(name: &str) -> bool {
    phase::PROBE_BW.contains(&name)
}
