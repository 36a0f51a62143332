//! A score card: the rows of a profile with what was measured, and what it comes to in one sentence.

use super::criteria::{Criterion, Profile};
use super::judge::{Gain, Verdict, judge};
use super::measure::{Alone, Measure};
use super::paths::Path;
use super::section::Section;
use crate::folder::{Place, SuiteFolder};
use crate::{Result, results};
use ccactl_report::Estimate;
use ccactl_testbed::bench::RunResult;
use serde::Serialize;
use std::collections::BTreeMap;

/// What the measurements say of an algorithm.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Card {
    /// Name of the algorithm with what was set.
    pub algorithm: String,
    /// Name of the profile.
    pub profile: &'static str,
    /// Version of ccactl.
    pub ccactl_version: &'static str,
    /// Where the paths were, and who carried the packets.
    #[serde(flatten)]
    pub place: Place,
    /// What it comes to.
    pub headline: String,
    /// The rows, by section.
    pub groups: Vec<Group>,
    /// Runs that do not count, and paths without one: in words.
    pub warnings: Vec<String>,
}

/// The rows of a section.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Group {
    /// The section.
    #[serde(flatten)]
    pub section: Section,
    /// Its rows.
    pub rows: Vec<Row>,
}

/// One row.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Name of the path.
    pub path: &'static str,
    /// What it is like.
    pub description: String,
    /// The figure.
    pub measure: Measure,
    /// Unit of all figures of the row.
    pub unit: &'static str,
    /// The algorithm's; none when it was not measured.
    pub subject: Option<Estimate>,
    /// That of CUBIC in its place.
    pub cubic: Option<Estimate>,
    /// By how much the algorithm's is the better one.
    pub gain: Option<Gain>,
    /// By how much it may be worse and still be as good.
    pub margin: Option<f64>,
    /// What that says.
    pub verdict: Verdict,
}

/// The valid runs of a path.
struct Valid {
    duration_s: f64,
    runs: Vec<RunResult>,
}

/// Those of one folder, by path.
type Runs = BTreeMap<String, Valid>;

/// Folders of the contestants of a card.
#[derive(Clone, Copy)]
pub struct Folders<'a> {
    /// The algorithm's.
    pub subject: &'a SuiteFolder,
    /// With CUBIC in its place.
    pub cubic: &'a SuiteFolder,
    /// With nothing in its place.
    pub alone: &'a SuiteFolder,
}

impl Card {
    /// Puts together what is finished of these paths, all of them when none is named.
    ///
    /// # Errors
    /// When a result cannot be read.
    pub fn read(algorithm: &str, profile: Profile, paths: &[String], folders: Folders<'_>) -> Result<Card> {
        let mut warnings = Vec::new();
        let is_wanted = |path: &str| paths.is_empty() || paths.iter().any(|wanted| wanted == path);
        let mut runs = |folder: &SuiteFolder| valid_runs(folder, &is_wanted, &mut warnings);
        let (subject, cubic, alone) = (runs(folders.subject)?, runs(folders.cubic)?, runs(folders.alone)?);
        let mut groups: Vec<Group> = Vec::new();
        for criterion in profile.criteria().filter(|criterion| is_wanted(criterion.path)) {
            let section = *Section::by_number(criterion.section).expect("a test looks at every row");
            if groups.last().is_none_or(|group| group.section != section) {
                groups.push(Group { section, rows: Vec::new() });
            }
            let row = row(criterion, &subject, &cubic, &alone)?;
            groups.last_mut().expect("there is one").rows.push(row);
        }
        let place = folders.subject.experiment().place.clone();
        Ok(Card::new(algorithm, profile, place, groups, warnings))
    }

    fn new(algorithm: &str, profile: Profile, place: Place, groups: Vec<Group>, warnings: Vec<String>) -> Card {
        let headline = headline(algorithm, &groups.iter().flat_map(|group| &group.rows).collect::<Vec<_>>());
        Card {
            algorithm: algorithm.to_owned(),
            profile: profile.name(),
            ccactl_version: crate::runner::VERSION,
            place,
            headline,
            groups,
            warnings,
        }
    }

    /// All rows.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.groups.iter().flat_map(|group| &group.rows)
    }

    /// How many rows have a verdict.
    #[must_use]
    pub fn count(&self, verdict: Verdict) -> usize {
        self.rows().filter(|row| row.verdict == verdict).count()
    }

    /// `5 better, 20 as good, 3 worse, 1 not decided`: verdicts that no row has are left out.
    #[must_use]
    pub fn counts(&self) -> String {
        let counts = Verdict::ALL.into_iter().map(|verdict| (self.count(verdict), verdict.word()));
        let told: Vec<String> = counts.filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
        format!("{} of {} rows", told.join(", "), self.rows().count())
    }
}

