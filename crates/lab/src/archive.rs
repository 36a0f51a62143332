//! Archives in the format `newc` of cpio: what the kernel unpacks as its first file system, and what a guest hands back.
//!
//! The format is described in the kernel's `Documentation/driver-api/early-userspace/buffer-format.rst`. An archive is a function of
//! what was put in: times, owners and inode numbers of the host are left out, so equal content gives equal bytes.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Component, Path, PathBuf};

const MAGIC: &[u8; 6] = b"070701";
/// Magic and thirteen fields of eight hexadecimal digits.
const HEADER_BYTES: usize = 6 + 13 * 8;
/// Name of the entry that ends an archive.
const TRAILER: &str = "TRAILER!!!";
/// Headers with their name, and contents, begin at multiples of this.
const ALIGNMENT: u64 = 4;
/// Longest name that is read, the kernel's own limit (`PATH_MAX`).
const MAX_NAME_BYTES: u32 = 4096;

const KIND_MASK: u32 = libc::S_IFMT;
const DIRECTORY: u32 = libc::S_IFDIR;
const FILE: u32 = libc::S_IFREG;

/// Writes an archive, entry by entry.
pub struct Writer<W> {
    out: W,
    written: u64,
    entries: u32,
}

impl<W: Write> Writer<W> {
    /// An empty archive.
    pub fn new(out: W) -> Self {
        Writer { out, written: 0, entries: 0 }
    }

    /// A folder; those above it must have been added before.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn directory(&mut self, path: &str) -> io::Result<()> {
        self.entry(path, DIRECTORY | 0o755, 0)
    }

    /// A file with its permissions.
    ///
    /// # Errors
    /// Those of the sink, and a content of 4 GiB or more, for which the format has no room.
    pub fn file(&mut self, path: &str, permissions: u32, content: &[u8]) -> io::Result<()> {
        self.entry(path, FILE | permissions, content.len() as u64)?;
        self.content(content)?;
        self.align()
    }

    /// A file that is read while it is added; `source` must give exactly `bytes`.
    ///
    /// # Errors
    /// Those of source and sink, and a file of 4 GiB or more.
    pub fn stream(&mut self, path: &str, permissions: u32, bytes: u64, source: impl Read) -> io::Result<()> {
        self.entry(path, FILE | permissions, bytes)?;
        let copied = io::copy(&mut source.take(bytes), &mut self.out)?;
        self.written += copied;
        if copied != bytes {
            return Err(io::Error::other(format!("{path}: expected {bytes} bytes, found {copied}")));
        }
        self.align()
    }

    /// Everything in a folder, below `path`, in the order of the names.
    ///
    /// # Errors
    /// Those of source and sink, and something that is neither a file nor a folder.
    pub fn tree(&mut self, folder: &Path, path: &str) -> io::Result<()> {
        let mut entries: Vec<_> = fs::read_dir(folder)?.collect::<io::Result<_>>()?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let name = entry.file_name().into_string().map_err(|name| {
                io::Error::other(format!("{}: expected a name in UTF-8, found {name:?}", folder.display()))
            })?;
            let below = if path.is_empty() { name } else { format!("{path}/{name}") };
            let kind = entry.file_type()?;
            if kind.is_dir() {
                self.directory(&below)?;
                self.tree(&entry.path(), &below)?;
            } else if kind.is_file() {
                let file = fs::File::open(entry.path())?;
                let bytes = file.metadata()?.len();
                self.stream(&below, 0o644, bytes, file)?;
            } else {
                let found = entry.path();
                return Err(io::Error::other(format!("{}: expected files and folders only", found.display())));
            }
        }
        Ok(())
    }

    /// Ends the archive.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn finish(mut self) -> io::Result<W> {
        self.entry(TRAILER, 0, 0)?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn entry(&mut self, path: &str, mode: u32, bytes: u64) -> io::Result<()> {
        let bytes = u32::try_from(bytes)
            .map_err(|_| io::Error::other(format!("{path}: expected less than 4 GiB, found {bytes} bytes")))?;
        self.entries += 1;
        let name_bytes = path.len() as u32 + 1;
        // inode, mode, owner, group, links, time, size, device (major, minor), own device (major, minor), name, checksum (unused).
        let fields = [self.entries, mode, 0, 0, 1, 0, bytes, 0, 0, 0, 0, name_bytes, 0];
        let mut header = MAGIC.to_vec();
        for field in fields {
            header.extend(format!("{field:08x}").bytes());
        }
        header.extend(path.bytes());
        header.push(0);
        self.content(&header)?;
        self.align()
    }

    fn content(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.written += bytes.len() as u64;
        self.out.write_all(bytes)
    }

    fn align(&mut self) -> io::Result<()> {
        let padding = self.written.next_multiple_of(ALIGNMENT) - self.written;
        self.content(&[0; ALIGNMENT as usize][..padding as usize])
    }
}

/// Unpacks an archive of files and folders into `folder`, which exists.
///
/// # Errors
/// Those of source and file system; a damaged archive; an entry that would come to lie outside of `folder`, or that is neither
/// a file nor a folder.
pub fn unpack(source: impl Read, folder: &Path) -> io::Result<()> {
    let mut source = Source { from: source, read: 0 };
    while let Some(entry) = source.next_entry()? {
        let path = folder.join(inside(&entry.name)?);
        match entry.mode & KIND_MASK {
            DIRECTORY => fs::create_dir_all(&path)?,
            // Never through a link that somebody has placed into the folder meanwhile.
            FILE => source.copy_to(&mut fs::File::create_new(&path)?, entry.bytes)?,
            _ => return Err(damaged(format!("{}: neither a file nor a folder", entry.name))),
        }
    }
    Ok(())
}

