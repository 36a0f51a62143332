//! Random early detection: Floyd, Jacobson, "Random early detection gateways for congestion avoidance", IEEE/ACM ToN 1(4), 1993;
//! "gentle" after Floyd's note of 2000; defaults after her note of 1997 on setting parameters.

use super::early::{Arrival, Departure, Judge, Verdict};
use crate::Nanos;
use crate::buffer::Capacity;
use rand::Rng;
use rand::rngs::StdRng;

/// Parameters of RED.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Red {
    /// Average queue from which on packets are signalled.
    pub min_threshold: Capacity,
    /// Average queue at which the probability is `max_probability`; in the unit of `min_threshold`, which is the unit of the average.
    pub max_threshold: Capacity,
    /// Weight w_q of the newest queue in the average.
    pub weight: f64,
    /// Probability max_p at the upper threshold.
    pub max_probability: f64,
    /// From the upper threshold on the probability rises to 1 at twice the threshold. If not, every packet is dropped there.
    pub gentle: bool,
    /// Size of a typical packet: its transmission is the unit of idle time, and with thresholds in bytes the probability is in
    /// proportion to a packet's size over this.
    pub mean_packet_bytes: u32,
    /// Mark ECN-capable packets where others are dropped at random.
    pub ecn: bool,
}

impl Default for Red {
    fn default() -> Self {
        Red {
            min_threshold: Capacity::Packets(5),
            max_threshold: Capacity::Packets(15),
            weight: 0.002,
            max_probability: 0.1,
            gentle: true,
            mean_packet_bytes: 1000,
            ecn: false,
        }
    }
}

/// RED at work.
pub(crate) struct Average {
    config: Red,
    min: f64,
    max: f64,
    in_bytes: bool,
    average: f64,
    /// Packets since the last that was signalled; `None` right after the average was below the lower threshold.
    count: Option<u64>,
    idle_since: Option<Nanos>,
}

impl Average {
    pub fn new(config: Red) -> Self {
        let (min, max, in_bytes) = match (config.min_threshold, config.max_threshold) {
            (Capacity::Packets(min), Capacity::Packets(max)) => (min, max, false),
            (Capacity::Bytes(min), Capacity::Bytes(max)) => (min, max, true),
            _ => panic!("both thresholds of RED are in packets or both in bytes"),
        };
        assert!(min < max, "the lower threshold of RED is below the upper one");
        assert!((0.0..=1.0).contains(&config.weight), "the weight of RED is from 0 to 1");
        assert!((0.0..=1.0).contains(&config.max_probability), "max_p of RED is a probability");
        assert!(config.mean_packet_bytes > 0, "a typical packet has a size");
        Average { config, min: min as f64, max: max as f64, in_bytes, average: 0.0, count: None, idle_since: Some(0) }
    }

    /// While the link was idle it could have sent m small packets, each of which would have found an empty queue.
    fn update(&mut self, arrival: &Arrival) {
        if let Some(since) = self.idle_since.take() {
            let bits = f64::from(self.config.mean_packet_bytes) * 8.0;
            let typical_transmission_ns = bits * 1e9 / arrival.rate_bps as f64;
            let m = (arrival.now.saturating_sub(since)) as f64 / typical_transmission_ns;
            self.average *= (1.0 - self.config.weight).powf(m);
        }
        let queue = if self.in_bytes { arrival.queued_bytes } else { arrival.queued_packets };
        self.average += self.config.weight * (queue as f64 - self.average);
    }

    /// p_b, before the packets since the last signal are considered; `None` where everything is dropped.
    fn base_probability(&self) -> Option<f64> {
        let max_p = self.config.max_probability;
        if self.average < self.max {
            Some(max_p * (self.average - self.min) / (self.max - self.min))
        } else if self.config.gentle && self.average < 2.0 * self.max {
            Some(max_p + (1.0 - max_p) * (self.average - self.max) / self.max)
        } else {
            None
        }
    }
}

/// p_a = p_b / (1 − count · p_b): the distance between two signals is uniform, and less than 1/p_b packets.
fn spread(base: f64, count: u64) -> f64 {
    let passed = count as f64 * base;
    if passed >= 1.0 { 1.0 } else { (base / (1.0 - passed)).min(1.0) }
}

impl Judge for Average {
    fn judge(&mut self, arrival: &Arrival, rng: &mut StdRng) -> Verdict {
        self.update(arrival);
        if self.average < self.min {
            self.count = None;
            return Verdict::Keep;
        }
        let Some(base) = self.base_probability() else {
            self.count = Some(0);
            return Verdict::Drop;
        };
        let size = f64::from(arrival.size_bytes) / f64::from(self.config.mean_packet_bytes);
        let base = if self.in_bytes { (base * size).min(1.0) } else { base };
        // The paper's count is −1 below the threshold and incremented first, so that the first packet above has 0.
        let count = self.count.map_or(0, |count| count + 1);
        if !rng.random_bool(spread(base, count)) {
            self.count = Some(count);
            return Verdict::Keep;
        }
        self.count = Some(0);
        arrival.signal(self.config.ecn)
    }

