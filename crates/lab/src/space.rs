//! Room on a file system, asked for before something large is made.

use crate::error::{Error, Result};
use nix::sys::statvfs::statvfs;
use std::path::Path;

/// Refuses a folder whose file system has less than `needed` bytes for this user; `variable` would name another folder.
///
/// # Errors
/// [`Error::NoSpace`], and [`Error::Cache`] where the folder cannot be looked at.
pub fn require(folder: &Path, needed: u64, variable: &'static str) -> Result<()> {
    let found = statvfs(folder).map_err(|errno| Error::cache(folder)(errno.into()))?;
    let available = found.blocks_available() * found.fragment_size();
    if available < needed {
        return Err(Error::NoSpace { path: folder.to_owned(), needed, available, variable });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_there_is_cannot_be_had() {
        let folder = tempfile::tempdir().unwrap();
        require(folder.path(), 0, "TMPDIR").unwrap();
        let error = require(folder.path(), u64::MAX, "TMPDIR").unwrap_err();
        assert!(error.to_string().contains("name another folder with TMPDIR"), "{error}");
    }
}
