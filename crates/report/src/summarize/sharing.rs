//! What the flows did together: how full the link was and how evenly they shared it.

use polars::prelude::*;

use super::cells::lines;
use super::convergence;
use super::measures::grown;
use super::pools::Pools;
use super::stretches::{self, WAY, with};
use crate::scale::{BITS_PER_BYTE, US_PER_S};
use crate::stats::jain_of_sums;
use crate::summary::{Fairness, FlowSummary, JainPoint, LinkSummary};
use crate::tables::{Tables, columns as c};
use crate::walk::Counter;
use ccactl_recording::read::Metadata;

/// IP and TCP headers, and the timestamps that Linux sends by default: 20 + 20 + 12.
const HEADER_BYTES_IPV4: f64 = 52.0;
/// 40 + 20 + 12.
const HEADER_BYTES_IPV6: f64 = 72.0;

/// [`FlowInfo::way`](ccactl_recording::read::FlowInfo::way) of a flow that does not pass the bottleneck.
const BESIDE: &str = "beside";
/// The same of an MPTCP flow that passes it on some of its paths.
const PARTLY: &str = "partly";

const WIRE_BYTES: &str = "wire_bytes";
/// First interval in which the flow was active from edge to edge …
const FROM: &str = "from_interval";
/// … and the first one in which it was not any more.
const TO: &str = "to_interval";
/// Number of flows.
pub const FLOWS: &str = "flows";
/// Sum of their bytes …
pub const SUM: &str = "sum";
/// … and of the squares.
pub const SQUARES: &str = "squares";

/// The bottleneck, when the recording knows it.
pub fn link_summary(
    tables: &Tables,
    pools: Option<&Pools>,
    metadata: &Metadata,
    run_us: u64,
) -> PolarsResult<Option<LinkSummary>> {
    let Some(link) = metadata.link.as_ref().filter(|link| link.rate_bps > 0.0) else { return Ok(None) };
    let wire_bytes = wire_bytes(tables, pools, metadata, link.overhead_bytes)?;
    // What of such a flow passed the bottleneck is not known.
    let partly = metadata.flows.iter().flatten().any(|flow| flow.way.as_deref() == Some(PARTLY));
    let mean_rate_bps = link.mean_rate_bps.unwrap_or(link.rate_bps);
    let bdp_bytes = link.base_rtt_us.map(|rtt_us| link.rate_bps * rtt_us / US_PER_S / BITS_PER_BYTE);
    Ok(Some(LinkSummary {
        rate_bps: link.rate_bps,
        base_rtt_us: link.base_rtt_us,
        buffer_bytes: link.buffer_bytes,
        buffer_bdp: link.buffer_bytes.zip(bdp_bytes.filter(|&bdp| bdp > 0.0)).map(|(buffer, bdp)| buffer / bdp),
        utilisation: (run_us > 0 && !partly)
            .then(|| wire_bytes * BITS_PER_BYTE * US_PER_S / (mean_rate_bps * run_us as f64)),
    }))
}

/// What passed the bottleneck. Each way has a transmitter of its own: the busier one is the bottleneck.
fn wire_bytes(tables: &Tables, pools: Option<&Pools>, metadata: &Metadata, overhead_bytes: f64) -> PolarsResult<f64> {
    let header = when(col(c::IPV6)).then(lit(HEADER_BYTES_IPV6)).otherwise(lit(HEADER_BYTES_IPV4));
    let sum = |counter| grown(counter).sum().cast(DataType::Float64);
    let of_flow = sum(Counter::BytesAcked) + sum(Counter::DeliveredPkts) * (lit(overhead_bytes) + header.first());
    let cgroups = stretches::cgroups(metadata)?;
    let by = |lines: &DataFrame, keys: &[&str]| {
        let keys: Vec<Expr> = keys.iter().map(|key| col(*key)).collect();
        with(lines.clone().lazy(), cgroups.clone().lazy(), c::CGROUP_ID)
            .filter(col(WAY).eq_missing(lit(BESIDE)).not())
            .group_by_stable(keys)
            .agg([of_flow.clone().alias(WIRE_BYTES), col(WAY).first()])
            .select([col(WAY), col(WIRE_BYTES)])
    };
    let mut flows = by(&tables.flows, &[c::FLOW]);
    if let Some(pools) = pools {
        flows = concat([flows, by(&pools.lines, &[c::CGROUP_ID, c::IPV6])], UnionArgs::default())?;
    }
    let busiest = flows.group_by([col(WAY)]).agg([col(WIRE_BYTES).sum()]).select([col(WIRE_BYTES).max()]).collect()?;
    Ok(lines(&busiest).next().and_then(|line| line.real(WIRE_BYTES)).unwrap_or(0.0))
}

