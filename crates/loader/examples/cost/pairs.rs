//! Two algorithms in alternation: ratios of neighbours, so that drifts of the host meet both.

use crate::Result;
use crate::options::Options;
use crate::transfer::{Transfer, bulk};

/// Ratios of one algorithm to another, one per pair.
pub struct Comparison {
    /// Bytes per second.
    pub throughput: Spread,
    /// CPU time per byte.
    pub cpu: Spread,
}

/// A median and where the values lie.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    pub median: f64,
    /// 95 % confidence interval of the median, by order statistics.
    pub ci95: (f64, f64),
    /// First and third quartile.
    pub quartiles: (f64, f64),
}

/// Measures `name` beside `other`; every second pair begins with the other one.
pub fn compare(name: &str, other: &str, options: &Options) -> Result<Comparison> {
    let (mut throughput, mut cpu) = (Vec::new(), Vec::new());
    // The first connection of a process warms caches and the CPU's clock.
    bulk(other, options.duration)?;
    for pair in 0..options.pairs {
        let (one, two) = if pair % 2 == 0 {
            let one = bulk(name, options.duration)?;
            (one, bulk(other, options.duration)?)
        } else {
            let two = bulk(other, options.duration)?;
            (bulk(name, options.duration)?, two)
        };
        throughput.push(ratio(&one, &two, Transfer::bytes_per_s));
        cpu.push(ratio(&one, &two, Transfer::cpu_s_per_byte));
    }
    Ok(Comparison { throughput: Spread::of(throughput), cpu: Spread::of(cpu) })
}

fn ratio(one: &Transfer, other: &Transfer, value: fn(&Transfer) -> f64) -> f64 {
    value(one) / value(other)
}

impl Spread {
    fn of(mut values: Vec<f64>) -> Spread {
        values.sort_by(f64::total_cmp);
        let n = values.len();
        let at = |share: f64| {
            let place = share * (n - 1) as f64;
            let (low, high) = (place.floor() as usize, place.ceil() as usize);
            values[low] + (values[high] - values[low]) * (place - low as f64)
        };
        // Normal approximation of the binomial ranks.
        let half = 1.96 * (n as f64).sqrt() / 2.0;
        let low = (n as f64 / 2.0 - half).floor().max(0.0) as usize;
        let high = ((n as f64 / 2.0 + half).ceil() as usize).min(n - 1);
        Spread { median: at(0.5), ci95: (values[low], values[high]), quartiles: (at(0.25), at(0.75)) }
    }
}
