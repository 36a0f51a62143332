//! Bytes, packets, window and times of a flow while it ran one algorithm.

use crate::walk::{Counter, Run};

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
    pub grown: [u64; Counter::ALL.len()],
    /// ∫ cwnd dt.
    pub cwnd_pkts_us: u128,
    /// Time for which the window is known.
    pub cwnd_time_us: u64,
    /// Largest window.
    pub cwnd_max_pkts: Option<u32>,
}

impl Totals {
    /// Takes rows in.
    pub fn add(&mut self, run: &Run<'_>) {
        let first_us = run.times_us().iter().copied().min().unwrap_or(u64::MAX);
        self.first_us = if self.rows == 0 { first_us } else { self.first_us.min(first_us) };
        self.rows += run.len() as u64;
        for (from_us, to_us) in run.spans_us() {
            self.time_us = self.time_us.saturating_add(to_us.saturating_sub(from_us));
        }
        run.values(Counter::BytesSent, |bytes| self.sent_so_far_bytes = self.sent_so_far_bytes.max(bytes));
        for (sum, counter) in self.grown.iter_mut().zip(Counter::ALL) {
            run.increases(counter, |increase| *sum = sum.saturating_add(increase));
        }
        for counter in [Counter::BytesSent, Counter::BytesAcked] {
            run.growth(counter, |(_, t_us), _| self.progress_us = self.progress_us.max(Some(t_us)));
        }
        run.windows(|cwnd_pkts, us| {
            self.cwnd_pkts_us += u128::from(cwnd_pkts) * u128::from(us);
            self.cwnd_time_us = self.cwnd_time_us.saturating_add(us);
            self.cwnd_max_pkts = self.cwnd_max_pkts.max(Some(cwnd_pkts));
        });
    }

    /// Takes in what was added up over later rows.
    pub fn append(&mut self, later: &Totals) {
        let earlier = self.rows > 0;
        self.first_us = if earlier { self.first_us.min(later.first_us) } else { later.first_us };
        self.rows += later.rows;
        self.progress_us = self.progress_us.max(later.progress_us);
        self.time_us = self.time_us.saturating_add(later.time_us);
        self.sent_so_far_bytes = self.sent_so_far_bytes.max(later.sent_so_far_bytes);
        for (sum, grown) in self.grown.iter_mut().zip(later.grown) {
            *sum = sum.saturating_add(grown);
        }
        self.cwnd_pkts_us += later.cwnd_pkts_us;
        self.cwnd_time_us = self.cwnd_time_us.saturating_add(later.cwnd_time_us);
        self.cwnd_max_pkts = self.cwnd_max_pkts.max(later.cwnd_max_pkts);
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
