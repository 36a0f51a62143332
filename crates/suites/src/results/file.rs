//! What suites read of a bench's `result.json`. Fields that older results do not have are absent, not zero.

use ccactl_report::Measures;
use serde::Deserialize;

/// A bench.
#[derive(Debug, Deserialize)]
pub struct ResultFile {
    pub runs: Vec<RunFile>,
    #[serde(default)]
    pub missed_thresholds: Vec<MissedFile>,
}

/// A run or an attempt.
#[derive(Debug, Deserialize)]
pub struct RunFile {
    pub directory: String,
    pub valid: bool,
    pub problems: Vec<String>,
    pub jain: Option<f64>,
    pub link: LinkFile,
    pub flows: Vec<FlowFile>,
}

/// The bottleneck.
#[derive(Debug, Deserialize)]
pub struct LinkFile {
    pub rate_bps: u64,
    pub utilisation: Option<f64>,
    pub queue_mean_bytes: f64,
}

/// A flow.
#[derive(Debug, Deserialize)]
pub struct FlowFile {
    pub name: String,
    pub algorithm: String,
    pub metrics: Option<Measures>,
    pub link: CountersFile,
    #[serde(default)]
    pub transfers: Vec<TransferFile>,
}

/// What the bottleneck counted of a flow.
#[derive(Debug, Deserialize)]
pub struct CountersFile {
    pub dropped_full_packets: u64,
}

/// One transfer of a flow that repeats them.
#[derive(Debug, Deserialize)]
pub struct TransferFile {
    pub completion_us: Option<u64>,
}

/// A threshold of the scenario.
#[derive(Debug, Deserialize)]
pub struct MissedFile {
    pub name: String,
    pub limit: f64,
    pub measured: Option<f64>,
}
