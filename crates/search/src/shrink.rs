//! A point without what it does not need.

use crate::error::Result;
use crate::evolve::{Best, Space};

/// A simpler path takes the place of a path when it is so nearly as bad.
pub const LEAST_SHARE: f64 = 0.9;

/// Goes from point to simpler point while the badness stays at `least`.
///
/// # Errors
/// Those of `judge`.
pub fn shrink<S: Space>(
    space: &S,
    found: Best<S::Point>,
    least: f64,
    judge: &(dyn Fn(&S::Point) -> Result<f64> + Sync),
    tell: &mut dyn FnMut(&Best<S::Point>),
) -> Result<Best<S::Point>> {
    let mut best = found;
    'simpler: loop {
        for point in space.simpler(&best.point) {
            let badness = judge(&point)?;
            if badness >= least {
                best = Best { point, badness };
                tell(&best);
                continue 'simpler;
            }
        }
        return Ok(best);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounds::Bounds;
    use crate::case::{Case, Event, Gene, Kind};

    #[test]
    fn what_makes_it_bad_stays_and_the_rest_goes() {
        let event = |at_ms, kind| Event { at_ms, for_ms: 437, kind, percent: 61 };
        let events = vec![event(1234, Kind::Rate), event(2345, Kind::Burst), event(3456, Kind::Rate)];
        let point = Case::new([12_345, 43, 123, 77, 5, 3, 1_234, 1], events);
        // Bad is a burst on a path with random losses.
        let judge = |case: &Case| {
            let has_burst = case.events().iter().any(|event| event.kind == Kind::Burst);
            Ok(f64::from(has_burst && case.value(Gene::Loss) > 0))
        };
        let found = Best { point, badness: 1.0 };
        let best = shrink(&Bounds::of_run(20_000), found, LEAST_SHARE, &judge, &mut |_| {}).unwrap();
        let burst = Event { at_ms: 2000, for_ms: 400, kind: Kind::Burst, percent: 60 };
        assert_eq!(best.point, Case::new([10_000, 40, 100, 80, 0, 0, 0, 1], vec![burst]));
    }
}
