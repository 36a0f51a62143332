//! A.5 to A.9, A.21, A.22: PROBE_BW.

use super::finding::Finding::{self, NotSeen};
use super::startup::QUANTISATION_PKTS;
use super::trace::{Sample, Stay, Trace, mean, phase};

/// Rounds within which a loss is to end a probe: one until it is seen, one for the ACK that judges it, and half of one.
const SOON_ROUNDS: f64 = 2.5;

/// A.5
pub fn up_ends_on_a_plateau(trace: &Trace) -> Finding {
    // PROBE_RTT interrupts any phase: that says nothing of this one.
    let clean: Vec<(Stay, Stay)> = trace
        .stays_of(phase::UP)
        .into_iter()
        .filter(|(up, next)| lost_in(trace, *up, *next) == 0.0 && trace.phase(*next) != phase::PROBE_RTT)
        .collect();
    if clean.is_empty() {
        return NotSeen("no UP without a loss".to_owned());
    }
    let to_down = clean.iter().filter(|(_, next)| trace.phase(*next) == phase::DOWN).count();
    let rounds: Vec<f64> = clean.iter().map(|(up, _)| trace.rounds(*up)).collect();
    let shortest = rounds.iter().copied().fold(f64::INFINITY, f64::min);
    let holds = to_down == clean.len() && shortest >= 2.0;
    Finding::of(
        holds,
        format!(
            "{} UPs without a loss, {to_down} of them end in DOWN, after {:.1} rounds on average, {shortest:.1} at least",
            clean.len(),
            mean(rounds.into_iter())
        ),
    )
}

/// A.6
pub fn up_ends_on_loss_when_limited(trace: &Trace) -> Finding {
    let limited = |up: Stay| mean(trace.of(up).iter().map(|sample| f64::from(u8::from(sample.app_limited)))) > 0.3;
    let lossy: Vec<(Stay, Stay)> = trace
        .stays_of(phase::UP)
        .into_iter()
        .filter(|(up, next)| limited(*up) && lost_in(trace, *up, *next) > 0.0)
        .collect();
    let Some(&(up, next)) = lossy.first() else {
        return NotSeen("no UP with a loss while the application limited it".to_owned());
    };
    ended_by_loss(trace, up, next, |sample| sample.inflight_hi_pkts.is_some(), "inflight_hi is set")
}

/// A.7
pub fn stays_when_limited(trace: &Trace) -> Finding {
    let stays = trace.stays();
    let Some(&begun) = stays.first() else { return NotSeen("nothing".to_owned()) };
    let others = stays.iter().find(|stay| ![phase::STARTUP, phase::PROBE_RTT].contains(&trace.phase(**stay)));
    let limited = mean(trace.samples.iter().map(|sample| f64::from(u8::from(sample.app_limited))));
    let lost = trace.samples.last().map_or(0.0, |sample| sample.lost_pkts);
    if lost > 0.0 {
        return NotSeen(format!("{lost:.0} packets were lost"));
    }
    let told = match others {
        None => format!("{} from {:.2} to {:.2} s", trace.phase(begun), trace.samples[0].t_s, trace.end_s()),
        Some(other) => format!("{} at {:.2} s", trace.phase(*other), trace.times(*other).0),
    };
    Finding::of(others.is_none(), format!("{told}; {:.0} % of the samples limited by the application", limited * 100.0))
}

/// A.8
pub fn down_ends_when_drained(trace: &Trace) -> Finding {
    let downs = trace.stays_of(phase::DOWN);
    let to_cruise: Vec<&(Stay, Stay)> = downs.iter().filter(|(_, next)| trace.phase(*next) == phase::CRUISE).collect();
    if to_cruise.is_empty() {
        return NotSeen("no DOWN that ends in CRUISE".to_owned());
    }
    let over = |(_, next): &&&(Stay, Stay)| {
        let after = &trace.samples[next.from];
        let headroom = after.inflight_hi_pkts.map_or(f64::INFINITY, |hi| 0.85 * hi);
        after.inflight_pkts > headroom.min(after.bdp_pkts()) + QUANTISATION_PKTS
    };
    let too_early = to_cruise.iter().filter(over).count();
    let gain = mean(to_cruise.iter().filter_map(|(down, _)| trace.of(*down).last()).map(|sample| sample.pacing_gain));
    let holds = too_early == 0 && (gain - 0.9).abs() < 0.005;
    Finding::of(
        holds,
        format!(
            "pacing gain {gain:.3} (0.9 expected); {} of {} DOWNs that end in CRUISE end with more in flight than headroom and BDP leave",
            too_early,
            to_cruise.len()
        ),
    )
}

