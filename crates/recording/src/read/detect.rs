//! What kind of file this is, from its first and last bytes.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use super::Error;
use super::find::partial_of;

/// Format of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A finished recording.
    Parquet,
    /// A recording that is still running, was killed, or came through a pipe.
    ArrowStream,
}

const PARQUET_MAGIC: &[u8; 4] = b"PAR1";
/// First four bytes of every message of an Arrow stream.
const STREAM_CONTINUATION: &[u8; 4] = &[0xff; 4];
/// Magic at both ends, and the length of the footer.
const SMALLEST_PARQUET_BYTES: u64 = 12;

/// Recognises the format, or says what the file is instead.
pub fn kind(path: &Path, file: &mut File) -> Result<Kind, Error> {
    let io = |source| Error::io(path, source);
    let truncated =
        |found: String, remedy: &str| Error::Truncated { path: path.to_owned(), found, remedy: remedy.to_owned() };
    let length = file.metadata().map_err(io)?.len();
    let mut head = Vec::new();
    file.by_ref().take(8).read_to_end(&mut head).map_err(io)?;
    if head.is_empty() {
        return Err(truncated("the file is empty".to_owned(), "record again"));
    }
    if head.starts_with(STREAM_CONTINUATION) {
        return Ok(Kind::ArrowStream);
    }
    if head.starts_with(PARQUET_MAGIC) {
        let mut tail = [0; 4];
        if length >= SMALLEST_PARQUET_BYTES {
            file.seek(SeekFrom::End(-4)).and_then(|_| file.read_exact(&mut tail)).map_err(io)?;
        }
        if &tail != PARQUET_MAGIC {
            let remedy = match partial_of(path) {
                Some(partial) => format!("report on {}", partial.display()),
                None => "copy the file again or record again".to_owned(),
            };
            let found = format!("starts as Parquet but has no footer at the end of its {length} bytes");
            return Err(truncated(found, &remedy));
        }
        return Ok(Kind::Parquet);
    }
    Err(Error::NotARecording { path: path.to_owned(), found: describe(&head) })
}

fn describe(head: &[u8]) -> String {
    if head.starts_with(b"ARROW1") {
        return "an Arrow IPC file (not a stream)".to_owned();
    }
    match std::str::from_utf8(head) {
        Ok(text) if !text.contains('\0') => format!("a text file that starts with {text:?}"),
        _ => {
            let bytes: Vec<String> = head.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("a file that starts with the bytes {}", bytes.join(" "))
        }
    }
}
