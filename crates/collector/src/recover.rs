//! What a killed recording left becomes a file.

use crate::error::{Error, Result};
use crate::output;
use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{TimestampNanosecondType, UInt64Type};
use ccactl_host::input;
use ccactl_host::output::Place;
use ccactl_recording::Column;
use ccactl_recording::layout::TIME;
use ccactl_recording::metadata::{self, Key, Metadata, MetadataError, VERSIONS};
use ccactl_recording::names::{PARTIAL_SUFFIX, recovered_path, target_of};
use ccactl_recording::write::rows::column_of_other_type;
use ccactl_recording::write::{NotAStream, StreamFile, parquet, rfc3339};
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// What came back of one stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Recovered {
    /// The stream; it is kept.
    pub stream: PathBuf,
    /// The Parquet file that was made of it.
    pub path: PathBuf,
    /// Whole rows.
    pub rows: u64,
    /// Time of the last one, RFC 3339.
    pub until: Option<String>,
    /// Whether the stream ended in the middle of a batch, or without its end mark.
    pub truncated: bool,
    /// What ended the readable part early, if not the end of the file.
    pub damage: Option<String>,
}

/// The streams in a folder whose files were never made; those of a dataset, as a rule.
///
/// # Errors
/// [`Error::NotAStream`] when the folder cannot be read or has none.
pub fn streams_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let failed = |reason: String| NotAStream { path: folder.to_owned(), reason };
    let entries = fs::read_dir(folder).and_then(Iterator::collect::<std::io::Result<Vec<_>>>);
    let mut streams: Vec<PathBuf> = entries
        .map_err(|error| failed(error.to_string()))?
        .iter()
        .map(fs::DirEntry::path)
        .filter(|path| target_of(path).is_some())
        .filter(|path| !recovered_path(path).exists())
        .collect();
    if streams.is_empty() {
        return Err(failed(format!("the folder has no *{PARTIAL_SUFFIX} without its Parquet file")).into());
    }
    streams.sort();
    Ok(streams)
}

/// Makes `target` of every whole row in `stream`, which is kept.
///
/// # Errors
/// [`Error`]: a stream that a recording still writes, one that is no recording, a target that is there without `force`.
pub fn recover(stream: &Path, target: &Path, force: bool) -> Result<Recovered> {
    // Held to the end.
    let file = lock(stream)?;
    let place = Place::at(target).map_err(Error::output(target))?;
    let draft = place.draft(output::replace(force)).map_err(Error::output(target))?;
    let found = survey(stream, &file)?;
    let metadata = found.pairs_of_file();
    let rows = open(stream, &file)?;
    parquet::convert(rows, found.batches, draft, &metadata, found.is_sorted, &|| Ok(()))
        .map_err(|reason| Error::Recover { path: target.to_owned(), stream: stream.to_owned(), reason })?;
    Ok(Recovered {
        stream: stream.to_owned(),
        path: target.to_owned(),
        rows: found.rows,
        until: found.until(),
        truncated: found.truncated,
        damage: found.damage,
    })
}

/// A recorder holds this lock as long as it writes, and a kill releases it.
fn lock(stream: &Path) -> Result<Flock<File>> {
    let failed = |cause: std::io::Error| NotAStream { path: stream.to_owned(), reason: cause.to_string() };
    let file = input::open(stream).map_err(failed)?;
    Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|(_, errno)| match errno {
        Errno::EWOULDBLOCK => Error::StillRecorded { path: stream.to_owned() },
        errno => failed(errno.into()).into(),
    })
}

/// From its beginning: the file that is locked, whatever its path leads to meanwhile.
fn open(path: &Path, file: &File) -> std::result::Result<StreamFile, NotAStream> {
    let failed = |cause: std::io::Error| NotAStream { path: path.to_owned(), reason: cause.to_string() };
    StreamFile::read(path, file.try_clone().map_err(failed)?)
}

/// What the stream has, found by going through it once.
struct Survey {
    /// The pairs of the stream, with those that no ccactl writes.
    pairs: BTreeMap<String, String>,
    schema_version: u32,
    batches: usize,
    rows: u64,
    rows_by_event: BTreeMap<String, u64>,
    /// Since the start of the recording, of the first row.
    first_us: u64,
    /// The same of the last row.
    last_us: u64,
    last_ns: i64,
    /// Rows that were lost, as the last row knew; a version-1 recording does not say.
    drops: Option<u64>,
    is_sorted: bool,
    truncated: bool,
    damage: Option<String>,
}

impl Survey {
    /// Time of the last row.
    fn until(&self) -> Option<String> {
        (self.rows > 0).then(|| rfc3339(self.last_ns.max(0) as u64))
    }

