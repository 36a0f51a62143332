//! Proxies.

use super::{Check, Problem, check_name, ensure};
use crate::units::Span;
use crate::{ALL_HOSTS, ProxySpec, SERVER, Scenario};
use ccactl_loader::{Choice, is_file};

/// `target_ms` of the receiving algorithm.
const UPLOAD_TARGETS: std::ops::RangeInclusive<Span> = Span { ns: 1_000_000 }..=Span::from_secs(10);

pub(super) fn check_proxies(scenario: &Scenario) -> Check {
    let Some(proxy) = scenario.proxies.first() else { return Ok(()) };
    ensure(scenario.proxies.len() == 1, "proxy", || {
        format!("expected one proxy at the most, found {}", scenario.proxies.len())
    })?;
    ensure(scenario.warm_up.is_none(), "proxy", || "expected no warm_up beside it: its path is made anew".to_owned())?;
    let coupled = scenario.flows.iter().find(|flow| flow.is_mptcp());
    ensure(coupled.is_none(), "proxy", || {
        let name = coupled.map_or("", |flow| &flow.name);
        format!("expected flows of one path beside it, found the MPTCP flow {name:?}")
    })?;
    check_place(proxy, scenario)?;
    check_name_of("client_algorithm", &proxy.client_algorithm)?;
    check_name_of("server_algorithm", &proxy.server_algorithm)?;
    let target = proxy.upload_target;
    ensure(target.is_none_or(|target| UPLOAD_TARGETS.contains(&target)), "proxy[0].upload_target", || {
        format!("expected {} to {}", UPLOAD_TARGETS.start(), UPLOAD_TARGETS.end())
    })
}

/// The proxy's own process reads the name.
fn check_name_of(field: &str, algorithm: &str) -> Check {
    let field = format!("proxy[0].{field}");
    ensure(!is_file(algorithm), field.clone(), || {
        format!("expected a name of `ccactl list` or native:NAME, found the file {algorithm:?}")
    })?;
    Choice::parse(algorithm, &[], None).map(drop).map_err(|error| Problem { field, message: error.to_string() })
}

fn check_place(proxy: &ProxySpec, scenario: &Scenario) -> Check {
    check_name("proxy[0].name", &proxy.name)?;
    let others = scenario.flows.iter().map(|flow| &flow.name).chain(scenario.udp.iter().map(|udp| &udp.name));
    let is_taken =
        [SERVER, ALL_HOSTS].contains(&proxy.name.as_str()) || others.into_iter().any(|name| *name == proxy.name);
    ensure(!is_taken, "proxy[0].name", || format!("expected a name that no other host has, found {:?}", proxy.name))?;
    let mut splits = scenario.flows.iter().filter_map(|flow| proxy.split(&flow.path)).peekable();
    ensure(splits.peek().is_some(), "proxy[0].after", || {
        format!("expected a link in the path of a flow, found {:?}", proxy.after)
    })?;
    ensure(splits.all(|(_, rest)| !rest.is_empty()), "proxy[0].after", || {
        format!(
            "expected a link with another one behind it in the path of each flow, found {:?} at an end",
            proxy.after
        )
    })
}
