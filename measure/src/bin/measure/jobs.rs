//! One bench per job; the jobs of a group run side by side, so that noise of the host meets all of them.

use crate::tables;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

/// One call of `ccactl bench`.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// Folder of its output.
    pub label: String,
    /// A shipped scenario.
    pub scenario: &'static str,
    /// What differs from it.
    pub args: Vec<String>,
}

/// Runs every group in order, in the virtual lab that is named.
pub fn run_all(groups: &[Vec<Job>], dir: &Path, lab: Option<&str>) -> Result<(), String> {
    std::fs::create_dir_all(dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let begun = Instant::now();
    for (i, group) in groups.iter().enumerate() {
        let missing: Vec<&Job> = group.iter().filter(|job| !is_done(dir, job)).collect();
        let names: Vec<&str> = missing.iter().map(|job| job.label.as_str()).collect();
        eprintln!("[{:>5} s] {}/{}: {}", begun.elapsed().as_secs(), i + 1, groups.len(), names.join(", "));
        let started: Result<Vec<(&Job, Child)>, String> =
            missing.into_iter().map(|job| Ok((job, start(job, dir, lab)?))).collect();
        for (job, mut child) in started? {
            let status = child.wait().map_err(|e| format!("{}: {e}", job.label))?;
            if !status.success() {
                // Other jobs go on; the table says what is missing.
                eprintln!("{}: ended with {status}, see {}", job.label, log_path(dir, job).display());
            }
        }
    }
    Ok(())
}

/// Whether it has a valid run; what has none is tried again.
fn is_done(dir: &Path, job: &Job) -> bool {
    tables::result(dir, &job.label).is_ok_and(|result| result.is_some_and(|result| !result["aggregate"].is_null()))
}

fn log_path(dir: &Path, job: &Job) -> PathBuf {
    dir.join(format!("{}.log", job.label))
}

fn start(job: &Job, dir: &Path, lab: Option<&str>) -> Result<Child, String> {
    let program = std::env::var("CCACTL").unwrap_or_else(|_| "ccactl".to_owned());
    let folder = dir.join(&job.label);
    // What a failed or interrupted bench left; a bench does not write into the folder of another.
    if folder.exists() {
        std::fs::remove_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    }
    let log = log_path(dir, job);
    let log = File::create(&log).map_err(|e| format!("{}: {e}", log.display()))?;
    let out = log.try_clone().map_err(|e| format!("{}: {e}", job.label))?;
    Command::new(&program)
        .args(["bench", job.scenario])
        .args(&job.args)
        .args(lab.iter().flat_map(|lab| ["--lab", lab]))
        .arg("-o")
        .arg(folder)
        .stdin(Stdio::null())
        .stdout(out)
        .stderr(log)
        .spawn()
        .map_err(|e| format!("{program}: {e}; set CCACTL to the built binary"))
}
