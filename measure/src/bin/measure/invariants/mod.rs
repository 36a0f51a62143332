//! What each algorithm promises, measured on the testbed: a list of statements, each with the bench that shows it, the way
//! its number is computed and the band in which the number has to lie.

mod aca;
mod compute;
mod rows;
mod run;
mod shares;

use crate::jobs::Job;
use crate::plans::{Outcome, Settings, only_flow};
use ccactl_abi::Algorithm;
use rows::ROWS;
use run::Run;
use std::fmt::Write as _;
use std::path::Path;

/// Text made of a run.
type Detail = fn(&Run) -> Result<String, String>;

/// One statement about one algorithm.
pub struct Row {
    /// Name in the registry.
    pub algorithm: &'static str,
    /// What is said to hold.
    pub says: &'static str,
    /// What is run for it.
    pub bench: &'static Bench,
    /// How the number comes about.
    pub how: &'static str,
    /// Of the number; empty for a ratio.
    pub unit: &'static str,
    /// Smallest and largest number for which the statement holds.
    pub band: (f64, f64),
    /// The number.
    pub value: fn(&Run) -> Result<f64, String>,
    /// More about it, below the table.
    pub detail: Option<Detail>,
}

impl Row {
    /// The row with more about it below the table.
    const fn with(mut self, detail: Detail) -> Row {
        self.detail = Some(detail);
        self
    }
}

/// A bench that several rows may share. The algorithm under test is the first flow.
pub struct Bench {
    /// Part of the folder's name.
    pub name: &'static str,
    /// Shipped scenario.
    pub scenario: &'static str,
    /// What differs from it.
    pub changes: &'static [(&'static str, &'static str)],
    /// In words.
    pub setting: &'static str,
    /// How many keep time beside each other on two cores.
    pub side_by_side: usize,
}

/// Every bench once per algorithm, those of one kind side by side.
pub fn groups(settings: &Settings) -> Vec<Vec<Job>> {
    let mut jobs: Vec<(usize, Job)> = Vec::new();
    for row in chosen(settings) {
        let label = label(row);
        if jobs.iter().all(|(_, job)| job.label != label) {
            jobs.push((row.bench.side_by_side, job(row, label, jobs.len(), settings.quick)));
        }
    }
    // Groups of one length: a short bench beside a long one would leave a core idle.
    jobs.sort_by_key(|(side_by_side, job)| (std::cmp::Reverse(*side_by_side), job.args.last().cloned()));
    let mut groups: Vec<Vec<Job>> = Vec::new();
    for same in jobs.chunk_by(|a, b| a.0 == b.0) {
        groups.extend(same.chunks(same[0].0).map(|group| group.iter().map(|(_, job)| job.clone()).collect()));
    }
    groups
}

fn chosen(settings: &Settings) -> impl Iterator<Item = &'static Row> {
    ROWS.iter().filter(|row| settings.chooses(row.algorithm))
}

fn label(row: &Row) -> String {
    format!("{}-{}", row.algorithm, row.bench.name)
}

fn job(row: &Row, label: String, index: usize, quick: bool) -> Job {
    // A kernel name of its own, since one algorithm may run in two benches at the same time.
    let kernel_name = format!("i{index}_{}", row.algorithm.replace('-', "_"));
    let algorithm = Algorithm::by_name(row.algorithm).expect("a test looks at every row");
    let mut changes = vec![("flow[0].name", row.algorithm), ("flow[0].as", &kernel_name[..kernel_name.len().min(15)])];
    changes.extend(row.bench.changes);
    if quick {
        changes.push(("duration", "6s"));
    }
    Job { label, scenario: row.bench.scenario, args: only_flow(algorithm, &changes) }
}

/// The rows with what was measured. A row without a valid run, or with a number that cannot be computed, does not hold.
pub fn table(dir: &Path, settings: &Settings) -> Result<Outcome, String> {
    let mut outcome = Outcome::table(String::from(
        "| algorithm | invariant | setting | computed from | expected | measured | holds |\n|---|---|---|---|---|---|---|\n",
    ));
    let mut details = String::new();
    for row in chosen(settings) {
        let (measured, holds) = match judge(dir, row, &mut details) {
            Ok(value) => (with_unit(value, row.unit), (row.band.0..=row.band.1).contains(&value)),
            Err(problem) => (problem, false),
        };
        outcome.holds &= holds;
        let _ = writeln!(
            outcome.text,
            "| {} | {} | {} | {} | {} | {measured} | {} |",
            row.algorithm,
            row.says,
            row.bench.setting,
            row.how,
            band(row),
            if holds { "yes" } else { "**no**" },
        );
    }
    outcome.text.push_str(&details);
    Ok(outcome)
}

fn judge(dir: &Path, row: &Row, details: &mut String) -> Result<f64, String> {
    let algorithm = Algorithm::by_name(row.algorithm).ok_or("not in the registry")?;
    let run = Run::open(dir, &label(row), algorithm)?;
    if let Some(detail) = row.detail {
        let _ = write!(details, "\n{}\n", detail(&run)?);
    }
    (row.value)(&run)
}

fn with_unit(value: f64, unit: &str) -> String {
    let text = format!("{value:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if unit.is_empty() { text.to_owned() } else { format!("{text} {unit}") }
}

fn band(row: &Row) -> String {
    match row.band {
        (low, high) if low == high => with_unit(low, row.unit),
        (low, f64::INFINITY) => format!("≥ {}", with_unit(low, row.unit)),
        (f64::NEG_INFINITY, high) => format!("≤ {}", with_unit(high, row.unit)),
        (low, high) => format!("{} … {}", with_unit(low, ""), with_unit(high, row.unit)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_algorithm_of_the_registry_has_an_invariant_and_no_other_has() {
        for algorithm in ccactl_abi::ALGORITHMS.iter() {
            assert!(ROWS.iter().any(|row| row.algorithm == algorithm.name), "{} has none", algorithm.name);
        }
        for row in ROWS {
            assert!(Algorithm::by_name(row.algorithm).is_some(), "{} is not in the registry", row.algorithm);
        }
    }

    #[test]
    fn equal_folders_mean_equal_benches_and_every_bench_is_a_scenario() {
        for row in ROWS {
            assert!(row.band.0 <= row.band.1, "{}: {}", row.algorithm, row.says);
            let same = ROWS.iter().filter(|other| other.bench.name == row.bench.name);
            assert!(same.map(|other| other.bench.setting).all(|setting| setting == row.bench.setting));
            let changes = job(row, label(row), 0, false).args;
            let overrides: Vec<_> =
                changes.iter().filter(|arg| *arg != "--set").map(|arg| arg.parse().unwrap()).collect();
            ccactl_scenario::Scenario::open(row.bench.scenario, &overrides)
                .unwrap_or_else(|error| panic!("{}: {error}", label(row)));
        }
    }

    #[test]
    fn no_group_is_larger_than_its_benches_allow() {
        for group in groups(&Settings::default()) {
            assert!((1..=3).contains(&group.len()), "{group:?}");
        }
    }
}
