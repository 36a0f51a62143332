//! The plainest way to hold a path between two TUN devices: a thread that reads each packet, waits until it is due and writes it. Its price is
//! that of the system calls and the wake-ups on this machine. Less is for who wakes up for several packets at once, and is later.

use crate::{ONE_WAY_MS, Result, buffer_bytes};
use ccactl_testbed::emulator::address;
use ccactl_testbed::emulator::realtime::{Standing, raise_thread};
use ccactl_testbed::host::netns::{NETNS_DIR, Netns};
use ccactl_testbed::host::run_id::{PREFIX, RunId};
use ccactl_testbed::host::tun::{DEVICE, Tun};
use nix::poll::{PollFd, PollFlags, ppoll};
use std::collections::VecDeque;
use std::io::{self, IoSlice, Read};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const MTU: u32 = 1500;
/// Of `struct virtio_net_hdr`, which a device puts before each packet.
const VIRTIO_BYTES: usize = 10;
/// The end is looked for this often when no packet comes.
const IDLE: Duration = Duration::from_millis(20);

/// Builds the path, says where its ends are, and holds it until standard input ends.
pub fn hold(rate_mbit: u64) -> Result<()> {
    let id = RunId::new();
    let end = |role: &str, address| -> Result<(Netns, Tun)> {
        let netns = Netns::create(format!("{PREFIX}-{id}-{role}"))?;
        let device = Tun::create(&netns, DEVICE, address, MTU)?;
        Ok((netns, device))
    };
    let (near, sender) = end("tx0", address::host(0))?;
    let (far, receiver) = end("rx", address::SERVER)?;
    println!("{NETNS_DIR}/{} {NETNS_DIR}/{} {}", near.name(), far.name(), address::SERVER);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| -> Result<()> {
        let forwarder = scope.spawn(|| forward(&sender, &receiver, rate_mbit, &is_over));
        std::io::stdin().read_to_end(&mut Vec::new())?;
        is_over.store(true, Ordering::Relaxed);
        Ok(forwarder.join().map_err(|_| "the forwarder panicked")??)
    })
}

fn forward(from: &Tun, to: &Tun, rate_mbit: u64, is_over: &AtomicBool) -> io::Result<()> {
    // The emulator's own choice for that rate.
    if raise_thread(rate_mbit * 1_000_000) == Standing::Ordinary {
        return Err(io::Error::other("the forwarder has no real-time priority"));
    }
    let transmission = Duration::from_nanos(u64::from(MTU) * 8 * 1000 / rate_mbit);
    let longest_queue = transmission * (buffer_bytes(rate_mbit) / u64::from(MTU)) as u32;
    let one_way = Duration::from_millis(ONE_WAY_MS);
    let mut packets: VecDeque<(Instant, Vec<u8>)> = VecDeque::new();
    let mut unused: Vec<Vec<u8>> = Vec::new();
    let mut frame = [0; VIRTIO_BYTES + MTU as usize];
    let mut link_is_free = Instant::now();
    while !is_over.load(Ordering::Relaxed) {
        while let Some(length) = from.receive(&mut frame)? {
            let now = Instant::now();
            if link_is_free.saturating_duration_since(now) > longest_queue {
                continue;
            }
            link_is_free = link_is_free.max(now) + transmission;
            let mut packet = unused.pop().unwrap_or_default();
            packet.clear();
            packet.extend_from_slice(&frame[..length]);
            packets.push_back((link_is_free + one_way, packet));
        }
        while let Some((_, packet)) = packets.pop_front_if(|(due, _)| *due <= Instant::now()) {
            // What a device refuses is lost, as on any path.
            let _ = to.send(&[IoSlice::new(&packet)]);
            unused.push(packet);
        }
        let due = packets.front().map_or(IDLE, |(due, _)| due.saturating_duration_since(Instant::now()).min(IDLE));
        ppoll(&mut [PollFd::new(from.as_fd(), PollFlags::POLLIN)], Some(due.into()), None)?;
    }
    Ok(())
}
