//! Packet-delivery traces in the format of mahimahi (Netravali et al., USENIX ATC 2015; `mm-link(1)`).

use crate::Nanos;

/// Bytes that may leave at one opportunity: an Ethernet frame of 1500 bytes with the four bytes of mahimahi's TUN header.
pub const OPPORTUNITY_BYTES: u32 = 1504;

const NS_PER_MS: Nanos = 1_000_000;
const BITS_PER_BYTE: u64 = 8;

/// Why a text is no trace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    /// A line is not a number.
    #[error("line {line}: expected a time in whole milliseconds, found {found:?}")]
    NotATime {
        /// From 1.
        line: usize,
        /// The line.
        found: String,
    },
    /// A line is below the one before it.
    #[error("line {line}: expected {before} ms or later, as times ascend, found {found} ms")]
    Descending {
        /// From 1.
        line: usize,
        /// Time of the line before, ms.
        before: u64,
        /// Time of this line, ms.
        found: u64,
    },
    /// No time, or none but 0.
    #[error("expected a time above 0 ms, after which the trace repeats, found none")]
    NoDuration,
}

/// When packets may leave: at each opportunity [`OPPORTUNITY_BYTES`], which several small packets share and for which a large one
/// waits more than once. After the last opportunity the trace begins anew. An opportunity at which nothing waits is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// Times in ms, ascending; the last is the period.
    opportunities_ms: Vec<u64>,
}

impl Trace {
    /// Reads a trace: one time in ms per line, ascending, empty lines ignored; n equal lines are n opportunities.
    ///
    /// # Errors
    /// With the line that is wrong.
    pub fn parse(text: &str) -> Result<Trace, TraceError> {
        let mut opportunities_ms = Vec::new();
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let line_number = number + 1;
            let not_a_time = |_| TraceError::NotATime { line: line_number, found: line.to_owned() };
            // 2^32 ms are 49 days; in nanoseconds they are far from the end of u64.
            let time: u32 = line.trim().parse().map_err(not_a_time)?;
            let time = u64::from(time);
            if let Some(before) = opportunities_ms.last().copied().filter(|before| *before > time) {
                return Err(TraceError::Descending { line: line_number, before, found: time });
            }
            opportunities_ms.push(time);
        }
        match opportunities_ms.last() {
            None | Some(0) => Err(TraceError::NoDuration),
            Some(_) => Ok(Trace { opportunities_ms }),
        }
    }

    /// Time after which the trace repeats.
    #[must_use]
    pub fn period(&self) -> Nanos {
        self.opportunities_ms[self.opportunities_ms.len() - 1] * NS_PER_MS
    }

    /// Mean rate over a period in bit/s.
    #[must_use]
    pub fn mean_rate_bps(&self) -> u64 {
        let bits = self.opportunities_ms.len() as u64 * u64::from(OPPORTUNITY_BYTES) * BITS_PER_BYTE;
        (u128::from(bits) * 1_000_000_000 / u128::from(self.period())) as u64
    }

    /// Mean rate over the first `duration` in bit/s: what a run that is no multiple of the period can have had.
    ///
    /// # Panics
    /// When the duration is 0.
    #[must_use]
    pub fn mean_rate_over_bps(&self, duration: Nanos) -> f64 {
        assert!(duration > 0, "a mean is over some time");
        let bits = self.first_after(duration) * u64::from(OPPORTUNITY_BYTES) * BITS_PER_BYTE;
        bits as f64 * 1e9 / duration as f64
    }

    /// Highest rate over a millisecond in bit/s.
    #[must_use]
    pub fn highest_rate_bps(&self) -> u64 {
        let in_one_ms = self.opportunities_ms.chunk_by(|a, b| a == b).map(<[u64]>::len).max().unwrap_or(0);
        in_one_ms as u64 * u64::from(OPPORTUNITY_BYTES) * BITS_PER_BYTE * 1000
    }

    /// Time of opportunity `number`, from 0 and on over all repetitions.
    pub(crate) fn time_of(&self, number: u64) -> Nanos {
        let count = self.opportunities_ms.len() as u64;
        number / count * self.period() + self.opportunities_ms[(number % count) as usize] * NS_PER_MS
    }

    /// Number of the first opportunity after `time`.
    pub(crate) fn first_after(&self, time: Nanos) -> u64 {
        let (period, count) = (self.period(), self.opportunities_ms.len() as u64);
        let (repetition, within) = (time / period, time % period);
        // Times of a repetition lie in [0, period], so one at its very end is the time 0 of the next one.
        let index = self.opportunities_ms.partition_point(|ms| ms * NS_PER_MS <= within);
        repetition * count + index as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opportunities_go_on_over_the_repetitions() {
        let trace = Trace::parse("1\n1\n\n3\n").unwrap();
        let times: Vec<u64> = (0..7).map(|n| trace.time_of(n) / NS_PER_MS).collect();
        assert_eq!(times, [1, 1, 3, 4, 4, 6, 7]);
        assert_eq!(trace.period(), 3 * NS_PER_MS);
        // 3 × 1504 bytes in 3 ms.
        assert_eq!(trace.mean_rate_bps(), 12_032_000);
        assert_eq!(trace.highest_rate_bps(), 2 * 1504 * 8 * 1000);
        // Two opportunities in the first 2 ms, five in the first 5 ms, three in every 3 ms.
        for (ms, opportunities) in [(2, 2.0), (5, 5.0), (300, 300.0)] {
            let expected = opportunities * 1504.0 * 8.0 * 1000.0 / ms as f64;
            assert_eq!(trace.mean_rate_over_bps(ms * NS_PER_MS), expected, "over {ms} ms");
        }
    }

    #[test]
    fn the_first_opportunity_after_a_time_is_the_one_that_a_search_finds() {
        for text in ["1\n1\n3\n", "0\n2\n5\n5\n", "7\n", "0\n1\n"] {
            let trace = Trace::parse(text).unwrap();
            for time in (0..40 * NS_PER_MS).step_by(250_000) {
                let searched = (0..).find(|n| trace.time_of(*n) > time);
                assert_eq!(Some(trace.first_after(time)), searched, "{text:?} after {time}");
            }
        }
    }

    #[test]
    fn what_is_no_trace_is_told_by_its_line() {
        let error = |text| Trace::parse(text).unwrap_err().to_string();
        assert_eq!(error("1\nx\n"), "line 2: expected a time in whole milliseconds, found \"x\"");
        assert_eq!(error("-1\n"), "line 1: expected a time in whole milliseconds, found \"-1\"");
        assert_eq!(error("5\n\n4\n"), "line 3: expected 5 ms or later, as times ascend, found 4 ms");
        assert_eq!(Trace::parse(""), Err(TraceError::NoDuration));
        assert_eq!(Trace::parse("0\n0\n"), Err(TraceError::NoDuration));
    }
}
