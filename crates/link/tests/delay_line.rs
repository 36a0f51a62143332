//! The delay line: in the order of arrival times, first in first out among equals.

use ccactl_link::DelayLine;
use proptest::prelude::*;

proptest! {
    #[test]
    fn packets_come_out_in_the_order_of_their_times_and_not_before(dues in prop::collection::vec(0..50_u64, 0..100)) {
        let mut line = DelayLine::with_capacity(dues.len());
        dues.iter().enumerate().for_each(|(id, due)| line.push(*due, id));
        let mut expected: Vec<(u64, usize)> = dues.into_iter().enumerate().map(|(id, due)| (due, id)).collect();
        expected.sort_unstable();
        prop_assert_eq!(line.len(), expected.len());
        let mut out = Vec::new();
        for now in 0..50 {
            prop_assert!(line.next_due().is_none_or(|due| due >= now));
            out.extend(std::iter::from_fn(|| line.pop(now)));
        }
        prop_assert_eq!(out, expected);
        prop_assert!(line.is_empty());
    }
}
