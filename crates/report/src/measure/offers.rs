//! What a receiving socket offered while an algorithm decided about it: means over time, and what arrived.

use super::inner::Held;
use crate::walk::Run;
use ccactl_recording::Column;

/// Columns of an offer, in the order of [`Offers::held`].
pub const COLUMNS: [Column; 4] = [Column::RcvWndBytes, Column::RcvLimitBytes, Column::RcvRttUs, Column::RcvMinRttUs];
/// Place in [`COLUMNS`] of the one that is there only with a receiving algorithm.
const LIMIT: usize = 1;

/// One flow that receives.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Offers {
    /// One entry per element of [`COLUMNS`].
    pub held: [Held; COLUMNS.len()],
    /// Number of rows in which an algorithm decided.
    pub rows: u64,
    /// First and last row of the flow with the payload received so far, µs and bytes.
    pub received: Option<[(u64, u64); 2]>,
    last: [Option<(u64, i64)>; COLUMNS.len()],
}

impl Offers {
    /// Takes in the next rows of the flow. Rows in which no algorithm decides say nothing.
    pub fn add(&mut self, run: &Run<'_>) {
        let mut rows = 0;
        run.known(|columns| &columns.offers[LIMIT], |_, _| rows += 1);
        if rows == 0 {
            return;
        }
        self.rows += rows;
        for (i, (held, last)) in self.held.iter_mut().zip(&mut self.last).enumerate() {
            run.known(
                |columns| &columns.offers[i],
                |t_us, value| {
                    let (since_us, before) = last.replace((t_us, value)).unwrap_or((t_us, value));
                    held.add(before, t_us.saturating_sub(since_us));
                    // The last one has held for no time yet, and is seen all the same.
                    held.add(value, 0);
                },
            );
        }
        run.known(
            |columns| &columns.received_bytes,
            |t_us, bytes| {
                let now = (t_us, bytes.unsigned_abs());
                self.received.get_or_insert([now, now])[1] = now;
            },
        );
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
