//! What the fields of a scenario must be, alone and together.

use super::{FlowSpec, LinkSpec, Scenario, UdpSpec, Wanted};
use crate::units::{Buffer, Span};
use ccactl_loader::Choice;
use std::collections::HashSet;

/// Each flow and each UDP source has a namespace and an address of its own below 10.200.1.0/24.
const MAX_FLOWS: usize = 200;
/// IPv4 and UDP headers, and a little payload.
const MIN_UDP_BYTES: u32 = 64;
/// One process with a system call per packet does not send faster.
const MAX_UDP_BPS: u64 = 2_000_000_000;
/// Lowest MTU that IPv4 hosts must take.
const MIN_MTU: u32 = 576;
/// Packets of the testbed live in slots of this many bytes; jumbo frames are out of scope.
const MAX_MTU: u32 = 9000;
const MAX_NAME_BYTES: usize = 40;

/// A field with what is wrong with it.
pub(super) struct Problem {
    pub field: String,
    pub message: String,
}

pub(super) type Check = Result<(), Problem>;

pub(super) fn ensure(condition: bool, field: impl Into<String>, message: impl FnOnce() -> String) -> Check {
    if condition { Ok(()) } else { Err(Problem { field: field.into(), message: message() }) }
}

pub(super) fn check(scenario: &Scenario) -> Check {
    check_name("name", &scenario.name)?;
    ensure(scenario.duration.ns > 0, "duration", || "expected more than 0s".to_owned())?;
    ensure((1..=1000).contains(&scenario.repeat), "repeat", || {
        format!("expected 1 to 1000 runs, found {}", scenario.repeat)
    })?;
    check_every(&scenario.every)?;
    check_link(&scenario.link)?;
    ensure((1..=MAX_FLOWS).contains(&scenario.flows.len()), "flow", || {
        format!("expected 1 to {MAX_FLOWS} flows, found {}", scenario.flows.len())
    })?;
    let mut names = HashSet::new();
    for (i, flow) in scenario.flows.iter().enumerate() {
        check_flow(&format!("flow[{i}]"), flow, scenario.duration)?;
        ensure(names.insert(&flow.name), format!("flow[{i}].name"), || {
            format!("expected a name that no other flow has, found {:?} twice", flow.name)
        })?;
    }
    ensure(scenario.flows.len() + scenario.udp.len() <= MAX_FLOWS, "udp", || {
        format!(
            "expected {MAX_FLOWS} flows and UDP sources at the most, found {}",
            scenario.flows.len() + scenario.udp.len()
        )
    })?;
    for (i, udp) in scenario.udp.iter().enumerate() {
        check_udp(&format!("udp[{i}]"), udp, &scenario.link, scenario.duration)?;
        ensure(names.insert(&udp.name), format!("udp[{i}].name"), || {
            format!("expected a name that no flow and no other UDP source has, found {:?} twice", udp.name)
        })?;
    }
    for (field, value) in
        [("jain_min", scenario.thresholds.jain_min), ("utilisation_min", scenario.thresholds.utilisation_min)]
    {
        ensure(value.is_none_or(|v| (0.0..=1.0).contains(&v)), format!("thresholds.{field}"), || {
            format!("expected 0 to 1, found {}", value.unwrap_or_default())
        })?;
    }
    Ok(())
}

/// Names become folders and cgroups.
fn check_name(field: &str, name: &str) -> Check {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let good = (1..=MAX_NAME_BYTES).contains(&name.len()) && name.chars().all(plain) && !name.starts_with('.');
    ensure(good, field, || {
        format!("expected 1 to {MAX_NAME_BYTES} letters, digits, \"-\", \"_\" or \".\" (not first), found {name:?}")
    })
}

fn check_every(every: &str) -> Check {
    let good = matches!(every, "ack" | "rtt") || every.parse::<Span>().is_ok_and(|span| span.ns > 0);
    ensure(good, "every", || format!("expected \"ack\", \"rtt\" or a time span such as \"10ms\", found {every:?}"))
}

fn check_link(link: &LinkSpec) -> Check {
    ensure(link.rate.bps >= 1000, "link.rate", || format!("expected at least 1kbit/s, found {}", link.rate))?;
    ensure(link.base_rtt.ns <= Span::from_secs(10).ns, "link.base_rtt", || {
        format!("expected at most 10s, found {}", link.base_rtt)
    })?;
    ensure((0.0..1.0).contains(&link.loss), "link.loss", || {
        format!("expected a probability from 0 to below 1 (0.005 is 0.5 %), found {}", link.loss)
    })?;
    ensure((MIN_MTU..=MAX_MTU).contains(&link.mtu), "link.mtu", || {
        format!("expected {MIN_MTU} to {MAX_MTU}, found {}", link.mtu)
    })?;
    ensure(link.overhead_bytes <= 1000, "link.overhead_bytes", || {
        format!("expected at most 1000, found {}", link.overhead_bytes)
    })?;
    if let Buffer::Bdp(multiple) = link.buffer {
        ensure(multiple > 0.0, "link.buffer", || format!("expected more than 0 BDP, found {multiple}"))?;
    }
    ensure(link.buffer_bytes() >= link.frame_bytes(), "link.buffer", || {
        format!(
            "expected room for at least one packet of {} bytes, found {} bytes",
            link.frame_bytes(),
            link.buffer_bytes()
        )
    })?;
    ensure(link.buffer_bytes() <= 1 << 30, "link.buffer", || {
        format!("expected at most 1 GiB, found {} bytes", link.buffer_bytes())
    })?;
    let Some(threshold_bytes) = link.ecn_threshold_bytes() else { return Ok(()) };
    ensure(threshold_bytes < link.buffer_bytes(), "link.ecn_threshold", || {
        format!(
            "expected less than the buffer of {} bytes, or nothing is ever marked, found {threshold_bytes} bytes",
            link.buffer_bytes()
        )
    })
}

