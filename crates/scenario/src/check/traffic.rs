//! Flows and UDP sources.

use super::{Check, check_algorithm, check_ascending, check_name, ensure};
use crate::units::Span;
use crate::{ApplicationSpec, Direction, FlowSpec, Repeat, Scenario, UdpSpec};

/// One process with a system call per packet does not send faster.
const MAX_UDP_BPS: u64 = 2_000_000_000;
const MAX_EXTRA_RTT: Span = Span::from_secs(10);
/// The subflows that a path manager adds to the first one are at most 8 (`MPTCP_PM_ADDR_MAX`).
const MAX_PATHS: usize = 8;

pub(super) fn check_flow(path: &str, flow: &FlowSpec, scenario: &Scenario) -> Check {
    let at = |field: &str| format!("{path}.{field}");
    check_name(&at("name"), &flow.name)?;
    check_algorithm(path, flow.wanted())?;
    check_receiver(path, flow)?;
    ensure(flow.extra_rtt <= MAX_EXTRA_RTT, at("extra_rtt"), || {
        format!("expected at most {MAX_EXTRA_RTT}, found {}", flow.extra_rtt)
    })?;
    check_times(path, (flow.start, flow.stop), scenario.duration)?;
    check_paths(path, flow, scenario)?;
    if flow.direction == Direction::Download {
        check_download(&at("direction"), flow, scenario)?;
    }
    if let Some(application) = &flow.application {
        check_application(path, flow, application)?;
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

/// It takes the built-in sender to make data in its manner, and they never end.
fn check_application(path: &str, flow: &FlowSpec, application: &ApplicationSpec) -> Check {
    let at = |field: &str| format!("{path}.application{field}");
    ensure(flow.command.is_none(), at(""), || "expected the built-in sender, found a command beside it".to_owned())?;
    ensure(flow.bytes.is_none(), at(""), || {
        "expected no bytes beside it: an application makes data until the flow stops".to_owned()
    })?;
    ensure(application.every.ns > 0, at(".every"), || "expected more than 0s, found 0s".to_owned())?;
    let rates = std::iter::once((at(".rate"), application.rate))
        .chain(application.steps.iter().enumerate().map(|(i, step)| (at(&format!(".steps[{i}].rate")), step.rate)));
    for (field, rate) in rates {
        let bytes = u128::from(rate.bps) * u128::from(application.every.ns) / 8_000_000_000;
        ensure(rate.bps == 0 || bytes > 0, field, || {
            format!("expected at least a byte every {}, found {rate}", application.every)
        })?;
    }
    check_ascending(&at(".steps"), application.steps.iter().map(|step| step.at), ("the start", flow.start))
}

/// Of plain TCP its path; of MPTCP the paths that it names, which are checked by themselves.
fn check_paths(path: &str, flow: &FlowSpec, scenario: &Scenario) -> Check {
    if !flow.is_mptcp() {
        return check_path(&format!("{path}.path"), &flow.path, scenario);
    }
    let field = format!("{path}.paths");
    ensure(flow.paths.len() <= MAX_PATHS, field.clone(), || {
        format!("expected at most {MAX_PATHS} paths of a flow, found {}", flow.paths.len())
    })?;
    for (i, name) in flow.paths.iter().enumerate() {
        ensure(scenario.paths.iter().any(|path| path.name == *name), field.clone(), || {
            let names: Vec<&str> = scenario.paths.iter().map(|path| path.name.as_str()).collect();
            format!("expected names of [[path]] of this scenario ({}), found {name:?}", names.join(", "))
        })?;
        ensure(!flow.paths[..i].contains(name), field.clone(), || {
            format!("expected each path once, found {name:?} twice")
        })?;
    }
    ensure(flow.command.is_none(), field.clone(), || {
        "expected the built-in sender, whose sockets are MPTCP's, found a command".to_owned()
    })?;
    ensure(flow.receive.is_none(), field, || "expected no receive beside it: MPTCP sets one window for all".to_owned())
}

/// The table of paths.
pub(super) fn check_named_paths(scenario: &Scenario) -> Check {
    for (i, path) in scenario.paths.iter().enumerate() {
        let at = |field: &str| format!("path[{i}].{field}");
        check_name(&at("name"), &path.name)?;
        ensure(scenario.paths[..i].iter().all(|other| other.name != path.name), at("name"), || {
            format!("expected a name that no other path has, found {:?} twice", path.name)
        })?;
        check_path(&at("links"), &path.links, scenario)?;
        ensure(path.extra_rtt <= MAX_EXTRA_RTT, at("extra_rtt"), || {
            format!("expected at most {MAX_EXTRA_RTT}, found {}", path.extra_rtt)
        })?;
    }
    Ok(())
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
    let paths = scenario.paths_of(flow);
    let links = paths.iter().flat_map(|path| path.links);
    let one_way = links.into_iter().find(|name| scenario.link_named(name).is_some_and(|link| !link.duplex));
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
