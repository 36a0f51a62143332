//! Network namespaces of this host: a TCP iterator sees only the one of its opener, so each has to be entered.

use crate::error::{Error, Result};
use nix::sched::{CloneFlags, setns};
use nix::sys::statfs::{NSFS_MAGIC, fstatfs};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::thread;

/// `SIOCGSKNS` of include/uapi/linux/sockios.h: the namespace of a socket.
const SIOCGSKNS: libc::c_ulong = 0x894C;

/// Open namespaces by inode number.
#[derive(Debug, Default)]
pub(crate) struct Namespaces(BTreeMap<u64, File>);

impl Namespaces {
    /// Every namespace with a process or a name, and those of single threads of `processes`.
    pub(crate) fn find(processes: impl Iterator<Item = u32>) -> Self {
        let mut namespaces = Self::default();
        namespaces.add(Path::new("/proc/thread-self/ns/net"));
        for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
            if entry.file_name().to_str().is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_digit())) {
                namespaces.add(&entry.path().join("ns/net"));
            }
        }
        for process in processes {
            for task in fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten() {
                namespaces.add(&task.path().join("ns/net"));
            }
        }
        for mount in mounts() {
            namespaces.add(Path::new(&mount));
        }
        namespaces
    }

    /// Whether the processes of the whole host are seen, through which namespaces are found (`PROC_PID_INIT_INO` of
    /// include/linux/proc_ns.h).
    pub(crate) fn is_host_seen() -> bool {
        const INITIAL_PID_NAMESPACE: u64 = 0xEFFF_FFFC;
        fs::metadata("/proc/self/ns/pid").is_ok_and(|meta| meta.ino() == INITIAL_PID_NAMESPACE)
    }

    pub(crate) fn contains(&self, inode: u32) -> bool {
        self.0.contains_key(&u64::from(inode))
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn files(&self) -> impl Iterator<Item = &File> {
        self.0.values()
    }

    /// A process may end, and a name may go, while we look.
    fn add(&mut self, path: &Path) {
        let Ok(inode) = fs::metadata(path).map(|meta| meta.ino()) else { return };
        if !self.0.contains_key(&inode)
            && let Ok(file) = File::open(path)
        {
            self.add_open(file);
        }
    }

    fn add_open(&mut self, file: File) {
        // Between our look at the mounts and this one, another process may have taken a name away: what is under it then, until it
        // is removed as well, is a plain file that nobody can enter.
        if !fstatfs(&file).is_ok_and(|about| about.filesystem_type() == NSFS_MAGIC) {
            return;
        }
        // What was opened counts, not what was looked at before.
        if let Ok(inode) = file.metadata().map(|meta| meta.ino()) {
            self.0.insert(inode, file);
        }
    }

    /// Adds the namespace of a socket that another process has open.
    pub(crate) fn add_of_socket(&mut self, pid: u32, fd: u32) -> io::Result<()> {
        let socket = socket_of(pid, fd)?;
        // SAFETY: the request takes no argument and gives a descriptor that nobody else has.
        let ret = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCGSKNS) };
        if ret < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: as above.
        self.add_open(File::from(unsafe { OwnedFd::from_raw_fd(ret) }));
        Ok(())
    }
}

fn socket_of(pid: u32, fd: u32) -> io::Result<OwnedFd> {
    let call = |ret: libc::c_long| {
        if ret < 0 {
            return Err(io::Error::last_os_error());
        }
        let fd = i32::try_from(ret).map_err(io::Error::other)?;
        // SAFETY: both calls return a descriptor that nobody else has.
        Ok(unsafe { OwnedFd::from_raw_fd(fd) })
    };
    // SAFETY: plain integers; the kernel checks them.
    let process = call(unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) })?;
    // SAFETY: as above.
    call(unsafe { libc::syscall(libc::SYS_pidfd_getfd, process.as_raw_fd(), fd, 0) })
}

/// Mounted namespace files: what `ip netns` and container run-times keep.
fn mounts() -> Vec<String> {
    let table = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    table.lines().filter_map(mounted_namespace).collect()
}

/// The mount point of a line like `… 0:4 net:[4026532177] /run/netns/x rw shared:2 - nsfs nsfs rw`.
fn mounted_namespace(line: &str) -> Option<String> {
    let mut fields = line.split(' ').skip(3);
    let (root, point) = (fields.next()?, fields.next()?);
    root.starts_with("net:[").then(|| point.to_owned())
}

/// Does something in a namespace, on a thread of its own: a namespace belongs to a thread.
pub(crate) fn inside<T: Send>(namespace: &File, action: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    thread::scope(|scope| {
        let worker = scope.spawn(|| {
            setns(namespace.as_fd(), CloneFlags::CLONE_NEWNET)
                .map_err(|errno| Error::io("cannot enter a network namespace")(errno.into()))?;
            action()
        });
        worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mounted_namespace_is_told_from_other_mounts() {
        let line = "310 24 0:4 net:[4026532177] /run/netns/x rw shared:2 - nsfs nsfs rw";
        assert_eq!(mounted_namespace(line), Some("/run/netns/x".to_owned()));
        assert_eq!(mounted_namespace("24 1 0:22 / /sys rw,nosuid - sysfs sysfs rw"), None);
        assert_eq!(mounted_namespace("311 24 0:4 uts:[4026532178] /run/uts/x rw - nsfs nsfs rw"), None);
        assert_eq!(mounted_namespace(""), None);
    }

    #[test]
    fn a_name_whose_namespace_has_just_gone_is_passed_over() {
        let mut namespaces = Namespaces::default();
        let plain_file = tempfile::NamedTempFile::new().unwrap();
        namespaces.add(plain_file.path());
        assert_eq!(namespaces.len(), 0);
        namespaces.add(Path::new("/proc/self/ns/net"));
        assert_eq!(namespaces.len(), 1);
    }

    #[test]
    fn our_own_namespace_is_found_once() {
        let namespaces = Namespaces::find([std::process::id()].into_iter());
        let own = fs::metadata("/proc/self/ns/net").unwrap().ino();
        assert!(namespaces.contains(u32::try_from(own).unwrap()));
        assert_eq!(namespaces.files().count(), namespaces.len());
    }
}
