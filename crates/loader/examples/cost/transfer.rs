//! One bulk transfer over loopback, as fast as the CPU allows.

use crate::common::net::{Connection, LOOPBACK, algorithm_of, choose};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use nix::unistd::Pid;
use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
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
    let connection = Connection::over(LOOPBACK[0]);
    choose(&connection.active, name);
    assert_eq!(algorithm_of(&connection.active), name);
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let chunk = vec![0; CHUNK];
            while !over.load(Ordering::Relaxed) {
                match (&connection.active).write_all(&chunk) {
                    Ok(()) => {}
                    Err(error) if error.kind() == ErrorKind::BrokenPipe => break,
                    Err(error) => panic!("sending with {name}: {error}"),
                }
            }
            connection.active.shutdown(Shutdown::Write).unwrap();
        });
        let mut buffer = vec![0; CHUNK];
        receive(&connection, &mut buffer, WARM_UP);
        let cpu = cpu_time();
        let begun = Instant::now();
        let bytes = receive(&connection, &mut buffer, length.saturating_sub(WARM_UP));
        let transfer = Transfer { bytes, elapsed: begun.elapsed(), cpu: cpu_time() - cpu };
        over.store(true, Ordering::Relaxed);
        while (&connection.passive).read(&mut buffer).unwrap() > 0 {}
        transfer
    })
}

fn receive(connection: &Connection, buffer: &mut [u8], length: Duration) -> u64 {
    let (begun, mut bytes) = (Instant::now(), 0);
    while begun.elapsed() < length {
        bytes += (&connection.passive).read(buffer).unwrap() as u64;
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
