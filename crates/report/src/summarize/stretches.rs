//! The flows under their algorithms, in the two ways in which figures are made of them: by flow and by algorithm.

use polars::prelude::*;

use super::pools::Pools;
use super::quantiles::{self, GROUP, MEAN, SAMPLES, VALUE};
use crate::tables::{Tables, columns as c};
use ccactl_recording::read::Metadata;

/// Round-trip time of the flow's empty path, where the recording knows one.
const BASE_RTT_US: &str = "base_rtt_us";
/// Which way the flow passes the bottleneck.
pub const WAY: &str = "way";
/// From the stretch's first row to its last progress.
pub const SENDING_US: &str = "sending_us";
/// How long the flow was open with this algorithm.
pub const OPEN_US: &str = "open_us";
/// RTT above that of the empty path, summed up over the samples.
pub const EXCESS_US: &str = "excess_us";
/// Number of these samples.
pub const EXCESS_SAMPLES: &str = "excess_samples";
/// Whether the inner state of this line counts for the group.
pub const DESCRIBES: &str = "describes";

/// The stretches with the number of their group, in the order of the groups.
pub struct Grouped {
    /// As [`Tables::flows`], and the columns of this file.
    pub stretches: LazyFrame,
    /// How the rates of its stretches make that of a group.
    pub rates: Rates,
    /// Whether the groups are the stretches, by their numbers.
    pub is_each_alone: bool,
    /// What belongs to the groups beside the stretches.
    pub pooled: Option<Pooled>,
}

/// What pools have, with the number of the group.
pub struct Pooled {
    /// As [`super::sums::added`] makes them.
    pub lines: LazyFrame,
    /// As [`quantiles::of`] takes them.
    pub rtts: LazyFrame,
    /// Time and visits by phase.
    pub phases: LazyFrame,
}

/// How rates are put together.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Rates {
    /// All bytes, over the time from its first stretch to its last.
    OfOneFlow,
    /// The mean of what the stretches have.
    MeanOfFlows,
}

/// What the metadata say of the flows of a cgroup; whoever comes first counts.
pub fn cgroups(metadata: &Metadata) -> PolarsResult<DataFrame> {
    let mut seen = std::collections::BTreeSet::new();
    let first: Vec<_> = metadata.flows.iter().flatten().filter(|flow| seen.insert(flow.cgroup_id)).collect();
    df!(
        c::CGROUP_ID => first.iter().map(|flow| flow.cgroup_id).collect::<Vec<u64>>(),
        BASE_RTT_US => first.iter().map(|flow| flow.base_rtt_us).collect::<Vec<Option<f64>>>(),
        WAY => first.iter().map(|flow| flow.way.clone()).collect::<Vec<Option<String>>>(),
    )
}

/// Joins what `other` knows about each line by a column.
pub fn with(frame: LazyFrame, other: LazyFrame, by: &str) -> LazyFrame {
    let args = JoinArgs { maintain_order: MaintainOrderJoin::Left, ..JoinArgs::new(JoinType::Left) };
    frame.join(other, [col(by)], [col(by)], args)
}

