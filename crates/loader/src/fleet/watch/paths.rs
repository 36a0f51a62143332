//! Tells when something on the way to a path appears or goes: the path itself, a directory above it, a symbolic link in it.
//!
//! inotify watches directories that exist, so every directory on the way is watched for the one name that matters in it,
//! down to the first that is missing. After a change the way may be another one and a new [`Watch`] is made. That also
//! lets go of removed cgroups: their directories tell inotify nothing when they go, and a watch on them would stay.

use crate::fleet::error::{Error, Result};
use nix::errno::Errno;
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify, InotifyEvent, WatchDescriptor};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Component, Path, PathBuf};

/// As many symbolic links as the kernel follows in one path.
const MAX_LINKS: u32 = 40;
/// Reads of 4 KiB, each of 100 events or more: some more than the kernel's queue (16384 events) holds.
const MAX_READS: u32 = 256;

/// A directory and a name in it.
type Spot = (PathBuf, OsString);

/// What is watched, and for which names.
pub(super) struct Watch {
    inotify: Inotify,
    directories: BTreeMap<WatchDescriptor, Directory>,
}

/// One watched directory with the names that matter in it.
struct Directory {
    path: PathBuf,
    names: BTreeSet<OsString>,
}

impl Watch {
    /// Watches the way to each cgroup from the mount on: it may be made, or removed.
    pub(super) fn of_cgroups(mount: &Path, cgroups: Vec<PathBuf>) -> Result<Self> {
        let events = AddWatchFlags::IN_CREATE | AddWatchFlags::IN_DELETE | AddWatchFlags::IN_MOVE;
        Self::set_up(events, || cgroups.iter().flat_map(|cgroup| way(mount, cgroup)).collect())
    }

    /// Watches a file: it may be written, or replaced by renaming, as may a link or a directory on the way to it.
    pub(super) fn of_file(path: &Path) -> Result<Self> {
        let path = std::path::absolute(path)
            .map_err(|cause| Error::System { action: format!("cannot find {}", path.display()), cause })?;
        let events = AddWatchFlags::IN_CREATE | AddWatchFlags::IN_CLOSE_WRITE | AddWatchFlags::IN_MOVED_TO;
        let way = || way(Path::new("/"), &path).into_iter().collect();
        Self::set_up(events, way)
    }

    /// Sets up watches until the way has not changed meanwhile.
    fn set_up(events: AddWatchFlags, way: impl Fn() -> BTreeSet<Spot>) -> Result<Self> {
        let inotify = Inotify::init(InitFlags::IN_CLOEXEC | InitFlags::IN_NONBLOCK)
            .map_err(Error::system("cannot make an inotify instance (limit: fs.inotify.max_user_instances)"))?;
        let mut watch = Self { inotify, directories: BTreeMap::new() };
        let mut watched = BTreeSet::new();
        loop {
            let wanted = way();
            if wanted == watched {
                return Ok(watch);
            }
            // Sorted, so a directory is watched before those in it.
            for spot in wanted.difference(&watched) {
                watch.add(spot, events)?;
            }
            watched = wanted;
        }
    }

    fn add(&mut self, (directory, name): &Spot, events: AddWatchFlags) -> Result<()> {
        match self.inotify.add_watch(directory, events | AddWatchFlags::IN_ONLYDIR) {
            Ok(descriptor) => {
                let new = || Directory { path: directory.clone(), names: BTreeSet::new() };
                self.directories.entry(descriptor).or_insert_with(new).names.insert(name.clone());
                Ok(())
            }
            // It has gone since; the way is looked at once more.
            Err(Errno::ENOENT | Errno::ENOTDIR) => Ok(()),
            Err(errno) => {
                let limit = if errno == Errno::ENOSPC { " (limit: fs.inotify.max_user_watches)" } else { "" };
                Err(Error::system(format!("cannot watch {}{limit}", directory.display()))(errno))
            }
        }
    }

    /// Whether something has happened on the way since the last call, or since the watch was made.
    pub(super) fn has_changed(&self) -> Result<bool> {
        let mut changed = false;
        for _ in 0..MAX_READS {
            match self.inotify.read_events() {
                Ok(events) => changed |= events.iter().any(|event| self.concerns_us(event)),
                Err(Errno::EAGAIN) => break,
                Err(Errno::EINTR) => {}
                Err(errno) => return Err(Error::system("cannot read inotify events")(errno)),
            }
        }
        Ok(changed)
    }

    fn concerns_us(&self, event: &InotifyEvent) -> bool {
        // Events were lost, or a watched directory is gone.
        if event.mask.intersects(AddWatchFlags::IN_Q_OVERFLOW | AddWatchFlags::IN_IGNORED) {
            return true;
        }
        let (Some(directory), Some(name)) = (self.directories.get(&event.wd), &event.name) else { return false };
        directory.names.contains(name) && !is_being_written(event.mask, &directory.path.join(name))
    }
}

/// A file that was just made is empty or half full; it counts once it is closed. A link counts at once.
fn is_being_written(mask: AddWatchFlags, path: &Path) -> bool {
    mask.contains(AddWatchFlags::IN_CREATE)
        && !mask.contains(AddWatchFlags::IN_ISDIR)
        && fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file())
}

impl AsFd for Watch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inotify.as_fd()
    }
}

