//! What the live sockets of this host really have, for `status`.

use crate::bpffs;
use crate::error::Result;
use crate::loader::Loader;
use crate::migrate::{Migrator, Scope};
use crate::outcome::Counts;
use crate::policy::Policies;
use crate::sockets::{SocketOutcome, SocketReport};
use ccactl_abi::layout::{SOCKET_MARKED, Socket, name_str};
use ccactl_host::state::Change;
use std::collections::BTreeMap;
use std::path::Path;

/// The live sockets that one policy decides about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PolicyCensus {
    /// By the kernel name that they have.
    pub by_algorithm: BTreeMap<String, u64>,
    /// By their relation to the policy; `moved` counts those that a swap would move.
    pub counts: Counts,
    /// Among those that a swap would move: with the name that they are to have, but older code.
    pub old_code: u64,
}

/// All live sockets of this host that ccactl has to do with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Census {
    /// By the id of the cgroup whose policy decides.
    pub policies: BTreeMap<u64, PolicyCensus>,
    /// Sockets of no policy with an algorithm that ccactl has registered, by its kernel name.
    pub elsewhere: BTreeMap<String, u64>,
    /// Sockets of no policy that carry a note of ccactl, because it has given them back what they had.
    pub noted: u64,
    /// Whether such notes are kept although no open socket has one any more.
    pub has_stale_notes: bool,
}

impl Loader {
    /// Counts the live sockets of this host; changes nothing.
    ///
    /// # Errors
    /// A pin that cannot be read, or an iterator that the kernel refuses.
    pub fn census(&self) -> Result<Census> {
        let mut census = Census::default();
        let mut by_policy: BTreeMap<u64, Vec<Socket>> =
            Policies::all(&self.paths)?.into_iter().map(|(id, _)| (id, Vec::new())).collect();
        let ours = bpffs::names(&self.paths.algorithms())?;
        for socket in self.touched_sockets()? {
            let name = name_str(&socket.after);
            match by_policy.get_mut(&socket.policy_id) {
                Some(sockets) => sockets.push(socket),
                None if socket.table_id != 0 && ours.iter().any(|other| other == name) => {
                    *census.elsewhere.entry(name.to_owned()).or_default() += 1;
                }
                None => census.noted += u64::from(socket.flags & SOCKET_MARKED != 0),
            }
        }
        census.has_stale_notes = by_policy.is_empty()
            && census.noted == 0
            && census.elsewhere.is_empty()
            && self.paths.marks().exists()
            && Change::holder(&self.paths.bpffs)?.is_none();
        census.policies = by_policy.into_iter().map(|(id, sockets)| (id, PolicyCensus::of(&sockets))).collect();
        Ok(census)
    }

    /// Every live socket that the policy of a cgroup decides about; changes nothing.
    ///
    /// # Errors
    /// [`crate::Error::NoPolicy`], and those of [`Loader::census`].
    pub fn sockets(&self, cgroup: &Path) -> Result<Vec<SocketReport>> {
        let target = self.target(cgroup)?;
        let scope = Scope::Policy { id: target.id, level: target.before.level };
        let pass = Migrator::load(&self.paths, scope, Some(&target.path))?.look()?;
        Ok(pass.sockets.iter().map(SocketReport::new).collect())
    }
}

impl PolicyCensus {
    fn of(sockets: &[Socket]) -> Self {
        let mut census = Self { counts: Counts::of(sockets), ..Self::default() };
        for report in sockets.iter().map(SocketReport::new) {
            let is_old = report.outcome == SocketOutcome::Due && report.wanted.as_ref() == Some(&report.after);
            census.old_code += u64::from(is_old);
            *census.by_algorithm.entry(report.after).or_default() += 1;
        }
        census
    }
}
