//! The rows of a score card.

use super::measure::Measure;
use super::paths::Path;
use ccactl_scenario::Override;

/// One row: what is asked, where, and by which figure it is answered.
#[derive(Debug, Clone, Copy)]
pub struct Criterion {
    /// Section of RFC 9743.
    pub section: &'static str,
    /// Name of a path.
    pub path: &'static str,
    /// The figure.
    pub measure: Measure,
    /// Whether the quick profile has it.
    quick: bool,
}

/// Which rows there are, and how long their runs take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// All rows, three runs each.
    Rfc9743,
    /// The rows that tell most, one run of ten seconds each.
    Quick,
}

const RUNS: u32 = 3;

impl Profile {
    /// Name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Profile::Rfc9743 => "rfc9743",
            Profile::Quick => "quick",
        }
    }

    /// Its rows, in the order of the RFC.
    pub fn criteria(self) -> impl Iterator<Item = &'static Criterion> {
        CRITERIA.iter().filter(move |criterion| criterion.quick || self == Profile::Rfc9743)
    }

    /// Its paths, each once, in the order of the rows.
    #[must_use]
    pub fn paths(self) -> Vec<&'static Path> {
        let mut paths: Vec<&'static Path> = Vec::new();
        for criterion in self.criteria() {
            let path = Path::by_name(criterion.path).expect("a path of the folder; a test looks");
            if !paths.iter().any(|there| there.name == path.name) {
                paths.push(path);
            }
        }
        paths
    }

    /// Whether harm is told on this path, for which its others run alone too.
    #[must_use]
    pub fn needs_alone(self, path: &Path) -> bool {
        self.criteria().any(|criterion| criterion.path == path.name && criterion.measure.is_harm())
    }

    /// Number of runs, unless somebody wants another.
    #[must_use]
    pub fn runs(self) -> u32 {
        match self {
            Profile::Rfc9743 => RUNS,
            Profile::Quick => 1,
        }
    }

    /// What it changes of every path.
    pub(super) fn changes(self) -> Vec<Override> {
        match self {
            Profile::Rfc9743 => Vec::new(),
            Profile::Quick => vec![Override::text("duration", "10s")],
        }
    }
}

const fn row(section: &'static str, path: &'static str, measure: Measure) -> Criterion {
    Criterion { section, path, measure, quick: false }
}

const fn quick(section: &'static str, path: &'static str, measure: Measure) -> Criterion {
    Criterion { section, path, measure, quick: true }
}

/// All rows, in the order of the RFC.
pub const CRITERIA: &[Criterion] = &[
    row("5.1.1", "collapse", Measure::Wasted),
    row("5.1.1", "collapse", Measure::Goodput),
    quick("5.1.2", "bulk", Measure::Queue),
    quick("5.1.2", "deep-buffer", Measure::Queue),
    quick("5.1.3", "shallow-buffer", Measure::Loss),
    quick("5.1.3", "bulk", Measure::Loss),
    quick("5.1.4", "within", Measure::Jain),
    row("5.1.4", "late-comer", Measure::LateShare),
    row("5.1.4", "rtt-fairness", Measure::Jain),
    quick("5.1.5", "short-flows", Measure::Completion),
    quick("5.2.1", "beside-cubic", Measure::GoodputHarm),
    row("5.2.1", "beside-cubic", Measure::Queue),
    row("5.2.1", "beside-cubic-deep", Measure::GoodputHarm),
    row("5.2.1", "beside-cubic-shallow", Measure::GoodputHarm),
    quick("5.2.1", "beside-reno", Measure::GoodputHarm),
    row("5.2.1", "beside-bbrv3", Measure::GoodputHarm),
    quick("5.2.1", "many-beside-one", Measure::GoodputHarm),
    row("5.2.1", "beside-video", Measure::GoodputHarm),
    row("5.2.2", "beside-call", Measure::QueueP99),
    row("5.2.2", "beside-call", Measure::CallLoss),
    quick("5.2.3", "beside-short", Measure::CompletionHarm),
    quick("6.1", "bulk", Measure::Goodput),
    quick("6.1", "shallow-buffer", Measure::Goodput),
    row("6.1", "reverse", Measure::Goodput),
    row("6.4", "wireless", Measure::Goodput),
    quick("6.4", "random-loss", Measure::Goodput),
    row("6.4", "bursty-loss", Measure::Goodput),
    row("6.4", "aggregation", Measure::Goodput),
    row("6.4", "thinned-acks", Measure::Goodput),
    row("6.4", "lte", Measure::Goodput),
    row("6.4", "lte", Measure::QueueP99),
    row("6.4", "5g", Measure::Goodput),
    row("6.4", "5g", Measure::QueueP99),
    row("7.1", "codel", Measure::GoodputHarm),
    row("7.1", "codel", Measure::Queue),
    row("7.1", "ecn", Measure::GoodputHarm),
    row("7.1", "ecn", Measure::Queue),
    row("7.1", "dual-pi2", Measure::GoodputHarm),
    row("7.1", "dual-pi2", Measure::Queue),
    row("7.1", "fq-codel", Measure::Goodput),
    row("7.1.1", "policer", Measure::Goodput),
    row("7.1.1", "policer", Measure::Loss),
    row("7.2", "rerouting", Measure::Goodput),
    row("7.2", "rerouting", Measure::QueueP99),
    row("7.2", "handovers", Measure::Goodput),
    row("7.3", "slow-link", Measure::Goodput),
    row("7.3", "slow-link", Measure::Queue),
    row("7.4", "satellite", Measure::Goodput),
    row("7.5", "hidden-marks", Measure::Queue),
    row("7.5", "hidden-marks", Measure::Loss),
    row("7.6", "reordering", Measure::Goodput),
    row("7.7", "outage", Measure::Goodput),
    row("7.7", "rate-steps", Measure::Goodput),
    row("7.7", "rate-steps", Measure::QueueP99),
    row("7.7", "after-idle", Measure::Loss),
    row("7.7", "after-idle", Measure::QueueP99),
    row("7.8", "multipath", Measure::GoodputHarm),
    row("7.9", "low-rtt", Measure::Goodput),
    row("7.9", "low-rtt", Measure::Jain),
];

#[cfg(test)]
mod tests {
    use super::super::section::SECTIONS;
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_section_is_asked_in_its_order_and_every_path_is_used() {
        let mut asked: Vec<&str> = CRITERIA.iter().map(|criterion| criterion.section).collect();
        asked.dedup();
        assert_eq!(asked, SECTIONS.iter().map(|section| section.number).collect::<Vec<_>>());
        let used: BTreeSet<&str> = Profile::Rfc9743.paths().iter().map(|path| path.name).collect();
        assert_eq!(used, super::super::paths::PATHS.iter().map(|path| path.name).collect());
    }

    #[test]
    fn the_quick_profile_asks_how_it_does_alone_and_beside_others() {
        let rows: Vec<&Criterion> = Profile::Quick.criteria().collect();
        assert!(rows.iter().any(|row| row.measure.is_harm()) && rows.iter().any(|row| row.measure == Measure::Goodput));
        assert!(Profile::Quick.paths().len() < Profile::Rfc9743.paths().len() / 2);
    }
}