    /// What the file says: everything that the stream did, to the byte, and what was found in it.
    fn pairs_of_file(&self) -> BTreeMap<String, String> {
        let before = self.pairs.get(Key::DropsBefore.name()).and_then(|count| count.parse().ok()).unwrap_or(0);
        let found = Metadata {
            schema_version: self.schema_version,
            drops: self.drops.map(|drops| drops.saturating_sub(before)),
            recovered: Some(metadata::Recovered { rows: self.rows, until: self.until(), truncated: self.truncated }),
            duration_us: Some(self.last_us.saturating_sub(self.first_us)),
            rows: Some(self.rows),
            rows_by_event: Some(self.rows_by_event.clone()),
            ..Metadata::default()
        };
        let mut pairs = self.pairs.clone();
        pairs.extend(found.to_pairs());
        pairs
    }
}

fn survey(path: &Path, file: &File) -> std::result::Result<Survey, NotAStream> {
    let mut stream = open(path, file)?;
    let (pairs, schema_version) = known_version(path, &stream)?;
    let mut found = Survey {
        pairs,
        schema_version,
        batches: 0,
        rows: 0,
        rows_by_event: BTreeMap::new(),
        first_us: u64::MAX,
        last_us: 0,
        last_ns: i64::MIN,
        drops: None,
        is_sorted: true,
        truncated: false,
        damage: None,
    };
    for batch in stream.by_ref() {
        match batch.and_then(|batch| found.add(path, &batch)) {
            Ok(()) => found.batches += 1,
            Err(error) if found.batches == 0 => return Err(error),
            Err(error) => {
                found.damage = Some(error.reason);
                break;
            }
        }
    }
    found.truncated = stream.is_truncated();
    Ok(found)
}

/// The pairs of a recording with columns that this ccactl knows, and its schema version.
fn known_version(path: &Path, stream: &StreamFile) -> std::result::Result<(BTreeMap<String, String>, u32), NotAStream> {
    let error = |reason| NotAStream { path: path.to_owned(), reason };
    let schema = stream.schema();
    let pairs: BTreeMap<String, String> = schema.metadata().clone().into_iter().collect();
    let version = metadata::schema_version(&pairs).map_err(|problem| {
        error(match problem {
            MetadataError::OtherVersion { found, .. } => {
                let (oldest, newest) = (VERSIONS.start(), VERSIONS.end());
                format!("its schema version is {found}, expected {oldest} to {newest}")
            }
            _ => {
                let key = Key::SchemaVersion.name();
                format!("it was not written by `ccactl record`: no metadata key {key}")
            }
        })
    })?;
    if let Some(column) = column_of_other_type(&schema) {
        return Err(error(format!("column {column} does not have the type that docs/schema.md gives")));
    }
    Ok((pairs, version))
}

impl Survey {
    fn add(&mut self, path: &Path, batch: &RecordBatch) -> std::result::Result<(), NotAStream> {
        let missing = |column: Column| NotAStream {
            path: path.to_owned(),
            reason: format!("it has no column {} of the type that docs/schema.md gives", column.name()),
        };
        let there = |column: Column| batch.column_by_name(column.name());
        let column = |column: Column| there(column).ok_or_else(|| missing(column));
        let times = column(TIME)?.as_primitive_opt::<TimestampNanosecondType>().ok_or_else(|| missing(TIME))?;
        let t_us = column(Column::TUs)?.as_primitive_opt::<UInt64Type>().ok_or_else(|| missing(Column::TUs))?;
        let events = column(Column::Event)?;
        for &time in times.values() {
            self.is_sorted &= time >= self.last_ns;
            self.last_ns = self.last_ns.max(time);
        }
        self.first_us = t_us.values().iter().copied().min().unwrap_or(u64::MAX).min(self.first_us);
        self.last_us = t_us.values().iter().copied().max().unwrap_or(0).max(self.last_us);
        if let Some(dropped) = there(Column::DroppedRows).and_then(|c| c.as_primitive_opt::<UInt64Type>()) {
            self.drops = dropped.values().iter().copied().max().max(self.drops);
        }
        let names: Vec<&str> = if let Some(views) = events.as_string_view_opt() {
            views.iter().flatten().collect()
        } else {
            events.as_string_opt::<i32>().ok_or_else(|| missing(Column::Event))?.iter().flatten().collect()
        };
        for name in names {
            match self.rows_by_event.get_mut(name) {
                Some(count) => *count += 1,
                None => drop(self.rows_by_event.insert(name.to_owned(), 1)),
            }
        }
        self.rows += batch.num_rows() as u64;
        Ok(())
    }
}
