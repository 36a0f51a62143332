//! Two coupled queues, one for scalable senders and one for classic ones: RFC 9332, appendix A, with the edge cases of its
//! second pass. Signals are spread evenly (`recur`) and need no random numbers.
//!
//! Where the RFC leaves a choice, Linux decides (`net/sched/sch_dualpi2.c`): a step instead of a ramp, weighted round robin
//! by credits, no coupled signal while less than two full packets wait. "More than one packet" in the L queue is the text's:
//! the packet that leaves and one behind it.

use super::{Next, Queue};
use crate::Nanos;
use crate::buffer::{Buffer, Line};
use crate::packet::{DropReason, Waiting};

/// Parameters of DualPI2.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DualPi2 {
    /// Delay to be reached in the classic queue.
    pub target: Nanos,
    /// Time between two updates of the probability, Tupdate.
    pub update_interval: Nanos,
    /// Weight of the distance to the target, per second.
    pub alpha: f64,
    /// Weight of the change of the delay, per second.
    pub beta: f64,
    /// Coupling factor, k: the marks of scalable senders by the root of the losses of classic ones.
    pub coupling: f64,
    /// Delay in the L queue from which it marks by itself, minTh …
    pub threshold: Nanos,
    /// … and how much longer it is when every packet is marked, range; 0 for a step.
    pub range: Nanos,
    /// Thousandths of the link that the classic queue has at least, whatever the L queue sends.
    pub classic_share_permille: u32,
    /// A full packet, MTU.
    pub mtu_bytes: u32,
}

impl Default for DualPi2 {
    /// Figure 2 of the RFC; the step and the share are those of Linux.
    fn default() -> Self {
        DualPi2 {
            target: 15_000_000,
            update_interval: 16_000_000,
            alpha: 0.16,
            beta: 3.2,
            coupling: 2.0,
            threshold: 1_000_000,
            range: 0,
            classic_share_permille: 100,
            mtu_bytes: 1514,
        }
    }
}

const WHOLE_PERMILLE: i64 = 1000;

/// The base probability p′ (figure 8).
#[derive(Default)]
struct Controller {
    probability: f64,
    /// Delay at the latest update, prevq.
    delay_then: Nanos,
    /// `None` before the first packet.
    next_update: Option<Nanos>,
}

impl Controller {
    /// Makes up for the updates up to `now`. Since the latest call the packet that waits longest has been one that came at
    /// `oldest`.
    fn catch_up(&mut self, config: &DualPi2, now: Nanos, oldest: Option<Nanos>) {
        let interval = config.update_interval;
        let mut next = *self.next_update.get_or_insert(now + interval);
        while next <= now {
            let is_at_rest = oldest.is_none() && self.probability == 0.0 && self.delay_then == 0;
            if is_at_rest {
                next += ((now - next) / interval + 1) * interval;
                break;
            }
            self.update(config, oldest.map_or(0, |since| next.saturating_sub(since)));
            next += interval;
        }
        self.next_update = Some(next);
    }

    fn update(&mut self, config: &DualPi2, delay: Nanos) {
        let [delay_s, then_s, target_s] = [delay, self.delay_then, config.target].map(|delay| delay as f64 / 1e9);
        let step = config.alpha * (delay_s - target_s) + config.beta * (delay_s - then_s);
        self.probability = (self.probability + step).clamp(0.0, 1.0);
        self.delay_then = delay;
    }
}

/// One of the two queues.
#[derive(Default)]
struct Lane {
    packets: Line,
    /// Sum of the likelihoods since the last signal.
    count: f64,
}

impl Lane {
    /// True for this share of all calls, evenly spread (figure 4).
    fn recurs(&mut self, likelihood: f64) -> bool {
        self.count += likelihood;
        let recurs = self.count > 1.0;
        if recurs {
            self.count -= 1.0;
        }
        recurs
    }
}

/// DualPI2 at work.
pub(crate) struct DualPi2Queue {
    config: DualPi2,
    controller: Controller,
    l4s: Lane,
    classic: Lane,
    /// Of the L queue while it is not above 0.
    credit: i64,
}

