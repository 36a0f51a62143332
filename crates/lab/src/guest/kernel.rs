//! What init asks of the kernel.

use nix::mount::{MsFlags, mount};
use std::ffi::CStr;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

/// Type, place and options of the file systems that ccactl finds on any host. The cgroup2 mount has its usual place, and is the
/// only hierarchy.
const MOUNTS: &[(&str, &str)] = &[
    ("proc", "/proc"),
    ("sysfs", "/sys"),
    ("devtmpfs", "/dev"),
    ("tmpfs", "/run"),
    ("tmpfs", "/tmp"),
    ("cgroup2", "/sys/fs/cgroup"),
    ("bpf", "/sys/fs/bpf"),
];

/// Mounts all of them.
pub(super) fn mount_all() -> io::Result<()> {
    MOUNTS.iter().try_for_each(|(kind, place)| {
        // The kernel makes the last two places itself.
        fs::create_dir_all(place)
            .and_then(|()| Ok(mount(Some(*kind), *place, Some(*kind), MsFlags::empty(), None::<&str>)?))
            .map_err(|cause| io::Error::new(cause.kind(), format!("cannot mount {kind} on {place}: {cause}")))
    })?;
    // Where iproute2 looks for network namespaces.
    fs::create_dir_all("/var")?;
    std::os::unix::fs::symlink("/run", "/var/run")
}

/// Loads a module that lies in a file; one that the kernel has already is no error.
pub(super) fn load_module(file: &Path) -> io::Result<()> {
    let file = File::open(file)?;
    let no_parameters: &CStr = c"";
    // SAFETY: the descriptor is open across the call, and the parameters are a string that outlives it.
    let result = unsafe { libc::syscall(libc::SYS_finit_module, file.as_raw_fd(), no_parameters.as_ptr(), 0) };
    if result == 0 {
        return Ok(());
    }
    match io::Error::last_os_error() {
        error if error.raw_os_error() == Some(libc::EEXIST) => Ok(()),
        error => Err(error),
    }
}

/// Restarts the machine, which QEMU takes for its end; returns only where the kernel refuses.
pub(super) fn end_machine() -> io::Error {
    // SAFETY: plain system calls without arguments that point anywhere.
    unsafe {
        libc::sync();
        libc::reboot(libc::RB_AUTOBOOT);
    }
    io::Error::last_os_error()
}
