//! A summary file: Parquet whose metadata hold what its tables do not.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;

use polars::prelude::*;
use serde::{Deserialize, Serialize};

use ccactl_recording::read::{Extent, Metadata};
use ccactl_recording::{CHECKSUM_KEY, SealedFile, UNSEALED, Verdict, verify};

use super::input::Input;
use super::read;
use super::segment::Segment;
use super::write;
use crate::measure::drops::Drops;
use crate::tables::Intervals;
use crate::walk::Names;
use crate::{Error, output};

/// Metadata key of [`Header`].
const KEY: &str = "ccactl.parts_summary";
/// Version of the header and of the tables; others are refused.
const VERSION: u32 = 1;

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
}

/// Writes segments, all or nothing.
pub fn write(path: &Path, segments: Vec<Segment>, names: &Names) -> Result<(), Error> {
    let interval_us = segments.first().map_or(0, |segment| segment.intervals.width_us());
    let headers = segments.iter().map(header).collect();
    let header =
        Header { version: VERSION, writer: env!("CARGO_PKG_VERSION").to_owned(), interval_us, segments: headers };
    let tables = segments.into_iter().zip(0..).map(|(segment, number)| write::tables(segment, number, names));
    let mut tables =
        tables.collect::<PolarsResult<Vec<_>>>().and_then(super::frames::union).map_err(Error::table(path))?;
    let header = serde_json::to_string(&header).expect("it has only types that JSON knows");
    let bytes = sealed(&mut tables, header).map_err(|cause| Error::Output { path: path.to_owned(), cause })?;
    output::write_whole(path, &bytes)
}

fn header(segment: &Segment) -> SegmentHeader {
    SegmentHeader {
        inputs: segment.inputs.clone(),
        metadata: segment.metadata.to_pairs(),
        truncated: segment.truncated,
        extent: segment.extent.map(|extent| [extent.rows, extent.first_us, extent.last_us]),
        interval_span_us: segment.intervals.span_us,
        intervals_of_flows: segment.intervals.of_flows,
        drops: segment.drops.ends(),
    }
}

/// The file with its checksum, as bytes.
fn sealed(tables: &mut DataFrame, header: String) -> io::Result<Vec<u8>> {
    let mut file = tempfile::tempfile()?;
    let mut seal = SealedFile::new(file.try_clone()?);
    let pairs = vec![(KEY.to_owned(), header), (CHECKSUM_KEY.to_owned(), UNSEALED.to_owned())];
    let writer = ParquetWriter::new(&mut seal).with_key_value_metadata(Some(KeyValueMetadata::from_static(pairs)));
    writer.finish(tables).map_err(io::Error::other)?;
    seal.seal()?;
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
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
    let (header, mut reader) = open(path)?;
    reader.get_metadata().map_err(Error::table(path))?;
    let tables = reader.finish().map_err(Error::table(path))?;
    let segment = |(of, number): (&SegmentHeader, u32)| {
        let read::Read { flows, heads, drops } = read::segment(&tables, number, names).map_err(Error::table(path))?;
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
        })
    };
    let segments = header.segments.iter().zip(0..).map(segment).collect::<Result<_, Error>>()?;
    Ok((header, segments))
}

fn open(path: &Path) -> Result<(Header, ParquetReader<File>), Error> {
    let unreadable = |cause| Error::Input { path: path.to_owned(), cause };
    let file = ccactl_host::input::open(path).map_err(unreadable)?;
    let damaged = || not_a_summary(path, "a damaged file: copy it again or make it anew");
    let verdict = verify(&file).map_err(unreadable)?;
    let mut reader = ParquetReader::new(file);
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
    if header.segments.iter().any(|segment| segment.inputs.is_empty()) || header.interval_us == 0 {
        return Err(damaged());
    }
    Ok((header, reader))
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
