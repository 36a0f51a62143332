//! ACKs as columns of schema version 2, `docs/schema.md`.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::types::{ArrowPrimitiveType, Float32Type, Int64Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{ArrayRef, BooleanArray, PrimitiveArray, RecordBatch, StringViewArray, TimestampNanosecondArray};
use arrow_schema::SchemaRef;
use ccactl_recording::Column;
use ccactl_recording::write::rows;

use crate::flow::Ack;

/// 2026-11-20T18:00:00Z
const STARTED_NS: i64 = 1_795_197_600_000_000_000;
const NETNS: u32 = 4_026_531_840;
const BANDWIDTH_BPS: u64 = 200_000_000;

#[derive(Default)]
pub struct Columns {
    acks: Vec<Ack>,
}

/// The schema of what [`Columns::batch`] makes.
pub fn schema() -> SchemaRef {
    rows::schema(&BTreeMap::new())
}

impl Columns {
    pub fn push(&mut self, ack: Ack) {
        self.acks.push(ack);
    }

    /// A row group in the recorder's order: by flow, each in the order of time.
    pub fn batch(mut self) -> RecordBatch {
        self.acks.sort_by_key(|ack| ack.flow_id);
        let columns = Column::ALL.iter().map(|&column| values(column, &self)).collect();
        RecordBatch::try_new(schema(), columns).expect("the values have the types of their columns")
    }

    fn some<T: ArrowPrimitiveType>(&self, value: impl Fn(&Ack) -> T::Native) -> ArrayRef {
        Arc::new(PrimitiveArray::<T>::from_iter_values(self.acks.iter().map(value)))
    }

    fn maybe<T: ArrowPrimitiveType>(&self, value: impl Fn(&Ack) -> Option<T::Native>) -> ArrayRef {
        Arc::new(self.acks.iter().map(value).collect::<PrimitiveArray<T>>())
    }

    fn text(&self, value: impl Fn(&Ack) -> Option<&'static str>) -> ArrayRef {
        Arc::new(self.acks.iter().map(value).collect::<StringViewArray>())
    }

    fn flag(&self, value: impl Fn(&Ack) -> bool) -> ArrayRef {
        Arc::new(self.acks.iter().map(|ack| Some(value(ack))).collect::<BooleanArray>())
    }
}

fn times(columns: &Columns) -> ArrayRef {
    let times = columns.acks.iter().map(|ack| STARTED_NS + ack.t_us as i64 * 1000);
    Arc::new(TimestampNanosecondArray::from_iter_values(times).with_timezone("UTC"))
}

