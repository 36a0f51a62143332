//! The rows of a Parquet file, some row groups at a time.
//!
//! A query of Polars' streaming engine would cut what it decodes into morsels and put them together again, and touch fresh
//! memory each time: that took as long as decoding. So its reader is asked for row groups, which it gives in one piece.

use std::fs::File;
use std::io::Cursor;
use std::path::Path;
use std::sync::Arc;

use memmap2::Mmap;
use polars::prelude::*;

use super::pages;

/// Rows per batch: large enough for the cost per batch to vanish, small enough for any machine.
const BATCH_ROWS: usize = 1 << 17;

/// Goes through the file.
pub struct Batches {
    file: File,
    footer: Arc<FileMetadata>,
    /// Names of the columns that are decoded.
    columns: Vec<String>,
    slices: Slices,
}

impl Batches {
    /// `columns` are in the file.
    pub fn open(path: &Path, footer: Arc<FileMetadata>, columns: Vec<String>) -> PolarsResult<Batches> {
        let slices = Slices::new(footer.row_groups.iter().map(|group| group.num_rows()).collect());
        Ok(Batches { file: File::open(path)?, footer, columns, slices })
    }

    /// The next rows; the reader decodes its columns on all of Polars' threads.
    pub fn next(&mut self) -> PolarsResult<Option<DataFrame>> {
        let Some(slice) = self.slices.next() else { return Ok(None) };
        let row_groups = self.footer.row_groups[slice.groups].to_vec();
        let footer = FileMetadata {
            num_rows: row_groups.iter().map(|group| group.num_rows()).sum(),
            row_groups,
            version: self.footer.version,
            max_row_group_height: self.footer.max_row_group_height,
            created_by: None,
            key_value_metadata: self.footer.key_value_metadata.clone(),
            schema_descr: self.footer.schema_descr.clone(),
            column_orders: None,
            footer_buf: self.footer.footer_buf.clone(),
        };
        // Mapped anew for each slice, or all that was read of a file would count as memory of this process.
        // SAFETY: nothing writes to a finished recording; who cuts it under a reader ends that, here as in Polars' own mapping.
        let bytes = unsafe { Mmap::map(&self.file) }?;
        pages::check(&bytes, &footer, &self.columns)?;
        let mut reader = ParquetReader::new(Cursor::new(&bytes));
        reader.set_metadata(Arc::new(footer));
        let rows = reader
            .with_columns(Some(self.columns.clone()))
            .with_slice(Some((slice.offset, slice.rows)))
            .read_parallel(ParallelStrategy::Columns)
            .finish()?;
        // A damaged file may have fewer in one column than its footer claims.
        match rows.columns().iter().find(|column| column.len() != slice.rows) {
            Some(column) => Err(PolarsError::ComputeError(
                format!("column {} has {} of {} rows", column.name(), column.len(), slice.rows).into(),
            )),
            None => Ok(Some(rows)),
        }
    }
}

/// Some rows of some row groups.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Slice {
    groups: std::ops::Range<usize>,
    /// Of the first row within the row groups.
    offset: usize,
    rows: usize,
}

/// Slices begin and end with row groups, which are decoded as a whole; only a group much larger than a batch is cut. A footer may
/// claim any number of rows, so they are not made before they are asked for.
struct Slices {
    groups: Vec<usize>,
    next: usize,
    /// Rows of group `next` that are done.
    done: usize,
}

impl Slices {
    /// Of row groups with these numbers of rows.
    fn new(groups: Vec<usize>) -> Slices {
        Slices { groups, next: 0, done: 0 }
    }
}

impl Iterator for Slices {
    type Item = Slice;

    fn next(&mut self) -> Option<Slice> {
        let first = self.next;
        let group = *self.groups.get(first)?;
        if group > 2 * BATCH_ROWS {
            let piece = group.div_ceil(group.div_ceil(2 * BATCH_ROWS));
            let slice = Slice { groups: first..first + 1, offset: self.done, rows: piece.min(group - self.done) };
            self.done += slice.rows;
            if self.done == group {
                (self.next, self.done) = (first + 1, 0);
            }
            return Some(slice);
        }
        let mut rows = group;
        self.next += 1;
        while let Some(more) = self.groups.get(self.next).filter(|&&more| rows + more <= BATCH_ROWS) {
            rows += more;
            self.next += 1;
        }
        if rows == 0 { self.next() } else { Some(Slice { groups: first..self.next, offset: 0, rows }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_cover_every_row_once_and_are_bounded() {
        let groups = [10, 20, BATCH_ROWS, 0, 5 * BATCH_ROWS + 3, 7, 0];
        let mut next = 0;
        for Slice { groups: of, offset, rows } in Slices::new(groups.to_vec()) {
            assert_eq!(groups[..of.start].iter().sum::<usize>() + offset, next);
            assert!((1..=2 * BATCH_ROWS).contains(&rows), "{rows}");
            assert!(offset + rows <= groups[of].iter().sum());
            next += rows;
        }
        assert_eq!(next, groups.iter().sum::<usize>());
    }

    #[test]
    fn small_row_groups_share_a_slice() {
        assert_eq!(Slices::new(vec![10, 20, 30]).collect::<Vec<_>>(), [Slice { groups: 0..3, offset: 0, rows: 60 }]);
        assert_eq!(Slices::new(vec![]).next(), None);
        assert_eq!(Slices::new(vec![0, 0]).next(), None);
    }
}
