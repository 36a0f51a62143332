//! What a bench may have left on the host.

use crate::host::{Host, cgroup2};
use std::fs;
use std::path::Path;

/// Everything that carries the pid of a bench, or lies in its bpffs folder.
pub fn of(host: &Host, pid: u32) -> Vec<String> {
    let mut found = names(Path::new("/run/netns"), &format!("ccactl-{pid}-"));
    found.extend(names(&cgroup2(), &format!("ccactl-bench-{pid}-")));
    if host.bpffs().exists() {
        found.push(host.bpffs().display().to_string());
    }
    found.extend(processes(pid).into_iter().map(|process| format!("process {process}")));
    found
}

fn names(folder: &Path, prefix: &str) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name.starts_with(prefix)).collect()
}

/// Processes whose cgroup2 path belongs to the bench.
fn processes(pid: u32) -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let in_bench = |process: &u32| {
        let cgroups = fs::read_to_string(format!("/proc/{process}/cgroup")).unwrap_or_default();
        cgroups.contains(&format!("/ccactl-bench-{pid}-"))
    };
    pids.filter(in_bench).collect()
}
