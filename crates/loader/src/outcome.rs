//! What became of the live sockets, counted and read back.

use crate::change::Reconciled;
use crate::sockets::{SocketOutcome, SocketReport};
use ccactl_abi::layout::{
    MOVE_APPLICATION, MOVE_DUE, MOVE_FAILED, MOVE_LOCKED, MOVE_MOVED, MOVE_REFUSED, MOVE_THERE, Socket,
};
use nix::errno::Errno;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// Live sockets by what became of them. Serialized under the same names wherever they are shown.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Have the algorithm now. In a dry run: would get it.
    pub moved: u64,
    /// Had it already.
    #[serde(rename = "already_there")]
    pub there: u64,
    /// Left alone, because the application chose the algorithm.
    #[serde(rename = "application_chosen")]
    pub application: u64,
    /// Their route fixes the algorithm.
    #[serde(rename = "route_locked")]
    pub locked: u64,
    /// The algorithm does not serve them: dctcp and prague need ECN, and the connection has none.
    #[serde(rename = "refused_by_algorithm")]
    pub refused: u64,
    /// The kernel refused, by errno; serialized by its name.
    #[serde(serialize_with = "by_name")]
    pub failed: BTreeMap<i32, u64>,
}

impl Counts {
    pub(crate) fn of(sockets: &[Socket]) -> Self {
        let mut counts = Self::default();
        for socket in sockets {
            match socket.result {
                MOVE_MOVED | MOVE_DUE => counts.moved += 1,
                MOVE_THERE => counts.there += 1,
                MOVE_APPLICATION => counts.application += 1,
                MOVE_LOCKED => counts.locked += 1,
                MOVE_REFUSED => counts.refused += 1,
                MOVE_FAILED => *counts.failed.entry(socket.error).or_default() += 1,
                _ => {}
            }
        }
        counts
    }

    /// Every live socket that the policy covers.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.moved + self.there + self.application + self.not_moved()
    }

    /// Sockets that should have been moved and could not be.
    #[must_use]
    pub fn not_moved(&self) -> u64 {
        self.locked + self.refused + self.failed.values().sum::<u64>()
    }

    /// Whether every socket that was to be moved was moved.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.not_moved() == 0
    }
}

fn by_name<S: Serializer>(failed: &BTreeMap<i32, u64>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(failed.iter().map(|(errno, count)| (format!("{:?}", Errno::from_raw(*errno)), count)))
}

/// Sockets read back after the change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Verification {
    /// Sockets that are to have the algorithm of the policy: all but application-chosen, route-locked and refused ones.
    pub sockets: u64,
    /// Those that have it, name and code.
    pub verified: u64,
}

impl Verification {
    pub(crate) fn of(reconciled: &Reconciled) -> Self {
        Self { sockets: reconciled.due, verified: reconciled.verified }
    }

    /// Whether all of them have it.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.verified == self.sockets
    }
}

/// Result of a swap, a rollback, or the end of a canary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwapOutcome {
    /// As the user writes it: `f-bbrv2`, `native:cubic`.
    pub algorithm: String,
    /// As sockets show it: `f_bbrv2`.
    pub kernel_name: String,
    /// Kernel name that new sockets got before.
    pub from: String,
    /// Directory of the cgroup.
    pub cgroup: PathBuf,
    /// The kernel's id of the cgroup.
    pub cgroup_id: u64,
    /// Whether new sockets get something else than before.
    pub policy_changed: bool,
    /// Whether nothing was changed because only the answer was wanted.
    pub dry_run: bool,
    /// What became of the live sockets.
    pub counts: Counts,
    /// What reading them back has shown; `None` when no live socket was to be moved.
    pub verification: Option<Verification>,
    /// Network namespaces that were looked at.
    pub namespaces: usize,
    /// Time that the moving pass spent in the kernel's iterator.
    pub iteration: Duration,
    /// The sockets that do not have the algorithm now.
    pub left: Vec<SocketReport>,
}

impl SwapOutcome {
    /// Whether every live socket that was to be moved has the algorithm, as read back.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.counts.is_complete() && self.verification.is_none_or(|verification| verification.is_complete())
    }

    pub(crate) fn with(self, reconciled: &Reconciled) -> Self {
        Self {
            counts: Counts::of(&reconciled.sockets),
            verification: (!self.dry_run).then(|| Verification::of(reconciled)),
            namespaces: reconciled.namespaces,
            iteration: reconciled.iteration,
            left: left(&reconciled.sockets),
            ..self
        }
    }
}

/// Sockets that are not where the policy wants them, in a stable order.
fn left(sockets: &[Socket]) -> Vec<SocketReport> {
    let is_left = |report: &SocketReport| {
        !matches!(report.outcome, SocketOutcome::There | SocketOutcome::Moved | SocketOutcome::Due)
    };
    let mut left: Vec<_> = sockets.iter().map(SocketReport::new).filter(is_left).collect();
    left.sort_by_key(|report| report.flow_id);
    left
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytemuck::Zeroable;

    #[test]
    fn each_kind_of_socket_is_counted_once_and_only_failures_make_a_swap_incomplete() {
        let results =
            [MOVE_MOVED, MOVE_MOVED, MOVE_THERE, MOVE_APPLICATION, MOVE_LOCKED, MOVE_REFUSED, MOVE_FAILED, MOVE_FAILED];
        let errors = [0, 0, 0, 0, 0, 0, 16, 2];
        let sockets: Vec<_> = results
            .into_iter()
            .zip(errors)
            .map(|(result, error)| Socket { result, error, ..Socket::zeroed() })
            .collect();
        let counts = Counts::of(&sockets);
        assert_eq!((counts.moved, counts.there, counts.application, counts.locked, counts.refused), (2, 1, 1, 1, 1));
        assert_eq!(counts.failed, BTreeMap::from([(2, 1), (16, 1)]));
        assert_eq!((counts.total(), counts.not_moved()), (8, 4));
        assert!(!counts.is_complete());
        assert!(Counts::of(&sockets[..4]).is_complete());
        assert_eq!(left(&sockets).len(), 5);
    }
}
