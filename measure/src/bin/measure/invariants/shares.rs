//! Numbers that one algorithm alone has.

use super::compute::{SETTLED_S, STEADY_S, cuts, entries, increase, largest, median, renewals, rtt_samples, time_mean};
use super::run::Run;

/// Of a packet of 1500 bytes with TCP timestamps, as every scenario used here has them.
const PAYLOAD_BYTES: f64 = 1448.0;

/// `enum` of the bounds that the BBRv2 family publishes: a loss-based flow is detected.
const DETECTED: u64 = 32;

/// Of the time in CRUISE, that in which a loss-based flow was detected.
pub fn detected(run: &Run) -> Result<f64, String> {
    let flow = run.flow()?;
    let (modes, bounds) = (flow.text("trace_mode")?, flow.column("bounds_bits")?);
    let (mut cruise_s, mut detected_s) = (0.0, 0.0);
    for i in 1..flow.t_s.len() {
        if flow.t_s[i - 1] >= SETTLED_S && modes[i - 1] == "probe-bw-cruise" {
            let span_s = flow.t_s[i] - flow.t_s[i - 1];
            cruise_s += span_s;
            if bounds[i - 1] as u64 & DETECTED != 0 {
                detected_s += span_s;
            }
        }
    }
    if cruise_s > 0.0 { Ok(detected_s / cruise_s) } else { Err("no time in probe-bw-cruise".to_owned()) }
}

/// Share of the delivered packets that carried a mark.
pub fn marked(run: &Run) -> Result<f64, String> {
    let flow = run.flow()?;
    let marked = increase(&flow, "delivered_ce_pkts", SETTLED_S, f64::INFINITY)?;
    if marked == 0.0 {
        return Err("no packet was marked".to_owned());
    }
    Ok(marked / increase(&flow, "delivered_pkts", SETTLED_S, f64::INFINITY)?)
}

/// What a loss left, against what RFC 3649 leaves of that window.
pub fn cuts_over_hstcp(run: &Run) -> Result<Vec<f64>, String> {
    let cuts = cuts(&run.flow()?)?;
    Ok(cuts.iter().map(|cut| cut.left_pkts / (cut.before_pkts * (1.0 - hstcp_b(cut.before_pkts)))).collect())
}

/// b(w) of RFC 3649, section 5, with its default parameters.
fn hstcp_b(window: f64) -> f64 {
    const LOW_WINDOW: f64 = 38.0;
    const HIGH_WINDOW: f64 = 83_000.0;
    const HIGH_DECREASE: f64 = 0.1;
    let place = (window.max(LOW_WINDOW) / LOW_WINDOW).ln() / (HIGH_WINDOW / LOW_WINDOW).ln();
    (HIGH_DECREASE - 0.5) * place + 0.5
}

/// Time from the last renewal of the lowest RTT to the visit of PROBE_RTT that its age causes.
pub fn probe_rtt_wait(run: &Run, window_s: f64) -> Result<f64, String> {
    let flow = run.flow()?;
    let renewals = renewals(&rtt_samples(&flow)?, window_s);
    let waits = entries(&flow, "probe-rtt")?.into_iter().filter_map(|entry_s| {
        // The sample that comes too late renews it, too: not that one.
        let before = renewals.partition_point(|renewal_s| *renewal_s < entry_s - window_s / 2.0);
        Some(entry_s - renewals.get(before.checked_sub(1)?)?)
    });
    median(waits.collect()).map_err(|_| "no probe-rtt was seen".to_owned())
}

/// Largest window once settled, in BDP of the algorithm's own model (its bandwidth and its smallest RTT).
pub fn window_of_model(run: &Run) -> Result<f64, String> {
    let flow = run.flow()?;
    let (cwnd, bw_bps) = (flow.settled("cwnd_pkts")?, flow.settled("trace_bw_bps")?);
    let min_rtt_us = flow.settled("trace_min_rtt_us")?;
    let bdp_pkts = bw_bps.iter().zip(&min_rtt_us).map(|(bps, us)| bps * us / 1e6 / 8.0 / PAYLOAD_BYTES);
    let windows: Vec<f64> =
        cwnd.iter().zip(bdp_pkts).map(|(cwnd, bdp)| cwnd / bdp).filter(|bdp| bdp.is_finite()).collect();
    if windows.is_empty() { Err("no row with a model".to_owned()) } else { Ok(largest(&windows)) }
}

