//! Removes what benches left behind that were killed before they could do it themselves.

use super::run_id::{PREFIX, RunId};
use super::{cgroup, netns};
use crate::error::{Error, Result};
use ccactl_loader::Loader;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// What was removed.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize)]
pub struct Cleaned {
    /// Network namespaces.
    pub namespaces: Vec<String>,
    /// cgroups, without the flows' below them.
    pub cgroups: Vec<PathBuf>,
    /// Policies of the flows' cgroups.
    pub policies: usize,
}

/// How many namespaces and cgroups [`clean`] would remove.
///
/// # Errors
/// When the cgroups cannot be listed.
pub fn left(loader: &Loader) -> Result<(usize, usize)> {
    Ok((netns::names().iter().filter(|name| is_dead(name)).count(), dead_cgroups(loader)?.len()))
}

/// Removes namespaces, cgroups and policies whose run id belongs to no living process.
///
/// # Errors
/// The first removal that fails.
pub fn clean(loader: &Loader) -> Result<Cleaned> {
    let mut cleaned = Cleaned::default();
    for path in dead_cgroups(loader)? {
        let flow_ids = flow_ids(&path);
        for policy in loader.status()?.iter().filter(|policy| flow_ids.contains(&policy.cgroup_id)) {
            loader.unload_id(policy.cgroup_id)?;
            cleaned.policies += 1;
        }
        cgroup::remove(&path).map_err(Error::system(format!("remove cgroup {}", path.display())))?;
        cleaned.cgroups.push(path);
    }
    for name in netns::names().into_iter().filter(|name| is_dead(name)) {
        netns::remove(&name).map_err(Error::system(format!("remove network namespace {name}")))?;
        cleaned.namespaces.push(name);
    }
    Ok(cleaned)
}

fn is_dead(name: &str) -> bool {
    RunId::in_name(name).is_some_and(|id| !id.is_alive())
}

fn dead_cgroups(loader: &Loader) -> Result<Vec<PathBuf>> {
    let root = loader.mount().path();
    let entries = std::fs::read_dir(root).map_err(Error::system(format!("list {}", root.display())))?;
    let prefix = format!("{PREFIX}-bench-");
    let dead = entries.flatten().filter(|entry| {
        let name = entry.file_name();
        name.to_str().is_some_and(|name| name.starts_with(&prefix) && is_dead(name))
    });
    Ok(dead.map(|entry| entry.path()).collect())
}

/// Ids of the cgroups directly below `path`.
fn flow_ids(path: &std::path::Path) -> Vec<u64> {
    let Ok(entries) = std::fs::read_dir(path) else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.metadata().ok()).filter(|m| m.is_dir()).map(|m| m.ino()).collect()
}
