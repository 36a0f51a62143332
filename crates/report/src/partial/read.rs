//! From the tables of a summary file to segments.

use polars::prelude::*;

use super::columns as p;
use super::edges::Edges;
use super::frames;
use super::lists;
use super::segment::SegmentFlow;
use crate::measure::amounts::Amounts;
use crate::measure::changes::Change;
use crate::measure::drops::Span;
use crate::measure::inner::{self, Held};
use crate::measure::offers;
use crate::measure::swaps::{Side, State, Swap};
use crate::summarize::pools::{self, Pools};
use crate::tables::columns::{self as c, around, grown, inner as inner_names, wide};
use crate::tables::{FlowFold, Part, Phase};
use crate::walk::{Closing, Columns, Counter, Identity, Names};

/// The lines of a table.
pub struct Table(DataFrame);

/// What the tables of a segment say.
pub struct Read {
    pub flows: Vec<SegmentFlow>,
    pub heads: DataFrame,
    pub drops: Vec<Span>,
    pub pools: Option<Pools>,
}

/// Reads the tables of a segment, which are in the order of [`TABLES`](p::TABLES).
pub fn segment(tables: Vec<DataFrame>, names: &mut Names) -> PolarsResult<Read> {
    let named = tables.into_iter().zip(p::TABLES.into_iter().chain(pools::TABLES));
    let whole = |(table, name)| Ok(frames::in_one_piece(lists::unrolled(name, table)?));
    let mut tables: Vec<DataFrame> = named.map(whole).collect::<PolarsResult<_>>()?;
    let pools = Pools::of_tables(tables.split_off(p::TABLES.len()));
    let tables: Vec<Table> = tables.into_iter().map(Table).collect();
    let [head, edge, stretch, rtt, phase, interval, swap, drop] =
        tables.try_into().unwrap_or_else(|_| unreachable!("as many as there are names"));
    let (mut flows, heads) = of_heads(&head, names)?;
    add_edges(&edge, &mut flows, names)?;
    let stretches = add_stretches(&stretch, &mut flows, names)?;
    add_rtts(&rtt, &stretches, &mut flows)?;
    add_phases(&phase, &stretches, &mut flows, names)?;
    add_intervals(&interval, &mut flows)?;
    add_swaps(&swap, &mut flows, names)?;
    Ok(Read { flows, heads, drops: spans(&drop)?, pools })
}

impl Table {
    fn column(&self, name: &str, dtype: DataType) -> PolarsResult<Series> {
        self.0.column(name)?.as_materialized_series().cast(&dtype)
    }

    fn known(&self, name: &str) -> PolarsResult<Vec<Option<u64>>> {
        Ok(self.column(name, DataType::UInt64)?.u64()?.iter().collect())
    }

    fn numbers(&self, name: &str) -> PolarsResult<Vec<u64>> {
        Ok(self.column(name, DataType::UInt64)?.u64()?.iter().map(Option::unwrap_or_default).collect())
    }

    fn signed(&self, name: &str) -> PolarsResult<Vec<Option<i64>>> {
        Ok(self.column(name, DataType::Int64)?.i64()?.iter().collect())
    }

    fn reals(&self, name: &str) -> PolarsResult<Vec<Option<f64>>> {
        Ok(self.column(name, DataType::Float64)?.f64()?.iter().collect())
    }

    fn flags(&self, name: &str) -> PolarsResult<Vec<bool>> {
        Ok(self.column(name, DataType::Boolean)?.bool()?.iter().map(Option::unwrap_or_default).collect())
    }

    fn names(&self, name: &str, names: &mut Names) -> PolarsResult<Vec<Option<crate::walk::Name>>> {
        let texts = self.column(name, DataType::String)?;
        Ok(texts.str()?.iter().map(|text| text.map(|text| names.number(text))).collect())
    }

    fn wide(&self, of: &str) -> PolarsResult<Vec<i128>> {
        let [high, low] = wide(of);
        let sums = self.signed(&high)?.into_iter().zip(self.numbers(&low)?);
        Ok(sums.map(|(high, low)| (i128::from(high.unwrap_or(0)) << 32) + i128::from(low)).collect())
    }

