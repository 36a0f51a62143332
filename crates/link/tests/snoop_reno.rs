//! Reno through a lossy hop, with and without a Snoop agent ahead of it, in virtual time.
//!
//! ```text
//!   Reno ──▶ 45 ms ──▶ agent ──▶ 10 Mbit/s, 5 ms, losses ──▶ receiver
//!        ◀── 45 ms ◀── agent ◀── 5 ms ◀──────────────────────
//! ```

mod snoop_common;

use ccactl_link::snoop::{Action, Sack, Segment, Snoop, SnoopCounters};
use ccactl_link::{Capacity, DelayLine, Ecn, Item, Link, LinkConfig, Loss, Nanos, Output};
use snoop_common::{FULL, MS, ONE, PACKET};
use std::collections::BTreeSet;

const WIRED: Nanos = 45 * MS;
const HOP: Nanos = 5 * MS;
const RUN: Nanos = 30_000 * MS;
/// Receive window in segments: 1.2 BDP of the path.
const WINDOW: u32 = 130;

/// Reno with the partial ACKs of RFC 6582; RFC 6298 for the timer. Segments have numbers from 0.
struct Reno {
    cwnd: f64,
    ssthresh: f64,
    next: u32,
    acked: u32,
    duplicates: u32,
    /// Ends the recovery.
    recover: Option<u32>,
    timer: Nanos,
    rto: Nanos,
    timeouts: u32,
    recoveries: u32,
}

impl Reno {
    fn new() -> Self {
        let rto = 300 * MS;
        Reno {
            cwnd: 10.0,
            ssthresh: f64::INFINITY,
            next: 0,
            acked: 0,
            duplicates: 0,
            recover: None,
            timer: rto,
            rto,
            timeouts: 0,
            recoveries: 0,
        }
    }

    /// Segments that may leave now.
    fn send(&mut self, out: &mut Vec<u32>) {
        while self.next - self.acked < (self.cwnd as u32).min(WINDOW) {
            out.push(self.next);
            self.next += 1;
        }
    }

    fn halve(&mut self) {
        self.ssthresh = (f64::from(self.next - self.acked) / 2.0).max(2.0);
    }

    fn ack(&mut self, now: Nanos, number: u32, out: &mut Vec<u32>) {
        if number > self.acked {
            self.new_ack(now, number, out);
        } else if number == self.acked && self.next > self.acked {
            self.duplicates += 1;
            if self.recover.is_some() {
                self.cwnd += 1.0;
            } else if self.duplicates == 3 {
                self.halve();
                self.cwnd = self.ssthresh + 3.0;
                self.recover = Some(self.next);
                self.recoveries += 1;
                out.push(self.acked);
            }
        }
        self.send(out);
    }

    fn new_ack(&mut self, now: Nanos, number: u32, out: &mut Vec<u32>) {
        let news = f64::from(number - self.acked);
        (self.acked, self.duplicates, self.timer) = (number, 0, now + self.rto);
        self.next = self.next.max(number);
        match self.recover {
            Some(recover) if number < recover => {
                self.cwnd = (self.cwnd - news + 1.0).max(1.0);
                out.push(number);
            }
            Some(_) => (self.cwnd, self.recover) = (self.ssthresh, None),
            None if self.cwnd < self.ssthresh => self.cwnd += news,
            None => self.cwnd += news / self.cwnd,
        }
    }

    fn timeout(&mut self, now: Nanos, out: &mut Vec<u32>) {
        self.halve();
        (self.cwnd, self.next, self.recover, self.duplicates) = (1.0, self.acked, None, 0);
        self.timer = now + self.rto;
        self.timeouts += 1;
        self.send(out);
    }
}

/// Acknowledges every segment at once.
#[derive(Default)]
struct Receiver {
    next: u32,
    above: BTreeSet<u32>,
    sack: bool,
}

impl Receiver {
    fn take(&mut self, number: u32) -> Segment {
        let twice = number < self.next || !self.above.insert(number);
        while self.above.remove(&self.next) {
            self.next += 1;
        }
        let mut sack = Sack::default();
        if self.sack && twice {
            sack.push(number * FULL, (number + 1) * FULL);
        }
        if self.sack && self.above.contains(&number) {
            let first = (0..=number).rev().take_while(|n| self.above.contains(n)).last().unwrap_or(number);
            let last = (number..).take_while(|n| self.above.contains(n)).last().unwrap_or(number);
            sack.push(first * FULL, (last + 1) * FULL);
        } else if let Some(first) = self.above.first().filter(|_| self.sack).copied() {
            let last = (first..).take_while(|n| self.above.contains(n)).last().unwrap_or(first);
            sack.push(first * FULL, (last + 1) * FULL);
        }
        Segment { ack: Some(self.next * FULL), window: 100, sack, ..Segment::default() }
    }
}

/// Who has a packet next.
#[derive(Clone, Copy)]
enum At {
    AgentWithData,
    AgentWithAck,
    Receiver,
    Sender,
}

struct World {
    reno: Reno,
    receiver: Receiver,
    snoop: Option<Snoop<(u32, Segment)>>,
    hop: Link<u32>,
    lines: DelayLine<(At, u32, Segment)>,
    blocks_at_sender: u32,
}

struct Outcome {
    segments: u32,
    timeouts: u32,
    recoveries: u32,
    blocks_at_sender: u32,
    counters: SnoopCounters,
}

impl Outcome {
    /// What the sender has seen: segments, recoveries, timeouts, ACKs with blocks.
    fn sender(&self) -> (u32, u32, u32, u32) {
        (self.segments, self.recoveries, self.timeouts, self.blocks_at_sender)
    }
}

