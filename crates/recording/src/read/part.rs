//! One file of a recording: what it says before its rows, and whether it is whole.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Seek;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::{Problem, Verdict, verify};
use ccactl_host::input;
use polars::prelude::*;
use tempfile::NamedTempFile;

use super::Error;
use super::detect::{self, Kind};
use super::guard::guarded;
use super::{Metadata, schema, stream};

/// An opened file. Nothing but its header is in memory.
#[derive(Debug, Clone)]
pub struct Part {
    /// As the user gave it, `-` for standard input.
    pub path: PathBuf,
    pub metadata: Metadata,
    pub columns: Arc<Schema>,
    pub layout: Layout,
    /// Whether a stream ends without its end mark.
    pub truncated: bool,
    /// What a reader should know: damage that ends the stream early.
    pub problem: Option<String>,
    /// Keeps what came from standard input alive.
    spool: Option<Arc<NamedTempFile>>,
}

/// Years of every ACK of a fast link: a claim beyond is damage.
const MAX_ROWS: u128 = 1 << 40;

/// How the rows lie in the file.
#[derive(Debug, Clone)]
pub enum Layout {
    /// Where the columns of each row group are.
    Parquet(FileMetadataRef),
    /// Number of batches that can be read.
    Stream(usize),
}

impl Part {
    pub fn open(path: &Path, spool: Option<Arc<NamedTempFile>>) -> Result<Part, Error> {
        let on_disk = spool.as_ref().map_or(path, |s| s.path());
        let mut file = input::open(on_disk).map_err(|source| Error::io(path, source))?;
        let kind = detect::kind(path, &mut file)?;
        let header = guarded(|| match kind {
            Kind::Parquet => parquet_header(path, file),
            Kind::ArrowStream => stream_header(path, on_disk),
        });
        let undecodable = |reason| Err(Error::Undecodable { path: path.to_owned(), reason });
        let Header { raw, columns, layout, problem } = header.unwrap_or_else(undecodable)?;
        let metadata = Metadata::from_pairs(&raw).map_err(Error::metadata(path))?;
        schema::check(path, metadata.schema_version, &columns)?;
        let truncated = problem.is_some();
        let problem = problem
            .filter(|problem| !matches!(problem, Problem::Truncated))
            .map(|problem| format!("{}: damaged: {problem}; what comes before that was read", path.display()));
        Ok(Part { path: path.to_owned(), metadata, columns: Arc::new(columns), layout, truncated, problem, spool })
    }

    /// Where the rows are on disk.
    pub fn file_path(&self) -> &Path {
        self.spool.as_ref().map_or(&self.path, |spool| spool.path())
    }
}

struct Header {
    raw: BTreeMap<String, String>,
    columns: Schema,
    layout: Layout,
    problem: Option<Problem>,
}

fn parquet_header(path: &Path, mut file: File) -> Result<Header, Error> {
    let malformed = |reason: &str| Error::Truncated {
        path: path.to_owned(),
        found: format!("its Parquet footer does not parse ({reason})"),
        remedy: "copy the file again or record again".to_owned(),
    };
    match verify(&file).map_err(|source| Error::io(path, source))? {
        Verdict::Intact | Verdict::NoChecksum => {}
        Verdict::Damaged => return Err(Error::Damaged { path: path.to_owned() }),
        Verdict::Malformed => return Err(malformed("a length in it is beyond its end")),
    }
    file.rewind().map_err(|source| Error::io(path, source))?;
    let bad = |error: PolarsError| malformed(error.to_string().lines().next().unwrap_or_default());
    let mut reader = ParquetReader::new(file);
    let footer = Arc::clone(reader.get_metadata().map_err(bad)?);
    let pairs = footer.key_value_metadata.clone().unwrap_or_default();
    let columns = reader.schema().map_err(bad)?;
    let raw = pairs.into_iter().filter_map(|pair| Some((pair.key, pair.value?))).collect();
    let rows: u128 = footer.row_groups.iter().map(|group| group.num_rows() as u128).sum();
    if rows > MAX_ROWS {
        return Err(Error::Undecodable { path: path.to_owned(), reason: format!("its footer claims {rows} rows") });
    }
    let columns = Schema::from_arrow_schema(&columns);
    Ok(Header { raw, columns, layout: Layout::Parquet(footer), problem: None })
}

fn stream_header(path: &Path, on_disk: &Path) -> Result<Header, Error> {
    let content = stream::content(on_disk).map_err(|reason| Error::Truncated {
        path: path.to_owned(),
        found: format!("the schema of its Arrow stream does not parse ({reason})"),
        remedy: "record again".to_owned(),
    })?;
    let raw = content.header.custom_schema_metadata.unwrap_or_default();
    let raw = raw.into_iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    let columns = Schema::from_arrow_schema(&content.header.schema);
    Ok(Header { raw, columns, layout: Layout::Stream(content.batches), problem: content.problem })
}