fn valid_runs(folder: &SuiteFolder, is_wanted: &dyn Fn(&str) -> bool, warnings: &mut Vec<String>) -> Result<Runs> {
    let mut all = Runs::new();
    for cell in folder.experiment().cells.iter().filter(|cell| is_wanted(&cell.id)) {
        let of_cell = folder.of_cell(&cell.id);
        if folder.finished(&cell.id)?.is_none() {
            warnings.push(format!("{}: not run", of_cell.display()));
            continue;
        }
        let (valid, others): (Vec<RunResult>, Vec<RunResult>) =
            results::read(&of_cell)?.runs.into_iter().partition(|run| run.valid);
        for run in others {
            let (path, why) = (of_cell.join(&run.directory), run.problems.join("; "));
            warnings.push(format!("{} is not valid and in no figure: {why}", path.display()));
        }
        all.insert(cell.id.clone(), Valid { duration_s: cell.duration_s, runs: valid });
    }
    Ok(all)
}

fn row(criterion: &Criterion, subject: &Runs, cubic: &Runs, alone: &Runs) -> Result<Row> {
    let &Criterion { path, measure, .. } = criterion;
    let alone = alone.get(path).map(|valid| Alone::of(&valid.runs, valid.duration_s));
    let estimate = |runs: &Runs| {
        let Valid { duration_s, runs } = runs.get(path)?;
        ccactl_report::estimate(runs.iter().filter_map(|run| measure.of(run, *duration_s, alone.as_ref())))
    };
    let (subject, cubic) = (estimate(subject), estimate(cubic));
    let (gain, verdict) = judge(measure, subject.as_ref(), cubic.as_ref());
    let scenario = Path::by_name(path).expect("a test looks at every row").scenario(&[])?;
    Ok(Row {
        path,
        description: scenario.description,
        measure,
        unit: measure.unit(),
        margin: cubic.as_ref().map(|cubic| measure.margin(cubic.mean)),
        subject,
        cubic,
        gain,
        verdict,
    })
}

/// An algorithm that leaves others less than this share of what CUBIC leaves them is called harmful.
const STARVED_SHARE: f64 = 0.5;
/// Less than this share of CUBIC's goodput is of no use.
const USELESS_SHARE: f64 = 0.5;

