//! When the recorder lost rows.
//!
//! Each row says how many had been lost when it was written, so a loss lies between two rows whose numbers differ.

use crate::summary::DropSpan;

use crate::scale::US_PER_S;

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
    /// Takes the rows of a batch in, whose number of lost rows `each_dropped` gives one by one. Batches follow each other in time,
    /// the rows of one may not. Losses that are told of less than `apart_us` apart make one span.
    pub fn add(&mut self, times_us: &[u64], each_dropped: impl Fn(&mut dyn FnMut(u64)), apart_us: u64) {
        let mut most = 0;
        each_dropped(&mut |dropped_rows| most = most.max(dropped_rows));
        let before = self.latest.map_or(0, |(_, before)| before);
        if most <= before {
            // Hardly ever anything else.
            self.latest = times_us.iter().copied().max().map(|t_us| (t_us, before)).or(self.latest);
            return;
        }
        let mut rows: Vec<(u64, u64)> = Vec::with_capacity(times_us.len());
        let mut times = times_us.iter().copied();
        each_dropped(&mut |dropped_rows| rows.extend(times.next().map(|t_us| (t_us, dropped_rows))));
        if !times_us.is_sorted() {
            rows.sort_unstable();
        }
        rows.into_iter().for_each(|(t_us, dropped_rows)| self.add_row(t_us, dropped_rows, apart_us));
    }

    fn add_row(&mut self, t_us: u64, dropped_rows: u64, apart_us: u64) {
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

    fn spans(batches: &[&[(u64, u64)]], apart_us: u64) -> Vec<DropSpan> {
        let mut drops = Drops::default();
        for rows in batches {
            let times_us: Vec<u64> = rows.iter().map(|(t_us, _)| *t_us).collect();
            drops.add(&times_us, |each| rows.iter().for_each(|(_, dropped)| each(*dropped)), apart_us);
        }
        drops.spans()
    }

    const ROWS: [(u64, u64); 6] =
        [(0, 0), (1_000_000, 0), (1_500_000, 7), (1_600_000, 7), (1_700_000, 9), (9_000_000, 10)];

    #[test]
    fn a_loss_lies_between_the_rows_that_tell_of_it() {
        let span = |from_s, to_s, rows| DropSpan { from_s, to_s, rows };
        let expected = [span(1.0, 1.7, 9), span(1.7, 9.0, 1)];
        assert_eq!(spans(&[&ROWS], 1_000_000), expected);
        assert_eq!(spans(&[&ROWS[..2], &ROWS[2..4], &ROWS[4..]], 1_000_000), expected);
    }

    #[test]
    fn the_rows_of_a_batch_may_come_flow_by_flow() {
        let [a, b, c, d, e, f] = ROWS;
        assert_eq!(spans(&[&[a, c, f, b, d, e]], 1_000_000), spans(&[&ROWS], 1_000_000));
        assert_eq!(spans(&[&[b, a], &[d, c], &[f, e]], 1_000_000), spans(&[&ROWS], 1_000_000));
    }

    #[test]
    fn a_row_that_knows_less_is_no_loss() {
        let rows = spans(&[&[(0, 0), (10, 5), (11, 4), (12, 5)]], 1);
        assert_eq!(rows.iter().map(|s| s.rows).collect::<Vec<_>>(), [5]);
    }
}
