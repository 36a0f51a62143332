//! A summary file: Parquet whose metadata hold what its tables do not.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;

use polars::prelude::*;
use serde::{Deserialize, Serialize};

use ccactl_recording::read::{Extent, Metadata};
use ccactl_recording::{CHECKSUM_KEY, SealedFile, UNSEALED, Verdict, verify};

use super::columns::{SEGMENT, TABLE, TABLES};
use super::frames;
use super::input::Input;
use super::read;
use super::segment::Segment;
use super::write;
use crate::measure::drops::Drops;
use crate::summarize::pools;
use crate::tables::Intervals;
use crate::walk::Names;
use crate::{Error, output};

/// Metadata key of [`Header`].
const KEY: &str = "ccactl.parts_summary";
/// Version of the header and of the tables; others are refused.
const VERSION: u32 = 2;
/// Rows of a row group at most. A table begins one of its own.
const ROW_GROUP_ROWS: usize = 1 << 16;

/// What the file says before its tables.
#[derive(Serialize, Deserialize)]
pub struct Header {
    version: u32,
    /// ccactl that wrote it.
    writer: String,
    /// Width of the intervals of Jain's index.
    pub interval_us: u64,
    pub segments: Vec<SegmentHeader>,
}

/// What is not in the tables of a segment.
#[derive(Serialize, Deserialize)]
pub struct SegmentHeader {
    pub inputs: Vec<Input>,
    /// As in the files.
    metadata: BTreeMap<String, String>,
    truncated: bool,
    /// Rows, and the time of the first and of the last one.
    extent: Option<[u64; 3]>,
    interval_span_us: Option<(u64, u64)>,
    intervals_of_flows: u64,
    /// Earliest and latest row with the number of lost rows that each knew.
    drops: Option<[(u64, u64); 2]>,
    /// Its tables, in the order of [`TABLES`].
    tables: Vec<TableHeader>,
}

/// Where a table is: the tables stand one after the other.
#[derive(Serialize, Deserialize)]
struct TableHeader {
    rows: usize,
    /// Those that it has of the columns of the file.
    columns: Vec<String>,
}

/// Writes segments, all or nothing.
pub fn write(path: &Path, segments: Vec<Segment>, names: &Names) -> Result<(), Error> {
    let interval_us = segments.first().map_or(0, |segment| segment.intervals.width_us());
    let mut header =
        Header { version: VERSION, writer: env!("CARGO_PKG_VERSION").to_owned(), interval_us, segments: Vec::new() };
    let mut all = Vec::new();
    for (segment, number) in segments.into_iter().zip(0..) {
        let mut of_segment = of_segment(&segment);
        let tables = write::tables(segment, names).map_err(Error::table(path))?;
        for (name, table) in tables {
            let columns = table.get_column_names().iter().map(ToString::to_string).collect();
            of_segment.tables.push(TableHeader { rows: table.height(), columns });
            all.push((name, number, table));
        }
        header.segments.push(of_segment);
    }
    let header = serde_json::to_string(&header).expect("it has only types that JSON knows");
    let bytes = sealed(&all, header).map_err(|cause| Error::Output { path: path.to_owned(), cause })?;
    output::write_whole(path, &bytes)
}

fn of_segment(segment: &Segment) -> SegmentHeader {
    SegmentHeader {
        inputs: segment.inputs.clone(),
        metadata: segment.metadata.to_pairs(),
        truncated: segment.truncated,
        extent: segment.extent.map(|extent| [extent.rows, extent.first_us, extent.last_us]),
        interval_span_us: segment.intervals.span_us,
        intervals_of_flows: segment.intervals.of_flows,
        drops: segment.drops.ends(),
        tables: Vec::new(),
    }
}

