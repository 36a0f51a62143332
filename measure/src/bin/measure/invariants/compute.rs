//! From columns to numbers.

use super::run::{Flow, Run};

/// Slow start, and what it left in the queue, are over after so long.
pub const SETTLED_S: f64 = 5.0;
/// An algorithm that gives a packet per round trip back has drained what slow start left in a deep buffer.
pub const STEADY_S: f64 = 20.0;

/// The middle one; an error when there is none.
pub fn median(mut values: Vec<f64>) -> Result<f64, String> {
    values.retain(|value| !value.is_nan());
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().ok_or_else(|| "nothing to take the median of".to_owned())
}

/// The value that a share of all do not exceed, nearest rank.
pub fn percentile(mut values: Vec<f64>, share: f64) -> Result<f64, String> {
    values.retain(|value| !value.is_nan());
    values.sort_by(f64::total_cmp);
    let rank = (share * values.len() as f64).ceil() as usize;
    values.get(rank.saturating_sub(1)).copied().ok_or_else(|| "nothing to take a percentile of".to_owned())
}

/// The largest one; NaN is passed over.
pub fn largest(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

/// Mean over time of the values from `from_s` on: each holds until the next row.
pub fn time_mean(t_s: &[f64], values: &[f64], from_s: f64) -> Result<f64, String> {
    let (mut sum, mut time) = (0.0, 0.0);
    for (t, value) in t_s.windows(2).zip(values).filter(|(t, value)| t[0] >= from_s && !value.is_nan()) {
        sum += value * (t[1] - t[0]);
        time += t[1] - t[0];
    }
    if time > 0.0 { Ok(sum / time) } else { Err(format!("no value after {from_s} s")) }
}

/// What the registry calls `name`, averaged over time once settled.
pub fn mean_of(flow: &Flow, name: &str) -> Result<f64, String> {
    time_mean(&flow.t_s, &flow.column(name)?, SETTLED_S)
}

/// The same from when the queue is steady.
pub fn steady_mean_of(flow: &Flow, name: &str) -> Result<f64, String> {
    time_mean(&flow.t_s, &flow.column(name)?, STEADY_S)
}

/// A window found by `ssthresh` at the start of an episode of recovery: before, and what is left.
pub struct Cut {
    /// Row in which recovery is seen first.
    pub row: usize,
    pub before_pkts: f64,
    pub left_pkts: f64,
}

/// Every entry into recovery once settled. A row shows the state before its ACK is processed, so the last row outside of
/// recovery has the window that was cut, and the first one inside has the new ssthresh.
pub fn cuts(flow: &Flow) -> Result<Vec<Cut>, String> {
    let (state, cwnd, ssthresh) = (flow.text("ca_state")?, flow.column("cwnd_pkts")?, flow.column("ssthresh_pkts")?);
    Ok(cuts_in(&flow.t_s, &state, &cwnd, &ssthresh))
}

fn cuts_in(t_s: &[f64], state: &[String], cwnd: &[f64], ssthresh: &[f64]) -> Vec<Cut> {
    let calm = |state: &str| state == "open" || state == "disorder";
    (1..t_s.len())
        .filter(|&i| t_s[i] >= SETTLED_S && calm(&state[i - 1]) && state[i] == "recovery")
        .map(|i| Cut { row: i, before_pkts: cwnd[i - 1], left_pkts: ssthresh[i] })
        .collect()
}

/// The share of the window that a loss leaves: median over all cuts.
pub fn median_cut(run: &Run) -> Result<f64, String> {
    let cuts = cuts(&run.flow()?)?;
    median(cuts.iter().map(|cut| cut.left_pkts / cut.before_pkts).collect()).map_err(|_| "no loss was seen".to_owned())
}

/// Packets in the queue, one value per `window_s` once steady: what `pick` (smallest, mean) makes of the RTTs of the window,
/// less the smallest RTT of the flow, times the rate of the link. The only flow on a busy link sees its own queue leave at exactly
/// that rate, whether the window is used up or not.
pub fn queue_pkts(run: &Run, window_s: f64, pick: fn(&[f64]) -> f64) -> Result<Vec<f64>, String> {
    let flow = run.flow()?;
    let samples = rtt_samples(&flow)?;
    let base_us = samples.iter().map(|(_, rtt_us)| *rtt_us).fold(f64::INFINITY, f64::min);
    let per_s = run.packets_per_s()?;
    let steady: Vec<(f64, f64)> = samples.into_iter().filter(|(t_s, _)| *t_s >= STEADY_S).collect();
    let windows = steady.chunk_by(|a, b| (a.0 / window_s).floor() == (b.0 / window_s).floor());
    Ok(windows
        .map(|window| {
            let rtts: Vec<f64> = window.iter().map(|(_, rtt_us)| *rtt_us).collect();
            (pick(&rtts) - base_us) / 1e6 * per_s
        })
        .collect())
}

pub fn least(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Rows that brought a new RTT: those with which the count of delivered packets moved on.
pub fn rtt_samples(flow: &Flow) -> Result<Vec<(f64, f64)>, String> {
    let (rtt_us, delivered) = (flow.column("rtt_us")?, flow.column("delivered_pkts")?);
    Ok((1..flow.t_s.len())
        .filter(|&i| delivered[i] > delivered[i - 1] && !rtt_us[i].is_nan())
        .map(|i| (flow.t_s[i], rtt_us[i]))
        .collect())
}

/// Times of the entries into a phase.
pub fn entries(flow: &Flow, mode: &str) -> Result<Vec<f64>, String> {
    Ok(entries_in(&flow.t_s, &flow.text("trace_mode")?, mode))
}

fn entries_in(t_s: &[f64], modes: &[String], mode: &str) -> Vec<f64> {
    (1..t_s.len()).filter(|&i| modes[i] == mode && modes[i - 1] != mode).map(|i| t_s[i]).collect()
}

/// Times at which a filter of the lowest value took a new one: it is not above the one held, or that one is older than `window_s`.
pub fn renewals(samples: &[(f64, f64)], window_s: f64) -> Vec<f64> {
    let mut held: Option<(f64, f64)> = None;
    let mut times = Vec::new();
    for &(t_s, value) in samples {
        if held.is_none_or(|(since_s, least)| value <= least || t_s > since_s + window_s) {
            held = Some((t_s, value));
            times.push(t_s);
        }
    }
    times
}

/// Share of the acknowledged bytes of both flows that the algorithm under test got, once steady.
pub fn share_beside(run: &Run, other: &str) -> Result<f64, String> {
    let (ours, theirs) = (acked_since(&run.flow()?)?, acked_since(&run.flow_of(other)?)?);
    Ok(ours / (ours + theirs))
}

fn acked_since(flow: &Flow) -> Result<f64, String> {
    let acked = flow.column("bytes_acked")?;
    let first = flow.t_s.partition_point(|t_s| *t_s < STEADY_S);
    match (acked.get(first), acked.last()) {
        (Some(first), Some(last)) => Ok(last - first),
        _ => Err(format!("no row after {STEADY_S} s")),
    }
}

/// Increase of a counter between two times.
pub fn increase(flow: &Flow, name: &str, from_s: f64, to_s: f64) -> Result<f64, String> {
    let counter = flow.column(name)?;
    let at = |time_s: f64| flow.t_s.partition_point(|t_s| *t_s < time_s).min(counter.len().saturating_sub(1));
    match (counter.get(at(from_s)), counter.get(at(to_s))) {
        (Some(from), Some(to)) => Ok(to - from),
        _ => Err(format!("{name}: no row")),
    }
}

/// Packets that the bottleneck threw away, of all that came to it.
pub fn loss_share(run: &Run) -> Result<f64, String> {
    Ok(run.number("/link/dropped_full_packets")? / run.number("/link/packets")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(values: &[&str]) -> Vec<String> {
        values.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_cut_compares_the_window_before_with_ssthresh_after() {
        let state = texts(&["open", "disorder", "recovery", "recovery", "open", "loss", "recovery"]);
        let t_s = [6.0, 6.1, 6.2, 6.3, 6.4, 6.5, 6.6];
        let cuts = cuts_in(
            &t_s,
            &state,
            &[99.0, 100.0, 90.0, 80.0, 80.0, 1.0, 5.0],
            &[60.0, 60.0, 80.0, 80.0, 80.0, 40.0, 4.0],
        );
        assert_eq!(cuts.len(), 1, "recovery out of loss is not a new cut");
        assert_eq!((cuts[0].row, cuts[0].before_pkts, cuts[0].left_pkts), (2, 100.0, 80.0));
    }

    #[test]
    fn a_phase_is_entered_when_it_begins() {
        let modes = texts(&["startup", "probe-rtt", "probe-rtt", "probe-bw", "probe-rtt"]);
        assert_eq!(entries_in(&[0.0, 1.0, 1.1, 1.2, 6.0], &modes, "probe-rtt"), [1.0, 6.0]);
    }

    #[test]
    fn an_equal_or_lower_sample_and_age_renew_a_minimum() {
        let samples = [(0.0, 50.0), (1.0, 40.0), (2.0, 41.0), (3.0, 40.0), (8.0, 60.0), (8.1, 70.0), (9.0, 90.0)];
        assert_eq!(renewals(&samples, 10.0), [0.0, 1.0, 3.0]);
        assert_eq!(renewals(&samples, 5.0), [0.0, 1.0, 3.0, 8.1], "70 is taken when 40 is too old");
    }

    #[test]
    fn a_mean_over_time_counts_a_value_as_long_as_it_holds() {
        // 2 for 1 s, 5 for 3 s, the last row holds for nothing: 17/4.
        assert_eq!(time_mean(&[5.0, 6.0, 9.0], &[2.0, 5.0, 99.0], 5.0), Ok(4.25));
        assert!(time_mean(&[1.0, 2.0], &[1.0, 1.0], 5.0).is_err());
    }

    #[test]
    fn the_median_passes_over_what_is_not_known() {
        assert_eq!(median(vec![3.0, f64::NAN, 1.0, 2.0]), Ok(2.0));
        assert!(median(vec![f64::NAN]).is_err());
    }
}
