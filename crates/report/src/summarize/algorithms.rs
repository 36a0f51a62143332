//! One summary per algorithm.

use polars::prelude::*;

use super::cells::lines;
use super::connections;
use super::measures;
use super::pools::Pools;
use super::quantiles::{GROUP, TIMES, VALUE};
use super::stretches::{self, rtts, with};
use crate::labels::Algorithms;
use crate::scale::{BITS_PER_BYTE, US_PER_S};
use crate::summary::AlgorithmSummary;
use crate::tables::{Tables, columns as c};
use ccactl_recording::read::Metadata;

/// One summary per algorithm, in the order in which they appear in the flows. The run lasted `run_us`.
pub fn summaries(
    tables: &Tables,
    (stretches, pools): (&DataFrame, Option<&Pools>),
    metadata: &Metadata,
    algorithms: &Algorithms,
    run_us: u64,
) -> PolarsResult<Vec<AlgorithmSummary>> {
    let (kernel_names, grouped) = stretches::by_algorithm(stretches, pools)?;
    let names: Vec<String> = lines(&kernel_names).map(|line| line.text(c::ALGORITHM)).collect();
    let groups = measures::groups(tables, metadata, &grouped, |i| names[i].clone())?;
    let of_group = grouped.stretches.select([col(c::STRETCH), col(GROUP)]);
    let rtts = with(rtts(tables), of_group, c::STRETCH).select([GROUP, VALUE, TIMES].map(col));
    let rtts = measures::below(rtts, grouped.pooled.map(|pooled| pooled.rtts))?;
    let rtts = connections::quantiles(rtts, names.len())?;
    let connections = connections::of_algorithms(tables, pools, &kernel_names)?;
    let all = names.into_iter().zip(groups).zip(rtts).zip(connections);
    let summary =
        |(((kernel_name, group), rtt_quantiles_us), of): (((String, measures::Group), Vec<u64>), connections::Of)| {
            let acked = group.measures.acked_bytes;
            AlgorithmSummary {
                algorithm: algorithms.name(&kernel_name),
                color: algorithms.color(&kernel_name),
                kernel_name,
                flows: group.stretches,
                total_goodput_bps: (run_us > 0).then(|| acked as f64 * BITS_PER_BYTE * US_PER_S / run_us as f64),
                connections: of.connections,
                rtt_quantiles_us,
                completion_quantiles_us: of.completion_quantiles_us,
                measures: group.measures,
            }
        };
    Ok(all.map(summary).collect())
}
