//! What is kept of a decision: its figures as JSON, and the recording that they come from.

use crate::decision::Decision;
use crate::error::{Error, Result};
use ccactl_collector::utc_compact;
use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Where the evidence goes unless the caller names a folder: `canary` below `CCACTL_STATE` or `/var/lib/ccactl`.
#[must_use]
pub fn default_evidence_dir() -> PathBuf {
    let state = env::var_os("CCACTL_STATE").map_or_else(|| PathBuf::from("/var/lib/ccactl"), PathBuf::from);
    state.join("canary")
}

/// The two files of one canary.
#[derive(Debug)]
pub(crate) struct Evidence {
    pub(crate) decision: PathBuf,
    pub(crate) recording: PathBuf,
}

impl Evidence {
    /// Names for a canary that starts now; makes the folder.
    pub(crate) fn prepare(dir: &Path, cgroup_id: u64, kernel_name: &str) -> Result<Evidence> {
        fs::create_dir_all(dir).map_err(|cause| error(dir, cause))?;
        // Relative paths would mean nothing to a later reader of the decision.
        let dir = dir.canonicalize().map_err(|cause| error(dir, cause))?;
        let stem = free_stem(&dir, &format!("{}-{cgroup_id}-{kernel_name}", utc_compact()));
        let file = |extension: &str| dir.join(format!("{stem}.{extension}"));
        Ok(Evidence { decision: file("json"), recording: file("parquet") })
    }

    /// Writes the decision, whole or not at all.
    pub(crate) fn write(&self, decision: &Decision) -> Result<()> {
        let mut json = serde_json::to_vec_pretty(decision).expect("a decision has only types that JSON knows");
        json.push(b'\n');
        let partial = self.decision.with_extension("json.partial");
        fs::write(&partial, json)
            .and_then(|()| fs::rename(&partial, &self.decision))
            .map_err(|cause| error(&self.decision, cause))
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
