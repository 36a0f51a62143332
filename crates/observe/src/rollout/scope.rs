//! The cgroups that a policy decides about: its own and the descendants, but for those with a policy of their own.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Ids of `root` and of its descendants, without the trees below the cgroups in `own_policy`.
pub(crate) fn cgroups(root: &Path, own_policy: &HashSet<u64>) -> HashSet<u64> {
    let mut ids = HashSet::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        // A cgroup may be removed while we look.
        let Ok(metadata) = fs::metadata(&folder) else { continue };
        // The id of a cgroup is the inode number of its folder.
        if folder != root && own_policy.contains(&metadata.ino()) {
            continue;
        }
        ids.insert(metadata.ino());
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        folders.extend(entries.flatten().filter(|e| e.file_type().is_ok_and(|t| t.is_dir())).map(|e| e.path()));
    }
    ids
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_with_a_policy_of_its_own_is_left_out() {
        let root = tempfile::tempdir().unwrap();
        let id = |path: &str| {
            fs::create_dir_all(root.path().join(path)).unwrap();
            fs::metadata(root.path().join(path)).unwrap().ino()
        };
        let (a, own, _below) = (id("a"), id("own"), id("own/below"));
        let (root_id, a_b) = (id(""), id("a/b"));
        // That the root has one is what makes it the root.
        let found = cgroups(root.path(), &HashSet::from([own, root_id]));
        assert_eq!(found, HashSet::from([root_id, a, a_b]));
        assert!(cgroups(&root.path().join("gone"), &HashSet::new()).is_empty());
    }
}
