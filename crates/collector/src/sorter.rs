//! Puts rows into the order of time.
//!
//! CPUs stamp a row and then compete for a place in the ring, so neighbours may change places; a virtual CPU that is
//! descheduled in between may come later still. Rows are held back for [`HOLD_NS`], which is far beyond both.

use ccactl_abi::layout::Sample;

/// How long a row is held back, ns.
pub(crate) const HOLD_NS: u64 = 100_000_000;

/// Rows held back at most, 42 MB: at a rate that fills this within the hold, rows leave earlier.
const MAX_HELD_ROWS: usize = 128 * 1024;

#[derive(Default)]
pub(crate) struct Sorter {
    rows: Vec<Sample>,
    /// Rows before this one have left.
    first: usize,
    /// Rows before this one are in order.
    sorted: usize,
    released_until_ns: u64,
    late_rows: u64,
}

impl Sorter {
    pub(crate) fn push(&mut self, rows: &[Sample]) {
        // So that a row is moved a third of a time on average, and the memory is four times what is held.
        if self.first > self.rows.len() / 4 * 3 {
            self.rows.drain(..self.first);
            self.sorted -= self.first;
            self.first = 0;
        }
        self.rows.extend_from_slice(rows);
        self.sort();
    }

    /// Rows held back or not yet asked for.
    pub(crate) fn len(&self) -> usize {
        self.rows.len() - self.first
    }

    /// Whether [`Sorter::release`] would give rows.
    pub(crate) fn has_due(&self, until_ns: u64) -> bool {
        let held = &self.rows[self.first..];
        held.len() > MAX_HELD_ROWS || held.first().is_some_and(|row| row.time_ns < until_ns)
    }

    /// Takes the rows stamped before `until_ns` out, in order of time.
    pub(crate) fn release(&mut self, until_ns: u64) -> &[Sample] {
        let held = &self.rows[self.first..];
        let due = held.partition_point(|row| row.time_ns < until_ns);
        let count = due.max(held.len().saturating_sub(MAX_HELD_ROWS));
        let released = &held[..count];
        self.late_rows += released.partition_point(|row| row.time_ns < self.released_until_ns) as u64;
        self.released_until_ns = released.last().map_or(self.released_until_ns, |row| row.time_ns);
        self.first += count;
        released
    }

    /// Rows that came too late for their place; they are in the recording, out of order.
    pub(crate) fn late_rows(&self) -> u64 {
        self.late_rows
    }

    /// Puts the new rows where they belong. Nearly all stand there already, and the others are a few places off: only
    /// those are moved, where a general sort would move every row.
    fn sort(&mut self) {
        let rows = &mut self.rows[self.first..];
        for at in (self.sorted - self.first).max(1)..rows.len() {
            let time_ns = rows[at].time_ns;
            if time_ns < rows[at - 1].time_ns {
                // After its equals: the order of one socket's rows stays.
                let place = rows[..at].partition_point(|row| row.time_ns <= time_ns);
                rows[place..=at].rotate_right(1);
            }
        }
        self.sorted = self.rows.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytemuck::Zeroable;

    fn rows(times: &[u64]) -> Vec<Sample> {
        times.iter().map(|&time_ns| Sample { time_ns, ..Sample::zeroed() }).collect()
    }

    fn times(rows: &[Sample]) -> Vec<u64> {
        rows.iter().map(|row| row.time_ns).collect()
    }

    #[test]
    fn rows_leave_in_order_and_young_ones_wait() {
        let mut sorter = Sorter::default();
        sorter.push(&rows(&[3, 1, 2, 9]));
        assert_eq!(times(sorter.release(5)), [1, 2, 3]);
        assert_eq!(sorter.len(), 1);
        sorter.push(&rows(&[7, 4]));
        assert_eq!(times(sorter.release(u64::MAX)), [4, 7, 9]);
        assert_eq!((sorter.len(), sorter.late_rows()), (0, 0));
    }

    #[test]
    fn a_row_that_is_later_than_the_hold_is_kept_and_counted() {
        let mut sorter = Sorter::default();
        sorter.push(&rows(&[10, 20]));
        sorter.release(15);
        sorter.push(&rows(&[5]));
        assert_eq!(times(sorter.release(u64::MAX)), [5, 20]);
        assert_eq!(sorter.late_rows(), 1);
    }

    #[test]
    fn rows_of_the_same_time_keep_their_order() {
        let mut sorter = Sorter::default();
        let with_id = |time_ns, flow_id| Sample { time_ns, flow_id, ..Sample::zeroed() };
        sorter.push(&[with_id(5, 1), with_id(5, 2), with_id(4, 3), with_id(5, 4), with_id(4, 5)]);
        let ids: Vec<u64> = sorter.release(u64::MAX).iter().map(|row| row.flow_id).collect();
        assert_eq!(ids, [3, 5, 1, 2, 4]);
    }

    #[test]
    fn what_is_held_is_bounded_whatever_the_rate() {
        let mut sorter = Sorter::default();
        for start in (0..4 * MAX_HELD_ROWS).step_by(1024) {
            let times: Vec<u64> = (start..start + 1024).map(|time| time as u64).collect();
            sorter.push(&rows(&times));
            sorter.release(0);
            assert!(sorter.len() <= MAX_HELD_ROWS);
        }
        assert!(sorter.rows.capacity() <= 8 * MAX_HELD_ROWS, "{} rows", sorter.rows.capacity());
        assert_eq!((sorter.release(u64::MAX).len(), sorter.late_rows()), (MAX_HELD_ROWS, 0));
    }
}