/// Every directory that is passed on the way from `base` to `path`, with the name that is looked up in it, symbolic links
/// included; it ends with the first name that is missing.
fn way(base: &Path, path: &Path) -> Vec<Spot> {
    let mut spots = Vec::new();
    let mut here = base.to_owned();
    let mut ahead: VecDeque<OsString> = names(path.strip_prefix(base).unwrap_or(path)).collect();
    let mut links = 0;
    while let Some(name) = ahead.pop_front() {
        if name == ".." {
            here.pop();
            continue;
        }
        spots.push((here.clone(), name.clone()));
        let next = here.join(&name);
        match follow(&next) {
            Ok(Some(target)) if links < MAX_LINKS => {
                links += 1;
                if target.is_absolute() {
                    here = "/".into();
                }
                names(&target).rev().for_each(|name| ahead.push_front(name));
            }
            Ok(None) => here = next,
            Ok(Some(_)) | Err(_) => break,
        }
    }
    spots
}

/// Where a symbolic link leads; `None` for anything else that exists.
fn follow(path: &Path) -> io::Result<Option<PathBuf>> {
    if fs::symlink_metadata(path)?.is_symlink() { fs::read_link(path).map(Some) } else { Ok(None) }
}

/// The components that have to be looked up, `..` included.
fn names(path: &Path) -> impl DoubleEndedIterator<Item = OsString> {
    path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsStr::new("..").to_owned()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use tempfile::TempDir;

    fn folder() -> (TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        // /tmp itself may be a link.
        let path = dir.path().canonicalize().unwrap();
        (dir, path)
    }

    fn cgroup_watch(base: &Path) -> Watch {
        Watch::of_cgroups(base, vec![base.join("a/b")]).unwrap()
    }

    #[test]
    fn each_directory_on_the_way_counts_when_it_appears_or_goes() {
        let (_dir, base) = folder();
        let watch = cgroup_watch(&base);
        assert!(!watch.has_changed().unwrap());
        fs::create_dir(base.join("a")).unwrap();
        assert!(watch.has_changed().unwrap() && !watch.has_changed().unwrap());

        let watch = cgroup_watch(&base);
        fs::create_dir(base.join("a/b")).unwrap();
        assert!(watch.has_changed().unwrap());

        let watch = cgroup_watch(&base);
        fs::remove_dir_all(base.join("a")).unwrap();
        assert!(watch.has_changed().unwrap());
    }

    #[test]
    fn the_neighbours_do_not_count() {
        let (_dir, base) = folder();
        fs::create_dir(base.join("a")).unwrap();
        let watch = cgroup_watch(&base);
        fs::create_dir(base.join("b")).unwrap();
        fs::create_dir(base.join("a/c")).unwrap();
        fs::write(base.join("a/cgroup.procs"), "0").unwrap();
        assert!(!watch.has_changed().unwrap());
    }

    #[test]
    fn more_events_than_one_read_takes_are_one_change() {
        let (_dir, base) = folder();
        let watch = cgroup_watch(&base);
        for _ in 0..2000 {
            fs::create_dir(base.join("a")).unwrap();
            fs::remove_dir(base.join("a")).unwrap();
        }
        assert!(watch.has_changed().unwrap() && !watch.has_changed().unwrap());
    }

    #[test]
    fn more_events_than_the_queue_holds_are_a_change() {
        let (_dir, base) = folder();
        let limit = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
        let watch = cgroup_watch(&base);
        let (one, other) = (base.join("one"), base.join("other"));
        fs::write(&one, "").unwrap();
        // Two events each, neither of them about a name of ours.
        for _ in 0..limit.trim().parse::<u32>().unwrap() / 4 + 1 {
            fs::rename(&one, &other).unwrap();
            fs::rename(&other, &one).unwrap();
        }
        assert!(watch.has_changed().unwrap());
    }

    #[test]
    fn a_file_counts_when_it_was_written_or_replaced_but_not_while_it_is_being_written() {
        let (_dir, base) = folder();
        let (path, other) = (base.join("policy.toml"), base.join("policy.toml.new"));
        let watch = Watch::of_file(&path).unwrap();
        let mut file = fs::File::create(&path).unwrap();
        assert!(!watch.has_changed().unwrap());
        io::Write::write_all(&mut file, b"half").unwrap();
        assert!(!watch.has_changed().unwrap());
        drop(file);
        assert!(watch.has_changed().unwrap());
        fs::write(&other, "y").unwrap();
        assert!(!watch.has_changed().unwrap());
        fs::rename(&other, &path).unwrap();
        assert!(watch.has_changed().unwrap());
    }

    /// The way of Kubernetes: the name leads through a link to a folder, and that link is replaced.
    #[test]
    fn a_link_on_the_way_counts_when_it_is_replaced() {
        let (_dir, base) = folder();
        for version in ["v1", "v2"] {
            fs::create_dir(base.join(version)).unwrap();
            fs::write(base.join(version).join("policy.toml"), version).unwrap();
        }
        symlink("v1", base.join("data")).unwrap();
        symlink("data/policy.toml", base.join("policy.toml")).unwrap();
        let watch = Watch::of_file(&base.join("policy.toml")).unwrap();
        symlink("v2", base.join("next")).unwrap();
        assert!(!watch.has_changed().unwrap());
        fs::rename(base.join("next"), base.join("data")).unwrap();
        assert!(watch.has_changed().unwrap());
        let watch = Watch::of_file(&base.join("policy.toml")).unwrap();
        fs::write(base.join("v1/policy.toml"), "no longer ours").unwrap();
        assert!(!watch.has_changed().unwrap());
        fs::write(base.join("v2/policy.toml"), "ours").unwrap();
        assert!(watch.has_changed().unwrap());
    }

    #[test]
    fn links_in_a_circle_end() {
        let (_dir, base) = folder();
        symlink("b", base.join("a")).unwrap();
        symlink("a", base.join("b")).unwrap();
        assert!(way(&base, &base.join("a")).len() <= MAX_LINKS as usize + 1);
    }
}
