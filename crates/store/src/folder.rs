//! A folder as a store: a share, say, that others mount too. A part is on its disk before the spool loses it.

use crate::fault::{Fault, Kind};
use crate::store::{MARKER, MARKER_TEXT, Put};
use ccactl_host::input;
use ccactl_host::output::{Error, Folder, Place, Replace};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

/// What is compared at a time.
const CHUNK_BYTES: usize = 1 << 20;

/// Makes the mark by which a folder is known. One that is not mounted has none, and nobody would look for parts below an
/// empty mount point.
pub(crate) fn mark(root: &Path) -> Result<(), Fault> {
    if !root.is_dir() {
        return Err(Fault::new(Kind::Missing, "it is no folder"));
    }
    match put(&root.join(MARKER), MARKER_TEXT.as_bytes()) {
        Ok(_) => Ok(()),
        // Whatever it says: an earlier ccactl made it.
        Err(fault) if fault.kind == Kind::Conflict => Ok(()),
        Err(fault) => Err(fault),
    }
}

/// Puts a file where nothing stands yet.
pub(crate) fn put_below(root: &Path, name: &str, content: &[u8]) -> Result<Put, Fault> {
    if !root.join(MARKER).is_file() {
        return Err(Fault::new(Kind::Missing, format!("its {MARKER} is gone: is it mounted?")));
    }
    put(&root.join(name), content)
}

fn put(path: &Path, content: &[u8]) -> Result<Put, Fault> {
    let folder = path.parent().unwrap_or(path);
    let reached = Folder::make(folder).map_err(|error| fault(error.into()))?;
    let place = Place::at(path).map_err(|error| fault(error.into()))?;
    let draft = match place.draft(Replace::Never) {
        Err(Error::Exists | Error::Unfit { .. }) => return compare(path, content),
        draft => draft.map_err(|error| fault(error.into()))?,
    };
    draft.file().write_all(content).and_then(|()| draft.file().sync_all()).map_err(fault)?;
    match draft.publish() {
        Err(Error::Exists | Error::Unfit { .. }) => return compare(path, content),
        published => published.map_err(|error| fault(error.into()))?,
    }
    sync(&reached.reach()).map_err(fault)?;
    // The folders may be new as well: date, host, dataset.
    for above in folder.ancestors().skip(1).take(3) {
        sync(above).map_err(fault)?;
    }
    Ok(Put::Stored)
}

fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

fn compare(path: &Path, content: &[u8]) -> Result<Put, Fault> {
    let mut file = input::open(path).map_err(|error| Fault::new(Kind::Conflict, error.to_string()))?;
    let mut rest = content;
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let count = file.read(&mut chunk).map_err(fault)?;
        if count == 0 && rest.is_empty() {
            return Ok(Put::WasThere);
        }
        if count == 0 || !rest.starts_with(&chunk[..count]) {
            return Err(Fault::new(Kind::Conflict, "something else stands there"));
        }
        rest = &rest[count..];
    }
}

fn fault(error: io::Error) -> Fault {
    let kind = match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Kind::Denied,
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Kind::Missing,
        io::ErrorKind::InvalidInput => Kind::Refused,
        // No space, a stale share, a broken disk: it may be mended while parts wait.
        _ => Kind::Server,
    };
    Fault::new(kind, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn nothing_is_written_over_and_the_same_counts_as_stored() {
        let folder = tempfile::tempdir().unwrap();
        mark(folder.path()).unwrap();
        mark(folder.path()).unwrap();
        let name = "date=2026-11-26/host=a/d/part-00000.parquet";
        let put = |content: &[u8]| put_below(folder.path(), name, content);
        assert_eq!(put(b"rows"), Ok(Put::Stored));
        assert_eq!(put(b"rows"), Ok(Put::WasThere));
        for other in [&b"rowx"[..], b"row", b"rows and more", b""] {
            assert_eq!(put(other).unwrap_err().kind, Kind::Conflict);
        }
        assert_eq!(fs::read(folder.path().join(name)).unwrap(), b"rows");
    }

    #[test]
    fn a_folder_that_is_not_mounted_takes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let fault = put_below(folder.path(), "part-00000.parquet", b"rows").unwrap_err();
        assert_eq!(fault.kind, Kind::Missing);
        assert!(fault.found.contains("is it mounted?"), "{fault}");
        assert_eq!(mark(&folder.path().join("nowhere")).unwrap_err().kind, Kind::Missing);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
