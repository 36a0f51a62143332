//! ACA-TCP's estimate of the available bandwidth while background traffic grows in steps (figure 3 of its paper).

use super::compute::{increase, time_mean};
use super::run::{Flow, Run};
use ccactl_scenario::units::{Rate, Span};
use std::fmt::Write as _;

/// The estimate is averaged from so long after a step on.
const SETTLE_S: f64 = 3.0;
/// Payload of a full packet with timestamps, and the frame that carries it.
const PAYLOAD_SHARE: f64 = 1448.0 / 1514.0;
/// Share of the link that counts as saturated, over ten round trips.
const SATURATION: f64 = 0.98;
const SATURATION_SEEN_S: f64 = 0.1;
/// The link is to be saturated by then.
const SATURATED_S: f64 = 5.0;

/// A stretch of constant background.
struct Step {
    from_s: f64,
    to_s: f64,
    udp_bps: f64,
}

/// What a row of the table has.
struct Followed {
    step: Step,
    available_bps: f64,
    estimate_bps: f64,
}

pub fn worst_error(run: &Run) -> Result<f64, String> {
    let errors = followed(run)?.into_iter().map(|f| (f.estimate_bps / f.available_bps - 1.0).abs());
    Ok(errors.fold(0.0, f64::max))
}

/// Estimate beside what was available, step by step.
pub fn steps(run: &Run) -> Result<String, String> {
    let mut out = String::from(
        "ACA-TCP, step by step (Mbit/s of payload; estimate: `trace_bw_bps`, mean over time):\n\n\
         | time | UDP on the wire | available | estimate | ratio |\n|---|---|---|---|---|\n",
    );
    for Followed { step, available_bps, estimate_bps } in followed(run)? {
        let _ = writeln!(
            out,
            "| {:.0} … {:.0} s | {:.0} | {:.1} | {:.1} | {:.3} |",
            step.from_s,
            step.to_s,
            step.udp_bps / 1e6,
            available_bps / 1e6,
            estimate_bps / 1e6,
            estimate_bps / available_bps
        );
    }
    Ok(out)
}

/// Packets marked lost until the link is saturated, and as long again as that took to be seen. What comes later is the sawtooth of the
/// linear phase.
pub fn lost_at_start(run: &Run) -> Result<f64, String> {
    let flow = run.flow()?;
    let saturated_s = saturated_s(run, &flow)?;
    // The counter begins at 0, and so does the recording.
    increase(&flow, "lost_pkts", 0.0, saturated_s + SATURATION_SEEN_S)
}

/// The first time at which the payload of the last moments filled the link.
fn saturated_s(run: &Run, flow: &Flow) -> Result<f64, String> {
    let acked = flow.column("bytes_acked")?;
    let wanted_bytes = run.number("/link/rate_bps")? * PAYLOAD_SHARE / 8.0 * SATURATION_SEEN_S * SATURATION;
    let mut first = 0;
    for last in 0..acked.len() {
        while flow.t_s[last] - flow.t_s[first] > SATURATION_SEEN_S {
            first += 1;
        }
        if acked[last] - acked[first] >= wanted_bytes {
            return Ok(flow.t_s[last]);
        }
    }
    Err("the link was never saturated".to_owned())
}

pub fn saturation(run: &Run) -> Result<f64, String> {
    let first = background(run)?.into_iter().next().ok_or("the scenario has no step")?;
    let bytes = increase(&run.flow()?, "bytes_acked", SATURATED_S, first.to_s)?;
    let capacity_bps = (run.number("/link/rate_bps")? - first.udp_bps) * PAYLOAD_SHARE;
    Ok(bytes * 8.0 / (first.to_s - SATURATED_S) / capacity_bps)
}

fn followed(run: &Run) -> Result<Vec<Followed>, String> {
    let flow = run.flow()?;
    let (estimate, link_bps) = (flow.column("trace_bw_bps")?, run.number("/link/rate_bps")?);
    let of_step = |step: Step| {
        let end = flow.t_s.partition_point(|t_s| *t_s < step.to_s);
        let estimate_bps = time_mean(&flow.t_s[..end], &estimate[..end], step.from_s + SETTLE_S)?;
        Ok(Followed { available_bps: (link_bps - step.udp_bps) * PAYLOAD_SHARE, estimate_bps, step })
    };
    background(run)?.into_iter().map(of_step).collect()
}

/// The sum of all UDP senders, piece by piece, from the resolved scenario.
fn background(run: &Run) -> Result<Vec<Step>, String> {
    let scenario = run.scenario()?;
    let senders = scenario.get("udp").and_then(toml::Value::as_array).ok_or("the scenario has no [[udp]]")?;
    let mut changes: Vec<(f64, f64)> = Vec::new();
    for sender in senders {
        let mut rate_bps = rate(sender, "rate")?;
        changes.push((time(sender, "start")?, rate_bps));
        for step in sender.get("steps").and_then(toml::Value::as_array).into_iter().flatten() {
            let next_bps = rate(step, "rate")?;
            changes.push((time(step, "at")?, next_bps - rate_bps));
            rate_bps = next_bps;
        }
        changes.push((time(sender, "stop")?, -rate_bps));
    }
    Ok(pieces(changes, text(&toml::Value::Table(scenario.clone()), "duration").and_then(|t| span_s(&t))?))
}

/// From changes of the rate to stretches of constant rate between 0 and `end_s`.
fn pieces(mut changes: Vec<(f64, f64)>, end_s: f64) -> Vec<Step> {
    changes.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut steps, mut from_s, mut udp_bps) = (Vec::new(), 0.0, 0.0);
    for (at_s, change_bps) in changes.into_iter().chain([(end_s, 0.0)]) {
        let at_s = at_s.min(end_s);
        if at_s > from_s {
            steps.push(Step { from_s, to_s: at_s, udp_bps });
            from_s = at_s;
        }
        udp_bps += change_bps;
    }
    steps
}

fn text(table: &toml::Value, field: &str) -> Result<String, String> {
    let value = table.get(field).and_then(toml::Value::as_str);
    value.map(str::to_owned).ok_or_else(|| format!("the scenario has no {field}"))
}

fn rate(table: &toml::Value, field: &str) -> Result<f64, String> {
    Ok(text(table, field)?.parse::<Rate>().map_err(|e| format!("{field}: {e}"))?.bps as f64)
}

fn time(table: &toml::Value, field: &str) -> Result<f64, String> {
    span_s(&text(table, field)?)
}

fn span_s(text: &str) -> Result<f64, String> {
    Ok(text.parse::<Span>().map_err(|e| e.to_string())?.secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_of_several_senders_add_up_piece_by_piece() {
        // One from 10 s on with 10, 20 from 20 s on; another with 5 from 20 s to 25 s.
        let changes = vec![(10.0, 10.0), (20.0, 10.0), (40.0, -20.0), (20.0, 5.0), (25.0, -5.0)];
        let pieces: Vec<_> = pieces(changes, 30.0).iter().map(|p| (p.from_s, p.to_s, p.udp_bps)).collect();
        assert_eq!(pieces, [(0.0, 10.0, 0.0), (10.0, 20.0, 10.0), (20.0, 25.0, 25.0), (25.0, 30.0, 20.0)]);
    }
}
