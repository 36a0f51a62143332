//! What a recorder can say of its recording before the first row, and of the algorithms at its end.

use crate::options::RecordOptions;
use ccactl_recording::SCHEMA_VERSION;
use ccactl_recording::metadata::{AlgorithmInfo, Filter, Metadata};
use ccactl_recording::write::{Clock, KnownAlgorithm};
use nix::sys::utsname::{UtsName, uname};
use std::ffi::OsStr;
use std::fs;

/// Another one after each boot: socket cookies and inode numbers of namespaces begin anew then.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// Known algorithms, and kernel names that nobody knows.
pub(crate) fn algorithms<'a>(
    known: impl Iterator<Item = &'a KnownAlgorithm>,
    unknown: impl Iterator<Item = &'a str>,
) -> Vec<AlgorithmInfo> {
    known.map(AlgorithmInfo::from).chain(unknown.map(unregistered)).collect()
}

/// The kernel's own has the name under which `ccactl load` takes it, since one of ours may have the same plain name.
fn unregistered(kernel_name: &str) -> AlgorithmInfo {
    let is_native = ccactl_abi::native::NAMES.contains(&kernel_name);
    let algorithm = if is_native { format!("native:{kernel_name}") } else { String::new() };
    AlgorithmInfo { algorithm, ..AlgorithmInfo::unknown(kernel_name) }
}

/// What is known at the start, beside what the caller says.
pub(crate) fn at_start(options: &RecordOptions, clock: &Clock, sees_half_closed: bool) -> Metadata {
    let filter = Filter {
        cgroup: options.cgroup.as_ref().map(|cgroup| cgroup.path.clone()),
        cgroup_id: options.cgroup.as_ref().map(|cgroup| cgroup.id),
        netns: options.netns,
        port: options.port,
        pid: options.pid,
        algorithm: options.algorithm.clone(),
    };
    let names = uname().ok();
    let text = |of: fn(&UtsName) -> &OsStr| names.as_ref().map(|names| of(names).to_string_lossy().into_owned());
    Metadata {
        schema_version: SCHEMA_VERSION,
        writer: Some(env!("CARGO_PKG_VERSION").to_owned()),
        kernel: Some(text(UtsName::release).unwrap_or_default()),
        host: text(UtsName::nodename),
        boot_id: fs::read_to_string(BOOT_ID).ok().map(|id| id.trim().to_owned()),
        started: Some(clock.started_rfc3339()),
        every: Some(options.every.to_string()),
        events: Some(options.events.to_string()),
        filter: Some(filter.to_json()),
        buffer_bytes: Some(options.ring_bytes().into()),
        half_closed_samples: Some(sees_half_closed),
        algorithms: Some(of_stream(options)),
        ..options.metadata.clone()
    }
}

/// Which algorithms will be seen is not known when a stream begins: it lists the loaded ones and the whole registry.
fn of_stream(options: &RecordOptions) -> Vec<AlgorithmInfo> {
    let is_loaded = |name: &str| options.loaded.iter().any(|known| known.kernel_name == name);
    let registry: Vec<_> = ccactl_abi::ALGORITHMS
        .iter()
        .filter(|algorithm| !is_loaded(algorithm.kernel_name))
        .map(KnownAlgorithm::with_defaults)
        .collect();
    algorithms(options.loaded.iter().chain(&registry), std::iter::empty())
}
