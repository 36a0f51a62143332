//! The rows of a recording, in batches of bounded size and in the order of the file.

use std::path::PathBuf;

use polars::prelude::*;

use super::Error;
use super::guard::guarded;
use super::part::{Layout, Part};
use super::{Recording, parquet, schema, stream};
use crate::Column;

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
    #[must_use]
    pub fn and(self, other: Extent) -> Extent {
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
        for batch in self.columns(vec![Column::TUs], (0, i64::MAX as u64)) {
            let batch = batch?;
            let t_us =
                batch.column(Column::TUs.name()).and_then(|column| column.u64()).map_err(Error::rows(&self.path))?;
            let (Some(first), Some(last)) = (t_us.min(), t_us.max()) else { continue };
            let part = Extent { rows: t_us.len() as u64, first_us: first, last_us: last, truncated: self.truncated() };
            total = Some(total.map_or(part, |so_far| so_far.and(part)));
        }
        Ok(total)
    }

    /// Rows whose time is in the window, both ends included and below 2⁶³; with these columns alone, as far as the recording has them,
    /// and with their own types: no other is decoded. [`Column::TUs`] must be among them.
    #[must_use]
    pub fn columns(&self, columns: Vec<Column>, window_us: (u64, u64)) -> Batches {
        let path = self.path.clone();
        Batches { parts: self.parts.clone().into_iter(), columns, window_us, current: None, path }
    }

    /// Whether the end of a part is missing.
    #[must_use]
    pub fn truncated(&self) -> bool {
        self.parts.iter().any(|part| part.truncated)
    }
}

/// Where the rows of one part come from.
enum Source {
    Parquet(Box<parquet::Batches>),
    Stream(Box<stream::Batches>),
}

impl Source {
    fn open(part: &Part, columns: &[Column]) -> PolarsResult<Source> {
        match &part.layout {
            Layout::Parquet(footer) => {
                let names = columns.iter().map(|column| column.name());
                let there = names.filter(|name| part.columns.contains(name)).map(str::to_owned);
                let batches = parquet::Batches::open(part.file_path(), footer.clone(), there.collect())?;
                Ok(Source::Parquet(Box::new(batches)))
            }
            Layout::Stream(count) => {
                Ok(Source::Stream(Box::new(stream::Batches::open(part.file_path(), *count, columns)?)))
            }
        }
    }

    fn next(&mut self) -> PolarsResult<Option<DataFrame>> {
        match self {
            Source::Parquet(batches) => batches.next(),
            Source::Stream(batches) => batches.next(),
        }
    }
}

/// Iterator over the batches of one query, each in one piece, through all parts in order.
pub struct Batches {
    parts: std::vec::IntoIter<Part>,
    columns: Vec<Column>,
    window_us: (u64, u64),
    current: Option<Source>,
    /// Of the part that was begun last.
    path: PathBuf,
}

impl Batches {
    fn next_batch(&mut self) -> Result<Option<DataFrame>, Error> {
        loop {
            let Some(source) = &mut self.current else {
                let Some(part) = self.parts.next() else { return Ok(None) };
                self.path.clone_from(&part.path);
                self.current = Some(Source::open(&part, &self.columns).map_err(Error::rows(&part.path))?);
                continue;
            };
            let mut rows = || {
                let Some(rows) = source.next()? else { return Ok(None) };
                let mut rows = within(selected(&rows, &self.columns)?, self.window_us)?;
                rows.rechunk_mut();
                Ok(Some(rows))
            };
            if let Some(rows) = rows().map_err(Error::rows(&self.path))? {
                return Ok(Some(rows));
            }
            self.current = None;
        }
    }
}

/// These columns of a batch, as far as it has them, with their own types; a number that does not fit is none.
fn selected(rows: &DataFrame, columns: &[Column]) -> PolarsResult<DataFrame> {
    let mut selected = Vec::new();
    for &column in columns {
        let Ok(found) = rows.column(column.name()) else { continue };
        let dtype = schema::dtype(column);
        selected.push(if *found.dtype() == dtype { found.clone() } else { found.cast(&dtype)? });
    }
    DataFrame::new(rows.height(), selected)
}

/// The rows whose time is known and in the window.
fn within(rows: DataFrame, (from_us, to_us): (u64, u64)) -> PolarsResult<DataFrame> {
    let t_us = rows.column(Column::TUs.name())?.u64()?;
    let is_within = |least, most| from_us <= least && most <= to_us;
    if t_us.null_count() == 0 && t_us.min().zip(t_us.max()).is_none_or(|(least, most)| is_within(least, most)) {
        return Ok(rows);
    }
    rows.filter(&(t_us.gt_eq(from_us) & t_us.lt_eq(to_us)))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_other_types_are_read_and_what_does_not_fit_is_none() {
        let rows = df!("t_us" => [7i64, -1], "rtt_us" => [Some(3u64), Some(1 << 40)], "extra" => [1, 2]).unwrap();
        let read = selected(&rows, &[Column::RttUs, Column::CompletionUs, Column::TUs]).unwrap();
        let expected = df!("rtt_us" => [Some(3u32), None], "t_us" => [Some(7u64), None]).unwrap();
        assert!(read.equals_missing(&expected), "{read}");
    }
}
