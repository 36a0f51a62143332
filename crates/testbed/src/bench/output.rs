//! The folder of a bench.

use crate::error::{Error, Result};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A folder that was checked before anything started.
#[derive(Debug)]
pub struct OutputDir {
    path: PathBuf,
}

impl OutputDir {
    /// Takes a folder that is missing or empty of results and can be written.
    ///
    /// # Errors
    /// [`Error::Output`] with the reason; nothing is left behind.
    pub fn prepare(path: &Path) -> Result<OutputDir> {
        let fail = |cause| Error::Output { path: path.to_owned(), cause };
        if ["result.json", "scenario.toml"].iter().any(|name| path.join(name).exists()) {
            return Err(fail(io::Error::new(io::ErrorKind::AlreadyExists, "the results of another bench")));
        }
        fs::create_dir_all(path).map_err(fail)?;
        // Only a write tells: permissions, a read-only mount and quotas look alike.
        let probe = path.join(".ccactl-probe");
        fs::write(&probe, b"x").and_then(|()| fs::remove_file(&probe)).map_err(fail)?;
        Ok(OutputDir { path: path.to_owned() })
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes a sub-folder.
    pub(super) fn subdir(&self, name: &str) -> Result<PathBuf> {
        let path = self.path.join(name);
        match fs::create_dir(&path) {
            Ok(()) => Ok(path),
            Err(cause) => Err(Error::Output { path, cause }),
        }
    }

    /// Writes a file as a whole: a reader sees all of it or nothing.
    ///
    /// # Errors
    /// [`Error::Output`].
    pub fn write(&self, name: &str, content: &[u8]) -> Result<()> {
        let path = self.path.join(name);
        let partial = self.path.join(format!("{name}.partial"));
        fs::write(&partial, content)
            .and_then(|()| fs::rename(&partial, &path))
            .map_err(|cause| Error::Output { path, cause })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_made_and_probed() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("a/b");
        let output = OutputDir::prepare(&path).unwrap();
        output.write("result.json", b"{}").unwrap();
        let names: Vec<_> = fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["result.json"], "neither the probe nor a partial file stays");
    }

    #[test]
    fn a_folder_with_results_or_a_file_in_its_place_is_refused() {
        let parent = tempfile::tempdir().unwrap();
        fs::write(parent.path().join("result.json"), "{}").unwrap();
        fs::write(parent.path().join("file"), "").unwrap();
        for path in [parent.path().to_owned(), parent.path().join("file"), "/proc/ccactl-bench".into()] {
            let error = OutputDir::prepare(&path).unwrap_err();
            assert_eq!(error.exit_code(), ccactl_abi::exit::USAGE);
            assert!(error.to_string().contains(&path.display().to_string()), "{error}");
        }
    }
}
