//! Files that a command reads as a whole: regular files of a bounded size.
//!
//! A named pipe would keep the reader waiting for a writer, a device may have no end, and a file of any size would take
//! as much memory. So the file is opened without waiting, looked at through the same descriptor, and read up to a limit.

use crate::units::limit_text;
use std::fs::{File, FileType, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

/// Opens a regular file for reading; never waits for another process.
///
/// # Errors
/// What the system answers, or which kind of file was found. The text fits behind "expected a …, found: ".
pub fn open(path: &Path) -> io::Result<File> {
    let opened = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path);
    let file = opened.map_err(|error| match error.raw_os_error() {
        Some(libc::ENXIO) => not_regular("a socket, or a device that is not there"),
        _ => error,
    })?;
    let kind = file.metadata()?.file_type();
    if kind.is_file() { Ok(file) } else { Err(not_regular(name(kind))) }
}

/// Reads a regular file of at most `limit` bytes.
///
/// # Errors
/// Those of [`open`], what the system answers, and a file that is larger.
pub fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // Not by the size that the kernel tells: the file may grow, and those of /proc have none.
    open(path)?.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(invalid(format!("a file of more than {}", limit_text(limit))));
    }
    Ok(bytes)
}

/// Reads a regular file of at most `limit` bytes as text.
///
/// # Errors
/// Those of [`read`], and text that is not UTF-8.
pub fn read_text(path: &Path, limit: u64) -> io::Result<String> {
    String::from_utf8(read(path, limit)?).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = valid.iter().filter(|&&byte| byte == b'\n').count() + 1;
        invalid(format!("bytes that are not UTF-8 on line {line}"))
    })
}

fn not_regular(kind: &str) -> io::Error {
    invalid(format!("{kind}, not a regular file"))
}

fn invalid(found: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, found)
}

fn name(kind: FileType) -> &'static str {
    match kind {
        kind if kind.is_dir() => "a folder",
        kind if kind.is_fifo() => "a pipe",
        kind if kind.is_socket() => "a socket",
        kind if kind.is_char_device() || kind.is_block_device() => "a device",
        _ => "something else",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;
    use std::fs;
    use std::os::unix::net::UnixListener;

    fn refused(path: &Path, part: &str) {
        let error = read_text(path, 1 << 20).unwrap_err().to_string();
        assert!(error.contains(part) && !error.contains('\n'), "no '{part}' in: {error}");
    }

    /// The pipe has no writer, so that an ordinary open would not come back.
    #[test]
    fn what_is_not_a_regular_file_is_refused_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let fifo = dir.path().join("fifo");
        mkfifo(&fifo, Mode::S_IRWXU).unwrap();
        refused(&fifo, "a pipe, not a regular file");
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&fifo, &link).unwrap();
        refused(&link, "a pipe");
        let _socket = UnixListener::bind(dir.path().join("socket")).unwrap();
        refused(&dir.path().join("socket"), "a socket");
        refused(Path::new("/dev/zero"), "a device");
        refused(dir.path(), "a folder");
        refused(&dir.path().join("missing"), "No such file");
    }

    #[test]
    fn a_file_up_to_the_limit_is_read_and_a_larger_one_is_not() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), "12345678").unwrap();
        assert_eq!(read_text(file.path(), 8).unwrap(), "12345678");
        assert!(read(file.path(), 7).unwrap_err().to_string().contains("more than 7 bytes"));
        fs::write(file.path(), vec![b'x'; (1 << 20) + 1]).unwrap();
        refused(file.path(), "more than 1 MiB");
    }

    #[test]
    fn text_that_is_not_utf_8_is_refused_with_its_line() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), b"a = 1\nb = \xff\n").unwrap();
        refused(file.path(), "not UTF-8 on line 2");
    }
}
