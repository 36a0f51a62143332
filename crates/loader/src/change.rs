//! What every change of a policy is made of: write the policy, bring the live sockets to it, clear the flag. The policy
//! is the state; whoever finds the flag of a killed process reconciles again.

use crate::error::Result;
use crate::fault;
use crate::history::{self, History};
use crate::loader::Loader;
use crate::migrate::{Migrator, Pass, Scope};
use crate::netns::Namespaces;
use crate::policy::Policies;
use crate::policy_state::{Given, Policy, Stage};
use crate::request::Choice;
use crate::time::unix_ns;
use ccactl_abi::layout::{MOVE_DUE, MOVE_FAILED, MOVE_LOCKED, MOVE_MOVED, MOVE_REFUSED, MOVE_THERE, Socket};
use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

/// A child of a listener that was cloned before its listener was moved, and put into the table after the iterator had
/// passed, is found by the next pass. It takes a few microseconds to be born, so one repetition is enough; the others
/// are for a host that is busy with more than that.
const PASSES: u32 = 4;

/// The live sockets of a cgroup after they were brought to their policy.
#[derive(Debug, Default)]
pub(crate) struct Reconciled {
    /// Each socket once, with what became of it over all passes.
    pub(crate) sockets: Vec<Socket>,
    /// Sockets that are to have an algorithm by the policy, as read back by the last pass.
    pub(crate) due: u64,
    /// How many of them have it.
    pub(crate) verified: u64,
    pub(crate) namespaces: usize,
    /// The first pass, which moves.
    pub(crate) iteration: Duration,
}

impl Loader {
    /// A policy for new sockets, made now.
    pub(crate) fn policy_for(&self, choice: &Choice, enforce: bool, cgroup: &Path) -> Policy {
        Policy {
            given: Given::new(choice),
            canary: None,
            stage: Stage::Settled,
            enforce,
            attached_unix_ns: unix_ns(),
            level: self.mount.level(cgroup),
            mended: 0,
        }
    }

    /// Notes what is in force before it is replaced: before other code comes behind its name, if that may happen. What
    /// turns out to be in force still is passed over by a rollback.
    pub(crate) fn remember(&self, id: u64, before: Option<&Policy>) -> Result<()> {
        History::ensure(&self.paths, id)?.push(history::present(&self.paths, before)?)
    }

    /// Writes a policy and brings the live sockets of the cgroup to it.
    pub(crate) fn transition(&self, id: u64, cgroup: Option<&Path>, policy: &Policy) -> Result<Reconciled> {
        let policies = Policies::required(&self.paths)?;
        policies.set(id, &policy.moving())?;
        fault::point("policy");
        let reconciled = self.reconcile(id, policy.level, cgroup)?;
        fault::point("moved");
        policies.set(id, &policy.settled())?;
        fault::point("settled");
        Ok(reconciled)
    }

    /// Brings the live sockets of a cgroup to its policy as it stands, and reads each of them back.
    pub(crate) fn reconcile(&self, id: u64, level: u32, cgroup: Option<&Path>) -> Result<Reconciled> {
        let migrator = Migrator::load(&self.paths, Scope::Policy { id, level }, cgroup)?;
        if !Namespaces::is_host_seen() {
            tracing::warn!(
                "in a pid namespace of its own: sockets in network namespaces of other processes are out of reach"
            );
        }
        let mut result = Reconciled::default();
        let mut sockets: HashMap<u64, Socket> = HashMap::new();
        for number in 0..PASSES {
            let moved = migrator.move_all()?;
            if number == 0 {
                result.iteration = moved.iteration;
            }
            merge(&mut sockets, &moved);
            let seen = migrator.look()?;
            result.namespaces = seen.namespaces;
            result.verified = count(&seen, |socket| socket.result == MOVE_THERE);
            result.due = result.verified + count(&seen, |socket| socket.result == MOVE_DUE);
            let is_final = |socket: &Socket| matches!(socket.result, MOVE_REFUSED | MOVE_FAILED | MOVE_LOCKED);
            let is_missed =
                |socket: &Socket| socket.result == MOVE_DUE && !sockets.get(&socket.flow_id).is_some_and(is_final);
            if !seen.sockets.iter().any(is_missed) {
                break;
            }
        }
        result.sockets = sockets.into_values().collect();
        Ok(result)
    }
}

fn count(pass: &Pass, wanted: impl Fn(&Socket) -> bool) -> u64 {
    pass.sockets.iter().filter(|socket| wanted(socket)).count() as u64
}

/// A socket that was moved stays "moved" when a later pass finds it where it is to be.
fn merge(sockets: &mut HashMap<u64, Socket>, pass: &Pass) {
    for &socket in &pass.sockets {
        sockets
            .entry(socket.flow_id)
            .and_modify(|known| {
                if known.result != MOVE_MOVED || socket.result != MOVE_THERE {
                    let before = known.before;
                    *known = socket;
                    known.before = before;
                }
            })
            .or_insert(socket);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytemuck::Zeroable;
    use ccactl_abi::layout::name_bytes;

    #[test]
    fn a_later_pass_does_not_hide_that_a_socket_was_moved() {
        let socket = |flow_id, result, before: &str| Socket {
            flow_id,
            result,
            before: name_bytes(before).unwrap(),
            ..Socket::zeroed()
        };
        let pass = |sockets| Pass { sockets, ..Pass::default() };
        let mut merged = HashMap::new();
        merge(&mut merged, &pass(vec![socket(1, MOVE_MOVED, "a"), socket(2, MOVE_THERE, "b")]));
        merge(&mut merged, &pass(vec![socket(1, MOVE_THERE, "b"), socket(2, MOVE_MOVED, "a"), socket(3, 0, "c")]));
        assert_eq!(merged[&1], socket(1, MOVE_MOVED, "a"));
        assert_eq!(merged[&2], socket(2, MOVE_MOVED, "b"));
        assert_eq!(merged.len(), 3);
    }
}
