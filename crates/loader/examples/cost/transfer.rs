//! One bulk transfer over loopback, both ends on one CPU.

use crate::Result;
use crate::net::{choose, in_own_netns};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, SockaddrIn, bind, connect, getsockname, listen, socket,
};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

const CHUNK_BYTES: usize = 128 * 1024;

/// What a transfer moved and what it took.
#[derive(Debug, Clone, Copy)]
pub struct Transfer {
    pub bytes: u64,
    pub wall: Duration,
    /// User and system time of this process.
    pub cpu: Duration,
}

impl Transfer {
    pub fn bytes_per_s(&self) -> f64 {
        self.bytes as f64 / self.wall.as_secs_f64()
    }

    pub fn cpu_s_per_byte(&self) -> f64 {
        self.cpu.as_secs_f64() / self.bytes.max(1) as f64
    }
}

/// Sends as fast as it goes for `duration` between two sockets with this algorithm.
pub fn bulk(kernel_name: &str, duration: Duration) -> Result<Transfer> {
    in_own_netns(|| -> std::result::Result<Transfer, String> {
        share_one_cpu().map_err(|e| format!("pinning to one CPU: {e}"))?;
        let (sender, receiver) =
            connection(kernel_name).map_err(|e| format!("a connection with {kernel_name}: {e}"))?;
        let (begun, cpu) = (Instant::now(), cpu_time());
        let bytes = std::thread::scope(|scope| {
            let reading = scope.spawn(move || read_all(receiver));
            send_for(sender, duration).map_err(|e| format!("sending with {kernel_name}: {e}"))?;
            reading.join().expect("the reader does not panic").map_err(|e| format!("receiving: {e}"))
        })?;
        Ok(Transfer { bytes, wall: begun.elapsed(), cpu: cpu_time().saturating_sub(cpu) })
    })
    .map_err(Into::into)
}

/// The last CPU that this process may use; threads started later inherit it.
fn share_one_cpu() -> nix::Result<()> {
    let allowed = sched_getaffinity(Pid::from_raw(0))?;
    let last = (0..CpuSet::count()).rev().find(|&cpu| allowed.is_set(cpu).unwrap_or(false)).unwrap_or(0);
    let mut one = CpuSet::new();
    one.set(last)?;
    sched_setaffinity(Pid::from_raw(0), &one)
}

/// Both ends choose before they connect or listen, so that the whole transfer runs the algorithm.
fn connection(kernel_name: &str) -> std::io::Result<(TcpStream, TcpStream)> {
    let tcp = || socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None);
    let (server, client) = (tcp()?, tcp()?);
    choose(&server, kernel_name);
    choose(&client, kernel_name);
    bind(server.as_raw_fd(), &SockaddrIn::new(127, 0, 0, 1, 0))?;
    listen(&server, Backlog::new(1)?)?;
    connect(client.as_raw_fd(), &getsockname::<SockaddrIn>(server.as_raw_fd())?)?;
    let (accepted, _) = TcpListener::from(server).accept()?;
    Ok((TcpStream::from(client), accepted))
}

fn send_for(mut to: TcpStream, duration: Duration) -> std::io::Result<()> {
    let chunk = vec![0x5a; CHUNK_BYTES];
    let end = Instant::now() + duration;
    // Paced algorithms may hold a write up for long.
    to.set_write_timeout(Some(duration + Duration::from_secs(10)))?;
    while Instant::now() < end {
        to.write_all(&chunk)?;
    }
    Ok(())
}

fn read_all(mut from: TcpStream) -> std::io::Result<u64> {
    let mut buffer = vec![0; CHUNK_BYTES];
    let mut total = 0;
    loop {
        match from.read(&mut buffer)? {
            0 => return Ok(total),
            bytes => total += bytes as u64,
        }
    }
}

fn cpu_time() -> Duration {
    clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}
