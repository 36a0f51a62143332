//! Whether a sending process kept its socket filled: what a process that gets no CPU does not.
//!
//! A sender hands the kernel data until it takes no more, and is woken when there is room again. If by the time it runs everything has been
//! sent and the congestion window has room, the congestion control would have sent more than there was. Then the flow was held back by its
//! process, not by the network.

use serde::{Deserialize, Serialize};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

/// A flow that had less time says nothing.
const SHORTEST: Duration = Duration::from_secs(1);

/// What a sending process found when it was woken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Supply {
    /// Time in which there was something to hand over.
    pub busy: Duration,
    /// Part of it for which the socket had nothing to send, to the kernel's tick.
    pub empty: Duration,
}

/// Fields of `struct tcp_info` of `linux/tcp.h`, by their place; libc has an older one.
struct TcpInfo([u8; TcpInfo::BYTES]);

impl TcpInfo {
    /// Up to `tcpi_notsent_bytes`, of Linux 4.6.
    const BYTES: usize = 148;
    const UNACKED: usize = 24;
    const LAST_DATA_SENT: usize = 44;
    const SND_CWND: usize = 80;
    const NOTSENT_BYTES: usize = 144;

    fn of(socket: BorrowedFd<'_>) -> io::Result<Self> {
        let mut info = [0; Self::BYTES];
        let mut length = Self::BYTES as libc::socklen_t;
        // SAFETY: the kernel writes at most `length` bytes into the array, and the length; both outlive the call.
        let result = unsafe {
            libc::getsockopt(
                socket.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_INFO,
                info.as_mut_ptr().cast(),
                &raw mut length,
            )
        };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(TcpInfo(info)) }
    }

    fn field(&self, at: usize) -> u32 {
        u32::from_ne_bytes(self.0[at..at + 4].try_into().expect("four bytes"))
    }

    /// For how long the socket has had nothing to send though it might have sent; none when it has, or might not.
    fn empty_for(&self) -> Option<Duration> {
        let has_nothing = self.field(Self::NOTSENT_BYTES) == 0;
        let has_room = self.field(Self::UNACKED) < self.field(Self::SND_CWND);
        (has_nothing && has_room).then(|| Duration::from_millis(self.field(Self::LAST_DATA_SENT).into()))
    }
}

impl Supply {
    /// The process was woken and is about to write.
    pub(super) fn woken(&mut self, socket: BorrowedFd<'_>) -> io::Result<()> {
        self.empty += TcpInfo::of(socket)?.empty_for().unwrap_or_default();
        Ok(())
    }

    /// Adds that of another connection of the flow.
    pub(super) fn add(&mut self, other: Supply) {
        self.busy += other.busy;
        self.empty += other.empty;
    }

    /// Share of its time for which the flow had nothing to send; none when there was too little of it.
    #[must_use]
    pub fn empty_share(&self) -> Option<f64> {
        (self.busy >= SHORTEST).then(|| self.empty.as_secs_f64() / self.busy.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;

    fn info(fields: &[(usize, u32)]) -> TcpInfo {
        let mut info = TcpInfo([0; TcpInfo::BYTES]);
        for (at, value) in fields {
            info.0[*at..at + 4].copy_from_slice(&value.to_ne_bytes());
        }
        info
    }

    #[test]
    fn only_a_socket_that_might_have_sent_more_is_empty() {
        let (room, full) =
            ([(TcpInfo::UNACKED, 9), (TcpInfo::SND_CWND, 10)], [(TcpInfo::UNACKED, 10), (TcpInfo::SND_CWND, 10)]);
        let last = (TcpInfo::LAST_DATA_SENT, 7);
        assert_eq!(info(&[room[0], room[1], last]).empty_for(), Some(Duration::from_millis(7)));
        assert_eq!(info(&[full[0], full[1], last]).empty_for(), None, "the window is used up");
        assert_eq!(info(&[room[0], room[1], last, (TcpInfo::NOTSENT_BYTES, 1)]).empty_for(), None, "there is data");
    }

    #[test]
    fn the_fields_are_where_the_kernel_has_them() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut receiver, _) = listener.accept().unwrap();
        std::io::Write::write_all(&mut sender, b"x").unwrap();
        receiver.read_exact(&mut [0]).unwrap();
        let pause = Duration::from_millis(200);
        std::thread::sleep(pause);
        let idle = TcpInfo::of(sender.as_fd()).unwrap();
        assert_eq!((idle.field(TcpInfo::UNACKED), idle.field(TcpInfo::NOTSENT_BYTES)), (0, 0));
        // Linux opens with ten segments; tc or sysctls may not make it less than one.
        assert!((1..=1000).contains(&idle.field(TcpInfo::SND_CWND)), "{}", idle.field(TcpInfo::SND_CWND));
        assert!(idle.empty_for().unwrap() >= pause / 2, "{:?}", idle.empty_for());
        // More than a receiver takes that does not read.
        sender.set_nonblocking(true).unwrap();
        while std::io::Write::write(&mut sender, &[0; 65_536]).is_ok() {}
        let full = TcpInfo::of(sender.as_fd()).unwrap();
        assert!(full.field(TcpInfo::NOTSENT_BYTES) > 0 && full.empty_for().is_none());
    }

    #[test]
    fn a_share_needs_a_second() {
        let supply = |busy, empty| Supply { busy: Duration::from_millis(busy), empty: Duration::from_millis(empty) };
        assert_eq!(supply(999, 500).empty_share(), None);
        assert_eq!(supply(2000, 500).empty_share(), Some(0.25));
        let mut sum = supply(1000, 0);
        sum.add(supply(1000, 500));
        assert_eq!(sum, supply(2000, 500));
    }
}
