//! Summaries of parts of recordings, which add up: each is made where its part is, and together they give the report of the whole.
//!
//! A [`Partial`] holds *segments*: neighbouring parts of one recording that are folded already. Two segments that follow each other
//! make one, and the figures are the same in whatever order that happens (`segment`). The file is Parquet (`file`): the tables of
//! stage one, the first row of each flow, and the rows at its ends.

mod columns;
mod edges;
mod file;
mod frames;
mod input;
mod lists;
mod read;
mod segment;
mod write;

use std::path::{Path, PathBuf};

use ccactl_recording::read::{OneFile, Recording};

use crate::summarize::{Source, short_names, summarize_folded};
use crate::summary::Summary;
use crate::walk::Names;
use crate::{Error, Options, open_all, repeats};
pub use file::is_summary;
use input::Input;
use segment::Segment;

/// Rows of neighbouring parts may have changed places by this much. More than that are other clocks.
const OVERLAP_US: u64 = 1_000_000;

/// Summaries of parts of some recordings.
#[derive(Clone, Default)]
pub struct Partial {
    names: Names,
    /// By recording, in the order in which these were met; the segments of each ascend and are no neighbours.
    recordings: Vec<Vec<Segment>>,
    /// What was passed over, for whoever wants to know.
    notes: Vec<String>,
}

impl Partial {
    /// Folds these files, part by part.
    ///
    /// # Errors
    /// When a file cannot be read, or a window is asked for: a part has no window of its own.
    pub fn of(paths: &[PathBuf], options: &Options) -> Result<Partial, Error> {
        check(options)?;
        let mut partial = Partial::default();
        for recording in open_all(paths)? {
            for file in recording.into_files() {
                let segment = Segment::of(&file, options, &mut partial.names)?;
                partial.add(segment)?;
            }
        }
        Ok(partial)
    }

    /// Reads summary files and puts together what belongs together. No more than the result and one file are in memory, where the parts
    /// of a recording lie in order.
    ///
    /// # Errors
    /// When a file is no summary or damaged, or two do not add up.
    pub fn read(paths: &[PathBuf]) -> Result<Partial, Error> {
        let mut files = Vec::new();
        for path in paths {
            let header = file::header_of(path)?;
            let first = header.segments.iter().filter_map(|segment| segment.inputs[0].part).min();
            files.push((first, path));
        }
        files.sort_by_key(|(first, _)| *first);
        let mut partial = Partial::default();
        for (_, path) in files {
            let (_, segments) = file::read(path, &mut partial.names)?;
            for segment in segments {
                partial.add(segment)?;
            }
        }
        Ok(partial)
    }

    /// Writes the file, whole or not at all.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(self, path: &Path) -> Result<(), Error> {
        file::write(path, self.recordings.into_iter().flatten().collect(), &self.names)
    }

    /// What was passed over as it is there already.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Number of parts and of rows.
    #[must_use]
    pub fn size(&self) -> (usize, u64) {
        let segments = || self.recordings.iter().flatten();
        let rows = segments().filter_map(|segment| segment.extent).map(|extent| extent.rows).sum();
        (segments().map(|segment| segment.inputs.len()).sum(), rows)
    }

    /// The report of the recordings.
    ///
    /// # Errors
    /// As [`crate::summarize()`], or when another interval is asked for than the summaries were made with.
    pub fn summarize(self, options: &Options) -> Result<Summary, Error> {
        check(options)?;
        let paths: Vec<PathBuf> = self.recordings.iter().map(|segments| path_of(segments)).collect();
        let mut summaries = Vec::new();
        for (segments, name) in self.recordings.into_iter().zip(short_names(&paths)) {
            let mut names = self.names.clone();
            let segment = joined(segments, &mut names)?;
            let path = segment.path();
            if segment.intervals.width_us() != options.interval_us() {
                let made = segment.intervals.width_us() as f64 / crate::scale::US_PER_S;
                return Err(Error::OtherInterval { path, made_s: made, asked_s: options.interval_s });
            }
            let (metadata, problems) = (segment.metadata.clone(), segment.problems());
            let folded = segment.finish(names)?;
            let source = Source { path: &path, metadata: &metadata, problems: &problems, extent: folded.extent };
            summaries.push(summarize_folded(&source, folded, name, options)?);
        }
        let repeats = repeats::find(&summaries);
        Ok(Summary { recordings: summaries, repeats })
    }

    /// The recordings themselves, for what is drawn of single rows.
    ///
    /// # Errors
    /// When a file is not where it was, or is another one now.
    pub fn recordings(&self) -> Result<Vec<Recording>, Error> {
        let paths: Vec<PathBuf> = self.inputs().map(|input| input.path.clone()).collect();
        for input in self.inputs() {
            let gone = |found: String| Error::Rows { path: input.path.clone(), found };
            let file = Recording::open(&input.path).map_err(|error| gone(error.to_string()))?;
            let found: Option<OneFile> = file.into_files().pop();
            let is_same = found.map(|file| Input::of(&file)).transpose()?.is_some_and(|found| found.is(input));
            if !is_same {
                return Err(gone("a file with other content".to_owned()));
            }
        }
        open_all(&paths)
    }

    fn inputs(&self) -> impl Iterator<Item = &Input> {
        self.recordings.iter().flatten().flat_map(|segment| &segment.inputs)
    }

    fn add(&mut self, segment: Segment) -> Result<(), Error> {
        let known = self.recordings.iter().position(|segments| is_same_recording(&segments[0], &segment));
        let Some(at) = known else {
            self.recordings.push(vec![segment]);
            return Ok(());
        };
        let overlaps = self.recordings[at].iter().map(|known| overlap(known, &segment));
        let overlaps = overlaps.collect::<Result<Vec<_>, _>>()?;
        if overlaps.contains(&Overlap::Within) {
            self.notes.push(format!("{}: passed over, as it is there already", told(&segment)));
            return Ok(());
        }
        let mut parts = vec![segment];
        for (known, overlap) in std::mem::take(&mut self.recordings[at]).into_iter().zip(overlaps) {
            match overlap {
                Overlap::Around => self.notes.push(format!("{}: passed over, as it is there already", told(&known))),
                _ => parts.push(known),
            }
        }
        parts.sort_by_key(Segment::parts);
        let mut joined: Vec<Segment> = Vec::new();
        for next in parts {
            match joined.pop() {
                Some(last) if are_neighbours(&last, &next) => joined.push(join(last, next, &mut self.names)?),
                last => joined.extend(last.into_iter().chain([next])),
            }
        }
        self.recordings[at] = joined;
        Ok(())
    }
}