/// A.9
pub fn down_has_an_end(trace: &Trace) -> Finding {
    let downs = trace.stays_of(phase::DOWN);
    let direct = downs.iter().find(|(_, next)| trace.phase(*next) == phase::REFILL);
    match direct {
        Some((down, _)) => {
            let (from, to) = trace.times(*down);
            Finding::of(
                (1.0..=4.0).contains(&(to - from)),
                format!("DOWN from {from:.2} to {to:.2} s, and REFILL follows"),
            )
        }
        None => NotSeen(format!("none of {} DOWNs lasted until the next probe was due", downs.len())),
    }
}

/// A.21
pub fn up_ends_on_loss(trace: &Trace) -> Finding {
    let bounded = |up: Stay| trace.samples[up.from].inflight_hi_pkts.is_some();
    let lossy: Vec<(Stay, Stay)> = trace
        .stays_of(phase::UP)
        .into_iter()
        .filter(|(up, next)| bounded(*up) && lost_in(trace, *up, *next) > 0.0)
        .collect();
    let Some(&(up, next)) = lossy.first() else {
        return NotSeen("no UP with a loss after inflight_hi was set".to_owned());
    };
    let most = trace.of(up).iter().filter_map(|sample| sample.inflight_hi_pkts).fold(0.0, f64::max);
    ended_by_loss(trace, up, next, |sample| sample.inflight_hi_pkts.is_some_and(|hi| hi < most), "inflight_hi is cut")
}

/// A.22
pub fn refill_keeps_the_maximum(trace: &Trace) -> Finding {
    let limited: Vec<(Stay, Stay)> = trace
        .stays_of(phase::REFILL)
        .into_iter()
        .filter(|(refill, _)| trace.of(*refill).iter().any(|sample| sample.app_limited))
        .collect();
    if limited.is_empty() {
        return NotSeen("no REFILL that the application limited".to_owned());
    }
    let kept = |(refill, next): &&(Stay, Stay)| {
        let (before, after) = (&trace.samples[refill.from], &trace.samples[next.from]);
        trace.phase(*next) == phase::UP && after.max_bw_bps >= 0.98 * before.max_bw_bps
    };
    let good = limited.iter().filter(kept).count();
    Finding::of(
        good == limited.len(),
        format!("{good} of {} limited REFILLs keep max_bw and go on to UP", limited.len()),
    )
}

/// Losses that were noted from the beginning of a stay to a moment after its end.
fn lost_in(trace: &Trace, stay: Stay, next: Stay) -> f64 {
    let (first, last) = (&trace.samples[stay.from], &trace.samples[next.from]);
    last.lost_pkts - first.lost_pkts
}

/// DOWN follows soon after the first loss of an UP, and the state is then what it should be.
fn ended_by_loss(trace: &Trace, up: Stay, next: Stay, is_right: impl Fn(&Sample) -> bool, what: &str) -> Finding {
    let before = trace.samples[up.from].lost_pkts;
    let lossy = trace.of(up).iter().find(|sample| sample.lost_pkts > before);
    let lossy_s = lossy.map_or(trace.times(up).1, |sample| sample.t_s);
    let (_, end_s) = trace.times(up);
    let rtt_s = mean(trace.of(up).iter().map(|sample| sample.rtt_us / 1e6)).max(1e-6);
    let rounds = (end_s - lossy_s) / rtt_s;
    let to = trace.phase(next);
    // The bound is set when the probe's ACKs are judged, which may be within the next round.
    let soon = trace.samples.iter().filter(|sample| (end_s..=end_s + 2.0 * rtt_s).contains(&sample.t_s));
    let right = soon.clone().any(is_right);
    // A DOWN that has nothing to drain is over with the same ACK.
    let holds = [phase::DOWN, phase::CRUISE].contains(&to) && rounds <= SOON_ROUNDS && right;
    let not = if right { "" } else { "not: " };
    Finding::of(
        holds,
        format!("UP ends at {end_s:.2} s, {rounds:.1} rounds after its first loss; {to} follows; {not}{what}"),
    )
}
