//! ACKs as columns of schema version 2, `docs/schema.md`.

use std::sync::Arc;

use arrow_array::types::{ArrowPrimitiveType, Float32Type, Int64Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{ArrayRef, BooleanArray, PrimitiveArray, RecordBatch, StringArray, TimestampNanosecondArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};

use crate::flow::Ack;

/// 2026-11-20T18:00:00Z
const STARTED_NS: i64 = 1_795_197_600_000_000_000;
const NETNS: u32 = 4_026_531_840;
const BANDWIDTH_BPS: u64 = 200_000_000;

#[derive(Default)]
pub struct Columns {
    acks: Vec<Ack>,
}

struct Column {
    name: &'static str,
    data_type: DataType,
    nullable: bool,
    values: fn(&Columns) -> ArrayRef,
}

/// The schema of what [`Columns::batch`] makes.
pub fn schema() -> SchemaRef {
    let fields: Vec<Field> = all().into_iter().map(|c| Field::new(c.name, c.data_type, c.nullable)).collect();
    Arc::new(Schema::new(fields))
}

impl Columns {
    pub fn push(&mut self, ack: Ack) {
        self.acks.push(ack);
    }

    /// A row group in the recorder's order: by flow, each in the order of time.
    pub fn batch(mut self) -> RecordBatch {
        self.acks.sort_by_key(|ack| ack.flow_id);
        let columns = all().iter().map(|column| (column.values)(&self)).collect();
        RecordBatch::try_new(schema(), columns).expect("schema and values come from one table")
    }

    fn some<T: ArrowPrimitiveType>(&self, value: impl Fn(&Ack) -> T::Native) -> ArrayRef {
        Arc::new(PrimitiveArray::<T>::from_iter_values(self.acks.iter().map(value)))
    }

    fn maybe<T: ArrowPrimitiveType>(&self, value: impl Fn(&Ack) -> Option<T::Native>) -> ArrayRef {
        Arc::new(self.acks.iter().map(value).collect::<PrimitiveArray<T>>())
    }

    fn text(&self, value: impl Fn(&Ack) -> Option<&'static str>) -> ArrayRef {
        Arc::new(self.acks.iter().map(value).collect::<StringArray>())
    }

    fn flag(&self, value: impl Fn(&Ack) -> bool) -> ArrayRef {
        Arc::new(self.acks.iter().map(|ack| Some(value(ack))).collect::<BooleanArray>())
    }
}

fn time() -> DataType {
    DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()))
}

fn times(columns: &Columns) -> ArrayRef {
    let times = columns.acks.iter().map(|ack| STARTED_NS + ack.t_us as i64 * 1000);
    Arc::new(TimestampNanosecondArray::from_iter_values(times).with_timezone("UTC"))
}

macro_rules! columns {
    ($($name:literal: $ty:expr, $nullable:ident, $values:expr;)*) => {
        vec![$(Column { name: $name, data_type: $ty, nullable: columns!(@ $nullable), values: $values },)*]
    };
    (@ required) => { false };
    (@ optional) => { true };
}

