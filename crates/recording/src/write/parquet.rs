//! From the stream to Parquet. Row groups follow each other in time; within each the rows are sorted by flow.
//!
//! Neighbours are then one connection's: its counters grow by small steps, and its names, addresses and ports stay. So they take
//! less room on disk, and a reader meets thousands of rows of one flow in turn.

use super::StreamFile;
use crate::columns::{Column, Encoding};
use crate::layout::{FLOW, ROW_GROUP_ROWS, TIME};
use crate::metadata::Key;
use crate::{CHECKSUM_KEY, SEALED_BY, SealedFile, UNSEALED};
use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, UInt32Type, UInt64Type};
use arrow_schema::{ArrowError, Schema, SchemaRef};
use arrow_select::interleave::interleave_record_batch;
use ccactl_host::output::{Draft, Place, Replace};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding as ParquetEncoding, ZstdLevel};
use parquet::file::metadata::{KeyValue, SortingColumn};
use parquet::file::properties::WriterProperties;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// Rows that are put together at a time, a tenth of the memory of a row group.
const PIECE_ROWS: usize = 32 * 1024;

/// Asked between steps of a few hundredths of a second whether the conversion may go on; the error says why not.
pub type GoOn<'a> = &'a dyn Fn() -> Result<(), &'static str>;

/// Writes `target` from `stream`; nothing is seen under that name until it is complete.
///
/// `is_sorted` promises that the rows of the stream are in order of `time`.
///
/// # Errors
/// What went wrong, in words; nothing is left behind.
pub fn convert_stream(
    stream: &Path,
    target: &Path,
    metadata: &BTreeMap<String, String>,
    is_sorted: bool,
) -> Result<(), String> {
    let stream = StreamFile::open(stream).map_err(|e| e.to_string())?;
    let draft = Place::at(target).and_then(|place| place.draft(Replace::Ours)).map_err(|e| e.to_string())?;
    convert(stream, usize::MAX, draft, metadata, is_sorted, &|| Ok(()))
}

/// The same with the first `batches` of the stream, into a draft, and as long as `go_on` says so.
///
/// # Errors
/// As [`convert_stream`].
pub fn convert(
    stream: StreamFile,
    batches: usize,
    draft: Draft,
    metadata: &BTreeMap<String, String>,
    is_sorted: bool,
    go_on: GoOn<'_>,
) -> Result<(), String> {
    let file = draft.file().try_clone().map_err(|e| e.to_string())?;
    write(stream, batches, file, metadata, is_sorted, go_on).map_err(|e| e.to_string())?;
    draft.publish().map_err(|e| e.to_string())
}

fn write(
    stream: StreamFile,
    batches: usize,
    file: File,
    metadata: &BTreeMap<String, String>,
    is_sorted: bool,
    go_on: GoOn<'_>,
) -> Result<(), Box<dyn std::error::Error>> {
    let mut metadata = metadata.clone();
    metadata.insert(Key::Order.name().to_owned(), order(is_sorted));
    let properties = properties(&metadata, &stream.schema(), is_sorted);
    // The stream's metadata are those of the start. Readers look for them in either place: the file's own pairs or the
    // Arrow schema that is stored in it.
    let schema: SchemaRef = Arc::new(Schema::new_with_metadata(stream.schema().fields().clone(), metadata));
    let mut writer = ArrowWriter::try_new(SealedFile::new(file), Arc::clone(&schema), Some(properties))?;
    let mut group = RowGroup::new(schema);
    for batch in stream.take(batches) {
        go_on()?;
        let mut batch = batch?;
        while group.rows() + batch.num_rows() >= ROW_GROUP_ROWS {
            let fitting = ROW_GROUP_ROWS - group.rows();
            group.push(&batch.slice(0, fitting))?;
            write_group(&mut writer, &mut group, go_on)?;
            batch = batch.slice(fitting, batch.num_rows() - fitting);
        }
        group.push(&batch)?;
    }
    write_group(&mut writer, &mut group, go_on)?;
    writer.into_inner()?.seal()?;
    Ok(())
}

/// Writes what is in `group`; one that is full is complete on disk then.
fn write_group<W: Write + Send>(
    writer: &mut ArrowWriter<W>,
    group: &mut RowGroup,
    go_on: GoOn<'_>,
) -> Result<(), Box<dyn std::error::Error>> {
    for rows in group.drain()? {
        go_on()?;
        writer.write(&rows?)?;
    }
    Ok(())
}

/// Rows in the order of the stream until there are enough for a row group.
struct RowGroup {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
    rows: usize,
}

