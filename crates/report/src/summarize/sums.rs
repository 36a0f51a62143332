//! What adds up over stretches: of a flow, of an algorithm, or of flows that are not kept one by one.

use polars::prelude::*;

use super::measures::{grown, rate_bps, real};
use super::stretches::{DESCRIBES, EXCESS_SAMPLES, EXCESS_US, OPEN_US, SENDING_US};
use crate::measure::inner;
use crate::tables::columns as c;
use crate::walk::Counter;

/// How many stretches there are.
pub const STRETCHES: &str = "stretches";

/// A rate of which a group has the mean.
#[derive(Clone, Copy)]
pub enum Rate {
    Throughput,
    Goodput,
    SendingGoodput,
}

impl Rate {
    const ALL: [Rate; 3] = [Rate::Throughput, Rate::Goodput, Rate::SendingGoodput];

    /// The rate itself.
    pub fn name(self) -> &'static str {
        match self {
            Rate::Throughput => "throughput_bps",
            Rate::Goodput => "goodput_bps",
            Rate::SendingGoodput => "sending_goodput_bps",
        }
    }

    /// Sum over the stretches that have one.
    pub fn sum(self) -> &'static str {
        match self {
            Rate::Throughput => "throughput_bps_sum",
            Rate::Goodput => "goodput_bps_sum",
            Rate::SendingGoodput => "sending_goodput_bps_sum",
        }
    }

    /// Number of these.
    pub fn known(self) -> &'static str {
        match self {
            Rate::Throughput => "throughput_known",
            Rate::Goodput => "goodput_known",
            Rate::SendingGoodput => "sending_goodput_known",
        }
    }

    fn of_stretch(self) -> Expr {
        let (counter, us) = match self {
            Rate::Throughput => (Counter::BytesSent, OPEN_US),
            Rate::Goodput => (Counter::BytesAcked, OPEN_US),
            Rate::SendingGoodput => (Counter::BytesAcked, SENDING_US),
        };
        // One row alone does not show how many bytes there were.
        when(col(c::TIME_US).gt(lit(0))).then(rate_bps(grown(counter), col(us))).otherwise(lit(NULL))
    }
}

/// The stretches with what [`added`] adds up.
pub fn of_stretches(stretches: LazyFrame) -> LazyFrame {
    let mut columns = vec![lit(Scalar::from(1u64)).alias(STRETCHES)];
    for rate in Rate::ALL {
        columns.push(rate.of_stretch().alias(rate.sum()));
        columns.push(rate.of_stretch().is_not_null().cast(DataType::UInt64).alias(rate.known()));
    }
    let described = |of: String| when(col(DESCRIBES)).then(col(of.as_str())).otherwise(lit(NULL)).alias(of.as_str());
    for of in inner::COLUMNS {
        let named = c::inner(of.name());
        let [high, low] = c::wide(&named.value_us);
        columns.extend([high, low, named.time_us, named.least, named.most].map(described));
    }
    stretches.with_columns(columns)
}

/// One line of several, each of one stretch or of many.
pub fn added() -> Vec<Expr> {
    // A sum of whole numbers begins anew beyond 2⁶⁴, where a damaged counter may lead. It stays there instead.
    let sum = |of: &str| {
        let is_beyond = real(col(of)).sum().gt_eq(lit(u64::MAX as f64));
        when(is_beyond).then(lit(Scalar::from(u64::MAX))).otherwise(col(of).sum()).alias(of)
    };
    let [cwnd_high, cwnd_low] = c::wide(c::CWND_PKTS_US);
    let mut sums = vec![
        col(STRETCHES).sum(),
        col(c::FIRST_US).min(),
        col(c::PROGRESS_US).max(),
        col(c::OPEN_FROM_US).min(),
        col(c::OPEN_TO_US).max(),
        sum(c::ROWS),
        sum(c::TIME_US),
        col(cwnd_high).sum(),
        sum(&cwnd_low),
        sum(c::CWND_TIME_US),
        col(c::CWND_MAX_PKTS).max(),
        col(EXCESS_US).sum(),
        sum(EXCESS_SAMPLES),
    ];
    sums.extend(Rate::ALL.iter().flat_map(|rate| [col(rate.sum()).sum(), col(rate.known()).sum()]));
    sums.extend(Counter::ALL.map(|counter| sum(c::grown(counter))));
    for of in inner::COLUMNS {
        let named = c::inner(of.name());
        let [high, low] = c::wide(&named.value_us);
        sums.extend([col(high).sum(), col(low).sum(), col(named.time_us).sum()]);
        sums.extend([col(named.least).min(), col(named.most).max()]);
    }
    sums
}
