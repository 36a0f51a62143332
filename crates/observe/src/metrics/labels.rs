//! The three labels of a socket's metrics, and where their values come from.

use crate::live::Names;
use crate::metrics::sockets::Ids;
use ccactl_abi::layout::name_str;
use std::collections::{HashMap, HashSet};

/// In place of a cgroup that was removed before its path could be read.
const REMOVED: &str = "removed";
/// All three labels of what has no place of its own.
const OTHER: &str = "other";
/// Paths that are remembered beyond those of live sockets: short-lived cgroups come back with rows that were on their
/// way.
const MAX_PATHS: usize = 1 << 14;

/// A label set.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Labels {
    pub(crate) cgroup: String,
    pub(crate) algorithm: String,
    pub(crate) netns: String,
}

impl Labels {
    pub(crate) fn other() -> Labels {
        Labels { cgroup: OTHER.to_owned(), algorithm: OTHER.to_owned(), netns: OTHER.to_owned() }
    }
}

/// Turns numbers into labels.
pub(crate) struct Labeller {
    /// Names of the path that are kept; `None` keeps all.
    depth: Option<usize>,
    paths: HashMap<u64, String>,
    netns: HashMap<u32, String>,
}

impl Labeller {
    pub(crate) fn new(depth: Option<usize>) -> Labeller {
        Labeller { depth, paths: HashMap::new(), netns: HashMap::new() }
    }

    /// Reads from the host what the labels of these need. A cgroup keeps the path that it had when it was first
    /// looked for, as its id is never used again; the numbers of namespaces are, so their names are read anew each
    /// time. To be called before [`Labeller::labels`], with everything that lives, which is what may not be
    /// forgotten.
    pub(crate) fn learn(&mut self, wanted: &HashSet<Ids>) {
        let unknown: HashSet<u64> =
            wanted.iter().map(|ids| ids.cgroup).filter(|id| !self.paths.contains_key(id)).collect();
        let netns: HashSet<u32> = wanted.iter().map(|ids| ids.netns).collect();
        let mut names = Names::of_this_host();
        names.learn(unknown.iter().copied(), netns.iter().copied());
        self.netns = netns.into_iter().map(|inode| (inode, names.netns(inode))).collect();
        if self.paths.len() + unknown.len() > MAX_PATHS {
            let used: HashSet<u64> = wanted.iter().map(|ids| ids.cgroup).collect();
            self.paths.retain(|id, _| used.contains(id));
        }
        for id in unknown {
            let path = names.known_cgroup(id).map_or_else(|| REMOVED.to_owned(), |path| cut(path, self.depth));
            self.paths.insert(id, path);
        }
    }

    pub(crate) fn labels(&self, ids: &Ids) -> Labels {
        if *ids == Ids::OTHER {
            return Labels::other();
        }
        Labels {
            cgroup: self.paths.get(&ids.cgroup).cloned().unwrap_or_else(|| REMOVED.to_owned()),
            algorithm: name_str(&ids.algorithm).to_owned(),
            netns: self.netns.get(&ids.netns).cloned().unwrap_or_else(|| format!("net:[{}]", ids.netns)),
        }
    }
}

/// The first names of a path.
fn cut(path: &str, depth: Option<usize>) -> String {
    let Some(depth) = depth else { return path.to_owned() };
    let end = path.match_indices('/').nth(depth).map_or(path.len(), |(index, _)| index);
    path[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ccactl_abi::layout::name_bytes;

    #[test]
    fn a_path_is_cut_to_its_first_names() {
        assert_eq!(cut("/a/b/c", Some(2)), "/a/b");
        assert_eq!(cut("/a/b", Some(2)), "/a/b");
        assert_eq!(cut("/a", Some(2)), "/a");
        assert_eq!(cut("/", Some(1)), "/");
        assert_eq!(cut("/a/b/c", None), "/a/b/c");
    }

    #[test]
    fn a_cgroup_that_is_gone_has_one_label_whatever_its_number() {
        let mut labeller = Labeller::new(None);
        let gone = |cgroup| Ids { cgroup, netns: 1, algorithm: name_bytes("cubic").unwrap() };
        labeller.learn(&HashSet::from([gone(u64::MAX), gone(u64::MAX - 1)]));
        let labels = labeller.labels(&gone(u64::MAX));
        assert_eq!(labels, labeller.labels(&gone(u64::MAX - 1)));
        assert_eq!(
            (labels.cgroup.as_str(), labels.algorithm.as_str(), labels.netns.as_str()),
            ("removed", "cubic", "net:[1]")
        );
    }
}
