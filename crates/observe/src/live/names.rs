//! Cgroups and network namespaces by the names that people know them by.

use ccactl_loader::cgroup::{Mount, id};
use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Where `ip netns add` mounts namespaces.
const NAMED_NETNS: &str = "/run/netns";
/// A name that is not known is looked for this often at most: the search walks the whole tree of cgroups.
const SEARCH_INTERVAL: Duration = Duration::from_secs(1);

/// Remembers the names that it has found, also of cgroups that are gone since.
pub struct Names {
    mount: Option<Mount>,
    cgroups: HashMap<u64, String>,
    netns: HashMap<u32, String>,
    searched: Option<Instant>,
    named_netns: PathBuf,
}

impl Names {
    /// Names of this host; without a cgroup2 mount cgroups are shown by number.
    #[must_use]
    pub fn of_this_host() -> Names {
        let mount = Mount::find(Path::new("/proc/mounts")).ok();
        // The walk looks below the root only.
        let root = mount.as_ref().and_then(|mount| id(mount.path()).ok()).map(|id| (id, "/".to_owned()));
        Names {
            mount,
            cgroups: root.into_iter().collect(),
            netns: HashMap::new(),
            searched: None,
            named_netns: NAMED_NETNS.into(),
        }
    }

    /// These names and no others.
    #[cfg(test)]
    pub(crate) fn known(
        cgroups: impl IntoIterator<Item = (u64, String)>,
        netns: impl IntoIterator<Item = (u32, String)>,
    ) -> Names {
        Names {
            mount: None,
            cgroups: cgroups.into_iter().collect(),
            netns: netns.into_iter().collect(),
            searched: None,
            named_netns: NAMED_NETNS.into(),
        }
    }

    /// Looks the numbers that are new up, all in one walk; to be called now and then with those that are shown.
    pub fn learn(&mut self, cgroup_ids: impl IntoIterator<Item = u64>, netns: impl IntoIterator<Item = u32>) {
        let cgroup_ids: Vec<u64> = cgroup_ids.into_iter().filter(|id| !self.cgroups.contains_key(id)).collect();
        let is_netns_new = netns.into_iter().any(|inode| !self.netns.contains_key(&inode));
        let is_too_early = self.searched.is_some_and(|then| then.elapsed() < SEARCH_INTERVAL);
        if (cgroup_ids.is_empty() && !is_netns_new) || is_too_early {
            return;
        }
        self.searched = Some(Instant::now());
        if let Some(mount) = self.mount.as_ref().filter(|_| !cgroup_ids.is_empty()) {
            let found = mount.find_ids(&cgroup_ids);
            self.cgroups.extend(found.into_iter().map(|(id, path)| (id, mount.display(&path))));
        }
        if is_netns_new {
            self.learn_netns();
        }
    }

    /// Path below the cgroup2 mount, or `cgroup:ID` while it is not known.
    #[must_use]
    pub fn cgroup(&self, id: u64) -> String {
        self.known_cgroup(id).map_or_else(|| format!("cgroup:{id}"), str::to_owned)
    }

    /// Path below the cgroup2 mount, if it is known.
    #[must_use]
    pub fn known_cgroup(&self, id: u64) -> Option<&str> {
        self.cgroups.get(&id).map(String::as_str)
    }

    /// Name of `ip netns`, `host` for that of this process, or `net:[INODE]`.
    #[must_use]
    pub fn netns(&self, inode: u32) -> String {
        self.netns.get(&inode).cloned().unwrap_or_else(|| format!("net:[{inode}]"))
    }

    fn learn_netns(&mut self) {
        let inode_of = |path: &Path| fs::metadata(path).ok().and_then(|metadata| u32::try_from(metadata.ino()).ok());
        for entry in fs::read_dir(&self.named_netns).into_iter().flatten().flatten() {
            if let Some(inode) = inode_of(&entry.path()) {
                self.netns.insert(inode, entry.file_name().to_string_lossy().into_owned());
            }
        }
        if let Some(inode) = inode_of(Path::new("/proc/self/ns/net")) {
            self.netns.insert(inode, "host".to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_shown_by_number() {
        let names = Names::of_this_host();
        assert_eq!(names.cgroup(77), "cgroup:77");
        assert_eq!(names.netns(4_026_531_840), "net:[4026531840]");
    }

    #[test]
    fn the_namespace_of_this_process_is_the_host_and_the_root_cgroup_is_a_slash() {
        let own = u32::try_from(fs::metadata("/proc/self/ns/net").unwrap().ino()).unwrap();
        let mut names = Names::of_this_host();
        let Some(mount) = &names.mount else { return };
        let root = fs::metadata(mount.path()).unwrap().ino();
        names.learn([root], [own]);
        assert_eq!(names.netns(own), "host");
        assert_eq!(names.cgroup(root), "/");
    }
}
