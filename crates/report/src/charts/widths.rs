//! How wide the buckets of charts are, and how exact their numbers.

use std::ops::RangeInclusive;

/// Buckets of RTT and window, shared out among the flows of a recording …
const SAMPLE_BUCKETS: u64 = 6000;
const SAMPLE_BUCKETS_PER_FLOW: RangeInclusive<u64> = 150..=2500;
/// Buckets in which the longest phase is found, shared out in the same way.
const PHASE_BUCKETS: u64 = 12_000;
const PHASE_BUCKETS_PER_FLOW: RangeInclusive<u64> = 750..=6000;
/// … of which a page may hold so many before they get fewer each, so that the page stays small.
const FULL_RECORDINGS: u64 = 4;
/// Buckets in which losses and timeouts are one mark.
const EVENT_BUCKETS: u64 = 400;
/// Throughput has at most this many buckets …
const RATE_BUCKETS: u64 = 600;
/// … of one of these widths; longer recordings get multiples of the last.
const RATE_WIDTHS_US: [u64; 4] = [100_000, 200_000, 500_000, 1_000_000];

/// Widths of the buckets.
pub(super) struct Widths {
    pub(super) sample_us: u64,
    pub(super) rate_us: u64,
    pub(super) phase_us: u64,
    pub(super) event_us: u64,
    pub(super) place_us: u64,
}

impl Widths {
    pub(super) fn new(span_us: u64, flows: u64, recordings: u64) -> Widths {
        let share = |buckets: u64, per_flow: RangeInclusive<u64>| {
            let of_recording = buckets * FULL_RECORDINGS / recordings.max(FULL_RECORDINGS);
            (of_recording / flows.max(1)).clamp(*per_flow.start(), *per_flow.end())
        };
        let fits = |width: &&u64| span_us.div_ceil(**width) <= RATE_BUCKETS;
        // Each has four numbers, where the others have two.
        let sample_us = span_us.div_ceil(share(SAMPLE_BUCKETS, SAMPLE_BUCKETS_PER_FLOW)).max(1000);
        let widest = RATE_WIDTHS_US[RATE_WIDTHS_US.len() - 1];
        let rate_us = RATE_WIDTHS_US.iter().find(fits).copied();
        Widths {
            sample_us,
            place_us: 2 * sample_us,
            rate_us: rate_us.unwrap_or_else(|| span_us.div_ceil(RATE_BUCKETS).next_multiple_of(widest)),
            phase_us: span_us.div_ceil(share(PHASE_BUCKETS, PHASE_BUCKETS_PER_FLOW)).max(1000),
            event_us: span_us.div_ceil(EVENT_BUCKETS).max(1000),
        }
    }
}

/// Three decimals are below a pixel and halve the size of the page.
pub(super) fn round(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}
