//! Small recordings made by hand, with every column of `docs/schema.md` that a report may meet.

// Each test binary and the example use a part of this.
#![allow(dead_code)]

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use polars::prelude::*;
use polars_arrow::io::ipc::write::{StreamWriter, WriteOptions};

/// One row; the defaults are those of a socket that has just been opened.
#[derive(Debug, Clone)]
pub struct Row {
    pub t_us: u64,
    pub event: &'static str,
    pub flow_id: u64,
    pub cgroup_id: u64,
    pub netns: u32,
    pub src: &'static str,
    pub dst: &'static str,
    pub sport: u16,
    pub dport: u16,
    pub algorithm: &'static str,
    pub previous: Option<&'static str>,
    pub cwnd_pkts: u32,
    pub ssthresh_pkts: Option<u32>,
    pub pacing_rate_bps: Option<u64>,
    pub snd_wnd_bytes: u32,
    /// `rcv_wnd_bytes` and what the receiving algorithm says, if there is one: limit, RTT and least RTT.
    pub rcv_wnd_bytes: u32,
    pub receiver: Option<[u32; 3]>,
    pub rtt_us: Option<u32>,
    pub bytes_acked: u64,
    pub bytes_sent: u64,
    pub bytes_retrans: u64,
    pub bytes_received: u64,
    pub retrans_pkts: u32,
    pub lost_pkts: u32,
    pub delivered_pkts: u32,
    pub delivered_ce_pkts: u32,
    pub rto_count: u32,
    pub duration_us: Option<u64>,
    pub completion_us: Option<u64>,
    pub rtt_mean_us: Option<u32>,
    pub rtt_min_us: Option<u32>,
    pub dropped_rows: u64,
    pub trace_mode: Option<&'static str>,
    pub trace_bw_bps: Option<u64>,
    pub trace_min_rtt_us: Option<u32>,
    pub trace_inflight_lo_pkts: Option<u32>,
    pub trace_inflight_hi_pkts: Option<u32>,
    pub trace_v0: Option<i64>,
    pub trace_v1: Option<i64>,
}

impl Row {
    /// Row of flow `flow_id` at `t_us`.
    pub fn at(flow_id: u64, t_us: u64) -> Row {
        Row {
            t_us,
            event: "sample",
            flow_id,
            cgroup_id: 100 + flow_id,
            netns: 4_026_531_840,
            src: "10.0.0.1",
            dst: "10.0.0.2",
            sport: 40_000 + flow_id as u16,
            dport: 5001,
            algorithm: "bpf_cubic",
            previous: None,
            cwnd_pkts: 10,
            ssthresh_pkts: None,
            pacing_rate_bps: None,
            snd_wnd_bytes: 65_535,
            rcv_wnd_bytes: 65_535,
            receiver: None,
            rtt_us: None,
            bytes_acked: 0,
            bytes_sent: 0,
            bytes_retrans: 0,
            bytes_received: 0,
            retrans_pkts: 0,
            lost_pkts: 0,
            delivered_pkts: 0,
            delivered_ce_pkts: 0,
            rto_count: 0,
            duration_us: None,
            completion_us: None,
            rtt_mean_us: None,
            rtt_min_us: None,
            dropped_rows: 0,
            trace_mode: None,
            trace_bw_bps: None,
            trace_min_rtt_us: None,
            trace_inflight_lo_pkts: None,
            trace_inflight_hi_pkts: None,
            trace_v0: None,
            trace_v1: None,
        }
    }

    /// Payload sent and acknowledged so far.
    pub fn bytes(self, sent: u64, acked: u64) -> Row {
        Row { bytes_sent: sent, bytes_acked: acked, ..self }
    }

    /// Latest RTT sample, and packets delivered so far.
    pub fn rtt(self, rtt_us: u32, delivered_pkts: u32) -> Row {
        Row { rtt_us: Some(rtt_us), delivered_pkts, ..self }
    }
}

/// Columns by the version of the schema that brought them.
const SINCE_2: &[&str] = &[
    "previous",
    "snd_wnd_bytes",
    "bytes_received",
    "rto_count",
    "duration_us",
    "completion_us",
    "rtt_mean_us",
    "rtt_min_us",
    "dropped_rows",
];
const SINCE_3: &[&str] = &["rcv_wnd_bytes", "rcv_limit_bytes", "rcv_rtt_us", "rcv_min_rtt_us"];

/// A recording to be written.
#[derive(Debug, Clone)]
pub struct Fixture {
    pub rows: Vec<Row>,
    metadata: Vec<(String, String)>,
    version: u32,
}

impl Fixture {
    /// Rows of a row group unless another number is given.
    pub const GROUP_ROWS: usize = 1 << 17;

    pub fn new(rows: Vec<Row>) -> Fixture {
        let fixture = Fixture { rows, metadata: Vec::new(), version: 0 }.of_version(3);
        fixture.meta("version", "0.1.0").meta("kernel", "6.18.0-test").meta("every", "ack")
    }

    /// As an older ccactl wrote it: without the columns that came later.
    pub fn of_version(self, version: u32) -> Fixture {
        Fixture { version, ..self.meta("schema_version", &version.to_string()) }
    }

    /// Sets `ccactl.KEY`.
    pub fn meta(mut self, key: &str, value: &str) -> Fixture {
        let key = format!("ccactl.{key}");
        self.metadata.retain(|(known, _)| *known != key);
        self.metadata.push((key, value.to_owned()));
        self
    }

