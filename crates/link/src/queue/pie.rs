//! Proportional integral controller enhanced: RFC 8033, sections 4 and 5.1, 5.4, 5.5. The queueing delay is the time stamp of the
//! packet that left last (section 4.3, second way), and 0 once nothing waits, as Linux has it.
//!
//! Where section and pseudocode of the RFC differ, the section holds. The probability decays when two delays in a row were 0
//! (4.2; Linux and FreeBSD too). It does not decay when both were below half of the target (appendices).

use super::early::{Arrival, Departure, Judge, Verdict};
use crate::Nanos;
use rand::Rng;
use rand::rngs::StdRng;

/// Parameters of PIE.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pie {
    /// Queueing delay to be reached, QDELAY_REF.
    pub target: Nanos,
    /// Time between two updates of the probability, T_UPDATE.
    pub update_interval: Nanos,
    /// Length of a burst that is let through, MAX_BURST.
    pub max_burst: Nanos,
    /// Weight of the distance to the target, per second.
    pub alpha: f64,
    /// Weight of the change of the delay, per second.
    pub beta: f64,
    /// Size of a typical packet, MEAN_PKTSIZE, of which the RFC gives no value: two of them are never subject to a drop.
    pub mean_packet_bytes: u32,
    /// Spread the signals more evenly (section 5.4).
    pub derandomise: bool,
    /// Mark ECN-capable packets instead of dropping them, up to `max_mark_probability`.
    pub ecn: bool,
    /// Probability beyond which ECN-capable packets are dropped too, MAX_ECNTH. At this very value they are marked, as in
    /// Linux, so that 1 marks always; in the RFC's pseudocode they are dropped.
    pub max_mark_probability: f64,
}

impl Default for Pie {
    fn default() -> Self {
        Pie {
            target: 15_000_000,
            update_interval: 15_000_000,
            max_burst: 150_000_000,
            alpha: 0.125,
            beta: 1.25,
            mean_packet_bytes: 1024,
            derandomise: false,
            ecn: false,
            max_mark_probability: 0.1,
        }
    }
}

/// Section 4.2: below the first number, the step of the probability is divided by the second one.
const SCALE: [(f64, f64); 6] =
    [(0.000_001, 2048.0), (0.000_01, 512.0), (0.000_1, 128.0), (0.001, 32.0), (0.01, 8.0), (0.1, 2.0)];
/// Section 5.5: from a probability of 0.1 on, the largest step upwards.
const MAX_STEP: f64 = 0.02;
/// Section 4.2: what remains of the probability when two delays in a row were 0.
const DECAY: f64 = 0.98;
/// Section 4.1: nothing is dropped while the probability is below this and the delay was below half of the target.
const SAFE_PROBABILITY: f64 = 0.2;
/// Section 5.4: below the first sum of probabilities nothing is dropped, from the second on everything.
const DERANDOMISE: std::ops::Range<f64> = 0.85..8.5;

/// PIE at work.
pub(crate) struct Controller {
    config: Pie,
    probability: f64,
    /// Delay by the latest departure.
    delay: Nanos,
    /// Delay at the latest update.
    delay_then: Nanos,
    burst_allowance: Nanos,
    /// `None` before the first packet.
    next_update: Option<Nanos>,
    /// Sum of the probabilities since the last signal.
    accumulated: f64,
}

impl Controller {
    pub fn new(config: Pie) -> Self {
        assert!(config.update_interval > 0, "the update interval of PIE is above 0");
        assert!(config.alpha >= 0.0 && config.beta >= 0.0, "α and β of PIE are not negative");
        Controller {
            config,
            probability: 0.0,
            delay: 0,
            delay_then: 0,
            burst_allowance: config.max_burst,
            next_update: None,
            accumulated: 0.0,
        }
    }

    /// Makes up for the updates up to `now`. The delay has not changed since the latest departure.
    fn catch_up(&mut self, now: Nanos) {
        let interval = self.config.update_interval;
        let mut next = *self.next_update.get_or_insert(now + interval);
        while next <= now {
            if self.is_at_rest() {
                let rest = ((now - next) / interval + 1) * interval;
                self.burst_allowance = self.burst_allowance.saturating_sub(rest);
                next += rest;
                break;
            }
            self.update();
            next += interval;
        }
        self.next_update = Some(next);
    }

