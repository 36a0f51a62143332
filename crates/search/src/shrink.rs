//! A case without what it does not need.

use crate::error::Result;
use crate::evolve::{Best, Space};

/// A simpler case takes the place of a case when it is so nearly as bad.
pub const LEAST_SHARE: f64 = 0.9;

/// Goes from case to simpler case while the badness stays at [`LEAST_SHARE`] of what was found.
///
/// # Errors
/// Those of `judge`.
pub fn shrink<S: Space>(
    space: &S,
    found: Best<S::Point>,
    judge: &(dyn Fn(&S::Point) -> Result<f64> + Sync),
    tell: &mut dyn FnMut(&Best<S::Point>),
) -> Result<Best<S::Point>> {
    if found.badness <= 0.0 {
        return Ok(found);
    }
    let least = found.badness * LEAST_SHARE;
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
