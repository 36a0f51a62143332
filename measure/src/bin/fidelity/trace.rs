//! What one flow did, ACK by ACK.

use crate::Failure;
use arrow_array::cast::AsArray;
use arrow_array::types::{UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use ccactl_recording::{Column, Key};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::Value;
use std::fs::File;
use std::path::Path;

/// A row of the recording: the state after an ACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ack {
    /// Since the first row of the flow.
    pub t_us: u64,
    /// What the algorithm decides.
    pub decided: Decided,
    /// What it decides from, and what it brings about.
    pub seen: Seen,
}

/// What an algorithm decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Decided {
    /// Congestion window in packets.
    pub cwnd_pkts: u32,
    /// Slow-start threshold; none when infinite.
    pub ssthresh_pkts: Option<u32>,
    /// Pacing rate in bit/s; none when unlimited.
    pub pacing_rate_bps: Option<u64>,
}

/// What it sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Seen {
    /// Latest RTT sample.
    pub rtt_us: Option<u32>,
    /// Cumulative.
    pub delivered_pkts: u32,
    /// In the network by TCP's count.
    pub inflight_pkts: u32,
    /// Marked lost, cumulative.
    pub lost_pkts: u32,
    /// Sent again, cumulative.
    pub retrans_pkts: u32,
    /// Delivered with a mark, cumulative.
    pub delivered_ce_pkts: u32,
    /// Acknowledged payload, cumulative.
    pub bytes_acked: u64,
}

/// The flow `main` of a bench's first run.
pub fn of_main(bench: &Path) -> Result<Vec<Ack>, Failure> {
    let file = File::open(bench.join("run-1/recording.parquet"))?;
    let reader = ParquetRecordBatchReaderBuilder::try_new(file)?;
    let metadata = reader.metadata().file_metadata().key_value_metadata().ok_or("a recording without metadata")?;
    let flows = metadata.iter().find(|pair| pair.key == Key::Flows.name()).and_then(|pair| pair.value.as_deref());
    let flows: Value = serde_json::from_str(flows.ok_or("a recording that names no flows")?)?;
    let main = flows.as_array().into_iter().flatten().find(|flow| flow["name"] == "main");
    let cgroup = main.and_then(|flow| flow["cgroup_id"].as_u64()).ok_or("a recording without the flow main")?;
    let mut acks = Vec::new();
    for batch in reader.build()? {
        acks.extend(acks_of(&batch?, cgroup).ok_or("other columns than expected")?);
    }
    acks.sort_by_key(|ack: &Ack| ack.t_us);
    let first_us = acks.first().map_or(0, |ack| ack.t_us);
    acks.iter_mut().for_each(|ack| ack.t_us -= first_us);
    Ok(acks)
}

fn acks_of(batch: &RecordBatch, cgroup: u64) -> Option<Vec<Ack>> {
    let long = |column: Column| batch.column_by_name(column.name())?.as_primitive_opt::<UInt64Type>();
    let short = |column: Column| batch.column_by_name(column.name())?.as_primitive_opt::<UInt32Type>();
    let event = batch.column_by_name(Column::Event.name())?.as_string_view_opt()?;
    let (cgroups, t_us, pacing, acked) =
        (long(Column::CgroupId)?, long(Column::TUs)?, long(Column::PacingRateBps)?, long(Column::BytesAcked)?);
    let (cwnd, ssthresh, rtt) = (short(Column::CwndPkts)?, short(Column::SsthreshPkts)?, short(Column::RttUs)?);
    let (delivered, inflight) = (short(Column::DeliveredPkts)?, short(Column::InflightPkts)?);
    let (lost, retrans, marked) =
        (short(Column::LostPkts)?, short(Column::RetransPkts)?, short(Column::DeliveredCePkts)?);
    let rows = (0..batch.num_rows()).filter(|&row| cgroups.value(row) == cgroup && event.value(row) == "sample");
    let ack = |row: usize| Ack {
        t_us: t_us.value(row),
        decided: Decided {
            cwnd_pkts: cwnd.value(row),
            ssthresh_pkts: ssthresh.is_valid(row).then(|| ssthresh.value(row)),
            pacing_rate_bps: pacing.is_valid(row).then(|| pacing.value(row)),
        },
        seen: Seen {
            rtt_us: rtt.is_valid(row).then(|| rtt.value(row)),
            delivered_pkts: delivered.value(row),
            inflight_pkts: inflight.value(row),
            lost_pkts: lost.value(row),
            retrans_pkts: retrans.value(row),
            delivered_ce_pkts: marked.value(row),
            bytes_acked: acked.value(row),
        },
    };
    Some(rows.map(ack).collect())
}
