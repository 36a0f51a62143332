//! Files that are never written through somebody else's, for every output of ccactl.
//!
//! Root may write into folders that other users may write, too. There a name may already lead to a file of somebody
//! else: by a symbolic link, a hard link, or a FIFO that waits for ever. So nothing that stands under a name is opened
//! for writing. A [`Draft`] is a new file without a name, which gets its name when it is complete. The one file that
//! needs its name from the beginning is [claimed](Place::claim): made anew, or known to be ours alone.
//!
//! A file has the mode 0666 less the umask, as if the shell had made it: recordings and reports are made to be handed on.

mod error;
mod folder;
mod stream;

pub use error::{Error, Result};
pub use folder::Folder;
pub use stream::open_stream;

use error::{A_FILE, unfit_as};
use nix::fcntl::{AT_FDCWD, AtFlags};
use nix::unistd::{geteuid, linkat};
use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempPath;

/// Mode of a file that is made to be handed on; the umask takes from it.
pub const FILE_MODE: u32 = 0o666;
/// That mode less the umask of this process, for a file that was closed to others until now.
#[must_use]
pub fn file_mode() -> u32 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let umask = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    FILE_MODE & !umask.and_then(|octal| u32::from_str_radix(octal.trim(), 8).ok()).unwrap_or(0o077)
}

/// Of a name that a draft has where the file system has no files without a name.
const DRAFT_PREFIX: &str = ".ccactl-";
/// Whoever makes and removes a name faster than this wants us to wait for ever.
const ATTEMPTS: u32 = 100;

/// What happens to a file that stands under the name of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replace {
    /// It stays, also one that appears while we write.
    Never,
    /// Ours is replaced; that of somebody else stays.
    Ours,
}

/// Writes a file as a whole: a reader sees all of it or nothing.
///
/// # Errors
/// [`Error`]; nothing is left behind.
pub fn write(path: &Path, content: &[u8], replace: Replace) -> Result<()> {
    let draft = Place::at(path)?.draft(replace)?;
    draft.file().write_all(content)?;
    draft.publish()
}

/// A name in a folder. The folder stays the same, whatever its path leads to later.
#[derive(Debug, Clone)]
pub struct Place {
    folder: Arc<Folder>,
    name: OsString,
}

impl Place {
    /// The place that a path names; its folder exists.
    ///
    /// # Errors
    /// [`Error::Led`], [`Error::Io`], and [`Error::Unfit`] for a path that can only be a folder.
    pub fn at(path: &Path) -> Result<Place> {
        let Some(name) = path.file_name() else {
            return Err(unfit_as("a folder".to_owned(), A_FILE));
        };
        let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Ok(Place { folder: Arc::new(Folder::open(folder)?), name: name.to_owned() })
    }

    /// The same name with something behind it, in the same folder.
    #[must_use]
    pub fn with_suffix(&self, suffix: &str) -> Place {
        let mut name = self.name.clone();
        name.push(suffix);
        Place { folder: Arc::clone(&self.folder), name }
    }

    /// A path to it that nobody can lead elsewhere. It is of use to this process, and only while the place is there.
    #[must_use]
    pub fn reach(&self) -> PathBuf {
        self.folder.reach().join(&self.name)
    }

