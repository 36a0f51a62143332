//! How long the flows took until they shared evenly, and kept to it.

use crate::scale::US_PER_S;
use crate::summary::{Convergence, JainPoint};

/// The index that counts as even.
const EVEN: f64 = 0.9;
/// For how long it has to stay there.
const HOLD_US: u64 = 5_000_000;

/// Looks at the intervals from the start of the last flow on in which every flow was active from edge to edge. `None`
/// when these are fewer than 5 s in one piece, which is too short to tell.
pub fn find(all: u64, last_start_s: f64, series: &[JainPoint], interval_us: u64) -> Option<Convergence> {
    // All flows are active in one piece: from the last start to the first end.
    let together: Vec<&JainPoint> = series.iter().filter(|point| point.flows == all).collect();
    of_points(&together, last_start_s, interval_us)
}

fn of_points(together: &[&JainPoint], last_start_s: f64, interval_us: u64) -> Option<Convergence> {
    let needed = usize::try_from(HOLD_US.div_ceil(interval_us)).ok()?;
    if together.len() < needed {
        return None;
    }
    let is_even = |point: &&JainPoint| point.jain.is_some_and(|jain| jain >= EVEN);
    let Some(first) = together.windows(needed).position(|window| window.iter().all(is_even)) else {
        let observed_s = together.len() as f64 * interval_us as f64 / US_PER_S;
        return Some(Convergence::NotReached { observed_s });
    };
    let at_s = together[first].start_s;
    let lost_at_s = together[first..].iter().find(|point| !is_even(point)).map(|point| point.start_s);
    Some(Convergence::Reached { after_s: at_s - last_start_s, at_s, lost_at_s })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000;

    /// Intervals of 1 s from 3 s on, the last flow having started at 2.5 s.
    fn found(indices: &[Option<f64>]) -> Option<Convergence> {
        let points: Vec<JainPoint> =
            (3..).zip(indices).map(|(start, &jain)| JainPoint { start_s: f64::from(start), flows: 2, jain }).collect();
        of_points(&points.iter().collect::<Vec<_>>(), 2.5, SECOND)
    }

    fn of(indices: &[f64]) -> Option<Convergence> {
        found(&indices.iter().map(|&index| Some(index)).collect::<Vec<_>>())
    }

    #[test]
    fn even_from_the_start_is_reached_with_the_first_whole_interval() {
        let expected = Convergence::Reached { after_s: 0.5, at_s: 3.0, lost_at_s: None };
        assert_eq!(of(&[0.9, 0.95, 1.0, 0.9, 0.91]), Some(expected));
    }

    #[test]
    fn what_is_lost_before_five_seconds_does_not_count() {
        // 4 s even, one interval at 0.89, then 5 s even: reached at 8 s, 5.5 s after the last start.
        let expected = Convergence::Reached { after_s: 5.5, at_s: 8.0, lost_at_s: None };
        assert_eq!(of(&[0.95, 0.95, 0.95, 0.95, 0.89, 0.9, 0.9, 0.9, 0.9, 0.9]), Some(expected));
    }

    #[test]
    fn what_is_lost_later_was_reached_and_the_loss_is_told() {
        let expected = Convergence::Reached { after_s: 1.5, at_s: 4.0, lost_at_s: Some(9.0) };
        assert_eq!(of(&[0.5, 0.9, 0.9, 0.9, 0.9, 0.9, 0.6, 1.0]), Some(expected));
    }

    #[test]
    fn never_is_not_the_same_as_not_known() {
        assert_eq!(of(&[0.9, 0.9, 0.9, 0.9, 0.8]), Some(Convergence::NotReached { observed_s: 5.0 }));
        assert_eq!(of(&[0.5, 0.5, 0.5, 0.5]), None);
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn an_interval_in_which_nobody_got_anything_is_not_even() {
        let stalled = found(&[Some(1.0), Some(1.0), None, Some(1.0), Some(1.0)]);
        assert_eq!(stalled, Some(Convergence::NotReached { observed_s: 5.0 }));
    }

    #[test]
    fn intervals_that_do_not_divide_five_seconds_hold_for_longer() {
        let points = [0.95; 3].map(|jain| JainPoint { start_s: 0.0, flows: 2, jain: Some(jain) });
        // Three intervals of 2 s.
        assert!(of_points(&points.iter().collect::<Vec<_>>(), 0.0, 2 * SECOND).is_some());
        assert_eq!(of_points(&points[..2].iter().collect::<Vec<_>>(), 0.0, 2 * SECOND), None);
    }
}
