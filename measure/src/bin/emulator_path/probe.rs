//! A stream of numbered UDP packets that carry the time at which they were sent. The receiver's kernel stamps them when they come out of the
//! path, so that neither end's scheduling is taken for lateness of the path; both stamps are of `CLOCK_REALTIME`.

use crate::Result;
use crate::holder::Path;
use nix::sched::{CloneFlags, setns};
use nix::sys::socket::sockopt::{RcvBufForce, ReceiveTimestampns};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, MultiHeaders, RecvMsg, recvmmsg, sendmmsg, setsockopt};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut};
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::AsRawFd;
use std::thread;
use std::time::{Duration, Instant};

/// IP and UDP headers.
const HEADER_BYTES: usize = 28;
/// An IP packet of the usual size.
pub const PACKET_BYTES: usize = 1500;
const PAYLOAD_BYTES: usize = PACKET_BYTES - HEADER_BYTES;
const PORT: u16 = 9000;
/// Of the receiver's socket: a second of the rate.
const RECEIVE_BUFFER_BYTES: usize = 32 << 20;
/// Without a packet for so long the stream is over.
const SILENCE: Duration = Duration::from_millis(500);
/// The first may be so late, as a path may need long to wake up.
const FIRST_WITHIN: Duration = Duration::from_secs(10);
/// Of one system call.
pub const MOST_AT_ONCE: usize = 64;
/// As that of the emulator: whoever sends and receives is not to be what is late.
const PRIORITY: libc::c_int = 41;

/// One packet that arrived, in ns.
#[derive(Debug, Clone, Copy)]
pub struct Received {
    pub number: u64,
    pub sent: u64,
    pub received: u64,
}

/// Sends evenly for `length`, at most so many packets in one system call, and gives what arrived. Packets of a call have one stamp: where it
/// matters there is one packet, as a path that takes the sender's CPU for the first would make the others late.
pub fn stream(path: &Path, rate_bps: u64, length: Duration, at_once: usize) -> Result<Vec<Received>> {
    thread::scope(|scope| {
        let (ready, is_ready) = std::sync::mpsc::channel();
        let receiver =
            scope.spawn(move || within(&path.receiver, || receive(|| ready.send(()).map_err(io::Error::other))));
        is_ready.recv().map_err(|_| "the receiver did not start")?;
        let sender = scope.spawn(|| within(&path.sender, || send(path.to, rate_bps, length, at_once)));
        sender.join().map_err(|_| "the sender panicked")??;
        Ok(receiver.join().map_err(|_| "the receiver panicked")??)
    })
}

/// On a thread of its own: a namespace and a priority stay with it.
fn within<T>(namespace: &File, closure: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    setns(namespace, CloneFlags::CLONE_NEWNET)?;
    let parameters = libc::sched_param { sched_priority: PRIORITY };
    // SAFETY: the call reads one sched_param, which outlives it; 0 is the calling thread.
    if unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) } < 0 {
        return Err(io::Error::last_os_error());
    }
    closure()
}

fn realtime_ns(time: TimeSpec) -> u64 {
    time.tv_sec().cast_unsigned() * 1_000_000_000 + time.tv_nsec().cast_unsigned()
}

/// What is due goes out in as few system calls as it may, so that the sender keeps up with any rate.
fn send(to: Ipv4Addr, rate_bps: u64, length: Duration, at_once: usize) -> io::Result<()> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    socket.connect((to, PORT))?;
    let gap_ns = PACKET_BYTES as u64 * 8 * 1_000_000_000 / rate_bps;
    let packets = length.as_nanos() as u64 / gap_ns;
    let mut payloads = vec![[0; PAYLOAD_BYTES]; at_once];
    let begin = Instant::now();
    let mut next = 0;
    while next < packets {
        thread::sleep((begin + Duration::from_nanos(gap_ns * next)).saturating_duration_since(Instant::now()));
        let due = (begin.elapsed().as_nanos() as u64 / gap_ns + 1).min(packets);
        let count = due.saturating_sub(next).clamp(1, at_once as u64);
        let now = realtime_ns(clock_gettime(ClockId::CLOCK_REALTIME)?);
        for (number, payload) in (next..).zip(&mut payloads[..count as usize]) {
            payload[..8].copy_from_slice(&number.to_be_bytes());
            payload[8..16].copy_from_slice(&now.to_be_bytes());
        }
        next += count;
        let mut headers = MultiHeaders::<()>::preallocate(count as usize, None);
        let payloads: Vec<[IoSlice<'_>; 1]> =
            payloads[..count as usize].iter().map(|payload| [IoSlice::new(payload)]).collect();
        let none = vec![None; count as usize];
        match sendmmsg(socket.as_raw_fd(), &mut headers, &payloads, &none, [], MsgFlags::empty()) {
            // A full device is a full buffer: the packet is lost before the path.
            Ok(_) | Err(nix::Error::ENOBUFS) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn receive(ready: impl FnOnce() -> io::Result<()>) -> io::Result<Vec<Received>> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, PORT))?;
    setsockopt(&socket, ReceiveTimestampns, &true)?;
    setsockopt(&socket, RcvBufForce, &RECEIVE_BUFFER_BYTES)?;
    socket.set_read_timeout(Some(FIRST_WITHIN))?;
    ready()?;
    let mut packets = Vec::with_capacity(1 << 20);
    // The number and the stamp; the rest of a packet is not looked at.
    let mut payloads = vec![[0; 16]; MOST_AT_ONCE];
    let mut headers = MultiHeaders::<()>::preallocate(MOST_AT_ONCE, Some(nix::cmsg_space!(TimeSpec)));
    loop {
        let mut parts: Vec<[IoSliceMut<'_>; 1]> =
            payloads.iter_mut().map(|payload| [IoSliceMut::new(payload)]).collect();
        let stamps = match recvmmsg(socket.as_raw_fd(), &mut headers, &mut parts, MsgFlags::MSG_WAITFORONE, None) {
            Ok(messages) => messages.map(|message| stamp(&message)).collect::<io::Result<Vec<u64>>>()?,
            Err(nix::Error::EAGAIN) => return Ok(packets),
            Err(nix::Error::EINTR) => continue,
            Err(error) => return Err(error.into()),
        };
        for (received, payload) in stamps.into_iter().zip(&payloads) {
            let word = |at: usize| u64::from_be_bytes(payload[at..at + 8].try_into().expect("eight bytes"));
            packets.push(Received { number: word(0), sent: word(8), received });
        }
        socket.set_read_timeout(Some(SILENCE))?;
    }
}

/// The kernel's, in ns.
fn stamp(message: &RecvMsg<'_, '_, ()>) -> io::Result<u64> {
    let stamp = message.cmsgs()?.find_map(|message| match message {
        ControlMessageOwned::ScmTimestampns(time) => Some(realtime_ns(time)),
        _ => None,
    });
    stamp.ok_or_else(|| io::Error::other("the kernel did not stamp a packet"))
}
