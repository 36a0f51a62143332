//! The `ccactl.` keys of a recording (docs/schema.md).

use crate::counts::Drops;
use crate::options::RecordOptions;
use crate::recover::Survey;
use crate::rotate::PartCounts;
use ccactl_abi::TraceValue;
use ccactl_abi::layout::EVENTS;
use ccactl_recording::SCHEMA_VERSION;
use ccactl_recording::write::{Clock, EVENT_NAMES, KnownAlgorithm};
use nix::sys::utsname::uname;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// One element of `ccactl.algorithms`. Of a native algorithm only the kernel name is known.
#[derive(Serialize)]
struct AlgorithmEntry<'a> {
    kernel_name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    algorithm: Option<&'a str>,
    color: Option<&'a str>,
    modes: &'a [&'a str],
    v0: Option<TraceValue>,
    v1: Option<TraceValue>,
    tunables: &'a BTreeMap<String, String>,
}

static NO_TUNABLES: BTreeMap<String, String> = BTreeMap::new();

/// `ccactl.algorithms` for these algorithms and for kernel names that nobody knows.
pub(crate) fn algorithms_json<'a>(
    known: impl Iterator<Item = &'a KnownAlgorithm>,
    unknown: impl Iterator<Item = &'a str>,
) -> String {
    let known = known.map(|k| AlgorithmEntry {
        kernel_name: &k.kernel_name,
        algorithm: Some(k.algorithm.name),
        color: Some(k.algorithm.color),
        modes: k.algorithm.modes,
        v0: k.algorithm.v0,
        v1: k.algorithm.v1,
        tunables: &k.tunables,
    });
    let unknown = unknown.map(|kernel_name| AlgorithmEntry {
        kernel_name,
        algorithm: None,
        color: None,
        modes: &[],
        v0: None,
        v1: None,
        tunables: &NO_TUNABLES,
    });
    to_json(&known.chain(unknown).collect::<Vec<_>>())
}

#[derive(Serialize)]
struct FilterEntry<'a> {
    cgroup: Option<&'a str>,
    cgroup_id: Option<u64>,
    netns: Option<u32>,
    port: Option<u16>,
    pid: Option<u32>,
    algorithm: Option<&'a str>,
}

/// The keys known at the start, beside those of the caller.
pub(crate) fn at_start(options: &RecordOptions, clock: &Clock, sees_half_closed: bool) -> BTreeMap<String, String> {
    let filter = FilterEntry {
        cgroup: options.cgroup.as_ref().map(|cgroup| cgroup.path.as_str()),
        cgroup_id: options.cgroup.as_ref().map(|cgroup| cgroup.id),
        netns: options.netns,
        port: options.port,
        pid: options.pid,
        algorithm: options.algorithm.as_deref(),
    };
    let kernel = uname().map(|u| u.release().to_string_lossy().into_owned()).unwrap_or_default();
    let mut keys = options.metadata.clone();
    for (key, value) in [
        ("ccactl.schema_version", SCHEMA_VERSION.to_string()),
        ("ccactl.version", env!("CARGO_PKG_VERSION").to_owned()),
        ("ccactl.kernel", kernel),
        ("ccactl.started", clock.started_rfc3339()),
        ("ccactl.every", options.every.to_string()),
        ("ccactl.events", options.events.to_string()),
        ("ccactl.filter", to_json(&filter)),
        ("ccactl.buffer_bytes", options.ring_bytes().to_string()),
        ("ccactl.half_closed_samples", sees_half_closed.to_string()),
        ("ccactl.algorithms", stream_algorithms(options)),
    ] {
        keys.insert(key.to_owned(), value);
    }
    keys
}

/// Which algorithms will be seen is not known when a stream begins: it lists the loaded ones and the whole registry.
fn stream_algorithms(options: &RecordOptions) -> String {
    let is_loaded = |name: &str| options.loaded.iter().any(|known| known.kernel_name == name);
    let registry: Vec<_> = ccactl_abi::ALGORITHMS
        .iter()
        .filter(|algorithm| !is_loaded(algorithm.kernel_name))
        .map(KnownAlgorithm::with_defaults)
        .collect();
    algorithms_json(options.loaded.iter().chain(&registry), std::iter::empty())
}

