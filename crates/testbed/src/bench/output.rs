//! The folder of a bench.

use super::result::{BenchResult, RunResult};
use crate::error::{Error, Result};
use ccactl_host::input;
use ccactl_host::output::{self, Folder, Place, Replace};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// No result of a bench is as large.
const MAX_RESULT_BYTES: u64 = 64 << 20;

/// A folder that was checked before anything started.
#[derive(Debug)]
pub struct OutputDir {
    path: PathBuf,
    earlier: Vec<RunResult>,
}

impl OutputDir {
    /// Takes a folder that is missing or empty of results and can be written.
    ///
    /// # Errors
    /// [`Error::Output`] with the reason; nothing is left behind.
    pub fn prepare(path: &Path) -> Result<OutputDir> {
        let fail = |cause| Error::Output { path: path.to_owned(), cause };
        // A link of somebody else that leads nowhere yet would be refused at the end of the bench.
        if ["result.json", "scenario.toml"].iter().any(|name| path.join(name).symlink_metadata().is_ok()) {
            return Err(fail(io::Error::new(io::ErrorKind::AlreadyExists, "the results of another bench")));
        }
        // Only a write tells: permissions, a read-only mount and quotas look alike.
        let probe = Folder::make(path).and_then(|_| Place::at(&path.join("probe"))?.draft(Replace::Never));
        probe.map_err(io::Error::from).and_then(|probe| probe.file().write_all(b"x")).map_err(fail)?;
        Ok(OutputDir { path: path.to_owned(), earlier: Vec::new() })
    }

    /// Takes the folder of a bench of the same scenario with fewer runs, and removes what an interrupted one has left of others.
    ///
    /// # Errors
    /// [`Error::Output`] when its result cannot be read or the system refuses.
    pub fn go_on(path: &Path) -> Result<OutputDir> {
        let fail = |cause| Error::Output { path: path.to_owned(), cause };
        let json = input::read(&path.join("result.json"), MAX_RESULT_BYTES).map_err(fail)?;
        let BenchResult { runs, .. } = serde_json::from_slice(&json).map_err(|error| fail(error.into()))?;
        for entry in fs::read_dir(path).map_err(fail)? {
            let name = entry.map_err(fail)?.file_name().to_string_lossy().into_owned();
            if name.starts_with("run-") && runs.iter().all(|run| run.directory != name) {
                fs::remove_dir_all(path.join(name)).map_err(fail)?;
            }
        }
        Ok(OutputDir { path: path.to_owned(), earlier: runs })
    }

    /// The runs that are there already, attempts included.
    pub(super) fn earlier(&self) -> &[RunResult] {
        &self.earlier
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes a sub-folder.
    pub(super) fn subdir(&self, name: &str) -> Result<PathBuf> {
        let path = self.path.join(name);
        let made = Place::at(&path).map_err(io::Error::from).and_then(|place| fs::create_dir(place.reach()));
        match made {
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
        output::write(&path, content, Replace::Ours).map_err(|cause| Error::Output { path, cause: cause.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

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
    fn nothing_is_written_through_a_link() {
        let parent = tempfile::tempdir().unwrap();
        let (path, victim) = (parent.path().join("bench"), parent.path().join("victim"));
        fs::create_dir(&path).unwrap();
        fs::write(&victim, "as it was").unwrap();
        for name in [".ccactl-probe", "scenario.toml.partial", "link.parquet.partial", "link.parquet"] {
            symlink(&victim, path.join(name)).unwrap();
        }
        let output = OutputDir::prepare(&path).unwrap();
        output.write("scenario.toml", b"x").unwrap();
        assert!(super::super::link_file::write(&path, &[], &[]).unwrap_err().to_string().contains("a symbolic link"));
        symlink(parent.path(), path.join("run-1")).unwrap();
        output.subdir("run-1").unwrap_err();
        symlink(&victim, path.join("result.json")).unwrap();
        assert!(output.write("result.json", b"{}").unwrap_err().to_string().contains("it is a symbolic link"));
        assert_eq!(fs::read(&victim).unwrap(), b"as it was");
    }

    #[test]
    fn a_link_to_nothing_in_the_place_of_results_is_told_before_the_bench() {
        let folder = tempfile::tempdir().unwrap();
        symlink("nothing", folder.path().join("result.json")).unwrap();
        let error = OutputDir::prepare(folder.path()).unwrap_err().to_string();
        assert!(error.contains("the results of another bench"), "{error}");
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
