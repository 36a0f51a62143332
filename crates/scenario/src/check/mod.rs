//! What the fields of a scenario must be, alone and together. Ranges of single numbers are those of the table of fields and
//! are checked by the reader.

mod algorithm;
mod host;
mod link;
mod problem;
mod proxy;
mod traffic;

pub(crate) use algorithm::{check_algorithm, check_aliases};
pub(crate) use problem::{Check, NAME_PATTERN, check_name, ensure};

use crate::units::Span;
use crate::{Direction, FlowSpec, Scenario};
use problem::{Problem, check_ascending};
use std::collections::HashSet;

/// Memory of a simulated run.
const MAX_FLOWS: usize = 20_000;
/// A run of its own is longer than that.
const MAX_WARM_UP: Span = Span::from_secs(600);

pub(crate) fn check(scenario: &Scenario) -> Check {
    check_name("name", &scenario.name)?;
    ensure(scenario.duration.ns > 0, "duration", || "expected more than 0s, found 0s".to_owned())?;
    check_every(&scenario.every)?;
    check_warm_up(scenario)?;
    link::check_link("link", &scenario.link)?;
    link::check_hops(scenario)?;
    traffic::check_named_paths(scenario)?;
    ensure(!scenario.flows.is_empty(), "flow", || "expected at least one, found none".to_owned())?;
    let mut names = HashSet::new();
    for (i, flow) in scenario.flows.iter().enumerate() {
        traffic::check_flow(&format!("flow[{i}]"), flow, scenario)?;
        ensure(names.insert(&flow.name), format!("flow[{i}].name"), || {
            format!("expected a name that no other flow has, found {:?} twice", flow.name)
        })?;
    }
    for (i, udp) in scenario.udp.iter().enumerate() {
        traffic::check_udp(&format!("udp[{i}]"), udp, scenario)?;
        ensure(names.insert(&udp.name), format!("udp[{i}].name"), || {
            format!("expected a name that no flow and no other UDP source has, found {:?} twice", udp.name)
        })?;
    }
    link::check_use(scenario)?;
    proxy::check_proxies(scenario)?;
    host::check_hosts(scenario)
}

/// How many there are, when each table of flows has become the flows that it stands for.
pub(crate) fn check_count(scenario: &Scenario) -> Check {
    let addresses = scenario.addresses();
    ensure((1..=MAX_FLOWS).contains(&addresses), "flow", || {
        format!("expected {MAX_FLOWS} flows, UDP sources and further paths at the most, found {addresses}")
    })
}

/// What is remembered is remembered by the host that sends, and a connection has to close in order for it.
fn check_warm_up(scenario: &Scenario) -> Check {
    let Some(warm_up) = scenario.warm_up else { return Ok(()) };
    let span = Span::from_secs(1)..=MAX_WARM_UP;
    ensure(span.contains(&warm_up), "warm_up", || format!("expected 1s to {MAX_WARM_UP}, found {warm_up}"))?;
    let differs = |flow: &&FlowSpec| flow.command.is_some() || flow.direction == Direction::Download || flow.is_mptcp();
    let other = scenario.flows.iter().find(differs);
    ensure(other.is_none(), "warm_up", || {
        let name = other.map_or("", |flow| flow.name.as_str());
        format!("expected uploads of the built-in sender only, over plain TCP, found the flow {name:?} that is none")
    })
}

fn check_every(every: &str) -> Check {
    let good = matches!(every, "ack" | "rtt") || every.parse::<Span>().is_ok_and(|span| span.ns > 0);
    ensure(good, "every", || format!("expected \"ack\", \"rtt\" or a time span such as \"10ms\", found {every:?}"))
}
