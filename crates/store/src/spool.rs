//! The spool: a folder for each recording, with where its parts go and who sends them.
//!
//! ```text
//! SPOOL/20261126T110000Z-4711/   locked by its recorder, or by who sends what a recorder left
//!   destination                  JSON: address and endpoint of the store
//!   parts/                       what the recorder writes
//! ```

use crate::error::{Error, Result};
use crate::location::{Location, Place};
use crate::store::Settings;
use ccactl_host::input;
use ccactl_host::lock::{FolderLock, Share};
use ccactl_host::output::{self, Folder, Replace};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const DESTINATION: &str = "destination";
const PARTS: &str = "parts";
const MAX_DESTINATION_BYTES: u64 = 1 << 16;

/// Where the parts of a folder go. Two stores may have buckets of the same name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Destination {
    /// As [`Location`] shows it.
    pub location: String,
    /// `AWS_ENDPOINT_URL_S3` or `AWS_ENDPOINT_URL`, for a bucket.
    pub endpoint: Option<String>,
}

impl Destination {
    /// A location with what the settings say of its endpoint.
    #[must_use]
    pub fn of(location: &Location, settings: &Settings) -> Destination {
        let names = ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"];
        let named = names.iter().find_map(|name| settings.get(name)).map(str::to_owned);
        let is_bucket = matches!(location.place, Place::Bucket(_));
        Destination { location: location.to_string(), endpoint: named.filter(|_| is_bucket) }
    }
}

/// The folder of all recordings that are on their way.
#[derive(Debug, Clone)]
pub struct Spool {
    folder: PathBuf,
}

impl Spool {
    /// Makes the folder if need be.
    ///
    /// # Errors
    /// [`Error::Spool`].
    pub fn open(folder: &Path) -> Result<Spool> {
        let failed = |error| Error::output("use", folder)(error);
        Folder::make_for_state(folder).and_then(|made| made.require_ours()).map_err(failed)?;
        // A recording may change its working directory, and a message is read in another one.
        let folder = folder.canonicalize().map_err(Error::spool("use", folder))?;
        Ok(Spool { folder })
    }

    /// A new folder for a recording, and its lock.
    ///
    /// # Errors
    /// [`Error::Spool`] and [`Error::Lock`].
    pub fn claim(&self, name: &str, destination: Destination) -> Result<Claim> {
        let folder = self.folder.join(name);
        let lock = FolderLock::wait(&folder, Share::Alone)?;
        let file = folder.join(DESTINATION);
        let text = serde_json::to_vec(&destination).map_err(|error| Error::spool("write", &file)(error.into()))?;
        output::write(&file, &text, Replace::Never).map_err(Error::output("write", &file))?;
        let claim = Claim { folder, destination, _lock: lock };
        fs::create_dir(claim.parts()).map_err(Error::spool("make", &claim.parts()))?;
        Ok(claim)
    }

    /// What earlier recordings have left and nobody sends: to this destination, or all. The oldest first.
    ///
    /// # Errors
    /// [`Error::Spool`] and [`Error::Lock`].
    pub fn left_over(&self, wanted: Option<&Destination>) -> Result<Vec<Claim>> {
        let failed = |cause| Error::spool("read", &self.folder)(cause);
        let entries = fs::read_dir(&self.folder).map_err(failed)?;
        let mut folders: Vec<PathBuf> =
            entries.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<_>>().map_err(failed)?;
        folders.retain(|path| path.is_dir());
        folders.sort();
        let mut claims = Vec::new();
        for folder in folders {
            // Of a running recorder, or of another sender.
            let Some(lock) = FolderLock::try_now(&folder, Share::Alone)? else { continue };
            let Some(destination) = destination_of(&folder) else {
                // A recorder that was killed before it wrote anything; one with content is none of ours.
                let _ = fs::remove_dir(&folder);
                continue;
            };
            if wanted.is_none_or(|wanted| *wanted == destination) {
                claims.push(Claim { folder, destination, _lock: lock });
            }
        }
        Ok(claims)
    }
}

fn destination_of(folder: &Path) -> Option<Destination> {
    let text = input::read(&folder.join(DESTINATION), MAX_DESTINATION_BYTES).ok()?;
    serde_json::from_slice(&text).ok()
}

/// A folder of the spool that is ours as long as this lives.
#[derive(Debug)]
pub struct Claim {
    folder: PathBuf,
    destination: Destination,
    _lock: FolderLock,
}

impl Claim {
    /// Where the parts are: for a recorder, an empty folder.
    #[must_use]
    pub fn parts(&self) -> PathBuf {
        self.folder.join(PARTS)
    }

    /// Where they go.
    #[must_use]
    pub fn destination(&self) -> &Destination {
        &self.destination
    }

    /// Removes the folder if no part is left in it; whether it did.
    pub(crate) fn close(&self) -> bool {
        match fs::remove_dir(self.parts()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return false,
            _ => {}
        }
        let _ = fs::remove_file(self.folder.join(DESTINATION));
        fs::remove_dir(&self.folder).is_ok()
    }
}

/// A recording that did not begin leaves no empty folder.
impl Drop for Claim {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn destination(location: &str) -> Destination {
        Destination { location: location.to_owned(), endpoint: None }
    }

    #[test]
    fn what_a_recorder_left_is_found_by_its_destination_and_by_one_only() {
        let dir = tempfile::tempdir().unwrap();
        let spool = Spool::open(&dir.path().join("a/spool")).unwrap();
        let (here, there) = (destination("s3://here"), destination("s3://there"));
        let running = spool.claim("2", here.clone()).unwrap();
        fs::write(running.parts().join("part-00000.parquet.partial.arrows"), "rows").unwrap();
        drop(spool.claim("0", here.clone()).unwrap());
        for (name, destination) in [("3", &here), ("1", &here), ("4", &there)] {
            let claim = spool.claim(name, destination.clone()).unwrap();
            fs::write(claim.parts().join("part-00000.parquet"), "rows").unwrap();
        }
        fs::create_dir(dir.path().join("a/spool/5")).unwrap();
        let names = |claims: &[Claim]| -> Vec<String> {
            claims.iter().map(|claim| claim.folder.file_name().unwrap().to_str().unwrap().to_owned()).collect()
        };
        let found = spool.left_over(Some(&here)).unwrap();
        assert_eq!(names(&found), ["1", "3"]);
        assert_eq!(names(&spool.left_over(None).unwrap()), ["4"], "the others are claimed");
        assert!(!dir.path().join("a/spool/5").exists(), "nothing was ever in it");
        assert!(!found[0].close() && found[0].parts().exists());
        fs::remove_file(found[0].parts().join("part-00000.parquet")).unwrap();
        assert!(found[0].close());
        assert!(!dir.path().join("a/spool/0").exists(), "it was never used");
        drop(running);
        assert_eq!(names(&spool.left_over(Some(&here)).unwrap()), ["2"]);
    }
}
