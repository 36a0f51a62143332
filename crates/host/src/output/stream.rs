//! What is written to and not replaced: a descriptor that we were started with, a device, a pipe that somebody reads.

use super::{Place, Result, new_file, unfit};
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::unistd::geteuid;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::fd::{BorrowedFd, RawFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Opens such a thing if the path names one; a file that is to be replaced is none. Never waits for a reader.
///
/// # Errors
/// [`super::Error::Unfit`] for a FIFO of somebody else, and [`super::Error::Io`].
pub fn open_stream(path: &Path) -> Result<Option<File>> {
    if let Some(descriptor) = descriptor(path) {
        // SAFETY: it is borrowed for one call, which answers EBADF if it is not open.
        let copy = unsafe { BorrowedFd::borrow_raw(descriptor) }.try_clone_to_owned()?;
        return Ok(Some(copy.into()));
    }
    let place = Place::at(path)?;
    match fs::symlink_metadata(place.reach()) {
        Ok(found) if is_stream(&found) => check(&found)?,
        // What else may stand there is the business of whoever makes the file.
        _ => return Ok(None),
    }
    let flags = libc::O_NONBLOCK | libc::O_NOFOLLOW | libc::O_NOCTTY;
    let opened = new_file().read(false).custom_flags(flags).open(place.reach());
    let file = opened.map_err(|error| match error.raw_os_error() {
        Some(libc::ENXIO) => io::Error::new(io::ErrorKind::NotConnected, "it is a FIFO that nobody reads"),
        _ => error,
    })?;
    // What was looked at need not be what was opened.
    check(&file.metadata()?)?;
    fcntl(&file, FcntlArg::F_SETFL(OFlag::empty())).map_err(io::Error::from)?;
    Ok(Some(file))
}

fn is_stream(found: &Metadata) -> bool {
    found.file_type().is_char_device() || found.file_type().is_fifo()
}

/// A user cannot make a device, but can make a FIFO and read there what was not meant for them.
fn check(found: &Metadata) -> Result<()> {
    let is_fit = found.file_type().is_char_device() || is_stream(found) && found.uid() == geteuid().as_raw();
    if is_fit { Ok(()) } else { Err(unfit(found)) }
}

/// The descriptor that a path stands for. It may lead to anything, also to a regular file: so it is used, not opened.
fn descriptor(path: &Path) -> Option<RawFd> {
    match path.to_str()? {
        "/dev/stdout" => Some(1),
        "/dev/stderr" => Some(2),
        path => {
            let number = ["/dev/fd/", "/proc/self/fd/"].iter().find_map(|folder| path.strip_prefix(folder))?;
            number.parse::<u32>().ok()?.try_into().ok()
        }
    }
}
