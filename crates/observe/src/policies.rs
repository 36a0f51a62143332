//! The policies in force as `ccactl status --json` and `ccactl serve` tell them.

use ccactl_abi::Tunable;
use ccactl_host::capabilities::Capability;
use ccactl_loader::{Census, FormerPolicy, Loader, PolicyCensus, PolicyStatus, State};
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// What a pass over the sockets of the policies needs, again and again. CAP_SYS_ADMIN loads an iterator and enters the
/// network namespaces of others, CAP_SYS_PTRACE finds those, CAP_DAC_READ_SEARCH finds a cgroup by its id. The recorder
/// itself needs none.
pub(crate) const NEEDED: &[Capability] =
    &[Capability::CAP_SYS_ADMIN, Capability::CAP_SYS_PTRACE, Capability::CAP_DAC_READ_SEARCH];

/// The policy of one cgroup.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PolicyRow {
    /// Relative to the cgroup2 mount; null when the cgroup was removed.
    pub cgroup: Option<String>,
    /// The kernel's id of it.
    pub cgroup_id: u64,
    /// Row of the registry.
    pub algorithm: String,
    /// Hash of the object, when it is not one that this ccactl has built in.
    pub object: Option<String>,
    /// Names what the policy does, as `ccactl check FILE` does for a file; null when nothing is registered under its name.
    pub revision: Option<String>,
    /// As the kernel names the algorithm.
    pub kernel_name: String,
    /// All of them, with the values in force.
    pub tunables: Map<String, Value>,
    /// Whether sockets that choose another algorithm are given this one.
    pub enforce: bool,
    /// RFC 3339, UTC.
    pub attached_since: String,
    /// `active`, or what is wrong.
    pub state: &'static str,
    /// A second algorithm for a share of the sockets.
    pub canary: Option<CanaryRow>,
    /// How often `apply --watch` has put it back.
    pub mended: u32,
    /// Its live sockets.
    pub sockets: SocketsRow,
    /// Latest first; only where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub history: Option<Vec<FormerRow>>,
}

/// What the cgroup had until something else took its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FormerRow {
    /// Null: no policy.
    pub kernel_name: Option<String>,
    /// RFC 3339, UTC.
    pub until: String,
    /// As in [`PolicyRow`].
    pub enforce: bool,
}

/// The algorithm that a share of a cgroup's sockets has on trial.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CanaryRow {
    /// As the kernel names it.
    pub kernel_name: String,
    /// From 0 to 1.
    pub share: f64,
    /// RFC 3339, UTC.
    pub since: String,
    /// Whether its watcher lives.
    pub watched: bool,
    /// How long new connections go on getting it unless the watcher renews its lease; null when it has run out.
    pub lease_s: Option<f64>,
}

/// Live sockets that the policy decides about, as read from the kernel now.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SocketsRow {
    /// All of them, listening ones included.
    pub total: u64,
    /// With what the policy says.
    pub as_policy: u64,
    /// A swap would move them.
    pub not_moved: u64,
    /// Of these: the name of the policy, but older code.
    pub old_code: u64,
    /// With what their application chose.
    pub application_chosen: u64,
    /// With what their route fixes.
    pub route_locked: u64,
    /// The algorithm does not serve them, as they have no ECN.
    pub refused_by_algorithm: u64,
    /// How many have which, by kernel name.
    pub by_algorithm: BTreeMap<String, u64>,
}

impl PolicyRow {
    /// Without its history.
    #[must_use]
    pub fn new(loader: &Loader, status: &PolicyStatus, census: &Census) -> PolicyRow {
        let tunables = status.tunables.iter();
        PolicyRow {
            cgroup: status.cgroup.as_ref().map(|path| loader.mount().display(path)),
            cgroup_id: status.cgroup_id,
            algorithm: status.algorithm.clone(),
            object: status.known.filter(|known| !known.is_built_in()).map(|known| format!("{:016x}", known.hash())),
            revision: status.revision(),
            kernel_name: status.kernel_name.clone(),
            tunables: tunables.map(|set| (set.tunable.name.to_owned(), number(set.tunable, set.raw))).collect(),
            enforce: status.enforce,
            attached_since: status.attached_since.clone(),
            state: match status.state {
                State::Active => "active",
                State::CgroupRemoved => "cgroup-removed",
                State::Detached => "detached",
                State::Unregistered => "unregistered",
                State::Moving => "moving",
                State::Leaving => "leaving",
            },
            canary: status.canary.as_ref().map(|canary| CanaryRow {
                kernel_name: canary.kernel_name.clone(),
                share: canary.share,
                since: canary.since.clone(),
                watched: canary.is_watched,
                lease_s: canary.lease_left.map(|left| left.as_secs_f64()),
            }),
            mended: status.mended,
            sockets: census.policies.get(&status.cgroup_id).map(SocketsRow::from).unwrap_or_default(),
            history: None,
        }
    }

    /// Reads what the cgroup had before.
    ///
    /// # Errors
    /// Those of [`Loader::history`].
    pub fn read_history(&mut self, loader: &Loader) -> Result<(), ccactl_loader::Error> {
        self.history = Some(loader.history(self.cgroup_id)?.into_iter().map(FormerRow::from).collect());
        Ok(())
    }
}

impl From<FormerPolicy> for FormerRow {
    fn from(former: FormerPolicy) -> FormerRow {
        let FormerPolicy { kernel_name, until, enforce } = former;
        FormerRow { kernel_name, until, enforce }
    }
}

impl From<&PolicyCensus> for SocketsRow {
    fn from(census: &PolicyCensus) -> SocketsRow {
        let counts = &census.counts;
        SocketsRow {
            total: counts.total(),
            as_policy: counts.there,
            not_moved: counts.moved,
            old_code: census.old_code,
            application_chosen: counts.application,
            route_locked: counts.locked,
            refused_by_algorithm: counts.refused,
            by_algorithm: census.by_algorithm.clone(),
        }
    }
}

/// A tunable's value as the user writes it, as a JSON number.
///
/// # Panics
/// Never: a decimal number is JSON.
#[must_use]
pub fn number(tunable: &Tunable, raw: i64) -> Value {
    serde_json::from_str(&tunable.display(raw)).expect("a decimal number is JSON")
}
