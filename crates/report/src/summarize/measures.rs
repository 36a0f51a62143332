//! The figures of groups of stretches: the same for a flow and for an algorithm.

use polars::prelude::*;

use super::cells::{Line, lines};
use super::quantiles::{self, GROUP, MEAN, SAMPLES, TIMES, VALUE, percentile};
use super::stretches::{EXCESS_SAMPLES, EXCESS_US, Grouped, Rates, rtts, with};
use super::sums::{self, Rate, STRETCHES};
use crate::labels;
use crate::measure::inner;
use crate::scale::{BITS_PER_BYTE, US_PER_S};
use crate::summary::{InnerValue, Measures, PhaseShare};
use crate::tables::{Tables, columns as c};
use crate::walk::Counter;
use ccactl_recording::read::{Metadata, ValueInfo};

/// Schema version that brought `rto_count`.
const COUNTS_TIMEOUTS: u32 = 2;
/// Percentiles of the RTT that tables show.
const PERCENTS: [f64; 4] = [0.0, 50.0, 95.0, 99.0];
/// What one of the high half of a wide sum is.
const HIGH: f64 = 4_294_967_296.0;

const RETRANS_RATIO: &str = "retrans_ratio";
const LOSS_RATIO: &str = "loss_ratio";
const CE_RATIO: &str = "ce_ratio";
const CWND_MEAN_PKTS: &str = "cwnd_mean_pkts";
const QUEUEING_DELAY_US: &str = "queueing_delay_us";
const KNOWN_US: &str = "known_us";

/// As a number with a fraction.
pub fn real(value: Expr) -> Expr {
    value.cast(DataType::Float64)
}

/// A quotient; null where nothing can be divided by.
pub fn per(value: Expr, by: Expr) -> Expr {
    when(by.clone().gt(lit(0))).then(real(value) / real(by)).otherwise(lit(NULL))
}

/// Bytes in µs as bit/s; null where no time passed.
pub fn rate_bps(bytes: Expr, us: Expr) -> Expr {
    let bits = real(bytes) * lit(BITS_PER_BYTE) * lit(US_PER_S);
    when(us.clone().gt(lit(0))).then(bits / real(us)).otherwise(lit(NULL))
}

/// What counters have grown by.
pub fn grown(counter: Counter) -> Expr {
    col(c::grown(counter))
}

/// A wide sum over time, divided by that time.
fn mean_over_time(of: &str, time_us: &str) -> Expr {
    let [high, low] = c::wide(of);
    let sum = real(col(high)) * lit(HIGH) + real(col(low));
    when(col(time_us).gt(lit(0))).then(sum / real(col(time_us))).otherwise(lit(NULL))
}

/// One line per group, in their order: everything but phases.
fn table(tables: &Tables, grouped: &Grouped) -> PolarsResult<LazyFrame> {
    let rtts = if grouped.is_each_alone {
        quantiles::of_distinct(rtts(tables).rename([c::STRETCH], [GROUP], true), &PERCENTS)
    } else {
        let groups = grouped.stretches.clone().select([col(c::STRETCH), col(GROUP)]);
        let of_stretches = with(rtts(tables), groups, c::STRETCH).select([GROUP, VALUE, TIMES].map(col));
        let all = grouped.pooled.as_ref().map(|pooled| pooled.rtts.clone());
        quantiles::of(below(of_stretches, all)?, &PERCENTS)
    };
    let lines = sums::of_stretches(grouped.stretches.clone());
    let lines = below(lines, grouped.pooled.as_ref().map(|pooled| pooled.lines.clone()))?;
    let sums = lines.group_by([col(GROUP)]).agg(sums::added()).sort([GROUP], SortMultipleOptions::default());
    let ended = real(grown(Counter::LostPkts)) + real(grown(Counter::DeliveredPkts));
    let table = with(sums, rtts, GROUP)
        .with_columns(rates(grouped.rates))
        .with_columns([
            per(grown(Counter::BytesRetrans), grown(Counter::BytesSent)).alias(RETRANS_RATIO),
            per(grown(Counter::LostPkts), ended).alias(LOSS_RATIO),
            per(grown(Counter::DeliveredCePkts), grown(Counter::DeliveredPkts)).alias(CE_RATIO),
            mean_over_time(c::CWND_PKTS_US, c::CWND_TIME_US).alias(CWND_MEAN_PKTS),
            per(col(EXCESS_US), col(EXCESS_SAMPLES)).alias(QUEUEING_DELAY_US),
        ])
        .with_columns(inner::COLUMNS.map(|of| {
            let named = c::inner(of.name());
            mean_over_time(&named.value_us, &named.time_us).alias(of.name())
        }));
    Ok(table)
}