/// The worst that can be said comes first.
fn headline(algorithm: &str, rows: &[&Row]) -> String {
    let measured: Vec<(&Row, Estimate, Estimate)> =
        rows.iter().filter_map(|row| Some((*row, row.subject?, row.cubic?))).collect();
    let harm: Vec<_> = measured.iter().filter(|(row, ..)| row.measure.is_harm()).collect();
    let left = |harm: &Estimate| 100.0 - harm.mean;
    let share_left = |(_, subject, cubic): &(&Row, Estimate, Estimate)| left(subject) / left(cubic);
    let mut worse: Vec<_> = harm.iter().filter(|(row, ..)| row.verdict == Verdict::Worse).collect();
    worse.sort_by(|a, b| share_left(a).total_cmp(&share_left(b)));
    let carries: Vec<_> = measured.iter().filter(|(row, ..)| row.measure == Measure::Goodput).collect();
    let useless: Vec<_> =
        carries.iter().filter(|(_, subject, cubic)| subject.mean < USELESS_SHARE * cubic.mean).collect();

    let where_harm = |(row, subject, cubic): &(&Row, Estimate, Estimate)| {
        format!(
            "{} % where CUBIC in its place does {} % ({})",
            row.measure.text(subject.mean),
            row.measure.text(cubic.mean),
            row.path
        )
    };
    let of_harm = format!("worse than CUBIC in {} of {} comparisons", worse.len(), harm.len());
    match worse.first() {
        Some(worst) if share_left(worst) < STARVED_SHARE => {
            return format!("Harmful: {algorithm} does others harm of {}; {of_harm}.", where_harm(worst));
        }
        _ => {}
    }
    if carries.len() > 1 && useless.len() * 2 > carries.len() {
        let (row, subject, cubic) = useless
            .iter()
            .min_by(|(_, a, b), (_, c, d)| (a.mean / b.mean).total_cmp(&(c.mean / d.mean)))
            .expect("more than half of some");
        return format!(
            "Of little use: {algorithm} carries less than half of what CUBIC carries on {} of {} paths, at worst {} of {} Mbit/s ({}).",
            useless.len(),
            carries.len(),
            row.measure.text(subject.mean),
            row.measure.text(cubic.mean),
            row.path
        );
    }
    match worse.first() {
        Some(worst) => {
            format!("More harm than CUBIC: {algorithm} does others harm of {}; {of_harm}.", where_harm(worst))
        }
        None if harm.is_empty() => format!("Not decided: nothing was measured of what {algorithm} does to others."),
        None => {
            let open = harm.iter().filter(|(row, ..)| row.verdict == Verdict::Undecided).count();
            let open = if open > 0 { format!(", {open} of them not decided") } else { String::new() };
            let comparisons =
                if harm.len() == 1 { "one comparison".to_owned() } else { format!("{} comparisons", harm.len()) };
            format!("No more harm than CUBIC was found of {algorithm} in {comparisons}{open}.")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(mean: f64) -> Estimate {
        Estimate { n: 3, mean, sd: Some(0.1), ci95: Some(0.25) }
    }

    /// A row of figures of the algorithm and of CUBIC.
    fn row(path: &'static str, measure: Measure, subject: f64, cubic: f64) -> Row {
        let (subject, cubic) = (estimate(subject), estimate(cubic));
        let (gain, verdict) = judge(measure, Some(&subject), Some(&cubic));
        Row {
            path,
            description: String::new(),
            measure,
            unit: measure.unit(),
            margin: Some(measure.margin(cubic.mean)),
            subject: Some(subject),
            cubic: Some(cubic),
            gain,
            verdict,
        }
    }

    fn told(rows: &[Row]) -> String {
        headline("mine", &rows.iter().collect::<Vec<_>>())
    }

    #[test]
    fn an_algorithm_that_starves_others_is_called_harmful_first() {
        let rows = [
            row("bulk", Measure::Goodput, 1.0, 19.0),
            row("outage", Measure::Goodput, 1.0, 16.0),
            row("many-beside-one", Measure::GoodputHarm, 97.0, 80.0),
            row("beside-cubic", Measure::GoodputHarm, 96.0, 50.0),
            row("beside-short", Measure::CompletionHarm, 40.0, 50.0),
        ];
        let said = told(&rows);
        assert!(said.starts_with("Harmful: mine does others harm of 96.0 %"), "{said}");
        assert!(said.contains("worse than CUBIC in 2 of 3 comparisons"), "{said}");
    }

    #[test]
    fn one_that_carries_little_is_called_so() {
        let rows = [
            row("bulk", Measure::Goodput, 1.1, 19.0),
            row("outage", Measure::Goodput, 1.0, 16.0),
            row("slow-link", Measure::Goodput, 0.1, 0.1),
            row("beside-cubic", Measure::GoodputHarm, 2.0, 50.0),
        ];
        let said = told(&rows);
        assert!(said.starts_with("Of little use: mine"), "{said}");
        assert!(said.contains("2 of 3 paths, at worst 1.10 of 19.00 Mbit/s (bulk)"), "{said}");
    }

    #[test]
    fn more_harm_and_no_more_harm_are_told_apart() {
        let mild =
            |harm| [row("bulk", Measure::Goodput, 19.0, 19.0), row("beside-cubic", Measure::GoodputHarm, harm, 30.0)];
        assert!(told(&mild(45.0)).starts_with("More harm than CUBIC: mine"));
        assert!(told(&mild(30.0)).starts_with("No more harm than CUBIC was found of mine in one comparison."));
        assert!(told(&mild(35.0)).contains("1 of them not decided"), "{}", told(&mild(35.0)));
        assert!(told(&[]).starts_with("Not decided"));
    }

    #[test]
    fn a_card_counts_its_verdicts() {
        let rows = vec![
            row("bulk", Measure::Goodput, 19.0, 19.0),
            row("bulk", Measure::Queue, 3.0, 30.0),
            row("beside-cubic", Measure::GoodputHarm, 60.0, 50.0),
        ];
        let section = *Section::by_number("5.1.2").unwrap();
        let groups = vec![Group { section, rows }];
        let card = Card::new("mine", Profile::Rfc9743, Place::default(), groups, Vec::new());
        assert_eq!(card.counts(), "1 better, 1 as good, 1 worse of 3 rows");
    }
}