    /// An update would change nothing but the allowance. The probability decays to 0, so an idle link comes to rest.
    fn is_at_rest(&self) -> bool {
        self.probability == 0.0 && (self.delay, self.delay_then) == (0, 0)
    }

    fn update(&mut self) {
        let seconds = |delay: Nanos| delay as f64 / 1e9;
        let (delay, then) = (seconds(self.delay), seconds(self.delay_then));
        let step = self.config.alpha * (delay - seconds(self.config.target)) + self.config.beta * (delay - then);
        let scale = SCALE.iter().find(|(below, _)| self.probability < *below);
        let mut step = scale.map_or(step, |(_, divisor)| step / divisor);
        if self.probability >= 0.1 {
            step = step.min(MAX_STEP);
        }
        let decay = if (self.delay, self.delay_then) == (0, 0) { DECAY } else { 1.0 };
        self.probability = ((self.probability + step) * decay).clamp(0.0, 1.0);
        self.burst_allowance = self.burst_allowance.saturating_sub(self.config.update_interval);
        self.delay_then = self.delay;
    }

    /// Section 4.4: without congestion each packet renews the allowance.
    fn renew_burst_allowance(&mut self) {
        let low = self.config.target / 2;
        if self.probability == 0.0 && self.delay < low && self.delay_then < low {
            self.burst_allowance = self.config.max_burst;
        }
    }

    /// Section 4.1, and 5.4 where it is asked for.
    fn signals(&mut self, arrival: &Arrival, rng: &mut StdRng) -> bool {
        let safe = self.delay_then < self.config.target / 2 && self.probability < SAFE_PROBABILITY;
        let short = arrival.queued_bytes <= 2 * u64::from(self.config.mean_packet_bytes);
        if self.burst_allowance > 0 || safe || short {
            return false;
        }
        if !self.config.derandomise {
            return rng.random_bool(self.probability);
        }
        self.accumulated = if self.probability == 0.0 { 0.0 } else { self.accumulated + self.probability };
        self.accumulated >= DERANDOMISE.end
            || DERANDOMISE.contains(&self.accumulated) && rng.random_bool(self.probability)
    }

    /// What becomes of a packet; whatever drops or marks one, a full buffer too, starts the sum anew.
    fn verdict(&mut self, arrival: &Arrival, rng: &mut StdRng) -> Verdict {
        if !arrival.fits {
            self.accumulated = 0.0;
            return Verdict::Keep;
        }
        if !self.signals(arrival, rng) {
            return Verdict::Keep;
        }
        self.accumulated = 0.0;
        arrival.signal(self.config.ecn && self.probability <= self.config.max_mark_probability)
    }
}

impl Judge for Controller {
    fn judge(&mut self, arrival: &Arrival, rng: &mut StdRng) -> Verdict {
        self.catch_up(arrival.now);
        let verdict = self.verdict(arrival, rng);
        self.renew_burst_allowance();
        verdict
    }

