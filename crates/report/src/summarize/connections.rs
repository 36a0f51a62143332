//! Connections from their opening to their end: completion times, durations, RTTs that the kernel counted.

use polars::prelude::*;

use super::cells::lines;
use super::pools::{self, Pools};
use super::quantiles::{self, GROUP, MEAN, SAMPLES, TIMES, VALUE, percentile};
use super::stretches::with;
use crate::summary::{Connections, Distribution};
use crate::tables::{Tables, columns as c};

/// Steps of [`quantiles`]: 0.5 %.
const QUANTILES: u32 = 200;
/// Percentiles of a [`Distribution`].
const PERCENTS: [f64; 6] = [0.0, 50.0, 90.0, 95.0, 99.0, 100.0];

/// The connections of an algorithm.
#[derive(Clone, Default)]
pub struct Of {
    /// Their figures.
    pub connections: Connections,
    /// Quantiles of their completion times.
    pub completion_quantiles_us: Vec<u64>,
}

/// The connections of each algorithm of `kernel_names`: those that ended with it.
pub fn of_algorithms(tables: &Tables, pools: Option<&Pools>, kernel_names: &DataFrame) -> PolarsResult<Vec<Of>> {
    let groups = kernel_names.height();
    let grouped = |of: &DataFrame| {
        let of = with(of.clone().lazy(), kernel_names.clone().lazy(), c::ALGORITHM);
        of.filter(col(GROUP).is_not_null())
    };
    let by_last = kernel_names.clone().lazy().rename([c::ALGORITHM], [c::LAST_ALGORITHM], true);
    let flows = with(tables.flows.clone().lazy().filter(col(c::IS_FIRST)), by_last, c::LAST_ALGORITHM)
        .filter(col(GROUP).is_not_null());
    let mut all = vec![Of::default(); groups];
    let counts = [c::OPENED, c::CLOSED].map(|of| col(of).cast(DataType::UInt64).sum());
    let mut counted = flows.clone().group_by([col(GROUP)]).agg(counts.clone());
    if let Some(pools) = pools {
        let pooled = grouped(&pools.connections).select([
            col(GROUP),
            col(pools::OPENED).alias(c::OPENED),
            col(pools::CLOSED).alias(c::CLOSED),
        ]);
        counted = concat([counted, pooled], UnionArgs::default())?.group_by([col(GROUP)]).agg(counts);
    }
    let times = |of: &str| {
        let of_flows = times(&flows, of);
        let Some(pools) = pools else { return Ok(of_flows) };
        let pooled = grouped(&pools.closings).filter(col(pools::CLOSING).eq(lit(of)));
        concat([of_flows, pooled.select([GROUP, VALUE, TIMES].map(col))], UnionArgs::default())
    };
    for line in lines(&counted.collect()?) {
        let of = &mut all[line.count(GROUP) as usize].connections;
        (of.opened, of.closed) = (line.count(c::OPENED), line.count(c::CLOSED));
    }
    let fields: [fn(&mut Connections) -> &mut Option<Distribution>; 4] =
        [|c| &mut c.duration, |c| &mut c.completion, |c| &mut c.rtt_mean, |c| &mut c.rtt_min];
    for (of, field) in c::CLOSING.into_iter().zip(fields) {
        for line in lines(&quantiles::of(times(of)?, &PERCENTS).collect()?) {
            let [min_us, p50_us, p90_us, p95_us, p99_us, max_us] = PERCENTS.map(|p| line.count(&percentile(p)));
            let (n, mean_us) = (line.count(SAMPLES), line.real(MEAN).unwrap_or(0.0));
            let distribution = Distribution { n, mean_us, min_us, p50_us, p90_us, p95_us, p99_us, max_us };
            *field(&mut all[line.count(GROUP) as usize].connections) = Some(distribution);
        }
    }
    let [_, completion, ..] = c::CLOSING;
    for (of, quantiles_us) in all.iter_mut().zip(quantiles(times(completion)?, groups)?) {
        of.completion_quantiles_us = quantiles_us;
    }
    Ok(all)
}

/// The known values of a column.
fn times(flows: &LazyFrame, of: &str) -> LazyFrame {
    let known = flows.clone().filter(col(of).is_not_null());
    known.select([col(GROUP), col(of).alias(VALUE), lit(Scalar::from(1u64)).alias(TIMES)])
}

/// Quantiles at 0, 0.5, 1 … 100 % of each group; empty without values.
pub fn quantiles(counted: LazyFrame, groups: usize) -> PolarsResult<Vec<Vec<u64>>> {
    let percents: Vec<f64> = (0..=QUANTILES).map(|i| f64::from(i) * 100.0 / f64::from(QUANTILES)).collect();
    let mut all = vec![Vec::new(); groups];
    for line in lines(&quantiles::of(counted, &percents).collect()?) {
        all[line.count(GROUP) as usize] = percents.iter().map(|&percent| line.count(&percentile(percent))).collect();
    }
    Ok(all)
}
