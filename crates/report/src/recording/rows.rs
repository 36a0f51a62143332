//! The rows of a recording, in batches of bounded size and in the order of the file.

use std::path::PathBuf;

use polars::prelude::*;

use super::guard::guarded;
use super::part::{Layout, Part};
use super::{Recording, schema, stream};
use crate::Error;

/// Rows per batch: large enough for the cost per batch to vanish, small enough for any machine.
const BATCH_ROWS: usize = 1 << 17;

/// What a recording covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Rows that can be read.
    pub rows: u64,
    /// Time of the first row, µs since the start of the recording.
    pub first_us: u64,
    /// Time of the last row.
    pub last_us: u64,
    /// Whether the file ends in the middle of a batch or without its end mark.
    pub truncated: bool,
}

impl Extent {
    /// Of both together.
    pub(crate) fn and(self, other: Extent) -> Extent {
        Extent {
            rows: self.rows + other.rows,
            first_us: self.first_us.min(other.first_us),
            last_us: self.last_us.max(other.last_us),
            truncated: self.truncated || other.truncated,
        }
    }
}

impl Recording {
    /// Number of rows and their span of time; `None` for a recording without rows.
    ///
    /// # Errors
    /// When the rows cannot be read.
    pub fn extent(&self) -> Result<Option<Extent>, Error> {
        let mut total: Option<Extent> = None;
        for batch in self.batches(|rows, _| rows.select([col("t_us").cast(DataType::Int64)])) {
            let batch = batch?;
            let t_us = batch.column("t_us").and_then(|column| column.i64()).map_err(Error::rows(&self.path))?;
            let (Some(first), Some(last)) = (t_us.min(), t_us.max()) else { continue };
            let count = |t_us: i64| u64::try_from(t_us).unwrap_or(0);
            let part = Extent {
                rows: t_us.len() as u64,
                first_us: count(first),
                last_us: count(last),
                truncated: self.truncated(),
            };
            total = Some(total.map_or(part, |so_far| so_far.and(part)));
        }
        Ok(total)
    }

    /// Rows with `from_us <= t_us <= to_us`, with these columns alone, in this order and with the types of
    /// [`schema::COLUMNS`]: no other is decoded.
    pub(crate) fn columns(&self, names: Vec<&'static str>, from_us: u64, to_us: u64) -> Batches {
        self.batches(move |rows, found| {
            rows.filter(col("t_us").gt_eq(lit(from_us)).and(col("t_us").lt_eq(lit(to_us))))
                .select(schema::selection(names.iter().copied(), found))
        })
    }

    fn batches(&self, query: impl Fn(LazyFrame, &Schema) -> LazyFrame + Send + 'static) -> Batches {
        let path = self.path.clone();
        Batches { parts: self.parts.clone().into_iter(), query: Box::new(query), current: None, path }
    }

    /// Whether the end of a part is missing.
    pub(crate) fn truncated(&self) -> bool {
        self.parts.iter().any(|part| part.truncated)
    }
}

/// Where the rows of one part come from.
enum Source {
    Parquet { scan: Box<LazyFrame>, slices: std::vec::IntoIter<(usize, usize)> },
    Stream(Box<stream::Batches>),
}

impl Source {
    /// One query of Polars' streaming engine per slice of a Parquet file. A single query over the whole file would decode
    /// ahead of who takes its batches, and hold most of a long recording in memory.
    fn open(part: &Part) -> PolarsResult<Source> {
        match &part.layout {
            Layout::Parquet(row_groups) => {
                let path = PlRefPath::try_from_path(part.file_path())?;
                let options = ScanArgsParquet { glob: false, ..Default::default() };
                let scan = Box::new(LazyFrame::scan_parquet(path, options)?);
                Ok(Source::Parquet { scan, slices: slices(row_groups).into_iter() })
            }
            Layout::Stream(count) => Ok(Source::Stream(Box::new(stream::Batches::open(part.file_path(), *count)?))),
        }
    }

    fn next(&mut self) -> PolarsResult<Option<LazyFrame>> {
        match self {
            Source::Parquet { scan, slices } => {
                let slice = |(offset, length)| LazyFrame::clone(scan).slice(offset as i64, length as IdxSize);
                Ok(slices.next().map(slice))
            }
            Source::Stream(batches) => Ok(batches.next()?.map(IntoLazy::lazy)),
        }
    }
}

/// Iterator over the batches of one query, each in one piece, through all parts in order.
pub struct Batches {
    parts: std::vec::IntoIter<Part>,
    query: Box<Query>,
    current: Option<(Part, Source)>,
    /// Of the part that was begun last.
    path: PathBuf,
}

type Query = dyn Fn(LazyFrame, &Schema) -> LazyFrame + Send;

impl Batches {
    fn next_batch(&mut self) -> Result<Option<DataFrame>, Error> {
        loop {
            let Some((part, source)) = &mut self.current else {
                let Some(part) = self.parts.next() else { return Ok(None) };
                self.path.clone_from(&part.path);
                let source = Source::open(&part).map_err(Error::rows(&part.path))?;
                self.current = Some((part, source));
                continue;
            };
            let mut rows = || {
                let Some(rows) = source.next()? else { return Ok(None) };
                let result = (self.query)(rows, &part.columns).collect_with_engine(Engine::Streaming)?;
                let mut rows = result.unwrap_single();
                rows.rechunk_mut();
                Ok(Some(rows))
            };
            if let Some(rows) = rows().map_err(Error::rows(&part.path))? {
                return Ok(Some(rows));
            }
            self.current = None;
        }
    }
}

impl Iterator for Batches {
    type Item = Result<DataFrame, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = guarded(|| self.next_batch()).unwrap_or_else(|reason| {
            // Nothing is known of a reader that has panicked.
            self.current = None;
            self.parts = Vec::new().into_iter();
            Err(Error::Undecodable { path: self.path.clone(), reason })
        });
        batch.transpose()
    }
}

/// Offset and length of each batch. Slices begin and end with row groups, which are decoded as a whole; only a group
/// much larger than a batch is cut.
fn slices(row_groups: &[usize]) -> Vec<(usize, usize)> {
    let mut slices: Vec<(usize, usize)> = Vec::new();
    let mut offset = 0;
    for &group in row_groups {
        match slices.last_mut() {
            Some((_, length)) if *length + group <= BATCH_ROWS => *length += group,
            _ => {
                let pieces = group.div_ceil(2 * BATCH_ROWS).max(1);
                let piece = group.div_ceil(pieces).max(1);
                slices.extend((0..group).step_by(piece).map(|start| (offset + start, piece.min(group - start))));
            }
        }
        offset += group;
    }
    slices
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_cover_every_row_once_and_are_bounded() {
        let groups = [10, 20, BATCH_ROWS, 0, 5 * BATCH_ROWS + 3, 7];
        let slices = slices(&groups);
        let mut next = 0;
        for (offset, length) in slices {
            assert_eq!(offset, next);
            assert!((1..=2 * BATCH_ROWS).contains(&length), "{length}");
            next = offset + length;
        }
        assert_eq!(next, groups.iter().sum::<usize>());
    }

    #[test]
    fn small_row_groups_share_a_slice() {
        assert_eq!(slices(&[10, 20, 30]), [(0, 60)]);
        assert_eq!(slices(&[]), []);
    }
}