    fn departed(&mut self, departure: &Departure) {
        self.catch_up(departure.now);
        let last = departure.queued_packets <= 1;
        self.delay = departure.sojourn.filter(|_| !last).unwrap_or(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    const MS: Nanos = 1_000_000;

    /// A packet that waited for `sojourn` begins to leave, with more behind it.
    fn departure(now: Nanos, sojourn: Nanos) -> Departure {
        Departure { now, sojourn: Some(sojourn), queued_packets: 100 }
    }

    fn arrival(now: Nanos) -> Arrival {
        Arrival {
            now,
            size_bytes: 1000,
            queued_bytes: 100_000,
            queued_packets: 100,
            fits: true,
            ecn_capable: true,
            rate_bps: 8_000_000,
        }
    }

    /// A controller that has seen one delay for an interval after the other.
    fn after(delays_ms: &[Nanos]) -> Controller {
        let mut pie = Controller::new(Pie::default());
        for (k, delay) in delays_ms.iter().enumerate() {
            pie.departed(&departure(k as Nanos * 15 * MS, delay * MS));
        }
        pie.catch_up(delays_ms.len() as Nanos * 15 * MS);
        pie
    }

    #[test]
    fn the_probability_follows_the_steps_of_the_rfc() {
        // 1: delay 35 ms from 0: (0.125 · 0.020 + 1.25 · 0.035) / 2048.
        let first: f64 = (0.0025 + 0.04375) / 2048.0;
        assert!((after(&[35]).probability - first).abs() < 1e-15);
        // 2: 35 ms again: 2.26e-5 lies below 1e-4, so 0.125 · 0.020 / 128.
        let second = first + 0.0025 / 128.0;
        assert!((after(&[35, 35]).probability - second).abs() < 1e-15);
        // 3: 10 ms: (0.125 · (−0.005) + 1.25 · (−0.025)) / 128 is more than there is.
        assert_eq!(after(&[35, 35, 10]).probability, 0.0);
    }

    #[test]
    fn steps_are_scaled_by_the_probability_and_capped_above_a_tenth() {
        let step = |probability: f64, delay: Nanos| {
            let mut pie = Controller::new(Pie::default());
            (pie.probability, pie.delay, pie.delay_then) = (probability, delay * MS, delay * MS);
            pie.update();
            pie.probability - probability
        };
        // 31 ms: 0.125 · 0.016 = 0.002.
        let divisors = [
            (0.0, 2048.0),
            (0.000_005, 512.0),
            (0.000_05, 128.0),
            (0.000_5, 32.0),
            (0.005, 8.0),
            (0.05, 2.0),
            (0.1, 1.0),
            (0.5, 1.0),
        ];
        for (probability, divisor) in divisors {
            assert!((step(probability, 31) - 0.002 / divisor).abs() < 1e-12, "at {probability}");
        }
        // 1 s: 0.125 · 0.985 = 0.123, capped; just below a tenth it is not, but halved.
        assert!((step(0.1, 1000) - 0.02).abs() < 1e-12);
        assert!((step(0.099, 1000) - 0.123_125 / 2.0).abs() < 1e-12);
        // Never above 1, never below 0.
        assert!((step(0.995, 1000) - 0.005).abs() < 1e-12);
        assert_eq!(step(0.0, 1), 0.0);
    }

    #[test]
    fn an_empty_queue_makes_the_probability_decay() {
        let mut pie = Controller::new(Pie::default());
        pie.probability = 0.5;
        pie.update();
        // 0.125 · (−0.015) = −0.001875, then 2 % less.
        assert!((pie.probability - (0.5 - 0.001_875) * 0.98).abs() < 1e-12);
    }

    #[test]
    fn updates_that_nobody_waited_for_are_made_up_for() {
        let mut late = Controller::new(Pie::default());
        late.departed(&departure(0, 50 * MS));
        let mut punctual = Controller::new(Pie::default());
        punctual.departed(&departure(0, 50 * MS));
        (1..=40).for_each(|k| punctual.catch_up(k * 15 * MS));
        late.catch_up(40 * 15 * MS);
        assert!(late.probability > 0.0);
        let state = |pie: &Controller| (pie.probability, pie.burst_allowance, pie.next_update);
        assert_eq!(state(&late), state(&punctual));
        // An idle link comes to rest, and hours cost nothing then.
        late.departed(&Departure { now: 600 * MS, sojourn: None, queued_packets: 0 });
        late.catch_up(10_000_000 * MS);
        assert!(late.is_at_rest() && late.next_update > Some(10_000_000 * MS));
        assert!(late.next_update <= Some(10_000_015 * MS));
    }

    #[test]
    fn a_burst_passes_and_what_lasts_longer_does_not() {
        let mut pie = Controller::new(Pie::default());
        let mut rng = StdRng::seed_from_u64(1);
        pie.probability = 1.0;
        pie.departed(&departure(0, 100 * MS));
        // 150 ms are ten updates, of which the tenth uses the last of the allowance.
        for now in (0..150).map(|ms| ms * MS) {
            assert_eq!(pie.judge(&arrival(now), &mut rng), Verdict::Keep, "at {now}");
        }
        assert_eq!(pie.judge(&arrival(150 * MS), &mut rng), Verdict::Drop);
    }

    #[test]
    fn packets_renew_the_allowance_while_delays_are_low_and_the_probability_is_0() {
        let renewed = |probability, delay: Nanos, delay_then: Nanos| {
            let mut pie = Controller::new(Pie::default());
            (pie.probability, pie.delay, pie.delay_then) = (probability, delay * MS, delay_then * MS);
            pie.burst_allowance = 0;
            pie.judge(&arrival(0), &mut StdRng::seed_from_u64(1));
            pie.burst_allowance == Pie::default().max_burst
        };
        assert!(renewed(0.0, 7, 7));
        assert!(!renewed(0.0, 8, 7), "half of 15 ms is the limit, of the latest delay");
        assert!(!renewed(0.0, 7, 8), "and of the one before");
        assert!(!renewed(1e-9, 7, 7));
    }

    #[test]
    fn an_update_takes_an_interval_from_the_allowance_and_gives_none_back() {
        let mut pie = Controller::new(Pie::default());
        pie.update();
        assert_eq!(pie.burst_allowance, 135 * MS);
        (0..20).for_each(|_| pie.update());
        assert_eq!(pie.burst_allowance, 0);
        // A link at rest skips its updates, not what they take.
        let mut idle = Controller::new(Pie::default());
        idle.catch_up(0);
        idle.catch_up(45 * MS);
        assert_eq!(idle.burst_allowance, 105 * MS);
    }

    #[test]
    fn a_packet_that_the_full_buffer_refuses_starts_the_sum_anew() {
        let mut pie = Controller::new(Pie { derandomise: true, ..Pie::default() });
        (pie.probability, pie.delay, pie.delay_then) = (0.5, 30 * MS, 30 * MS);
        (pie.burst_allowance, pie.accumulated) = (0, 8.0);
        let refused = Arrival { fits: false, ..arrival(0) };
        assert_eq!(pie.judge(&refused, &mut StdRng::seed_from_u64(1)), Verdict::Keep);
        assert_eq!(pie.accumulated, 0.0);
    }

    #[test]
    fn packets_are_marked_up_to_a_tenth_and_dropped_beyond() {
        let verdict = |probability, ecn| {
            let mut pie = Controller::new(Pie { ecn, derandomise: true, ..Pie::default() });
            (pie.probability, pie.delay, pie.delay_then) = (probability, 30 * MS, 30 * MS);
            (pie.burst_allowance, pie.accumulated) = (0, 8.5);
            pie.judge(&arrival(0), &mut StdRng::seed_from_u64(1))
        };
        assert_eq!(verdict(0.1, true), Verdict::Mark);
        assert_eq!(verdict(0.11, true), Verdict::Drop);
        assert_eq!(verdict(0.1, false), Verdict::Drop);
    }

    #[test]
    fn derandomised_signals_keep_their_distance() {
        let mut pie = Controller::new(Pie { derandomise: true, ..Pie::default() });
        (pie.probability, pie.delay, pie.delay_then, pie.burst_allowance) = (0.1, 30 * MS, 30 * MS, 0);
        let mut rng = StdRng::seed_from_u64(1);
        let (mut since, mut shortest, mut longest) = (0, u32::MAX, 0);
        for _ in 0..100_000 {
            since += 1;
            if pie.judge(&arrival(0), &mut rng) == Verdict::Drop {
                (shortest, longest, since) = (shortest.min(since), longest.max(since), 0);
            }
        }
        // The sum passes 0.85 with the ninth packet and 8.5 with the 85th (the 86th where 85 × 0.1 is rounded down).
        assert_eq!(shortest, 9);
        assert!((60..=86).contains(&longest), "{longest}");
    }

    #[test]
    fn two_typical_packets_or_a_short_delay_are_safe() {
        let verdict = |queued_bytes, probability, delay: Nanos| {
            let mut pie = Controller::new(Pie::default());
            (pie.probability, pie.delay_then, pie.burst_allowance) = (probability, delay, 0);
            let found = Arrival { queued_bytes, ..arrival(0) };
            let mut rng = StdRng::seed_from_u64(1);
            (0..1000).any(|_| pie.judge(&found, &mut rng) == Verdict::Drop)
        };
        assert!(!verdict(2048, 1.0, 30 * MS));
        assert!(verdict(2049, 1.0, 30 * MS));
        assert!(!verdict(100_000, 0.19, 7 * MS));
        assert!(verdict(100_000, 0.21, 7 * MS));
        assert!(verdict(100_000, 0.19, 8 * MS));
    }
}
