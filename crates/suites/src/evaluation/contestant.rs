//! What runs on the paths: the algorithm, CUBIC in its place, and nothing in its place.

use super::criteria::Profile;
use super::paths::{BBR_PATHS, Path, is_subject};
use crate::folder::{Experiment, Place};
use crate::{Cell, Plan, Result};
use ccactl_scenario::{Override, Scenario};
use std::collections::BTreeMap;
use std::path::Path as FilePath;

/// The algorithm in question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// A name, a file, or `native:NAME`.
    pub algorithm: String,
    /// Named set of tunables.
    pub preset: Option<String>,
    /// Tunables, as written.
    pub set: Vec<(String, String)>,
}

/// What a path is run with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Contestant {
    /// The algorithm.
    Subject(Subject),
    /// The kernel's CUBIC in its place.
    Cubic,
    /// Nothing in its place: what the others have without it.
    Alone,
}

impl Subject {
    fn changes(&self, flow: &str) -> Vec<Override> {
        let field = |name: &str| format!("flow[{flow}].{name}");
        let mut changes = vec![Override::text(&field("algorithm"), &self.algorithm)];
        changes.extend(self.preset.as_ref().map(|preset| Override::text(&field("preset"), preset)));
        changes.extend(self.set.iter().map(|(name, value)| Override::text(&field(&format!("set.{name}")), value)));
        changes
    }

    /// `bbrv3`, `bbrv3+draft`, `mine-HASH`, also the name of its folder.
    fn name(&self, scenario: &Scenario) -> String {
        let flow = scenario.flows.iter().find(|flow| is_subject(&flow.name)).expect("every path has one; a test looks");
        // Of a file with the hash of its code: results of another version are not its own.
        let own = flow.algorithm.trim_end_matches(".bpf.o").replace("native:", "native-");
        let set = self.set.iter().map(|(name, value)| format!("+{name}={value}"));
        let preset = self.preset.iter().map(|preset| format!("+{preset}"));
        let name = own + &preset.chain(set).collect::<String>();
        name.replace(|c: char| !(c.is_ascii_alphanumeric() || "-_.+=%".contains(c)), "-")
    }
}

impl Contestant {
    /// Also that of its folder.
    ///
    /// # Errors
    /// When the algorithm cannot be used.
    pub fn name(&self) -> Result<String> {
        Ok(match self {
            Contestant::Subject(subject) => subject.name(&self.scenario(&BBR_PATHS[0], Vec::new())?),
            Contestant::Cubic => "native-cubic".to_owned(),
            Contestant::Alone => "alone".to_owned(),
        })
    }

    fn scenario(&self, path: &Path, mut changes: Vec<Override>) -> Result<Scenario> {
        if let Contestant::Subject(subject) = self {
            let plain = path.scenario(&[])?;
            let names = plain.flows.iter().map(|flow| flow.name.as_str()).filter(|name| is_subject(name));
            changes.extend(names.flat_map(|name| subject.changes(name)));
        }
        let mut scenario = path.scenario(&changes)?;
        if *self == Contestant::Alone {
            scenario.flows.retain(|flow| !is_subject(&flow.name));
            // A scenario has no path that nobody takes.
            let flows = &scenario.flows;
            scenario.paths.retain(|path| flows.iter().any(|flow| flow.paths.contains(&path.name)));
        }
        Ok(scenario)
    }

    fn cells<'a>(&self, paths: impl Iterator<Item = &'a Path>, changes: &[Override], repeat: u32) -> Result<Vec<Cell>> {
        let mut changes = changes.to_vec();
        changes.push(Override::value("repeat", i64::from(repeat)));
        let cell = |path: &Path| {
            Ok(Cell {
                id: path.name.to_owned(),
                labels: BTreeMap::from([("path".to_owned(), path.name.to_owned())]),
                scenario: self.scenario(path, changes.clone())?,
            })
        };
        paths.map(cell).collect()
    }
}

