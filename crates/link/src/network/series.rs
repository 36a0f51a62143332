//! What every transmitter did over time, in intervals of 10 ms. Memory for the whole run is there before it begins.

use crate::{DropReason, Nanos};

/// Length of an interval.
pub const INTERVAL: Nanos = 10_000_000;
const NS_PER_S: u64 = 1_000_000_000;

/// One transmitter in one interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Interval {
    /// Number of the interval, from 0 at the beginning of the run.
    pub number: u32,
    /// Index of the transmitter.
    pub transmitter: u32,
    /// In its queue or in transmission at the end of the interval.
    pub queued_packets: u32,
    /// The same in bytes on the wire.
    pub queued_bytes: u64,
    /// Packets whose last bit left in the interval; those that were lost afterwards are among them.
    pub sent_packets: u32,
    /// The same in bytes on the wire.
    pub sent_wire_bytes: u64,
    /// Sum of their queueing delays.
    pub sojourn_sum_ns: Nanos,
    /// The largest of them.
    pub sojourn_max_ns: Nanos,
    /// Dropped for want of room.
    pub dropped_full_packets: u32,
    /// Dropped by active queue management.
    pub dropped_early_packets: u32,
    /// Marked "congestion experienced".
    pub marked_packets: u32,
    /// Transmitted and lost.
    pub lost_packets: u32,
}

impl Interval {
    /// Rate on the wire in the interval.
    #[must_use]
    pub fn sent_bps(&self) -> u64 {
        self.sent_wire_bytes * 8 * (NS_PER_S / INTERVAL)
    }
}

/// What left a transmitter.
#[derive(Debug, Clone, Copy)]
pub struct Sent {
    pub wire_bytes: u32,
    pub sojourn: Nanos,
    pub marked: bool,
    pub lost: bool,
}

/// The intervals of a run.
pub struct Series {
    /// When the current interval ends; none before the run has begun and after it is over.
    end: Option<Nanos>,
    number: u32,
    intervals: u32,
    open: Vec<Interval>,
    rows: Vec<Interval>,
}

impl Series {
    /// For a run of this length.
    pub fn new(transmitters: usize, duration: Nanos) -> Self {
        let intervals = u32::try_from(duration / INTERVAL).expect("a run takes less than a year");
        let mut rows = vec![Interval { number: 1, ..Interval::default() }; intervals as usize * transmitters];
        rows.clear();
        Series { end: None, number: 0, intervals, open: vec![Interval::default(); transmitters], rows }
    }

    /// The run begins at `origin`.
    pub fn begin(&mut self, origin: Nanos) {
        self.end = (self.intervals > 0).then_some(origin + INTERVAL);
        self.number = 0;
        self.open.fill(Interval::default());
    }

    /// Whether the current interval is over by `now`: then [`Series::close`] comes before anything else happens.
    #[inline]
    pub fn is_over(&self, now: Nanos) -> bool {
        self.end.is_some_and(|end| end <= now)
    }

    /// Ends the current interval; `queue` gives packets and bytes of a transmitter.
    pub fn close(&mut self, queue: impl Fn(usize) -> (usize, u64)) {
        for (i, open) in self.open.iter_mut().enumerate() {
            let (queued_packets, queued_bytes) = queue(i);
            let (number, transmitter) = (self.number, i as u32);
            self.rows.push(Interval {
                number,
                transmitter,
                queued_packets: queued_packets as u32,
                queued_bytes,
                ..*open
            });
            *open = Interval::default();
        }
        self.number += 1;
        self.end = self.end.filter(|_| self.number < self.intervals).map(|end| end + INTERVAL);
    }

    /// A packet left.
    pub fn sent(&mut self, transmitter: usize, sent: Sent) {
        let open = &mut self.open[transmitter];
        open.sent_packets += 1;
        open.sent_wire_bytes += u64::from(sent.wire_bytes);
        open.sojourn_sum_ns += sent.sojourn;
        open.sojourn_max_ns = open.sojourn_max_ns.max(sent.sojourn);
        open.marked_packets += u32::from(sent.marked);
        open.lost_packets += u32::from(sent.lost);
    }

    /// A packet was dropped.
    pub fn dropped(&mut self, transmitter: usize, reason: DropReason) {
        match reason {
            DropReason::Full => self.open[transmitter].dropped_full_packets += 1,
            DropReason::Early => self.open[transmitter].dropped_early_packets += 1,
        }
    }

    /// The intervals so far, in the order of time, transmitter by transmitter.
    pub fn into_rows(self) -> Vec<Interval> {
        self.rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SENT: Sent = Sent { wire_bytes: 1500, sojourn: 3, marked: true, lost: false };

    #[test]
    fn intervals_count_from_the_beginning_of_the_run_to_its_end() {
        let mut series = Series::new(2, 2 * INTERVAL + 1);
        assert!(!series.is_over(u64::MAX), "it has not begun");
        series.sent(0, SENT);
        series.begin(1000);
        assert!(!series.is_over(1000 + INTERVAL - 1) && series.is_over(1000 + INTERVAL));
        series.sent(1, SENT);
        series.sent(1, Sent { sojourn: 9, marked: false, lost: true, ..SENT });
        series.dropped(0, DropReason::Early);
        series.close(|i| (i, 100));
        series.dropped(1, DropReason::Full);
        series.close(|_| (0, 0));
        assert!(!series.is_over(u64::MAX), "it has ended");
        let rows = series.into_rows();
        let empty = Interval::default();
        let busy = Interval {
            transmitter: 1,
            queued_packets: 1,
            queued_bytes: 100,
            sent_packets: 2,
            sent_wire_bytes: 3000,
            sojourn_sum_ns: 12,
            sojourn_max_ns: 9,
            marked_packets: 1,
            lost_packets: 1,
            ..empty
        };
        assert_eq!(
            rows,
            [
                Interval { queued_bytes: 100, dropped_early_packets: 1, ..empty },
                busy,
                Interval { number: 1, ..empty },
                Interval { number: 1, transmitter: 1, dropped_full_packets: 1, ..empty },
            ]
        );
    }
}