    fn held(&self, of: &str) -> PolarsResult<Vec<Held>> {
        let named = inner_names(of);
        let ranges = self.signed(&named.least)?.into_iter().zip(self.signed(&named.most)?);
        let sums = self.wide(&named.value_us)?.into_iter().zip(self.numbers(&named.time_us)?);
        let held = sums.zip(ranges).map(|((value_us, time_us), (least, most))| Held {
            value_us,
            time_us,
            range: least.zip(most),
        });
        Ok(held.collect())
    }

    /// The number of the flow in each line; an error where there is no such flow.
    fn flows(&self, flows: usize) -> PolarsResult<Vec<usize>> {
        let numbers = self.numbers(c::FLOW)?;
        if let Some(number) = numbers.iter().find(|&&number| number >= flows as u64) {
            return Err(PolarsError::OutOfBounds(format!("flow {number} of {flows}").into()));
        }
        Ok(numbers.into_iter().map(|number| number as usize).collect())
    }

    /// The columns of a recording that are in the lines.
    fn rows(&self) -> PolarsResult<DataFrame> {
        let prefix = p::of_row("");
        let columns = self.0.columns().iter().filter_map(|column| {
            let name = column.name().strip_prefix(prefix.as_str())?;
            Some(column.clone().with_name(name.into()))
        });
        DataFrame::new(self.0.height(), columns.collect())
    }
}

fn of_heads(table: &Table, names: &mut Names) -> PolarsResult<(Vec<SegmentFlow>, DataFrame)> {
    let heads = frames::in_one_piece(table.rows()?);
    let identity = Identity::of(&heads)?;
    let [begins, opened] = [table.flags(p::BEGINS)?, table.flags(c::OPENED)?];
    let closed_us = table.known(p::CLOSED_US)?;
    let closing = c::CLOSING.map(|of| table.known(of));
    let [duration_us, completion_us, rtt_mean_us, rtt_min_us] = all(closing)?;
    let phases = p::PHASES.map(|of| all(of.map(|name| table.names(name, names))));
    let phases = all(phases)?;
    let offer_rows = table.numbers(p::OFFER_ROWS)?;
    let received = all(p::RECEIVED.map(|of| all(of.map(|name| table.known(name)))))?;
    let held = all(offers::COLUMNS.map(|of| table.held(of.name())))?;
    let ends = all(offers::COLUMNS
        .map(|of| all(p::ends(of.name()).map(|[at_us, value]| Ok((table.known(&at_us)?, table.signed(&value)?))))))?;
    let mut flows = Vec::with_capacity(table.0.height());
    for i in 0..table.0.height() {
        let mut fold = FlowFold::default();
        fold.opened = opened[i];
        fold.closing = closed_us[i].map(|t_us| Closing {
            t_us,
            duration_us: duration_us[i],
            completion_us: completion_us[i],
            rtt_mean_us: rtt_mean_us[i],
            rtt_min_us: rtt_min_us[i],
        });
        let held_phase = |[algorithm, mode]: &[Vec<Option<_>>; 2]| -> Option<Phase> { Some((algorithm[i]?, mode[i])) };
        fold.phases = held_phase(&phases[0]).zip(held_phase(&phases[1])).map(|(first, last)| [first, last]);
        fold.offers.rows = offer_rows[i];
        let end = |[at_us, bytes]: &[Vec<Option<u64>>; 2]| at_us[i].zip(bytes[i]);
        fold.offers.received = end(&received[0]).zip(end(&received[1])).map(|(first, last)| [first, last]);
        fold.offers.held = std::array::from_fn(|k| held[k][i]);
        fold.offers.ends = std::array::from_fn(|k| {
            let end = |(at_us, value): &(Vec<Option<u64>>, Vec<Option<i64>>)| at_us[i].zip(value[i]);
            end(&ends[k][0]).zip(end(&ends[k][1])).map(|(first, last)| [first, last])
        });
        let edges = Edges { begins: begins[i], ..Edges::default() };
        flows.push(SegmentFlow { key: identity.key(i), fold, swaps: Vec::new(), edges });
    }
    Ok((flows, heads))
}

