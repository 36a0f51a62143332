//! The rows of a recording, in batches of bounded size and in the order of the file.

use std::fs::File;
use std::num::NonZeroUsize;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::JoinHandle;

use polars::prelude::*;
use polars_arrow::io::ipc::read::{StreamReader, StreamState, read_stream_metadata};

use super::{Kind, Recording, schema};
use crate::Error;

/// Rows per batch: large enough for the cost per batch to vanish, small enough for any machine.
const BATCH_ROWS: NonZeroUsize = NonZeroUsize::new(1 << 17).unwrap();

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
        self.batches(move |rows| {
            rows.filter(col("t_us").gt_eq(lit(from_us)).and(col("t_us").lt_eq(lit(to_us)))).select(schema::selection())
        })
    }

    fn batches(&self, query: impl Fn(LazyFrame) -> LazyFrame + Send + 'static) -> Result<Batches, Error> {
        let source = match self.kind {
            Kind::Parquet => self.parquet_batches(query).map_err(Error::rows(&self.path))?,
            Kind::ArrowStream => self.stream_batches(query)?,
        };
        Ok(Batches { path: self.path.clone(), source })
    }

    /// Polars' streaming engine pushes the query into the scan and hands the batches over a channel.
    fn parquet_batches(&self, query: impl Fn(LazyFrame) -> LazyFrame) -> PolarsResult<Source> {
        let path = PlRefPath::try_from_path(self.file_path())?;
        let scan = LazyFrame::scan_parquet(path, ScanArgsParquet { glob: false, ..Default::default() })?;
        let (sender, receiver) = sync_channel(1);
        let query = query(scan).sink_batches(
            // "true" tells the engine to stop: nobody listens any more.
            PlanCallback::new(move |batch: DataFrame| Ok(sender.send(batch).is_err())),
            true,
            Some(BATCH_ROWS),
        )?;
        let engine = std::thread::spawn(move || query.collect_with_engine(Engine::Streaming).map(|_| ()));
        Ok(Source::Parquet { receiver, engine: Some(engine) })
    }

    fn stream_batches(&self, query: impl Fn(LazyFrame) -> LazyFrame + Send + 'static) -> Result<Source, Error> {
        let mut file = File::open(self.file_path()).map_err(|source| Error::io(&self.path, source))?;
        let header = read_stream_metadata(&mut file).map_err(Error::rows(&self.path))?;
        let reader = StreamReader::new(file, header, None);
        Ok(Source::Stream { reader: Box::new(reader), query: Box::new(query), truncated: false })
    }
}

enum Source {
    Parquet { receiver: Receiver<DataFrame>, engine: Option<JoinHandle<PolarsResult<()>>> },
    Stream { reader: Box<StreamReader<File>>, query: Box<dyn Fn(LazyFrame) -> LazyFrame>, truncated: bool },
}

/// Iterator over the batches of one query.
pub struct Batches {
    path: std::path::PathBuf,
    source: Source,
}

impl Batches {
    /// Whether the end of the file is missing; known once the iterator has ended.
    pub fn truncated(&self) -> bool {
        matches!(self.source, Source::Stream { truncated: true, .. })
    }

    fn next_batch(&mut self) -> PolarsResult<Option<DataFrame>> {
        match &mut self.source {
            Source::Parquet { receiver, engine } => match (receiver.recv(), engine) {
                (Ok(batch), _) => Ok(Some(batch)),
                (Err(_), engine) => match engine.take().map(JoinHandle::join) {
                    Some(Ok(result)) => result.map(|()| None),
                    Some(Err(panic)) => std::panic::resume_unwind(panic),
                    None => Ok(None),
                },
            },
            Source::Stream { truncated: true, .. } => Ok(None),
            Source::Stream { reader, query, truncated, .. } => match reader.next() {
                None => Ok(None),
                Some(Ok(StreamState::Some(batch))) => query(DataFrame::from(batch).lazy()).collect().map(Some),
                // The file ends without its end mark, or inside a batch: what came before is whole.
                Some(Ok(StreamState::Waiting) | Err(_)) => {
                    *truncated = true;
                    Ok(None)
                }
            },
        }
    }
}

impl Iterator for Batches {
    type Item = Result<DataFrame, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_batch().map_err(Error::rows(&self.path)).transpose()
    }
}