/// Jain's index of the run and of its intervals; `None` for a single flow.
pub fn fairness(
    tables: &Tables,
    pools: Option<&Pools>,
    flows: &[FlowSummary],
    interval_us: u64,
) -> PolarsResult<Option<Fairness>> {
    let count = flows.len() as u64 + pools.map_or(0, Pools::flows);
    if count < 2 {
        return Ok(None);
    }
    let acked = || flows.iter().map(|flow| flow.measures.acked_bytes as f64);
    let series = jain_series(tables, pools, interval_us)?;
    let sum = acked().sum::<f64>() + pools.map_or(0.0, Pools::bytes);
    let squares = acked().map(|bytes| bytes * bytes).sum::<f64>() + pools.map_or(0.0, Pools::squares);
    let starts_s = flows.iter().map(|flow| flow.start_s);
    let last_start_s =
        starts_s.chain(pools.map(|pools| pools.last_start_us() as f64 / US_PER_S)).max_by(f64::total_cmp);
    let known: Vec<f64> = series.iter().filter_map(|point| point.jain).collect();
    Ok(Some(Fairness {
        jain: jain_of_sums(count, sum, squares),
        jain_interval_mean: (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64),
        intervals: known.len() as u64,
        interval_s: interval_us as f64 / US_PER_S,
        convergence: last_start_s.and_then(|start_s| convergence::find(count, start_s, &series, interval_us)),
        series,
    }))
}

/// From which interval on each flow was active from edge to edge, and until which; without those that never were.
pub fn active(tables: &Tables, interval_us: u64) -> PolarsResult<DataFrame> {
    let width = || lit(interval_us);
    let flows = tables.flows.clone().lazy().group_by_stable([col(c::FLOW)]).agg([
        ((col(c::FIRST_US).min() + lit(interval_us - 1)) / width()).alias(FROM),
        (col(c::PROGRESS_US).max() / width()).alias(TO),
    ]);
    flows.filter(col(FROM).lt(col(TO))).collect()
}

/// What the flows that were active in an interval got in it, and the squares of that.
pub fn shares(tables: &Tables, active: &DataFrame) -> LazyFrame {
    let acked = || col(c::ACKED_BYTES).cast(DataType::Float64);
    with(tables.intervals.clone().lazy(), active.clone().lazy(), c::FLOW)
        .filter(col(c::INTERVAL).gt_eq(col(FROM)).and(col(c::INTERVAL).lt(col(TO))))
        .group_by([col(c::INTERVAL)])
        .agg([acked().sum().alias(SUM), (acked() * acked()).sum().alias(SQUARES)])
}

/// How many flows become active with an interval, less those that cease to be.
pub fn edges(active: &DataFrame) -> PolarsResult<LazyFrame> {
    let edge = |at: &str, change: i64| {
        active.clone().lazy().select([col(at).alias(c::INTERVAL), lit(Scalar::from(change)).alias(FLOWS)])
    };
    let edges = concat([edge(FROM, 1), edge(TO, -1)], UnionArgs::default())?;
    Ok(edges.group_by([col(c::INTERVAL)]).agg([col(FLOWS).sum()]))
}

/// Jain's index of each interval in which at least two flows were active from edge to edge.
fn jain_series(tables: &Tables, pools: Option<&Pools>, interval_us: u64) -> PolarsResult<Vec<JainPoint>> {
    let active = active(tables, interval_us)?;
    let [mut shares, mut changes] = [shares(tables, &active), edges(&active)?];
    if let Some(pools) = pools {
        let added = |of: LazyFrame, pooled: &DataFrame, columns: &[&str]| -> PolarsResult<LazyFrame> {
            let names = || [&[c::INTERVAL], columns].concat().into_iter().map(col).collect::<Vec<_>>();
            let all = concat([of.select(names()), pooled.clone().lazy().select(names())], UnionArgs::default())?;
            let sums: Vec<Expr> = columns.iter().map(|column| col(*column).sum()).collect();
            Ok(all.group_by([col(c::INTERVAL)]).agg(sums))
        };
        shares = added(shares, &pools.shares, &[SUM, SQUARES])?;
        changes = added(changes, &pools.edges, &[FLOWS])?;
    }
    // How many are active is how many have begun and not ended.
    let changes = changes.collect()?;
    let numbers =
        changes.column(c::INTERVAL)?.u64()?.min().unwrap_or(0)..changes.column(c::INTERVAL)?.u64()?.max().unwrap_or(0);
    let intervals = df!(c::INTERVAL => numbers.collect::<Vec<u64>>())?.lazy();
    let series = with(with(intervals, changes.lazy(), c::INTERVAL), shares, c::INTERVAL)
        .with_columns([
            col(FLOWS).fill_null(lit(0)).cum_sum(false),
            col(SUM).fill_null(lit(0.0)),
            col(SQUARES).fill_null(lit(0.0)),
        ])
        .filter(col(FLOWS).gt_eq(lit(2)))
        .collect()?;
    let point = |line: super::cells::Line<'_>| {
        let [sum, squares] = [SUM, SQUARES].map(|of| line.real(of).unwrap_or(0.0));
        let flows = line.count(FLOWS);
        let start_s = (line.count(c::INTERVAL) * interval_us) as f64 / US_PER_S;
        JainPoint { start_s, flows, jain: jain_of_sums(flows, sum, squares) }
    };
    Ok(lines(&series).map(point).collect())
}