fn all<T, const N: usize>(results: [PolarsResult<T>; N]) -> PolarsResult<[T; N]> {
    let values: Vec<T> = results.into_iter().collect::<PolarsResult<_>>()?;
    Ok(values.try_into().unwrap_or_else(|_| unreachable!("as many as there were")))
}

fn add_edges(table: &Table, flows: &mut [SegmentFlow], names: &mut Names) -> PolarsResult<()> {
    let rows = frames::in_one_piece(table.rows()?);
    if rows.height() == 0 {
        return Ok(());
    }
    let columns = Columns::of(&rows, names)?;
    for (i, (flow, is_last)) in table.flows(flows.len())?.into_iter().zip(table.flags(p::IS_LAST)?).enumerate() {
        let edges = &mut flows[flow].edges;
        let end = if is_last { &mut edges.last } else { &mut edges.first };
        end.push(columns.row(i));
    }
    Ok(())
}

/// The stretches by their number: whose they are, and which of its parts.
fn add_stretches(table: &Table, flows: &mut [SegmentFlow], names: &mut Names) -> PolarsResult<Vec<(usize, usize)>> {
    let of_flow = table.flows(flows.len())?;
    let algorithms = table.names(c::ALGORITHM, names)?;
    let [first_us, progress_us, rows, time_us, cwnd_time_us, sent_so_far] =
        all([c::FIRST_US, c::PROGRESS_US, c::ROWS, c::TIME_US, c::CWND_TIME_US, c::SENT_SO_FAR_BYTES]
            .map(|of| table.numbers(of)))?;
    let has_progress = table.flags(c::HAS_PROGRESS)?;
    let cwnd_max = table.known(c::CWND_MAX_PKTS)?;
    let cwnd_pkts_us = table.wide(c::CWND_PKTS_US)?;
    let counters = all(Counter::ALL.map(|counter| table.numbers(grown(counter))))?;
    let held = all(inner::COLUMNS.map(|of| table.held(of.name())))?;
    let mut stretches = Vec::with_capacity(of_flow.len());
    for (i, flow) in of_flow.into_iter().enumerate() {
        let mut part = Part::of(algorithms[i].unwrap_or_default());
        let totals = &mut part.totals;
        totals.rows = rows[i];
        totals.first_us = first_us[i];
        totals.progress_us = has_progress[i].then(|| progress_us[i]);
        totals.time_us = time_us[i];
        totals.sent_so_far_bytes = sent_so_far[i];
        totals.grown = std::array::from_fn(|k| counters[k][i]);
        totals.cwnd_pkts_us = u128::try_from(cwnd_pkts_us[i]).unwrap_or_default();
        totals.cwnd_time_us = cwnd_time_us[i];
        totals.cwnd_max_pkts = cwnd_max[i].and_then(|pkts| u32::try_from(pkts).ok());
        part.inner = std::array::from_fn(|k| held[k][i]);
        let parts = &mut flows[flow].fold.parts;
        stretches.push((flow, parts.len()));
        parts.push(part);
    }
    Ok(stretches)
}

/// The part that each line is about.
fn parts_of(table: &Table, stretches: &[(usize, usize)]) -> PolarsResult<Vec<(usize, usize)>> {
    let numbers = table.numbers(c::STRETCH)?;
    let found = |number: u64| {
        let missing = || PolarsError::OutOfBounds(format!("stretch {number} of {}", stretches.len()).into());
        stretches.get(number as usize).copied().ok_or_else(missing)
    };
    numbers.into_iter().map(found).collect()
}

fn add_rtts(table: &Table, stretches: &[(usize, usize)], flows: &mut [SegmentFlow]) -> PolarsResult<()> {
    let [rtts_us, times] = all([c::RTT_US, c::TIMES].map(|of| table.numbers(of)))?;
    for (i, (flow, part)) in parts_of(table, stretches)?.into_iter().enumerate() {
        flows[flow].fold.parts[part].rtt.add(rtts_us[i], times[i]);
    }
    Ok(())
}