/// Longest time from the end of a probe for bandwidth to the next REFILL, where PROBE_RTT does not come between them.
pub fn probe_spacing(run: &Run) -> Result<f64, String> {
    let flow = run.flow()?;
    let waits = waits_between_probes(&flow.t_s, &flow.text("trace_mode")?);
    if waits.is_empty() { Err("no two probes were seen".to_owned()) } else { Ok(largest(&waits)) }
}

fn waits_between_probes(t_s: &[f64], modes: &[String]) -> Vec<f64> {
    let mut down_s = None;
    let mut waits = Vec::new();
    for i in 1..modes.len() {
        match (modes[i - 1].as_str(), modes[i].as_str()) {
            (before, after) if before == after => {}
            ("probe-bw-up", "probe-bw-down") => down_s = Some(t_s[i]),
            ("probe-bw-down", "probe-bw-cruise") => {}
            (_, "probe-bw-refill") => waits.extend(down_s.take().map(|down_s| t_s[i] - down_s)),
            _ => down_s = None,
        }
    }
    waits
}

/// Share of the time for which Vegas-A's queue is between alpha and beta, give or take a packet. The trace has alpha after the step of
/// one that this queue led to.
pub fn between_thresholds(run: &Run) -> Result<f64, String> {
    /// beta − alpha, which does not change.
    const WIDTH_PKTS: f64 = 2.0;
    /// The packet, and the step.
    const OUTSIDE_PKTS: f64 = 2.0;
    let flow = run.flow()?;
    let (diff, alpha) = (flow.column("diff_pkts")?, flow.column("alpha_pkts")?);
    let band = |alpha: f64| alpha - OUTSIDE_PKTS..=alpha + WIDTH_PKTS + OUTSIDE_PKTS;
    let inside = |(diff, alpha): (&f64, &f64)| band(*alpha).contains(diff);
    let inside: Vec<f64> = diff.iter().zip(&alpha).map(|row| f64::from(u8::from(inside(row)))).collect();
    time_mean(&flow.t_s, &inside, STEADY_S)
}

/// Packets of the window beyond what the link carries in the algorithm's own smallest RTT.
pub fn above_own_bdp(run: &Run) -> Result<f64, String> {
    let (flow, per_s) = (run.flow()?, run.packets_per_s()?);
    let (cwnd, min_rtt_us) = (flow.column("cwnd_pkts")?, flow.column("trace_min_rtt_us")?);
    let above: Vec<f64> = cwnd.iter().zip(&min_rtt_us).map(|(cwnd, us)| cwnd - per_s * us / 1e6).collect();
    time_mean(&flow.t_s, &above, STEADY_S)
}

/// Illinois' alpha in the trace against that of its law at the smoothed RTT (Liu, Başar, Srikant 2008, section 3).
pub fn alpha_over_illinois(run: &Run) -> Result<Vec<f64>, String> {
    let flow = run.flow()?;
    let (rtt, srtt, alpha) = (flow.column("rtt_us")?, flow.column("srtt_us")?, flow.column("alpha_milli")?);
    let (mut least_us, mut most_us) = (f64::INFINITY, 0.0_f64);
    let mut ratios = Vec::new();
    for i in 0..flow.t_s.len() {
        (least_us, most_us) = (least_us.min(rtt[i]), most_us.max(rtt[i]));
        if flow.t_s[i] >= SETTLED_S {
            ratios.push(alpha[i] / 1000.0 / illinois_alpha(srtt[i] - least_us, most_us - least_us));
        }
    }
    Ok(ratios)
}

/// alpha at a queueing delay, of which the largest is `most`.
fn illinois_alpha(delay: f64, most: f64) -> f64 {
    const ALPHA_MIN: f64 = 0.3;
    const ALPHA_MAX: f64 = 10.0;
    const FIRST_SHARE: f64 = 0.01;
    let first = most * FIRST_SHARE;
    if delay <= first {
        return ALPHA_MAX;
    }
    (most - first) * ALPHA_MAX / ((most - first) + (delay - first) * (ALPHA_MAX - ALPHA_MIN) / ALPHA_MIN)
}