#[rustfmt::skip]
fn values(column: Column, c: &Columns) -> ArrayRef {
    match column {
        Column::Time =>                times(c),
        Column::TUs =>                 c.some::<UInt64Type>(|a| a.t_us),
        Column::Event =>               c.text(|a| Some(a.event)),
        Column::FlowId =>              c.some::<UInt64Type>(|a| a.flow_id),
        Column::CgroupId =>            c.some::<UInt64Type>(|a| 100 + a.flow_id % 3),
        Column::Netns =>               c.some::<UInt32Type>(|_| NETNS),
        Column::Src =>                 c.text(|_| Some("10.0.0.1")),
        Column::Dst =>                 c.text(|_| Some("10.0.0.2")),
        Column::Sport =>               c.some::<UInt16Type>(|a| 40_000 + (a.flow_id % 20_000) as u16),
        Column::Dport =>               c.some::<UInt16Type>(|_| 5001),
        Column::Algorithm =>           c.text(|a| Some(a.algorithm)),
        Column::Previous =>            c.text(|_| None),
        Column::CaState =>             c.text(|a| Some(if a.in_recovery { "recovery" } else { "open" })),
        Column::CwndPkts =>            c.some::<UInt32Type>(|a| a.cwnd_pkts),
        Column::SsthreshPkts =>        c.maybe::<UInt32Type>(|a| (a.lost_pkts > 0).then_some(280)),
        Column::InflightPkts =>        c.some::<UInt32Type>(|a| a.cwnd_pkts - a.cwnd_pkts / 20),
        Column::SrttUs =>              c.maybe::<UInt32Type>(|a| a.rtt_us.map(|us| us / 64 * 64)),
        Column::RttUs =>               c.maybe::<UInt32Type>(|a| a.rtt_us),
        Column::MinRttUs =>            c.maybe::<UInt32Type>(|a| a.rtt_us.map(|_| 40_512)),
        Column::MssBytes =>            c.some::<UInt32Type>(|a| a.mss_bytes as u32),
        Column::PacingRateBps =>       c.maybe::<UInt64Type>(|a| a.mode.map(|_| BANDWIDTH_BPS)),
        Column::DeliveryRateBps =>     c.maybe::<UInt64Type>(|a| a.rtt_us.map(|us| u64::from(a.cwnd_pkts) * 11_584_000_000 / u64::from(us))),
        Column::SndWndBytes =>         c.some::<UInt32Type>(|_| 3_145_728),
        Column::RcvWndBytes =>         c.some::<UInt32Type>(|_| 65_536),
        Column::RcvLimitBytes =>       c.maybe::<UInt32Type>(|_| None),
        Column::RcvRttUs =>            c.maybe::<UInt32Type>(|_| None),
        Column::RcvMinRttUs =>         c.maybe::<UInt32Type>(|_| None),
        Column::BytesAcked =>          c.some::<UInt64Type>(|a| u64::from(a.delivered_pkts) * a.mss_bytes),
        Column::BytesSent =>           c.some::<UInt64Type>(|a| a.sent_pkts * a.mss_bytes),
        Column::BytesRetrans =>        c.some::<UInt64Type>(|a| u64::from(a.lost_pkts) * a.mss_bytes),
        Column::BytesReceived =>       c.some::<UInt64Type>(|_| 0),
        Column::RetransPkts =>         c.some::<UInt32Type>(|a| a.lost_pkts),
        Column::LostPkts =>            c.some::<UInt32Type>(|a| a.lost_pkts),
        Column::DeliveredPkts =>       c.some::<UInt32Type>(|a| a.delivered_pkts),
        Column::DeliveredCePkts =>     c.some::<UInt32Type>(|a| a.ce_pkts),
        Column::DeliveredCeBytes =>    c.maybe::<UInt64Type>(|_| None),
        Column::EcnMode =>             c.text(|_| Some("off")),
        Column::RtoCount =>            c.some::<UInt32Type>(|a| a.timeouts),
        Column::DurationUs =>          c.maybe::<UInt64Type>(|a| a.duration_us),
        Column::CompletionUs =>        c.maybe::<UInt64Type>(|a| a.duration_us),
        Column::RttMeanUs =>           c.maybe::<UInt32Type>(|a| a.rtt_us.filter(|_| a.duration_us.is_some())),
        Column::RttMinUs =>            c.maybe::<UInt32Type>(|a| a.rtt_us.filter(|_| a.duration_us.is_some())),
        Column::DroppedRows =>         c.some::<UInt64Type>(|_| 0),
        Column::AppLimited =>          c.flag(|_| false),
        Column::CwndLimited =>         c.flag(|a| a.delivered_pkts % 8 < 6),
        Column::TraceMode =>           c.text(|a| a.mode),
        Column::TraceBwBps =>          c.maybe::<UInt64Type>(|a| a.mode.map(|_| BANDWIDTH_BPS / 100 * u64::from(90 + a.cwnd_pkts % 20))),
        Column::TraceBwLoBps =>        c.maybe::<UInt64Type>(|_| None),
        Column::TraceBwHiBps =>        c.maybe::<UInt64Type>(|a| a.mode.map(|_| BANDWIDTH_BPS)),
        Column::TraceMinRttUs =>       c.maybe::<UInt32Type>(|a| a.mode.map(|_| 40_512)),
        Column::TraceInflightLoPkts => c.maybe::<UInt32Type>(|_| None),
        Column::TraceInflightHiPkts => c.maybe::<UInt32Type>(|a| a.mode.map(|_| 380)),
        Column::TracePacingGain =>     c.maybe::<Float32Type>(|a| a.mode.map(|_| 1.0)),
        Column::TraceCwndGain =>       c.maybe::<Float32Type>(|a| a.mode.map(|_| 2.0)),
        Column::TraceV0 =>             c.maybe::<Int64Type>(|a| (a.algorithm == "bpf_cubic").then_some(i64::from(a.cwnd_pkts / 8))),
        Column::TraceV1 =>             c.maybe::<Int64Type>(|_| None),
    }
}
