//! Rows joined with the previous row of their flow.
//!
//! A *step* is what happened to one flow between two of its rows. Counters are cumulative, so a step carries their
//! increase (`d_…`); state such as the window or the phase held from the previous row to this one (`prev_…`), for
//! `dt_us`. The first row of a flow is a step without a previous row: its increases are null.

use polars::prelude::*;

use crate::Error;
use crate::measure::inner;
use crate::recording::Recording;

/// Cumulative columns whose increase becomes `d_NAME`.
const COUNTERS: [&str; 8] = [
    "bytes_acked",
    "bytes_sent",
    "bytes_retrans",
    "retrans_pkts",
    "lost_pkts",
    "delivered_pkts",
    "delivered_ce_pkts",
    "rto_count",
];

/// The key of a flow.
pub fn flow() -> Vec<Expr> {
    vec![col("netns"), col("flow_id")]
}

/// Calls `each` with the steps of every batch, in order. Answers whether the end of the file is missing.
pub fn for_each_batch(
    recording: &Recording,
    (from_us, to_us): (u64, u64),
    mut each: impl FnMut(&DataFrame) -> PolarsResult<()>,
) -> Result<bool, Error> {
    let mut joiner = Joiner::default();
    for batch in recording.rows(from_us, to_us) {
        joiner.push(batch?).and_then(|steps| each(&steps)).map_err(Error::rows(recording.path()))?;
    }
    Ok(recording.truncated())
}

/// Keeps the last row of every flow, so that a flow's first row in a batch finds its previous one.
#[derive(Default)]
struct Joiner {
    last_rows: Option<DataFrame>,
}

impl Joiner {
    fn push(&mut self, batch: DataFrame) -> PolarsResult<DataFrame> {
        let fresh = batch.lazy().with_column(lit(true).alias("fresh"));
        let rows = match self.last_rows.take() {
            Some(last_rows) => concat([last_rows.lazy(), fresh], UnionArgs::default())?,
            None => fresh,
        }
        .collect()?;
        let others: Vec<Expr> = rows
            .get_column_names()
            .into_iter()
            .filter(|name| !matches!(name.as_str(), "netns" | "flow_id" | "fresh"))
            .map(|name| col(name.clone()).last())
            .collect();
        let order: Vec<Expr> = rows.get_column_names().into_iter().map(|name| col(name.clone())).collect();
        let last_rows = rows
            .clone()
            .lazy()
            .group_by_stable(flow())
            .agg(others)
            .with_column(lit(false).alias("fresh"))
            .select(order);
        self.last_rows = Some(last_rows.collect()?);
        rows.lazy().with_columns(previous()?).with_columns(increases()).filter(col("fresh")).collect()
    }
}

fn previous() -> PolarsResult<Vec<Expr>> {
    let states = ["t_us", "algorithm", "trace_mode", "cwnd_pkts"];
    states
        .iter()
        .chain(&inner::COLUMNS)
        .chain(&COUNTERS)
        .map(|name| Ok(col(*name).shift(lit(1)).over(flow())?.alias(format!("prev_{name}"))))
        .collect()
}

fn increases() -> Vec<Expr> {
    let since = |name: &str| col(name) - col(format!("prev_{name}"));
    let mut columns: Vec<Expr> = COUNTERS
        .iter()
        .map(|name| {
            // A counter that went down was reset (the socket was connected anew): it has counted from zero since.
            let restarted = col(*name).lt(col(format!("prev_{name}")));
            when(restarted).then(col(*name)).otherwise(since(name)).alias(format!("d_{name}"))
        })
        .collect();
    columns.push(since("t_us").clip_min(lit(0)).alias("dt_us"));
    // What was set before the first data (the host's default, say) sent nothing and so ran nothing.
    let running = when(col("prev_bytes_sent").gt(lit(0))).then(col("prev_algorithm")).otherwise(col("algorithm"));
    columns.push(running.alias("running"));
    columns
}
