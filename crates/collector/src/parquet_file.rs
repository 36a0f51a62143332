//! From the stream to Parquet.

use crate::output::with_suffix;
use crate::stream::StreamFile;
use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::metadata::{KeyValue, SortingColumn};
use parquet::file::properties::WriterProperties;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rows of a row group: what the conversion holds in memory, some 30 MB encoded, and what a reader can skip.
const ROW_GROUP_ROWS: usize = 256 * 1024;

/// Columns that mostly grow by small steps: differences pack better than a dictionary.
const GROWING: &[&str] =
    &["time", "t_us", "bytes_acked", "bytes_sent", "bytes_retrans", "delivered_pkts", "lost_pkts", "retrans_pkts"];

/// Writes `target` from `stream`; nothing is seen under that name until it is complete.
///
/// `is_sorted` promises that the rows are in order of `time`.
///
/// # Errors
/// What went wrong, in words; nothing is left behind.
pub fn convert_stream(
    stream: &Path,
    target: &Path,
    metadata: &BTreeMap<String, String>,
    is_sorted: bool,
) -> std::result::Result<(), String> {
    let temporary = Temporary(with_suffix(target, ".partial.parquet"));
    let file = File::create(&temporary.0).map_err(|e| e.to_string())?;
    let stream = StreamFile::open(stream).map_err(|e| e.to_string())?;
    write(stream, file, metadata, is_sorted).map_err(|e| e.to_string())?;
    fs::rename(&temporary.0, target).map_err(|e| e.to_string())
}

/// Removes the temporary file when the conversion did not come to its end; after the rename there is none.
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn write(
    stream: StreamFile,
    file: File,
    metadata: &BTreeMap<String, String>,
    is_sorted: bool,
) -> std::result::Result<(), Box<dyn std::error::Error>> {
    // The stream's metadata are those of the start. Readers look for them in either place: the file's own pairs or the
    // Arrow schema that is stored in it.
    let schema: SchemaRef = Arc::new(Schema::new_with_metadata(stream.schema().fields().clone(), metadata.clone()));
    let mut writer = ArrowWriter::try_new(file, Arc::clone(&schema), Some(properties(metadata, is_sorted)))?;
    for batch in stream {
        writer.write(&RecordBatch::try_new(Arc::clone(&schema), batch?.columns().to_vec())?)?;
    }
    writer.into_inner()?.sync_all()?;
    Ok(())
}

fn properties(metadata: &BTreeMap<String, String>, is_sorted: bool) -> WriterProperties {
    let pairs = metadata.iter().map(|(key, value)| KeyValue::new(key.clone(), value.clone())).collect();
    let by_time = SortingColumn { column_idx: 0, descending: false, nulls_first: false };
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
        .set_created_by(concat!("ccactl ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_key_value_metadata(Some(pairs))
        .set_sorting_columns(is_sorted.then(|| vec![by_time]));
    for &column in GROWING {
        properties = properties
            .set_column_dictionary_enabled(column.into(), false)
            .set_column_encoding(column.into(), Encoding::DELTA_BINARY_PACKED);
    }
    properties.build()
}
