//! Samples on their way into a histogram.
//!
//! Rows of many flows come in turn, and so each sample would go to another histogram, none of which fits a cache: most of a
//! walk's time would be spent on waiting for memory. So a flow's samples wait until they are many.

use crate::stats::Histogram;

/// 16 KiB per flow; its histogram is then counted up while it is in the cache.
const WAITING: usize = 4096;

/// Samples of one flow.
#[derive(Debug, Clone, Default)]
pub struct Samples {
    waiting: Vec<u32>,
}

impl Samples {
    /// Takes a sample, which reaches the histogram now or later.
    pub fn add(&mut self, value: u32, histogram: &mut Histogram) {
        self.waiting.push(value);
        if self.waiting.len() >= WAITING {
            self.flush(histogram);
        }
    }

    /// Brings every sample to the histogram.
    pub fn flush(&mut self, histogram: &mut Histogram) {
        self.waiting.drain(..).for_each(|value| histogram.add(value.into(), 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sample_arrives_once() {
        let (mut samples, mut histogram) = (Samples::default(), Histogram::default());
        let count = 2 * WAITING as u64 + 1;
        (0..count).for_each(|value| samples.add(value as u32, &mut histogram));
        assert_eq!(histogram.total(), 2 * WAITING as u64);
        samples.flush(&mut histogram);
        assert_eq!((histogram.total(), histogram.min(), histogram.max()), (count, Some(0), Some(count - 1)));
    }
}
