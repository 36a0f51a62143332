//! The Arrow IPC stream: written batch by batch, readable however it ends.

use crate::error::{Error, Result};
use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{Schema, SchemaRef};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

/// Encodes batches; the bytes of one message leave in one piece, so that a failed write can be cut off cleanly.
pub(crate) struct StreamEncoder {
    writer: StreamWriter<Vec<u8>>,
}

impl StreamEncoder {
    /// An encoder and the bytes of the header.
    pub(crate) fn new(schema: &Schema) -> (StreamEncoder, Vec<u8>) {
        let mut writer = StreamWriter::try_new(Vec::new(), schema).expect("flat types are valid in a stream");
        let header = std::mem::take(writer.get_mut());
        (StreamEncoder { writer }, header)
    }

    pub(crate) fn batch(&mut self, batch: &RecordBatch) -> Vec<u8> {
        self.writer.write(batch).expect("the batch has the schema of the stream, and memory takes every byte");
        std::mem::take(self.writer.get_mut())
    }

    /// The end-of-stream mark.
    pub(crate) fn end(mut self) -> Vec<u8> {
        self.writer.finish().expect("memory takes every byte");
        std::mem::take(self.writer.get_mut())
    }
}

/// Where the bytes of the stream go.
pub(crate) enum Sink {
    /// A file, and how much of it is complete messages.
    File(File, u64),
    /// Standard output.
    Stdout,
}

impl Sink {
    /// Appends complete messages. When that fails a file is cut back to the last complete one.
    pub(crate) fn append(&mut self, messages: &[u8]) -> io::Result<()> {
        match self {
            Sink::File(file, complete_bytes) => {
                if let Err(error) = file.write_all(messages) {
                    // Shrinking needs no space; if it fails too, readers cope with half a message.
                    let _ = file.set_len(*complete_bytes);
                    return Err(error);
                }
                *complete_bytes += messages.len() as u64;
                Ok(())
            }
            Sink::Stdout => {
                let mut stdout = io::stdout().lock();
                stdout.write_all(messages)?;
                stdout.flush()
            }
        }
    }
}

/// A stream on disk. Iterating gives every complete batch, also when the writer was killed in the middle of one.
pub struct StreamFile {
    path: PathBuf,
    reader: StreamReader<BufReader<File>>,
    is_truncated: bool,
}

impl StreamFile {
    /// Opens a stream and reads its schema.
    ///
    /// # Errors
    /// [`Error::NotAStream`] when there is no complete header.
    pub fn open(path: &Path) -> Result<StreamFile> {
        let error = |reason: String| Error::NotAStream { path: path.to_owned(), reason };
        let file = File::open(path).map_err(|e| error(e.to_string()))?;
        let reader = StreamReader::try_new(BufReader::new(file), None).map_err(|e| error(e.to_string()))?;
        Ok(StreamFile { path: path.to_owned(), reader, is_truncated: false })
    }

    /// Columns and metadata.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        self.reader.schema()
    }

    /// Whether the iteration has met an incomplete last batch.
    #[must_use]
    pub fn is_truncated(&self) -> bool {
        self.is_truncated
    }
}

impl Iterator for StreamFile {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_truncated {
            return None;
        }
        match self.reader.next()? {
            Ok(batch) => Some(Ok(batch)),
            Err(error) => {
                self.is_truncated = true;
                // The reader words a cut in many ways; what they share is that it wanted more than there is.
                let is_at_end = self.reader.get_mut().fill_buf().is_ok_and(<[u8]>::is_empty);
                let error = || Error::NotAStream { path: self.path.clone(), reason: error.to_string() };
                (!is_at_end).then(|| Err(error()))
            }
        }
    }
}
