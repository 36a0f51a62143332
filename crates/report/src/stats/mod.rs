//! Statistics on plain numbers: Jain's index, histograms with exact percentiles, Student's interval, Welch's test.

mod holm;
mod student;

pub use ccactl_host::quantiles::Histogram;
pub use holm::holm;
pub use student::{Spread, Welch, spread, welch};

/// Jain's fairness index `(Σx)² / (n·Σx²)`: 1 when all are equal, 1/n when one has everything.
///
/// `None` for fewer than two values or when all are zero: there is nothing to share.
#[must_use]
pub fn jain(shares: &[f64]) -> Option<f64> {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|x| x * x).sum();
    jain_of_sums(shares.len() as u64, sum, squares)
}

/// The same from the number of values, their sum and the sum of their squares.
#[must_use]
pub fn jain_of_sums(n: u64, sum: f64, squares: f64) -> Option<f64> {
    (n >= 2 && squares > 0.0).then(|| sum * sum / (n as f64 * squares))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jain_is_one_for_equal_shares_and_one_nth_for_a_monopoly() {
        assert_eq!(jain(&[7.0, 7.0, 7.0]), Some(1.0));
        assert_eq!(jain(&[9.0, 0.0, 0.0]), Some(1.0 / 3.0));
        // (30+10)² / (2·(900+100)) = 1600/2000
        assert_eq!(jain(&[30.0, 10.0]), Some(0.8));
        // (1+2+3)² / (3·(1+4+9)) = 36/42
        assert_eq!(jain(&[1.0, 2.0, 3.0]), Some(36.0 / 42.0));
    }

    #[test]
    fn jain_of_one_flow_or_of_nothing_does_not_exist() {
        assert_eq!(jain(&[5.0]), None);
        assert_eq!(jain(&[]), None);
        assert_eq!(jain(&[0.0, 0.0]), None);
    }
}
