//! One bulk transfer over loopback, as fast as the CPU allows.

use crate::common::net::{PATIENCE, algorithm_of, choose};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrIn, connect, socket};
use nix::sys::time::TimeValLike;
use nix::unistd::Pid;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Of one transfer of a comparison.
pub const LENGTH: Duration = Duration::from_millis(500);
/// Slow start is not measured.
const WARM_UP: Duration = Duration::from_millis(100);
const CHUNK: usize = 128 * 1024;

/// What was moved after the warm-up.
pub struct Transfer {
    bytes: u64,
    elapsed: Duration,
    cpu: Duration,
}

impl Transfer {
    pub fn bytes_per_s(&self) -> f64 {
        self.bytes as f64 / self.elapsed.as_secs_f64()
    }

    /// Sender, receiver and the kernel's work on their behalf.
    pub fn cpu_per_byte(&self) -> f64 {
        self.cpu.as_secs_f64() / self.bytes as f64
    }
}

/// Sends for `length` with the algorithm `name`. Both ends share one CPU: what either of them spends is then missing in
/// the throughput.
pub fn bulk(name: &str, length: Duration) -> Transfer {
    share_one_cpu();
    let (active, passive) = connection(name);
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let chunk = vec![0; CHUNK];
            while !over.load(Ordering::Relaxed) {
                match (&active).write_all(&chunk) {
                    Ok(()) => {}
                    Err(error) if error.kind() == ErrorKind::BrokenPipe => break,
                    Err(error) => panic!("sending with {name}: {error}"),
                }
            }
            active.shutdown(Shutdown::Write).unwrap();
        });
        let mut buffer = vec![0; CHUNK];
        receive(&passive, &mut buffer, WARM_UP);
        let cpu = cpu_time();
        let begun = Instant::now();
        let bytes = receive(&passive, &mut buffer, length.saturating_sub(WARM_UP));
        let transfer = Transfer { bytes, elapsed: begun.elapsed(), cpu: cpu_time() - cpu };
        assert_eq!(algorithm_of(&active), name, "it handed the socket on");
        over.store(true, Ordering::Relaxed);
        while (&passive).read(&mut buffer).unwrap() > 0 {}
        transfer
    })
}

/// Both ends. The algorithm is chosen before the SYN, and by the listener too, so that one that needs ECN negotiates it: the kernel refuses
/// a SYN that is itself ECN-capable unless the listener's algorithm needs that.
fn connection(name: &str) -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    choose(&listener, name);
    let SocketAddr::V4(address) = listener.local_addr().unwrap() else { unreachable!("it was bound to IPv4") };
    let active = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None).unwrap();
    choose(&active, name);
    connect(active.as_raw_fd(), &SockaddrIn::from(address)).unwrap();
    assert_eq!(algorithm_of(&active), name);
    let active = TcpStream::from(active);
    let (passive, _) = listener.accept().unwrap();
    active.set_write_timeout(Some(PATIENCE)).unwrap();
    passive.set_read_timeout(Some(PATIENCE)).unwrap();
    (active, passive)
}

fn receive(mut passive: &TcpStream, buffer: &mut [u8], length: Duration) -> u64 {
    let (begun, mut bytes) = (Instant::now(), 0);
    while begun.elapsed() < length {
        bytes += passive.read(buffer).unwrap() as u64;
    }
    bytes
}

/// This thread and those that it starts run on the last CPU that the process may use.
fn share_one_cpu() {
    let this = Pid::from_raw(0);
    let allowed = sched_getaffinity(this).unwrap();
    let last = (0..CpuSet::count()).rev().find(|&cpu| allowed.is_set(cpu).unwrap()).unwrap();
    let mut one = CpuSet::new();
    one.set(last).unwrap();
    sched_setaffinity(this, &one).unwrap();
}

/// Of this process, in user space and in the kernel.
fn cpu_time() -> Duration {
    let usage = getrusage(UsageWho::RUSAGE_SELF).unwrap();
    let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Duration::from_micros(micros.unsigned_abs())
}
