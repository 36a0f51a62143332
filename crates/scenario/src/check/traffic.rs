//! Flows and UDP sources.

use super::{Check, check_algorithm, check_ascending, check_name, ensure};
use crate::units::Span;
use crate::{Direction, FlowSpec, Repeat, Scenario, UdpSpec};

/// One process with a system call per packet does not send faster.
const MAX_UDP_BPS: u64 = 2_000_000_000;
const MAX_EXTRA_RTT: Span = Span::from_secs(10);

pub(super) fn check_flow(path: &str, flow: &FlowSpec, scenario: &Scenario) -> Check {
    let at = |field: &str| format!("{path}.{field}");
    check_name(&at("name"), &flow.name)?;
    check_algorithm(path, flow.wanted())?;
    check_receiver(path, flow)?;
    ensure(flow.extra_rtt <= MAX_EXTRA_RTT, at("extra_rtt"), || {
        format!("expected at most {MAX_EXTRA_RTT}, found {}", flow.extra_rtt)
    })?;
    check_times(path, (flow.start, flow.stop), scenario.duration)?;
    check_path(&at("path"), &flow.path, scenario)?;
    if flow.direction == Direction::Download {
        check_download(&at("direction"), flow, scenario)?;
    }
    if let Some(command) = &flow.command {
        ensure(command.first().is_some_and(|program| !program.is_empty()), at("command"), || {
            "expected a program and its arguments, found nothing".to_owned()
        })?;
        ensure(flow.bytes.is_none(), at("bytes"), || {
            "expected no size beside a command: the command decides what it sends".to_owned()
        })?;
    }
    check_transfers(path, flow)
}

/// The server of all uploads is one process, so only a download's client can have an algorithm of its own.
fn check_receiver(path: &str, flow: &FlowSpec) -> Check {
    let at = |field: &str| format!("{path}.{field}");
    let given = flow.receive.is_some();
    ensure(given || flow.receive_set.is_empty(), at("receive_set"), || {
        "expected receive beside it: these are tunables of a receiving algorithm".to_owned()
    })?;
    ensure(!given || flow.direction == Direction::Download, at("receive"), || {
        "expected direction = \"download\" beside it, found an upload, whose receiver serves all flows".to_owned()
    })?;
    ensure(!given || flow.command.is_none(), at("receive"), || {
        "expected the built-in sender and client, found a command".to_owned()
    })?;
    let refused = flow.receiver().err().map(|error| error.to_string());
    ensure(refused.is_none(), at("receive"), || refused.unwrap_or_default())
}

/// Only a transfer that ends can be followed by another.
fn check_transfers(path: &str, flow: &FlowSpec) -> Check {
    let once = flow.repeat == Repeat::Times(1);
    ensure(once || flow.bytes.is_some(), format!("{path}.repeat"), || {
        "expected bytes beside it: an endless transfer is never followed by another".to_owned()
    })?;
    ensure(flow.gap == Span::default() || !once, format!("{path}.gap"), || {
        format!("expected repeat beside it: after one transfer there is no gap, found {}", flow.gap)
    })
}

fn check_download(field: &str, flow: &FlowSpec, scenario: &Scenario) -> Check {
    ensure(flow.command.is_none(), field, || {
        "expected \"upload\" beside a command: the command runs on the flow's host".to_owned()
    })?;
    let one_way = flow.path.iter().find(|name| scenario.link_named(name).is_some_and(|link| !link.duplex));
    ensure(one_way.is_none(), field, || {
        format!(
            "expected duplex = true for every link of a download's path, or its data pass without rate and buffer, found {:?} without",
            one_way.map_or("", String::as_str)
        )
    })
}

fn check_path(field: &str, path: &[String], scenario: &Scenario) -> Check {
    ensure(!path.is_empty(), field, || "expected at least one link, found none".to_owned())?;
    for (i, name) in path.iter().enumerate() {
        ensure(scenario.link_named(name).is_some(), field, || {
            let names: Vec<&str> = scenario.links().map(|(name, _)| name).collect();
            format!("expected links of this scenario ({}), found {name:?}", names.join(", "))
        })?;
        ensure(!path[..i].contains(name), field, || format!("expected each link once, found {name:?} twice"))?;
    }
    let rtt = scenario.path_rtt(path);
    let most = Span { ns: MAX_EXTRA_RTT.ns * 2 };
    ensure(rtt <= most, field, || format!("expected a base RTT of at most {most} over all links, found {rtt}"))
}

fn check_times(path: &str, (start, stop): (Span, Span), duration: Span) -> Check {
    ensure(start < duration, format!("{path}.start"), || {
        format!("expected a start before the end of the run ({duration}), found {start}")
    })?;
    ensure(stop > start, format!("{path}.stop"), || format!("expected a stop after the start ({start}), found {stop}"))
}

pub(super) fn check_udp(path: &str, udp: &UdpSpec, scenario: &Scenario) -> Check {
    let at = |field: &str| format!("{path}.{field}");
    check_name(&at("name"), &udp.name)?;
    check_path(&at("path"), &udp.path, scenario)?;
    let mtu = scenario.link.mtu;
    ensure(udp.packet_bytes <= mtu, at("packet_bytes"), || {
        format!("expected 64 to {mtu} (the MTU), found {}", udp.packet_bytes)
    })?;
    check_times(path, (udp.start, udp.stop), scenario.duration)?;
    let rates = std::iter::once((at("rate"), udp.rate))
        .chain(udp.steps.iter().enumerate().map(|(i, step)| (format!("{path}.steps[{i}].rate"), step.rate)));
    for (field, rate) in rates {
        ensure(rate.bps <= MAX_UDP_BPS, field, || format!("expected at most 2Gbit/s, found {rate}"))?;
    }
    // A step after the end of a shortened run is no fault.
    check_ascending(&at("steps"), udp.steps.iter().map(|step| step.at), ("the start", udp.start))
}
