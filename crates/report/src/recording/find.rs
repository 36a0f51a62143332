//! From what the user named (files, folders, `-`) to recordings.

use std::path::{Path, PathBuf};

use super::{Part, Recording, dataset};
use crate::Error;

/// A bench folder keeps its recordings at most this deep (`DIR/SCENARIO/run-1/recording.parquet`).
const MAX_DEPTH: usize = 3;
/// Extension of a finished recording.
const FINISHED: &str = "parquet";
/// Extension of an Arrow stream.
const STREAM: &str = "arrows";
/// What the recorder appends to the name of the target while it records.
const PARTIAL_SUFFIX: &str = ".partial.arrows";

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
    for file in files {
        match Part::open(&file, None) {
            Ok(part) => parts.push(part),
            Err(Error::NotARecording { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    if parts.is_empty() {
        return Err(Error::EmptyFolder { path: folder.to_owned(), depth: MAX_DEPTH });
    }
    Ok(parts)
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
    let target = stream.to_str().and_then(|name| name.strip_suffix(PARTIAL_SUFFIX));
    target.is_some_and(|target| Path::new(target).exists()) || stream.with_extension(FINISHED).exists()
}

/// The stream that a recorder to `file` writes until the end, when a killed one has left it.
pub fn partial_of(file: &Path) -> Option<PathBuf> {
    let mut name = file.as_os_str().to_owned();
    name.push(PARTIAL_SUFFIX);
    Some(PathBuf::from(name)).filter(|partial| partial.exists())
}
