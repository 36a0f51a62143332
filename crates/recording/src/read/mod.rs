//! One recording: a file or the parts of a dataset, its metadata, and its rows in batches.

mod dataset;
mod detect;
mod error;
mod find;
mod guard;
mod pages;
mod parquet;
mod part;
mod rows;
mod schema;
mod stream;

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::NamedTempFile;

pub use crate::metadata::{AlgorithmInfo, Canary, DropReasons, FlowInfo, Link, Metadata, Recovered, ValueInfo};
pub use dataset::{missing, path_of};
pub use error::Error;
pub use find::{left_out, open_all};
use part::Part;
pub use rows::{Batches, Extent};

/// An opened recording. Nothing but its metadata is in memory.
#[derive(Debug, Clone)]
pub struct Recording {
    path: PathBuf,
    metadata: Metadata,
    /// In order of time; one, unless it is a dataset.
    parts: Vec<Part>,
    problems: Vec<String>,
}

/// A file of a recording, as if it were all of it.
#[derive(Debug)]
pub struct OneFile {
    /// Its rows.
    pub recording: Recording,
    /// Where they are on disk.
    pub on_disk: PathBuf,
    /// Damage that ends it early.
    pub problem: Option<String>,
    /// That it is what is left of a killed recording.
    pub recovered: Option<String>,
}

impl Recording {
    /// Opens one file; `-` is standard input, read to its end.
    ///
    /// # Errors
    /// When the file is missing, unreadable, truncated, not a recording or of another schema version.
    pub fn open(path: impl AsRef<Path>) -> Result<Recording, Error> {
        let path = path.as_ref();
        if path == Path::new("-") {
            Recording::from_reader(std::io::stdin().lock())
        } else {
            Ok(dataset::whole(vec![Part::open(path, None)?]))
        }
    }

    /// Reads a recording from a pipe to its end, through a temporary file.
    ///
    /// # Errors
    /// As [`Recording::open`], or when the temporary file cannot be written.
    pub fn from_reader(mut reader: impl Read) -> Result<Recording, Error> {
        let name = Path::new("-");
        let spool = NamedTempFile::with_prefix("ccactl-report-")
            .map_err(|cause| Error::Spool { path: std::env::temp_dir(), cause })?;
        let mut file = spool.as_file();
        std::io::copy(&mut reader, &mut file).and_then(|_| file.flush()).map_err(|source| Error::io(name, source))?;
        Ok(dataset::whole(vec![Part::open(name, Some(Arc::new(spool)))?]))
    }

    /// Its files, each by itself.
    #[must_use]
    pub fn into_files(self) -> Vec<OneFile> {
        let one = |part: Part| OneFile {
            problem: part.problem.clone(),
            recovered: dataset::recovered(&part),
            on_disk: part.file_path().to_owned(),
            recording: dataset::whole(vec![part]),
        };
        self.parts.into_iter().map(one).collect()
    }

    /// Path as the user gave it, `-` for standard input; of a dataset its folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the recorder wrote beside the rows; of a dataset that of its first part, with the figures of all.
    #[must_use]
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// What a reader should know before trusting the figures: missing parts, a recovered file.
    #[must_use]
    pub fn problems(&self) -> &[String] {
        &self.problems
    }
}