#[rustfmt::skip]
fn all() -> Vec<Column> {
    use DataType::{Boolean, Float32, Int64, UInt16, UInt32, UInt64, Utf8};
    columns! {
        "time":                   time(),  required, times;
        "t_us":                   UInt64,  required, |c| c.some::<UInt64Type>(|a| a.t_us);
        "event":                  Utf8,    required, |c| c.text(|a| Some(a.event));
        "flow_id":                UInt64,  required, |c| c.some::<UInt64Type>(|a| a.flow_id);
        "cgroup_id":              UInt64,  required, |c| c.some::<UInt64Type>(|a| 100 + a.flow_id % 3);
        "netns":                  UInt32,  required, |c| c.some::<UInt32Type>(|_| NETNS);
        "src":                    Utf8,    required, |c| c.text(|_| Some("10.0.0.1"));
        "dst":                    Utf8,    required, |c| c.text(|_| Some("10.0.0.2"));
        "sport":                  UInt16,  required, |c| c.some::<UInt16Type>(|a| 40_000 + (a.flow_id % 20_000) as u16);
        "dport":                  UInt16,  required, |c| c.some::<UInt16Type>(|_| 5001);
        "algorithm":              Utf8,    required, |c| c.text(|a| Some(a.algorithm));
        "previous":               Utf8,    optional, |c| c.text(|_| None);
        "ca_state":               Utf8,    required, |c| c.text(|a| Some(if a.in_recovery { "recovery" } else { "open" }));
        "cwnd_pkts":              UInt32,  required, |c| c.some::<UInt32Type>(|a| a.cwnd_pkts);
        "ssthresh_pkts":          UInt32,  optional, |c| c.maybe::<UInt32Type>(|a| (a.lost_pkts > 0).then_some(280));
        "inflight_pkts":          UInt32,  required, |c| c.some::<UInt32Type>(|a| a.cwnd_pkts - a.cwnd_pkts / 20);
        "srtt_us":                UInt32,  optional, |c| c.maybe::<UInt32Type>(|a| a.rtt_us.map(|us| us / 64 * 64));
        "rtt_us":                 UInt32,  optional, |c| c.maybe::<UInt32Type>(|a| a.rtt_us);
        "min_rtt_us":             UInt32,  optional, |c| c.maybe::<UInt32Type>(|a| a.rtt_us.map(|_| 40_512));
        "mss_bytes":              UInt32,  required, |c| c.some::<UInt32Type>(|a| a.mss_bytes as u32);
        "pacing_rate_bps":        UInt64,  optional, |c| c.maybe::<UInt64Type>(|a| a.mode.map(|_| BANDWIDTH_BPS));
        "delivery_rate_bps":      UInt64,  optional, |c| c.maybe::<UInt64Type>(|a| a.rtt_us.map(|us| u64::from(a.cwnd_pkts) * 11_584_000_000 / u64::from(us)));
        "snd_wnd_bytes":          UInt32,  required, |c| c.some::<UInt32Type>(|_| 3_145_728);
        "bytes_acked":            UInt64,  required, |c| c.some::<UInt64Type>(|a| u64::from(a.delivered_pkts) * a.mss_bytes);
        "bytes_sent":             UInt64,  required, |c| c.some::<UInt64Type>(|a| a.sent_pkts * a.mss_bytes);
        "bytes_retrans":          UInt64,  required, |c| c.some::<UInt64Type>(|a| u64::from(a.lost_pkts) * a.mss_bytes);
        "bytes_received":         UInt64,  required, |c| c.some::<UInt64Type>(|_| 0);
        "retrans_pkts":           UInt32,  required, |c| c.some::<UInt32Type>(|a| a.lost_pkts);
        "lost_pkts":              UInt32,  required, |c| c.some::<UInt32Type>(|a| a.lost_pkts);
        "delivered_pkts":         UInt32,  required, |c| c.some::<UInt32Type>(|a| a.delivered_pkts);
        "delivered_ce_pkts":      UInt32,  required, |c| c.some::<UInt32Type>(|a| a.ce_pkts);
        "rto_count":              UInt32,  required, |c| c.some::<UInt32Type>(|a| a.timeouts);
        "duration_us":            UInt64,  optional, |c| c.maybe::<UInt64Type>(|_| None);
        "completion_us":          UInt64,  optional, |c| c.maybe::<UInt64Type>(|_| None);
        "rtt_mean_us":            UInt32,  optional, |c| c.maybe::<UInt32Type>(|_| None);
        "rtt_min_us":             UInt32,  optional, |c| c.maybe::<UInt32Type>(|_| None);
        "dropped_rows":           UInt64,  required, |c| c.some::<UInt64Type>(|_| 0);
        "app_limited":            Boolean, required, |c| c.flag(|_| false);
        "cwnd_limited":           Boolean, required, |c| c.flag(|a| a.delivered_pkts % 8 < 6);
        "trace_mode":             Utf8,    optional, |c| c.text(|a| a.mode);
        "trace_bw_bps":           UInt64,  optional, |c| c.maybe::<UInt64Type>(|a| a.mode.map(|_| BANDWIDTH_BPS / 100 * u64::from(90 + a.cwnd_pkts % 20)));
        "trace_bw_lo_bps":        UInt64,  optional, |c| c.maybe::<UInt64Type>(|_| None);
        "trace_bw_hi_bps":        UInt64,  optional, |c| c.maybe::<UInt64Type>(|a| a.mode.map(|_| BANDWIDTH_BPS));
        "trace_min_rtt_us":       UInt32,  optional, |c| c.maybe::<UInt32Type>(|a| a.mode.map(|_| 40_512));
        "trace_inflight_lo_pkts": UInt32,  optional, |c| c.maybe::<UInt32Type>(|_| None);
        "trace_inflight_hi_pkts": UInt32,  optional, |c| c.maybe::<UInt32Type>(|a| a.mode.map(|_| 380));
        "trace_pacing_gain":      Float32, optional, |c| c.maybe::<Float32Type>(|a| a.mode.map(|_| 1.0));
        "trace_cwnd_gain":        Float32, optional, |c| c.maybe::<Float32Type>(|a| a.mode.map(|_| 2.0));
        "trace_v0":               Int64,   optional, |c| c.maybe::<Int64Type>(|a| (a.algorithm == "bpf_cubic").then_some(i64::from(a.cwnd_pkts / 8)));
        "trace_v1":               Int64,   optional, |c| c.maybe::<Int64Type>(|_| None);
    }
}
