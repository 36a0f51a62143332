//! One run with its figures.

use super::flow::{self, FlowResult};
use super::link::LinkResult;
use super::measured::Measured;
use super::udp::{self, UdpResult};
use crate::bench::network::TransmitterResult;
use crate::bench::swaps::SwapResult;
use crate::bench::validity::{self, Evidence, Limits};
use crate::host::cpu::CpuUse;
use ccactl_report::{Measures, RecordingSummary, stats};
use ccactl_scenario::Scenario;
use serde::{Deserialize, Serialize};

const US_PER_S: f64 = 1e6;

/// One run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// From 1.
    pub run: u32,
    /// 2 when the first attempt was not valid, and so on.
    pub attempt: u32,
    /// Its folder, below that of the bench.
    pub directory: String,
    /// Whether it counts.
    pub valid: bool,
    /// Why it does not.
    pub problems: Vec<String>,
    /// What became of the CPUs' time.
    pub cpu: CpuUse,
    /// The bottleneck.
    pub link: LinkResult,
    /// Every transmitter, that of the bottleneck first.
    pub transmitters: Vec<TransmitterResult>,
    /// When the run begins in the time of its recording, which is started before; 0 in results that do not say.
    #[serde(default)]
    pub begin_in_recording_s: f64,
    /// Packets that were in queues and on wires when the emulator was stopped; absent without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inside_packets: Option<u64>,
    /// Rows in the recording.
    pub recorded_rows: u64,
    /// Rows that the recorder lost.
    pub recorder_drops: u64,
    /// Jain index of the bytes that were acknowledged to flows which are one transfer each; none for a single one.
    pub jain: Option<f64>,
    /// By flow of the scenario.
    pub flows: Vec<FlowResult>,
    /// Changes of algorithm, in the order in which they were carried out; not read back, as no one needs them from a file.
    #[serde(skip_deserializing)]
    pub swaps: Vec<SwapResult>,
    /// By UDP source of the scenario.
    pub udp: Vec<UdpResult>,
}

impl RunResult {
    pub(in crate::bench) fn new(
        scenario: &Scenario,
        limits: &Limits,
        (run, attempt, directory): (u32, u32, String),
        measured: Measured,
        summary: RecordingSummary,
    ) -> Self {
        let recorded = (measured.recorded.rows, measured.recorded.drops.total());
        let flows = flow::flow_results(scenario, &measured, &summary);
        let evidence = Evidence {
            carried_bps: measured.carried.carried_bps,
            lateness: measured.carried.lateness.as_ref(),
            emulator: measured.carried.emulator.as_ref(),
            device_drops: measured.carried.device_drops,
            recorded,
            cpu: measured.cpu,
            flows: &flows,
        };
        let problems = validity::problems(limits, &evidence);
        RunResult {
            run,
            attempt,
            directory,
            valid: problems.is_empty(),
            problems,
            cpu: measured.cpu,
            begin_in_recording_s: measured.recorded.clock.elapsed_us(measured.t0) as f64 / US_PER_S,
            link: LinkResult::new(scenario, &measured, &summary),
            inside_packets: measured.carried.inside_packets,
            recorded_rows: recorded.0,
            recorder_drops: recorded.1,
            jain: jain(scenario, &flows),
            flows,
            udp: udp::udp_results(scenario, &measured),
            swaps: measured.swaps,
            transmitters: measured.carried.transmitters,
        }
    }

    /// Difference between the largest and the smallest goodput; none for a single flow.
    #[must_use]
    pub fn gap_bps(&self) -> Option<f64> {
        let goodputs: Vec<f64> = self.flows.iter().filter_map(|f| f.metrics.as_ref()?.goodput_bps).collect();
        if goodputs.len() < 2 {
            return None;
        }
        let largest = goodputs.iter().copied().fold(f64::MIN, f64::max);
        let smallest = goodputs.iter().copied().fold(f64::MAX, f64::min);
        Some(largest - smallest)
    }

    pub(super) fn measures(&self) -> impl Iterator<Item = &Measures> {
        self.flows.iter().filter_map(|flow| flow.metrics.as_ref())
    }

    pub(super) fn rtt_mean_us(&self) -> Option<f64> {
        let samples: u64 = self.measures().map(|m| m.rtt_samples).sum();
        let sum: f64 = self.measures().filter_map(|m| Some(m.rtt_mean_us? * m.rtt_samples as f64)).sum();
        (samples > 0).then(|| sum / samples as f64)
    }
}

/// Many short connections of one flow are no rivals of one another, so this is by flow and not by socket.
fn jain(scenario: &Scenario, flows: &[FlowResult]) -> Option<f64> {
    let single = scenario.flows.iter().zip(flows).filter(|(flow, _)| flow::is_single(flow));
    let acked: Vec<f64> = single.filter_map(|(_, result)| Some(result.metrics.as_ref()?.acked_bytes as f64)).collect();
    stats::jain(&acked)
}