/// Parts are parts of one dataset; a file without one is a recording by itself, and the same one by its content.
fn is_same_recording(one: &Segment, other: &Segment) -> bool {
    match (&one.metadata.dataset, &other.metadata.dataset) {
        (Some(one), Some(other)) => one == other,
        (None, None) => one.inputs[0].is(&other.inputs[0]),
        _ => false,
    }
}

#[derive(PartialEq, Eq)]
enum Overlap {
    None,
    /// The second is in the first.
    Within,
    /// The first is in the second.
    Around,
}

fn overlap(known: &Segment, new: &Segment) -> Result<Overlap, Error> {
    let not_mergeable = |reason: String, remedy| Error::NotMergeable {
        path: new.inputs[0].path.clone(),
        other: known.inputs[0].path.clone(),
        reason,
        remedy,
    };
    let mut both = 0;
    for input in &new.inputs {
        let Some(same) = known.inputs.iter().find(|other| other.part == input.part) else { continue };
        if !same.is(input) {
            let part = input.part.map_or_else(|| "the file".to_owned(), |part| format!("part {part}"));
            return Err(not_mergeable(
                format!("{part} is in both, with other content: {} and {} bytes", same.bytes, input.bytes),
                "merge summaries of the same files",
            ));
        }
        both += 1;
    }
    match both {
        0 => Ok(Overlap::None),
        n if n == new.inputs.len() => Ok(Overlap::Within),
        n if n == known.inputs.len() => Ok(Overlap::Around),
        n => Err(not_mergeable(
            format!("{n} parts are in both, and each has others beside them"),
            "merge summaries that have no part in common",
        )),
    }
}

fn are_neighbours(earlier: &Segment, later: &Segment) -> bool {
    matches!((earlier.parts(), later.parts()), (Some([_, end]), Some([next, _])) if end.checked_add(1) == Some(next))
}

fn join(earlier: Segment, later: Segment, names: &mut Names) -> Result<Segment, Error> {
    let not_mergeable = |reason: String, remedy| Error::NotMergeable {
        path: later.inputs[0].path.clone(),
        other: earlier.inputs[earlier.inputs.len() - 1].path.clone(),
        reason,
        remedy,
    };
    let versions = [earlier.metadata.schema_version, later.metadata.schema_version];
    if versions[0] != versions[1] {
        let reason = format!("parts of one recording have schema versions {} and {}", versions[0], versions[1]);
        return Err(not_mergeable(reason, "take the files that one recorder wrote"));
    }
    let host = |segment: &Segment| segment.metadata.host.clone().zip(segment.metadata.boot_id.clone());
    if let (Some(before), Some(after)) = (host(&earlier), host(&later))
        && before != after
    {
        let named = |(host, boot_id): (String, String)| format!("{host} (boot {boot_id})");
        let reason = format!("parts of one recording are of {} and {}", named(before), named(after));
        return Err(not_mergeable(reason, "take the files that one recorder wrote"));
    }
    let widths = [earlier.intervals.width_us(), later.intervals.width_us()];
    if widths[0] != widths[1] {
        let reason = format!("their intervals have {} and {} µs", widths[0], widths[1]);
        return Err(not_mergeable(reason, "make both with the same --interval"));
    }
    if let (Some(before), Some(after)) = (earlier.extent, later.extent)
        && after.first_us.saturating_add(OVERLAP_US) < before.last_us
    {
        let [end_s, begin_s] = [before.last_us, after.first_us].map(|us| us as f64 / crate::scale::US_PER_S);
        let reason = format!("it begins at {begin_s} s of the recording, and the one before ends at {end_s} s");
        return Err(not_mergeable(reason, "take the files of one recording: another host's clock has other times"));
    }
    let path = later.inputs[0].path.clone();
    earlier.then(later, names).map_err(Error::table(&path))
}

/// All segments of a recording as one, over the parts that are missing.
fn joined(segments: Vec<Segment>, names: &mut Names) -> Result<Segment, Error> {
    let mut segments = segments.into_iter();
    let mut all = segments.next().expect("a recording has a segment");
    for next in segments {
        all = join(all, next, names)?;
    }
    Ok(all)
}

fn path_of(segments: &[Segment]) -> PathBuf {
    let files = segments.iter().map(|segment| segment.inputs.len()).sum();
    ccactl_recording::read::path_of(&segments[0].inputs[0].path, files)
}

fn told(segment: &Segment) -> String {
    let path = segment.inputs[0].path.display();
    match segment.inputs.len() {
        1 => path.to_string(),
        files => format!("{path} and {} more parts", files - 1),
    }
}

fn check(options: &Options) -> Result<(), Error> {
    match options.is_whole() {
        true => Ok(()),
        false => Err(Error::WindowOfSummary),
    }
}
