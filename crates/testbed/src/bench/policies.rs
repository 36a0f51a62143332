//! Gives each flow's cgroup its algorithm, and takes it back.

use crate::error::Result;
use crate::host::cgroup::Cgroup;
use crate::scenario::FlowSpec;
use ccactl_loader::{Choice, LoadRequest, Loader};

/// The policies of a run; dropped, they are taken back, and with the last one the algorithm.
pub struct Policies<'a> {
    loader: &'a Loader,
    cgroup_ids: Vec<u64>,
    /// Kernel name by flow.
    pub kernel_names: Vec<String>,
}

impl<'a> Policies<'a> {
    /// Loads the algorithm of every flow.
    pub fn load(loader: &'a Loader, flows: &[FlowSpec], cgroups: &[Cgroup]) -> Result<Policies<'a>> {
        let mut policies = Policies { loader, cgroup_ids: Vec::new(), kernel_names: Vec::new() };
        for (flow, cgroup) in flows.iter().zip(cgroups) {
            let outcome = loader.load(&LoadRequest {
                algorithm: flow.algorithm.clone(),
                cgroup: cgroup.path().to_owned(),
                create: false,
                set: tunables(flow),
                as_name: alias(flow)?,
                enforce: false,
                replace: false,
            })?;
            policies.cgroup_ids.push(outcome.cgroup_id);
            policies.kernel_names.push(outcome.kernel_name);
        }
        Ok(policies)
    }
}

impl Drop for Policies<'_> {
    fn drop(&mut self) {
        for id in &self.cgroup_ids {
            if let Err(error) = self.loader.unload_id(*id) {
                tracing::warn!("cgroup {id}: policy not taken back: {error}");
            }
        }
    }
}

fn tunables(flow: &FlowSpec) -> Vec<(String, String)> {
    flow.set.iter().map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Kernel name of a flow whose tunables are not the defaults. The same tunables give the same name, so that
/// flows, and benches that run at the same time, share one struct_ops.
fn alias(flow: &FlowSpec) -> Result<Option<String>> {
    const STEM_BYTES: usize = 9;
    if flow.alias.is_some() || flow.set.is_empty() {
        return Ok(flow.alias.clone());
    }
    let Choice::Registry { algorithm, tunables, .. } = Choice::parse(&flow.algorithm, &tunables(flow), None)? else {
        return Ok(None);
    };
    // FNV-1a over the values as stored: 1.3 and 1.30 are the same.
    let mut hash: u32 = 0x811c_9dc5;
    for (tunable, raw) in tunables {
        for byte in tunable.name.bytes().chain(raw.to_le_bytes()) {
            hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
        }
    }
    let stem = &algorithm.kernel_name[..algorithm.kernel_name.len().min(STEM_BYTES)];
    Ok(Some(format!("{stem}_{:05x}", (hash ^ (hash >> 20)) & 0xf_ffff)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;

    fn alias_of(lines: &str) -> Option<String> {
        let text = format!(
            "duration = \"1s\"\n[link]\nrate = \"1Mbit/s\"\nbase_rtt = \"10ms\"\nbuffer = \"10p\"\n[[flow]]\nname = \"a\"\n{lines}"
        );
        alias(&Scenario::parse("test.toml", &text).unwrap().flows[0]).unwrap()
    }

    #[test]
    fn tunables_have_one_name_each() {
        assert_eq!(alias_of("algorithm = \"f-bbrv2\""), None);
        assert_eq!(alias_of("algorithm = \"f-bbrv2\"\nset = { alpha = 1.3 }\nas = \"mine\""), Some("mine".to_owned()));
        let one = alias_of("algorithm = \"f-bbrv2\"\nset = { alpha = 1.3 }").unwrap();
        assert_eq!(alias_of("algorithm = \"f-bbrv2\"\nset = { alpha = 1.30 }").as_ref(), Some(&one));
        assert_ne!(alias_of("algorithm = \"f-bbrv2\"\nset = { alpha = 1.4 }").as_ref(), Some(&one));
        assert!(one.starts_with("f_bbrv2_") && one.len() <= 15, "{one}");
    }
}
