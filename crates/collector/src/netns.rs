//! A network namespace by the name that `ip netns` gave it.

use crate::error::{Error, Result};
use nix::sys::statfs::{NSFS_MAGIC, statfs};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Where `ip netns add` mounts namespaces.
const NAMED: &str = "/run/netns";

/// Inode number of a namespace; `name` is one of `ip netns list`, or a path such as `/proc/PID/ns/net`.
///
/// # Errors
/// [`Error::Netns`] when there is none.
pub fn netns_inode(name: &str) -> Result<u32> {
    let path = if name.contains('/') { PathBuf::from(name) } else { Path::new(NAMED).join(name) };
    // A name whose namespace was unmounted is an ordinary file, whose inode number would match nothing or anything.
    let is_namespace = statfs(&path).is_ok_and(|stat| stat.filesystem_type() == NSFS_MAGIC);
    let inode = fs::metadata(&path).ok().filter(|_| is_namespace).and_then(|metadata| metadata.ino().try_into().ok());
    inode.ok_or_else(|| Error::Netns { name: name.to_owned(), known: known() })
}

/// The names that would have been found, for the error.
fn known() -> String {
    let mut names: Vec<String> = fs::read_dir(NAMED)
        .map(|entries| entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect())
        .unwrap_or_default();
    names.sort();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_to_a_namespace_has_its_inode_number() {
        let link = fs::read_link("/proc/self/ns/net").unwrap().to_string_lossy().into_owned();
        let inode = netns_inode("/proc/self/ns/net").unwrap();
        assert_eq!(link, format!("net:[{inode}]"));
    }

    #[test]
    fn what_is_no_namespace_is_refused() {
        for name in ["ccactl-no-such-netns", "/proc/self/status", "/no/such/file", ""] {
            assert!(matches!(netns_inode(name), Err(Error::Netns { .. })), "{name:?}");
        }
    }
}
