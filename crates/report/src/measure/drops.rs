//! When the recorder lost rows.
//!
//! Each row says how many had been lost when it was written, so a loss lies between two rows whose numbers differ.

/// Follows the number of lost rows through the rows of all flows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Drops {
    /// Earliest row, and how many had been lost by then.
    first: Option<(u64, u64)>,
    latest: Option<(u64, u64)>,
    /// Losses after the first row.
    spans: Vec<Span>,
}

/// A time in which rows were lost: they belong somewhere between its ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Span {
    /// Last row before the loss.
    pub from_us: u64,
    /// First row that knew of some of it.
    pub known_us: u64,
    /// First row that knew of all of it.
    pub to_us: u64,
    /// Rows lost.
    pub rows: u64,
}

impl Drops {
    /// As they were written down: the earliest and the latest row with the number of lost rows that each knew, and the losses between.
    pub fn of(ends: Option<[(u64, u64); 2]>, spans: Vec<Span>) -> Drops {
        Drops { first: ends.map(|[first, _]| first), latest: ends.map(|[_, latest]| latest), spans }
    }

    /// The earliest and the latest row, as [`Drops::of`] takes them.
    pub fn ends(&self) -> Option<[(u64, u64); 2]> {
        self.first.zip(self.latest).map(|(first, latest)| [first, latest])
    }

    /// The losses between them.
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// Takes the rows of a batch in, whose number of lost rows `each_dropped` gives one by one. Batches follow each other in time,
    /// the rows of one may not. Losses that are told of less than `apart_us` apart make one span.
    pub fn add(&mut self, times_us: &[u64], each_dropped: impl Fn(&mut dyn FnMut(u64)), apart_us: u64) {
        let mut most = 0;
        each_dropped(&mut |dropped_rows| most = most.max(dropped_rows));
        let before = self.latest.map_or(0, |(_, before)| before);
        if most > before {
            self.add_rows(times_us, each_dropped, apart_us);
            return;
        }
        // Hardly ever anything else.
        self.first = self.first.or_else(|| times_us.iter().copied().min().map(|t_us| (t_us, 0)));
        self.latest = times_us.iter().copied().max().map(|t_us| (t_us, before)).or(self.latest);
    }

    fn add_rows(&mut self, times_us: &[u64], each_dropped: impl Fn(&mut dyn FnMut(u64)), apart_us: u64) {
        let mut rows: Vec<(u64, u64)> = Vec::with_capacity(times_us.len());
        let mut times = times_us.iter().copied();
        each_dropped(&mut |dropped_rows| rows.extend(times.next().map(|t_us| (t_us, dropped_rows))));
        if !times_us.is_sorted() {
            rows.sort_unstable();
        }
        rows.into_iter().for_each(|(t_us, dropped_rows)| self.add_row(t_us, dropped_rows, apart_us));
    }

    fn add_row(&mut self, t_us: u64, dropped_rows: u64, apart_us: u64) {
        let Some((from_us, before)) = self.latest else {
            (self.first, self.latest) = (Some((t_us, dropped_rows)), Some((t_us, dropped_rows)));
            return;
        };
        // Rows that changed places know less than the one before.
        self.latest = Some((t_us, before.max(dropped_rows)));
        if dropped_rows > before {
            push(&mut self.spans, Span { from_us, known_us: t_us, to_us: t_us, rows: dropped_rows - before }, apart_us);
        }
    }

    /// Takes in what the rows of a later time know.
    pub fn append(&mut self, later: Drops, apart_us: u64) {
        let (Some((next_us, next)), Some((end_us, most))) = (later.first, later.latest) else { return };
        let Some((_, before)) = self.latest else {
            *self = later;
            return;
        };
        self.add_row(next_us, next, apart_us);
        // Rows that changed places over the cut knew less than what was known: what the later ones found is partly known.
        let mut known = before.saturating_sub(next);
        for span in later.spans {
            let rows = span.rows.saturating_sub(known);
            known = known.saturating_sub(span.rows);
            if rows > 0 {
                push(&mut self.spans, Span { rows, ..span }, apart_us);
            }
        }
        self.latest = Some((end_us, most.max(before)));
    }

    /// The times in which rows were lost, those before the first row among them.
    pub fn finish(self, apart_us: u64) -> Vec<Span> {
        let mut spans = Vec::new();
        if let Some((t_us, rows)) = self.first.filter(|(_, rows)| *rows > 0) {
            spans.push(Span { from_us: t_us, known_us: t_us, to_us: t_us, rows });
        }
        self.spans.into_iter().for_each(|span| push(&mut spans, span, apart_us));
        spans
    }
}

fn push(spans: &mut Vec<Span>, span: Span, apart_us: u64) {
    match spans.last_mut() {
        Some(last) if span.known_us < last.to_us.saturating_add(apart_us) => {
            last.to_us = span.to_us;
            last.rows += span.rows;
        }
        _ => spans.push(span),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(batches: &[&[(u64, u64)]], apart_us: u64) -> Vec<Span> {
        let mut drops = Drops::default();
        for rows in batches {
            let times_us: Vec<u64> = rows.iter().map(|(t_us, _)| *t_us).collect();
            drops.add(&times_us, |each| rows.iter().for_each(|(_, dropped)| each(*dropped)), apart_us);
        }
        drops.finish(apart_us)
    }

    #[test]
    fn parts_add_up_to_the_whole_wherever_they_are_cut() {
        let part = |rows: &[(u64, u64)]| {
            let mut drops = Drops::default();
            let times_us: Vec<u64> = rows.iter().map(|(t_us, _)| *t_us).collect();
            drops.add(&times_us, |each| rows.iter().for_each(|(_, dropped)| each(*dropped)), 1_000_000);
            drops
        };
        let lost_before: Vec<(u64, u64)> = ROWS.iter().map(|&(t_us, dropped)| (t_us, dropped + 3)).collect();
        for rows in [&ROWS[..], &lost_before] {
            let whole = part(rows).finish(1_000_000);
            for (a, b) in (0..rows.len()).flat_map(|a| (a..rows.len()).map(move |b| (a, b))) {
                let [mut first, mut second, third] = [&rows[..a], &rows[a..b], &rows[b..]].map(part);
                let mut left = first.clone();
                left.append(second.clone(), 1_000_000);
                left.append(third.clone(), 1_000_000);
                second.append(third, 1_000_000);
                first.append(second, 1_000_000);
                assert_eq!(
                    (left.finish(1_000_000), first.finish(1_000_000)),
                    (whole.clone(), whole.clone()),
                    "{a} {b}"
                );
            }
        }
    }

    const ROWS: [(u64, u64); 6] =
        [(0, 0), (1_000_000, 0), (1_500_000, 7), (1_600_000, 7), (1_700_000, 9), (9_000_000, 10)];

    #[test]
    fn a_loss_lies_between_the_rows_that_tell_of_it() {
        let span = |from_us, known_us, to_us, rows| Span { from_us, known_us, to_us, rows };
        let expected = [span(1_000_000, 1_500_000, 1_700_000, 9), span(1_700_000, 9_000_000, 9_000_000, 1)];
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
