//! Gives each flow's cgroup its algorithm, keeps those of later swaps ready, and takes all of them back.

use crate::error::Result;
use crate::host::cgroup::Cgroup;
use ccactl_loader::{Choice, LoadRequest, Loadable, Loader, ReceiveRequest};
use ccactl_scenario::{FlowSpec, Scenario, Wanted};
use std::collections::BTreeSet;

/// The policies of a run; dropped, they are taken back, and with the last one the algorithm.
pub struct Policies<'a> {
    loader: &'a Loader,
    cgroup_ids: Vec<u64>,
    /// Kernel name by flow, at its start.
    pub kernel_names: Vec<String>,
    /// Of the clients of flows with a receiving algorithm, by flow.
    clients: Vec<Option<Cgroup>>,
    /// Empty cgroups; removed after their policies.
    _reserves: Vec<Cgroup>,
}

impl<'a> Policies<'a> {
    /// Loads the algorithm of every flow, and those that the flows will be swapped to.
    ///
    /// An algorithm stays registered while a policy names it. Each algorithm of a swap gets a policy of its own on an
    /// empty cgroup below `parent`. So a swap does not wait for the kernel's verifier in the middle of a run, and what this
    /// kernel does not load is known before the run.
    ///
    /// Clients of downloads with a receiving algorithm get a cgroup of their own, which is recorded too.
    pub fn load(loader: &'a Loader, scenario: &Scenario, parent: &Cgroup, cgroups: &[Cgroup]) -> Result<Policies<'a>> {
        let mut policies = Policies {
            loader,
            cgroup_ids: Vec::new(),
            kernel_names: Vec::new(),
            clients: Vec::new(),
            _reserves: Vec::new(),
        };
        for flow in &scenario.flows {
            policies.clients.push(receiving(loader, flow, parent)?);
        }
        for (flow, cgroup) in scenario.flows.iter().zip(cgroups) {
            let kernel_name = policies.add(flow.wanted(), cgroup)?;
            policies.kernel_names.push(kernel_name);
        }
        let mut loaded: BTreeSet<String> = policies.kernel_names.iter().cloned().collect();
        for (i, swap) in scenario.swaps.iter().enumerate() {
            if !loaded.insert(choice(swap.wanted())?.kernel_name().to_owned()) {
                continue;
            }
            // Names of flows do not begin with a dot.
            let reserve = Cgroup::create(parent.path().join(format!(".swap-{i}")))?;
            policies.add(swap.wanted(), &reserve)?;
            policies._reserves.push(reserve);
        }
        Ok(policies)
    }

    /// The cgroups of the flows' clients, where they have one of their own.
    #[must_use]
    pub fn clients(&self) -> &[Option<Cgroup>] {
        &self.clients
    }

    /// The cgroup of a flow's client, where it has one of its own.
    #[must_use]
    pub fn client(&self, flow: usize) -> Option<&Cgroup> {
        self.clients[flow].as_ref()
    }

    fn add(&mut self, wanted: Wanted<'_>, cgroup: &Cgroup) -> Result<String> {
        if let Some(name) = chosen_by_its_sender(wanted.algorithm) {
            return Ok(name.to_owned());
        }
        let outcome = self.loader.load(&LoadRequest::new(choice(wanted)?, cgroup.path()))?;
        self.cgroup_ids.push(outcome.cgroup_id);
        Ok(outcome.kernel_name)
    }
}

impl Drop for Policies<'_> {
    fn drop(&mut self) {
        for client in self.clients.iter().flatten() {
            if let Err(error) = self.loader.unload_receive(client.path()) {
                tracing::warn!("{}: receiving algorithm not taken back: {error}", client.path().display());
            }
        }
        for id in &self.cgroup_ids {
            if let Err(error) = self.loader.unload_id(*id) {
                tracing::warn!("cgroup {id}: policy not taken back: {error}");
            }
        }
    }
}

/// A client's cgroup with its receiving algorithm.
fn receiving(loader: &Loader, flow: &FlowSpec, parent: &Cgroup) -> Result<Option<Cgroup>> {
    let Some(wanted) = flow.receiver()? else { return Ok(None) };
    // Names of flows do not begin with a dot.
    let cgroup = Cgroup::create(parent.path().join(format!(".receive-{}", flow.name)))?;
    let request = ReceiveRequest { wanted, cgroup: cgroup.path().to_owned(), create: false, only_swap: false };
    loader.load_receive(&request)?;
    Ok(Some(cgroup))
}

/// Name of an algorithm that no policy can give to a flow, so that its sender chooses it.
pub fn chosen_by_its_sender(algorithm: &str) -> Option<&str> {
    algorithm.strip_prefix("native:").filter(|name| ccactl_abi::native::NOT_BY_BPF.contains(name))
}

/// What the loader is asked for, under the name that [`alias`] gives it unless the scenario chooses one.
pub fn choice(wanted: Wanted<'_>) -> Result<Choice> {
    Ok(match wanted.choice()? {
        Choice::Registry(loadable) if wanted.alias.is_none() => {
            Loadable { kernel_name: alias(&loadable), ..loadable }.into()
        }
        choice => choice,
    })
}

/// Kernel name that no policy outside of a bench has: by code and tunables. The same ones give the same name, so that
/// flows, and benches that run at the same time, share one struct_ops; other code or tunables never meet it.
fn alias(Loadable { algorithm, tunables, .. }: &Loadable) -> String {
    const STEM_BYTES: usize = 8;
    // FNV-1a over the values as stored: 1.3 and 1.30 are the same.
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let values = tunables.iter().flat_map(|(tunable, raw)| tunable.name.bytes().chain(raw.to_le_bytes()));
    for byte in algorithm.hash().to_le_bytes().into_iter().chain(values) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    let stem = &algorithm.kernel_name[..algorithm.kernel_name.len().min(STEM_BYTES)];
    format!("{stem}_{:06x}", (hash ^ (hash >> 40)) & 0xff_ffff)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ccactl_scenario::Scenario;

    fn name_of(lines: &str) -> String {
        let text = format!(
            "duration = \"1s\"\n[link]\nrate = \"1Mbit/s\"\nbase_rtt = \"10ms\"\nbuffer = \"10p\"\n[[flow]]\nname = \"a\"\n{lines}"
        );
        choice(Scenario::parse("test.toml", &text).unwrap().flows[0].wanted()).unwrap().kernel_name().to_owned()
    }

    #[test]
    fn code_and_tunables_have_one_name() {
        assert_eq!(name_of("algorithm = \"native:cubic\""), "cubic");
        let plain = name_of("algorithm = \"f-bbrv2\"");
        assert_eq!(name_of("algorithm = \"f-bbrv2\"\nset = { alpha = 1.3 }\nas = \"mine\""), "mine");
        let one = name_of("algorithm = \"f-bbrv2\"\nset = { alpha = 1.3 }");
        assert_eq!(name_of("algorithm = \"f-bbrv2\"\nset = { alpha = 1.30 }"), one);
        assert_ne!(name_of("algorithm = \"f-bbrv2\"\nset = { alpha = 1.4 }"), one);
        assert!(one.starts_with("f_bbrv2_") && one.len() <= 15 && one != plain, "{one}");
    }
}
