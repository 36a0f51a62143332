//! The figures of changes of algorithm.

use polars::prelude::*;

use super::cells::{Line, lines};
use super::measures::{grown, per};
use super::stretches::with;
use crate::labels::Algorithms;
use crate::measure::swaps::DIP_WINDOW_US;
use crate::scale::{BITS_PER_BYTE, US_PER_S};
use crate::summary::{AlgorithmChange, ChangeSide, SocketState};
use crate::tables::columns::around;
use crate::tables::{Tables, columns as c};
use crate::walk::Counter;
use ccactl_recording::read::Metadata;

/// Mean payload of the flow's packets. The bytes acknowledged in a short time would not do: they stand still while a
/// hole is repaired, and then jump.
const BITS_PER_PKT: &str = "bits_per_pkt";
const GOODPUT_BPS: &str = "goodput_bps";
const RTT_MEAN_US: &str = "rtt_mean_us";
const LOWEST_GOODPUT_BPS: &str = "lowest_goodput_bps";
const DIP_RATIO: &str = "dip_ratio";

/// The changes of each flow, in the order of time.
pub fn changes(
    tables: &Tables,
    metadata: &Metadata,
    algorithms: &Algorithms,
    flows: usize,
) -> PolarsResult<Vec<Vec<AlgorithmChange>>> {
    let mut changes = vec![Vec::new(); flows];
    for line in lines(&table(tables, metadata).collect()?) {
        changes[line.count(c::FLOW) as usize].push(change(line, algorithms));
    }
    Ok(changes)
}

fn table(tables: &Tables, metadata: &Metadata) -> LazyFrame {
    let sum = |counter| grown(counter).sum();
    let pkts = when(sum(Counter::DeliveredPkts).gt(lit(0))).then(sum(Counter::DeliveredPkts)).otherwise(lit(1u64));
    let bits = sum(Counter::BytesAcked).cast(DataType::Float64) * lit(BITS_PER_BYTE);
    let payload = tables
        .flows
        .clone()
        .lazy()
        .group_by([col(c::FLOW)])
        .agg([(bits / pkts.cast(DataType::Float64)).alias(BITS_PER_PKT)]);
    let of = |which: &str, what: &str| col(around(which, what));
    let [before, after] = c::SIDES;
    let goodput = |side: &str| {
        let bits = of(side, c::DELIVERED_PKTS) * col(BITS_PER_PKT);
        per(bits * lit(US_PER_S), of(side, c::SPAN_US)).alias(around(side, GOODPUT_BPS))
    };
    let rtt_mean = |side: &str| per(of(side, c::RTT_SUM_US), of(side, c::RTT_SAMPLES)).alias(around(side, RTT_MEAN_US));
    // Whether rows are frequent enough to tell one window from the next. With a row per ACK a silence is a silence; rows
    // that are taken at longer intervals would hide a dip.
    let every_ack = lit(metadata.every.as_deref() == Some("ack"));
    let resolved = every_ack.or((of(after, c::ROWS) * lit(DIP_WINDOW_US)).gt_eq(of(after, c::SPAN_US)));
    let lowest = col(c::LOWEST_PKTS) * col(BITS_PER_PKT) * lit(US_PER_S / DIP_WINDOW_US as f64);
    let reference = of(before, GOODPUT_BPS);
    let dip = lit(1.0) - col(LOWEST_GOODPUT_BPS) / reference.clone();
    with(tables.swaps.clone().lazy(), payload, c::FLOW)
        .with_columns([
            goodput(before),
            goodput(after),
            rtt_mean(before),
            rtt_mean(after),
            when(resolved).then(lowest).otherwise(lit(NULL)).alias(LOWEST_GOODPUT_BPS),
        ])
        .with_columns([when(reference.gt(lit(0.0))).then(dip).otherwise(lit(NULL)).alias(DIP_RATIO)])
}

fn change(line: Line<'_>, algorithms: &Algorithms) -> AlgorithmChange {
    let [before, after] = c::SIDES;
    let [state_before, state_after, state_later] = c::STATES.map(|which| state(line, which));
    let to = line.text(c::TO);
    AlgorithmChange {
        at_s: line.count(c::AT_US) as f64 / US_PER_S,
        from: algorithms.name(&line.text(c::FROM)),
        to: algorithms.name(&to),
        color: algorithms.color(&to),
        to_kernel_name: to,
        before: side(line, before, state_before),
        after: side(line, after, state_after),
        lowest_goodput_bps: line.real(LOWEST_GOODPUT_BPS),
        dip_ratio: line.real(DIP_RATIO),
        one_rtt_later: line.is(c::HAS_LATER).then_some(state_later),
    }
}

fn side(line: Line<'_>, which: &str, state: SocketState) -> ChangeSide {
    ChangeSide {
        span_s: line.count(&around(which, c::SPAN_US)) as f64 / US_PER_S,
        goodput_bps: line.real(&around(which, GOODPUT_BPS)),
        retrans_pkts: line.count(&around(which, c::RETRANS_PKTS)),
        rtt_mean_us: line.real(&around(which, RTT_MEAN_US)),
        state,
    }
}

fn state(line: Line<'_>, which: &str) -> SocketState {
    let [cwnd_pkts, ssthresh_pkts, pacing_rate_bps] = c::STATE.map(|what| line.whole(&around(which, what)));
    SocketState { cwnd_pkts, ssthresh_pkts, pacing_rate_bps }
}