impl DualPi2Queue {
    pub fn new(config: DualPi2) -> Self {
        assert!(config.update_interval > 0, "the update interval of DualPI2 is above 0");
        assert!(config.coupling >= 1.0, "the coupling factor of DualPI2 is at least 1");
        assert!(config.alpha >= 0.0 && config.beta >= 0.0, "α and β of DualPI2 are not negative");
        assert!(config.classic_share_permille <= 1000, "a share is at most the whole");
        let mut queue = DualPi2Queue {
            config,
            controller: Controller::default(),
            l4s: Lane::default(),
            classic: Lane::default(),
            credit: 0,
        };
        queue.favour_l4s();
        queue
    }

    fn catch_up<P>(&mut self, now: Nanos, buffer: &Buffer<P>) {
        let heads = [&self.l4s, &self.classic].map(|lane| buffer.front(&lane.packets).map(|packet| packet.since));
        self.controller.catch_up(&self.config, now, heads.into_iter().flatten().min());
    }

    /// The credit of an idle link: as Linux begins.
    fn favour_l4s(&mut self) {
        let classic = i64::from(self.config.classic_share_permille);
        self.credit = i64::from(self.config.mtu_bytes) * (classic - (WHOLE_PERMILLE - classic));
    }

    /// Weighted round robin.
    fn is_turn_of_l4s(&self) -> bool {
        !self.l4s.packets.is_empty() && (self.classic.packets.is_empty() || self.credit <= 0)
    }

    /// Only while both have something to send.
    fn account(&mut self, of_l4s: bool, bytes: u32) {
        let classic = i64::from(self.config.classic_share_permille);
        let weight = if of_l4s { classic } else { classic - WHOLE_PERMILLE };
        self.credit += weight * i64::from(bytes);
    }

    /// Figure 7, lines 4a to 8j; false when the packet is to be dropped.
    fn pass_l4s<P>(&mut self, now: Nanos, packet: &mut Waiting<P>, is_coupled: bool) -> bool {
        let base = if is_coupled { self.controller.probability } else { 0.0 };
        let coupled = self.config.coupling * base;
        if coupled >= 1.0 {
            if self.l4s.recurs(base * base) {
                return false;
            }
            packet.mark();
            return true;
        }
        let native = if self.l4s.packets.is_empty() { 0.0 } else { self.native(now - packet.since) };
        if self.l4s.recurs(native.max(coupled)) {
            packet.mark();
        }
        true
    }

    /// Figure 7, lines 10 to 17.
    fn pass_classic<P>(&mut self, packet: &mut Waiting<P>, is_coupled: bool) -> bool {
        let base = if is_coupled { self.controller.probability } else { 0.0 };
        let is_overloaded = self.config.coupling * base >= 1.0;
        !self.classic.recurs(base * base) || (!is_overloaded && packet.mark())
    }

    /// Figure 5, as a ramp or a step.
    fn native(&self, delay: Nanos) -> f64 {
        let DualPi2 { threshold, range, .. } = self.config;
        if delay >= threshold + range { 1.0 } else { delay.saturating_sub(threshold) as f64 / range.max(1) as f64 }
    }
}

impl<P> Queue<P> for DualPi2Queue {
    /// Figure 3.
    fn enqueue(&mut self, now: Nanos, packet: Waiting<P>, buffer: &mut Buffer<P>) {
        self.catch_up(now, buffer);
        if !buffer.has_room(packet.item.size_bytes) {
            return buffer.drop_packet(now, packet, DropReason::Full);
        }
        let lane = if packet.item.ecn.is_l4s() { &mut self.l4s } else { &mut self.classic };
        buffer.push_back(&mut lane.packets, packet);
    }

