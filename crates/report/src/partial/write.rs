//! From a segment to the tables of a summary file.

use polars::prelude::*;

use super::columns as p;
use super::frames;
use super::lists;
use super::segment::{Segment, SegmentFlow};
use crate::measure::{inner, offers};
use crate::summarize::pools;
use crate::tables::columns::{self as c, inner as inner_names};
use crate::tables::{Flow, Folded, Tables, column, wide_columns};
use crate::walk::{COUNTERS, Columns, Name, Names, Row, Run};
use ccactl_recording::Column as Recorded;

/// The tables of a segment, in the order of [`TABLES`](super::columns::TABLES), and behind them those of its pools.
pub fn tables(segment: Segment, names: &Names) -> PolarsResult<Vec<(&'static str, DataFrame)>> {
    let heads = frames::in_one_piece(segment.heads);
    let mut known = names.clone();
    let columns = Columns::of(&heads, &mut known)?;
    let head_table = head_table(&segment.flows, &heads, names)?;
    let edge_table = edge_table(&segment.flows, names)?;
    let flow = |(row, flow): (usize, SegmentFlow)| {
        let endpoints = Run::of_row(&columns, row, (row, flow.key), None).endpoints();
        Flow::of(flow.key, endpoints, flow.fold, flow.swaps)
    };
    let folded = Folded {
        truncated: segment.truncated,
        extent: segment.extent,
        all_flows: segment.flows.len(),
        flows: segment.flows.into_iter().enumerate().map(flow).collect(),
        receivers: Vec::new(),
        names: known,
        drop_spans: segment.drops.spans().to_vec(),
        pools: None,
    };
    let Tables { flows, rtts, phases, intervals, swaps, drops } = Tables::of_fold(&folded)?;
    let tables = [head_table, edge_table, flows, rtts, phases, intervals, swaps, drops];
    let pools = segment.pools.iter().flat_map(|pools| pools::TABLES.into_iter().zip(pools.tables()));
    let all = p::TABLES.into_iter().zip(tables).chain(pools.map(|(name, table)| (name, table.clone())));
    all.map(|(name, table)| Ok((name, lists::rolled(name, table)?))).collect()
}

/// A line per flow: its first row, and what is known of it as a whole.
fn head_table(flows: &[SegmentFlow], heads: &DataFrame, names: &Names) -> PolarsResult<DataFrame> {
    let lines: Vec<(u32, &SegmentFlow)> = (0..).zip(flows).collect();
    let text = |name: Name| names.text(name).to_owned();
    let mut columns: Vec<Column> =
        heads.columns().iter().map(|column| column.clone().with_name(p::of_row(column.name()).into())).collect();
    columns.push(column(c::FLOW, &lines, |(number, _)| *number));
    columns.push(column(p::BEGINS, &lines, |(_, flow)| flow.edges.begins));
    columns.push(column(c::OPENED, &lines, |(_, flow)| flow.fold.opened));
    columns.push(column(p::CLOSED_US, &lines, |(_, flow)| Some(flow.fold.closing?.t_us)));
    let [duration, completion, rtt_mean, rtt_min] = c::CLOSING;
    columns.extend([
        column(duration, &lines, |(_, flow)| flow.fold.closing?.duration_us),
        column(completion, &lines, |(_, flow)| flow.fold.closing?.completion_us),
        column(rtt_mean, &lines, |(_, flow)| flow.fold.closing?.rtt_mean_us),
        column(rtt_min, &lines, |(_, flow)| flow.fold.closing?.rtt_min_us),
    ]);
    for (i, [algorithm, mode]) in p::PHASES.into_iter().enumerate() {
        columns.push(column(algorithm, &lines, |(_, flow)| Some(text(flow.fold.phases?[i].0))));
        columns.push(column(mode, &lines, |(_, flow)| Some(text(flow.fold.phases?[i].1?))));
    }
    columns.push(column(p::OFFER_ROWS, &lines, |(_, flow)| flow.fold.offers.rows));
    for (i, [at_us, bytes]) in p::RECEIVED.into_iter().enumerate() {
        columns.push(column(at_us, &lines, |(_, flow)| Some(flow.fold.offers.received?[i].0)));
        columns.push(column(bytes, &lines, |(_, flow)| Some(flow.fold.offers.received?[i].1)));
    }
    for (i, of) in offers::COLUMNS.into_iter().enumerate() {
        let named = inner_names(of.name());
        columns.extend(wide_columns(&named.value_us, &lines, |(_, flow)| flow.fold.offers.held[i].value_us));
        columns.push(column(named.time_us, &lines, |(_, flow)| flow.fold.offers.held[i].time_us));
        columns.push(column(named.least, &lines, |(_, flow)| Some(flow.fold.offers.held[i].range?.0)));
        columns.push(column(named.most, &lines, |(_, flow)| Some(flow.fold.offers.held[i].range?.1)));
        for (end, [at_us, value]) in p::ends(of.name()).into_iter().enumerate() {
            columns.push(column(at_us, &lines, |(_, flow)| Some(flow.fold.offers.ends[i]?[end].0)));
            columns.push(column(value, &lines, |(_, flow)| Some(flow.fold.offers.ends[i]?[end].1)));
        }
    }
    DataFrame::new(flows.len(), columns)
}

/// A line per row at the ends of a flow.
fn edge_table(flows: &[SegmentFlow], names: &Names) -> PolarsResult<DataFrame> {
    let of = |(number, flow): (u32, &SegmentFlow)| {
        let ends = [(false, flow.edges.first.clone()), (true, flow.edges.last.clone())];
        ends.into_iter().flat_map(move |(is_last, rows)| rows.into_iter().map(move |row| (number, is_last, row)))
    };
    let lines: Vec<(u32, bool, Row)> = (0..).zip(flows).flat_map(of).collect();
    let text = |name: Name| names.text(name).to_owned();
    let named = |of: Recorded| p::of_row(of.name());
    let mut columns = vec![
        column(c::FLOW, &lines, |(number, ..)| *number),
        column(p::IS_LAST, &lines, |(_, is_last, _)| *is_last),
        column(named(Recorded::TUs), &lines, |(.., row)| row.t_us),
        column(named(Recorded::Algorithm), &lines, |(.., row)| text(row.algorithm)),
        column(named(Recorded::TraceMode), &lines, |(.., row)| row.mode.map(text)),
        column(named(Recorded::CwndPkts), &lines, |(.., row)| row.cwnd_pkts),
        column(named(Recorded::SsthreshPkts), &lines, |(.., row)| row.ssthresh_pkts),
        column(named(Recorded::RttUs), &lines, |(.., row)| row.rtt_us),
        column(named(Recorded::PacingRateBps), &lines, |(.., row)| row.pacing_rate_bps),
    ];
    for (i, of) in inner::COLUMNS.into_iter().enumerate() {
        columns.push(column(named(of), &lines, |(.., row)| row.inner[i]));
    }
    for (i, of) in COUNTERS.into_iter().enumerate() {
        columns.push(column(named(of), &lines, |(.., row)| row.counters()[i]));
    }
    DataFrame::new(lines.len(), columns)
}
