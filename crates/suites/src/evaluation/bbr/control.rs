//! A.10, A.11: PROBE_RTT.

use super::finding::Finding::{self, NotSeen};
use super::startup::is_probe_bw;
use super::trace::{Stay, Trace, phase};

/// Between two of them, at least, s.
const INTERVAL_S: f64 = 5.0;
/// Each lasts as long, at least, s.
const DURATION_S: f64 = 0.2;

/// A.10
pub fn comes_and_goes(trace: &Trace) -> Finding {
    let probes = trace.stays_of(phase::PROBE_RTT);
    if probes.is_empty() {
        return NotSeen("no PROBE_RTT that ends".to_owned());
    }
    let starts: Vec<f64> = probes.iter().map(|(probe, _)| trace.times(*probe).0).collect();
    let apart = starts.windows(2).map(|pair| pair[1] - pair[0]).fold(f64::INFINITY, f64::min);
    let lasts: Vec<f64> = probes.iter().map(|(probe, _)| trace.times(*probe)).map(|(from, to)| to - from).collect();
    let shortest = lasts.iter().copied().fold(f64::INFINITY, f64::min);
    // The window, not the gain: Google's code has a gain of 1 there, and another bound.
    let last = |probe: Stay| trace.of(probe).last().map_or(0.0, |sample| sample.cwnd_pkts / sample.bdp_pkts().max(1.0));
    let windows: Vec<f64> = probes.iter().map(|(probe, _)| last(*probe)).collect();
    let windows_right = windows.iter().all(|window| (0.4..=0.6).contains(window));
    let returns = probes.iter().all(|(_, next)| is_probe_bw(trace.phase(*next)));
    // A sample before or after the state changes, each about a round trip off.
    let holds = windows_right && returns && shortest >= DURATION_S && apart >= INTERVAL_S - 0.1;
    let apart = if apart.is_finite() { format!("{apart:.2} s apart at least") } else { "the only one".to_owned() };
    Finding::of(
        holds,
        format!(
            "{} of them, first at {:.2} s, {apart}; each lasts {shortest:.2} s or more; cwnd {:.2} BDP; PROBE_BW follows {}",
            probes.len(),
            starts[0],
            windows.last().unwrap_or(&0.0),
            if returns { "each time" } else { "not each time" }
        ),
    )
}

/// A.11
pub fn is_skipped_after_idle(trace: &Trace) -> Finding {
    let pause = trace.samples.windows(2).find(|pair| pair[1].t_s - pair[0].t_s > INTERVAL_S);
    let Some(pause) = pause else { return NotSeen(format!("no pause of {INTERVAL_S} s")) };
    let again_s = pause[1].t_s;
    let soon = trace.samples.iter().filter(|sample| (again_s..again_s + 1.0).contains(&sample.t_s));
    let probed = soon.clone().find(|sample| sample.phase == phase::PROBE_RTT);
    let told = match probed {
        None => "no PROBE_RTT in the second after it".to_owned(),
        Some(sample) => format!("PROBE_RTT at {:.2} s", sample.t_s),
    };
    Finding::of(probed.is_none(), format!("nothing to send from {:.2} to {again_s:.2} s; {told}", pause[0].t_s))
}
