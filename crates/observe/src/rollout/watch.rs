//! The rows of a watch: a recorder that keeps them as evidence, and the figures of both groups beside it.

use crate::rollout::decision::Recording;
use crate::rollout::groups::{Groups, Membership};
use crate::rollout::scope;
use crate::rollout::share::Share;
use ccactl_abi::layout::Sample;
use ccactl_collector::{
    Canary, CgroupFilter, Clock, Drops, Every, KnownAlgorithm, Output, RecordOptions, Recorder, Tap,
};
use ccactl_loader::{Choice, Loadable, Loader, PolicyStatus};
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// Rows per second that all sockets together make at most. The collector takes a multiple of it; so does a disk.
const MAX_ROWS_PER_S: u64 = 20_000;
/// A socket is never sampled more often than this: ten samples per second of a flow are plenty over a minute.
const MIN_INTERVAL: Duration = Duration::from_millis(100);
/// At least this many rows of a busy flow are wanted in a watch, whatever the number of sockets.
const ROWS_PER_WATCH: u32 = 10;

/// How often each socket is sampled. The interval is the same for the sockets of both groups: per ACK or per RTT, the
/// faster group, or the one with the shorter RTT, would have more say in its own figures.
pub(crate) fn sampling_interval(sockets: u64, watch: Duration) -> Duration {
    let bounded = Duration::from_secs(sockets) / MAX_ROWS_PER_S as u32;
    bounded.min(watch / ROWS_PER_WATCH).max(MIN_INTERVAL)
}

/// A cgroup whose sockets are watched.
#[derive(Debug, Clone)]
pub(crate) struct Subject {
    /// Directory.
    pub(crate) cgroup: PathBuf,
    pub(crate) cgroup_id: u64,
    /// Kernel name that its sockets have.
    pub(crate) baseline: String,
}

impl Subject {
    /// The cgroups that the subject's policy decides about.
    pub(crate) fn cgroups(&self, loader: &Loader) -> Result<HashSet<u64>, ccactl_loader::Error> {
        let own_policy = loader.status()?.iter().map(|policy| policy.cgroup_id).collect();
        Ok(scope::cgroups(&self.cgroup, &own_policy))
    }
}

/// A running watch. Dropping it ends the recording without waiting for its file.
pub(crate) struct Watch {
    recorder: Recorder,
    interval: Duration,
    /// Empty until the canary is in force.
    groups: Arc<Mutex<Option<Groups>>>,
    decided_ns: Arc<OnceLock<u64>>,
}

impl Watch {
    /// Starts to record every socket of the cgroup. Nothing is counted before [`Watch::begin`].
    pub(crate) fn record(
        loader: &Loader,
        subject: &Subject,
        canary: &Choice,
        share: Share,
        interval: Duration,
        file: &Path,
    ) -> crate::rollout::Result<Watch> {
        let groups: Arc<Mutex<Option<Groups>>> = Arc::default();
        let mut options = RecordOptions::new(Output::File(file.to_owned()));
        options.cgroup = Some(CgroupFilter {
            path: loader.mount().display(&subject.cgroup),
            id: subject.cgroup_id,
            level: loader.mount().level(&subject.cgroup),
        });
        options.every = Every::Interval(interval);
        // Where the loader keeps its state, so that both of them share the map of traces.
        options.bpffs.clone_from(&loader.paths().bpffs);
        options.loaded = known_algorithms(&loader.status()?, canary);
        options.metadata.canary = Some(Canary {
            baseline: subject.baseline.clone(),
            canary: canary.kernel_name().to_owned(),
            share: share.fraction(),
            decided_us: None,
        });
        let decided_ns = Arc::clone(&options.decided_ns);
        options.tap = Some(tap(Arc::clone(&groups)));
        Ok(Watch { recorder: Recorder::start(options)?, interval, groups, decided_ns })
    }

    /// Counts from `settle` after now on.
    pub(crate) fn begin(&self, membership: Membership, settle: Duration) {
        let start_ns = Clock::now().monotonic_ns + settle.as_nanos() as u64;
        *self.lock() = Some(Groups::new(membership, start_ns));
    }

    /// Looks at the figures as they are now.
    ///
    /// # Panics
    /// Before [`Watch::begin`].
    pub(crate) fn with_groups<T>(&self, look: impl FnOnce(&mut Groups) -> T) -> T {
        look(self.lock().as_mut().expect("the watch has begun"))
    }

    /// What sockets do from now on follows from the decision and was not compared.
    pub(crate) fn decided(&self) {
        self.decided_ns.get_or_init(|| Clock::now().monotonic_ns);
    }

    /// Whether the recording has ended by itself: writing has failed.
    pub(crate) fn has_ended(&self) -> bool {
        self.recorder.is_finished()
    }

    /// Rows lost so far.
    pub(crate) fn drops(&self) -> Drops {
        self.recorder.progress().drops
    }

    /// Ends the recording and waits for its file.
    pub(crate) fn finish(self) -> (Recording, Option<String>) {
        let interval_us = self.interval.as_micros() as u64;
        let (summary, problem) = match self.recorder.stop() {
            Ok(summary) => (Some(summary), None),
            Err(error) => (None, Some(error.to_string())),
        };
        let drops = summary.as_ref().map(|summary| summary.drops).unwrap_or_default();
        let recording = Recording {
            interval_us,
            rows: summary.as_ref().map_or(0, |summary| summary.rows),
            drops_ring_full: drops.ring_full_samples + drops.ring_full_events,
            drops_no_storage: drops.no_storage,
            path: summary.and_then(|summary| summary.path),
        };
        (recording, problem)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Groups>> {
        lock(&self.groups)
    }
}

fn tap(groups: Arc<Mutex<Option<Groups>>>) -> Tap {
    Arc::new(move |samples: &[Sample]| {
        if let Some(groups) = lock(&groups).as_mut() {
            groups.feed(samples);
        }
    })
}

/// The figures are sums: whoever panicked has left them as they were before or after a row.
fn lock(groups: &Mutex<Option<Groups>>) -> MutexGuard<'_, Option<Groups>> {
    groups.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the recording says about kernel names that the registry does not have.
fn known_algorithms(policies: &[PolicyStatus], canary: &Choice) -> Vec<KnownAlgorithm> {
    let mut by_name = BTreeMap::new();
    for policy in policies {
        if let Some(algorithm) = policy.known {
            let values = policy.tunables.iter().map(|set| (set.tunable.name.to_owned(), set.tunable.display(set.raw)));
            let kernel_name = policy.kernel_name.clone();
            by_name.insert(kernel_name.clone(), KnownAlgorithm { kernel_name, algorithm, tunables: values.collect() });
        }
    }
    if let Choice::Registry(Loadable { algorithm, kernel_name, tunables }) = canary {
        let mut known = KnownAlgorithm::with_defaults(algorithm);
        known.kernel_name.clone_from(kernel_name);
        known.tunables.extend(tunables.iter().map(|(tunable, raw)| (tunable.name.to_owned(), tunable.display(*raw))));
        by_name.insert(kernel_name.clone(), known);
    }
    by_name.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_keeps_the_rows_per_second_bounded_and_the_watch_long_enough() {
        let minute = Duration::from_secs(60);
        for (sockets, watch, expected_ms) in [
            (10, minute, 100),
            (2_000, minute, 100),
            (20_000, minute, 1_000),
            (100_000, minute, 5_000),
            (10_000_000, minute, 6_000),
            (10_000_000, Duration::from_millis(500), 100),
        ] {
            assert_eq!(sampling_interval(sockets, watch), Duration::from_millis(expected_ms), "{sockets}");
        }
    }
}
