//! What the headers of a Parquet file's pages claim, held against the footer before anything is decoded.
//!
//! Polars' reader believes them: it reserves memory for as many values as a damaged header names, and the process is gone.

use std::io::Cursor;
use std::ops::Range;

use polars::prelude::*;
use polars_parquet_format::thrift::protocol::TCompactInputProtocol;
use polars_parquet_format::{PageHeader, PageType};

/// Most that a page may hold when decompressed. Writers end pages at some 1 MiB.
const MAX_PAGE_BYTES: usize = 256 << 20;
/// Most that a header may ask for: its statistics hold two values of the column.
const MAX_HEADER_BYTES: usize = 1 << 20;

/// Checks the pages of `columns` in the row groups of `footer`, in a file of these bytes.
///
/// # Errors
/// When a page ends beyond its column, claims a negative or huge size, or when the pages of a column do not hold as many values as
/// their row group has rows.
pub fn check(file: &[u8], footer: &FileMetadata, columns: &[String]) -> PolarsResult<()> {
    for group in &footer.row_groups {
        for chunk in group.parquet_columns() {
            let Some(name) = chunk.descriptor().path_in_schema.first() else { continue };
            if !columns.iter().any(|column| name == column) {
                continue;
            }
            let found = match values(file, chunk.byte_range()) {
                Ok(values) if values == group.num_rows() => continue,
                Ok(values) => format!("they hold {values} values"),
                Err(reason) => reason,
            };
            let rows = group.num_rows();
            return Err(PolarsError::ComputeError(format!("pages of {rows} rows of column {name}: {found}").into()));
        }
    }
    Ok(())
}

/// Values in the pages that lie in `range`.
fn values(file: &[u8], range: Range<u64>) -> Result<usize, String> {
    let chunk = usize::try_from(range.start).ok().zip(usize::try_from(range.end).ok());
    let chunk = chunk.and_then(|(start, end)| file.get(start..end)).ok_or("they end beyond the file")?;
    let mut rest = chunk;
    let mut values = 0;
    while !rest.is_empty() {
        let mut cursor = Cursor::new(rest);
        let header = PageHeader::read_from_in_protocol(&mut TCompactInputProtocol::new(&mut cursor, MAX_HEADER_BYTES))
            .map_err(|error| format!("a header does not parse ({error})"))?;
        let uncompressed = length(header.uncompressed_page_size)?;
        if uncompressed > MAX_PAGE_BYTES {
            return Err(format!("one claims {uncompressed} bytes"));
        }
        values += page_values(&header)?;
        let end = usize::try_from(cursor.position())
            .ok()
            .and_then(|at| at.checked_add(length(header.compressed_page_size).ok()?));
        rest = end.and_then(|end| rest.get(end..)).ok_or("one ends beyond its column")?;
    }
    Ok(values)
}

/// Values of a page of data, 0 for others.
fn page_values(header: &PageHeader) -> Result<usize, String> {
    let missing = || "one lacks the header of its kind".to_owned();
    match header.type_ {
        PageType::DATA_PAGE => length(header.data_page_header.as_ref().ok_or_else(missing)?.num_values),
        PageType::DATA_PAGE_V2 => length(header.data_page_header_v2.as_ref().ok_or_else(missing)?.num_values),
        _ => Ok(0),
    }
}

/// Thrift has signed numbers only.
fn length(claimed: i32) -> Result<usize, String> {
    usize::try_from(claimed).map_err(|_| format!("one claims a size of {claimed}"))
}
