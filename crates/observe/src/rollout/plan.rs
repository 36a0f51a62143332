//! What is checked before a canary changes anything.

use crate::rollout::error::{Error, Result};
use crate::rollout::request::CanaryRequest;
use crate::rollout::share::Share;
use crate::rollout::verdict::CONSECUTIVE;
use crate::rollout::watch::Subject;
use ccactl_loader::{Choice, Loader, SocketOutcome, SocketReport, SwapRequest, SwapScope};
use std::time::Duration;

/// A shorter watch would end before a guard could hold [`CONSECUTIVE`] times.
const MIN_WATCH: Duration = Duration::from_secs(CONSECUTIVE as u64);

/// A request that can be carried out.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) choice: Choice,
    pub(crate) subject: Subject,
    /// Sockets of both groups.
    pub(crate) sockets: u64,
}

impl Plan {
    /// Checks the request against itself and against the host; changes nothing.
    pub(crate) fn check(loader: &Loader, request: &CanaryRequest) -> Result<Plan> {
        if request.guards.is_empty() {
            return Err(Error::NoGuard);
        }
        for (option, length) in [("--watch", Some(request.watch)), ("--aa", request.same)] {
            if let Some(found) = length.filter(|length| *length < MIN_WATCH) {
                return Err(Error::WatchTooShort { option, found, needed: MIN_WATCH });
            }
        }
        if !CanaryRequest::LEASES.contains(&request.lease) {
            return Err(Error::Lease { found: request.lease, expected: CanaryRequest::LEASES });
        }
        let choice = request.swap.load.choice.clone();
        // Whatever a swap would refuse is refused here, with the same words.
        let rehearsal = loader.swap(&SwapRequest { dry_run: true, scope: SwapScope::All, ..request.swap.clone() })?;
        if rehearsal.from == rehearsal.kernel_name {
            return Err(ccactl_loader::Error::CanaryIsBaseline { kernel_name: rehearsal.kernel_name }.into());
        }
        let subject = Subject { cgroup: rehearsal.cgroup, cgroup_id: rehearsal.cgroup_id, baseline: rehearsal.from };
        let enforce = request.swap.load.enforce;
        let sockets = loader.sockets(&subject.cgroup)?;
        let movable = sockets.iter().filter(|socket| is_movable(socket, enforce)).map(|socket| socket.flow_id);
        let sockets = check_numbers(movable, request.share, request.min_flows)?;
        Ok(Plan { choice, subject, sockets })
    }
}

/// Whether a canary may move the socket, and whether data can still flow from it.
fn is_movable(socket: &SocketReport, enforce: bool) -> bool {
    let sends = matches!(socket.state, "ESTAB" | "CLOSE-WAIT");
    let obeys = match socket.outcome {
        SocketOutcome::There | SocketOutcome::Due | SocketOutcome::Moved => true,
        SocketOutcome::Application => enforce,
        _ => false,
    };
    sends && obeys
}

/// Whether both groups have enough of these sockets; how many there are.
fn check_numbers(cookies: impl Iterator<Item = u64>, share: Share, needed: u64) -> Result<u64> {
    let (canary, baseline): (Vec<u64>, Vec<u64>) = cookies.partition(|cookie| share.covers(*cookie));
    let (canary, baseline) = (canary.len() as u64, baseline.len() as u64);
    let live = canary + baseline;
    if canary >= needed && baseline >= needed {
        return Ok(live);
    }
    let remedy = match (live >= 2 * needed, canary < needed) {
        (false, _) => "a smaller --min-flows lets so few decide",
        (true, true) => "a larger --canary, or a smaller --min-flows",
        (true, false) => "a smaller --canary, or a smaller --min-flows",
    };
    Err(Error::TooFewSockets { live, share, canary, baseline, needed, remedy })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(live: u64, share: &str, needed: u64) -> String {
        check_numbers(1..=live, share.parse().unwrap(), needed).expect_err("too few").to_string()
    }

    #[test]
    fn both_groups_need_their_sockets() {
        assert_eq!(check_numbers(1..=100, "50%".parse().unwrap(), 40).unwrap(), 100);
        assert!(message(20, "10%", 5).ends_with("needed are 5 in each; a larger --canary, or a smaller --min-flows"));
        assert!(message(20, "90%", 5).ends_with("a smaller --canary, or a smaller --min-flows"));
        assert_eq!(
            message(4, "50%", 5),
            "canary with too few sockets: of 4 live ones that may move, 50 % are 2 for the canary and 2 for the \
             baseline, needed are 5 in each; a smaller --min-flows lets so few decide"
        );
    }
}
