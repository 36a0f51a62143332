//! The sockets of a process, for the filter by pid.

use crate::error::{Error, Result};
use nix::errno::Errno;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::PathBuf;

/// A process whose sockets are wanted.
pub(crate) struct Owner {
    pid: u32,
    pidfd: OwnedFd,
}

impl Owner {
    /// The process with this number.
    pub(crate) fn find(pid: u32) -> Result<Owner> {
        // A thread has a folder in /proc too, but its sockets are those of its process.
        let thread_group = fs::read_to_string(format!("/proc/{pid}/status")).ok().and_then(|status| {
            status.lines().find_map(|line| line.strip_prefix("Tgid:").and_then(|tgid| tgid.trim().parse::<u32>().ok()))
        });
        match thread_group {
            None => Err(Error::NoProcess { pid, reason: "there is none in /proc; `pgrep NAME` finds one".to_owned() }),
            Some(process) if process != pid => {
                Err(Error::NoProcess { pid, reason: format!("it is a thread of process {process}: name that one") })
            }
            Some(_) => {
                // SAFETY: the call takes no pointers.
                let result = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
                let pidfd = owned(result).map_err(|cause| Error::NoProcess { pid, reason: cause.to_string() })?;
                Ok(Owner { pid, pidfd })
            }
        }
    }

    /// Shows each TCP socket that the process has open; one that it closes meanwhile is left out.
    pub(crate) fn for_each_tcp_socket(&self, mut show: impl FnMut(OwnedFd) -> Result<()>) -> Result<()> {
        let folder = PathBuf::from(format!("/proc/{}/fd", self.pid));
        let failed =
            |cause: io::Error| Error::NoProcess { pid: self.pid, reason: format!("{}: {cause}", folder.display()) };
        for entry in fs::read_dir(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let is_socket = fs::read_link(entry.path()).is_ok_and(|link| link.to_string_lossy().starts_with("socket:"));
            let number = entry.file_name().to_string_lossy().parse::<RawFd>().ok().filter(|_| is_socket);
            let Some(number) = number else { continue };
            match self.duplicate(number) {
                Ok(socket) if is_tcp(&socket) => show(socket)?,
                Ok(_) => {}
                Err(error) if error.raw_os_error() == Some(Errno::EBADF as i32) => {}
                Err(error) => return Err(failed(error)),
            }
        }
        Ok(())
    }

    fn duplicate(&self, number: RawFd) -> io::Result<OwnedFd> {
        // SAFETY: the call takes no pointers.
        owned(unsafe { libc::syscall(libc::SYS_pidfd_getfd, self.pidfd.as_raw_fd(), number, 0) })
    }
}

/// The descriptor that a system call has returned.
fn owned(result: libc::c_long) -> io::Result<OwnedFd> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made this descriptor for us, and nobody else knows its number.
    Ok(unsafe { OwnedFd::from_raw_fd(result as RawFd) })
}

fn is_tcp(socket: &OwnedFd) -> bool {
    let mut protocol: libc::c_int = 0;
    let mut length = size_of_val(&protocol) as libc::socklen_t;
    let value = std::ptr::from_mut(&mut protocol).cast();
    // SAFETY: the kernel writes at most `length` bytes to `protocol`, which lives until after the call.
    let result =
        unsafe { libc::getsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_PROTOCOL, value, &raw mut length) };
    result == 0 && protocol == libc::IPPROTO_TCP
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, UdpSocket};

    #[test]
    fn only_tcp_sockets_are_shown() {
        let _udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut ports = Vec::new();
        let owner = Owner::find(std::process::id()).unwrap();
        owner
            .for_each_tcp_socket(|socket| {
                ports.push(TcpListener::from(socket).local_addr().unwrap().port());
                Ok(())
            })
            .unwrap();
        assert!(ports.contains(&port), "{ports:?}");
    }

    #[test]
    fn what_is_no_process_is_refused() {
        // Beyond the largest pid_max.
        let error = Owner::find(1 << 30).err().unwrap();
        assert!(error.to_string().contains("no process 1073741824"), "{error}");
        let thread = std::thread::spawn(|| nix::unistd::gettid().as_raw() as u32).join().unwrap();
        if thread != std::process::id() {
            assert!(Owner::find(thread).is_err());
        }
    }
}
