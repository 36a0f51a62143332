//! The recording of a run, and what it says about the flows.

use crate::emulator::{Access, address};
use crate::error::Result;
use crate::host::cgroup::Cgroup;
use ccactl_collector::{
    CgroupFilter, Every, FlowInfo, KnownAlgorithm, Link, Metadata, Output, RecordOptions, Recorder, Summary,
};
use ccactl_loader::Loader;
use ccactl_report::RecordingSummary;
use ccactl_scenario::units::Span;
use ccactl_scenario::{Direction, FlowPath, FlowSpec, LINK, Scenario};
use std::collections::BTreeMap;
use std::path::Path;

/// Name of the file in the folder of a run.
pub const RECORDING_FILE: &str = "recording.parquet";

/// A running recorder that always ends in order, as it has programs and pins to take back.
pub struct Recording(Option<Recorder>);

impl Recording {
    /// Starts to record the flows of a run: their senders' cgroups, and those of clients with a receiving algorithm.
    pub fn start(
        file: &Path,
        scenario: &Scenario,
        loader: &Loader,
        parent: &Cgroup,
        cgroups: (&[Cgroup], &[Option<Cgroup>]),
    ) -> Result<Recording> {
        let mut options = RecordOptions::new(Output::File(file.to_owned()));
        options.cgroup = Some(CgroupFilter {
            path: loader.mount().display(parent.path()),
            id: parent.id(),
            level: loader.mount().level(parent.path()),
        });
        options.every = scenario.every.parse::<Every>().expect("checked with the scenario");
        let clients = cgroups.1.iter().map(|cgroup| cgroup.as_ref().map(Cgroup::id));
        options.metadata =
            metadata(scenario, &cgroups.0.iter().map(Cgroup::id).collect::<Vec<_>>(), &clients.collect::<Vec<_>>());
        options.loaded = loaded(loader)?;
        Ok(Recording(Some(Recorder::start(options)?)))
    }

    /// Rows recorded so far.
    pub fn rows(&self) -> u64 {
        self.0.as_ref().map_or(0, |recorder| recorder.progress().rows)
    }

    /// Whether it has ended by itself; [`Recording::finish`] tells why.
    pub fn has_ended(&self) -> bool {
        self.0.as_ref().is_some_and(Recorder::is_finished)
    }

    /// Ends it and waits for its file.
    pub fn finish(mut self) -> Result<Summary> {
        let recorder = self.0.take().expect("taken only here and in drop");
        Ok(recorder.stop()?)
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        if let Some(recorder) = self.0.take()
            && let Err(error) = recorder.stop()
        {
            tracing::warn!("recording: {error}");
        }
    }
}

/// A propagation delay in µs.
pub fn base_rtt_us(rtt: Span) -> f64 {
    rtt.ns as f64 / 1000.0
}

/// How the data of a flow pass the bottleneck, in the words of `ccactl.flows`.
fn way(scenario: &Scenario, flow: &FlowSpec) -> &'static str {
    let (paths, passes) = (scenario.paths_of(flow), |path: &FlowPath<'_>| path.links.iter().any(|link| link == LINK));
    match flow.direction {
        _ if paths.iter().all(|path| !passes(path)) => "beside",
        _ if !paths.iter().all(passes) => "partly",
        Direction::Upload => "up",
        Direction::Download => "down",
    }
}

/// Names of the paths of an MPTCP flow by their addresses.
fn paths(scenario: &Scenario, number: usize) -> BTreeMap<String, String> {
    let accesses = Access::all(scenario);
    let addresses =
        (0..).zip(&accesses).filter(|(_, access)| access.host == number).map(|(index, _)| address::host(index));
    let named = addresses.zip(scenario.paths_of(&scenario.flows[number]));
    named.filter_map(|(address, path)| Some((address.to_string(), path.name?.to_owned()))).collect()
}

/// What a recording of these flows says beside its rows: `senders` by flow, and `clients` where they are recorded too.
pub fn metadata(scenario: &Scenario, senders: &[u64], clients: &[Option<u64>]) -> Metadata {
    let link = &scenario.link;
    let described = |(number, cgroup_id): (usize, u64)| {
        let flow = &scenario.flows[number];
        FlowInfo {
            cgroup_id,
            name: flow.name.clone(),
            algorithm: Some(flow.algorithm.clone()),
            base_rtt_us: (!flow.is_mptcp()).then(|| base_rtt_us(scenario.base_rtt(flow))),
            paths: paths(scenario, number),
            way: Some(way(scenario, flow).to_owned()),
        }
    };
    let client = |(number, cgroup_id): (usize, &Option<u64>)| {
        let algorithm = scenario.flows[number].receive.clone();
        Some(FlowInfo { algorithm, ..described((number, (*cgroup_id)?)) })
    };
    let senders = senders.iter().copied().enumerate().map(described);
    Metadata {
        flows: Some(senders.chain(clients.iter().enumerate().filter_map(client)).collect()),
        link: Some(Link {
            rate_bps: link.rate.bps as f64,
            mean_rate_bps: Some(link.mean_rate_bps(scenario.duration)),
            base_rtt_us: Some(base_rtt_us(link.base_rtt)),
            buffer_bytes: Some(link.buffer_bytes() as f64),
            overhead_bytes: link.overhead_bytes.into(),
        }),
        scenario: Some(scenario.to_toml()),
        ..Metadata::default()
    }
}

/// What the recorder is to know about kernel names that the registry does not have.
fn loaded(loader: &Loader) -> Result<Vec<KnownAlgorithm>> {
    let known = loader.status()?.into_iter().filter_map(|policy| {
        let algorithm = policy.known?;
        let values = policy.tunables.iter().map(|t| (t.tunable.name.to_owned(), t.tunable.display(t.raw)));
        Some(KnownAlgorithm { kernel_name: policy.kernel_name, algorithm, tunables: values.collect() })
    });
    let mut by_name = BTreeMap::new();
    known.for_each(|algorithm| {
        by_name.insert(algorithm.kernel_name.clone(), algorithm);
    });
    Ok(by_name.into_values().collect())
}

/// The figures of a finished recording.
pub fn summarize(file: &Path) -> Result<RecordingSummary> {
    let recordings = ccactl_report::open_all(&[file.to_owned()])?;
    let summary = ccactl_report::summarize(&recordings, &ccactl_report::Options::default())?;
    Ok(summary.recordings.into_iter().next().expect("one recording gives one summary"))
}