impl World {
    fn run(loss: f64, snoop: bool, sack: bool, buffer: u64) -> Outcome {
        let mut config = LinkConfig::drop_tail(10_000_000, Capacity::Packets(buffer));
        config.wire.delay = vec![(0, HOP)];
        config.wire.loss = Loss::Bernoulli(loss);
        let mut world = World {
            reno: Reno::new(),
            receiver: Receiver { sack, ..Receiver::default() },
            snoop: snoop.then(|| Snoop::new(1 << 20)),
            hop: Link::new(config),
            lines: DelayLine::with_capacity(1000),
            blocks_at_sender: 0,
        };
        let mut out = Vec::new();
        world.reno.send(&mut out);
        world.post(0, out);
        while let Some(now) = world.next().filter(|now| *now < RUN) {
            world.step(now);
        }
        Outcome {
            segments: world.receiver.next,
            timeouts: world.reno.timeouts,
            recoveries: world.reno.recoveries,
            blocks_at_sender: world.blocks_at_sender,
            counters: world.snoop.map(|snoop| snoop.counters()).unwrap_or_default(),
        }
    }

    fn next(&self) -> Option<Nanos> {
        let timer = self.snoop.as_ref().and_then(Snoop::next_timer);
        let events = [self.hop.next_event(), self.lines.next_due(), timer, Some(self.reno.timer)];
        events.into_iter().flatten().min()
    }

    fn step(&mut self, now: Nanos) {
        while let Some(output) = self.hop.pop(now) {
            match output {
                Output::Sent(sent) if sent.lost.is_none() => {
                    self.lines.push(sent.due, (At::Receiver, sent.packet, data(sent.packet)));
                }
                Output::Sent(_) => {}
                Output::Dropped { packet, .. } => {
                    if let Some(snoop) = &mut self.snoop {
                        snoop.refused(ONE, &data(packet));
                    }
                    self.act(now);
                }
            }
        }
        if let Some((_, (at, number, segment))) = self.lines.pop(now) {
            self.arrive(now, at, number, segment);
        } else if self.reno.timer <= now {
            let mut out = Vec::new();
            self.reno.timeout(now, &mut out);
            self.post(now, out);
        } else if let Some(snoop) = &mut self.snoop {
            snoop.wake(now);
            self.act(now);
        }
    }

    fn arrive(&mut self, now: Nanos, at: At, number: u32, segment: Segment) {
        match at {
            At::AgentWithData => match &mut self.snoop {
                Some(snoop) => snoop.data(now, ONE, &segment, (number, segment), PACKET),
                None => self.hop.enqueue(now, item(number)),
            },
            At::AgentWithAck => match &mut self.snoop {
                Some(snoop) => snoop.ack(now, ONE, &segment, (number, segment)),
                None => self.lines.push(now + WIRED, (At::Sender, number, segment)),
            },
            At::Receiver => {
                let answer = self.receiver.take(number);
                self.lines.push(now + HOP, (At::AgentWithAck, 0, answer));
            }
            At::Sender => {
                self.blocks_at_sender += u32::from(!segment.sack.is_empty());
                let mut out = Vec::new();
                self.reno.ack(now, segment.ack.unwrap() / FULL, &mut out);
                self.post(now, out);
            }
        }
        self.act(now);
    }

    fn act(&mut self, now: Nanos) {
        while let Some(action) = self.snoop.as_mut().and_then(Snoop::pop) {
            match action {
                Action::Forward((number, segment)) if segment.payload_bytes > 0 => self.hop.enqueue(now, item(number)),
                Action::Forward((number, segment)) | Action::Acknowledge((number, segment)) => {
                    self.lines.push(now + WIRED, (At::Sender, number, segment));
                }
                Action::ForwardWithoutSack((number, segment)) => {
                    let segment = Segment { sack: Sack::default(), ..segment };
                    self.lines.push(now + WIRED, (At::Sender, number, segment));
                }
                Action::Retransmit((number, _)) => self.hop.enqueue_first(now, item(number)),
                Action::Drop(_) | Action::Keep(_) | Action::Release(_) => {}
            }
        }
    }

    fn post(&mut self, now: Nanos, numbers: Vec<u32>) {
        for number in numbers {
            self.lines.push(now + WIRED, (At::AgentWithData, number, data(number)));
        }
    }
}

fn data(number: u32) -> Segment {
    Segment { seq: number * FULL, payload_bytes: FULL, window: 100, ..Segment::default() }
}

fn item(number: u32) -> Item<u32> {
    Item { packet: number, size_bytes: PACKET, flow: 0, class: 0, is_ack: false, ecn: Ecn::NotCapable }
}

/// Room for the whole window.
const ROOM: u64 = 200;

#[test]
fn reno_gains_several_times_over_a_lossy_hop() {
    for (loss, gain) in [(0.01, 4), (0.05, 8)] {
        let plain = World::run(loss, false, false, ROOM);
        for sack in [false, true] {
            let snoop = World::run(loss, true, sack, ROOM);
            if sack {
                assert_eq!((snoop.recoveries, snoop.blocks_at_sender), (0, 0), "the sender sees no loss");
            }
            assert!(snoop.segments > gain * plain.segments, "{} against {}", snoop.segments, plain.segments);
        }
    }
}

#[test]
fn without_losses_there_is_no_gain_and_no_harm() {
    // With a buffer for the window, and with one that the window fills: that is congestion, and stays the sender's.
    for buffer in [ROOM, 20] {
        for sack in [false, true] {
            let plain = World::run(0.0, false, sack, buffer);
            let snoop = World::run(0.0, true, sack, buffer);
            assert_eq!(snoop.sender(), plain.sender(), "buffer {buffer}, sack {sack}");
            assert_eq!(snoop.counters.retransmitted_packets, 0, "buffer {buffer}, sack {sack}");
        }
    }
}
