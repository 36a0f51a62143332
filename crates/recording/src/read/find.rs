//! From what the user named (files, folders, `-`) to recordings.

use std::path::{Path, PathBuf};

use super::{Error, Part, Recording, dataset};
use crate::names::{FINISHED, STREAM, partial_path, target_of};

/// A bench folder keeps its recordings at most this deep (`DIR/SCENARIO/run-1/recording.parquet`).
const MAX_DEPTH: usize = 3;

/// Opens every file, and every recording in every folder, in the order given (folders sorted by name). Parts of one
/// dataset are one recording.
///
/// In a folder, a stream beside the Parquet file of the same name is passed over, and so are Parquet files that no
/// recorder wrote. A file that was named must be a recording.
///
/// # Errors
/// As [`Recording::open`], or when a folder holds no recording.
pub fn open_all(paths: &[PathBuf]) -> Result<Vec<Recording>, Error> {
    let mut parts = Vec::new();
    let mut recordings = Vec::new();
    for path in paths {
        if path.is_dir() {
            parts.extend(open_folder(path)?);
        } else if path == Path::new("-") {
            recordings.extend(dataset::group(std::mem::take(&mut parts)));
            recordings.push(Recording::open(path)?);
        } else {
            parts.push(Part::open(path, None)?);
        }
    }
    recordings.extend(dataset::group(parts));
    Ok(recordings)
}

fn open_folder(folder: &Path) -> Result<Vec<Part>, Error> {
    let mut files = Vec::new();
    collect(folder, MAX_DEPTH, &mut files)?;
    let mut parts = Vec::new();
    let mut nothing = Error::EmptyFolder { path: folder.to_owned(), depth: MAX_DEPTH };
    for file in files {
        match Part::open(&file, None) {
            Ok(part) => parts.push(part),
            Err(Error::NotARecording { .. }) => {}
            // A recorder that was killed while it began a part left no row in it; that the last part is missing is told.
            Err(error @ Error::Truncated { .. }) if is_partial(&file) => nothing = error,
            Err(error) => return Err(error),
        }
    }
    if parts.is_empty() { Err(nothing) } else { Ok(parts) }
}

fn collect(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<(), Error> {
    let io = |source| Error::io(folder, source);
    let mut entries = std::fs::read_dir(folder).map_err(io)?.collect::<Result<Vec<_>, _>>().map_err(io)?;
    entries.sort_by_key(std::fs::DirEntry::path);
    for entry in entries {
        let path = entry.path();
        let hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        // The type of the entry itself, so that a link to a parent folder is not followed.
        let is_folder = entry.file_type().map_err(io)?.is_dir();
        if hidden {
            continue;
        }
        if is_folder {
            if depth > 1 {
                collect(&path, depth - 1, files)?;
            }
            continue;
        }
        let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
        if extension == FINISHED || (extension == STREAM && !finished_beside(&path)) {
            files.push(path);
        }
    }
    Ok(())
}

/// Whether the recording of which `stream` is a part or a copy is there as well.
fn finished_beside(stream: &Path) -> bool {
    target_of(stream).is_some_and(|target| target.exists()) || stream.with_extension(FINISHED).exists()
}

fn is_partial(stream: &Path) -> bool {
    target_of(stream).is_some()
}

/// The stream that a recorder to `file` writes until the end, when a killed one has left it.
pub fn partial_of(file: &Path) -> Option<PathBuf> {
    Some(partial_path(file)).filter(|partial| partial.exists())
}