fn check_udp(path: &str, udp: &UdpSpec, link: &LinkSpec, duration: Span) -> Check {
    let at = |field: &str| format!("{path}.{field}");
    check_name(&at("name"), &udp.name)?;
    ensure((MIN_UDP_BYTES..=link.mtu).contains(&udp.packet_bytes), at("packet_bytes"), || {
        format!("expected {MIN_UDP_BYTES} to {} (the MTU), found {}", link.mtu, udp.packet_bytes)
    })?;
    ensure(udp.start < duration, at("start"), || {
        format!("expected a start before the end of the run ({duration}), found {}", udp.start)
    })?;
    ensure(udp.stop > udp.start, at("stop"), || {
        format!("expected a stop after the start ({}), found {}", udp.start, udp.stop)
    })?;
    let rates = std::iter::once((at("rate"), udp.rate))
        .chain(udp.steps.iter().enumerate().map(|(i, step)| (format!("{path}.steps[{i}].rate"), step.rate)));
    for (field, rate) in rates {
        ensure(rate.bps <= MAX_UDP_BPS, field, || format!("expected at most 2Gbit/s, found {rate}"))?;
    }
    // A step after the end of a shortened run is no fault.
    let mut before = ("the start", udp.start);
    for (i, step) in udp.steps.iter().enumerate() {
        ensure(step.at > before.1, format!("{path}.steps[{i}].at"), || {
            format!("expected a time after {} ({}), found {}", before.0, before.1, step.at)
        })?;
        before = ("the step before", step.at);
    }
    Ok(())
}

fn check_flow(path: &str, flow: &FlowSpec, duration: Span) -> Check {
    let at = |field: &str| format!("{path}.{field}");
    check_name(&at("name"), &flow.name)?;
    check_algorithm(path, flow.wanted())?;
    ensure(flow.extra_rtt.ns <= Span::from_secs(10).ns, at("extra_rtt"), || {
        format!("expected at most 10s, found {}", flow.extra_rtt)
    })?;
    ensure(flow.start < duration, at("start"), || {
        format!("expected a start before the end of the run ({duration}), found {}", flow.start)
    })?;
    ensure(flow.stop > flow.start, at("stop"), || {
        format!("expected a stop after the start ({}), found {}", flow.start, flow.stop)
    })?;
    ensure(flow.bytes != Some(0), at("bytes"), || "expected at least 1, found 0".to_owned())?;
    if let Some(command) = &flow.command {
        ensure(command.first().is_some_and(|program| !program.is_empty()), at("command"), || {
            "expected a program and its arguments, found nothing".to_owned()
        })?;
        ensure(flow.bytes.is_none(), at("bytes"), || {
            "expected no size beside a command: the command decides what it sends".to_owned()
        })?;
    }
    Ok(())
}

/// Algorithm, tunables and name are what `ccactl load` takes; they are tried one by one to tell which is wrong.
pub(super) fn check_algorithm(path: &str, wanted: Wanted<'_>) -> Check {
    let parse = |field: String, set: &[(String, String)], alias: Option<&str>| {
        Choice::parse(wanted.algorithm, set, alias)
            .map(drop)
            .map_err(|error| Problem { field, message: error.to_string() })
    };
    parse(format!("{path}.algorithm"), &[], None)?;
    for (name, value) in wanted.set {
        parse(format!("{path}.set.{name}"), &[(name.clone(), value.clone())], None)?;
    }
    parse(format!("{path}.as"), &[], wanted.alias)
}

/// One kernel name cannot stand for two sets of tunables. `all` are the algorithms of flows and swaps: path, what users
/// call it, and what is asked for.
pub(super) fn check_aliases(all: &[(String, &str, Wanted<'_>)]) -> Check {
    for (i, (path, name, wanted)) in all.iter().enumerate().filter(|(_, (_, _, wanted))| wanted.alias.is_some()) {
        let differs = |other: &Wanted<'_>| (other.algorithm, other.set) != (wanted.algorithm, wanted.set);
        let other = all[..i].iter().find(|(_, _, other)| other.alias == wanted.alias && differs(other));
        ensure(other.is_none(), format!("{path}.as"), || {
            format!(
                "expected one algorithm with one set of tunables per name, found {:?} for {} and {name}",
                wanted.alias.unwrap_or_default(),
                other.map_or("", |(_, other, _)| other),
            )
        })?;
    }
    Ok(())
}
