//! The state of a BBR over a run, ACK by ACK, from its recording.

use crate::{Error, Result};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::fs::File;
use std::path::Path;

/// Phases by the names that the algorithm publishes.
pub mod phase {
    pub const STARTUP: &str = "startup";
    pub const DRAIN: &str = "drain";
    pub const DOWN: &str = "probe-bw-down";
    pub const CRUISE: &str = "probe-bw-cruise";
    pub const REFILL: &str = "probe-bw-refill";
    pub const UP: &str = "probe-bw-up";
    pub const PROBE_RTT: &str = "probe-rtt";
    /// Those of PROBE_BW.
    pub const PROBE_BW: [&str; 4] = [DOWN, CRUISE, REFILL, UP];
}

/// What an ACK finds: the state that the one before has left.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sample {
    /// After the beginning of the run, s.
    pub t_s: f64,
    /// Name of the phase.
    pub phase: String,
    /// Congestion state of the kernel.
    pub ca_state: String,
    pub cwnd_pkts: f64,
    pub inflight_pkts: f64,
    pub mss_bytes: f64,
    pub rtt_us: f64,
    pub app_limited: bool,
    pub lost_pkts: f64,
    pub rto_count: f64,
    pub bytes_acked: f64,
    /// What the model paces by, bit/s.
    pub bw_bps: f64,
    /// Its maximum filter.
    pub max_bw_bps: f64,
    /// Its short-term bound; none while there is none, like the others.
    pub bw_lo_bps: Option<f64>,
    pub inflight_lo_pkts: Option<f64>,
    pub inflight_hi_pkts: Option<f64>,
    pub min_rtt_us: f64,
    pub pacing_gain: f64,
}

/// Consecutive samples of one phase, `from` included, `to` not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stay {
    pub from: usize,
    pub to: usize,
}

/// A run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Trace {
    /// In the order of time, of the only flow.
    pub samples: Vec<Sample>,
    /// Rate of the link on the wire, at first.
    pub rate_bps: f64,
    /// Later rates, by time.
    pub rate_steps: Vec<(f64, f64)>,
}

/// Headers of IPv4 and TCP with timestamps, and of Ethernet.
const OVERHEAD_BYTES: f64 = 20.0 + 32.0 + 14.0;

impl Sample {
    /// What the model takes for the bandwidth-delay product.
    pub fn bdp_pkts(&self) -> f64 {
        self.max_bw_bps * self.min_rtt_us / 1e6 / 8.0 / self.mss_bytes.max(1.0)
    }
}

impl Trace {
    /// The phases in their order.
    pub fn stays(&self) -> Vec<Stay> {
        let mut stays: Vec<Stay> = Vec::new();
        for (i, sample) in self.samples.iter().enumerate() {
            match stays.last_mut() {
                Some(last) if self.samples[last.from].phase == sample.phase => last.to = i + 1,
                _ => stays.push(Stay { from: i, to: i + 1 }),
            }
        }
        stays
    }

    /// Name of the phase of a stay.
    pub fn phase(&self, stay: Stay) -> &str {
        &self.samples[stay.from].phase
    }

    /// Its samples.
    pub fn of(&self, stay: Stay) -> &[Sample] {
        &self.samples[stay.from..stay.to]
    }

    /// When it begins and ends: with the first sample of the next one.
    pub fn times(&self, stay: Stay) -> (f64, f64) {
        let end = self.samples.get(stay.to).unwrap_or_else(|| &self.samples[stay.to - 1]);
        (self.samples[stay.from].t_s, end.t_s)
    }

    /// How many round trips a stay lasts.
    pub fn rounds(&self, stay: Stay) -> f64 {
        let (from, to) = self.times(stay);
        (to - from) / mean(self.of(stay).iter().map(|sample| sample.rtt_us / 1e6)).max(1e-6)
    }

    /// Stays of this phase with the one that follows; the last of a run, which the end cuts off, is left out.
    pub fn stays_of(&self, phase: &str) -> Vec<(Stay, Stay)> {
        let all = self.stays();
        all.windows(2).filter(|pair| self.phase(pair[0]) == phase).map(|pair| (pair[0], pair[1])).collect()
    }

    /// What the link carries of payload at a time.
    pub fn payload_bps(&self, t_s: f64) -> f64 {
        let steps = self.rate_steps.iter().take_while(|(at, _)| *at <= t_s);
        let wire_bps = steps.last().map_or(self.rate_bps, |(_, bps)| *bps);
        let mss = self.samples.last().map_or(1448.0, |sample| sample.mss_bytes);
        wire_bps * mss / (mss + OVERHEAD_BYTES)
    }

