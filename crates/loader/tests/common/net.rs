//! TCP over the loopback of a network namespace that only this thread and its children see.

use nix::sched::{CloneFlags, unshare};
use nix::sys::socket::{getsockopt, setsockopt, sockopt::TcpCongestion};
use std::ffi::OsString;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd};
use std::thread;
use std::time::Duration;

/// No step of a test waits longer for the network.
pub const PATIENCE: Duration = Duration::from_secs(30);

pub const LOOPBACK: [IpAddr; 2] = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];

/// Runs on a thread with a network namespace of its own, its loopback up.
pub fn in_own_netns<T: Send>(action: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let worker = scope.spawn(|| {
            unshare(CloneFlags::CLONE_NEWNET).unwrap();
            loopback_up();
            action()
        });
        worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn loopback_up() {
    let socket = std::net::UdpSocket::bind("0.0.0.0:0").unwrap();
    // SAFETY: all-zero bytes are a valid ifreq.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = from.cast_signed();
    }
    request.ifr_ifru.ifru_flags = libc::IFF_UP as i16;
    // SAFETY: SIOCSIFFLAGS reads an ifreq, which the pointer is to.
    let ret = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw mut request) };
    assert_eq!(ret, 0, "setting lo up: {}", std::io::Error::last_os_error());
}

/// Of the namespace of this thread only: connections ask for ECN whatever the algorithm. Algorithms that depend on it
/// hand a socket without it to reno, so where they are to be found afterwards, it has to be there.
pub fn ask_for_ecn() {
    std::fs::write("/proc/sys/net/ipv4/tcp_ecn", "1").unwrap();
}

/// The algorithm of a socket, as `ss -ti` shows it.
pub fn algorithm_of(socket: &impl AsFd) -> String {
    let name = getsockopt(&socket, TcpCongestion).unwrap();
    name.to_string_lossy().trim_end_matches('\0').to_owned()
}

/// What an application does that chooses for itself.
pub fn choose(socket: &impl AsFd, name: &str) {
    setsockopt(socket, TcpCongestion, &OsString::from(name)).unwrap();
}

/// Both ends of a connection, and the listener.
pub struct Connection {
    pub active: TcpStream,
    pub passive: TcpStream,
    pub listener: TcpListener,
}

impl Connection {
    pub fn over(address: IpAddr) -> Self {
        Self::to(TcpListener::bind(SocketAddr::new(address, 0)).unwrap())
    }

    pub fn to(listener: TcpListener) -> Self {
        let active = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (passive, _) = listener.accept().unwrap();
        for end in [&active, &passive] {
            end.set_read_timeout(Some(PATIENCE)).unwrap();
            end.set_write_timeout(Some(PATIENCE)).unwrap();
        }
        Self { active, passive, listener }
    }

    /// Algorithms of the active end, the passive end and the listener.
    pub fn algorithms(&self) -> [String; 3] {
        [algorithm_of(&self.active), algorithm_of(&self.passive), algorithm_of(&self.listener)]
    }

    /// Moves bytes from the active to the passive end and back, and checks that each arrives.
    pub fn move_both_ways(&self, bytes: usize) {
        one_way(&self.active, &self.passive, bytes);
        one_way(&self.passive, &self.active, bytes);
    }
}

/// Sends a pattern whose every byte depends on its position, and checks each byte that arrives.
pub fn one_way(from: &TcpStream, to: &TcpStream, bytes: usize) {
    let pattern = |position: usize| (position % 251) as u8;
    moved(from, to, bytes, pattern, |start, arrived| {
        for (position, byte) in (start..).zip(arrived) {
            assert_eq!(*byte, pattern(position), "at byte {position}");
        }
    });
}

/// Sends bytes, given by their position, and shows what arrives to `look` with the position of its first byte.
pub fn moved(
    mut from: &TcpStream,
    mut to: &TcpStream,
    bytes: usize,
    byte: impl Fn(usize) -> u8 + Send + Sync,
    look: impl Fn(usize, &[u8]),
) {
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut sent = 0;
            while sent < bytes {
                let length = (bytes - sent).min(64 * 1024);
                let chunk: Vec<u8> = (sent..sent + length).map(&byte).collect();
                from.write_all(&chunk).unwrap();
                sent += length;
            }
        });
        let mut received = 0;
        let mut buffer = vec![0; 64 * 1024];
        while received < bytes {
            let length = (bytes - received).min(buffer.len());
            let length = to.read(&mut buffer[..length]).unwrap();
            assert_ne!(length, 0, "the connection ended after {received} of {bytes} bytes");
            look(received, &buffer[..length]);
            received += length;
        }
    });
}

/// The kernel's own view of a socket.
pub fn tcp_info(socket: &impl AsFd) -> libc::tcp_info {
    // SAFETY: all-zero bytes are a valid tcp_info.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut length = size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to `info`.
    let ret = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut info).cast(),
            &raw mut length,
        )
    };
    assert_eq!(ret, 0, "TCP_INFO: {}", std::io::Error::last_os_error());
    info
}

/// The window that the peer of a socket offers it, bytes (`tcpi_snd_wnd`, Linux 6.2+).
pub fn offered_to(socket: &impl AsFd) -> u32 {
    const SND_WND: usize = 228;
    let mut info = [0_u8; 256];
    let mut length = info.len() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to `info`.
    let ret = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    assert!(ret == 0 && length as usize >= SND_WND + 4, "TCP_INFO: {}", std::io::Error::last_os_error());
    u32::from_ne_bytes(info[SND_WND..SND_WND + 4].try_into().unwrap())
}