    /// Fails when something stands there that must stay.
    ///
    /// # Errors
    /// [`Error::Exists`], [`Error::Unfit`] and [`Error::Io`].
    pub fn check(&self, replace: Replace) -> Result<()> {
        match fs::symlink_metadata(self.reach()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error.into()),
            Ok(found) if !is_our_file(&found) => Err(unfit(&found)),
            Ok(_) if replace == Replace::Never => Err(Error::Exists),
            Ok(_) => Ok(()),
        }
    }

    /// A new file that will stand there once it is complete.
    ///
    /// # Errors
    /// Those of [`Place::check`].
    pub fn draft(&self, replace: Replace) -> Result<Draft> {
        self.check(replace)?;
        let unnamed = new_file().custom_flags(libc::O_TMPFILE).open(self.folder.reach());
        let (file, name) = match unnamed {
            Ok(file) => (file, None),
            // Not every file system has such files.
            Err(error) if matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::EISDIR | libc::EINVAL)) => {
                let create = |path: &Path| new_file().create_new(true).custom_flags(libc::O_NOFOLLOW).open(path);
                let (file, name) = self.under_random_name(create)?;
                (file, Some(name))
            }
            Err(error) => return Err(error.into()),
        };
        Ok(Draft { file, name, place: self.clone(), replace })
    }

    /// Opens the file of this name, which is ours alone: made now, or found as a regular file of ours without another
    /// name. `mode` is for one that is made.
    ///
    /// # Errors
    /// [`Error::Unfit`] and [`Error::Io`].
    pub fn claim(&self, mode: u32) -> Result<File> {
        let path = self.reach();
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
        for _ in 0..ATTEMPTS {
            match new_file().create_new(true).mode(mode).custom_flags(flags).open(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => return Ok(made?),
            }
            let found = match fs::symlink_metadata(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                found => found?,
            };
            if !is_ours_alone(&found) {
                return Err(unfit(&found));
            }
            let file = match new_file().custom_flags(flags).open(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                file => file?,
            };
            // What was looked at need not be what was opened.
            let found = file.metadata()?;
            if is_ours_alone(&found) {
                return Ok(file);
            }
            // Removed meanwhile by whoever had it, unless it has a name.
            if found.nlink() > 0 {
                return Err(unfit(&found));
            }
        }
        Err(io::Error::from(io::ErrorKind::ResourceBusy).into())
    }

    /// Whether this very file stands there.
    #[must_use]
    pub fn has(&self, file: &File) -> bool {
        let identity = |found: Metadata| (found.dev(), found.ino());
        match (fs::symlink_metadata(self.reach()), file.metadata()) {
            (Ok(there), Ok(ours)) => identity(there) == identity(ours),
            _ => false,
        }
    }

    /// Removes this file, and nothing else that has come to stand there.
    pub fn remove(&self, file: &File) {
        if self.has(file) {
            let _ = fs::remove_file(self.reach());
        }
    }

    /// Gives this file, which stands here, another name in the same folder.
    ///
    /// # Errors
    /// Those of [`Place::check`] for the other name; then the file stays here.
    pub fn rename(&self, file: &File, to: &Place, replace: Replace) -> Result<()> {
        if !self.has(file) {
            return Err(io::Error::other("another file has taken its place").into());
        }
        let mut name = TempPath::try_from_path(self.reach())?;
        name.disable_cleanup(true);
        to.put(name, replace)
    }

    fn put(&self, name: TempPath, replace: Replace) -> Result<()> {
        self.check(replace)?;
        let put = match replace {
            Replace::Never => name.persist_noclobber(self.reach()),
            Replace::Ours => name.persist(self.reach()),
        };
        put.map_err(|error| match error.error {
            error if error.kind() == io::ErrorKind::AlreadyExists => Error::Exists,
            error => error.into(),
        })
    }

    fn under_random_name<T>(&self, make: impl FnMut(&Path) -> io::Result<T>) -> io::Result<(T, TempPath)> {
        tempfile::Builder::new().prefix(DRAFT_PREFIX).make_in(self.folder.reach(), make).map(|made| made.into_parts())
    }
}

/// A file that is being written. Dropping it leaves nothing; nor does killing us, where the file system has files
/// without a name.
#[derive(Debug)]
pub struct Draft {
    file: File,
    /// Where the file system has no files without a name.
    name: Option<TempPath>,
    place: Place,
    replace: Replace,
}

impl Draft {
    /// For reading and writing.
    #[must_use]
    pub fn file(&self) -> &File {
        &self.file
    }

    /// The file is complete: gives it its name.
    ///
    /// # Errors
    /// Those of [`Place::check`]; nothing is left behind.
    pub fn publish(self) -> Result<()> {
        let Draft { file, name, place, replace } = self;
        let name = match name {
            Some(name) => name,
            None => place.under_random_name(|path| link(&file, path))?.1,
        };
        place.put(name, replace)
    }
}

/// Gives a file without a name one, where nothing stands yet.
fn link(file: &File, path: &Path) -> io::Result<()> {
    let file = folder::descriptor_path(file.as_raw_fd());
    Ok(linkat(AT_FDCWD, &file, AT_FDCWD, path, AtFlags::AT_SYMLINK_FOLLOW)?)
}

fn new_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(FILE_MODE);
    options
}

fn is_our_file(found: &Metadata) -> bool {
    found.is_file() && found.uid() == geteuid().as_raw()
}

/// What is written into a file with a second name is written into whatever that name stands for.
fn is_ours_alone(found: &Metadata) -> bool {
    is_our_file(found) && found.nlink() == 1
}

fn unfit(found: &Metadata) -> Error {
    unfit_as(describe(found), A_FILE)
}

/// What it is, and whose.
fn describe(found: &Metadata) -> String {
    let kind = found.file_type();
    let what = match () {
        () if kind.is_symlink() => "a symbolic link",
        () if kind.is_dir() => "a folder",
        () if kind.is_fifo() => "a FIFO",
        () if kind.is_socket() => "a socket",
        () if kind.is_file() && found.nlink() > 1 => "a file with several names (hard links)",
        () if kind.is_file() => "a file",
        () => "a device",
    };
    format!("{what} of user {}", found.uid())
}

#[cfg(test)]
mod tests;
