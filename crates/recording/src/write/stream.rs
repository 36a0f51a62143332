//! The Arrow IPC stream: written batch by batch, readable however it ends.

use super::NotAStream;
use crate::{Frame, Frames, Problem};
use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::MetadataVersion;
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::reader::read_record_batch;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, Schema, SchemaRef};
use ccactl_host::input;
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const READ_BYTES: usize = 1 << 20;

/// Encodes batches; the bytes of one message leave in one piece, so that a failed write can be cut off cleanly.
pub struct StreamEncoder {
    writer: StreamWriter<Vec<u8>>,
}

impl StreamEncoder {
    /// An encoder and the bytes of the header.
    ///
    /// # Panics
    /// When a column has a type that no recording has.
    #[must_use]
    pub fn new(schema: &Schema) -> (StreamEncoder, Vec<u8>) {
        let mut writer = StreamWriter::try_new(Vec::new(), schema).expect("flat types are valid in a stream");
        let header = std::mem::take(writer.get_mut());
        (StreamEncoder { writer }, header)
    }

    /// The bytes of a batch.
    ///
    /// # Panics
    /// When the batch has other columns than the stream.
    pub fn batch(&mut self, batch: &RecordBatch) -> Vec<u8> {
        self.writer.write(batch).expect("the batch has the schema of the stream, and memory takes every byte");
        std::mem::take(self.writer.get_mut())
    }

    /// The end-of-stream mark.
    ///
    /// # Panics
    /// When it has been asked for before.
    pub fn end(&mut self) -> Vec<u8> {
        self.writer.finish().expect("memory takes every byte");
        std::mem::take(self.writer.get_mut())
    }
}

/// A stream on disk. Iterating gives every complete batch, also when the writer was killed in the middle of one.
pub struct StreamFile {
    path: PathBuf,
    schema: SchemaRef,
    version: MetadataVersion,
    frames: Frames<BufReader<File>>,
    is_truncated: bool,
}

impl StreamFile {
    /// Opens a stream and reads its schema.
    ///
    /// # Errors
    /// [`NotAStream`] when there is no complete header.
    pub fn open(path: &Path) -> Result<StreamFile, NotAStream> {
        let file = input::open(path);
        StreamFile::read(path, file.map_err(|e| NotAStream { path: path.to_owned(), reason: e.to_string() })?)
    }

    /// The same of an open file, from its beginning; `path` is for messages.
    ///
    /// # Errors
    /// As [`StreamFile::open`].
    pub fn read(path: &Path, mut file: File) -> Result<StreamFile, NotAStream> {
        let error = |reason: String| NotAStream { path: path.to_owned(), reason };
        file.rewind().map_err(|e| error(e.to_string()))?;
        let mut frames = Frames::new(BufReader::with_capacity(READ_BYTES, file));
        let header = match frames.next() {
            Some(header) => header.map_err(|problem| error(problem.to_string()))?,
            None => return Err(error("it begins with an end mark".to_owned())),
        };
        let message = header.message();
        let schema = message.header_as_schema().ok_or_else(|| error("it has no schema".to_owned()))?;
        let schema = Arc::new(try_fb_to_schema(schema).map_err(|e| error(e.to_string()))?);
        let version = message.version();
        Ok(StreamFile { path: path.to_owned(), schema, version, frames, is_truncated: false })
    }

    /// Columns and metadata.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// Whether the iteration has met the end of the file before the end mark.
    #[must_use]
    pub fn is_truncated(&self) -> bool {
        self.is_truncated
    }

    fn decode(&self, frame: Frame) -> Result<RecordBatch, ArrowError> {
        let (bytes, body_start) = frame.into_parts();
        let bytes = Buffer::from_vec(bytes);
        let frame = Frame::message_of(&bytes, body_start);
        let batch = frame.header_as_record_batch().ok_or_else(|| ArrowError::IpcError("no batch".to_owned()))?;
        let body = bytes.slice(body_start);
        read_record_batch(&body, batch, self.schema(), &HashMap::new(), None, &self.version)
    }
}

impl Iterator for StreamFile {
    type Item = Result<RecordBatch, NotAStream>;

    fn next(&mut self) -> Option<Self::Item> {
        let error = |reason: String| NotAStream { path: self.path.clone(), reason };
        match self.frames.next()? {
            Ok(frame) => Some(self.decode(frame).map_err(|e| error(e.to_string()))),
            Err(Problem::Truncated) => {
                self.is_truncated = true;
                None
            }
            Err(problem) => Some(Err(error(problem.to_string()))),
        }
    }
}
