//! Puts rows into the order of time.
//!
//! CPUs stamp a row and then compete for a place in the ring, so neighbours may change places; a virtual CPU that is
//! descheduled in between may come later still. Rows are held back for [`HOLD_NS`], which is far beyond both.

use ccactl_abi::layout::Sample;

/// How long a row is held back, ns.
pub(crate) const HOLD_NS: u64 = 100_000_000;

#[derive(Default)]
pub(crate) struct Sorter {
    held: Vec<Sample>,
    released_until_ns: u64,
    late_rows: u64,
}

impl Sorter {
    pub(crate) fn push(&mut self, rows: &[Sample]) {
        self.held.extend_from_slice(rows);
    }

    /// Rows held back or not yet asked for.
    pub(crate) fn len(&self) -> usize {
        self.held.len()
    }

    /// Takes the rows stamped before `until_ns` out, in order of time.
    pub(crate) fn release(&mut self, until_ns: u64) -> Vec<Sample> {
        // Stable, and linear for input that is nearly in order.
        self.held.sort_by_key(|row| row.time_ns);
        let count = self.held.partition_point(|row| row.time_ns < until_ns);
        let rest = self.held.split_off(count);
        let rows = std::mem::replace(&mut self.held, rest);
        self.late_rows += rows.partition_point(|row| row.time_ns < self.released_until_ns) as u64;
        self.released_until_ns = rows.last().map_or(self.released_until_ns, |row| row.time_ns);
        rows
    }

    /// Rows that came too late for their place; they are in the recording, out of order.
    pub(crate) fn late_rows(&self) -> u64 {
        self.late_rows
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
        assert_eq!(times(&sorter.release(5)), [1, 2, 3]);
        assert_eq!(sorter.len(), 1);
        sorter.push(&rows(&[7, 4]));
        assert_eq!(times(&sorter.release(u64::MAX)), [4, 7, 9]);
        assert_eq!((sorter.len(), sorter.late_rows()), (0, 0));
    }

    #[test]
    fn a_row_that_is_later_than_the_hold_is_kept_and_counted() {
        let mut sorter = Sorter::default();
        sorter.push(&rows(&[10, 20]));
        sorter.release(15);
        sorter.push(&rows(&[5]));
        assert_eq!(times(&sorter.release(u64::MAX)), [5, 20]);
        assert_eq!(sorter.late_rows(), 1);
    }
}
