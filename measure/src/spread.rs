//! The middle of a sample and how sure it is, without a thought about its distribution.

use std::fmt;

/// Median with its 95 % interval.
#[derive(Debug, Clone, PartialEq)]
pub struct Spread {
    pub median: f64,
    pub low: f64,
    pub high: f64,
}

impl Spread {
    /// The interval lies between two order statistics: the median is below the k-th of n values with the probability of fewer than k heads
    /// in n throws. Of fewer than six values it is the whole range.
    pub fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let n = values.len();
        let median = (values[(n - 1) / 2] + values[n / 2]) / 2.0;
        let outside = ranks_outside(n);
        Self { median, low: values[outside], high: values[n - 1 - outside] }
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3} ({:.3} … {:.3})", self.median, self.low, self.high)
    }
}

/// How many values may be left out at each end.
fn ranks_outside(n: usize) -> usize {
    const TAIL: f64 = 0.025;
    let mut probability = 0.5_f64.powi(i32::try_from(n).expect("a small sample"));
    let (mut below, mut ranks) = (probability, 0);
    while below <= TAIL {
        ranks += 1;
        probability *= (n - ranks + 1) as f64 / ranks as f64;
        below += probability;
    }
    ranks.saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_that_of_the_tables() {
        // Order statistics for 95 %: n = 6: 1 and 6, n = 20: 6 and 15, n = 30: 10 and 21.
        assert_eq!([5, 6, 20, 30].map(ranks_outside), [0, 0, 5, 9]);
        let spread = Spread::of((1..=20).map(f64::from).collect());
        assert_eq!((spread.median, spread.low, spread.high), (10.5, 6.0, 15.0));
    }
}
