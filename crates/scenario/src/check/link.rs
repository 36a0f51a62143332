//! Links: the bottleneck, further hops, and who uses them.

use super::{Check, check_ascending, check_name, ensure};
use crate::queue::check_queue;
use crate::units::{Buffer, Rate, Span};
use crate::{Distribution, JitterSpec, LINK, LinkSpec, LossSpec, Scenario};

/// More than a geostationary satellite hop by far.
const MAX_RTT: Span = Span::from_secs(10);
/// Each link of the emulator has a thread's attention and preallocated memory.
const MAX_HOPS: usize = 64;
const MIN_RATE: Rate = Rate { bps: 1000 };
const MAX_BUFFER_BYTES: u64 = 1 << 30;
/// Packets of a cache have memory that is locked: 100 MB for this one, as a small packet has the room of a full one.
const MAX_SNOOP_BYTES: u64 = 16 << 20;

pub(super) fn check_link(path: &str, link: &LinkSpec) -> Check {
    let at = |field: &str| format!("{path}.{field}");
    check_rates(path, link)?;
    check_delays(path, link)?;
    check_losses(path, link)?;
    check_snoop(at("snoop"), link)?;
    check_queue(&at("queue"), &link.queue)?;
    check_buffer(at("buffer"), link, link.buffer, link.buffer_bytes())?;
    if let Some(buffer) = link.down_buffer {
        ensure(link.duplex, at("down_buffer"), || "expected duplex = true beside it".to_owned())?;
        check_buffer(at("down_buffer"), link, buffer, link.down_buffer_bytes())?;
    }
    let Some(threshold_bytes) = link.ecn_threshold_bytes() else { return Ok(()) };
    ensure(threshold_bytes < link.buffer_bytes(), at("ecn_threshold"), || {
        format!(
            "expected less than the buffer of {} bytes, or nothing is ever marked, found {threshold_bytes} bytes",
            link.buffer_bytes()
        )
    })
}

fn check_buffer(field: String, link: &LinkSpec, buffer: Buffer, bytes: u64) -> Check {
    if let Buffer::Bdp(multiple) = buffer {
        ensure(multiple > 0.0, field.clone(), || format!("expected more than 0 BDP, found {multiple}"))?;
    }
    let frame = link.frame_bytes();
    ensure(bytes >= frame, field.clone(), || {
        format!("expected room for at least one packet of {frame} bytes, found {bytes} bytes")
    })?;
    ensure(bytes <= MAX_BUFFER_BYTES, field, || format!("expected at most 1 GiB, found {bytes} bytes"))
}

/// An agent repairs losses of the wire, and nothing else.
fn check_snoop(field: String, link: &LinkSpec) -> Check {
    let Some(bytes) = link.snoop_bytes() else { return Ok(()) };
    ensure(link.is_lossy(), field.clone(), || {
        "expected loss or wireless beside it: a Snoop agent has nothing to repair on a wire that loses nothing"
            .to_owned()
    })?;
    let frame = link.frame_bytes();
    ensure((frame..=MAX_SNOOP_BYTES).contains(&bytes), field, || {
        format!("expected room for a packet of {frame} bytes at least and 16 MiB at most, found {bytes} bytes")
    })
}

fn check_rates(path: &str, link: &LinkSpec) -> Check {
    ensure(link.rate >= MIN_RATE, format!("{path}.rate"), || {
        format!("expected at least 1kbit/s, found {}", link.rate)
    })?;
    let steps = format!("{path}.rate_steps");
    ensure(link.rate_steps.is_empty() || link.rate_trace.is_none(), steps.clone(), || {
        "expected no steps beside rate_trace: the trace says when packets leave".to_owned()
    })?;
    check_ascending(&steps, link.rate_steps.iter().map(|step| step.at), ("the beginning of the run", Span::default()))?;
    for (i, step) in link.rate_steps.iter().enumerate() {
        let last = i + 1 == link.rate_steps.len();
        ensure(step.rate >= MIN_RATE || (step.rate.bps == 0 && !last), format!("{steps}[{i}].rate"), || {
            format!("expected at least 1kbit/s, or an outage of 0bit/s before another step, found {}", step.rate)
        })?;
    }
    Ok(())
}

