//! What host and guest say to each other: a job goes in with the first file system, an outcome comes back among the results.

use serde::{Deserialize, Serialize};

/// The program in the guest, which is init and runs the commands.
pub(crate) const PROGRAM: &str = "ccactl";
/// The job, in the guest.
pub(crate) const JOB: &str = "job.json";
/// Folder of the modules in the guest.
pub(crate) const MODULES: &str = "modules";
/// Folder in the guest that comes back.
pub(crate) const RESULTS: &str = "results";
/// The outcome, below [`RESULTS`].
pub(crate) const OUTCOME: &str = "outcome.json";
/// What the commands print, below [`RESULTS`].
pub(crate) const PRINTED: &str = "printed";

/// One call of ccactl in the guest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestCommand {
    /// Arguments, without the name of the program.
    pub arguments: Vec<String>,
    /// How long it may take in the guest's time, in s.
    pub limit_s: u64,
}

/// All that init has to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Job {
    /// Names of modules that are loaded before the first command, in this order.
    pub(crate) modules: Vec<String>,
    /// Names of modules that are loaded after the last one. A disk's answers come when the host has them, which is not the
    /// same moment of the guest's time twice. So there is no disk while something is measured.
    pub(crate) disk_modules: Vec<String>,
    /// One after the other, whatever becomes of each.
    pub(crate) commands: Vec<GuestCommand>,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// With this exit code.
    Exited(i32),
    /// By this signal.
    Killed(i32),
    /// It took longer than its limit, and was killed.
    Overdue,
    /// It could not be started, and why.
    NotStarted(String),
}

/// What became of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandOutcome {
    /// As in the job.
    pub arguments: Vec<String>,
    /// How it ended.
    pub end: End,
    /// How long it took in the guest's time, in ns.
    pub took_ns: u64,
}

/// What became of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// `uname -r` of the guest.
    pub release: String,
    /// In the order of the job.
    pub commands: Vec<CommandOutcome>,
}

/// Name of the file with what command `index` printed on one of its two outputs.
pub(crate) fn printed(index: usize, stream: &str) -> String {
    format!("{index}.{stream}")
}
