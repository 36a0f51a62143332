//! One recording: a file, its metadata, and its rows in batches.

mod detect;
mod find;
mod metadata;
mod rows;
mod schema;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use polars::prelude::*;
use polars_arrow::io::ipc::read::read_stream_metadata;
use tempfile::NamedTempFile;

pub use find::open_all;
pub(crate) use find::partial_of;
pub use metadata::{AlgorithmInfo, DropReasons, FlowInfo, Link, Metadata, ValueInfo};
pub use rows::Extent;

use crate::Error;
use detect::Kind;

/// Version of the columns and metadata that this crate reads.
pub const SCHEMA_VERSION: u32 = 2;

/// An opened recording. Nothing but its metadata is in memory.
#[derive(Debug, Clone)]
pub struct Recording {
    path: PathBuf,
    metadata: Metadata,
    kind: Kind,
    columns: Arc<Schema>,
    /// Rows of each row group; empty for a stream.
    row_groups: Vec<usize>,
    /// Keeps what came from standard input alive.
    spool: Option<Arc<NamedTempFile>>,
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
            Recording::from_file(path, None)
        }
    }

    /// Reads a recording from a pipe to its end, through a temporary file.
    ///
    /// # Errors
    /// As [`Recording::open`], or when the temporary file cannot be written.
    pub fn from_reader(mut reader: impl Read) -> Result<Recording, Error> {
        let name = Path::new("-");
        let spool = NamedTempFile::with_prefix("ccactl-report-")
            .map_err(|source| Error::Output { path: std::env::temp_dir(), source })?;
        let mut file = spool.as_file();
        std::io::copy(&mut reader, &mut file).and_then(|_| file.flush()).map_err(|source| Error::io(name, source))?;
        Recording::from_file(name, Some(Arc::new(spool)))
    }

    fn from_file(path: &Path, spool: Option<Arc<NamedTempFile>>) -> Result<Recording, Error> {
        let on_disk = spool.as_ref().map_or(path, |s| s.path());
        let mut file = File::open(on_disk).map_err(|source| Error::io(path, source))?;
        let kind = detect::kind(path, &mut file)?;
        let Header { raw, columns, row_groups } = match kind {
            Kind::Parquet => parquet_header(path, file)?,
            Kind::ArrowStream => stream_header(path, &mut file)?,
        };
        let metadata = Metadata::parse(path, &raw)?;
        schema::check(path, metadata.schema_version, &columns)?;
        Ok(Recording { path: path.to_owned(), metadata, kind, columns: Arc::new(columns), row_groups, spool })
    }

    /// Path as the user gave it, `-` for standard input.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the recorder wrote beside the rows.
    #[must_use]
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Where the rows are on disk.
    fn file_path(&self) -> &Path {
        self.spool.as_ref().map_or(&self.path, |spool| spool.path())
    }
}

/// What a file says before its rows.
struct Header {
    raw: BTreeMap<String, String>,
    columns: Schema,
    row_groups: Vec<usize>,
}

fn parquet_header(path: &Path, file: File) -> Result<Header, Error> {
    let bad = |error: PolarsError| Error::Truncated {
        path: path.to_owned(),
        found: format!("its Parquet footer does not parse ({})", error.to_string().lines().next().unwrap_or_default()),
        remedy: "copy the file again or record again".to_owned(),
    };
    let mut reader = ParquetReader::new(file);
    let footer = Arc::clone(reader.get_metadata().map_err(bad)?);
    let pairs = footer.key_value_metadata.clone().unwrap_or_default();
    let columns = reader.schema().map_err(bad)?;
    let raw = pairs.into_iter().filter_map(|pair| Some((pair.key, pair.value?))).collect();
    let row_groups = footer.row_groups.iter().map(|group| group.num_rows()).collect();
    Ok(Header { raw, columns: Schema::from_arrow_schema(&columns), row_groups })
}

fn stream_header(path: &Path, file: &mut File) -> Result<Header, Error> {
    file.seek(SeekFrom::Start(0)).map_err(|source| Error::io(path, source))?;
    let header = read_stream_metadata(file).map_err(|error| Error::Truncated {
        path: path.to_owned(),
        found: format!(
            "the schema of its Arrow stream does not parse ({})",
            error.to_string().lines().next().unwrap_or_default()
        ),
        remedy: "record again".to_owned(),
    })?;
    let raw = header.custom_schema_metadata.unwrap_or_default();
    let raw = raw.into_iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    Ok(Header { raw, columns: Schema::from_arrow_schema(&header.schema), row_groups: Vec::new() })
}
