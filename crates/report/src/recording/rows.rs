//! The rows of a recording, in batches of bounded size and in the order of the file.

use std::fs::File;

use polars::prelude::*;
use polars_arrow::io::ipc::read::{StreamReader, StreamState, read_stream_metadata};

use super::{Kind, Recording, schema};
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

impl Recording {
    /// Number of rows and their span of time; `None` for a recording without rows.
    ///
    /// # Errors
    /// When the rows cannot be read.
    pub fn extent(&self) -> Result<Option<Extent>, Error> {
        let span = [
            len().cast(DataType::Int64).alias("rows"),
            col("t_us").cast(DataType::Int64).min().alias("first"),
            col("t_us").cast(DataType::Int64).max().alias("last"),
        ];
        let mut total: Option<Extent> = None;
        let mut batches = self.batches(|rows| rows.select([col("t_us")]))?;
        for batch in batches.by_ref() {
            let part = batch?.lazy().select(&span).collect().map_err(Error::rows(&self.path))?;
            let value = |name| crate::columns::counts(&part, name).map(|v| v[0]).map_err(Error::rows(&self.path));
            let (rows, first_us, last_us) = (value("rows")?, value("first")?, value("last")?);
            if rows == 0 {
                continue;
            }
            let so_far = total.unwrap_or(Extent { rows: 0, first_us, last_us, truncated: false });
            total = Some(Extent {
                rows: so_far.rows + rows,
                first_us: so_far.first_us.min(first_us),
                last_us: so_far.last_us.max(last_us),
                truncated: false,
            });
        }
        let truncated = batches.truncated();
        Ok(total.map(|extent| Extent { truncated, ..extent }))
    }

    /// Rows with `from_us <= t_us <= to_us`, with the columns and types of [`schema::COLUMNS`].
    pub(crate) fn rows(&self, from_us: u64, to_us: u64) -> Result<Batches, Error> {
        self.columns(schema::COLUMNS.iter().map(|column| column.name).collect(), from_us, to_us)
    }

    /// The same with these columns alone: no other is decoded.
    pub(crate) fn columns(&self, names: Vec<&'static str>, from_us: u64, to_us: u64) -> Result<Batches, Error> {
        let selection = schema::selection(names, &self.columns);
        self.batches(move |rows| {
            rows.filter(col("t_us").gt_eq(lit(from_us)).and(col("t_us").lt_eq(lit(to_us)))).select(selection.clone())
        })
    }

    fn batches(&self, query: impl Fn(LazyFrame) -> LazyFrame + Send + 'static) -> Result<Batches, Error> {
        let source = match &self.kind {
            Kind::Parquet => self.parquet_batches().map_err(Error::rows(&self.path))?,
            Kind::ArrowStream => self.stream_batches()?,
        };
        Ok(Batches { path: self.path.clone(), query: Box::new(query), source })
    }

    /// One query of Polars' streaming engine per slice. A single query over the whole file would decode ahead of who
    /// takes its batches, and hold most of a long recording in memory.
    fn parquet_batches(&self) -> PolarsResult<Source> {
        let path = PlRefPath::try_from_path(self.file_path())?;
        let scan = Box::new(LazyFrame::scan_parquet(path, ScanArgsParquet { glob: false, ..Default::default() })?);
        Ok(Source::Parquet { scan, slices: slices(&self.row_groups).into_iter() })
    }

    fn stream_batches(&self) -> Result<Source, Error> {
        let mut file = File::open(self.file_path()).map_err(|source| Error::io(&self.path, source))?;
        let header = read_stream_metadata(&mut file).map_err(Error::rows(&self.path))?;
        let reader = StreamReader::new(file, header, None);
        Ok(Source::Stream { reader: Box::new(reader), truncated: false })
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

enum Source {
    Parquet { scan: Box<LazyFrame>, slices: std::vec::IntoIter<(usize, usize)> },
    Stream { reader: Box<StreamReader<File>>, truncated: bool },
}

/// Iterator over the batches of one query.
pub struct Batches {
    path: std::path::PathBuf,
    query: Box<dyn Fn(LazyFrame) -> LazyFrame + Send>,
    source: Source,
}

impl Batches {
    /// Whether the end of the file is missing; known once the iterator has ended.
    pub fn truncated(&self) -> bool {
        matches!(self.source, Source::Stream { truncated: true, .. })
    }

    fn next_batch(&mut self) -> PolarsResult<Option<DataFrame>> {
        let batch = match &mut self.source {
            Source::Parquet { scan, slices } => {
                slices.next().map(|(offset, length)| LazyFrame::clone(scan).slice(offset as i64, length as IdxSize))
            }
            Source::Stream { truncated: true, .. } => None,
            Source::Stream { reader, truncated } => match reader.next() {
                None => None,
                Some(Ok(StreamState::Some(batch))) => Some(DataFrame::from(batch).lazy()),
                // The file ends without its end mark, or inside a batch: what came before is whole.
                Some(Ok(StreamState::Waiting) | Err(_)) => {
                    *truncated = true;
                    None
                }
            },
        };
        let Some(batch) = batch else { return Ok(None) };
        let result = (self.query)(batch).collect_with_engine(Engine::Streaming)?;
        Ok(Some(result.unwrap_single()))
    }
}

impl Iterator for Batches {
    type Item = Result<DataFrame, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_batch().map_err(Error::rows(&self.path)).transpose()
    }
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