    pub fn without_meta(mut self) -> Fixture {
        self.metadata.clear();
        self
    }

    pub fn frame(&self) -> DataFrame {
        fn all<T>(rows: &[Row], value: impl Fn(&Row) -> T) -> Vec<T> {
            rows.iter().map(value).collect()
        }
        let rows = &self.rows;
        let frame = df!(
            "t_us" => all(rows, |r| r.t_us),
            "event" => all(rows, |r| r.event),
            "flow_id" => all(rows, |r| r.flow_id),
            "cgroup_id" => all(rows, |r| r.cgroup_id),
            "netns" => all(rows, |r| r.netns),
            "src" => all(rows, |r| r.src),
            "dst" => all(rows, |r| r.dst),
            "sport" => all(rows, |r| u32::from(r.sport)),
            "dport" => all(rows, |r| u32::from(r.dport)),
            "algorithm" => all(rows, |r| r.algorithm),
            "previous" => all(rows, |r| r.previous),
            "cwnd_pkts" => all(rows, |r| r.cwnd_pkts),
            "ssthresh_pkts" => all(rows, |r| r.ssthresh_pkts),
            "pacing_rate_bps" => all(rows, |r| r.pacing_rate_bps),
            "mss_bytes" => all(rows, |_| 1448_u32),
            "snd_wnd_bytes" => all(rows, |r| r.snd_wnd_bytes),
            "rcv_wnd_bytes" => all(rows, |r| r.rcv_wnd_bytes),
            "rcv_limit_bytes" => all(rows, |r| r.receiver.map(|[limit, _, _]| limit)),
            "rcv_rtt_us" => all(rows, |r| r.receiver.map(|[_, rtt, _]| rtt)),
            "rcv_min_rtt_us" => all(rows, |r| r.receiver.map(|[_, _, least]| least)),
            "rtt_us" => all(rows, |r| r.rtt_us),
            "bytes_acked" => all(rows, |r| r.bytes_acked),
            "bytes_sent" => all(rows, |r| r.bytes_sent),
            "bytes_retrans" => all(rows, |r| r.bytes_retrans),
            "bytes_received" => all(rows, |r| r.bytes_received),
            "retrans_pkts" => all(rows, |r| r.retrans_pkts),
            "lost_pkts" => all(rows, |r| r.lost_pkts),
            "delivered_pkts" => all(rows, |r| r.delivered_pkts),
            "delivered_ce_pkts" => all(rows, |r| r.delivered_ce_pkts),
            "rto_count" => all(rows, |r| r.rto_count),
            "duration_us" => all(rows, |r| r.duration_us),
            "completion_us" => all(rows, |r| r.completion_us),
            "rtt_mean_us" => all(rows, |r| r.rtt_mean_us),
            "rtt_min_us" => all(rows, |r| r.rtt_min_us),
            "dropped_rows" => all(rows, |r| r.dropped_rows),
            "trace_mode" => all(rows, |r| r.trace_mode),
            "trace_bw_bps" => all(rows, |r| r.trace_bw_bps),
            "trace_min_rtt_us" => all(rows, |r| r.trace_min_rtt_us),
            "trace_inflight_lo_pkts" => all(rows, |r| r.trace_inflight_lo_pkts),
            "trace_inflight_hi_pkts" => all(rows, |r| r.trace_inflight_hi_pkts),
            "trace_v0" => all(rows, |r| r.trace_v0),
            "trace_v1" => all(rows, |r| r.trace_v1),
        );
        let ports = [col("sport").cast(DataType::UInt16), col("dport").cast(DataType::UInt16)];
        let later: Vec<&str> = match self.version {
            1 => [SINCE_2, SINCE_3].concat(),
            2 => SINCE_3.to_vec(),
            _ => Vec::new(),
        };
        frame.unwrap().lazy().with_columns(ports).drop(cols(later)).collect().unwrap()
    }

    /// Writes a finished recording, in row groups of `group_rows`.
    pub fn parquet_in_groups(&self, path: &Path, group_rows: usize) -> PathBuf {
        let metadata = KeyValueMetadata::from_static(self.metadata.clone());
        ParquetWriter::new(File::create(path).unwrap())
            .with_key_value_metadata(Some(metadata))
            .with_row_group_size(Some(group_rows))
            .finish(&mut self.frame())
            .unwrap();
        path.to_owned()
    }

    /// Writes a finished recording.
    pub fn parquet(&self, path: &Path) -> PathBuf {
        self.parquet_in_groups(path, Fixture::GROUP_ROWS)
    }

    /// Writes an unfinished recording: an Arrow stream of batches of `batch_rows`, with its end mark.
    pub fn stream(&self, path: &Path, batch_rows: usize) -> PathBuf {
        let frame = self.frame();
        let metadata = self.metadata.iter().map(|(k, v)| (k.as_str().into(), v.as_str().into())).collect();
        let mut writer = StreamWriter::new(File::create(path).unwrap(), WriteOptions { compression: None });
        writer.set_custom_schema_metadata(Arc::new(metadata));
        writer.start(&frame.schema().to_arrow(CompatLevel::oldest()), None).unwrap();
        for start in (0..frame.height()).step_by(batch_rows) {
            let mut part = frame.slice(start as i64, batch_rows);
            for batch in part.rechunk_mut().iter_chunks(CompatLevel::oldest(), false) {
                writer.write(&batch, None).unwrap();
            }
        }
        writer.finish().unwrap();
        path.to_owned()
    }
}
