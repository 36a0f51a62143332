//! The forwarding loop: packets from the TUN devices through the link model and back.
//!
//! ```text
//!   sender i ──▶ bottleneck (link model) ──▶ delay line i ──▶ receiver
//!   sender i ◀────────────────── delay line i ◀────────────── receiver
//! ```
//!
//! Each direction of path i takes half of base RTT + extra RTT. Nothing here allocates once the loop runs.

use super::counters::{Counters, LostBefore, RateMeter};
use super::lateness::Histogram;
use super::pool::{Packet, Pool};
use crate::clock;
use crate::host::tun::Tun;
use ccactl_link::{Departure, Item, Link, LinkConfig, Nanos, Output};
use std::collections::VecDeque;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Above this rate a wake-up per packet costs more than it gives: packets are handled in ticks.
const TICK_ABOVE_BPS: u64 = 100_000_000;
const TICK: Nanos = 50_000;
/// The stop flag is looked at this often when no packet comes.
const IDLE: Nanos = 20_000_000;
/// Packets taken from one device before others get their turn.
const BATCH: usize = 64;
/// Packets that a delay line holds without allocating.
const DELAY_LINE_PACKETS: usize = 16_384;

/// One sender's end of the path.
pub struct Port {
    /// Device in the sender's namespace.
    pub tun: Tun,
    /// Propagation delay in each direction.
    pub one_way: Nanos,
}

struct InFlight {
    packet: Packet,
    due: Nanos,
    /// On the wire since the last packet that was not lost.
    wire_bytes: u64,
    back_to_back: bool,
}

/// Everything that the loop touches.
pub struct Engine {
    ports: Vec<Port>,
    receiver: Tun,
    link: Link<Packet>,
    overhead_bytes: u64,
    tick: bool,
    pool: Pool,
    to_receiver: Vec<VecDeque<InFlight>>,
    to_sender: Vec<VecDeque<InFlight>>,
    /// All devices, for `ppoll`.
    descriptors: Vec<libc::pollfd>,
    pub(super) counters: Counters,
    pub(super) lateness: Histogram,
    pub(super) rate: RateMeter,
    lost_before: LostBefore,
}