fn add_phases(
    table: &Table,
    stretches: &[(usize, usize)],
    flows: &mut [SegmentFlow],
    names: &mut Names,
) -> PolarsResult<()> {
    let modes = table.names(c::MODE, names)?;
    let [time_us, visits] = all([c::TIME_US, c::VISITS].map(|of| table.numbers(of)))?;
    for (i, (flow, part)) in parts_of(table, stretches)?.into_iter().enumerate() {
        flows[flow].fold.parts[part].phases.add_stay(modes[i].unwrap_or_default(), time_us[i], visits[i]);
    }
    Ok(())
}

fn add_intervals(table: &Table, flows: &mut [SegmentFlow]) -> PolarsResult<()> {
    let [numbers, bytes] = all([c::INTERVAL, c::ACKED_BYTES].map(|of| table.numbers(of)))?;
    let mut of_flows: Vec<Vec<(u64, u64)>> = vec![Vec::new(); flows.len()];
    for (i, flow) in table.flows(flows.len())?.into_iter().enumerate() {
        of_flows[flow].push((numbers[i], bytes[i]));
    }
    for (flow, amounts) in flows.iter_mut().zip(of_flows) {
        flow.fold.acked = Amounts::of(amounts);
    }
    Ok(())
}

fn add_swaps(table: &Table, flows: &mut [SegmentFlow], names: &mut Names) -> PolarsResult<()> {
    let at_us = table.numbers(c::AT_US)?;
    let [from, to] = all([c::FROM, c::TO].map(|of| table.names(of, names)))?;
    let lowest = table.reals(c::LOWEST_PKTS)?;
    let has_later = table.flags(c::HAS_LATER)?;
    let sides = all(c::SIDES.map(|which| sides(table, which)))?;
    let states = all(c::STATES.map(|which| states(table, which)))?;
    for (i, flow) in table.flows(flows.len())?.into_iter().enumerate() {
        let change = Change { at_us: at_us[i], from: from[i].unwrap_or_default(), to: to[i].unwrap_or_default() };
        flows[flow].swaps.push(Swap {
            change,
            before: sides[0][i],
            after: sides[1][i],
            lowest_pkts: lowest[i],
            state_before: states[0][i],
            state_after: states[1][i],
            state_later: has_later[i].then(|| states[2][i]),
        });
    }
    Ok(())
}

fn sides(table: &Table, which: &str) -> PolarsResult<Vec<Side>> {
    let numbers = |what: &str| table.numbers(&around(which, what));
    let [span_us, rows, retrans, rtt_sum, rtt_samples] =
        all([c::SPAN_US, c::ROWS, c::RETRANS_PKTS, c::RTT_SUM_US, c::RTT_SAMPLES].map(numbers))?;
    let delivered = table.reals(&around(which, c::DELIVERED_PKTS))?;
    let side = |i: usize| Side {
        span_us: span_us[i],
        rows: rows[i],
        delivered_pkts: delivered[i].unwrap_or_default(),
        retrans_pkts: retrans[i],
        rtt_sum_us: rtt_sum[i],
        rtt_samples: rtt_samples[i],
    };
    Ok((0..span_us.len()).map(side).collect())
}

fn states(table: &Table, which: &str) -> PolarsResult<Vec<State>> {
    let [cwnd, ssthresh, pacing] = all(c::STATE.map(|what| table.known(&around(which, what))))?;
    let small = |value: Option<u64>| value.and_then(|value| u32::try_from(value).ok());
    let state =
        |i: usize| State { cwnd_pkts: small(cwnd[i]), ssthresh_pkts: small(ssthresh[i]), pacing_rate_bps: pacing[i] };
    Ok((0..cwnd.len()).map(state).collect())
}

fn spans(table: &Table) -> PolarsResult<Vec<Span>> {
    let [from_us, known_us, to_us, rows] =
        all([c::FROM_US, c::KNOWN_US, c::TO_US, c::ROWS].map(|of| table.numbers(of)))?;
    let span = |i: usize| Span { from_us: from_us[i], known_us: known_us[i], to_us: to_us[i], rows: rows[i] };
    Ok((0..rows.len()).map(span).collect())
}