/// What only the end of a recording knows.
pub(crate) struct AtEnd<'a> {
    pub(crate) algorithms: String,
    pub(crate) duration: Duration,
    pub(crate) rows: u64,
    pub(crate) rows_by_event: &'a [u64; EVENTS],
    pub(crate) drops: Drops,
}

/// The keys of the start with those of the end.
pub(crate) fn at_end(mut keys: BTreeMap<String, String>, end: AtEnd<'_>) -> BTreeMap<String, String> {
    let rows_by_event: BTreeMap<&str, u64> = EVENT_NAMES.into_iter().zip(*end.rows_by_event).collect();
    for (key, value) in [
        ("ccactl.algorithms", end.algorithms),
        ("ccactl.duration_us", end.duration.as_micros().to_string()),
        ("ccactl.rows", end.rows.to_string()),
        ("ccactl.rows_by_event", to_json(&rows_by_event)),
        ("ccactl.drops", end.drops.total().to_string()),
        ("ccactl.drops_by_reason", to_json(&end.drops)),
    ] {
        keys.insert(key.to_owned(), value);
    }
    keys
}

/// The keys of a file that was made of the stream of a killed recording.
pub(crate) fn recovered(mut keys: BTreeMap<String, String>, found: &Survey) -> BTreeMap<String, String> {
    let before = keys.get(DROPS_BEFORE).and_then(|count| count.parse().ok()).unwrap_or(0);
    let drops = found.drops.map(|drops| drops.saturating_sub(before).to_string());
    let until = found.until();
    let recovered = RecoveredEntry { rows: found.rows, until: until.as_deref(), truncated: found.truncated };
    keys.extend(drops.map(|drops| ("ccactl.drops".to_owned(), drops)));
    for (key, value) in [
        ("ccactl.recovered", to_json(&recovered)),
        ("ccactl.duration_us", found.last_us.saturating_sub(found.first_us).to_string()),
        ("ccactl.rows", found.rows.to_string()),
        ("ccactl.rows_by_event", to_json(&found.rows_by_event)),
    ] {
        keys.insert(key.to_owned(), value);
    }
    keys
}

#[derive(Serialize)]
struct RecoveredEntry<'a> {
    rows: u64,
    until: Option<&'a str>,
    truncated: bool,
}

/// In the stream of a part: rows that were lost before it began.
pub(crate) const DROPS_BEFORE: &str = "ccactl.drops_before";

/// The keys with which part `number` of a dataset begins.
pub(crate) fn of_part(
    start: &BTreeMap<String, String>,
    dataset: &str,
    number: u32,
    drops: u64,
) -> BTreeMap<String, String> {
    let mut keys = start.clone();
    keys.insert("ccactl.dataset".to_owned(), dataset.to_owned());
    keys.insert("ccactl.part".to_owned(), number.to_string());
    keys.insert(DROPS_BEFORE.to_owned(), drops.to_string());
    keys
}

/// What the end of a part knows: its own counts.
pub(crate) fn at_end_of_part(mut keys: BTreeMap<String, String>, part: &PartCounts) -> BTreeMap<String, String> {
    keys.remove(DROPS_BEFORE);
    let rows_by_event: BTreeMap<&str, u64> = EVENT_NAMES.into_iter().zip(part.rows_by_event).collect();
    for (key, value) in [
        ("ccactl.duration_us", part.duration_us.to_string()),
        ("ccactl.rows", part.rows.to_string()),
        ("ccactl.rows_by_event", to_json(&rows_by_event)),
        ("ccactl.drops", part.drops.to_string()),
    ] {
        keys.insert(key.to_owned(), value);
    }
    keys
}

fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("strings, numbers and maps with string keys are JSON")
}