/// The stretches with what is figured out of each by itself. It is the same for flows and algorithms, and takes a while.
pub fn stretches(tables: &Tables, metadata: &Metadata) -> PolarsResult<DataFrame> {
    let of_link = metadata.link.as_ref().and_then(|link| link.base_rtt_us);
    let of_flow = |value: Expr| value.over([col(c::FLOW)]);
    let active_us = of_flow(col(c::PROGRESS_US).max())? - of_flow(col(c::FIRST_US).min())?;
    // A flow that kept its algorithm ran it all the time; else the steps say for how long. What came before its first row
    // belongs to the first algorithm, and what comes after its last row to the last one.
    let kept = of_flow(len())?.eq(lit(1));
    let [open_from_us, open_to_us] = [c::OPEN_FROM_US, c::OPEN_TO_US].map(|of| col(of).cast(DataType::Int64));
    let whole_us = open_to_us - open_from_us.clone();
    let before_us = of_flow(col(c::FIRST_US).min())?.cast(DataType::Int64) - open_from_us;
    let steps_us = of_flow(col(c::TIME_US).sum())?.cast(DataType::Int64);
    let after_us = whole_us.clone() - before_us.clone() - steps_us;
    let only = |is: Expr, us: Expr| when(is.and(us.clone().gt(lit(0)))).then(us).otherwise(lit(0i64));
    let open_us = col(c::TIME_US).cast(DataType::Int64)
        + only(col(c::IS_FIRST), before_us)
        + only(col(c::ALGORITHM).eq(col(c::LAST_ALGORITHM)), after_us);
    let rtts = rtts(tables).with_column(col(c::STRETCH).alias(GROUP));
    // The tables have each RTT of a stretch once, ascending.
    let rtts = quantiles::of_distinct(rtts, &[0.0]).rename([GROUP], [c::STRETCH], true);
    let least = col(quantiles::percentile(0.0)).cast(DataType::Float64);
    // Each flow against its own base; without one against its smallest sample.
    let base = coalesce(&[col(BASE_RTT_US), of_link.map_or(lit(NULL).cast(DataType::Float64), lit), least]);
    let frame = with(tables.flows.clone().lazy(), cgroups(metadata)?.lazy(), c::CGROUP_ID);
    let frame = with(frame, rtts, c::STRETCH).with_columns([
        when(kept.clone()).then(active_us).otherwise(col(c::TIME_US)).alias(SENDING_US),
        when(kept).then(whole_us).otherwise(open_us).alias(OPEN_US),
        ((col(MEAN) - base) * col(SAMPLES).cast(DataType::Float64)).alias(EXCESS_US),
        col(SAMPLES).alias(EXCESS_SAMPLES),
    ]);
    frame.collect()
}

/// The RTT samples as [`quantiles`] takes them.
pub fn rtts(tables: &Tables) -> LazyFrame {
    tables.rtts.clone().lazy().rename([c::RTT_US, c::TIMES], [VALUE, quantiles::TIMES], true)
}

/// Each flow with all its algorithms. Its inner state is that of the first one, whose names it has.
pub fn by_flow(stretches: &DataFrame) -> Grouped {
    // A flow has one first stretch, and the stretches are in the order of the flows.
    let is_each_alone = stretches.column(c::IS_FIRST).is_ok_and(|is_first| {
        is_first.as_materialized_series().bool().is_ok_and(|is_first| is_first.sum() == Some(stretches.height() as u32))
    });
    let stretches =
        stretches.clone().lazy().with_columns([col(c::FLOW).alias(GROUP), col(c::IS_FIRST).alias(DESCRIBES)]);
    Grouped { stretches, rates: Rates::OfOneFlow, is_each_alone, pooled: None }
}

/// The algorithms in the order in which they appear, those of pools behind, and each with all its flows.
pub fn by_algorithm(stretches: &DataFrame, pools: Option<&Pools>) -> PolarsResult<(DataFrame, Grouped)> {
    let mut kernel_names = stretches.select([c::ALGORITHM])?;
    if let Some(pools) = pools {
        kernel_names.vstack_mut(&pools.lines.select([c::ALGORITHM])?)?;
    }
    let kernel_names = kernel_names.unique_stable(None, UniqueKeepStrategy::First, None)?;
    let kernel_names = kernel_names.with_row_index(GROUP.into(), None)?;
    let stretches = with(stretches.clone().lazy(), kernel_names.clone().lazy(), c::ALGORITHM)
        .with_column(lit(true).alias(DESCRIBES));
    let grouped = |of: &DataFrame| with(of.clone().lazy(), kernel_names.clone().lazy(), c::ALGORITHM);
    let without_key = |of: &DataFrame, keys: &[&str]| grouped(of).drop(cols(keys.iter().copied()));
    let pooled = pools.map(|pools| Pooled {
        lines: without_key(&pools.lines, &[c::ALGORITHM, c::CGROUP_ID, c::IPV6]),
        rtts: grouped(&pools.rtts).select([
            col(GROUP),
            col(c::RTT_US).alias(VALUE),
            col(c::TIMES).alias(quantiles::TIMES),
        ]),
        phases: without_key(&pools.phases, &[c::ALGORITHM]),
    });
    Ok((kernel_names, Grouped { stretches, rates: Rates::MeanOfFlows, is_each_alone: false, pooled }))
}
