//! The checksum of a file: what it finds, and what has none.

use ccactl_recording::{CHECKSUM_KEY, SEALED_BY, SealedFile, UNSEALED, Verdict, verify};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The end of a Parquet file, as far as the checksum looks at it, behind these rows.
fn file(rows: &[u8], key: &str, created_by: &str) -> Vec<u8> {
    // A list of one pair of texts, and a text, in Thrift's compact protocol.
    let text = |text: &str| [&[0x18, text.len() as u8], text.as_bytes()].concat();
    let footer = [b"\x19\x1c", &*text(key), &text(UNSEALED), b"\0", &text(created_by), b"\0"].concat();
    let length = (footer.len() as u32).to_le_bytes();
    [b"PAR1", rows, &footer, &length, b"PAR1"].concat()
}

fn create(path: &Path) -> File {
    File::options().read(true).write(true).create(true).truncate(true).open(path).unwrap()
}

fn sealed(folder: &TempDir, rows: &[u8]) -> PathBuf {
    let path = folder.path().join("x.parquet");
    let mut writer = SealedFile::new(create(&path));
    writer.write_all(&file(rows, CHECKSUM_KEY, SEALED_BY)).unwrap();
    writer.seal().unwrap();
    path
}

fn verdict(path: &Path) -> Verdict {
    verify(&File::open(path).unwrap()).unwrap()
}

#[test]
fn a_sealed_file_is_intact_and_every_bit_of_it_counts() {
    let folder = TempDir::new().unwrap();
    let path = sealed(&folder, b"these are the rows");
    assert_eq!(verdict(&path), Verdict::Intact);
    let bytes = fs::read(&path).unwrap();
    for bit in 0..bytes.len() * 8 {
        let mut altered = bytes.clone();
        altered[bit / 8] ^= 1 << (bit % 8);
        fs::write(&path, &altered).unwrap();
        assert_eq!(verdict(&path), Verdict::Damaged, "bit {bit}");
    }
    for length in 0..bytes.len() {
        fs::write(&path, &bytes[..length]).unwrap();
        assert_ne!(verdict(&path), Verdict::Intact, "cut at {length}");
    }
}

#[test]
fn a_file_longer_than_what_is_read_at_once() {
    let folder = TempDir::new().unwrap();
    // The digits of the checksum come to lie over the edge of a block for some of these.
    for length in [1 << 20, (1 << 20) - 40, (3 << 20) - 34, (3 << 20) + 5] {
        let path = sealed(&folder, &vec![7; length]);
        assert_eq!(verdict(&path), Verdict::Intact, "{length}");
        let file = File::options().write(true).open(&path).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, b"x", length as u64 / 2).unwrap();
        assert_eq!(verdict(&path), Verdict::Damaged, "{length}");
    }
}

#[test]
fn a_file_of_somebody_else_has_no_checksum() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("x.parquet");
    fs::write(&path, file(b"rows", "somebody.else", "another tool")).unwrap();
    assert_eq!(verdict(&path), Verdict::NoChecksum);
    // The list claims more pairs than the footer has bytes.
    let mut claim = file(b"rows", "somebody.else", "another tool");
    let list = claim.windows(2).position(|bytes| bytes == b"\x19\x1c").unwrap();
    claim.splice(list + 1..list + 2, [0xfc, 0xff, 0xff, 0xff, 0x7f]);
    let length = claim.len();
    claim[length - 8] += 4;
    fs::write(&path, claim).unwrap();
    assert_eq!(verdict(&path), Verdict::Malformed);
}

#[test]
fn a_file_without_a_place_for_the_checksum_cannot_be_sealed() {
    let folder = TempDir::new().unwrap();
    let mut writer = SealedFile::new(create(&folder.path().join("x.parquet")));
    writer.write_all(&file(b"rows", "somebody.else", "")).unwrap();
    assert!(writer.seal().unwrap_err().to_string().contains("no checksum to fill in"));
}
