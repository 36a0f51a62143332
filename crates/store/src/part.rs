//! What a finished part says of itself: where it goes, and how many rows it has.

use ccactl_host::input;
use ccactl_recording::Metadata;
use ccactl_recording::names::part_path;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use std::fs::File;
use std::path::Path;

/// All but what needs no quoting anywhere.
const QUOTED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.');
/// `2026-11-26` of RFC 3339.
const DATE_LENGTH: usize = 10;
/// What stands for a host without a name.
const NO_HOST: &str = "unknown";

/// A finished part, known by its own metadata: whoever sends it needs nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Its name below the prefix: `date=2026-11-26/host=web-1/DATASET/part-00000.parquet`.
    pub name: String,
    /// Its rows.
    pub rows: u64,
}

impl Part {
    /// Reads the end of a file, which is all that is needed. `Err` says what is missing, in one line.
    ///
    /// # Errors
    /// The text fits behind "expected a finished part, found: ".
    pub fn of(file: &File) -> Result<Part, String> {
        let pairs = ccactl_recording::pairs(file).map_err(|error| error.to_string())?.ok_or("no Parquet footer")?;
        let metadata =
            Metadata::from_pairs(&pairs).map_err(|error| format!("metadata that do not parse: {error:?}"))?;
        let dataset = metadata.dataset.as_deref().filter(|id| !id.is_empty()).ok_or("no ccactl.dataset")?;
        let number = metadata.part.and_then(|number| u32::try_from(number).ok()).ok_or("no ccactl.part")?;
        let started = metadata.part_started.as_deref().or(metadata.started.as_deref()).unwrap_or_default();
        let date = started.get(..DATE_LENGTH).filter(|date| is_date(date)).ok_or("no ccactl.part_started")?;
        let host = metadata.host.as_deref().filter(|host| !host.is_empty()).unwrap_or(NO_HOST);
        let file = part_path(Path::new(""), number).display().to_string();
        let name = format!("date={date}/host={}/{}/{file}", quoted(host), quoted(dataset));
        Ok(Part { name, rows: metadata.rows.unwrap_or(0) })
    }

    /// The same of a path.
    pub(crate) fn at(path: &Path) -> Result<(Part, File), String> {
        let file = input::open(path).map_err(|error| error.to_string())?;
        Ok((Part::of(&file)?, file))
    }
}

/// `.` alone and `..` would be folders.
fn quoted(text: &str) -> String {
    let quoted = utf8_percent_encode(text, QUOTED).to_string();
    if quoted.bytes().all(|byte| byte == b'.') { quoted.replace('.', "%2E") } else { quoted }
}

fn is_date(text: &str) -> bool {
    text.bytes().enumerate().all(|(i, byte)| if i == 4 || i == 7 { byte == b'-' } else { byte.is_ascii_digit() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::part;
    use std::io::Write;

    fn part_file(pairs: &[(&str, &str)]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&part(pairs)).unwrap();
        file
    }

    #[test]
    fn the_name_has_date_host_dataset_and_number() {
        let file = part_file(&[
            ("ccactl.host", "web 1/ü"),
            ("ccactl.part", "7"),
            ("ccactl.rows", "12"),
            ("ccactl.part_started", "2026-12-01T00:00:01.000Z"),
        ]);
        let name = "date=2026-12-01/host=web%201%2F%C3%BC/18a-2-3/part-00007.parquet".to_owned();
        assert_eq!(Part::of(&file), Ok(Part { name, rows: 12 }));
    }

    #[test]
    fn a_part_of_an_older_ccactl_has_the_date_of_its_recording_and_no_host() {
        let file = part_file(&[("ccactl.part", "0"), ("ccactl.started", "2026-11-26T11:00:00.000Z")]);
        assert_eq!(Part::of(&file).unwrap().name, "date=2026-11-26/host=unknown/18a-2-3/part-00000.parquet");
    }

    #[test]
    fn what_is_no_part_says_what_it_lacks() {
        assert_eq!(
            Part::of(&part_file(&[("ccactl.part", "0"), ("ccactl.dataset", "")])).unwrap_err(),
            "no ccactl.dataset"
        );
        assert_eq!(Part::of(&part_file(&[])).unwrap_err(), "no ccactl.part");
        assert_eq!(
            Part::of(&part_file(&[("ccactl.part", "0"), ("ccactl.started", "today, I think")])).unwrap_err(),
            "no ccactl.part_started"
        );
        let other = tempfile::tempfile().unwrap();
        assert_eq!(Part::of(&other).unwrap_err(), "no Parquet footer");
    }

    #[test]
    fn a_host_cannot_lead_out_of_the_prefix() {
        assert_eq!(
            (quoted(".."), quoted("."), quoted("a..b")),
            ("%2E%2E".to_owned(), "%2E".to_owned(), "a..b".to_owned())
        );
    }
}
