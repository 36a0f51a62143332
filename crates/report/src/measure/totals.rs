//! Bytes, packets, window and times per flow, split by the algorithm that ran.

use polars::prelude::*;

use crate::columns::{FlowKey, counts, f64s, flow_keys, i64s, texts};
use crate::fold::{Agg, Fold};
use crate::steps;

/// Addresses and cgroup of a flow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoints {
    /// Local address.
    pub src: String,
    /// Remote address.
    pub dst: String,
    /// Local port.
    pub sport: u64,
    /// Remote port.
    pub dport: u64,
    /// cgroup2 id.
    pub cgroup_id: u64,
}

/// What one flow did while it ran one algorithm.
#[derive(Debug, Clone, PartialEq)]
pub struct Totals {
    /// The flow.
    pub flow: FlowKey,
    /// Kernel name of the algorithm.
    pub kernel_name: String,
    /// Its addresses.
    pub endpoints: Endpoints,
    /// Number of rows.
    pub rows: u64,
    /// First row.
    pub first_us: u64,
    /// Last row that shows progress; the first row when none does.
    pub progress_us: u64,
    /// Sum of the steps' durations.
    pub time_us: u64,
    /// Largest value of the cumulative counter, for flows of one row.
    pub sent_so_far_bytes: u64,
    /// Increase of each counter.
    pub acked_bytes: u64,
    /// Payload, retransmissions included.
    pub sent_bytes: u64,
    /// Payload.
    pub retrans_bytes: u64,
    /// Retransmitted packets.
    pub retrans_pkts: u64,
    /// Packets marked lost.
    pub lost_pkts: u64,
    /// Packets delivered.
    pub delivered_pkts: u64,
    /// Packets delivered with an ECN mark.
    pub delivered_ce_pkts: u64,
    /// ∫ cwnd dt.
    pub cwnd_pkts_us: f64,
    /// Time for which the window is known.
    pub cwnd_time_us: f64,
}

/// Folds steps into [`Totals`].
pub fn fold() -> Fold {
    let increase = |name: &'static str| (name, Agg::Sum, col(format!("d_{name}")));
    let progress = col("d_bytes_sent").gt(lit(0)).or(col("d_bytes_acked").gt(lit(0)));
    let cwnd_known = col("prev_cwnd_pkts").is_not_null();
    let first = |name: &'static str| (name, Agg::First, col(name));
    let mut keys = steps::flow();
    keys.push(col("running"));
    Fold::new(
        keys,
        vec![
            first("src"),
            first("dst"),
            first("sport"),
            first("dport"),
            first("cgroup_id"),
            ("rows", Agg::Count, col("t_us")),
            ("first_us", Agg::Min, col("t_us")),
            ("progress_us", Agg::Max, when(progress).then(col("t_us")).otherwise(lit(NULL))),
            ("time_us", Agg::Sum, col("dt_us")),
            ("sent_so_far", Agg::Max, col("bytes_sent")),
            increase("bytes_acked"),
            increase("bytes_sent"),
            increase("bytes_retrans"),
            increase("retrans_pkts"),
            increase("lost_pkts"),
            increase("delivered_pkts"),
            increase("delivered_ce_pkts"),
            (
                "cwnd_pkts_us",
                Agg::Sum,
                col("prev_cwnd_pkts").cast(DataType::Float64) * col("dt_us").cast(DataType::Float64),
            ),
            ("cwnd_time_us", Agg::Sum, when(cwnd_known).then(col("dt_us")).otherwise(lit(0i64))),
        ],
    )
}

/// The result of [`fold`], one entry per flow and algorithm.
pub fn read(frame: &DataFrame) -> PolarsResult<Vec<Totals>> {
    let flows = flow_keys(frame)?;
    let kernel_names = texts(frame, "running")?;
    let (src, dst) = (texts(frame, "src")?, texts(frame, "dst")?);
    let (sport, dport) = (counts(frame, "sport")?, counts(frame, "dport")?);
    let cgroup_ids = frame.column("cgroup_id")?.cast(&DataType::UInt64)?;
    let cgroup_ids = cgroup_ids.u64()?;
    let rows = counts(frame, "rows")?;
    let first_us = counts(frame, "first_us")?;
    let progress_us = i64s(frame, "progress_us")?;
    let time_us = counts(frame, "time_us")?;
    let sent_so_far = counts(frame, "sent_so_far")?;
    let [acked, sent, retrans, retrans_pkts, lost, delivered, ce] = [
        "bytes_acked",
        "bytes_sent",
        "bytes_retrans",
        "retrans_pkts",
        "lost_pkts",
        "delivered_pkts",
        "delivered_ce_pkts",
    ]
    .map(|name| counts(frame, name));
    let (acked, sent, retrans, retrans_pkts) = (acked?, sent?, retrans?, retrans_pkts?);
    let (lost, delivered, ce) = (lost?, delivered?, ce?);
    let (cwnd_pkts_us, cwnd_time_us) = (f64s(frame, "cwnd_pkts_us")?, f64s(frame, "cwnd_time_us")?);
    Ok((0..frame.height())
        .map(|i| Totals {
            flow: flows[i],
            kernel_name: kernel_names[i].clone(),
            endpoints: Endpoints {
                src: src[i].clone(),
                dst: dst[i].clone(),
                sport: sport[i],
                dport: dport[i],
                cgroup_id: cgroup_ids.get(i).unwrap_or(0),
            },
            rows: rows[i],
            first_us: first_us[i],
            progress_us: progress_us[i].map_or(first_us[i], |t| t.max(0) as u64),
            time_us: time_us[i],
            sent_so_far_bytes: sent_so_far[i],
            acked_bytes: acked[i],
            sent_bytes: sent[i],
            retrans_bytes: retrans[i],
            retrans_pkts: retrans_pkts[i],
            lost_pkts: lost[i],
            delivered_pkts: delivered[i],
            delivered_ce_pkts: ce[i],
            cwnd_pkts_us: cwnd_pkts_us[i],
            cwnd_time_us: cwnd_time_us[i],
        })
        .collect())
}