/// The lines of both, with the columns that the second has.
pub fn below(first: LazyFrame, second: Option<LazyFrame>) -> PolarsResult<LazyFrame> {
    let Some(second) = second else { return Ok(first) };
    let mut first = first;
    let names: Vec<Expr> = second.clone().collect_schema()?.iter_names().map(|name| col(name.clone())).collect();
    first = first.select(names);
    concat([first, second], UnionArgs::default())
}

/// The rates of a group, from its sums.
fn rates(rates: Rates) -> [Expr; 3] {
    let open = (c::OPEN_FROM_US, c::OPEN_TO_US);
    let sending = (c::FIRST_US, c::PROGRESS_US);
    let of = [
        (Rate::Throughput, Counter::BytesSent, open),
        (Rate::Goodput, Counter::BytesAcked, open),
        (Rate::SendingGoodput, Counter::BytesAcked, sending),
    ];
    of.map(|(rate, counter, (from, to))| {
        let value = match rates {
            // One row alone does not show how many bytes there were.
            Rates::OfOneFlow => when(col(c::TIME_US).gt(lit(0)))
                .then(rate_bps(grown(counter), col(to) - col(from)))
                .otherwise(lit(NULL)),
            Rates::MeanOfFlows => per(col(rate.sum()), col(rate.known())),
        };
        value.alias(rate.name())
    })
}

/// A group, its figures, and the sums that they are made of.
pub struct Group {
    /// How many stretches it has.
    pub stretches: u64,
    /// First row.
    pub first_us: u64,
    /// Last row that shows progress.
    pub progress_us: u64,
    /// Number of rows.
    pub rows: u64,
    /// The figures.
    pub measures: Measures,
}

/// The figures of each group; its inner state and its phases have the names of the algorithm `kernel_name` says.
pub fn groups(
    tables: &Tables,
    metadata: &Metadata,
    grouped: &Grouped,
    kernel_name: impl Fn(usize) -> String,
) -> PolarsResult<Vec<Group>> {
    let table = table(tables, grouped)?.collect()?;
    let mut phases = phases(tables, grouped, table.height())?;
    let group = |(i, line): (usize, Line<'_>)| {
        let kernel_name = kernel_name(i);
        let measures = Measures {
            phases: in_order(metadata, &kernel_name, std::mem::take(&mut phases[i])),
            inner_state: inner_values(metadata, &kernel_name, line),
            ..measures(metadata, line)
        };
        Group {
            stretches: line.count(STRETCHES),
            first_us: line.count(c::FIRST_US),
            progress_us: line.count(c::PROGRESS_US),
            rows: line.count(c::ROWS),
            measures,
        }
    };
    Ok(lines(&table).enumerate().map(group).collect())
}

