//! How much of the print was met, over several suites: read from what each has left in its `suite.json`.

use crate::compare::Mark;
use crate::{Error, MAX_FILE_BYTES, Result};
use ccactl_host::input;
use serde::{Deserialize, Serialize};
use std::ops::AddAssign;
use std::path::Path;

/// Of one suite, or the sum of several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Score {
    /// Printed figures that the measured ones are near to.
    pub figures_met: usize,
    /// All printed figures but those that cannot be right; what was not measured was not met.
    pub figures: usize,
    /// Orderings that hold.
    pub orderings_hold: usize,
    /// Orderings that figures neither support nor refute.
    pub orderings_undecided: usize,
    /// All orderings.
    pub orderings: usize,
}

/// A suite and its score.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Scored {
    /// Name of its scenario.
    pub scenario: String,
    /// `quick` or `as-printed`; none for the scenario as it is written.
    pub variant: Option<String>,
    /// Numbers.
    #[serde(flatten)]
    pub score: Score,
}

impl AddAssign for Score {
    fn add_assign(&mut self, other: Score) {
        self.figures_met += other.figures_met;
        self.figures += other.figures;
        self.orderings_hold += other.orderings_hold;
        self.orderings_undecided += other.orderings_undecided;
        self.orderings += other.orderings;
    }
}

/// Reads the folder of a suite, or its `suite.json` wherever that lies.
///
/// # Errors
/// When the file cannot be read, or no suite has written it.
pub fn read(path: &Path) -> Result<Scored> {
    let path = if path.is_dir() { path.join("suite.json") } else { path.to_owned() };
    let json = input::read(&path, MAX_FILE_BYTES).map_err(Error::folder(&path, "read it"))?;
    let Stored { scenario, variant, tables, verdicts } =
        serde_json::from_slice(&json).map_err(|error| Error::Result { path, reason: error.to_string() })?;
    let rows = tables.into_iter().flat_map(|table| table.rows);
    let places = rows.flat_map(|row| row.entries).flatten().filter(|place| place.printed.is_some());
    let mut score = Score { orderings: verdicts.len(), ..Score::default() };
    for place in places.filter(|place| place.mark != Some(Mark::FaultyPrint)) {
        score.figures += 1;
        score.figures_met += usize::from(place.mark == Some(Mark::Near));
    }
    for Verdict { passed } in verdicts {
        score.orderings_hold += usize::from(passed == Some(true));
        score.orderings_undecided += usize::from(passed.is_none());
    }
    Ok(Scored { scenario, variant, score })
}

/// What a score needs of a [`Report`](crate::page::Report).
#[derive(Deserialize)]
struct Stored {
    scenario: String,
    #[serde(default)]
    variant: Option<String>,
    tables: Vec<Table>,
    verdicts: Vec<Verdict>,
}

#[derive(Deserialize)]
struct Table {
    rows: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    entries: Vec<Vec<Place>>,
}

#[derive(Deserialize)]
struct Place {
    printed: Option<f64>,
    mark: Option<Mark>,
}

#[derive(Deserialize)]
struct Verdict {
    passed: Option<bool>,
}
