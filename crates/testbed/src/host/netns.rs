//! Named network namespaces, visible to `ip netns`.

use crate::error::{Error, Result};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, setns, unshare};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

/// Where `ip netns` keeps its names.
pub const NETNS_DIR: &str = "/run/netns";

/// A network namespace that goes away with this value and its last process.
#[derive(Debug)]
pub struct Netns {
    name: String,
    file: File,
}

impl Netns {
    /// Makes a namespace under a name that is not taken.
    pub fn create(name: String) -> Result<Netns> {
        prepare_dir().map_err(Error::system(format!("prepare {NETNS_DIR} for namespaces")))?;
        let action = || format!("create network namespace {name}");
        let path = path_of(&name);
        OpenOptions::new().write(true).create_new(true).open(&path).map_err(Error::system(action()))?;
        let made = on_own_thread(|| {
            unshare(CloneFlags::CLONE_NEWNET)?;
            mount(Some("/proc/thread-self/ns/net"), &path, None::<&str>, MsFlags::MS_BIND, None::<&str>)?;
            Ok(())
        });
        let opened = made.and_then(|()| File::open(&path));
        match opened {
            Ok(file) => Ok(Netns { name, file }),
            Err(cause) => {
                let _ = remove(&name);
                Err(Error::System { action: action(), cause })
            }
        }
    }

    /// Name below [`NETNS_DIR`].
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Runs a closure on a thread inside the namespace.
    pub fn run<T: Send>(&self, closure: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        on_own_thread(|| {
            setns(self.file.as_fd(), CloneFlags::CLONE_NEWNET)?;
            closure()
        })
    }

    /// Sets one sysctl of the namespace, by its path below `/proc/sys/net`.
    pub fn sysctl(&self, path: &str, value: &str) -> Result<()> {
        // The files below /proc/sys/net are those of the reader's namespace.
        self.run(|| std::fs::write(Path::new("/proc/sys/net").join(path), value))
            .map_err(Error::system(format!("set sysctl net/{path}={value} in namespace {}", self.name)))
    }
}

impl AsFd for Netns {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Drop for Netns {
    fn drop(&mut self) {
        if let Err(error) = remove(&self.name) {
            tracing::warn!("network namespace {}: not removed: {error}", self.name);
        }
    }
}

fn path_of(name: &str) -> PathBuf {
    Path::new(NETNS_DIR).join(name)
}

/// Removes the name; the namespace itself ends with its last process and open file.
pub fn remove(name: &str) -> io::Result<()> {
    let path = path_of(name);
    match umount2(&path, MntFlags::MNT_DETACH) {
        // EINVAL: the file is there but nothing is mounted on it.
        Ok(()) | Err(nix::Error::EINVAL) => {}
        Err(error) => return Err(error.into()),
    }
    std::fs::remove_file(path)
}

/// Names below [`NETNS_DIR`].
pub fn names() -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(NETNS_DIR) else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// Makes the folder a shared mount, as `ip netns` does, so that a removal reaches other mount namespaces.
fn prepare_dir() -> io::Result<()> {
    std::fs::create_dir_all(NETNS_DIR)?;
    let share = || mount(None::<&str>, NETNS_DIR, None::<&str>, MsFlags::MS_SHARED | MsFlags::MS_REC, None::<&str>);
    match share() {
        Err(nix::Error::EINVAL) => {
            let flags = MsFlags::MS_BIND | MsFlags::MS_REC;
            mount(Some(NETNS_DIR), NETNS_DIR, None::<&str>, flags, None::<&str>)?;
            Ok(share()?)
        }
        other => Ok(other?),
    }
}

/// A namespace belongs to a thread: changes to it happen on one that ends afterwards.
fn on_own_thread<T: Send>(closure: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    std::thread::scope(|scope| scope.spawn(closure).join())
        .unwrap_or_else(|_| Err(io::Error::other("the thread inside the namespace panicked")))
}
