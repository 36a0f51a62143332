//! From what the user named (files, folders, `-`) to recordings.

use std::path::{Path, PathBuf};

use super::{Error, Part, Recording, dataset};
use ccactl_host::input;

use crate::names::{FINISHED, STREAM, partial_path, target_of};

/// A bench folder keeps its recordings at most this deep (`DIR/SCENARIO/run-1/recording.parquet`).
const MAX_DEPTH: usize = 3;

/// What a bench has in its folder.
const BENCH_RESULT: &str = "result.json";
const MAX_RESULT_BYTES: u64 = 64 << 20;

/// Opens every file, and every recording in every folder, in the order given (folders sorted by name). Parts of one
/// dataset are one recording.
///
/// In a folder, a stream beside the Parquet file of the same name is passed over, and so are Parquet files that no
/// recorder wrote. Of a bench, runs that are not valid are passed over ([`left_out`]). A file that was named must be a recording.
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

/// Runs in these folders that are in no recording of [`open_all`]: a bench says that they are not valid.
#[must_use]
pub fn left_out(paths: &[PathBuf]) -> Vec<PathBuf> {
    let mut found = Found::default();
    for folder in paths.iter().filter(|path| path.is_dir()) {
        // What cannot be read is `open_all`'s to tell.
        let _ = collect(folder, MAX_DEPTH, &mut found);
    }
    found.left_out
}

/// What is below a folder.
#[derive(Default)]
struct Found {
    files: Vec<PathBuf>,
    /// Folders of runs that do not count.
    left_out: Vec<PathBuf>,
}

/// What a bench says of its runs.
#[derive(serde::Deserialize)]
struct BenchResult {
    runs: Vec<BenchRun>,
}

#[derive(serde::Deserialize)]
struct BenchRun {
    directory: PathBuf,
    valid: bool,
}

/// Folders of the runs of a bench that do not count; none where no run does, as nothing would be left.
fn not_valid(folder: &Path) -> Vec<PathBuf> {
    let text = input::read(&folder.join(BENCH_RESULT), MAX_RESULT_BYTES).unwrap_or_default();
    let Ok(BenchResult { runs }) = serde_json::from_slice(&text) else { return Vec::new() };
    if !runs.iter().any(|run| run.valid) {
        return Vec::new();
    }
    runs.iter().filter(|run| !run.valid).map(|run| folder.join(&run.directory)).collect()
}

fn open_folder(folder: &Path) -> Result<Vec<Part>, Error> {
    let mut found = Found::default();
    collect(folder, MAX_DEPTH, &mut found)?;
    let mut parts = Vec::new();
    let mut nothing = Error::EmptyFolder { path: folder.to_owned(), depth: MAX_DEPTH };
    for file in found.files {
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

fn collect(folder: &Path, depth: usize, found: &mut Found) -> Result<(), Error> {
    let io = |source| Error::io(folder, source);
    let mut entries = std::fs::read_dir(folder).map_err(io)?.collect::<Result<Vec<_>, _>>().map_err(io)?;
    entries.sort_by_key(std::fs::DirEntry::path);
    let left_out = not_valid(folder);
    entries.retain(|entry| !left_out.contains(&entry.path()));
    found.left_out.extend(left_out);
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
                collect(&path, depth - 1, found)?;
            }
            continue;
        }
        let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
        if extension == FINISHED || (extension == STREAM && !finished_beside(&path)) {
            found.files.push(path);
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
