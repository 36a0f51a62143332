//! How much of the print was met, over several suites: read from what each has left in its `suite.json`.

use crate::compare::{Mark, evidence};
use crate::verdict::Outcome;
use crate::{Error, MAX_FILE_BYTES, Result};
use ccactl_host::input;
use ccactl_scenario::Variant;
use serde::{Deserialize, Serialize};
use std::ops::AddAssign;
use std::path::Path;

/// Of one suite, or the sum of several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Score {
    /// Printed figures that the measured ones are near to.
    pub figures_met: usize,
    /// All printed figures but those that cannot be right and, as printed, those from which a condition was inferred; what was
    /// not measured was not met.
    pub figures: usize,
    /// Orderings that hold.
    pub orderings_hold: usize,
    /// Orderings that the figures that there are neither support nor refute.
    pub orderings_undecided: usize,
    /// All orderings but, as printed, those from which a condition was inferred.
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
    let as_printed = variant.as_deref() == Some(Variant::AsPrinted.name());
    let places = tables.iter().flat_map(Table::places).filter(|place| place.printed.is_some());
    let places = places.filter(|place| !(as_printed && place.evidence_for.is_some()));
    let is_evidence = |verdict: &Verdict| as_printed && evidence::of_ordering(&scenario, &verdict.text).is_some();
    let verdicts: Vec<Verdict> = verdicts.into_iter().filter(|verdict| !is_evidence(verdict)).collect();
    let mut score = Score { orderings: verdicts.len(), ..Score::default() };
    for place in places.filter(|place| place.mark != Some(Mark::FaultyPrint)) {
        score.figures += 1;
        score.figures_met += usize::from(place.mark == Some(Mark::Near));
    }
    for Verdict { outcome, .. } in verdicts {
        match outcome {
            Outcome::Holds => score.orderings_hold += 1,
            Outcome::Fails => {}
            Outcome::Undecided | Outcome::NotMeasured => score.orderings_undecided += 1,
        }
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
    columns: Vec<String>,
    rows: Vec<Row>,
}

impl Table {
    /// Every figure once: a matrix of pairs shows each pair on both sides of its diagonal.
    fn places(&self) -> impl Iterator<Item = &Place> {
        let names = self.rows.iter().map(|row| row.names.first());
        let is_matrix = self.rows.len() == self.columns.len() && names.eq(self.columns.iter().map(Some));
        let entries = move |row: usize| self.rows[row].entries.iter().skip(if is_matrix { row } else { 0 });
        (0..self.rows.len()).flat_map(entries).flatten()
    }
}

#[derive(Deserialize)]
struct Row {
    names: Vec<String>,
    entries: Vec<Vec<Place>>,
}

#[derive(Deserialize)]
struct Place {
    printed: Option<f64>,
    #[serde(default)]
    evidence_for: Option<String>,
    mark: Option<Mark>,
}

#[derive(Deserialize)]
struct Verdict {
    text: String,
    outcome: Outcome,
}
