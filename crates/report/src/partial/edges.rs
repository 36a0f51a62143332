//! The rows at the ends of a segment, which a change of algorithm near the cut needs from both sides of it.

use crate::measure::swaps::{self, SIDE_US, Swap};
use crate::walk::{Row, Run};

/// How far the rows are kept, and one row more. A state one RTT after a change is found over a cut up to this RTT.
const EDGE_US: u64 = SIDE_US;

/// The first rows of a flow and its last ones.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Edges {
    /// Of its first second and the row after it; of a flow that begins here the first row.
    pub first: Vec<Row>,
    /// Whether its first row is that of its opening: nobody will ask for what comes after it.
    pub begins: bool,
    /// Of its last second and the row before it; of a closed flow the last row.
    pub last: Vec<Row>,
}

impl Edges {
    /// Takes in rows that follow.
    pub fn add(&mut self, run: &Run<'_>) {
        let missing = run.rows().take(if self.is_full_at_start() { 0 } else { run.len() });
        for row in missing {
            self.first.push(row);
            if self.is_full_at_start() {
                break;
            }
        }
        let end_us = run.last_row().t_us;
        let mut rows: Vec<Row> = Vec::new();
        for row in run.rows().rev() {
            rows.push(row);
            if row.t_us.saturating_add(EDGE_US) <= end_us {
                break;
            }
        }
        rows.reverse();
        self.extend_last(rows);
    }

    /// Takes in the rows of the segment that follows.
    pub fn append(&mut self, later: Edges) {
        if !self.is_full_at_start() {
            for row in later.first {
                self.first.push(row);
                if self.is_full_at_start() {
                    break;
                }
            }
        }
        self.extend_last(later.last);
    }

    /// Drops what nobody will ask for, at either end.
    pub fn forget(&mut self, closed: bool) {
        if self.begins {
            self.first.truncate(1);
            self.first.shrink_to_fit();
        }
        if closed && self.last.len() > 1 {
            self.last.drain(..self.last.len() - 1);
            self.last.shrink_to_fit();
        }
    }

    fn is_full_at_start(&self) -> bool {
        let ends = self.first.first().zip(self.first.last());
        ends.is_some_and(|(first, last)| self.begins || last.t_us > first.t_us.saturating_add(EDGE_US))
    }

    fn extend_last(&mut self, rows: Vec<Row>) {
        let Some(end) = rows.last() else { return };
        let from_us = end.t_us.saturating_sub(EDGE_US);
        if rows[0].t_us <= from_us {
            self.last = rows;
            return;
        }
        self.last.extend(rows);
        let unneeded = self.last.iter().rposition(|row| row.t_us <= from_us).unwrap_or(0);
        self.last.drain(..unneeded);
    }
}

/// The changes of a flow over a cut: what was known before it, what is known after it, and what only both sides together know. A
/// change keeps the side that lies away from the cut; the one at the cut has both from here.
pub fn join(before: Vec<Swap>, earlier: &[Row], after: &[Swap], later: &[Row]) -> Vec<Swap> {
    let near_end = swaps::among(earlier).len();
    let near_start = swaps::among(later).len();
    let both = swaps::among(&[earlier, later].concat());
    let mut joined = before;
    let kept = joined.len().saturating_sub(near_end);
    for (swap, over) in joined[kept..].iter_mut().zip(&both) {
        (swap.after, swap.lowest_pkts, swap.state_later) = (over.after, over.lowest_pkts, over.state_later);
    }
    let at_the_cut = near_end..both.len().saturating_sub(near_start);
    joined.extend_from_slice(both.get(at_the_cut.clone()).unwrap_or_default());
    joined.extend_from_slice(after);
    let first_after = joined.len() - after.len();
    for (swap, over) in joined[first_after..].iter_mut().zip(both.get(at_the_cut.end..).unwrap_or_default()) {
        (swap.before, swap.state_before) = (over.before, over.state_before);
    }
    joined
}
