//! Statistics on plain numbers: Jain's index, percentiles of a histogram, Student's interval.

/// Jain's fairness index `(Σx)² / (n·Σx²)`: 1 when all are equal, 1/n when one has everything.
///
/// `None` for fewer than two values or when all are zero: there is nothing to share.
#[must_use]
pub fn jain(shares: &[f64]) -> Option<f64> {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|x| x * x).sum();
    (shares.len() >= 2 && squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}

/// Values with how often each occurs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Histogram {
    counts: std::collections::BTreeMap<u64, u64>,
    total: u64,
}

impl Histogram {
    /// Counts `value` another `times` times.
    pub fn add(&mut self, value: u64, times: u64) {
        if times > 0 {
            *self.counts.entry(value).or_default() += times;
            self.total += times;
        }
    }

    /// Takes all counts of `other` in.
    pub fn merge(&mut self, other: &Histogram) {
        for (&value, &times) in &other.counts {
            self.add(value, times);
        }
    }

    /// Number of values.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Arithmetic mean.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        let sum: f64 = self.counts.iter().map(|(&value, &times)| value as f64 * times as f64).sum();
        (self.total > 0).then(|| sum / self.total as f64)
    }

    /// Smallest value.
    #[must_use]
    pub fn min(&self) -> Option<u64> {
        self.counts.keys().next().copied()
    }

    /// Nearest-rank percentile: the smallest value that at least `percent` % of all values do not exceed.
    #[must_use]
    pub fn percentile(&self, percent: f64) -> Option<u64> {
        let rank = ((percent / 100.0 * self.total as f64).ceil() as u64).max(1);
        let mut seen = 0;
        self.counts.iter().find_map(|(&value, &times)| {
            seen += times;
            (seen >= rank).then_some(value)
        })
    }
}

/// Mean of a sample with how sure it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// Arithmetic mean.
    pub mean: f64,
    /// Sample standard deviation (n − 1); `None` for one value.
    pub sd: Option<f64>,
    /// Half the width of the 95 % confidence interval of the mean (Student's t); `None` for one value.
    pub ci95: Option<f64>,
}

/// Mean, standard deviation and 95 % interval of a sample; `None` when it is empty.
#[must_use]
pub fn spread(values: &[f64]) -> Option<Spread> {
    let n = values.len();
    if n == 0 {
        return None;
    }
    let mean = values.iter().sum::<f64>() / n as f64;
    if n == 1 {
        return Some(Spread { mean, sd: None, ci95: None });
    }
    let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1) as f64;
    let sd = variance.sqrt();
    Some(Spread { mean, sd: Some(sd), ci95: Some(student_t975(n - 1) * sd / (n as f64).sqrt()) })
}

/// 97.5 % quantile of Student's t for 1 to 30 degrees of freedom, to three decimals.
const T975: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];
/// 97.5 % quantile of the normal distribution.
const Z975: f64 = 1.959_964;

/// 97.5 % quantile of Student's t: from the table, above it by the first terms of its expansion around the normal.
fn student_t975(degrees: usize) -> f64 {
    match T975.get(degrees.wrapping_sub(1)) {
        Some(&t) => t,
        None => {
            let (n, z) = (degrees as f64, Z975);
            z + (z.powi(3) + z) / (4.0 * n) + (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * n * n)
        }
    }
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
    }

    #[test]
    fn jain_of_one_flow_or_of_nothing_does_not_exist() {
        assert_eq!(jain(&[5.0]), None);
        assert_eq!(jain(&[]), None);
        assert_eq!(jain(&[0.0, 0.0]), None);
    }

    #[test]
    fn percentiles_are_nearest_rank() {
        let mut histogram = Histogram::default();
        for value in 1..=100 {
            histogram.add(value, 1);
        }
        assert_eq!(histogram.percentile(50.0), Some(50));
        assert_eq!(histogram.percentile(95.0), Some(95));
        assert_eq!(histogram.percentile(99.0), Some(99));
        assert_eq!(histogram.percentile(100.0), Some(100));
        assert_eq!(histogram.percentile(0.0), Some(1));
        assert_eq!(histogram.mean(), Some(50.5));
        assert_eq!(histogram.min(), Some(1));
    }

    #[test]
    fn a_histogram_counts_repeats_and_merges() {
        let mut histogram = Histogram::default();
        histogram.add(10, 3);
        let mut other = Histogram::default();
        other.add(20, 1);
        histogram.merge(&other);
        assert_eq!((histogram.total(), histogram.mean()), (4, Some(12.5)));
        assert_eq!((histogram.percentile(75.0), histogram.percentile(76.0)), (Some(10), Some(20)));
        assert_eq!(Histogram::default().percentile(50.0), None);
        assert_eq!(Histogram::default().mean(), None);
    }

    #[test]
    fn the_interval_is_students() {
        // mean 12, deviations −2 0 2: variance 4, sd 2; t(2) = 4.303, 4.303·2/√3 = 4.9687
        let three = spread(&[10.0, 12.0, 14.0]).unwrap();
        assert_eq!((three.mean, three.sd), (12.0, Some(2.0)));
        assert!((three.ci95.unwrap() - 4.9687).abs() < 1e-4);
        assert_eq!(spread(&[3.0]), Some(Spread { mean: 3.0, sd: None, ci95: None }));
        assert_eq!(spread(&[]), None);
    }

    #[test]
    fn beyond_the_table_t_goes_on_smoothly_to_the_normal() {
        // Tables print 2.0395 for 31, 2.000 for 60 and 1.984 for 100 degrees of freedom.
        assert!((student_t975(31) - 2.0395).abs() < 5e-4);
        assert!((student_t975(60) - 2.0003).abs() < 5e-4);
        assert!((student_t975(100) - 1.984).abs() < 5e-4);
    }
}
