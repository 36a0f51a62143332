//! The sending end of UDP background traffic: evenly paced packets at a rate that changes in steps.

use super::protocol::{READY, line_reader, parse_go, say};
use crate::clock;
use ccactl_link::Nanos;
use serde::{Deserialize, Serialize};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::Duration;

/// How often a pause looks whether the bench is still there.
const PAUSE: Nanos = 50_000_000;
const NS_PER_S: u128 = 1_000_000_000;

/// What to send.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct UdpSendOptions {
    /// Receiver.
    pub to: SocketAddr,
    /// Bytes of payload per packet.
    pub payload_bytes: usize,
    /// What the rates count per packet.
    pub packet_bytes: u64,
    /// Times in ns after the beginning of the run and rates in bit/s from then on, in the order of time.
    pub steps: Vec<(Nanos, u64)>,
    /// End, after the beginning of the run.
    pub stop_ns: Nanos,
}

/// What was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct UdpSendReport {
    /// Packets that the kernel took.
    pub packets: u64,
    /// Packets that it refused, for want of memory.
    pub refused_packets: u64,
}

/// Times of packets whose rate changes in steps, relative to the beginning of the run.
#[derive(Debug, Clone)]
pub struct RatePlan {
    /// Time and bit/s from then on, in order.
    steps: Vec<(Nanos, u64)>,
    stop: Nanos,
    packet_bits: u64,
    now: Nanos,
}

impl RatePlan {
    /// `steps` are times and rates in bit/s, in the order of time; `packet_bytes` is what the rates count per packet.
    #[must_use]
    pub fn new(steps: Vec<(Nanos, u64)>, stop: Nanos, packet_bytes: u64) -> Self {
        let now = steps.first().map_or(stop, |(at, _)| *at);
        RatePlan { steps, stop, packet_bits: packet_bytes * 8, now }
    }

    /// Bits since the packet before, in bit · ns / s.
    fn needed(&self) -> u128 {
        u128::from(self.packet_bits) * NS_PER_S
    }
}

impl Iterator for RatePlan {
    type Item = Nanos;

    /// A packet leaves when its bits have come together at the rate of the plan, whatever steps lie in between.
    fn next(&mut self) -> Option<Nanos> {
        let mut needed = self.needed();
        while self.now < self.stop {
            let current = self.steps.iter().rposition(|(at, _)| *at <= self.now)?;
            let rate = u128::from(self.steps[current].1);
            let until = self.steps.get(current + 1).map_or(self.stop, |(at, _)| *at).min(self.stop);
            let there = rate * u128::from(until - self.now);
            if there >= needed {
                self.now += needed.div_ceil(rate) as Nanos;
                return (self.now < self.stop).then_some(self.now);
            }
            needed -= there;
            self.now = until;
        }
        None
    }
}

/// Runs the sending end; standard input and output belong to the bench.
///
/// # Errors
/// When the socket cannot be used or the bench is gone.
pub fn send(options: UdpSendOptions) -> io::Result<()> {
    let commands = line_reader();
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    socket.connect(options.to)?;
    // Without it the kernel may deliver each wake-up 50 us late, half a packet at 100 Mbit/s.
    let _ = nix::sys::prctl::set_timerslack(1);
    say(READY)?;
    let t0 = start(&commands)?;
    let mut report = UdpSendReport { packets: 0, refused_packets: 0 };
    let payload = vec![0x5a; options.payload_bytes];
    for at in RatePlan::new(options.steps, options.stop_ns, options.packet_bytes) {
        wait_until(t0 + at, &commands)?;
        match socket.send(&payload) {
            Ok(_) => report.packets += 1,
            Err(_) => report.refused_packets += 1,
        }
    }
    say(&serde_json::to_string(&report)?)?;
    // The bench closes its end when it has everything.
    while commands.recv().is_ok() {}
    Ok(())
}

fn start(commands: &Receiver<String>) -> io::Result<Nanos> {
    let line = commands.recv().map_err(|_| io::Error::from(io::ErrorKind::UnexpectedEof))?;
    parse_go(&line)
}

/// Late packets go at once, one after the other: the number sent is that of the plan.
fn wait_until(at: Nanos, commands: &Receiver<String>) -> io::Result<()> {
    loop {
        let left = at.saturating_sub(clock::now());
        if left == 0 {
            return Ok(());
        }
        std::thread::sleep(Duration::from_nanos(left.min(PAUSE)));
        if let Err(TryRecvError::Disconnected) = commands.try_recv() {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Nanos = 1_000_000_000;

    #[test]
    fn packets_are_evenly_spaced_at_the_rate() {
        // 1000 bytes at 8 Mbit/s: one per ms, the first after its own ms, none at the stop.
        let plan = RatePlan::new(vec![(2 * S, 8_000_000)], 2 * S + 5_000_000, 1000);
        assert_eq!(plan.collect::<Vec<_>>(), [1, 2, 3, 4].map(|ms| 2 * S + ms * 1_000_000));
    }

    #[test]
    fn a_step_keeps_what_has_come_together_before_it() {
        // Half a packet at 8 Mbit/s until 0.5 ms, the other half at 4 Mbit/s: 1 ms more; then one per 2 ms.
        let plan = RatePlan::new(vec![(0, 8_000_000), (500_000, 4_000_000)], 6_000_000, 1000);
        assert_eq!(plan.collect::<Vec<_>>(), [1_500_000, 3_500_000, 5_500_000]);
    }

    #[test]
    fn a_rate_of_zero_is_a_pause() {
        let plan = RatePlan::new(vec![(0, 0), (S, 8_000_000), (S + 2_500_000, 0)], 3 * S, 1000);
        assert_eq!(plan.collect::<Vec<_>>(), [S + 1_000_000, S + 2_000_000]);
        assert_eq!(RatePlan::new(vec![(0, 0)], S, 1000).count(), 0);
    }

    #[test]
    fn the_number_of_packets_is_that_of_the_integrated_rate() {
        // 10 s each at 0, 10, 20, 30, 40 Mbit/s are 1 Gbit: 82562 packets of 1514 bytes.
        let steps = (0..5).map(|i| (i * 10 * S, i * 10_000_000)).collect();
        let packets = RatePlan::new(steps, 50 * S, 1514).count();
        assert!((82_561..=82_562).contains(&packets), "{packets}");
    }
}
