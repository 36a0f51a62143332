//! Flows that have ended, added up: what a report needs of them, whatever their number.
//!
//! A pool is what flows of one algorithm and cgroup have in common. It cannot say anything of a single flow: neither its figures nor
//! its changes of algorithm, and no distribution over flows but those of connections. All figures per algorithm, of fairness and of
//! the link are as with the flows themselves; rates are summed up as numbers with a fraction, so their last digits may differ.

use polars::prelude::*;

use super::measures::{grown, real};
use super::quantiles::VALUE;
use super::sharing::{self, FLOWS, SQUARES, SUM};
use super::stretches::{self, DESCRIBES, with};
use super::sums;
use crate::tables::{Tables, columns as c};
use crate::walk::Counter;
use ccactl_recording::read::Metadata;

/// How many flows were opened …
pub const OPENED: &str = "opened_flows";
/// … and closed.
pub const CLOSED: &str = "closed_flows";
/// Latest start of a flow.
const LAST_START_US: &str = "last_start_us";
/// Which of [`c::CLOSING`] a value is of.
pub const CLOSING: &str = "closing";

/// Tables of which each adds up.
#[derive(Debug, Clone)]
pub struct Pools {
    /// By algorithm, cgroup and version of IP.
    pub lines: DataFrame,
    /// RTT samples by algorithm.
    pub rtts: DataFrame,
    /// Phases by algorithm.
    pub phases: DataFrame,
    /// Openings and ends by the algorithm with which the flows ended.
    pub connections: DataFrame,
    /// What the ends say, by that algorithm.
    pub closings: DataFrame,
    /// Sum and squares of the bytes of each interval.
    pub shares: DataFrame,
    /// How many flows become active, or cease to be, at the beginning of an interval.
    pub edges: DataFrame,
    /// One line: number of flows, sum and squares of their bytes, latest start.
    pub whole: DataFrame,
}

/// The names of the tables, in the order of [`Pools::tables`].
pub const TABLES: [&str; 8] = [
    "pool_lines",
    "pool_rtts",
    "pool_phases",
    "pool_connections",
    "pool_closings",
    "pool_shares",
    "pool_edges",
    "pool_whole",
];

/// The columns by which lines of each are one.
const KEYS: [&[&str]; 8] = [
    &[c::ALGORITHM, c::CGROUP_ID, c::IPV6],
    &[c::ALGORITHM, c::RTT_US],
    &[c::ALGORITHM, c::MODE],
    &[c::ALGORITHM],
    &[c::ALGORITHM, CLOSING, VALUE],
    &[c::INTERVAL],
    &[c::INTERVAL],
    &[],
];

impl Pools {
    /// Of all flows of these tables.
    pub fn of(tables: &Tables, metadata: &Metadata, interval_us: u64) -> PolarsResult<Pools> {
        let stretches = stretches::stretches(tables, metadata)?.lazy().with_column(lit(true).alias(DESCRIBES));
        let algorithms = stretches.clone().select([col(c::STRETCH), col(c::ALGORITHM)]);
        let by_algorithm = |of: &DataFrame| with(of.clone().lazy(), algorithms.clone(), c::STRETCH);
        let flows = tables.flows.clone().lazy();
        let firsts = flows.clone().filter(col(c::IS_FIRST));
        let last = col(c::LAST_ALGORITHM).alias(c::ALGORITHM);
        let count = |of: &str, to: &str| col(of).cast(DataType::UInt64).alias(to);
        let connections = firsts.clone().select([last.clone(), count(c::OPENED, OPENED), count(c::CLOSED, CLOSED)]);
        let closing = |of: &str| {
            let known = firsts.clone().filter(col(of).is_not_null());
            known.select([
                last.clone(),
                lit(of).alias(CLOSING),
                col(of).alias(VALUE),
                lit(Scalar::from(1u64)).alias(c::TIMES),
            ])
        };
        let closings = concat(c::CLOSING.map(closing), UnionArgs::default())?;
        let acked = || real(grown(Counter::BytesAcked).sum());
        let whole = flows
            .group_by_stable([col(c::FLOW)])
            .agg([acked().alias(SUM), (acked() * acked()).alias(SQUARES), col(c::FIRST_US).min().alias(LAST_START_US)])
            .select([lit(Scalar::from(1i64)).alias(FLOWS), col(SUM), col(SQUARES), col(LAST_START_US)]);
        let active = sharing::active(tables, interval_us)?;
        let tables = [
            sums::of_stretches(stretches),
            by_algorithm(&tables.rtts),
            by_algorithm(&tables.phases),
            connections,
            closings,
            sharing::shares(tables, &active),
            sharing::edges(&active)?,
            whole,
        ];
        Pools::added(tables)
    }