    /// Goodput from one time to another.
    pub fn goodput_bps(&self, from_s: f64, to_s: f64) -> f64 {
        let within: Vec<&Sample> = self.samples.iter().filter(|sample| (from_s..=to_s).contains(&sample.t_s)).collect();
        let (Some(first), Some(last)) = (within.first(), within.last()) else { return 0.0 };
        (last.bytes_acked - first.bytes_acked) * 8.0 / (last.t_s - first.t_s).max(1e-6)
    }

    /// The last moment that was seen.
    pub fn end_s(&self) -> f64 {
        self.samples.last().map_or(0.0, |sample| sample.t_s)
    }

    /// From the recording of a run, which began so long after it.
    pub fn read(path: &Path, begin_s: f64, rate_bps: f64, rate_steps: Vec<(f64, f64)>) -> Result<Trace> {
        let unreadable = |reason: String| Error::Result { path: path.to_owned(), reason };
        let file = File::open(path).map_err(Error::folder(path, "read it"))?;
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).and_then(|builder| builder.build());
        let mut samples = Vec::new();
        for batch in reader.map_err(|error| unreadable(error.to_string()))? {
            let batch = batch.map_err(|error| unreadable(error.to_string()))?;
            let of_batch = samples_in(&batch, begin_s);
            samples.extend(of_batch.ok_or_else(|| unreadable("other columns than expected".to_owned()))?);
        }
        samples.sort_by(|a: &Sample, b: &Sample| a.t_s.total_cmp(&b.t_s));
        Ok(Trace { samples, rate_bps, rate_steps })
    }
}

/// Samples with a phase: an algorithm without phases has none.
fn samples_in(batch: &RecordBatch, begin_s: f64) -> Option<Vec<Sample>> {
    let text = |name: &str| batch.column_by_name(name)?.as_string_view_opt().cloned();
    let u32s = |name: &str| batch.column_by_name(name)?.as_primitive_opt::<UInt32Type>().cloned();
    let u64s = |name: &str| batch.column_by_name(name)?.as_primitive_opt::<UInt64Type>().cloned();
    let f32s = |name: &str| batch.column_by_name(name)?.as_primitive_opt::<Float32Type>().cloned();
    let (event, phase, ca_state) = (text("event")?, text("trace_mode")?, text("ca_state")?);
    let (t_us, acked) = (u64s("t_us")?, u64s("bytes_acked")?);
    let app_limited = batch.column_by_name("app_limited")?.as_boolean_opt()?;
    let (cwnd, inflight, mss, rtt) = (u32s("cwnd_pkts")?, u32s("inflight_pkts")?, u32s("mss_bytes")?, u32s("rtt_us")?);
    let (lost, rto) = (u32s("lost_pkts")?, u32s("rto_count")?);
    let (bw, bw_lo, bw_hi) = (u64s("trace_bw_bps")?, u64s("trace_bw_lo_bps")?, u64s("trace_bw_hi_bps")?);
    let (lo, hi) = (u32s("trace_inflight_lo_pkts")?, u32s("trace_inflight_hi_pkts")?);
    let (min_rtt, pacing) = (u32s("trace_min_rtt_us")?, f32s("trace_pacing_gain")?);
    let rows = (0..batch.num_rows()).filter(|&row| event.value(row) == "sample" && phase.is_valid(row));
    let sample = |row: usize| Sample {
        t_s: t_us.value(row) as f64 / 1e6 - begin_s,
        phase: phase.value(row).to_owned(),
        ca_state: ca_state.value(row).to_owned(),
        cwnd_pkts: cwnd.value(row).into(),
        inflight_pkts: inflight.value(row).into(),
        mss_bytes: mss.value(row).into(),
        rtt_us: rtt.value(row).into(),
        app_limited: app_limited.value(row),
        lost_pkts: lost.value(row).into(),
        rto_count: rto.value(row).into(),
        bytes_acked: acked.value(row) as f64,
        bw_bps: bw.value(row) as f64,
        max_bw_bps: bw_hi.value(row) as f64,
        bw_lo_bps: bw_lo.is_valid(row).then(|| bw_lo.value(row) as f64),
        inflight_lo_pkts: lo.is_valid(row).then(|| lo.value(row).into()),
        inflight_hi_pkts: hi.is_valid(row).then(|| hi.value(row).into()),
        min_rtt_us: min_rtt.value(row).into(),
        pacing_gain: pacing.value(row).into(),
    };
    Some(rows.map(sample).collect())
}

/// Of nothing it is 0.
pub fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0u32), |(sum, count), value| (sum + value, count + 1));
    if count == 0 { 0.0 } else { sum / f64::from(count) }
}
