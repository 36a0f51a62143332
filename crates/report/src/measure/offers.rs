//! What a receiving socket offered while an algorithm decided about it: means over time, and what arrived.

use super::inner::Held;
use crate::walk::Run;
use ccactl_recording::Column;

/// Columns of an offer, in the order of [`Offers::held`].
pub const COLUMNS: [Column; 4] = [Column::RcvWndBytes, Column::RcvLimitBytes, Column::RcvRttUs, Column::RcvMinRttUs];
/// Place in [`COLUMNS`] of the one that is there only with a receiving algorithm.
pub const LIMIT: usize = 1;

/// One flow that receives.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Offers {
    /// One entry per element of [`COLUMNS`].
    pub held: [Held; COLUMNS.len()],
    /// Number of rows in which an algorithm decided.
    pub rows: u64,
    /// First and last of these rows with the payload received so far, µs and bytes.
    pub received: Option<[(u64, u64); 2]>,
    /// The first and the last value of each column, and when it was seen.
    pub ends: [Option<[(u64, i64); 2]>; COLUMNS.len()],
}

impl Offers {
    /// Takes in the next rows of the flow. Rows in which no algorithm decides say nothing.
    pub fn add(&mut self, run: &Run<'_>) {
        run.offers(|t_us, values, received_bytes| {
            self.rows += 1;
            for ((held, ends), value) in self.held.iter_mut().zip(&mut self.ends).zip(values) {
                let Some(value) = value else { continue };
                let [_, last] = ends.get_or_insert([(t_us, value); 2]);
                let (since_us, before) = std::mem::replace(last, (t_us, value));
                held.add(before, t_us.saturating_sub(since_us));
                // The last one has held for no time yet, and is seen all the same.
                held.add(value, 0);
            }
            if let Some(bytes) = received_bytes {
                self.received.get_or_insert([(t_us, bytes); 2])[1] = (t_us, bytes);
            }
        });
    }

    /// Takes in what came later.
    pub fn append(&mut self, later: &Offers) {
        self.rows += later.rows;
        for (i, (held, ends)) in self.held.iter_mut().zip(&mut self.ends).enumerate() {
            let Some([next, end]) = later.ends[i] else { continue };
            if let Some([_, (since_us, before)]) = *ends {
                held.add(before, next.0.saturating_sub(since_us));
            }
            held.append(&later.held[i]);
            *ends = Some([ends.map_or(next, |[first, _]| first), end]);
        }
        if let Some([next, end]) = later.received {
            self.received = Some([self.received.map_or(next, |[first, _]| first), end]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_where_it_is_said_to_be() {
        assert_eq!(COLUMNS[LIMIT], Column::RcvLimitBytes);
    }
}
