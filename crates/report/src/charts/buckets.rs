//! Values by buckets of time.

use std::collections::BTreeMap;

/// One value per bucket in which something was seen; bucket `k` is `[k·width, (k+1)·width)` since the start of the
/// recording. Rows of a flow come nearly in order, so the bucket at hand is kept apart: finding it in a tree would take
/// longer than all else that is done with a row.
pub struct Buckets<T> {
    width_us: u64,
    at_hand: Option<(u64, T)>,
    others: BTreeMap<u64, T>,
}

impl<T: Default> Buckets<T> {
    /// None yet, of `width_us` > 0.
    pub fn new(width_us: u64) -> Buckets<T> {
        Buckets { width_us, at_hand: None, others: BTreeMap::new() }
    }

    /// The value of the bucket that holds this time, a new one when there is none.
    pub fn at(&mut self, t_us: u64) -> &mut T {
        let bucket = t_us / self.width_us;
        if self.at_hand.as_ref().is_none_or(|(at_hand, _)| *at_hand != bucket) {
            self.others.extend(self.at_hand.take());
        }
        let others = &mut self.others;
        &mut self.at_hand.get_or_insert_with(|| (bucket, others.remove(&bucket).unwrap_or_default())).1
    }

    /// All of them, by the number of the bucket.
    pub fn finish(mut self) -> BTreeMap<u64, T> {
        self.others.extend(self.at_hand);
        self.others
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_that_was_left_is_found_again() {
        let mut buckets = Buckets::<Vec<u64>>::new(10);
        for t_us in [1, 9, 10, 35, 5, 12, 39] {
            buckets.at(t_us).push(t_us);
        }
        let found: Vec<_> = buckets.finish().into_iter().collect();
        assert_eq!(found, [(0, vec![1, 9, 5]), (1, vec![10, 12]), (3, vec![35, 39])]);
    }
}