fn check_delays(path: &str, link: &LinkSpec) -> Check {
    // A hop has its delay per direction, the bottleneck its round trip.
    let (field, steps, part) =
        if path == LINK { ("base_rtt", "base_rtt_steps", 1) } else { ("delay", "delay_steps", 2) };
    let written = |rtt: Span| Span { ns: rtt.ns / part };
    let within = |rtt: Span, field: String| {
        ensure(rtt <= MAX_RTT, field, || format!("expected at most {}, found {}", written(MAX_RTT), written(rtt)))
    };
    within(link.base_rtt, format!("{path}.{field}"))?;
    let times = link.base_rtt_steps.iter().map(|step| step.at);
    check_ascending(&format!("{path}.{steps}"), times, ("the beginning of the run", Span::default()))?;
    for (i, step) in link.base_rtt_steps.iter().enumerate() {
        within(step.base_rtt, format!("{path}.{steps}[{i}].{field}"))?;
    }
    ensure(link.bdp_rtt.is_none_or(|rtt| rtt <= MAX_RTT), format!("{path}.bdp_rtt"), || {
        format!("expected at most {MAX_RTT}, found {}", link.bdp_rtt.unwrap_or_default())
    })?;
    check_ack_batch(format!("{path}.ack_batch"), format!("{path}.ack_filter"), link)?;
    check_jitter(&format!("{path}.jitter"), link.jitter)
}

/// A transmitter of its own on the way back has its own times.
fn check_ack_batch(field: String, filter: String, link: &LinkSpec) -> Check {
    let Some(batch) = link.ack_batch else {
        return ensure(!link.ack_filter, filter, || "expected ack_batch beside it: what comes together".to_owned());
    };
    ensure(batch.ns > 0 && batch <= MAX_RTT, field.clone(), || {
        format!("expected more than 0s and at most {MAX_RTT}, found {batch}")
    })?;
    ensure(!link.duplex, field, || "expected no duplex beside it: there a transmitter sends what goes back".to_owned())
}

fn check_jitter(path: &str, jitter: Option<JitterSpec>) -> Check {
    let Some(JitterSpec { max, distribution, .. }) = jitter else { return Ok(()) };
    ensure(max.ns > 0 && max <= MAX_RTT, path, || {
        format!("expected a largest value above 0s and at most {MAX_RTT}, found {max}")
    })?;
    let Distribution::Normal { mean, std_dev } = distribution else { return Ok(()) };
    // Beyond that nearly all of the distribution would be cut off.
    for (field, value) in [("mean", mean), ("std_dev", std_dev)] {
        ensure(value <= max, format!("{path}.{field}"), || format!("expected at most max ({max}), found {value}"))?;
    }
    Ok(())
}

fn check_losses(path: &str, link: &LinkSpec) -> Check {
    match link.loss {
        LossSpec::Random(loss) => ensure((0.0..1.0).contains(&loss), format!("{path}.loss"), || {
            format!("expected a probability from 0 to below 1 (0.005 is 0.5 %), found {loss}")
        })?,
        LossSpec::GilbertElliott { bad_to_good, .. } => {
            let field = format!("{path}.loss.gilbert_elliott.bad_to_good");
            ensure(bad_to_good > 0.0, field, || "expected more than 0, or the bad state never ends".to_owned())?;
        }
    }
    let error = link.wireless.map_or(0.0, |wireless| wireless.error);
    ensure(error < 1.0, format!("{path}.wireless.error"), || {
        format!("expected a probability below 1, or nothing ever arrives, found {error}")
    })
}

pub(super) fn check_hops(scenario: &Scenario) -> Check {
    let hops = &scenario.hops;
    ensure(hops.len() <= MAX_HOPS, "hop", || format!("expected at most {MAX_HOPS} hops, found {}", hops.len()))?;
    for (i, hop) in hops.iter().enumerate() {
        let name = format!("hop[{i}].name");
        check_name(&name, &hop.name)?;
        ensure(hop.name != LINK, name.clone(), || format!("expected another name than that of [{LINK}]"))?;
        ensure(hops[..i].iter().all(|other| other.name != hop.name), name, || {
            format!("expected a name that no other hop has, found {:?} twice", hop.name)
        })?;
        check_link(&format!("hop[{i}]"), &hop.link)?;
    }
    Ok(())
}

/// A link that no path names is a mistake in a path.
pub(super) fn check_use(scenario: &Scenario) -> Check {
    let of_flows = || scenario.flows.iter().map(|flow| &flow.path);
    let paths = || {
        let of_mptcp = scenario.paths.iter().map(|path| &path.links);
        of_flows().chain(scenario.udp.iter().map(|udp| &udp.path)).chain(of_mptcp)
    };
    let used = |name: &str| paths().any(|path| path.iter().any(|link| link == name));
    ensure(used(LINK), LINK, || {
        "expected a flow or UDP source with \"link\" in its path: figures are about this link".to_owned()
    })?;
    for (i, path) in scenario.paths.iter().enumerate() {
        let named = scenario.flows.iter().any(|flow| flow.paths.contains(&path.name));
        ensure(named, format!("path[{i}].name"), || {
            format!("expected a flow with {:?} in its paths, found none", path.name)
        })?;
    }
    for (i, hop) in scenario.hops.iter().enumerate() {
        ensure(used(&hop.name), format!("hop[{i}].name"), || {
            format!("expected a flow or UDP source with {:?} in its path, found none", hop.name)
        })?;
    }
    Ok(())
}
