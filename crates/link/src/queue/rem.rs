//! Random exponential marking: Athuraliya, Low, Li, Yin, "REM: active queue management", IEEE Network 15(3), 2001.
//!
//! ```text
//!   price    p(k+1) = max(0, p(k) + γ (b(k+1) − (1 − α) b(k) − α b*))     once per interval
//!   signal   1 − φ^(−p)
//! ```
//!
//! b is the backlog in packets at the end of an interval. The update is the form without rates of the paper: b(k+1) − b(k) is what
//! came minus what could have left, while the queue is not empty.

use super::early::{Arrival, Departure, Judge, Verdict};
use crate::Nanos;
use rand::Rng;
use rand::rngs::StdRng;

/// Parameters of REM.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rem {
    /// Step γ of the price.
    pub gamma: f64,
    /// Weight α of the backlog against the mismatch of the rates.
    pub alpha: f64,
    /// Base φ of the probability; above 1.
    pub phi: f64,
    /// Backlog b* to be reached, in packets.
    pub target_packets: u64,
    /// Time between two updates of the price.
    pub interval: Nanos,
    /// Mark ECN-capable packets instead of dropping them.
    pub ecn: bool,
}

impl Default for Rem {
    /// The paper's γ, α and φ; target and interval of ns-2, whose REM is by its authors.
    fn default() -> Self {
        Rem { gamma: 0.001, alpha: 0.1, phi: 1.001, target_packets: 20, interval: 2_000_000, ecn: false }
    }
}

/// REM at work.
pub(crate) struct Price {
    config: Rem,
    price: f64,
    /// Backlog since the latest event.
    backlog: u64,
    /// Backlog at the latest update.
    backlog_then: u64,
    /// `None` before the first packet.
    next_update: Option<Nanos>,
}

impl Price {
    pub fn new(config: Rem) -> Self {
        assert!(config.gamma > 0.0 && config.alpha > 0.0 && config.phi > 1.0, "γ and α of REM are above 0, φ above 1");
        assert!(config.interval > 0, "the interval of REM is above 0");
        Price { config, price: 0.0, backlog: 0, backlog_then: 0, next_update: None }
    }

    /// Makes up for the updates up to `now`. The backlog has not changed since the latest event.
    fn update(&mut self, now: Nanos) {
        let next = *self.next_update.get_or_insert(now + self.config.interval);
        if now < next {
            return;
        }
        self.step(self.backlog_then, 1);
        self.backlog_then = self.backlog;
        // All further ones see one backlog, so they differ from one step in their number only.
        let further = (now - next) / self.config.interval;
        self.step(self.backlog, further);
        self.next_update = Some(next + (further + 1) * self.config.interval);
    }

    fn step(&mut self, before: u64, times: u64) {
        let Rem { gamma, alpha, target_packets, .. } = self.config;
        let backlog = self.backlog as f64;
        let mismatch = backlog - (1.0 - alpha) * before as f64 - alpha * target_packets as f64;
        self.price = (self.price + times as f64 * gamma * mismatch).max(0.0);
    }

    fn probability(&self) -> f64 {
        1.0 - self.config.phi.powf(-self.price)
    }
}

impl Judge for Price {
    fn judge(&mut self, arrival: &Arrival, rng: &mut StdRng) -> Verdict {
        self.update(arrival.now);
        let signals = rng.random_bool(self.probability());
        let verdict = if signals { arrival.signal(self.config.ecn) } else { Verdict::Keep };
        self.backlog = arrival.queued_packets + u64::from(arrival.enters(verdict));
        verdict
    }

    fn departed(&mut self, departure: &Departure) {
        self.update(departure.now);
        self.backlog = departure.queued_packets;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    const MS: Nanos = 1_000_000;

    fn departure(now: Nanos, queued_packets: u64) -> Departure {
        Departure { now, sojourn: Some(0), queued_packets }
    }

    /// The price after updates at 2, 4, ... ms that saw these backlogs.
    fn price(backlogs: &[u64]) -> f64 {
        let mut rem = Price::new(Rem::default());
        rem.departed(&departure(0, 0));
        for (k, backlog) in backlogs.iter().enumerate() {
            rem.departed(&departure(k as Nanos * 2 * MS + 1, *backlog));
        }
        rem.update(backlogs.len() as Nanos * 2 * MS);
        rem.price
    }

    #[test]
    fn the_price_sums_up_backlog_and_mismatch() {
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
        // 0.001 · (50 − 0.9 · 0 − 0.1 · 20)
        close(price(&[50]), 0.048);
        // + 0.001 · (50 − 0.9 · 50 − 2): the backlog stands, 30 above the target.
        close(price(&[50, 50]), 0.048 + 0.003);
        // + 0.001 · (40 − 0.9 · 50 − 2): it shrinks.
        close(price(&[50, 50, 40]), 0.051 - 0.007);
        // At the target the price stands.
        close(price(&[20, 20, 20, 20]), 0.018);
        assert_eq!(price(&[10, 0]), 0.0, "never negative");
    }

    #[test]
    fn the_probability_is_exponential_in_the_price() {
        let probability = |price| Price { price, ..Price::new(Rem::default()) }.probability();
        assert_eq!(probability(0.0), 0.0);
        // φ^−p = 1/2 at p = ln 2 / ln 1.001.
        let half = 2.0_f64.ln() / 1.001_f64.ln();
        assert!((probability(half) - 0.5).abs() < 1e-9);
        assert!((probability(2.0 * half) - 0.75).abs() < 1e-9);
    }

    #[test]
    fn updates_that_nobody_waited_for_are_made_up_for() {
        let start = || {
            let mut rem = Price::new(Rem::default());
            rem.departed(&departure(0, 0));
            rem.departed(&departure(1, 100));
            rem
        };
        let (mut late, mut punctual) = (start(), start());
        (1..=500).for_each(|k| punctual.update(k * 2 * MS));
        late.update(1000 * MS);
        assert!((late.price - punctual.price).abs() < 1e-9 && late.price > 3.0, "{}", late.price);
        assert_eq!(late.next_update, punctual.next_update);
        late.departed(&Departure { now: 1000 * MS, sojourn: None, queued_packets: 0 });
        late.update(10_000_000 * MS);
        assert_eq!(late.price, 0.0);
    }

    #[test]
    fn the_backlog_counts_what_enters() {
        let arrival = |fits, ecn_capable| Arrival {
            now: 0,
            size_bytes: 1000,
            queued_bytes: 7000,
            queued_packets: 7,
            fits,
            ecn_capable,
            rate_bps: 8_000_000,
        };
        let backlog = |price, fits, ecn_capable| {
            let mut rem = Price { price, ..Price::new(Rem { ecn: true, ..Rem::default() }) };
            let verdict = rem.judge(&arrival(fits, ecn_capable), &mut StdRng::seed_from_u64(1));
            (verdict, rem.backlog)
        };
        assert_eq!(backlog(0.0, true, true), (Verdict::Keep, 8));
        assert_eq!(backlog(0.0, false, true), (Verdict::Keep, 7));
        assert_eq!(backlog(1e6, true, true), (Verdict::Mark, 8));
        assert_eq!(backlog(1e6, true, false), (Verdict::Drop, 7));
    }
}
