//! An Arrow stream, checked frame by frame before Polars decodes it.

use std::fs::File;
use std::io::{self, BufReader, Cursor};
use std::path::Path;

use crate::{Column, Frames, Problem};
use polars::prelude::*;
use polars_arrow::io::ipc::read::{StreamMetadata, StreamReader, StreamState, read_stream_metadata};

/// What there is in a stream, and how it ends.
pub struct Content {
    pub header: StreamMetadata,
    /// Whole batches of rows.
    pub batches: usize,
    /// Why there are no more, unless it is the end mark.
    pub problem: Option<Problem>,
}

/// Goes through all frames once: who reads the rows of a running recording twice reads the same ones.
pub fn content(path: &Path) -> Result<Content, Problem> {
    let mut frames = frames(path).map_err(Problem::Io)?;
    let first = frames.next().unwrap_or_else(|| Err(Problem::Damaged("it has no schema".to_owned())))?;
    let header = read_stream_metadata(&mut Cursor::new(first.bytes()))
        .map_err(|error| Problem::Damaged(error.to_string().lines().next().unwrap_or_default().to_owned()))?;
    let mut batches = 0;
    for frame in frames {
        match frame {
            Ok(_) => batches += 1,
            Err(problem) => return Ok(Content { header, batches, problem: Some(problem) }),
        }
    }
    Ok(Content { header, batches, problem: None })
}

/// Decodes the first `left` batches.
pub struct Batches {
    frames: Frames<BufReader<File>>,
    header: StreamMetadata,
    /// Places of the columns that are decoded, in rising order.
    projection: Vec<usize>,
    left: usize,
}

impl Batches {
    /// Decodes these columns, as far as the stream has them.
    pub fn open(path: &Path, count: usize, columns: &[Column]) -> PolarsResult<Batches> {
        let mut frames = frames(path)?;
        let first = frames.next().transpose().map_err(error)?;
        let first = first.ok_or_else(|| error("the stream has become empty"))?;
        let header = read_stream_metadata(&mut Cursor::new(first.bytes()))?;
        let is_asked = |name: &str| columns.iter().any(|column| column.name() == name);
        let names = header.schema.iter_names().enumerate();
        let projection = names.filter(|(_, name)| is_asked(name)).map(|(place, _)| place).collect();
        Ok(Batches { frames, header, projection, left: count })
    }

    pub fn next(&mut self) -> PolarsResult<Option<DataFrame>> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let frame =
            self.frames.next().transpose().map_err(error)?.ok_or_else(|| error("the stream has become shorter"))?;
        let projection = Some(self.projection.clone());
        match StreamReader::new(Cursor::new(frame.bytes()), self.header.clone(), projection).next() {
            Some(Ok(StreamState::Some(batch))) => Ok(Some(DataFrame::from(batch))),
            Some(Err(reason)) => Err(reason),
            Some(Ok(StreamState::Waiting)) | None => Err(error("a batch of the stream has no rows to decode")),
        }
    }
}

fn frames(path: &Path) -> io::Result<Frames<BufReader<File>>> {
    Ok(Frames::new(BufReader::with_capacity(1 << 20, File::open(path)?)))
}

fn error(reason: impl ToString) -> PolarsError {
    PolarsError::ComputeError(reason.to_string().into())
}
