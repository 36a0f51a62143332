//! How many intervals a recording asks for, before memory is spent on them: a row may claim to be from any time.

use std::ops::Range;
use std::path::Path;

use crate::Error;
use crate::scale::US_PER_S;
use crate::walk::Run;

/// Between the first row and the last. In intervals of a second more than a hundred days. Jain's index of each costs some
/// seventy bytes.
const MOST: u64 = 10_000_000;
/// From the first row to the last of each flow, summed up. Each costs sixteen bytes, whether anything happened in it or not.
const MOST_OF_FLOWS: u64 = 20_000_000;

/// The intervals so far.
#[derive(Debug, Clone, PartialEq)]
pub struct Intervals {
    width_us: u64,
    /// Earliest and latest row.
    pub span_us: Option<(u64, u64)>,
    /// Of all flows together.
    pub of_flows: u64,
}

impl Intervals {
    /// None yet, of `width_us` > 0.
    pub fn new(width_us: u64) -> Intervals {
        Intervals { width_us, span_us: None, of_flows: 0 }
    }

    /// Width of each.
    pub fn width_us(&self) -> u64 {
        self.width_us
    }

    /// Takes rows in. Answers whether there is room for all so far.
    pub fn have_room(&mut self, run: &Run<'_>) -> bool {
        // A step begins where the one before has ended. Most end in the same interval, and to see that takes no division.
        let mut latest: Option<(u64, Range<u64>)> = None;
        for (from_us, to_us) in run.spans_us() {
            let (first_us, last_us) = self.span_us.unwrap_or((to_us, to_us));
            self.span_us = Some((first_us.min(to_us), last_us.max(to_us)));
            let (number, times_us) = latest.get_or_insert_with(|| self.interval(from_us));
            if !times_us.contains(&to_us) {
                let before = *number;
                (*number, *times_us) = self.interval(to_us);
                self.of_flows = self.of_flows.saturating_add(number.saturating_sub(before));
            }
        }
        self.exceeded().is_none()
    }

    /// Takes in what another part of the recording has.
    pub fn append(&mut self, later: &Intervals) {
        let both = self.span_us.into_iter().chain(later.span_us);
        self.span_us = both.reduce(|(first, last), (from, to)| (first.min(from), last.max(to)));
        self.of_flows = self.of_flows.saturating_add(later.of_flows);
    }

    /// Number and times of the interval in which this is.
    fn interval(&self, t_us: u64) -> (u64, Range<u64>) {
        let number = t_us / self.width_us;
        let start_us = number * self.width_us;
        (number, start_us..start_us.saturating_add(self.width_us))
    }

    /// The error when there was no room at some step.
    pub fn check(&self, path: &Path) -> Result<(), Error> {
        let Some((most, of)) = self.exceeded() else { return Ok(()) };
        Err(Error::TooManyIntervals {
            path: path.to_owned(),
            span_s: self.length_us() as f64 / US_PER_S,
            interval_s: self.width_us as f64 / US_PER_S,
            most,
            of,
        })
    }

    fn exceeded(&self) -> Option<(u64, &'static str)> {
        if self.length_us() / self.width_us > MOST {
            return Some((MOST, "of the recording"));
        }
        (self.of_flows > MOST_OF_FLOWS).then_some((MOST_OF_FLOWS, "of all flows together"))
    }

    fn length_us(&self) -> u64 {
        self.span_us.map_or(0, |(first_us, last_us)| last_us - first_us)
    }
}
