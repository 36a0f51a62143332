//! The inner state that algorithms publish: mean over time, smallest and largest value.

use ccactl_recording::Column;

/// Columns of inner state, in the order of [`InnerState`].
pub const COLUMNS: [Column; 4] = [Column::TraceBwBps, Column::TraceMinRttUs, Column::TraceV0, Column::TraceV1];

/// What one column held over the time for which it was known.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Held {
    /// Value × µs.
    pub value_us: i128,
    /// µs.
    pub time_us: u64,
    /// Smallest and largest value.
    pub range: Option<(i64, i64)>,
}

impl Held {
    /// It held a value for some time.
    pub fn add(&mut self, value: i64, time_us: u64) {
        self.merge(&Held { value_us: i128::from(value) * i128::from(time_us), time_us, range: Some((value, value)) });
    }

    /// Both together.
    pub fn merge(&mut self, other: &Held) {
        self.value_us += other.value_us;
        self.time_us = self.time_us.saturating_add(other.time_us);
        self.range = match (self.range, other.range) {
            (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
            (one, other) => one.or(other),
        };
    }

    /// Mean over time, or `None` when it was never known.
    pub fn mean(&self) -> Option<f64> {
        (self.time_us > 0).then(|| self.value_us as f64 / self.time_us as f64)
    }
}

/// One entry per element of [`COLUMNS`].
pub type InnerState = [Held; 4];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merging_adds_the_times_and_widens_the_range() {
        let mut one = Held { value_us: 20, time_us: 10, range: Some((1, 3)) };
        one.merge(&Held { value_us: 40, time_us: 10, range: Some((-2, 2)) });
        assert_eq!((one.mean(), one.range), (Some(3.0), Some((-2, 3))));
        one.merge(&Held::default());
        assert_eq!((one.mean(), one.range), (Some(3.0), Some((-2, 3))));
        assert_eq!(Held::default().mean(), None);
    }
}
