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
        self.value_us += i128::from(value) * i128::from(time_us);
        self.time_us = self.time_us.saturating_add(time_us);
        let (least, most) = self.range.unwrap_or((value, value));
        self.range = Some((least.min(value), most.max(value)));
    }

    /// Takes in what was held later.
    pub fn append(&mut self, later: &Held) {
        self.value_us += later.value_us;
        self.time_us = self.time_us.saturating_add(later.time_us);
        let both = self.range.into_iter().chain(later.range);
        self.range = both.reduce(|(least, most), (low, high)| (least.min(low), most.max(high)));
    }
}

/// One entry per element of [`COLUMNS`].
pub type InnerState = [Held; 4];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_counts_for_as_long_as_it_held() {
        let mut held = Held::default();
        [(1, 10), (3, 20), (-2, 0)].into_iter().for_each(|(value, time_us)| held.add(value, time_us));
        assert_eq!(held, Held { value_us: 70, time_us: 30, range: Some((-2, 3)) });
    }
}
