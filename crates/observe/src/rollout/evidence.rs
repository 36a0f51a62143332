//! What is kept of a decision: its figures as JSON, and the recording that they come from.

use crate::rollout::decision::{Decision, Figures};
use crate::rollout::error::{Error, Result};
use crate::rollout::verdict::Verdict;
use ccactl_collector::utc_compact;
use ccactl_host::output::{self, Folder, Replace};
use serde::Serialize;
use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// End of the name of the file that tells of a canary while it is watched.
pub(crate) const RUNNING: &str = ".running.json";

/// What ccactl keeps from one run to the next: `CCACTL_STATE` or `/var/lib/ccactl`.
#[must_use]
pub fn state_dir() -> PathBuf {
    env::var_os("CCACTL_STATE").map_or_else(|| PathBuf::from("/var/lib/ccactl"), PathBuf::from)
}

/// Where the evidence goes unless the caller names a folder: `canary` below [`state_dir`].
#[must_use]
pub fn default_evidence_dir() -> PathBuf {
    state_dir().join("canary")
}

/// A canary that is being watched, as others may read it: `ccactl serve` does.
#[derive(Debug, Serialize)]
pub(crate) struct Running<'a> {
    /// Of the watcher: a file whose process is gone is left over.
    pub(crate) pid: u32,
    pub(crate) algorithm: &'a str,
    pub(crate) cgroup: &'a str,
    pub(crate) share: f64,
    pub(crate) elapsed_s: f64,
    pub(crate) watch_s: f64,
    pub(crate) guards: &'a [Verdict],
    pub(crate) canary: &'a Figures,
    pub(crate) baseline: &'a Figures,
    /// Of the metrics in both, by name.
    pub(crate) units: BTreeMap<&'static str, &'static str>,
}

/// The two files of one canary, and a third while it runs.
#[derive(Debug)]
pub(crate) struct Evidence {
    pub(crate) decision: PathBuf,
    pub(crate) recording: PathBuf,
    running: PathBuf,
}

impl Drop for Evidence {
    fn drop(&mut self) {
        // There is none where the watch has not begun.
        let _ = fs::remove_file(&self.running);
    }
}

impl Evidence {
    /// Names for a canary that starts now; makes the folder.
    pub(crate) fn prepare(dir: &Path, cgroup_id: u64, kernel_name: &str) -> Result<Evidence> {
        Folder::make_for_state(dir).map_err(|cause| error(dir, cause.into()))?;
        // Relative paths would mean nothing to a later reader of the decision.
        let dir = dir.canonicalize().map_err(|cause| error(dir, cause))?;
        let stem = free_stem(&dir, &format!("{}-{cgroup_id}-{kernel_name}", utc_compact()));
        let file = |extension: &str| dir.join(format!("{stem}.{extension}"));
        let running = dir.join(format!("{stem}{RUNNING}"));
        Ok(Evidence { decision: file("json"), recording: file("parquet"), running })
    }

    /// Tells how it stands. The watch does not depend on whoever reads it, nor on there being room for it.
    pub(crate) fn tell(&self, running: &Running<'_>) {
        let json = serde_json::to_vec(running).expect("it has only types that JSON knows");
        if let Err(error) = output::write(&self.running, &json, Replace::Ours) {
            tracing::debug!("{}: {error}", self.running.display());
        }
    }

    /// Writes the decision, whole or not at all.
    pub(crate) fn write(&self, decision: &Decision) -> Result<()> {
        let mut json = serde_json::to_vec_pretty(decision).expect("a decision has only types that JSON knows");
        json.push(b'\n');
        self.write_json(&json)
    }

    fn write_json(&self, json: &[u8]) -> Result<()> {
        output::write(&self.decision, json, Replace::Never).map_err(|cause| error(&self.decision, cause.into()))
    }

    /// Of a canary that never started, nothing is kept.
    pub(crate) fn discard_recording(&self) {
        if let Err(cause) = fs::remove_file(&self.recording)
            && cause.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!("cannot remove {}: {cause}", self.recording.display());
        }
    }
}

/// The name, or the name with a number when a canary of the same second has left files, perhaps because it was killed.
fn free_stem(dir: &Path, stem: &str) -> String {
    let taken: Vec<String> = fs::read_dir(dir)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|file| file.file_name().into_string().ok())
        .collect();
    let is_free = |stem: &String| !taken.iter().any(|name| name.starts_with(&format!("{stem}.")));
    let numbered = (2..).map(|number| format!("{stem}-{number}"));
    std::iter::once(stem.to_owned()).chain(numbered).find(is_free).expect("some number is free")
}

fn error(path: &Path, cause: io::Error) -> Error {
    Error::Evidence { path: path.to_owned(), cause }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_decision_is_written_through_no_link_and_in_no_place_of_another() {
        let dir = tempfile::tempdir().unwrap();
        let victim = dir.path().join("victim");
        fs::write(&victim, "as it was").unwrap();
        let evidence = Evidence::prepare(&dir.path().join("evidence"), 1, "x").unwrap();
        symlink(&victim, evidence.decision.with_extension("json.partial")).unwrap();
        evidence.write_json(b"{}").unwrap();
        assert_eq!(fs::read(&evidence.decision).unwrap(), b"{}");

        let second = evidence.write_json(b"another").unwrap_err().to_string();
        assert!(second.contains("it exists; --evidence names another folder"), "{second}");
        fs::remove_file(&evidence.decision).unwrap();
        symlink(&victim, &evidence.decision).unwrap();
        let refused = evidence.write_json(b"{}").unwrap_err().to_string();
        assert!(refused.contains("it is a symbolic link"), "{refused}");
        assert_eq!(fs::read(&victim).unwrap(), b"as it was");
    }

    #[test]
    fn what_a_killed_canary_has_left_is_not_written_over() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(free_stem(dir.path(), "a-1-x"), "a-1-x");
        fs::write(dir.path().join("a-1-x.parquet.partial.arrows"), "").unwrap();
        assert_eq!(free_stem(dir.path(), "a-1-x"), "a-1-x-2");
        fs::write(dir.path().join("a-1-x-2.json"), "").unwrap();
        assert_eq!(free_stem(dir.path(), "a-1-x"), "a-1-x-3");
        assert_eq!(free_stem(dir.path(), "a-1"), "a-1", "another name that only begins alike");
    }
}