/// The runs of a contestant for the criteria, in a folder of its name below `parent`.
///
/// # Errors
/// When the algorithm cannot be used, or a tunable does not fit.
pub fn plan(contestant: &Contestant, profile: Profile, runs: u32, place: &Place, parent: &FilePath) -> Result<Plan> {
    let is_run = |path: &&'static Path| *contestant != Contestant::Alone || profile.needs_alone(path);
    let cells = contestant.cells(profile.paths().into_iter().filter(is_run), &profile.changes(), runs)?;
    whole(contestant, profile.name(), cells, place, parent)
}

/// Those of a BBR for the test cases of its draft.
///
/// # Errors
/// As [`plan`].
pub fn plan_cases(subject: &Subject, runs: u32, place: &Place, parent: &FilePath) -> Result<Plan> {
    let contestant = Contestant::Subject(subject.clone());
    let cells = contestant.cells(BBR_PATHS.iter(), &[], runs)?;
    whole(&contestant, super::BBR_DRAFT, cells, place, parent)
}

fn whole(contestant: &Contestant, profile: &str, cells: Vec<Cell>, place: &Place, parent: &FilePath) -> Result<Plan> {
    let name = contestant.name()?;
    let description = format!("The paths of the profile {profile} with {name}");
    let experiment = Experiment {
        place: place.clone(),
        ..Experiment::new(&format!("evaluate-{profile}-{name}"), &description, None, &cells)
    };
    Ok(Plan { experiment, matrix: cells.clone(), cells, folder: parent.join(name) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject(algorithm: &str, preset: Option<&str>, set: &[(&str, &str)]) -> Contestant {
        let set = set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Contestant::Subject(Subject { algorithm: algorithm.to_owned(), preset: preset.map(str::to_owned), set })
    }

    fn planned(contestant: &Contestant) -> Plan {
        plan(contestant, Profile::Rfc9743, 3, &Place::default(), FilePath::new("out")).unwrap()
    }

    #[test]
    fn the_algorithm_takes_the_place_of_cubic_in_its_flows_only() {
        let plan = planned(&subject("f-bbrv2", None, &[("alpha", "1.4")]));
        assert_eq!(plan.folder, FilePath::new("out/f-bbrv2+alpha=1.4"));
        assert_eq!(plan.cells.len(), Profile::Rfc9743.paths().len());
        for cell in &plan.cells {
            assert_eq!(cell.scenario.repeat, 3);
            for flow in &cell.scenario.flows {
                assert_eq!(flow.algorithm == "f-bbrv2", is_subject(&flow.name), "{}: {}", cell.id, flow.name);
                assert_eq!(flow.set.contains_key("alpha"), is_subject(&flow.name), "{}: {}", cell.id, flow.name);
            }
        }
    }

    #[test]
    fn nothing_in_its_place_leaves_the_others() {
        let plan = planned(&Contestant::Alone);
        assert!(plan.cells.len() < Profile::Rfc9743.paths().len());
        for cell in &plan.cells {
            assert!(!cell.scenario.flows.is_empty(), "{}", cell.id);
            assert!(cell.scenario.flows.iter().all(|flow| !is_subject(&flow.name)), "{}", cell.id);
            let text = cell.scenario.to_toml();
            Scenario::parse("again.toml", &text).unwrap_or_else(|error| panic!("{error}"));
        }
    }

    #[test]
    fn names_are_those_of_folders() {
        assert_eq!(planned(&subject("native:cubic", None, &[])).folder, planned(&Contestant::Cubic).folder);
        assert_eq!(planned(&subject("cubic", None, &[])).folder, FilePath::new("out/cubic"));
        assert_eq!(planned(&subject("bbrv2", Some("p1"), &[])).folder, FilePath::new("out/bbrv2+p1"));
        let unknown = plan(&subject("bbrv9", None, &[]), Profile::Quick, 1, &Place::default(), FilePath::new("out"));
        assert!(unknown.err().unwrap().to_string().contains("bbrv9"));
    }
}
