//! The cells: each pair, and each algorithm alone, for every buffer and base RTT.

use crate::folder::{Experiment, Place};
use crate::{Cell, Error, Plan, Result};
use ccactl_abi::{ALGORITHMS, EcnNeed};
use ccactl_scenario::{FlowSpec, Override, Scenario, ScenarioFile};
use ccactl_testbed::bench::Backend;
use std::collections::BTreeMap;
use std::path::Path;

const PAIR: &str = include_str!("../../../../scenarios/matrix/pair.toml");
const NAME: &str = "matrix";

/// Buffers unless somebody wants others: shallow, one BDP, deep.
pub const BUFFERS: [&str; 3] = ["0.5bdp", "1bdp", "4bdp"];
/// Rate of the link.
pub const RATE: &str = "20Mbit/s";
/// Base RTTs.
pub const RTTS: [&str; 2] = ["20ms", "80ms"];

/// Coupled with the other subflows of an MPTCP connection; with one path they are Reno or Vegas.
const OF_MPTCP: [&str; 4] = ["lia", "olia", "balia", "wvegas"];
/// The kernel's own.
const NATIVE: [&str; 2] = ["native:cubic", "native:bbr"];

/// What a matrix is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// In the order of the page.
    pub algorithms: Vec<String>,
    /// Sizes as in scenarios.
    pub buffers: Vec<String>,
    /// Times as in scenarios.
    pub rtts: Vec<String>,
    /// As in scenarios.
    pub rate: String,
    /// Flows of each of the two algorithms, 100 at the most.
    pub flows: usize,
    /// Runs of each cell.
    pub repeat: u32,
}

/// All that say something on one path without ECN, and the kernel's CUBIC and BBR where there is a kernel.
#[must_use]
pub fn default_algorithms(backend: Backend) -> Vec<String> {
    let own = ALGORITHMS.iter().filter(|of| of.ecn == EcnNeed::None && !OF_MPTCP.contains(&of.name));
    // The simulator has the copies alone.
    let native = NATIVE.iter().filter(|_| backend.needs_host());
    own.map(|of| of.name).chain(native.copied()).map(str::to_owned).collect()
}

/// The labels of a cell.
pub(super) const LINK_RATE: &str = "rate";
pub(super) const FLOWS: &str = "flows";
pub(super) const RTT: &str = "rtt";
pub(super) const BUFFER: &str = "buffer";
pub(super) const ONE: &str = "one";
/// Missing where the first one is alone.
pub(super) const OTHER: &str = "other";

/// The cells of a matrix, in a folder.
///
/// # Errors
/// When an algorithm, a buffer or an RTT cannot be used.
pub fn plan(wanted: &Wanted, place: &Place, folder: &Path) -> Result<Plan> {
    let mut cells = Vec::new();
    for rtt in &wanted.rtts {
        for buffer in &wanted.buffers {
            for (i, one) in wanted.algorithms.iter().enumerate() {
                cells.push(cell(wanted, (rtt, buffer), one, None)?);
                for other in &wanted.algorithms[i..] {
                    cells.push(cell(wanted, (rtt, buffer), one, Some(other))?);
                }
            }
        }
    }
    let description = "Every algorithm beside every other".to_owned();
    let experiment = Experiment { place: place.clone(), ..Experiment::new(NAME, &description, None, &cells) };
    Ok(Plan { experiment, matrix: cells.clone(), cells, folder: folder.to_owned() })
}

fn cell(wanted: &Wanted, (rtt, buffer): (&str, &str), one: &str, other: Option<&str>) -> Result<Cell> {
    let changes = [
        Override::value("repeat", i64::from(wanted.repeat)),
        Override::text("link.rate", &wanted.rate),
        Override::text("link.base_rtt", rtt),
        Override::text("link.buffer", buffer),
        Override::text("flow[one].algorithm", one),
        Override::text("flow[other].algorithm", other.unwrap_or(one)),
    ];
    let mut scenario = parsed(&changes)?;
    let named = |i: usize| scenario.flows[i].algorithm.trim_end_matches(".bpf.o").to_owned();
    let mut labels = BTreeMap::from([
        (LINK_RATE, wanted.rate.clone()),
        (FLOWS, wanted.flows.to_string()),
        (RTT, rtt.to_owned()),
        (BUFFER, buffer.to_owned()),
        (ONE, named(0)),
    ]);
    if other.is_some() {
        labels.insert(OTHER, named(1));
    } else {
        scenario.flows.truncate(1);
    }
    let usual = |key: &str, value: &str| key == LINK_RATE && value == RATE || key == FLOWS && value == "1";
    let order = [LINK_RATE, FLOWS, RTT, BUFFER, ONE, OTHER];
    let told = order.iter().filter_map(|key| Some((key, labels.get(key)?))).filter(|(key, value)| !usual(key, value));
    let id: Vec<String> = told.map(|(key, value)| format!("{key}={value}")).collect();
    scenario.flows = scenario.flows.iter().flat_map(|flow| several(flow, wanted.flows)).collect();
    let labels = labels.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    Ok(Cell { id: id.join(",").replace('/', "-"), labels, scenario })
}

