//! The files that a summary was made of.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use ccactl_recording::read::OneFile;

use crate::Error;

/// One file, by what it holds: wherever it is copied to, it is the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// Where it was.
    pub path: PathBuf,
    /// Its length.
    pub bytes: u64,
    /// CRC-32 of all of it.
    pub crc32: u32,
    /// Which part of its dataset it is.
    pub part: Option<u64>,
    /// How many parts there are; the last one says so.
    pub parts: Option<u64>,
    /// Damage that ended it early.
    pub problem: Option<String>,
    /// That it is what is left of a killed recording.
    pub recovered: Option<String>,
}

impl Input {
    /// Reads the file once, for its checksum.
    pub fn of(file: &OneFile) -> Result<Input, Error> {
        let (bytes, crc32) =
            checksum(&file.on_disk).map_err(|cause| Error::Input { path: file.recording.path().to_owned(), cause })?;
        let metadata = file.recording.metadata();
        Ok(Input {
            path: file.recording.path().to_owned(),
            bytes,
            crc32,
            part: metadata.part,
            parts: metadata.parts,
            problem: file.problem.clone(),
            recovered: file.recovered.clone(),
        })
    }

    /// Whether it is the same content, under whatever name.
    pub fn is(&self, other: &Input) -> bool {
        (self.bytes, self.crc32, self.part) == (other.bytes, other.crc32, other.part)
    }
}

fn checksum(path: &Path) -> io::Result<(u64, u32)> {
    let mut file = ccactl_host::input::open(path)?;
    let mut hasher = crc32fast::Hasher::new();
    let mut buffer = vec![0; 1 << 20];
    let mut bytes = 0;
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            return Ok((bytes, hasher.finalize()));
        }
        bytes += read as u64;
        hasher.update(&buffer[..read]);
    }
}
