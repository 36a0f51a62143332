//! What lies between the hosts of a run, and which back end makes it: the emulator, or queue disciplines inside the kernel.

mod carried;
mod counters;
mod emulated;
mod hosts;
mod in_bpf;
mod kernel;
mod probe;
mod proxy;

pub use carried::{Carried, TransmitterResult};
pub use emulated::Emulated;
pub use hosts::{Hosts, TCP_MEMORY_DEFAULT, tcp_memory_max};

use crate::emulator::address::MOST_HOSTS;
use crate::error::{Error, Result};
use crate::host::mptcp;
use crate::host::run_id::RunId;
use crate::netem::{Plan, Transmitter};
use crate::simulated;
use ccactl_link::Nanos;
use ccactl_loader::LinkQueue;
use ccactl_scenario::{FlowSpec, Scenario};
use kernel::Kernel;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Who carries the packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Backend {
    /// The emulator of this crate, which knows how well it kept time.
    #[default]
    Emulator,
    /// The kernel: netem, a token bucket and its queue disciplines. Nobody measures how punctual they were.
    Netem,
    /// The kernel with the bottleneck in BPF, which knows how punctual it was; what happens on its wire is netem's.
    Bpf,
    /// Nobody: hosts and packets are simulated, in virtual time.
    Simulator,
}

/// All of them, in the words of the command line.
const BACKENDS: [(&str, Backend); 4] = [
    ("emulator", Backend::Emulator),
    ("netem", Backend::Netem),
    ("bpf", Backend::Bpf),
    ("simulator", Backend::Simulator),
];

impl FromStr for Backend {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let named = BACKENDS.into_iter().find(|(name, _)| *name == text);
        named
            .map(|(_, backend)| backend)
            .ok_or_else(|| format!("expected emulator, netem, bpf or simulator, found {text:?}"))
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = BACKENDS.into_iter().find(|(_, backend)| backend == self);
        f.write_str(named.expect("every back end has a name").0)
    }
}

impl Backend {
    /// Whether runs are carried out on a host, in real time and with rights.
    #[must_use]
    pub fn needs_host(self) -> bool {
        self != Backend::Simulator
    }

    /// Whether the kernel carries the packets by itself, over veth and its queue disciplines.
    #[must_use]
    pub fn is_in_kernel(self) -> bool {
        matches!(self, Backend::Netem | Backend::Bpf)
    }

    /// In the words of a page.
    #[must_use]
    pub fn described(self) -> &'static str {
        match self {
            Backend::Emulator => "the emulator of ccactl",
            Backend::Netem => "queue disciplines of the kernel (netem, tbf), whose punctuality nobody measured",
            Backend::Bpf => "a queue discipline of ccactl inside the kernel (BPF), with netem for the wire",
            Backend::Simulator => "the simulator of ccactl: hosts after Linux 6.18, in virtual time",
        }
    }

    /// Whether it can carry a scenario out on this host, before anything is made of a run; gives the commands that would make the
    /// network, where there are such.
    ///
    /// # Errors
    /// What the scenario asks for and this back end cannot do, or what this kernel lacks.
    pub fn check(self, scenario: &Scenario) -> Result<Option<String>> {
        if self.needs_host() && scenario.addresses() > MOST_HOSTS {
            return Err(Error::TooManyHosts { most: MOST_HOSTS, found: scenario.addresses() });
        }
        if self.needs_host() && scenario.flows.iter().any(FlowSpec::is_mptcp) {
            mptcp::check()?;
        }
        match self {
            Backend::Simulator => simulated::check(scenario).map(|_| None),
            Backend::Emulator => Ok(None),
            Backend::Netem => checked(&kernel::plan(scenario, Transmitter::TokenBucket)?),
            Backend::Bpf => {
                let plan = kernel::plan(scenario, Transmitter::Bpf(["ccactl-up", "ccactl-down"]))?;
                LinkQueue::check().map_err(Error::Loader)?;
                checked(&plan)
            }
        }
    }
}

/// Whether the kernel has the disciplines of a plan; gives its commands.
fn checked(plan: &Plan) -> Result<Option<String>> {
    probe::probe(&plan.needs)?;
    Ok(Some(plan.lines.iter().map(|line| format!("{line}\n")).collect()))
}

/// The network of one run.
pub enum Network {
    /// Of the emulator.
    Emulated(Emulated),
    /// Of the kernel.
    Kernel(Box<Kernel>),
}

impl Network {
    /// Makes it for run `run` (from 1) of a scenario.
    pub fn create(backend: Backend, id: RunId, scenario: &Scenario, run: u32) -> Result<Network> {
        match backend {
            Backend::Emulator => Emulated::create(id, scenario, run).map(Network::Emulated),
            Backend::Netem => Ok(Network::Kernel(Box::new(Kernel::create(id, scenario)?))),
            Backend::Bpf => Ok(Network::Kernel(Box::new(Kernel::create_in_bpf(id, scenario)?))),
            Backend::Simulator => unreachable!("it needs no host"),
        }
    }

    /// The same path as new, between the same hosts: they keep what they remember of it.
    pub fn renewed(self, scenario: &Scenario, run: u32) -> Result<Network> {
        match self {
            Network::Emulated(network) => network.renewed(scenario, run).map(Network::Emulated),
            Network::Kernel(_) => unreachable!("the plan refuses a warm-up"),
        }
    }

    /// Namespaces of the hosts.
    pub fn hosts(&self) -> &Hosts {
        match self {
            Network::Emulated(network) => &network.hosts,
            Network::Kernel(network) => &network.hosts,
        }
    }

    /// The run begins at `t0`.
    pub fn set_origin(&self, t0: Nanos) {
        match self {
            Network::Emulated(network) => network.set_origin(t0),
            // Nothing of it changes with time.
            Network::Kernel(_) => {}
        }
    }

    /// Takes it away.
    pub fn finish(self) -> Result<Carried> {
        match self {
            Network::Emulated(network) => network.finish(),
            Network::Kernel(network) => network.finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_back_end_is_found_by_its_name() {
        for (_, backend) in BACKENDS {
            assert_eq!(backend.to_string().parse(), Ok(backend));
        }
        assert_eq!("tc".parse::<Backend>(), Err("expected emulator, netem, bpf or simulator, found \"tc\"".to_owned()));
    }
}
