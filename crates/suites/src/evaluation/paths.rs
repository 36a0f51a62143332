//! The paths, scenarios of the folders `scenarios/evaluate/` and `scenarios/bbr-draft/`. Flows whose name begins with `subject` are
//! the algorithm's.

use crate::{Error, Result};
use ccactl_scenario::{Override, Scenario, ScenarioFile};

/// Flows with such a name have the algorithm in question.
pub const SUBJECT: &str = "subject";

/// A path inside the binary.
#[derive(Debug, Clone, Copy)]
pub struct Path {
    /// Name.
    pub name: &'static str,
    text: &'static str,
}

macro_rules! paths {
    ($folder:literal: $($name:literal),* $(,)?) => {
        &[$(Path { name: $name, text: include_str!(concat!("../../../../scenarios/", $folder, "/", $name, ".toml")) }),*]
    };
}

/// Those of the criteria; a test compares the lists with the folders.
pub const PATHS: &[Path] = paths![
    "evaluate":
    "5g",
    "after-idle",
    "aggregation",
    "beside-bbrv3",
    "beside-call",
    "beside-cubic",
    "beside-cubic-deep",
    "beside-cubic-shallow",
    "beside-reno",
    "beside-short",
    "beside-video",
    "bulk",
    "bursty-loss",
    "codel",
    "collapse",
    "deep-buffer",
    "dual-pi2",
    "ecn",
    "fq-codel",
    "handovers",
    "hidden-marks",
    "late-comer",
    "low-rtt",
    "lte",
    "many-beside-one",
    "multipath",
    "outage",
    "policer",
    "random-loss",
    "rate-steps",
    "reordering",
    "rerouting",
    "reverse",
    "rtt-fairness",
    "satellite",
    "shallow-buffer",
    "short-flows",
    "slow-link",
    "thinned-acks",
    "wireless",
    "within",
];

/// Those of the test cases of a BBR.
pub const BBR_PATHS: &[Path] = paths![
    "bbr-draft":
    "aggregation",
    "deep",
    "delay-spike",
    "down-cuts",
    "drain-cut",
    "idle",
    "limited",
    "policer",
    "rate-down",
    "rate-up",
    "refill-limited",
    "reordering",
    "shallow",
    "startup-loss-limited",
    "startup-probe-rtt",
    "steady",
    "sub-packet",
    "up-loss-limited",
];

impl Path {
    /// Looks one up among those of the criteria.
    #[must_use]
    pub fn by_name(name: &str) -> Option<&'static Path> {
        PATHS.iter().find(|path| path.name == name)
    }

    /// The scenario with changes; unless they say otherwise CUBIC is in the algorithm's place, or BBRv3 in that of a BBR.
    ///
    /// # Errors
    /// When a change does not fit.
    pub fn scenario(&self, changes: &[Override]) -> Result<Scenario> {
        let origin = format!("{}.toml", self.name);
        let file = ScenarioFile::parse(&origin, self.text, &[]);
        let changed = file.and_then(|file| file.alone(changes));
        changed.map_err(|error| Error::from(ccactl_testbed::Error::from(error)))
    }
}

/// Whether a flow of this name has the algorithm in question.
#[must_use]
pub fn is_subject(flow: &str) -> bool {
    flow.starts_with(SUBJECT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn they_are_the_files_of_the_folder() {
        for (folder, paths) in [("evaluate", PATHS), ("bbr-draft", BBR_PATHS)] {
            let folder = format!("{}/../../scenarios/{folder}", env!("CARGO_MANIFEST_DIR"));
            let files: BTreeSet<String> = std::fs::read_dir(folder)
                .unwrap()
                .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
                .collect();
            assert_eq!(paths.iter().map(|path| path.name.to_owned()).collect::<BTreeSet<_>>(), files);
        }
    }

    #[test]
    fn in_each_of_them_something_stands_in_for_the_algorithm() {
        let standing_in = |paths: &'static [Path], name: &'static str| paths.iter().map(move |path| (path, name));
        for (path, name) in standing_in(PATHS, "native:cubic").chain(standing_in(BBR_PATHS, "bbrv3")) {
            let scenario = path.scenario(&[]).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(scenario.name, path.name);
            let subjects: Vec<_> = scenario.flows.iter().filter(|flow| is_subject(&flow.name)).collect();
            assert!(!subjects.is_empty(), "{}: no flow to put an algorithm into", path.name);
            assert!(subjects.iter().all(|flow| flow.algorithm == name), "{}", path.name);
        }
    }
}
