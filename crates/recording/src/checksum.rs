//! The checksum of a finished file.
//!
//! Parquet has none for its footer, and readers that trust a damaged footer fail in ways that cannot be foreseen. So the
//! metadata key `ccactl.crc32` holds the CRC-32 of the whole file, computed with the eight digits of its own value being
//! zeros. A tool that copies the rows into another file drops the key or has no [`SEALED_BY`], and nothing is checked.

use crate::metadata::Key;
use crate::thrift::{is_within_itself, pairs_of_footer};
use crc32fast::Hasher;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::FileExt;

/// Metadata key of the checksum.
pub const CHECKSUM_KEY: &str = Key::Crc32.name();
/// Its value until it is known; a file with this value was not finished.
pub const UNSEALED: &str = "00000000";
/// Ends the field `created_by` of a file that has a checksum, so that damage to the key does not hide the damage.
pub const SEALED_BY: &str = "(with ccactl.crc32)";

/// The end of a Parquet file: length of the footer, magic.
const TAIL_BYTES: u64 = 8;
/// Longest footer that is looked into: columns and row groups of a recording of a thousand million rows take a tenth.
const MAX_FOOTER_BYTES: u64 = 256 << 20;
const READ_BYTES: usize = 1 << 20;

/// Writes a file and sums up what it writes.
pub struct SealedFile {
    file: BufWriter<File>,
    checksum: Hasher,
    length: u64,
}

impl SealedFile {
    /// `file` must be empty and open for reading too.
    #[must_use]
    pub fn new(file: File) -> SealedFile {
        SealedFile { file: BufWriter::with_capacity(READ_BYTES, file), checksum: Hasher::new(), length: 0 }
    }

    /// Puts the checksum into its place and the file onto the disk. The footer must hold [`CHECKSUM_KEY`] with the value
    /// [`UNSEALED`].
    ///
    /// # Errors
    /// When the file cannot be written, or its footer lacks the key.
    pub fn seal(self) -> io::Result<()> {
        let SealedFile { file, checksum, length } = self;
        let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
        let malformed = || io::Error::new(io::ErrorKind::InvalidData, "the Parquet footer has no checksum to fill in");
        let footer = Footer::read(&file, length)?.ok_or_else(malformed)?;
        let place = footer.place_of_value().ok_or_else(malformed)?;
        file.write_all_at(format!("{:08x}", checksum.finalize()).as_bytes(), place)?;
        file.sync_all()
    }
}

impl Write for SealedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.checksum.update(&bytes[..written]);
        self.length += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// What a checksum says about its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Every byte is as it was written.
    Intact,
    /// Some byte is not, or the file was cut.
    Damaged,
    /// Without a checksum, and its footer claims what it cannot hold: no reader should be given it.
    Malformed,
    /// Written by somebody else, or by a ccactl that wrote none.
    NoChecksum,
}

/// Reads a whole Parquet file, some gigabytes per second when it is in memory, and compares.
///
/// # Errors
/// When it cannot be read.
pub fn verify(file: &File) -> io::Result<Verdict> {
    let length = file.metadata()?.len();
    let Some(footer) = Footer::read(file, length)? else { return Ok(Verdict::Damaged) };
    let Some(place) = footer.place_of_value() else {
        let is_sealed = footer.contains(SEALED_BY.as_bytes()) || footer.contains(CHECKSUM_KEY.as_bytes());
        return Ok(match is_within_itself(&footer.bytes) {
            _ if is_sealed => Verdict::Damaged,
            true => Verdict::NoChecksum,
            false => Verdict::Malformed,
        });
    };
    let mut digits = [0; UNSEALED.len()];
    file.read_exact_at(&mut digits, place)?;
    let sum = sum(file, length, place)?;
    Ok(if format!("{sum:08x}").as_bytes() == digits { Verdict::Intact } else { Verdict::Damaged })
}

/// What a Parquet file says beside its rows, by a look at its end alone. `None` when the end is no footer.
///
/// # Errors
/// When the file cannot be read.
pub fn pairs(file: &File) -> io::Result<Option<BTreeMap<String, String>>> {
    let footer = Footer::read(file, file.metadata()?.len())?;
    Ok(footer.and_then(|footer| pairs_of_footer(&footer.bytes)))
}

/// CRC-32 of the file with the digits at `place` being zeros.
fn sum(file: &File, length: u64, place: u64) -> io::Result<u32> {
    let mut checksum = Hasher::new();
    let mut buffer = vec![0; READ_BYTES];
    let mut offset = 0;
    while offset < length {
        let count = (length - offset).min(READ_BYTES as u64) as usize;
        let bytes = &mut buffer[..count];
        file.read_exact_at(bytes, offset)?;
        for index in
            (place..place + UNSEALED.len() as u64).filter(|index| (offset..offset + count as u64).contains(index))
        {
            bytes[(index - offset) as usize] = b'0';
        }
        checksum.update(bytes);
        offset += count as u64;
    }
    Ok(checksum.finalize())
}

struct Footer {
    start: u64,
    bytes: Vec<u8>,
}

impl Footer {
    /// `None` when the end of the file does not say where a footer would be.
    fn read(file: &File, length: u64) -> io::Result<Option<Footer>> {
        let Some(end) = length.checked_sub(TAIL_BYTES) else { return Ok(None) };
        let mut tail = [0; 4];
        file.read_exact_at(&mut tail, end)?;
        let size = u64::from(u32::from_le_bytes(tail));
        let Some(start) = end.checked_sub(size).filter(|_| size <= MAX_FOOTER_BYTES) else { return Ok(None) };
        let mut bytes = vec![0; size as usize];
        file.read_exact_at(&mut bytes, start)?;
        Ok(Some(Footer { start, bytes }))
    }

    fn contains(&self, text: &[u8]) -> bool {
        self.bytes.windows(text.len()).any(|window| window == text)
    }

    /// Offset in the file of the value of the key: right behind it, and two bytes of Thrift (type of the field, length).
    fn place_of_value(&self) -> Option<u64> {
        let mut marker = CHECKSUM_KEY.as_bytes().to_vec();
        marker.extend([0x18, UNSEALED.len() as u8]);
        let found = self.bytes.windows(marker.len()).rposition(|window| window == marker)?;
        let place = found + marker.len();
        (place + UNSEALED.len() <= self.bytes.len()).then_some(self.start + place as u64)
    }
}
