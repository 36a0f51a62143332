//! A host on paper, for the tests of the plan.

use crate::cgroup::Mount;
use crate::fleet::file::PolicyFile;
use crate::fleet::observed::Observed;
use crate::fleet::plan::Plan;
use crate::{Choice, PolicyStatus, State, TunableSetting};
use std::collections::{BTreeMap, HashSet};
use std::io::Write;
use std::path::{Path, PathBuf};

const ROOT: &str = "/sys/fs/cgroup/unified";

pub(crate) struct Host {
    observed: Observed,
}

impl Host {
    pub(crate) fn new() -> Self {
        Self {
            observed: Observed {
                policies: Vec::new(),
                missing: HashSet::new(),
                to_move: BTreeMap::new(),
                mount: mount(),
            },
        }
    }

    pub(crate) fn policy(self, cgroup: &str, algorithm: &str, set: &[(&str, &str)], name: &str) -> Self {
        self.with(Some(directory(cgroup)), algorithm, set, name, State::Active)
    }

    pub(crate) fn state(self, cgroup: &str, algorithm: &str, name: &str, state: State) -> Self {
        self.with(Some(directory(cgroup)), algorithm, &[], name, state)
    }

    pub(crate) fn removed(self, algorithm: &str, name: &str) -> Self {
        self.with(None, algorithm, &[], name, State::CgroupRemoved)
    }

    /// Its cgroup exists where this process does not see it.
    pub(crate) fn out_of_sight(self, algorithm: &str, name: &str) -> Self {
        self.with(None, algorithm, &[], name, State::Active)
    }

    pub(crate) fn missing(mut self, cgroup: &str) -> Self {
        self.observed.missing.insert(directory(cgroup));
        self
    }

    /// The policy that was added last overrules what applications choose.
    pub(crate) fn enforced(mut self) -> Self {
        self.observed.policies.last_mut().expect("a policy").enforce = true;
        self
    }

    /// So many live sockets do not have what the policy that was added last says.
    pub(crate) fn still_to_move(mut self, sockets: u64) -> Self {
        let id = self.observed.policies.last().expect("a policy").cgroup_id;
        self.observed.to_move.insert(id, sockets);
        self
    }

    pub(crate) fn plan(&self, text: &str) -> Plan {
        Plan::new(&parse(text), &self.observed, false)
    }

    pub(crate) fn plan_with_prune(&self, text: &str) -> Plan {
        Plan::new(&parse(text), &self.observed, true)
    }

    fn with(
        mut self,
        cgroup: Option<PathBuf>,
        algorithm: &str,
        set: &[(&str, &str)],
        name: &str,
        state: State,
    ) -> Self {
        let set: Vec<_> = set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let choice = Choice::parse(algorithm, &set, Some(name).filter(|name| !name.is_empty())).unwrap();
        self.observed.policies.push(PolicyStatus {
            cgroup,
            cgroup_id: self.observed.policies.len() as u64 + 100,
            algorithm: choice.algorithm_name(),
            known: None,
            kernel_name: choice.kernel_name().to_owned(),
            tunables: choice.tunables().iter().map(|&(tunable, raw)| TunableSetting { tunable, raw }).collect(),
            attached_since: "2026-11-21T15:00:00Z".to_owned(),
            state,
            enforce: false,
            canary: None,
            mended: 0,
        });
        self
    }
}

fn directory(cgroup: &str) -> PathBuf {
    Path::new(ROOT).join(cgroup.trim_start_matches('/'))
}

fn parse(text: &str) -> PolicyFile {
    PolicyFile::parse("policy.toml", text, &mount()).unwrap()
}

pub(crate) fn mount() -> Mount {
    let mut table = tempfile::NamedTempFile::new().unwrap();
    writeln!(table, "cgroup2 {ROOT} cgroup2 rw 0 0").unwrap();
    Mount::find(table.path()).unwrap()
}
