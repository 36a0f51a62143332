//! Whole files in a store, each under a name of its own, beside the parts of recordings.

use crate::error::Result;
use crate::fault::{Fault, Kind};
use crate::location::Place;
use crate::store::{Store, blocking};
use futures_util::TryStreamExt;
use object_store::path::Path as Key;
use std::fs::File;
use std::path::Path;

impl Store {
    /// The names of all that stands below the location; none where the folder is not there yet.
    ///
    /// # Errors
    /// [`Error`](crate::Error).
    pub fn names_now(&self) -> Result<Vec<String>> {
        blocking(self.names())?
    }

    /// Puts a file where nothing stands yet, and says whether it is there now: something else may stand there, and stays.
    ///
    /// # Errors
    /// [`Error`](crate::Error).
    pub fn put_now(&self, name: &str, file: &File) -> Result<bool> {
        match blocking(self.put(name, file))? {
            Ok(_) => Ok(true),
            Err(fault) if fault.kind == Kind::Conflict => Ok(false),
            Err(fault) => Err(self.error(fault)),
        }
    }

    /// Brings what stands under a name into a new file.
    ///
    /// # Errors
    /// [`Error`](crate::Error).
    pub fn get_now(&self, name: &str, to: &Path) -> Result<()> {
        let key = match &self.location().place {
            Place::Bucket(_) => Ok(self.location().key(name)),
            Place::Folder(root) => Key::from_absolute_path(root.join(name)),
        };
        let key = key.map_err(|error| self.error(Fault::of(&error.into())))?;
        blocking(self.copy(&key, to))?
    }

    async fn names(&self) -> Result<Vec<String>> {
        let Some(below) = self.below()? else { return Ok(Vec::new()) };
        let failed = |error: object_store::Error| self.error(self.hinted(Fault::of(&error)));
        let all = self.objects.list(Some(&below).filter(|key| !key.as_ref().is_empty()));
        let all: Vec<_> = all.try_collect().await.map_err(failed)?;
        let name =
            |key: &Key| key.prefix_match(&below).map(|parts| parts.map(|part| part.as_ref().to_owned()).collect());
        let names = all.iter().filter_map(|object| name(&object.location));
        Ok(names.map(|parts: Vec<String>| parts.join("/")).collect())
    }
}
