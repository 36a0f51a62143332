//! From what the passes over the rows fold to tables.

use polars::prelude::*;

use super::Tables;
use super::columns::{self as c, around, grown, inner, wide};
use super::flow_fold::Part;
use super::fold::{Flow, Folded};
use crate::measure::drops::Span;
use crate::measure::inner as inner_state;
use crate::measure::swaps::{Side, State, Swap};
use crate::walk::{Counter, Name, Names};

/// Bits of the low half of a [wide sum](wide).
const LOW_BITS: u32 = 32;
const LOW_MASK: i128 = (1 << LOW_BITS) - 1;

/// A flow under one algorithm.
struct Stretch<'a> {
    number: u32,
    flow: u32,
    is_first: bool,
    of: &'a Flow,
    part: &'a Part,
    /// From when to when the flow was open.
    open_us: (u64, u64),
}

impl Tables {
    /// The tables of what was folded.
    pub fn of_fold(folded: &Folded) -> PolarsResult<Tables> {
        let names = &folded.names;
        let flows: Vec<(u32, &Flow)> = (0..).zip(&folded.flows).collect();
        let open_us = |of: &Flow| folded.extent.map_or((0, 0), |extent| of.open_us(extent));
        let stretches: Vec<Stretch> = flows
            .iter()
            .flat_map(|&(flow, of)| of.parts.iter().enumerate().map(move |(i, part)| (flow, i == 0, of, part)))
            .zip(0..)
            .map(|((flow, is_first, of, part), number)| Stretch {
                number,
                flow,
                is_first,
                of,
                part,
                open_us: open_us(of),
            })
            .collect();
        Ok(Tables {
            flows: flow_table(&stretches, names)?,
            rtts: rtt_table(&stretches)?,
            phases: phase_table(&stretches, names)?,
            intervals: interval_table(&flows)?,
            swaps: swap_table(&flows, names)?,
            drops: drop_table(&folded.drop_spans)?,
        })
    }
}

/// One column with a value per line.
pub fn column<T, V, P: ?Sized>(name: impl Into<PlSmallStr>, lines: &[T], value: impl Fn(&T) -> V) -> Column
where
    Series: NamedFrom<Vec<V>, P>,
{
    Column::new(name.into(), lines.iter().map(value).collect::<Vec<V>>())
}

