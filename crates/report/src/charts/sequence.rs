//! Where in the stream a flow stands over time, as readers of tcptrace know it.

use serde::Serialize;

use super::series::Buckets;
use super::{US_PER_S, round};
use crate::walk::{Position, Run};

/// The stream is drawn in MB.
const BYTES_PER_MB: f64 = 1e6;

/// What is known at the end of a bucket.
#[derive(Debug, Clone, Copy, Default)]
pub struct Place {
    t_us: u64,
    position: Position,
}

/// Positions in MB from what was acknowledged at the first row on; each is that of the end of its bucket.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Sequence {
    /// Seconds since the start of the recording.
    pub t: Vec<f64>,
    /// Sent once up to here.
    pub sent: Vec<f64>,
    /// Acknowledged up to here.
    pub acked: Vec<f64>,
    /// The congestion window ends here.
    pub cwnd: Vec<f64>,
    /// The receiver's window ends here.
    pub window: Vec<f64>,
    /// Where something was sent again: seconds, and the end of what was acknowledged then.
    pub again: Vec<(f64, f64)>,
}

/// Takes rows in.
pub fn add(buckets: &mut Buckets<Place>, run: &Run<'_>) {
    run.positions(|t_us, position| {
        let place = buckets.at(t_us);
        if t_us >= place.t_us {
            *place = Place { t_us, position };
        }
    });
}

/// The positions in the order of time.
pub fn positions(buckets: Buckets<Place>) -> Sequence {
    let mut sequence = Sequence::default();
    let mut first = None;
    let mut before: Option<Position> = None;
    for Place { t_us, position } in buckets.finish().into_values() {
        let base = *first.get_or_insert(position.acked_bytes);
        let above = |bytes: u64| round(bytes.saturating_sub(base) as f64 / BYTES_PER_MB);
        let t = round(t_us as f64 / US_PER_S);
        sequence.t.push(t);
        sequence.sent.push(above(position.sent_bytes));
        sequence.acked.push(above(position.acked_bytes));
        sequence.cwnd.push(above(position.acked_bytes + position.cwnd_bytes));
        sequence.window.push(above(position.acked_bytes + position.window_bytes));
        if before.is_some_and(|before| before.retrans_bytes < position.retrans_bytes) {
            sequence.again.push((t, above(position.acked_bytes)));
        }
        before = Some(position);
    }
    sequence
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_from_the_first_row_and_what_is_sent_again_is_marked() {
        let mut buckets = Buckets::<Place>::new(1000);
        for (t_us, mb, retrans_bytes) in [(500, 5, 0), (900, 6, 0), (1500, 8, 1448), (2500, 9, 1448)] {
            let at = |mb: u64| mb * 1_000_000;
            let position = Position {
                acked_bytes: at(mb),
                sent_bytes: at(mb + 1),
                retrans_bytes,
                cwnd_bytes: at(2),
                window_bytes: at(3),
            };
            *buckets.at(t_us) = Place { t_us, position };
        }
        let sequence = positions(buckets);
        assert_eq!(sequence.t, [0.001, 0.002, 0.003]);
        assert_eq!((sequence.acked, sequence.sent), (vec![0.0, 2.0, 3.0], vec![1.0, 3.0, 4.0]));
        assert_eq!((sequence.cwnd, sequence.window), (vec![2.0, 4.0, 5.0], vec![3.0, 5.0, 6.0]));
        assert_eq!(sequence.again, [(0.002, 2.0)]);
    }
}