    fn departed(&mut self, departure: &Departure) {
        if departure.sojourn.is_none() {
            self.idle_since = Some(departure.now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    fn arrival(now: Nanos, queued_packets: u64) -> Arrival {
        let queued_bytes = queued_packets * 1000;
        Arrival {
            now,
            size_bytes: 1000,
            queued_bytes,
            queued_packets,
            fits: true,
            ecn_capable: true,
            rate_bps: 8_000_000,
        }
    }

    /// RED whose average is what it finds.
    fn immediate(config: Red) -> Average {
        Average::new(Red { weight: 1.0, ..config })
    }

    fn base(config: Red, queued_packets: u64) -> Option<f64> {
        let mut red = immediate(config);
        red.update(&arrival(0, queued_packets));
        red.base_probability()
    }

    #[test]
    fn the_probability_rises_from_0_to_max_p_between_the_thresholds_and_gently_to_1_at_twice_the_upper() {
        let close = |a: Option<f64>, b: f64| a.is_some_and(|a| (a - b).abs() < 1e-12);
        assert!(close(base(Red::default(), 5), 0.0));
        assert!(close(base(Red::default(), 10), 0.05));
        assert!(close(base(Red::default(), 15), 0.1));
        // 0.1 + 0.9 × 6/15
        assert!(close(base(Red::default(), 21), 0.46));
        assert_eq!(base(Red::default(), 30), None);
        assert_eq!(base(Red { gentle: false, ..Red::default() }, 15), None);
    }

    #[test]
    fn with_thresholds_in_bytes_the_average_is_in_bytes() {
        let (min_threshold, max_threshold) = (Capacity::Bytes(5000), Capacity::Bytes(15_000));
        let config = Red { min_threshold, max_threshold, ..Red::default() };
        assert!((base(config, 10).unwrap() - 0.05).abs() < 1e-12);
    }

    #[test]
    fn the_average_moves_by_its_weight_and_falls_while_the_link_is_idle() {
        let mut red = Average::new(Red { weight: 0.25, ..Red::default() });
        red.update(&arrival(0, 8));
        red.update(&arrival(0, 8));
        assert_eq!(red.average, 2.0 + 0.25 * 6.0);
        // 8 Mbit/s: 1000 bytes take 1 ms. Idle from 10 ms to 13 ms: three typical packets.
        red.departed(&Departure { now: 10_000_000, sojourn: None, queued_packets: 0 });
        red.update(&arrival(13_000_000, 0));
        assert!((red.average - 3.5 * 0.75_f64.powi(4)).abs() < 1e-12);
        assert_eq!(red.idle_since, None);
    }

    #[test]
    fn the_distance_between_signals_is_uniform() {
        // A constant probability would make it geometric. At p_b = 0.05 the paper's p_a, whose count is 1 for the first packet
        // after a signal, is p/(1-p), p/(1-2p), ...: 1/19 for each distance from 1 to 1/p - 1 = 19.
        let mut red = immediate(Red::default());
        let mut rng = StdRng::seed_from_u64(1);
        let mut distances = [0_u32; 21];
        let mut since = 0;
        for _ in 0..200_000 {
            since += 1;
            if red.judge(&arrival(0, 10), &mut rng) == Verdict::Drop {
                distances[since.min(20)] += 1;
                since = 0;
            }
        }
        assert_eq!(distances[20], 0, "never as many as 1/p_b packets apart");
        let signals: u32 = distances.iter().sum();
        let expected = f64::from(signals) / 19.0;
        for (distance, count) in distances.iter().enumerate().take(20).skip(1) {
            let off = (f64::from(*count) - expected).abs();
            // The standard deviation of a count is below sqrt(expected).
            assert!(off < 5.0 * expected.sqrt(), "{count} times {distance}, expected {expected}");
        }
    }

    #[test]
    fn below_the_lower_threshold_nothing_is_signalled_and_beyond_the_last_everything_is_dropped() {
        let mut red = immediate(Red { ecn: true, ..Red::default() });
        let mut rng = StdRng::seed_from_u64(1);
        assert!((0..1000).all(|_| red.judge(&arrival(0, 4), &mut rng) == Verdict::Keep));
        assert!((0..1000).all(|_| red.judge(&arrival(0, 30), &mut rng) == Verdict::Drop));
        let verdicts: Vec<Verdict> = (0..1000).map(|_| red.judge(&arrival(0, 10), &mut rng)).collect();
        assert!(verdicts.contains(&Verdict::Mark) && !verdicts.contains(&Verdict::Drop));
    }
}