    /// Both together.
    pub fn and(&self, other: &Pools) -> PolarsResult<Pools> {
        let both = self.tables().into_iter().zip(other.tables());
        let both = both.map(|(one, other)| concat([one.clone().lazy(), other.clone().lazy()], UnionArgs::default()));
        let both: Vec<LazyFrame> = both.collect::<PolarsResult<_>>()?;
        Pools::added(both.try_into().unwrap_or_else(|_| unreachable!("as many as there were")))
    }

    /// From tables as [`Pools::tables`] gives them; `None` when they are empty.
    pub fn of_tables(tables: Vec<DataFrame>) -> Option<Pools> {
        let [lines, rtts, phases, connections, closings, shares, edges, whole] = tables.try_into().ok()?;
        let pools = Pools { lines, rtts, phases, connections, closings, shares, edges, whole };
        (pools.whole.height() > 0).then_some(pools)
    }

    /// All of them, in the order of [`TABLES`].
    pub fn tables(&self) -> [&DataFrame; 8] {
        let Pools { lines, rtts, phases, connections, closings, shares, edges, whole } = self;
        [lines, rtts, phases, connections, closings, shares, edges, whole]
    }

    /// How many flows are in the pools.
    pub fn flows(&self) -> u64 {
        self.number(FLOWS) as u64
    }

    /// Sum of the bytes of all flows.
    pub fn bytes(&self) -> f64 {
        self.number(SUM)
    }

    /// Sum of their squares.
    pub fn squares(&self) -> f64 {
        self.number(SQUARES)
    }

    /// When the last of them began.
    pub fn last_start_us(&self) -> u64 {
        self.number(LAST_START_US) as u64
    }

    fn number(&self, of: &str) -> f64 {
        let column = self.whole.column(of).and_then(|column| column.get(0).map(|value| value.extract::<f64>()));
        column.ok().flatten().unwrap_or(0.0)
    }

    fn added(tables: [LazyFrame; 8]) -> PolarsResult<Pools> {
        let sum = |of: &str| col(of).sum();
        let columns: [Vec<Expr>; 8] = [
            sums::added(),
            vec![sum(c::TIMES)],
            vec![sum(c::TIME_US), sum(c::VISITS)],
            vec![sum(OPENED), sum(CLOSED)],
            vec![sum(c::TIMES)],
            vec![sum(SUM), sum(SQUARES)],
            vec![sum(FLOWS)],
            vec![sum(FLOWS), sum(SUM), sum(SQUARES), col(LAST_START_US).max()],
        ];
        let added = tables.into_iter().zip(KEYS).zip(columns).map(|((table, keys), columns)| match keys {
            [] => table.select(columns).collect(),
            keys => {
                let keys: Vec<Expr> = keys.iter().map(|key| col(*key)).collect();
                table.group_by_stable(keys).agg(columns).collect()
            }
        });
        let added = added.collect::<PolarsResult<Vec<_>>>()?;
        let [lines, rtts, phases, connections, closings, shares, edges, whole] =
            added.try_into().unwrap_or_else(|_| unreachable!("as many as there were"));
        Ok(Pools { lines, rtts, phases, connections, closings, shares, edges, whole })
    }
}