impl Engine {
    /// Allocates and touches everything. `mtu` is the one of the devices.
    pub fn new(
        ports: Vec<Port>,
        receiver: Tun,
        config: LinkConfig,
        overhead_bytes: u32,
        mtu: u32,
        slots: usize,
    ) -> Self {
        let lines = || ports.iter().map(|_| VecDeque::with_capacity(DELAY_LINE_PACKETS)).collect();
        let devices = ports.iter().map(|port| port.tun.as_fd()).chain([receiver.as_fd()]);
        let descriptors =
            devices.map(|fd| libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 }).collect();
        let tick = config.rate.highest_rate_bps() > TICK_ABOVE_BPS;
        let mut link = Link::new(config);
        link.reserve(slots);
        Engine {
            link,
            overhead_bytes: u64::from(overhead_bytes),
            tick,
            pool: Pool::new(slots, (mtu as usize).next_multiple_of(64)),
            to_receiver: lines(),
            to_sender: lines(),
            descriptors,
            counters: Counters::new(ports.len()),
            lateness: Histogram::new(),
            rate: RateMeter::default(),
            lost_before: LostBefore::default(),
            ports,
            receiver,
        }
    }

    /// Forwards until `stop`.
    pub fn run(&mut self, stop: &AtomicBool) {
        while !stop.load(Ordering::Relaxed) {
            let more = self.take_in();
            self.give_out();
            if !more {
                self.wait();
            }
        }
    }

    /// Reads what the devices have; true when a device may have more.
    fn take_in(&mut self) -> bool {
        let mut more = false;
        for sender in 0..self.ports.len() {
            more |= self.take_data(sender);
        }
        more | self.take_acks()
    }

    fn take_data(&mut self, sender: usize) -> bool {
        for _ in 0..BATCH {
            let tun = &self.ports[sender].tun;
            let packet = match self.pool.fill(sender as u32, |slot| tun.receive(slot)) {
                Some(Ok(Some(packet))) => packet,
                Some(Ok(None)) => return false,
                Some(Err(_)) => return self.counters.read_failed(),
                None => return self.counters.pool_exhausted(),
            };
            if super::address::destination(self.pool.bytes(packet)) != Some(super::address::RECEIVER) {
                self.counters.stray += 1;
                self.pool.release(packet);
                continue;
            }
            self.offer(packet);
        }
        true
    }

    fn offer(&mut self, packet: Packet) {
        let now = clock::now();
        self.drain_link(now);
        let flow = packet.sender as usize;
        let dropped_before = self.counters.flows[flow].dropped_full_packets;
        self.counters.flows[flow].offered_packets += 1;
        self.link.enqueue(now, self.item(packet));
        self.drain_link(now);
        if self.counters.flows[flow].dropped_full_packets == dropped_before {
            let queued = self.link.queued_bytes();
            self.counters.queue_max_bytes = self.counters.queue_max_bytes.max(queued);
            self.counters.queue_sum_bytes += u128::from(queued);
        }
    }

    /// What the link model looks at.
    fn item(&self, packet: Packet) -> Item<Packet> {
        Item {
            packet,
            size_bytes: packet.bytes + self.overhead_bytes as u32,
            flow: packet.sender,
            class: 0,
            is_ack: false,
            ecn_capable: super::ecn::is_capable(self.pool.bytes(packet)),
        }
    }

    fn take_acks(&mut self) -> bool {
        for _ in 0..BATCH {
            let receiver = &self.receiver;
            let mut packet = match self.pool.fill(0, |slot| receiver.receive(slot)) {
                Some(Ok(Some(packet))) => packet,
                Some(Ok(None)) => return false,
                Some(Err(_)) => return self.counters.read_failed(),
                None => return self.counters.pool_exhausted(),
            };
            let destination = super::address::destination(self.pool.bytes(packet));
            let Some(sender) = destination.and_then(|to| super::address::sender_index(to, self.ports.len())) else {
                self.counters.stray += 1;
                self.pool.release(packet);
                continue;
            };
            packet.sender = sender as u32;
            let due = clock::now() + self.ports[sender].one_way;
            self.to_sender[sender].push_back(InFlight { packet, due, wire_bytes: 0, back_to_back: false });
        }
        true
    }

    /// Moves what has left the bottleneck into the delay lines, and frees what was dropped.
    fn drain_link(&mut self, now: Nanos) {
        while let Some(output) = self.link.pop(now) {
            match output {
                Output::Sent(departure) => self.carry(&departure),
                Output::Dropped { packet, .. } => {
                    self.counters.flows[packet.sender as usize].dropped_full_packets += 1;
                    self.pool.release(packet);
                }
            }
        }
    }

    fn carry(&mut self, departure: &Departure<Packet>) {
        let Departure { packet, due, back_to_back, .. } = *departure;
        let sender = packet.sender as usize;
        let wire_bytes = u64::from(packet.bytes) + self.overhead_bytes;
        if departure.marked && super::ecn::mark(self.pool.bytes_mut(packet)) {
            self.counters.flows[sender].marked_packets += 1;
        }
        if departure.lost.is_some() {
            self.lost_before.lost(wire_bytes, back_to_back);
            self.counters.flows[sender].lost_packets += 1;
            self.pool.release(packet);
            return;
        }
        let due = due + self.ports[sender].one_way;
        let (wire_bytes, back_to_back) = self.lost_before.passed(wire_bytes, back_to_back);
        self.to_receiver[sender].push_back(InFlight { packet, due, wire_bytes, back_to_back });
    }

    /// Writes what is due to the devices.
    fn give_out(&mut self) {
        let now = clock::now();
        self.drain_link(now);
        for sender in 0..self.ports.len() {
            while let Some(arrival) = self.to_receiver[sender].pop_front_if(|head| head.due <= now) {
                let actual = self.deliver(&arrival, true);
                let wire_bytes = u64::from(arrival.packet.bytes) + self.overhead_bytes;
                self.rate.add(actual, arrival.wire_bytes, arrival.back_to_back);
                let flow = &mut self.counters.flows[sender];
                flow.delivered_packets += 1;
                flow.delivered_wire_bytes += wire_bytes;
            }
            while let Some(arrival) = self.to_sender[sender].pop_front_if(|head| head.due <= now) {
                self.deliver(&arrival, false);
                self.counters.flows[sender].returned_packets += 1;
            }
        }
    }

    fn deliver(&mut self, arrival: &InFlight, to_receiver: bool) -> Nanos {
        let actual = clock::now();
        self.lateness.add(actual.saturating_sub(arrival.due));
        let tun = if to_receiver { &self.receiver } else { &self.ports[arrival.packet.sender as usize].tun };
        if tun.send(self.pool.bytes(arrival.packet)).is_err() {
            self.counters.write_failures += 1;
        }
        self.pool.release(arrival.packet);
        actual
    }

    /// When the next packet is due on any delay line. A packet still in the bottleneck matters only once its
    /// propagation is over too, which spares a wake-up per packet.
    fn next_due(&self) -> Option<Nanos> {
        let lines = self.to_receiver.iter().chain(&self.to_sender);
        let in_flight = lines.filter_map(|line| line.front()).map(|head| head.due).min();
        let shortest = self.ports.iter().map(|port| port.one_way).min().unwrap_or(0);
        let queued = self.link.next_event().map(|event| event + shortest);
        in_flight.into_iter().chain(queued).min()
    }

    fn wait(&mut self) {
        let now = clock::now();
        let until_due = self.next_due().map_or(IDLE, |due| due.saturating_sub(now)).min(IDLE);
        if self.tick {
            // Arrivals are looked at every tick, deliveries at their time or at the tick before the next.
            std::thread::sleep(Duration::from_nanos(until_due.min(TICK)));
            return;
        }
        let timeout = libc::timespec { tv_sec: 0, tv_nsec: until_due as libc::c_long };
        // SAFETY: the array and the timeout live across the call, the length is the array's, and the devices
        // stay open as long as `self`. A result needs no look: EINTR is as good as a timeout.
        unsafe {
            libc::ppoll(
                self.descriptors.as_mut_ptr(),
                self.descriptors.len() as libc::nfds_t,
                &raw const timeout,
                std::ptr::null(),
            )
        };
    }
}
