//! In the guest: one bulk transfer over loopback, by one thread that is at both ends, so that every instruction of the machine in that time
//! is spent for it.

use crate::Failure;
use ccactl_abi::Algorithm;
use ccactl_collector::{Output, RecordOptions, Recorder};
use ccactl_loader::{Choice, LoadRequest, Loader};
use nix::sys::socket::sockopt::TcpCongestion;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrIn, connect, setsockopt, socket};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::time::Instant;

/// Slow start and first touches of memory, not measured.
const WARM_UP_BYTES: u64 = 8 << 20;
const CHUNK: usize = 128 * 1024;
/// Nobody reads it: what is measured is making it.
const RECORDING: &str = "/tmp/cost.parquet";

/// What a transfer took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transfer {
    /// Payload after the warm-up.
    pub bytes: u64,
    /// Time that the guest's CPU was not idle, in ns: instructions.
    pub busy_ns: u64,
    /// Segments that came back to the sender.
    pub acks: u64,
}

/// `ALGORITHM MEGABYTES bare|recorded`; prints a [`Transfer`] as JSON.
pub fn run(words: &[String]) -> Result<(), Failure> {
    let [algorithm, megabytes, how] = words else {
        return Err("usage: __transfer ALGORITHM MEGABYTES bare|recorded".into());
    };
    bring_up_loopback()?;
    let loader = Loader::open()?;
    let cgroup = Path::new("/cost");
    let kernel_name = match algorithm.strip_prefix("native:") {
        Some(native) => native,
        None => {
            // Nothing runs in that cgroup: the socket chooses, ours and the kernel's own alike.
            let known = Algorithm::by_name(algorithm).ok_or("no such algorithm")?;
            let set = known.settings_of_any_kernel().iter();
            let set: Vec<_> = set.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            loader.load(&LoadRequest::new(Choice::parse(algorithm, &set, None)?, cgroup).create(true))?;
            known.kernel_name
        }
    };
    let recorder = match how.as_str() {
        "recorded" => Some(Recorder::start(RecordOptions::new(Output::File(RECORDING.into())))?),
        _ => None,
    };
    let transfer = bulk(kernel_name, megabytes.parse::<u64>()? << 20)?;
    if let Some(recorder) = recorder {
        recorder.stop()?;
        // The next transfer of this guest records as well, and nothing is written over.
        fs::remove_file(RECORDING)?;
    }
    if !algorithm.starts_with("native:") {
        loader.unload(cgroup)?;
    }
    println!("{}", serde_json::to_string(&transfer)?);
    Ok(())
}

fn bulk(kernel_name: &str, bytes: u64) -> Result<Transfer, Failure> {
    let (active, passive) = connection(kernel_name)?;
    pump(&active, &passive, WARM_UP_BYTES)?;
    let (acks, idle_ns, begun) = (segments_in(&active)?, idle_ns()?, Instant::now());
    let bytes = pump(&active, &passive, bytes)?;
    let elapsed_ns = u64::try_from(begun.elapsed().as_nanos())?;
    let busy_ns = elapsed_ns.saturating_sub(self::idle_ns()? - idle_ns);
    Ok(Transfer { bytes, busy_ns, acks: segments_in(&active)? - acks })
}

/// Moves at least so many bytes: sends what the socket takes, receives what has come, and waits where a paced sender has nothing to do.
fn pump(mut active: &TcpStream, mut passive: &TcpStream, bytes: u64) -> Result<u64, Failure> {
    let (chunk, mut buffer, mut received) = (vec![0; CHUNK], vec![0; CHUNK], 0);
    while received < bytes {
        let sent = again(active.write(&chunk))?;
        let come = again(passive.read(&mut buffer))?;
        received += come as u64;
        if sent == 0 && come == 0 {
            wait(active, passive)?;
        }
    }
    Ok(received)
}

/// 0 where it would have to wait.
fn again(moved: std::io::Result<usize>) -> std::io::Result<usize> {
    match moved {
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(0),
        moved => moved,
    }
}

fn wait(active: &TcpStream, passive: &TcpStream) -> Result<(), Failure> {
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    use std::os::fd::AsFd;
    let mut ends = [PollFd::new(active.as_fd(), PollFlags::POLLOUT), PollFd::new(passive.as_fd(), PollFlags::POLLIN)];
    match poll(&mut ends, PollTimeout::from(10_000_u16)) {
        Ok(0) => Err("nothing moved for 10 s".into()),
        Ok(_) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Both ends, neither of which blocks. The algorithm is chosen before the SYN and by the listener too, so that one that needs ECN gets it.
fn connection(kernel_name: &str) -> Result<(TcpStream, TcpStream), Failure> {
    let name = OsString::from(kernel_name);
    let listener = TcpListener::bind("127.0.0.1:0")?;
    setsockopt(&listener, TcpCongestion, &name)?;
    let SocketAddr::V4(address) = listener.local_addr()? else { return Err("expected an IPv4 address".into()) };
    let active = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)?;
    setsockopt(&active, TcpCongestion, &name)?;
    connect(active.as_raw_fd(), &SockaddrIn::from(address))?;
    let active = TcpStream::from(active);
    let (passive, _) = listener.accept()?;
    active.set_nonblocking(true)?;
    passive.set_nonblocking(true)?;
    Ok((active, passive))
}

/// `tcpi_segs_in`.
fn segments_in(socket: &TcpStream) -> Result<u64, Failure> {
    let mut raw = [0_u8; 256];
    let mut length = raw.len() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to `raw`.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            raw.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if result != 0 {
        return Err(std::io::Error::last_os_error().into());
    }
    // uapi/linux/tcp.h: tcpi_segs_in is at byte 140.
    const SEGS_IN: usize = 140;
    Ok(u64::from(u32::from_ne_bytes(raw[SEGS_IN..SEGS_IN + 4].try_into()?)))
}

fn idle_ns() -> Result<u64, Failure> {
    ccactl_testbed::host::cpu::idle_ns().ok_or_else(|| "/proc/timer_list does not tell the idle time of one CPU".into())
}

fn bring_up_loopback() -> Result<(), Failure> {
    let socket = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?;
    // SAFETY: an all-zero ifreq is one.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = *from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: the call reads one ifreq, which outlives it.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) };
    if result == 0 { Ok(()) } else { Err(std::io::Error::last_os_error().into()) }
}
