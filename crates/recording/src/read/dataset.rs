//! Parts of one dataset become one recording.

use std::path::{Path, PathBuf};

use super::{Metadata, Part, Recording};

/// Recordings from the files found, in the order in which the first part of each was found.
pub fn group(parts: Vec<Part>) -> Vec<Recording> {
    let mut groups: Vec<Vec<Part>> = Vec::new();
    for part in parts {
        let same = |group: &&mut Vec<Part>| {
            part.metadata.dataset.is_some() && group[0].metadata.dataset == part.metadata.dataset
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(part),
            None => groups.push(vec![part]),
        }
    }
    groups.into_iter().map(whole).collect()
}

/// The recording of these parts; more than one only if they share a dataset.
///
/// # Panics
/// Without any part.
pub fn whole(mut parts: Vec<Part>) -> Recording {
    let mut problems = Vec::new();
    if parts[0].metadata.dataset.is_some() {
        parts.sort_by_key(|part| part.metadata.part);
        drop_duplicates(&mut parts, &mut problems);
        let there: Vec<u64> = parts.iter().filter_map(|part| part.metadata.part).collect();
        problems.extend(missing(&there, parts.iter().filter_map(|part| part.metadata.parts).max()));
    }
    problems.extend(parts.iter().filter_map(|part| part.problem.clone()));
    problems.extend(parts.iter().filter_map(recovered));
    let path = path_of(&parts[0].path, parts.len());
    let metadata = sum(&parts);
    Recording { path, metadata, parts, problems }
}

/// A dataset of several files is the folder of the first one; a single file stays what the user named.
#[must_use]
pub fn path_of(first: &Path, files: usize) -> PathBuf {
    let folder = first.parent().filter(|folder| files > 1 && *folder != Path::new(""));
    folder.unwrap_or(first).to_owned()
}

/// Two files of one part: the one that was found first counts.
fn drop_duplicates(parts: &mut Vec<Part>, problems: &mut Vec<String>) {
    parts.dedup_by(|later, kept| {
        let is_same = later.metadata.part == kept.metadata.part;
        if is_same {
            problems.push(format!(
                "{} is passed over: {} is the same part of the recording",
                later.path.display(),
                kept.path.display()
            ));
        }
        is_same
    });
}

/// What a reader should know of a dataset of which these parts are `there`, ascending. Parts are numbered from 0, and the last one
/// has `told` how many there are.
#[must_use]
pub fn missing(there: &[u64], told: Option<u64>) -> Option<String> {
    let count = there.last().map_or(0, |last| last + 1).max(told.unwrap_or(0));
    let gone = missing_ranges(there, count);
    let mut text = Vec::new();
    if !gone.is_empty() {
        text.push(format!(
            "of {count} parts of this recording {} missing: rows of that time are not in any figure",
            if gone.len() == 1 && !gone[0].contains('-') {
                format!("part {} is", gone[0])
            } else {
                format!("parts {} are", gone.join(", "))
            }
        ));
    }
    if told.is_none() {
        text.push(
            "the recording has no last part: its recorder was killed or is still running, or files are missing"
                .to_owned(),
        );
    }
    (!text.is_empty()).then(|| text.join("; "))
}

/// What lies between, as `3` or `5-9`; the numbers can be anything in a damaged file, so they are not counted through.
fn missing_ranges(there: &[u64], count: u64) -> Vec<String> {
    let mut next = 0;
    let mut ranges = Vec::new();
    for number in there.iter().copied().chain([count]) {
        match number.saturating_sub(next) {
            0 => {}
            1 => ranges.push(next.to_string()),
            _ => ranges.push(format!("{next}-{}", number - 1)),
        }
        next = number.saturating_add(1);
    }
    ranges
}

/// That a part is what is left of a killed recording.
pub fn recovered(part: &Part) -> Option<String> {
    let recovered = part.metadata.recovered.as_ref()?;
    Some(format!(
        "{}: recovered from the stream of a killed recording: {} whole rows, the last at {}",
        part.path.display(),
        recovered.rows,
        recovered.until.as_deref().unwrap_or("no time")
    ))
}

/// What the first part says, with the counts of all.
fn sum(parts: &[Part]) -> Metadata {
    let mut whole = parts[0].metadata.clone();
    parts[1..].iter().for_each(|part| whole.append(&part.metadata));
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_named_as_ranges() {
        assert_eq!(missing_ranges(&[0, 1, 2], 3), [""; 0]);
        assert_eq!(missing_ranges(&[1, 5], 6), ["0", "2-4"]);
        assert_eq!(missing_ranges(&[0], 4), ["1-3"]);
        assert_eq!(missing_ranges(&[u64::MAX], u64::MAX), [format!("0-{}", u64::MAX - 1)]);
    }
}