/// What a loss left, against what Illinois' beta of that moment leaves.
pub fn cuts_over_beta(run: &Run) -> Result<Vec<f64>, String> {
    let flow = run.flow()?;
    let beta = flow.column("beta_milli")?;
    let left = |row: usize| 1.0 - beta[row] / 1000.0;
    Ok(cuts(&flow)?.iter().map(|cut| cut.left_pkts / cut.before_pkts / left(cut.row - 1)).collect())
}

/// ssthresh with which recovery ended, in bandwidth-delay products of the link.
pub fn ssthresh_over_bdp(run: &Run) -> Result<f64, String> {
    let flow = run.flow()?;
    let (state, ssthresh) = (flow.text("ca_state")?, flow.column("ssthresh_pkts")?);
    let bdp_pkts = run.packets_per_s()? * run.number("/link/base_rtt_us")? / 1e6;
    let ended = |i: &usize| flow.t_s[*i] >= SETTLED_S && state[*i - 1] == "recovery" && state[*i] == "open";
    median((1..flow.t_s.len()).filter(ended).map(|i| ssthresh[i] / bdp_pkts).collect())
}

/// Growth of the window per smoothed RTT in congestion avoidance, against Hybla's rho².
pub fn growth_over_rho2(run: &Run) -> Result<f64, String> {
    let flow = run.flow()?;
    let (modes, state) = (flow.text("trace_mode")?, flow.text("ca_state")?);
    let (cwnd, srtt, rho2) = (flow.column("cwnd_pkts")?, flow.column("srtt_us")?, flow.column("rho2_milli")?);
    let rows: Vec<usize> = (0..flow.t_s.len()).filter(|&i| flow.t_s[i] >= SETTLED_S).collect();
    let seconds = rows.chunk_by(|a, b| flow.t_s[*a].floor() == flow.t_s[*b].floor());
    let growing = seconds.filter(|rows| rows.iter().all(|&i| modes[i] == "avoidance" && state[i] == "open"));
    let ratios = growing.filter_map(|rows| {
        let (first, last) = (*rows.first()?, *rows.last()?);
        let rtts = (flow.t_s[last] - flow.t_s[first]) * 1e6 / srtt[last];
        (rtts > 1.0).then(|| (cwnd[last] - cwnd[first]) / rtts / (rho2[last] / 1000.0))
    });
    median(ratios.collect())
}

/// dwnd of CTCP while twice gamma is queued.
pub fn dwnd_with_a_queue(run: &Run) -> Result<f64, String> {
    const TWICE_GAMMA_PKTS: f64 = 60.0;
    let flow = run.flow()?;
    let (dwnd, diff) = (flow.settled("dwnd_pkts")?, flow.settled("diff_pkts")?);
    let queued = dwnd.iter().zip(&diff).filter(|(_, diff)| **diff >= TWICE_GAMMA_PKTS);
    median(queued.map(|(dwnd, _)| *dwnd).collect()).map_err(|_| "no such queue was seen".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_for_a_probe_begins_with_down_and_is_not_counted_across_probe_rtt() {
        let modes = ["up", "down", "cruise", "refill", "up", "down", "probe-rtt", "cruise", "refill", "up"];
        let name = |mode: &&str| if *mode == "probe-rtt" { (*mode).to_owned() } else { format!("probe-bw-{mode}") };
        let t_s: Vec<f64> = (0..10_u8).map(f64::from).collect();
        assert_eq!(waits_between_probes(&t_s, &modes.iter().map(name).collect::<Vec<_>>()), [2.0]);
    }

    #[test]
    fn alpha_is_10_without_and_3_tenths_with_the_largest_delay() {
        assert!((illinois_alpha(0.0, 100.0) - 10.0).abs() < 1e-9);
        assert!((illinois_alpha(100.0, 100.0) - 0.3).abs() < 1e-9);
        // 99·10 / (99 + 9·97/3) = 990 / 390
        assert!((illinois_alpha(10.0, 100.0) - 990.0 / 390.0).abs() < 1e-9);
    }

    #[test]
    fn b_is_that_of_the_table_in_rfc_3649() {
        // Appendix B: w 38 b 0.50, w 1058 b 0.33, w 10661 b 0.21 (two decimals).
        for (window, b) in [(38.0, 0.50), (1058.0, 0.33), (10_661.0, 0.21)] {
            assert!((hstcp_b(window) - b).abs() < 0.01, "{window}: {}", hstcp_b(window));
        }
    }
}