fn measures(metadata: &Metadata, line: Line<'_>) -> Measures {
    let grown = |counter: Counter| line.count(c::grown(counter));
    let [least, p50, p95, p99] = PERCENTS.map(|percent| line.whole(&percentile(percent)));
    Measures {
        throughput_bps: line.real(Rate::Throughput.name()),
        goodput_bps: line.real(Rate::Goodput.name()),
        sending_goodput_bps: line.real(Rate::SendingGoodput.name()),
        sent_bytes: grown(Counter::BytesSent),
        acked_bytes: grown(Counter::BytesAcked),
        retrans_pkts: grown(Counter::RetransPkts),
        retrans_ratio: line.real(RETRANS_RATIO),
        lost_pkts: grown(Counter::LostPkts),
        delivered_pkts: grown(Counter::DeliveredPkts),
        loss_ratio: line.real(LOSS_RATIO),
        delivered_ce_pkts: grown(Counter::DeliveredCePkts),
        ce_ratio: line.real(CE_RATIO),
        rto_count: (metadata.schema_version >= COUNTS_TIMEOUTS).then(|| grown(Counter::RtoCount)),
        cwnd_mean_pkts: line.real(CWND_MEAN_PKTS),
        cwnd_max_pkts: line.whole(c::CWND_MAX_PKTS).map(|pkts| pkts as u32),
        rtt_samples: line.count(SAMPLES),
        rtt_mean_us: line.real(MEAN),
        rtt_p50_us: p50,
        rtt_p95_us: p95,
        rtt_p99_us: p99,
        rtt_min_us: least,
        queueing_delay_us: line.real(QUEUEING_DELAY_US),
        power_bps_per_s: power_bps_per_s(line),
        phases: Vec::new(),
        inner_state: Vec::new(),
    }
}

/// Power: goodput per second of mean RTT. Polars multiplies by the reciprocal where it is to divide by a number, which is not the
/// same in the last digit.
fn power_bps_per_s(line: Line<'_>) -> Option<f64> {
    let rtt_s = line.real(MEAN).filter(|&us| us > 0.0)? / US_PER_S;
    Some(line.real(Rate::Goodput.name())? / rtt_s)
}

/// The inner state under the names of the registry.
fn inner_values(metadata: &Metadata, kernel_name: &str, line: Line<'_>) -> Vec<InnerValue> {
    let labels = labels::inner_labels(metadata, kernel_name);
    let value = |(of, label): (ccactl_recording::Column, Option<ValueInfo>)| {
        let named = c::inner(of.name());
        let [min, max] = [named.least, named.most].map(|bound| line.signed(&bound));
        let (min, max, mean, label) = (min? as f64, max? as f64, line.real(of.name())?, label?);
        Some(InnerValue { name: label.name, doc: label.doc, mean, min, max })
    };
    inner::COLUMNS.into_iter().zip(labels).filter_map(value).collect()
}

/// The phases of each group.
fn phases(tables: &Tables, grouped: &Grouped, groups: usize) -> PolarsResult<Vec<Vec<PhaseShare>>> {
    let of_group = grouped.stretches.clone().select([col(c::STRETCH), col(GROUP)]);
    let stays = with(tables.phases.clone().lazy(), of_group, c::STRETCH);
    let pooled = grouped.pooled.as_ref().map(|pooled| pooled.phases.clone());
    let stays = below(stays, pooled)?
        .group_by([col(GROUP), col(c::MODE)])
        .agg([col(c::TIME_US).sum(), col(c::VISITS).sum()])
        .with_columns([col(c::TIME_US).sum().over([col(GROUP)])?.alias(KNOWN_US)])
        .filter(col(KNOWN_US).gt(lit(0)))
        .sort([GROUP, c::MODE], SortMultipleOptions::default())
        .collect()?;
    let mut phases = vec![Vec::new(); groups];
    for line in lines(&stays) {
        let (time_us, visits) = (line.count(c::TIME_US), line.count(c::VISITS));
        phases[line.count(GROUP) as usize].push(PhaseShare {
            mode: line.text(c::MODE),
            share: time_us as f64 / line.count(KNOWN_US) as f64,
            visits,
            mean_us: time_us as f64 / visits.max(1) as f64,
        });
    }
    Ok(phases)
}

/// Phases in the order of the registry, others by name.
fn in_order(metadata: &Metadata, kernel_name: &str, mut phases: Vec<PhaseShare>) -> Vec<PhaseShare> {
    let info = metadata.algorithms.iter().flatten().find(|a| a.kernel_name == kernel_name);
    let order = info.map_or(&[][..], |a| &a.modes);
    phases.sort_by_key(|phase| order.iter().position(|mode| *mode == phase.mode).unwrap_or(order.len()));
    phases
}
