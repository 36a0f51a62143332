//! Bytes, packets, window and times of a flow while it ran one algorithm.

use crate::walk::{Counter, Step};

/// What one flow did while it ran one algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Totals {
    /// Number of rows.
    pub rows: u64,
    /// First row.
    pub first_us: u64,
    /// Last row that shows progress; `None` when none does.
    pub progress_us: Option<u64>,
    /// Sum of the steps' durations.
    pub time_us: u64,
    /// Largest value of the cumulative counter, for flows of one row.
    pub sent_so_far_bytes: u64,
    /// Increase of each counter, in the order of [`Counter`].
    grown: [u64; Counter::ALL.len()],
    /// ∫ cwnd dt.
    pub cwnd_pkts_us: u128,
    /// Time for which the window is known.
    pub cwnd_time_us: u64,
}

impl Totals {
    /// Takes a step in.
    pub fn add(&mut self, step: &Step<'_>) {
        let (t_us, dt_us) = (step.row.t_us, step.dt_us());
        self.first_us = if self.rows == 0 { t_us } else { self.first_us.min(t_us) };
        self.rows += 1;
        self.time_us = self.time_us.saturating_add(dt_us);
        self.sent_so_far_bytes = self.sent_so_far_bytes.max(step.row.counter(Counter::BytesSent));
        for (sum, counter) in self.grown.iter_mut().zip(Counter::ALL) {
            *sum = sum.saturating_add(step.increase(counter));
        }
        if step.increase(Counter::BytesSent) > 0 || step.increase(Counter::BytesAcked) > 0 {
            self.progress_us = self.progress_us.max(Some(t_us));
        }
        if let Some(cwnd_pkts) = step.previous.and_then(|previous| previous.cwnd_pkts) {
            self.cwnd_pkts_us += u128::from(cwnd_pkts) * u128::from(dt_us);
            self.cwnd_time_us = self.cwnd_time_us.saturating_add(dt_us);
        }
    }

    /// Increase of a counter.
    pub fn grown(&self, counter: Counter) -> u64 {
        self.grown[counter as usize]
    }

    /// Last row that shows progress; the first row when none does.
    pub fn progress_or_first_us(&self) -> u64 {
        self.progress_us.unwrap_or(self.first_us)
    }
}
