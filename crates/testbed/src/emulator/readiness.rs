//! Which devices have packets, at a cost that does not grow with their number (`epoll`).

use crate::error::{Error, Result};
use ccactl_link::Nanos;
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};
use std::os::fd::{AsFd, AsRawFd};

/// Waits for devices.
pub struct Readiness {
    epoll: Epoll,
    events: Vec<libc::epoll_event>,
    ready: usize,
}

impl Readiness {
    /// Of these devices, which are called by their place among them.
    pub fn of<D: AsFd>(devices: impl Iterator<Item = D>) -> Result<Readiness> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)
            .map_err(|errno| Error::system("wait for devices")(errno.into()))?;
        let mut count = 0;
        for device in devices {
            epoll
                .add(device, EpollEvent::new(EpollFlags::EPOLLIN, count as u64))
                .map_err(|errno| Error::system("wait for a device")(errno.into()))?;
            count += 1;
        }
        Ok(Readiness { epoll, events: vec![libc::epoll_event { events: 0, u64: 0 }; count], ready: 0 })
    }

    /// Waits until a device has packets, for so long at most; false when the kernel refuses to wait.
    pub fn wait(&mut self, most: Nanos) -> bool {
        let timeout = libc::timespec {
            tv_sec: (most / 1_000_000_000) as libc::time_t,
            tv_nsec: (most % 1_000_000_000) as libc::c_long,
        };
        // `epoll_wait` counts in milliseconds, and libc has no function for the call that counts in nanoseconds (Linux 5.11).
        // SAFETY: the events and the timeout live across the call, and the length is that of the events.
        let result = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.epoll.0.as_raw_fd(),
                self.events.as_mut_ptr(),
                self.events.len() as libc::c_int,
                &raw const timeout,
                std::ptr::null::<libc::sigset_t>(),
                0_usize,
            )
        };
        let error = Errno::last();
        self.ready = usize::try_from(result).unwrap_or(0);
        // A signal is as good as a timeout.
        result >= 0 || error == Errno::EINTR
    }

    /// How many devices the last wait found.
    pub fn count(&self) -> usize {
        self.ready
    }

    /// The one with that number among them.
    pub fn device(&self, number: usize) -> usize {
        self.events[number].u64 as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;
    use std::time::{Duration, Instant};

    #[test]
    fn only_devices_with_something_to_read_are_ready() {
        let pairs: Vec<(UnixStream, UnixStream)> = (0..3).map(|_| UnixStream::pair().unwrap()).collect();
        let mut readiness = Readiness::of(pairs.iter().map(|pair| &pair.0)).unwrap();
        let begin = Instant::now();
        assert!(readiness.wait(3_000_000));
        assert!(readiness.count() == 0 && begin.elapsed() >= Duration::from_millis(3));
        (&pairs[1].1).write_all(b"x").unwrap();
        assert!(readiness.wait(5_000_000_000));
        assert_eq!((readiness.count(), readiness.device(0)), (1, 1));
        assert!(begin.elapsed() < Duration::from_secs(4), "it does not wait for more");
        (&pairs[1].0).read_exact(&mut [0]).unwrap();
        assert!(readiness.wait(0));
        assert_eq!(readiness.count(), 0);
    }
}