struct Entry {
    name: String,
    mode: u32,
    bytes: u64,
}

struct Source<R> {
    from: R,
    read: u64,
}

impl<R: Read> Source<R> {
    /// The next entry; its content must be read before the one after.
    fn next_entry(&mut self) -> io::Result<Option<Entry>> {
        let header = self.bytes(HEADER_BYTES)?;
        let (magic, digits) = header.split_at(MAGIC.len());
        if magic != MAGIC {
            return Err(damaged("an entry without the magic number"));
        }
        let field = |index: usize| {
            let text = digits.get(index * 8..index * 8 + 8).and_then(|bytes| std::str::from_utf8(bytes).ok());
            text.and_then(|text| u32::from_str_radix(text, 16).ok()).ok_or_else(|| damaged("a field that is no number"))
        };
        let (mode, bytes, name_bytes) = (field(1)?, field(6)?, field(11)?);
        if !(1..=MAX_NAME_BYTES).contains(&name_bytes) {
            return Err(damaged(format!("a name of {name_bytes} bytes")));
        }
        let mut name = self.bytes(name_bytes as usize)?;
        name.pop();
        let name = String::from_utf8(name).map_err(|_| damaged("a name that is not UTF-8"))?;
        self.align()?;
        Ok((name != TRAILER).then_some(Entry { name, mode, bytes: u64::from(bytes) }))
    }

    fn copy_to(&mut self, out: &mut impl Write, bytes: u64) -> io::Result<()> {
        let copied = io::copy(&mut (&mut self.from).take(bytes), out)?;
        self.read += copied;
        if copied != bytes {
            return Err(damaged(format!("a file that ends after {copied} of {bytes} bytes")));
        }
        self.align()
    }

    fn bytes(&mut self, count: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; count];
        self.from.read_exact(&mut bytes).map_err(|_| damaged("an end before the trailer"))?;
        self.read += count as u64;
        Ok(bytes)
    }

    fn align(&mut self) -> io::Result<()> {
        let padding = self.read.next_multiple_of(ALIGNMENT) - self.read;
        self.bytes(padding as usize).map(drop)
    }
}

/// A name as a relative path without a step upwards.
fn inside(name: &str) -> io::Result<PathBuf> {
    let path = Path::new(name);
    if path.components().all(|part| matches!(part, Component::Normal(_))) {
        Ok(path.to_owned())
    } else {
        Err(damaged(format!("{name:?}, which lies outside of the archive")))
    }
}

fn damaged(found: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("expected an archive of ccactl's, found {}", found.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> Vec<u8> {
        let mut writer = Writer::new(Vec::new());
        writer.directory("a").unwrap();
        writer.file("a/x", 0o644, b"12345").unwrap();
        writer.stream("empty", 0o644, 0, io::empty()).unwrap();
        writer.finish().unwrap()
    }

    #[test]
    fn what_is_packed_is_unpacked_and_packed_again_to_the_same_bytes() {
        let archive = small();
        assert_eq!(archive.len() % ALIGNMENT as usize, 0, "archives can follow one another");
        let folder = tempfile::tempdir().unwrap();
        unpack(&archive[..], folder.path()).unwrap();
        assert_eq!(fs::read(folder.path().join("a/x")).unwrap(), b"12345");
        assert_eq!(fs::read(folder.path().join("empty")).unwrap(), b"");
        let mut again = Writer::new(Vec::new());
        again.tree(folder.path(), "").unwrap();
        assert_eq!(again.finish().unwrap(), archive);
    }

    #[test]
    fn an_archive_that_is_cut_anywhere_is_refused() {
        let archive = small();
        for length in 0..archive.len() {
            let folder = tempfile::tempdir().unwrap();
            assert!(unpack(&archive[..length], folder.path()).is_err(), "{length} of {} bytes", archive.len());
        }
    }

    #[test]
    fn an_entry_outside_of_the_folder_is_refused() {
        for name in ["../x", "/x", "a/../../x"] {
            let mut writer = Writer::new(Vec::new());
            writer.file(name, 0o644, b"").unwrap();
            let folder = tempfile::tempdir().unwrap();
            let error = unpack(&writer.finish().unwrap()[..], folder.path()).unwrap_err();
            assert!(error.to_string().contains(name), "{error}");
        }
    }

    #[test]
    fn a_link_which_could_lead_outside_is_refused() {
        let mut writer = Writer::new(Vec::new());
        writer.entry("l", libc::S_IFLNK | 0o777, 0).unwrap();
        let folder = tempfile::tempdir().unwrap();
        assert!(unpack(&writer.finish().unwrap()[..], folder.path()).is_err());
    }

    #[test]
    fn a_source_of_another_length_than_said_is_an_error() {
        let mut writer = Writer::new(Vec::new());
        let error = writer.stream("x", 0o644, 3, &b"12"[..]).unwrap_err();
        assert!(error.to_string().contains("expected 3 bytes, found 2"), "{error}");
    }
}
