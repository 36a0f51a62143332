//! A bottleneck with a drop-tail queue and a fixed delay.

use std::collections::VecDeque;

/// Bytes that the link carries per packet: Ethernet payload of a full segment.
pub const WIRE_BYTES: u64 = 1500;

/// What the path is like.
#[derive(Debug, Clone, Copy)]
pub struct Link {
    /// Rate of the bottleneck in bit/s, counted over [`WIRE_BYTES`] per packet.
    pub rate_bps: u64,
    /// Round trip without any queueing, in µs.
    pub base_rtt_us: u64,
    /// Packets that fit into the queue, the one in transmission included.
    pub buffer_pkts: usize,
    /// Random loss, packets per million.
    pub loss_ppm: u32,
}

impl Link {
    /// Bandwidth-delay product in packets, rounded up.
    #[must_use]
    pub fn bdp_pkts(&self) -> u64 {
        (self.rate_bps * self.base_rtt_us).div_ceil(8 * WIRE_BYTES * 1_000_000)
    }

    /// A queue of so many thousandths of the bandwidth-delay product.
    #[must_use]
    pub fn with_buffer_milli_bdp(mut self, milli: u64) -> Link {
        self.buffer_pkts = (self.bdp_pkts() * milli).div_ceil(1000).max(1) as usize;
        self
    }
}

/// State of the bottleneck.
pub(super) struct Queue {
    departures_ns: VecDeque<u64>,
    last_departure_ns: u64,
    random_state: u64,
}

impl Queue {
    pub(super) fn new(seed: u64) -> Queue {
        Queue { departures_ns: VecDeque::new(), last_departure_ns: 0, random_state: seed }
    }

    /// Takes a packet in at `now_ns`; the time at which it leaves, or `None` when it is dropped.
    pub(super) fn enqueue(&mut self, link: &Link, now_ns: u64) -> Option<u64> {
        while self.departures_ns.front().is_some_and(|&at| at <= now_ns) {
            self.departures_ns.pop_front();
        }
        if self.departures_ns.len() >= link.buffer_pkts || self.random_ppm() < link.loss_ppm {
            return None;
        }
        let service_ns = WIRE_BYTES * 8 * 1_000_000_000 / link.rate_bps;
        self.last_departure_ns = self.last_departure_ns.max(now_ns) + service_ns;
        self.departures_ns.push_back(self.last_departure_ns);
        Some(self.last_departure_ns)
    }

    /// Packets that one which arrives at `now_ns` finds, the one in transmission included.
    pub(super) fn found_pkts(&self, now_ns: u64) -> usize {
        self.departures_ns.iter().filter(|&&at| at > now_ns).count()
    }

    fn random_ppm(&mut self) -> u32 {
        // A 64-bit linear congruential generator; its upper bits are good enough for a coin.
        self.random_state =
            self.random_state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.random_state >> 33) % 1_000_000) as u32
    }
}
