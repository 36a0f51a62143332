//! Connections from their opening to their end: completion times, durations, RTTs that the kernel counted.

use super::fold::Flow;
use crate::stats::Histogram;
use crate::summary::{Closed, Connections, Distribution};
use crate::walk::Closing;

/// Steps of [`quantiles`]: 0.5 %.
const QUANTILES: u32 = 200;

/// What the `close` row of one flow said.
pub fn closed(closing: Closing) -> Closed {
    let Closing { duration_us, completion_us, rtt_mean_us, rtt_min_us } = closing;
    Closed { duration_us, completion_us, rtt_mean_us, rtt_min_us }
}

/// What the `close` rows of some flows said.
#[derive(Default)]
pub struct Times {
    opened: u64,
    closed: u64,
    duration: Histogram,
    /// Flow completion times.
    pub completion: Histogram,
    rtt_mean: Histogram,
    rtt_min: Histogram,
}

impl Times {
    /// Of these flows.
    pub fn of<'a>(flows: impl Iterator<Item = &'a Flow>) -> Times {
        let mut times = Times::default();
        for flow in flows {
            times.opened += u64::from(flow.opened);
            let Some(closing) = flow.closing else { continue };
            times.closed += 1;
            for (histogram, value) in [
                (&mut times.duration, closing.duration_us),
                (&mut times.completion, closing.completion_us),
                (&mut times.rtt_mean, closing.rtt_mean_us),
                (&mut times.rtt_min, closing.rtt_min_us),
            ] {
                histogram.add(value.unwrap_or(0), u64::from(value.is_some()));
            }
        }
        times
    }

    /// Their distributions.
    pub fn summary(&self) -> Connections {
        Connections {
            opened: self.opened,
            closed: self.closed,
            completion: distribution(&self.completion),
            duration: distribution(&self.duration),
            rtt_mean: distribution(&self.rtt_mean),
            rtt_min: distribution(&self.rtt_min),
        }
    }
}

fn distribution(values: &Histogram) -> Option<Distribution> {
    let mean_us = values.mean()?;
    let [min_us, p50_us, p90_us, p95_us, p99_us, max_us] =
        values.percentiles(&[0.0, 50.0, 90.0, 95.0, 99.0, 100.0]).try_into().ok()?;
    Some(Distribution { n: values.total(), mean_us, min_us, p50_us, p90_us, p95_us, p99_us, max_us })
}

/// Quantiles at 0, 0.5, 1 … 100 %; empty without values.
pub fn quantiles(values: &Histogram) -> Vec<u64> {
    let percents: Vec<f64> = (0..=QUANTILES).map(|i| f64::from(i) * 100.0 / f64::from(QUANTILES)).collect();
    values.percentiles(&percents)
}
