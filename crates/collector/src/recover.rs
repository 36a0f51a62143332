//! What a killed recording left becomes a file.

use crate::error::{Error, Result};
use crate::metadata;
use crate::output;
use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{TimestampNanosecondType, UInt64Type};
use ccactl_host::input;
use ccactl_host::output::Place;
use ccactl_recording::layout::TIME;
use ccactl_recording::names::{PARTIAL_SUFFIX, recovered_path, target_of};
use ccactl_recording::write::rows::column_of_other_type;
use ccactl_recording::write::{NotAStream, StreamFile, parquet, rfc3339};
use ccactl_recording::{Column, SCHEMA_VERSION};
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
    let metadata = metadata::recovered(found.metadata.clone(), &found);
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
pub(crate) struct Survey {
    pub(crate) metadata: BTreeMap<String, String>,
    pub(crate) batches: usize,
    pub(crate) rows: u64,
    pub(crate) rows_by_event: BTreeMap<String, u64>,
    /// Since the start of the recording, of the first row.
    pub(crate) first_us: u64,
    /// The same of the last row.
    pub(crate) last_us: u64,
    last_ns: i64,
    /// Rows that were lost, as the last row knew; a version-1 recording does not say.
    pub(crate) drops: Option<u64>,
    is_sorted: bool,
    pub(crate) truncated: bool,
    pub(crate) damage: Option<String>,
}

impl Survey {
    /// Time of the last row.
    pub(crate) fn until(&self) -> Option<String> {
        (self.rows > 0).then(|| rfc3339(self.last_ns.max(0) as u64))
    }
}

fn survey(path: &Path, file: &File) -> std::result::Result<Survey, NotAStream> {
    let mut stream = open(path, file)?;
    let mut found = Survey {
        metadata: known_version(path, &stream)?,
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

/// The metadata of a recording with columns that this ccactl knows.
fn known_version(path: &Path, stream: &StreamFile) -> std::result::Result<BTreeMap<String, String>, NotAStream> {
    let error = |reason| NotAStream { path: path.to_owned(), reason };
    let schema = stream.schema();
    let metadata = schema.metadata().clone();
    let Some(version) = metadata.get("ccactl.schema_version") else {
        return Err(error("it was not written by `ccactl record`: no metadata key ccactl.schema_version".to_owned()));
    };
    if !version.parse().is_ok_and(|version: u32| (1..=SCHEMA_VERSION).contains(&version)) {
        return Err(error(format!("its schema version is {version}, expected 1 to {SCHEMA_VERSION}")));
    }
    if let Some(column) = column_of_other_type(&schema) {
        return Err(error(format!("column {column} does not have the type that docs/schema.md gives")));
    }
    Ok(metadata.into_iter().collect())
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