/// As many flows with names of their own.
fn several(flow: &FlowSpec, count: usize) -> Vec<FlowSpec> {
    let name = |i: usize| if i == 0 { flow.name.clone() } else { format!("{}-{}", flow.name, i + 1) };
    (0..count).map(|i| FlowSpec { name: name(i), ..flow.clone() }).collect()
}

fn parsed(changes: &[Override]) -> Result<Scenario> {
    let file = ScenarioFile::parse("pair.toml", PAIR, &[]);
    file.and_then(|file| file.alone(changes)).map_err(|error| Error::from(ccactl_testbed::Error::from(error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(algorithms: &[&str]) -> Wanted {
        let own = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        Wanted {
            algorithms: own(algorithms),
            buffers: own(&["1bdp", "4bdp"]),
            rtts: own(&["40ms"]),
            rate: RATE.to_owned(),
            flows: 1,
            repeat: 2,
        }
    }

    #[test]
    fn every_pair_is_run_once_and_every_algorithm_alone() {
        let plan = plan(&wanted(&["reno", "cubic", "native:cubic"]), &Place::default(), Path::new("out")).unwrap();
        // Six pairs and three alone, for two buffers.
        assert_eq!(plan.cells.len(), 18);
        let ids: Vec<&str> = plan.cells.iter().map(|cell| cell.id.as_str()).collect();
        assert_eq!(ids[0], "rtt=40ms,buffer=1bdp,one=reno");
        assert!(ids.contains(&"rtt=40ms,buffer=4bdp,one=cubic,other=native:cubic"), "{ids:?}");
        for cell in &plan.cells {
            assert_eq!(cell.scenario.flows.len(), if cell.labels.contains_key(OTHER) { 2 } else { 1 }, "{}", cell.id);
            Scenario::parse("again.toml", &cell.scenario.to_toml()).unwrap_or_else(|error| panic!("{error}"));
        }
    }

    #[test]
    fn many_flows_a_side_and_another_rate_have_a_place_of_their_own() {
        let wanted = Wanted { flows: 50, rate: "100Mbit/s".to_owned(), ..wanted(&["reno", "cubic"]) };
        let plan = plan(&wanted, &Place::default(), Path::new("out")).unwrap();
        let pair = &plan.cells[1];
        assert_eq!(pair.id, "rate=100Mbit-s,flows=50,rtt=40ms,buffer=1bdp,one=reno,other=reno");
        assert_eq!((plan.cells[0].scenario.flows.len(), pair.scenario.flows.len()), (50, 100));
        Scenario::parse("again.toml", &pair.scenario.to_toml()).unwrap_or_else(|error| panic!("{error}"));
    }

    #[test]
    fn those_that_need_ecn_or_several_paths_are_left_out() {
        let all = default_algorithms(Backend::Emulator);
        for missing in ["dctcp", "prague", "lia", "wvegas"] {
            assert!(!all.iter().any(|name| name == missing), "{missing}");
        }
        assert!(all.len() > 25 && all.contains(&"native:bbr".to_owned()));
        let simulated = default_algorithms(Backend::Simulator);
        assert!(simulated.len() + 2 == all.len() && !simulated.contains(&"native:bbr".to_owned()));
    }

    #[test]
    fn what_cannot_be_run_is_told() {
        let plan = |algorithm: &str, buffer: &str| {
            let wanted = Wanted { buffers: vec![buffer.to_owned()], ..wanted(&[algorithm]) };
            plan(&wanted, &Place::default(), Path::new("out")).map(|plan| plan.cells.len())
        };
        assert!(plan("bbrv9", "1bdp").unwrap_err().to_string().contains("bbrv9"));
        assert!(plan("reno", "much").unwrap_err().to_string().contains("link.buffer"));
    }
}
