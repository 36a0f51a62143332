//! Moves the live sockets of a cgroup. STAND-IN until `Loader::swap`.

use crate::error::{Error, Result};
use ccactl_loader::{LoadRequest, Loader};
use nix::sys::socket::{getsockopt, setsockopt, sockopt::TcpCongestion};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::fd::{FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

#[derive(Default)]
pub struct Counts {
    pub moved: u64,
    pub there: u64,
    pub application: u64,
    pub locked: u64,
    pub refused: u64,
    pub failed: BTreeMap<String, u64>,
}

pub struct Moved {
    pub from: String,
    pub iteration: Duration,
    pub counts: Counts,
    pub sockets: u64,
    pub verified: u64,
    pub elsewhere: Option<String>,
}

pub fn swap(loader: &Loader, request: &LoadRequest) -> Result<Moved> {
    let before = loader.status_of(&request.cgroup)?.map(|p| p.kernel_name).unwrap_or_default();
    let outcome = loader.load(request)?;
    let started = Instant::now();
    let mut counts = Counts::default();
    let mut elsewhere = None;
    for socket in sockets(&request.cgroup)? {
        let name = OsString::from(&outcome.kernel_name);
        setsockopt(&socket, TcpCongestion, &name).map_err(|e| Error::system("stand-in")(e.into()))?;
        let after = getsockopt(&socket, TcpCongestion).map_err(|e| Error::system("stand-in")(e.into()))?;
        let after = ccactl_abi::layout::name_str(after.as_encoded_bytes()).to_owned();
        if after == outcome.kernel_name {
            counts.moved += 1;
        } else {
            counts.refused += 1;
            elsewhere = Some(after);
        }
    }
    let sockets = counts.moved;
    Ok(Moved { from: before, iteration: started.elapsed(), sockets, verified: sockets, counts, elsewhere })
}

fn sockets(cgroup: &std::path::Path) -> Result<Vec<OwnedFd>> {
    let io = |e| Error::system("stand-in")(e);
    let mut found = Vec::new();
    for pid in std::fs::read_to_string(cgroup.join("cgroup.procs")).map_err(io)?.lines() {
        let pid: i32 = pid.parse().unwrap();
        // SAFETY: stand-in.
        let pidfd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) } as i32;
        for entry in std::fs::read_dir(format!("/proc/{pid}/fd")).map_err(io)?.flatten() {
            let target = std::fs::read_link(entry.path()).unwrap_or_default();
            if !target.to_string_lossy().starts_with("socket:") {
                continue;
            }
            let number: i32 = entry.file_name().to_str().unwrap().parse().unwrap();
            // SAFETY: stand-in.
            let fd = unsafe { libc::syscall(libc::SYS_pidfd_getfd, pidfd, number, 0) } as i32;
            if fd >= 0 {
                // SAFETY: stand-in.
                let fd = unsafe { OwnedFd::from_raw_fd(fd) };
                if getsockopt(&fd, TcpCongestion).is_ok() {
                    found.push(fd);
                }
            }
        }
        unsafe { libc::close(pidfd) };
    }
    Ok(found)
}
