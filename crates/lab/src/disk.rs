//! The disk on which a guest hands its results back: one archive behind a header that is written last.
//!
//! Offset 0: magic (16 bytes), length of the archive (u64, little endian), its CRC-32 (u32). Offset [`PAYLOAD_AT`]: the archive.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

const MAGIC: &[u8; 16] = b"ccactl-results-1";
const HEADER_BYTES: usize = 16 + 8 + 4;
/// A page, so that header and archive never share a block.
const PAYLOAD_AT: u64 = 4096;

/// What is on a disk.
#[derive(Debug)]
pub enum Content {
    /// No header: whoever was to write it did not come to it.
    Nothing,
    /// A whole archive, at the place to read it from.
    Archive(io::Take<File>),
}

/// Makes the file of an empty disk; it takes no space until it is written.
///
/// # Errors
/// Those of the file system.
pub fn create(path: &Path, bytes: u64) -> io::Result<()> {
    File::create_new(path)?.set_len(bytes)
}

/// Has `write` write an archive onto a disk, then marks it as whole.
///
/// # Errors
/// Those of the disk, a full one among them, and those of `write`.
pub fn store(disk: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut file = File::options().write(true).open(disk)?;
    file.seek(SeekFrom::Start(PAYLOAD_AT))?;
    let mut summed = Summed { out: BufWriter::with_capacity(1 << 20, file), bytes: 0, crc: crc32fast::Hasher::new() };
    write(&mut summed)?;
    let (bytes, crc) = (summed.bytes, summed.crc.finalize());
    let mut file = summed.out.into_inner().map_err(io::IntoInnerError::into_error)?;
    // The header vouches for the archive, so the archive is on the disk first.
    file.sync_all()?;
    let mut header = MAGIC.to_vec();
    header.extend(bytes.to_le_bytes());
    header.extend(crc.to_le_bytes());
    file.seek(SeekFrom::Start(0))?;
    file.write_all(&header)?;
    file.sync_all()
}

/// Opens what is on a disk, having read all of it once.
///
/// # Errors
/// Those of the file, and an archive that is not what its header says.
pub fn open(disk: &Path) -> io::Result<Content> {
    let mut file = File::open(disk)?;
    let mut header = [0; HEADER_BYTES];
    file.read_exact(&mut header)?;
    let (magic, rest) = header.split_at(MAGIC.len());
    if magic != MAGIC {
        return Ok(Content::Nothing);
    }
    let (length, crc) = rest.split_at(8);
    let bytes = u64::from_le_bytes(length.try_into().expect("eight bytes"));
    let expected = u32::from_le_bytes(crc.try_into().expect("four bytes"));
    file.seek(SeekFrom::Start(PAYLOAD_AT))?;
    let mut summed = Summed { out: io::sink(), bytes: 0, crc: crc32fast::Hasher::new() };
    io::copy(&mut (&mut file).take(bytes), &mut summed)?;
    let found = summed.crc.finalize();
    if (summed.bytes, found) != (bytes, expected) {
        let message = format!(
            "expected an archive of {bytes} bytes with CRC-32 {expected:08x}, found {} bytes with {found:08x}",
            summed.bytes
        );
        return Err(io::Error::new(io::ErrorKind::InvalidData, message));
    }
    file.seek(SeekFrom::Start(PAYLOAD_AT))?;
    Ok(Content::Archive(file.take(bytes)))
}

/// Counts and sums up what is written through it.
struct Summed<W> {
    out: W,
    bytes: u64,
    crc: crc32fast::Hasher,
}

impl<W: Write> Write for Summed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.bytes += written as u64;
        self.crc.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk(bytes: u64) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("disk");
        create(&path, bytes).unwrap();
        (folder, path)
    }

    #[test]
    fn what_is_stored_is_read_back() {
        let (_folder, path) = disk(1 << 20);
        store(&path, |out| out.write_all(b"results")).unwrap();
        let Content::Archive(mut archive) = open(&path).unwrap() else { panic!("there is one") };
        let mut text = String::new();
        archive.read_to_string(&mut text).unwrap();
        assert_eq!(text, "results");
    }

    #[test]
    fn a_writer_that_fails_leaves_nothing() {
        let (_folder, path) = disk(1 << 20);
        store(&path, |out| {
            out.write_all(b"half")?;
            Err(io::Error::other("died"))
        })
        .unwrap_err();
        assert!(matches!(open(&path).unwrap(), Content::Nothing));
    }

    #[test]
    fn a_changed_byte_or_a_lost_end_is_told() {
        let (_folder, path) = disk(1 << 20);
        store(&path, |out| out.write_all(b"results")).unwrap();
        let mut file = File::options().write(true).open(&path).unwrap();
        file.seek(SeekFrom::Start(PAYLOAD_AT + 1)).unwrap();
        file.write_all(b"E").unwrap();
        assert!(open(&path).unwrap_err().to_string().contains("expected an archive of 7 bytes"));
        file.set_len(PAYLOAD_AT + 2).unwrap();
        assert!(open(&path).unwrap_err().to_string().contains("found 2 bytes"));
    }
}
