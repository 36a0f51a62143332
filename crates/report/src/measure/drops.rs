//! When the recorder lost rows.
//!
//! Each row says how many had been lost when it was written, so a loss lies between two rows whose numbers differ.

use crate::summary::DropSpan;

const US_PER_S: f64 = 1e6;

/// Follows the number of lost rows through the rows of all flows.
#[derive(Debug, Default)]
pub struct Drops {
    latest: Option<(u64, u64)>,
    spans: Vec<Span>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Span {
    from_us: u64,
    to_us: u64,
    rows: u64,
}

impl Drops {
    /// Takes a row in. Losses that are told of less than `apart_us` apart make one span.
    pub fn add(&mut self, t_us: u64, dropped_rows: u64, apart_us: u64) {
        let (before_us, before) = self.latest.unwrap_or((t_us, 0));
        // Rows that changed places know less than the one before.
        self.latest = Some((t_us, before.max(dropped_rows)));
        if dropped_rows <= before {
            return;
        }
        let rows = dropped_rows - before;
        match self.spans.last_mut() {
            Some(span) if t_us < span.to_us.saturating_add(apart_us) => {
                span.to_us = t_us;
                span.rows += rows;
            }
            _ => self.spans.push(Span { from_us: before_us, to_us: t_us, rows }),
        }
    }

    /// The times in which rows were lost.
    pub fn spans(&self) -> Vec<DropSpan> {
        let seconds = |us: u64| us as f64 / US_PER_S;
        let spans = self.spans.iter();
        spans.map(|s| DropSpan { from_s: seconds(s.from_us), to_s: seconds(s.to_us), rows: s.rows }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_lies_between_the_rows_that_tell_of_it() {
        let mut drops = Drops::default();
        for (t_us, dropped) in [(0, 0), (1_000_000, 0), (1_500_000, 7), (1_600_000, 7), (1_700_000, 9), (9_000_000, 10)]
        {
            drops.add(t_us, dropped, 1_000_000);
        }
        let span = |from_s, to_s, rows| DropSpan { from_s, to_s, rows };
        assert_eq!(drops.spans(), [span(1.0, 1.7, 9), span(1.7, 9.0, 1)].map(|s| s).as_slice());
    }

    #[test]
    fn a_row_that_knows_less_is_no_loss() {
        let mut drops = Drops::default();
        for (t_us, dropped) in [(0, 0), (10, 5), (11, 4), (12, 5)] {
            drops.add(t_us, dropped, 1);
        }
        assert_eq!(drops.spans().iter().map(|s| s.rows).collect::<Vec<_>>(), [5]);
    }
}
