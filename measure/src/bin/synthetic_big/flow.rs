//! A flow that looks like one: a window in cycles, an RTT that follows it, losses at its top.

/// A small generator: the same recording every time, and no time spent on it.
pub struct Noise(u64);

impl Noise {
    pub fn new() -> Noise {
        Noise(0x9e37_79b9_7f4a_7c15)
    }

    /// Evenly spread below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        ((u128::from(self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)) * u128::from(bound)) >> 64) as u64
    }
}

const MSS_BYTES: u64 = 1448;
const BASE_RTT_US: u64 = 40_000;
/// Window at which a packet is lost, and after it.
const TOP_PKTS: f64 = 400.0;
const AFTER_LOSS: f64 = 0.7;
/// An ACK covers two packets, every eighth is a duplicate.
const ACKED_PKTS: u64 = 2;
const DUPLICATE_EVERY: u64 = 8;
const ALGORITHMS: [&str; 3] = ["bpf_cubic", "bbrv3", "bpf_reno"];
const PHASES: [(&str, u64); 4] =
    [("probe-bw-down", 200), ("probe-bw-cruise", 1500), ("probe-bw-refill", 80), ("probe-bw-up", 300)];

pub struct Flow {
    id: u64,
    acks: u64,
    cwnd_pkts: f64,
    sent_pkts: u64,
    delivered_pkts: u64,
    lost_pkts: u64,
    ce_pkts: u64,
    timeouts: u64,
    opened_us: u64,
}

/// What one ACK shows.
pub struct Ack {
    pub t_us: u64,
    pub flow_id: u64,
    pub event: &'static str,
    pub algorithm: &'static str,
    pub mode: Option<&'static str>,
    pub cwnd_pkts: u32,
    pub rtt_us: Option<u32>,
    pub sent_pkts: u64,
    pub mss_bytes: u64,
    pub delivered_pkts: u32,
    pub lost_pkts: u32,
    pub ce_pkts: u32,
    pub timeouts: u32,
    pub in_recovery: bool,
    /// Of the last row of a connection that ends: how long it lasted.
    pub duration_us: Option<u64>,
}

impl Flow {
    pub fn new(id: u64) -> Flow {
        Flow {
            id,
            acks: 0,
            cwnd_pkts: 10.0,
            sent_pkts: 0,
            delivered_pkts: 0,
            lost_pkts: 0,
            ce_pkts: 0,
            timeouts: 0,
            opened_us: 0,
        }
    }

    /// How many rows it has.
    pub fn rows(&self) -> u64 {
        self.acks
    }

    /// The row of its end.
    pub fn close(&mut self, t_us: u64, noise: &mut Noise) -> Ack {
        let duration_us = Some(t_us - self.opened_us);
        Ack { event: "close", duration_us, ..self.ack(t_us, noise) }
    }

    pub fn ack(&mut self, t_us: u64, noise: &mut Noise) -> Ack {
        let opens = self.acks == 0;
        if opens {
            self.opened_us = t_us;
        }
        self.acks += 1;
        let duplicate = self.acks.is_multiple_of(DUPLICATE_EVERY);
        if !opens && !duplicate {
            self.delivered_pkts += ACKED_PKTS;
            // Flows with a higher number grow faster, so that they do not share evenly.
            self.cwnd_pkts += (1.0 + self.id as f64 / 50.0) * ACKED_PKTS as f64 / self.cwnd_pkts;
            if noise.below(1000) == 0 {
                self.ce_pkts += 1;
            }
        }
        let in_recovery = self.cwnd_pkts > TOP_PKTS;
        if in_recovery {
            self.cwnd_pkts *= AFTER_LOSS;
            self.lost_pkts += 1 + noise.below(4);
            self.timeouts += u64::from(noise.below(100) == 0);
        }
        if !opens {
            // What is in flight shrinks with the window; what was sent does not.
            self.sent_pkts = self.sent_pkts.max(self.delivered_pkts + self.lost_pkts + self.cwnd_pkts as u64);
        }
        let is_bbr = self.id % 3 == 1;
        let queue_us = (self.cwnd_pkts * 50.0) as u64;
        Ack {
            t_us,
            flow_id: 1000 + self.id,
            event: if opens { "open" } else { "sample" },
            algorithm: ALGORITHMS[(self.id % 3) as usize],
            mode: is_bbr.then(|| phase(t_us / 1000 + self.id * 37)),
            cwnd_pkts: self.cwnd_pkts as u32,
            rtt_us: (!opens).then(|| (BASE_RTT_US + queue_us + noise.below(2048)) as u32),
            sent_pkts: self.sent_pkts,
            mss_bytes: MSS_BYTES,
            delivered_pkts: self.delivered_pkts as u32,
            lost_pkts: self.lost_pkts as u32,
            ce_pkts: self.ce_pkts as u32,
            timeouts: self.timeouts as u32,
            in_recovery,
            duration_us: None,
        }
    }
}

fn phase(t_ms: u64) -> &'static str {
    let cycle_ms: u64 = PHASES.iter().map(|(_, ms)| ms).sum();
    let mut within = t_ms % cycle_ms;
    for (mode, ms) in PHASES {
        if within < ms {
            return mode;
        }
        within -= ms;
    }
    unreachable!("the remainder is below the sum")
}