    fn dequeue(&mut self, now: Nanos, buffer: &mut Buffer<P>) -> Next<P> {
        self.catch_up(now, buffer);
        loop {
            let is_contended = !self.l4s.packets.is_empty() && !self.classic.packets.is_empty();
            let is_coupled =
                self.l4s.packets.bytes() + self.classic.packets.bytes() >= 2 * u64::from(self.config.mtu_bytes);
            let of_l4s = self.is_turn_of_l4s();
            let lane = if of_l4s { &mut self.l4s } else { &mut self.classic };
            let Some(mut packet) = buffer.pop_front(&mut lane.packets) else {
                self.favour_l4s();
                return Next::Nothing;
            };
            let passes = if of_l4s {
                self.pass_l4s(now, &mut packet, is_coupled)
            } else {
                self.pass_classic(&mut packet, is_coupled)
            };
            if !passes {
                buffer.drop_packet(now, packet, DropReason::Early);
                continue;
            }
            if is_contended {
                self.account(of_l4s, packet.item.size_bytes);
            }
            return Next::Packet(packet);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ecn;
    use crate::buffer::Capacity;
    use crate::packet::Item;
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    const MS: Nanos = 1_000_000;

    #[test]
    fn the_base_probability_is_that_of_figure_8() {
        let config = DualPi2::default();
        let mut controller = Controller::default();
        controller.catch_up(&config, 0, None);
        // A packet that came at 0 waits 16, 32 and 48 ms at the three updates.
        controller.catch_up(&config, 50 * MS, Some(0));
        let by_hand: f64 = [0.016, 0.032, 0.048].iter().map(|delay| 0.16 * (delay - 0.015) + 3.2 * 0.016).sum();
        assert!((controller.probability - by_hand).abs() < 1e-12, "{} and {by_hand}", controller.probability);
        // It is a probability, and an idle link comes to rest.
        controller.catch_up(&config, 10_000 * MS, Some(0));
        assert_eq!(controller.probability, 1.0);
        controller.catch_up(&config, 11_000 * MS, None);
        assert_eq!((controller.probability, controller.delay_then), (0.0, 0));
    }

    /// Shares of marked and dropped packets at a constant base probability, each kind alone.
    fn signalled(base: f64, coupling: f64, ecn: Ecn) -> [f64; 2] {
        let config = DualPi2 { coupling, alpha: 0.0, beta: 0.0, threshold: Nanos::MAX / 2, ..DualPi2::default() };
        let mut queue = DualPi2Queue::new(config);
        queue.controller.probability = base;
        let mut buffer: Buffer<usize> = Buffer::new(Capacity::Packets(u64::MAX), StdRng::seed_from_u64(1));
        const PACKETS: usize = 10_000;
        for packet in 0..PACKETS + 1 {
            let item = Item { packet, size_bytes: 1514, flow: 0, class: 0, is_ack: false, ecn };
            queue.enqueue(0, Waiting { item, since: 0, marked: false, finish: 0 }, &mut buffer);
        }
        let (mut sent, mut marked) = (0, 0);
        while let Next::Packet(packet) = queue.dequeue(0, &mut buffer) {
            sent += 1;
            marked += usize::from(packet.marked);
        }
        [marked, PACKETS + 1 - sent].map(|count| count as f64 / PACKETS as f64)
    }

    #[test]
    fn scalable_senders_get_k_times_the_root_of_what_classic_ones_get() {
        let is_close = |found: [f64; 2], expected: [f64; 2]| {
            let apart = found.iter().zip(expected).map(|(found, expected)| (found - expected).abs());
            assert!(apart.fold(0.0, f64::max) < 1e-3, "{found:?} and not {expected:?}");
        };
        for base in [0.01, 0.1, 0.3] {
            for coupling in [1.0, 2.0, 3.0] {
                is_close(signalled(base, coupling, Ecn::NotCapable), [0.0, base * base]);
                is_close(signalled(base, coupling, Ecn::Ect0), [base * base, 0.0]);
                is_close(signalled(base, coupling, Ecn::Ect1), [coupling * base, 0.0]);
            }
        }
        // From k·p′ = 1 on it is overload: ECN is no shelter, and all scalable packets that pass are marked.
        is_close(signalled(0.5, 2.0, Ecn::Ect0), [0.0, 0.25]);
        is_close(signalled(0.5, 2.0, Ecn::Ect1), [0.75, 0.25]);
    }
}
