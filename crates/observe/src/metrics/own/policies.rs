//! Whether the live sockets have what the policies of this host say, from a pass over them that changes nothing.

use crate::metrics::page::{Page, Pairs, pair};
use ccactl_loader::{Loader, PolicyCensus, PolicyStatus};
use std::time::{Duration, Instant};

/// A pass enters every network namespace and looks at every socket in it, so it is not made for each scrape.
const INTERVAL: Duration = Duration::from_secs(10);

/// Reads one count of a policy.
type Count = fn(&PolicyCensus) -> u64;

/// Gauges of a policy: which sockets swaps could not move, or nobody has moved.
const GAUGES: [(&str, &str, Count); 6] = [
    ("ccactl_policy_sockets", "Live sockets that a policy decides about, listening ones included.", |census| {
        census.counts.total()
    }),
    ("ccactl_policy_sockets_as_wanted", "Of these: with the algorithm of the policy.", |census| census.counts.there),
    (
        "ccactl_policy_sockets_to_move",
        "Of these: with another one, or with older code; `ccactl swap --existing` would move them.",
        |census| census.counts.moved,
    ),
    ("ccactl_policy_sockets_application_chosen", "Of these: with what their application chose.", |census| {
        census.counts.application
    }),
    (
        "ccactl_policy_sockets_route_locked",
        "Of these: with what their route fixes; a swap cannot move them.",
        |census| census.counts.locked,
    ),
    (
        "ccactl_policy_sockets_refused",
        "Of these: not served by the algorithm of the policy, as they have no ECN.",
        |census| census.counts.refused,
    ),
];

/// One policy.
struct Counted {
    pairs: Pairs,
    /// With hashes.
    revision: Pairs,
    census: PolicyCensus,
    mended: u32,
}

/// The latest pass.
pub(crate) struct PolicyScan {
    /// Opened once: what it asks for before anything else is given up when the exporter runs.
    loader: Result<Loader, ccactl_loader::Error>,
    begun: Option<Instant>,
    policies: Vec<Counted>,
    failures: u64,
    is_failing: bool,
}

impl PolicyScan {
    /// None yet.
    pub(crate) fn new() -> PolicyScan {
        PolicyScan { loader: Loader::open(), begun: None, policies: Vec::new(), failures: 0, is_failing: false }
    }

    /// Makes a pass when the latest one is too old.
    pub(crate) fn refresh(&mut self, now: Instant) {
        if self.begun.is_some_and(|begun| now - begun < INTERVAL) {
            return;
        }
        self.begun = Some(now);
        let counted = self.loader.as_ref().map_err(ToString::to_string);
        match counted.and_then(|loader| scan(loader).map_err(|error| error.to_string())) {
            Ok(policies) => {
                self.policies = policies;
                self.is_failing = false;
            }
            Err(error) => {
                // Old counts would look like the present ones.
                self.policies.clear();
                self.failures += 1;
                if !std::mem::replace(&mut self.is_failing, true) {
                    tracing::warn!("the sockets of the policies cannot be counted: {error}");
                }
            }
        }
    }

    /// Puts the latest pass onto the page.
    pub(crate) fn show(&self, page: &mut Page) {
        for (name, help, count) in GAUGES {
            page.gauge(
                name,
                help,
                self.policies.iter().map(|policy| (policy.pairs.clone(), count(&policy.census) as f64)),
            );
        }
        page.gauge(
            "ccactl_policy_revision_info",
            "1, with what a policy does as a hash, as `ccactl check FILE` shows it, and its code as another.",
            self.policies.iter().map(|policy| (policy.revision.clone(), 1.0)),
        );
        page.counter(
            "ccactl_policy_mended_total",
            "Times that `ccactl apply --watch` has put a policy back after another hand changed it.",
            self.policies.iter().map(|policy| (policy.pairs.clone(), f64::from(policy.mended))),
        );
        page.counter(
            "ccactl_policy_scan_failures_total",
            "Passes over the sockets of the policies that failed; without one the ccactl_policy_ gauges are absent.",
            [(vec![], self.failures as f64)],
        );
    }
}

fn scan(loader: &Loader) -> Result<Vec<Counted>, ccactl_loader::Error> {
    let status = loader.status()?;
    if status.is_empty() {
        return Ok(Vec::new());
    }
    let mut census = loader.census()?;
    // The policy of a removed cgroup affects nothing any more, and there may be several.
    let counted = |policy: PolicyStatus| {
        let cgroup = loader.mount().display(policy.cgroup.as_ref()?);
        let object = policy.known.map_or_else(String::new, |known| format!("{:016x}", known.hash()));
        let revision = policy.revision().unwrap_or_default();
        let pairs = vec![pair("cgroup", cgroup), pair("algorithm", policy.kernel_name)];
        let revision = [pairs.clone(), vec![pair("policy", revision), pair("object", object)]].concat();
        let census = census.policies.remove(&policy.cgroup_id).unwrap_or_default();
        Some(Counted { pairs, revision, census, mended: policy.mended })
    };
    Ok(status.into_iter().filter_map(counted).collect())
}