/// What no clock and no window reaches is as much as there can be, and not little.
fn high(sum: i128) -> i64 {
    (sum >> LOW_BITS).clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

fn low(sum: i128) -> u64 {
    (sum & LOW_MASK) as u64
}

/// The two columns of a [wide sum](wide).
pub fn wide_columns<T>(name: &str, lines: &[T], sum: impl Fn(&T) -> i128) -> [Column; 2] {
    let [of_high, of_low] = wide(name);
    [column(of_high, lines, |line| high(sum(line))), column(of_low, lines, |line| low(sum(line)))]
}

fn flow_table(stretches: &[Stretch<'_>], names: &Names) -> PolarsResult<DataFrame> {
    let text = |name: Name| names.text(name).to_owned();
    let mut columns = vec![
        column(c::STRETCH, stretches, |s| s.number),
        column(c::FLOW, stretches, |s| s.flow),
        column(c::NETNS, stretches, |s| s.of.key.netns),
        column(c::FLOW_ID, stretches, |s| s.of.key.flow_id),
        column(c::ALGORITHM, stretches, |s| text(s.part.algorithm)),
        column(c::CGROUP_ID, stretches, |s| s.of.endpoints.cgroup_id),
        column(c::LOCAL, stretches, |s| s.of.endpoints.local()),
        column(c::REMOTE, stretches, |s| s.of.endpoints.remote()),
        column(c::IPV6, stretches, |s| s.of.endpoints.src.contains(':')),
        column(c::IS_FIRST, stretches, |s| s.is_first),
        column(c::LAST_ALGORITHM, stretches, |s| text(s.of.last_algorithm())),
        column(c::FIRST_US, stretches, |s| s.part.totals.first_us),
        column(c::PROGRESS_US, stretches, |s| s.part.totals.progress_or_first_us()),
        column(c::OPEN_FROM_US, stretches, |s| s.open_us.0),
        column(c::OPEN_TO_US, stretches, |s| s.open_us.1),
        column(c::ROWS, stretches, |s| s.part.totals.rows),
        column(c::HAS_PROGRESS, stretches, |s| s.part.totals.progress_us.is_some()),
        column(c::SENT_SO_FAR_BYTES, stretches, |s| s.part.totals.sent_so_far_bytes),
        column(c::TIME_US, stretches, |s| s.part.totals.time_us),
        column(c::CWND_TIME_US, stretches, |s| s.part.totals.cwnd_time_us),
        column(c::CWND_MAX_PKTS, stretches, |s| s.part.totals.cwnd_max_pkts),
        column(c::OPENED, stretches, |s| s.of.opened),
        column(c::CLOSED, stretches, |s| s.of.closing.is_some()),
    ];
    let cwnd_pkts_us = |s: &Stretch<'_>| i128::try_from(s.part.totals.cwnd_pkts_us).unwrap_or(i128::MAX);
    columns.extend(wide_columns(c::CWND_PKTS_US, stretches, cwnd_pkts_us));
    columns.extend(Counter::ALL.map(|counter| column(grown(counter), stretches, |s| s.part.totals.grown(counter))));
    let [duration, completion, rtt_mean, rtt_min] = c::CLOSING;
    columns.extend([
        column(duration, stretches, |s| s.of.closing?.duration_us),
        column(completion, stretches, |s| s.of.closing?.completion_us),
        column(rtt_mean, stretches, |s| s.of.closing?.rtt_mean_us),
        column(rtt_min, stretches, |s| s.of.closing?.rtt_min_us),
    ]);
    for (i, of) in inner_state::COLUMNS.iter().enumerate() {
        let named = inner(of.name());
        columns.extend(wide_columns(&named.value_us, stretches, |s| s.part.inner[i].value_us));
        columns.extend([
            column(named.time_us, stretches, |s| s.part.inner[i].time_us),
            column(named.least, stretches, |s| Some(s.part.inner[i].range?.0)),
            column(named.most, stretches, |s| Some(s.part.inner[i].range?.1)),
        ]);
    }
    DataFrame::new_infer_height(columns)
}

fn rtt_table(stretches: &[Stretch<'_>]) -> PolarsResult<DataFrame> {
    let counts = || stretches.iter().flat_map(|s| s.part.rtt.counts().map(|(rtt_us, times)| (s.number, rtt_us, times)));
    DataFrame::new_infer_height(vec![
        Column::new(c::STRETCH.into(), counts().map(|(stretch, _, _)| stretch).collect::<Vec<u32>>()),
        // The walk gives them as 32 bits.
        Column::new(c::RTT_US.into(), counts().map(|(_, rtt_us, _)| rtt_us as u32).collect::<Vec<u32>>()),
        Column::new(c::TIMES.into(), counts().map(|(_, _, times)| times).collect::<Vec<u64>>()),
    ])
}

fn phase_table(stretches: &[Stretch<'_>], names: &Names) -> PolarsResult<DataFrame> {
    let stays: Vec<_> =
        stretches.iter().flat_map(|s| s.part.phases.iter().map(move |(mode, stay)| (s.number, mode, stay))).collect();
    DataFrame::new_infer_height(vec![
        column(c::STRETCH, &stays, |(stretch, _, _)| *stretch),
        column(c::MODE, &stays, |(_, mode, _)| names.text(*mode).to_owned()),
        column(c::TIME_US, &stays, |(_, _, stay)| stay.time_us),
        column(c::VISITS, &stays, |(_, _, stay)| stay.visits),
    ])
}

fn interval_table(flows: &[(u32, &Flow)]) -> PolarsResult<DataFrame> {
    let amounts =
        || flows.iter().flat_map(|(flow, of)| of.acked.iter().map(move |&(number, bytes)| (*flow, number, bytes)));
    DataFrame::new_infer_height(vec![
        Column::new(c::FLOW.into(), amounts().map(|(flow, _, _)| flow).collect::<Vec<u32>>()),
        Column::new(c::INTERVAL.into(), amounts().map(|(_, number, _)| number).collect::<Vec<u64>>()),
        Column::new(c::ACKED_BYTES.into(), amounts().map(|(_, _, bytes)| bytes).collect::<Vec<u64>>()),
    ])
}

fn swap_table(flows: &[(u32, &Flow)], names: &Names) -> PolarsResult<DataFrame> {
    let swaps: Vec<(u32, &Swap)> =
        flows.iter().flat_map(|(flow, of)| of.swaps.iter().map(move |swap| (*flow, swap))).collect();
    let mut columns = vec![
        column(c::FLOW, &swaps, |(flow, _)| *flow),
        column(c::AT_US, &swaps, |(_, swap)| swap.change.at_us),
        column(c::FROM, &swaps, |(_, swap)| names.text(swap.change.from).to_owned()),
        column(c::TO, &swaps, |(_, swap)| names.text(swap.change.to).to_owned()),
        column(c::LOWEST_PKTS, &swaps, |(_, swap)| swap.lowest_pkts),
        column(c::HAS_LATER, &swaps, |(_, swap)| swap.state_later.is_some()),
    ];
    let sides: [fn(&Swap) -> &Side; 2] = [|swap| &swap.before, |swap| &swap.after];
    for (which, side) in c::SIDES.into_iter().zip(sides) {
        let of = |what| around(which, what);
        columns.extend([
            column(of(c::SPAN_US), &swaps, |(_, swap)| side(swap).span_us),
            column(of(c::ROWS), &swaps, |(_, swap)| side(swap).rows),
            column(of(c::DELIVERED_PKTS), &swaps, |(_, swap)| side(swap).delivered_pkts),
            column(of(c::RETRANS_PKTS), &swaps, |(_, swap)| side(swap).retrans_pkts),
            column(of(c::RTT_SUM_US), &swaps, |(_, swap)| side(swap).rtt_sum_us),
            column(of(c::RTT_SAMPLES), &swaps, |(_, swap)| side(swap).rtt_samples),
        ]);
    }
    let states: [fn(&Swap) -> State; 3] =
        [|swap| swap.state_before, |swap| swap.state_after, |swap| swap.state_later.unwrap_or_default()];
    for (which, state) in c::STATES.into_iter().zip(states) {
        let [cwnd, ssthresh, pacing] = c::STATE.map(|what| around(which, what));
        columns.extend([
            column(cwnd, &swaps, |(_, swap)| state(swap).cwnd_pkts),
            column(ssthresh, &swaps, |(_, swap)| state(swap).ssthresh_pkts),
            column(pacing, &swaps, |(_, swap)| state(swap).pacing_rate_bps),
        ]);
    }
    DataFrame::new_infer_height(columns)
}

fn drop_table(spans: &[Span]) -> PolarsResult<DataFrame> {
    DataFrame::new_infer_height(vec![
        column(c::FROM_US, spans, |span| span.from_us),
        column(c::KNOWN_US, spans, |span| span.known_us),
        column(c::TO_US, spans, |span| span.to_us),
        column(c::ROWS, spans, |span| span.rows),
    ])
}
