//! Variation of the delay.

use crate::Nanos;
use rand::Rng;
use rand::rngs::StdRng;

/// A random time on top of the delay, drawn for each packet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Jitter {
    /// How it is distributed.
    pub distribution: Distribution,
    /// Whether a packet may overtake another. If not, it arrives together with the one before it at the earliest.
    pub reorder: bool,
}

/// Distribution of the jitter; never negative, so that the delay is a minimum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Distribution {
    /// Every time from 0 to `max`.
    Uniform {
        /// Largest.
        max: Nanos,
    },
    /// Normal, truncated to what lies between 0 and `max`.
    Normal {
        /// Mean before the truncation; at most `max`.
        mean: Nanos,
        /// Standard deviation before the truncation; at most `max`.
        std_dev: Nanos,
        /// Largest.
        max: Nanos,
    },
}

impl Jitter {
    /// # Panics
    /// When a mean or deviation is beyond the largest value. Within it at least a third of all draws are valid.
    pub(crate) fn check(&self) {
        if let Distribution::Normal { mean, std_dev, max } = self.distribution {
            assert!(mean <= max && std_dev <= max, "mean and deviation of a jitter are at most its largest value");
        }
    }

    pub(crate) fn sample(&self, rng: &mut StdRng) -> Nanos {
        match self.distribution {
            Distribution::Uniform { max } => rng.random_range(0..=max),
            Distribution::Normal { mean, std_dev, max } => loop {
                let value = (mean as f64 + std_dev as f64 * standard_normal(rng)).round();
                if (0.0..=max as f64).contains(&value) {
                    return value as Nanos;
                }
            },
        }
    }
}

/// The polar method of Marsaglia and Bray (SIAM Review 6, 1964); the second value of each pair is not used.
fn standard_normal(rng: &mut StdRng) -> f64 {
    loop {
        let (x, y) = (rng.random_range(-1.0..1.0_f64), rng.random_range(-1.0..1.0_f64));
        let square = x * x + y * y;
        if square > 0.0 && square < 1.0 {
            return x * (-2.0 * square.ln() / square).sqrt();
        }
    }
}
