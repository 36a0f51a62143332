//! Settings of hosts.

use super::{Check, ensure};
use crate::{ALL_HOSTS, HostSpec, SERVER, Scenario};

/// Folders below `/proc/sys/net` that belong to a network namespace.
const FOLDERS: &[&str] = &["core", "ipv4", "ipv6", "mptcp", "netfilter", "unix"];
/// The algorithm is the flow's business.
const OF_THE_FLOW: &[&str] = &["ipv4/tcp_congestion_control", "ipv4/tcp_allowed_congestion_control"];

pub(super) fn check_hosts(scenario: &Scenario) -> Check {
    let names = || {
        let flows = scenario.flows.iter().map(|flow| flow.name.as_str());
        let udp = scenario.udp.iter().map(|udp| udp.name.as_str());
        flows.chain(udp).chain(scenario.proxies.iter().map(|proxy| proxy.name.as_str()))
    };
    for (name, host) in &scenario.hosts {
        let path = format!("host.{name}");
        let reserved = [SERVER, ALL_HOSTS].contains(&name.as_str());
        let own = names().any(|other| other == name);
        ensure(reserved || own, path.clone(), || {
            let known: Vec<&str> = [SERVER, ALL_HOSTS].into_iter().chain(names()).collect();
            format!("expected a host of this scenario ({}), found {name:?}", known.join(", "))
        })?;
        ensure(!(reserved && own), path.clone(), || {
            format!("expected one meaning of {name:?}, found a flow or UDP source of that name: give it another")
        })?;
        check_sysctls(&path, host)?;
    }
    // By host as it will be, so that a limit for all and a sysctl of one are seen together.
    for name in names().chain([SERVER]) {
        check_limits(&scenario.host(name), &format!("host.{}", place(scenario, name)))?;
    }
    Ok(())
}

/// The table in which the settings of a host stand.
fn place<'a>(scenario: &Scenario, name: &'a str) -> &'a str {
    if scenario.hosts.contains_key(name) { name } else { ALL_HOSTS }
}

fn check_sysctls(path: &str, host: &HostSpec) -> Check {
    for name in host.sysctl.keys() {
        let field = format!("{path}.sysctl");
        let parts: Vec<&str> = name.split('/').collect();
        let good = parts.len() > 1
            && FOLDERS.contains(&parts[0])
            && parts.iter().all(|part| !part.is_empty() && *part != ".." && *part != ".");
        ensure(good, field.clone(), || {
            format!("expected a path below /proc/sys/net such as \"ipv4/tcp_ecn\", found {name:?}")
        })?;
        ensure(!OF_THE_FLOW.contains(&name.as_str()), field, || {
            format!("expected no {name:?}: the algorithm is a field of the flow")
        })?;
    }
    Ok(())
}

fn check_limits(host: &HostSpec, path: &str) -> Check {
    for (limit, field, sysctl) in
        [(host.rcvbuf_max, "rcvbuf_max", "ipv4/tcp_rmem"), (host.sndbuf_max, "sndbuf_max", "ipv4/tcp_wmem")]
    {
        ensure(limit.is_none() || !host.sysctl.contains_key(sysctl), format!("{path}.sysctl"), || {
            format!("expected either {field} or the sysctl {sysctl:?}, found both")
        })?;
    }
    Ok(())
}
