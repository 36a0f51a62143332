//! Values that are counted together, as they are close to each other.

/// Every doubling is cut into 2^`BITS` classes; values below that have a class each. All values of a class are within
/// 2^-`BITS` of each other.
pub struct Classes<const BITS: u32>;

impl<const BITS: u32> Classes<BITS> {
    /// Number of classes.
    pub const COUNT: usize = (u64::BITS as usize - BITS as usize + 1) << BITS;

    /// Class of a value; larger values have no smaller class.
    #[must_use]
    pub fn of(value: u64) -> usize {
        let doublings = (u64::BITS - value.leading_zeros()).saturating_sub(BITS + 1);
        ((doublings as usize) << BITS) + (value >> doublings) as usize
    }

    /// Smallest value of a class.
    #[must_use]
    pub fn lowest(class: usize) -> u64 {
        let doublings = Self::doublings(class);
        ((class - (doublings << BITS)) as u64) << doublings
    }

    /// Largest value of a class.
    #[must_use]
    pub fn highest(class: usize) -> u64 {
        Self::lowest(class) + ((1 << Self::doublings(class)) - 1)
    }

    fn doublings(class: usize) -> usize {
        (class >> BITS).saturating_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_lies_in_its_class_and_edges_are_close() {
        type Six = Classes<6>;
        for value in [0, 1, 63, 64, 65, 127, 128, 1000, 999_999, u64::from(u32::MAX), u64::MAX] {
            let class = Six::of(value);
            let (lowest, highest) = (Six::lowest(class), Six::highest(class));
            assert!((lowest..=highest).contains(&value), "{value} not in {lowest} to {highest}");
            assert!(class == 0 || Six::highest(class - 1) + 1 == lowest, "{value}: a gap below {lowest}");
            assert!((highest - lowest) as f64 <= value as f64 / 64.0, "{value}: {lowest} to {highest}");
        }
        assert_eq!(Six::of(u64::MAX), Six::COUNT - 1);
    }

    #[test]
    fn classes_are_in_order_of_their_values() {
        let values = (0..4096).chain((1..20).map(|i| i * 200_000_000)).chain([u64::from(u32::MAX)]);
        assert!(values.map(Classes::<7>::of).is_sorted());
    }
}