/// The file with its checksum, as bytes.
fn sealed(tables: &[(&str, u32, DataFrame)], header: String) -> io::Result<Vec<u8>> {
    let mut file = tempfile::tempfile()?;
    let mut seal = SealedFile::new(file.try_clone()?);
    let pairs = vec![(KEY.to_owned(), header), (CHECKSUM_KEY.to_owned(), UNSEALED.to_owned())];
    let writer = ParquetWriter::new(&mut seal)
        .with_compression(ParquetCompression::Snappy)
        .with_key_value_metadata(Some(KeyValueMetadata::from_static(pairs)));
    below_each_other(writer, tables).map_err(io::Error::other)?;
    seal.seal()?;
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Each table by itself, as the columns that it lacks take memory too.
fn below_each_other(writer: ParquetWriter<&mut SealedFile>, tables: &[(&str, u32, DataFrame)]) -> PolarsResult<()> {
    let mut schema = Schema::default();
    schema.insert(TABLE.into(), DataType::String);
    schema.insert(SEGMENT.into(), DataType::UInt32);
    schema.merge(frames::schema_of(tables.iter().map(|(.., table)| table))?);
    let mut writer = writer.batched(&schema)?;
    for (name, number, table) in tables {
        for from in (0..table.height()).step_by(ROW_GROUP_ROWS) {
            let mut rows = table.slice(from as i64, ROW_GROUP_ROWS);
            let height = rows.height();
            rows.with_column(Column::new_scalar(TABLE.into(), Scalar::from(PlSmallStr::from(*name)), height))?;
            rows.with_column(Column::new_scalar(SEGMENT.into(), Scalar::from(*number), height))?;
            writer.write_batch(&frames::in_one_piece(frames::with_columns_of(&rows, &schema)?))?;
        }
    }
    writer.finish().map(|_| ())
}

/// What a summary file says of its segments; the tables are not read.
pub fn header_of(path: &Path) -> Result<Header, Error> {
    Ok(open(path)?.0)
}

/// Whether a file is a summary. What cannot be read is none.
pub fn is_summary(path: &Path) -> bool {
    path.is_file() && File::open(path).is_ok_and(|file| pair(&mut ParquetReader::new(file)).is_some())
}

/// The segments of a summary file.
pub fn read(path: &Path, names: &mut Names) -> Result<(Header, Vec<Segment>), Error> {
    let (header, mut reader, file) = open(path)?;
    let footer = reader.get_metadata().map_err(Error::table(path))?.clone();
    let mut from = 0;
    let mut table = |of: &TableHeader| {
        let mut reader = ParquetReader::new(file.try_clone()?).with_slice(Some((from, of.rows)));
        reader.set_metadata(footer.clone());
        from = from.saturating_add(of.rows);
        reader.with_columns(Some(of.columns.clone())).finish()
    };
    let mut segment = |of: &SegmentHeader| {
        let tables = of.tables.iter().map(&mut table).collect::<PolarsResult<Vec<_>>>();
        let tables = tables.map_err(Error::table(path))?;
        let read::Read { flows, heads, drops, pools } = read::segment(tables, names).map_err(Error::table(path))?;
        let metadata = Metadata::from_pairs(&of.metadata)
            .map_err(|error| not_a_summary(path, &format!("metadata that do not parse: {error:?}")))?;
        let extent =
            of.extent.map(|[rows, first_us, last_us]| Extent { rows, first_us, last_us, truncated: of.truncated });
        let mut intervals = Intervals::new(header.interval_us);
        (intervals.span_us, intervals.of_flows) = (of.interval_span_us, of.intervals_of_flows);
        Ok(Segment {
            inputs: of.inputs.clone(),
            metadata,
            extent,
            truncated: of.truncated,
            intervals,
            drops: Drops::of(of.drops, drops),
            flows,
            heads,
            pools,
        })
    };
    let segments = header.segments.iter().map(&mut segment).collect::<Result<_, Error>>()?;
    Ok((header, segments))
}

fn open(path: &Path) -> Result<(Header, ParquetReader<File>, File), Error> {
    let unreadable = |cause| Error::Input { path: path.to_owned(), cause };
    let file = ccactl_host::input::open(path).map_err(unreadable)?;
    let damaged = || not_a_summary(path, "a damaged file: copy it again or make it anew");
    let verdict = verify(&file).map_err(unreadable)?;
    let mut reader = ParquetReader::new(file.try_clone().map_err(unreadable)?);
    let header = match verdict {
        Verdict::Malformed => None,
        _ => pair(&mut reader),
    };
    // A recording that is damaged is none of ours to judge.
    let Some(header) = header else { return Err(not_a_summary(path, "no such metadata in it")) };
    if verdict != Verdict::Intact {
        return Err(damaged());
    }
    #[derive(Deserialize)]
    struct Versioned {
        version: u32,
        writer: String,
    }
    let told: Versioned = serde_json::from_str(&header).map_err(|_| damaged())?;
    if told.version != VERSION {
        let found = format!("version {} of ccactl {}, not {VERSION}: make it anew", told.version, told.writer);
        return Err(not_a_summary(path, &found));
    }
    let header: Header = serde_json::from_str(&header).map_err(|_| damaged())?;
    let counts = [TABLES.len(), TABLES.len() + pools::TABLES.len()];
    let is_whole = |of: &SegmentHeader| !of.inputs.is_empty() && counts.contains(&of.tables.len());
    if !header.segments.iter().all(is_whole) || header.interval_us == 0 {
        return Err(damaged());
    }
    Ok((header, reader, file))
}

/// The header's text.
fn pair(reader: &mut ParquetReader<File>) -> Option<String> {
    let footer = reader.get_metadata().ok()?.clone();
    let pairs = footer.key_value_metadata.clone()?;
    pairs.into_iter().find(|pair| pair.key == KEY).and_then(|pair| pair.value)
}

fn not_a_summary(path: &Path, found: &str) -> Error {
    Error::NotASummary { path: path.to_owned(), found: found.to_owned() }
}