impl RowGroup {
    /// None yet, of batches with these columns.
    fn new(schema: SchemaRef) -> RowGroup {
        RowGroup { schema, batches: Vec::new(), rows: 0 }
    }

    fn rows(&self) -> usize {
        self.rows
    }

    fn push(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        self.rows += batch.num_rows();
        self.batches.push(RecordBatch::try_new(SchemaRef::clone(&self.schema), batch.columns().to_vec())?);
        Ok(())
    }

    /// Takes all rows out, in pieces: by [`FLOW`], and those of a flow in the order in which they came.
    fn drain(&mut self) -> Result<impl Iterator<Item = Result<RecordBatch, ArrowError>> + use<>, ArrowError> {
        let batches = std::mem::take(&mut self.batches);
        self.rows = 0;
        let places = by_flow(&batches)?;
        let pieces = (0..places.len()).step_by(PIECE_ROWS);
        Ok(pieces.map(move |start| {
            let batches: Vec<&RecordBatch> = batches.iter().collect();
            interleave_record_batch(&batches, &places[start..places.len().min(start + PIECE_ROWS)])
        }))
    }
}

/// Batch and row within it of every row.
fn by_flow(batches: &[RecordBatch]) -> Result<Vec<(usize, usize)>, ArrowError> {
    let mut flows: BTreeMap<(u32, u64), Vec<(usize, usize)>> = BTreeMap::new();
    for (number, batch) in batches.iter().enumerate() {
        let netns = identity::<UInt32Type>(batch, FLOW[0])?;
        let flow_ids = identity::<UInt64Type>(batch, FLOW[1])?;
        for (row, key) in netns.iter().copied().zip(flow_ids.iter().copied()).enumerate() {
            flows.entry(key).or_default().push((number, row));
        }
    }
    Ok(flows.into_values().flatten().collect())
}

fn identity<T: ArrowPrimitiveType>(batch: &RecordBatch, column: Column) -> Result<&[T::Native], ArrowError> {
    let name = column.name();
    let column = batch.column_by_name(name).and_then(|column| column.as_primitive_opt::<T>());
    let expected = || ArrowError::SchemaError(format!("it has no column {name} of the type that docs/schema.md gives"));
    Ok(column.ok_or_else(expected)?.values())
}

/// The columns by which the rows of a row group are sorted; by time only when each flow is in its order.
fn sorted_by(is_sorted: bool) -> impl Iterator<Item = Column> {
    FLOW.into_iter().chain(is_sorted.then_some(TIME))
}

/// The value of `ccactl.order`: names of columns, separated by commas.
#[must_use]
pub fn order(is_sorted: bool) -> String {
    sorted_by(is_sorted).map(Column::name).collect::<Vec<_>>().join(",")
}

/// What the footer says of each row group. A column that the stream lacks ends the list: the drain will tell.
fn sorting_columns(schema: &Schema, is_sorted: bool) -> Vec<SortingColumn> {
    let index = |column: Column| schema.index_of(column.name()).ok().and_then(|index| i32::try_from(index).ok());
    let ascending = |column_idx| SortingColumn { column_idx, descending: false, nulls_first: false };
    sorted_by(is_sorted).map_while(index).map(ascending).collect()
}

/// How a Parquet file of the recorder is written, for files with these columns and metadata. Who writes one seals it
/// ([`SealedFile`]), or its checksum is missing.
#[must_use]
pub fn properties(metadata: &BTreeMap<String, String>, schema: &Schema, is_sorted: bool) -> WriterProperties {
    let pairs = metadata.iter().map(|(key, value)| KeyValue::new(key.clone(), value.clone()));
    let checksum = KeyValue::new(CHECKSUM_KEY.to_owned(), UNSEALED.to_owned());
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
        .set_created_by(format!("ccactl {} {SEALED_BY}", env!("CARGO_PKG_VERSION")))
        .set_key_value_metadata(Some(pairs.chain([checksum]).collect()))
        .set_sorting_columns(Some(sorting_columns(schema, is_sorted)));
    for column in Column::ALL {
        let encoding = match column.facts().encoding {
            Encoding::Dictionary => continue,
            Encoding::Delta => ParquetEncoding::DELTA_BINARY_PACKED,
            Encoding::ByteStreamSplit => ParquetEncoding::BYTE_STREAM_SPLIT,
            Encoding::Plain => ParquetEncoding::PLAIN,
        };
        let path = || column.name().into();
        properties = properties.set_column_dictionary_enabled(path(), false).set_column_encoding(path(), encoding);
    }
    properties.build()
}
