//! Changes of algorithm during a run: single ones (`[[swap]]`) and tours of a flow through many algorithms.

use crate::check::{Check, check_algorithm, check_aliases, ensure};
use crate::reader::FromValue;
use crate::units::Span;
use crate::{FlowSpec, Scenario, SwapSpec};
use ccactl_abi::{ALGORITHMS, Algorithm};
use ccactl_loader::{Choice, is_file, settle_algorithm};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use toml::de::DeValue;

/// Stands for every algorithm of the registry, in its order.
const ALL: &str = "all";

/// A flow that goes from one algorithm to the next at even intervals.
pub(super) struct Tour {
    /// Between two swaps.
    pub every: Span,
    /// First swap, relative to the beginning of the run; one interval after the flow's start when absent.
    pub from: Option<Span>,
    /// Where it goes.
    pub through: Through,
}

/// An algorithm as a scenario names it, once and for all: each cell of a sweep means the code that its path had first.
pub(super) fn settled(folder: &Path, written: &str) -> Result<String, ccactl_loader::Error> {
    static SETTLED: Mutex<BTreeMap<PathBuf, String>> = Mutex::new(BTreeMap::new());
    if !is_file(written) {
        return Ok(written.to_owned());
    }
    let path = folder.join(written);
    let mut settled = SETTLED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(name) = settled.get(&path) {
        return Ok(name.clone());
    }
    let name = settle_algorithm(folder, written)?;
    settled.insert(path, name.clone());
    Ok(name)
}

/// Names of algorithms in the order of the tour, at least one.
pub(super) struct Through(Vec<String>);

impl Through {
    /// With the code that its paths have at this moment.
    pub(super) fn settled(self, folder: &Path) -> Result<Self, ccactl_loader::Error> {
        self.0.iter().map(|written| settled(folder, written)).collect::<Result<_, _>>().map(Self)
    }
}

impl FromValue for Through {
    fn from_value(value: &DeValue<'_>) -> Result<Self, String> {
        const FORMS: &str = "\"all\" or an array of algorithms";
        let names = match value.as_str() {
            Some(ALL) => ALGORITHMS.iter().map(|algorithm| algorithm.name.to_owned()).collect(),
            Some(other) => return Err(format!("expected {FORMS}, found {other:?}")),
            None => {
                Vec::<String>::from_value(value).map_err(|_| format!("expected {FORMS}, found {}", value.type_str()))?
            }
        };
        if names.is_empty() { Err(format!("expected {FORMS}, found an empty array")) } else { Ok(Through(names)) }
    }
}

/// A swap with the place in the document that it comes from.
pub(super) struct Planned {
    path: String,
    /// Field of `path` that holds the time.
    time_field: &'static str,
    /// Field of `path` that holds the algorithm.
    algorithm_field: &'static str,
    swap: SwapSpec,
}

/// All swaps in the order of time; `tours` are by flow.
pub(super) fn plan(flows: &[FlowSpec], swaps: Vec<SwapSpec>, tours: Vec<Option<Tour>>) -> Vec<Planned> {
    let single = swaps.into_iter().enumerate().map(|(i, swap)| Planned {
        path: format!("swap[{i}]"),
        time_field: "at",
        algorithm_field: "algorithm",
        swap,
    });
    let tours = flows.iter().zip(tours).enumerate().filter_map(|(i, (flow, tour))| Some((i, flow, tour?)));
    let mut all: Vec<Planned> = single.chain(tours.flat_map(|(i, flow, tour)| stops(i, flow, &tour))).collect();
    all.sort_by_key(|planned| planned.swap.at);
    all
}

fn stops(index: usize, flow: &FlowSpec, tour: &Tour) -> Vec<Planned> {
    let first_ns = tour.from.map_or(flow.start.ns.saturating_add(tour.every.ns), |from| from.ns);
    let at = |stop: u64| Span { ns: first_ns.saturating_add(stop.saturating_mul(tour.every.ns)) };
    (0..)
        .zip(&tour.through.0)
        .map(|(stop, algorithm)| Planned {
            path: format!("flow[{index}].tour"),
            time_field: if tour.from.is_some() && stop == 0 { "from" } else { "every" },
            algorithm_field: "through",
            swap: SwapSpec {
                at: at(stop),
                flow: flow.name.clone(),
                algorithm: algorithm.clone(),
                set: settings(algorithm),
                alias: None,
            },
        })
        .collect()
}

/// A tour goes to every kernel, and through connections that were opened without Accurate ECN.
fn settings(algorithm: &str) -> BTreeMap<String, String> {
    let known = Algorithm::by_name(algorithm).map_or(&[][..], Algorithm::settings_of_any_kernel);
    known.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// What each swap must be, alone and after those before it.
pub(super) fn check(scenario: &Scenario, planned: &[Planned]) -> Check {
    // The algorithm that each flow has at the time.
    let mut current: BTreeMap<&str, Choice> = BTreeMap::new();
    for flow in &scenario.flows {
        if let Ok(choice) = flow.wanted().choice() {
            current.insert(&flow.name, choice);
        }
    }
    let mut last_at: BTreeMap<&str, Span> =
        scenario.flows.iter().map(|flow| (flow.name.as_str(), flow.start)).collect();
    for Planned { path, time_field, algorithm_field, swap } in planned {
        let Some(flow) = scenario.flows.iter().find(|flow| flow.name == swap.flow) else {
            let names: Vec<&str> = scenario.flows.iter().map(|flow| flow.name.as_str()).collect();
            return ensure(false, format!("{path}.flow"), || {
                format!("expected a flow of this scenario ({}), found {:?}", names.join(", "), swap.flow)
            });
        };
        let choice = check_algorithm(path, swap.wanted()).map_err(|mut problem| {
            if problem.field == format!("{path}.algorithm") {
                problem.field = format!("{path}.{algorithm_field}");
            }
            problem
        })?;
        let time = || format!("{path}.{time_field}");
        let before = last_at.insert(&swap.flow, swap.at).unwrap_or_default();
        ensure(swap.at > before, time(), || {
            format!(
                "expected a time after the start of the flow and after its swap before ({before}), found {}",
                swap.at
            )
        })?;
        // Beyond the end of the run there may be swaps: a shortened run needs no other scenario.
        ensure(swap.at < flow.stop || swap.at >= scenario.duration, time(), || {
            format!("expected a time before the stop of the flow ({}), found {}", flow.stop, swap.at)
        })?;
        let same = current.get(swap.flow.as_str()) == Some(&choice);
        ensure(!same, format!("{path}.{algorithm_field}"), || {
            format!("expected another algorithm than the flow has at {} already, found {}", swap.at, swap.algorithm)
        })?;
        current.insert(&swap.flow, choice);
    }
    let flows =
        scenario.flows.iter().enumerate().map(|(i, flow)| (format!("flow[{i}]"), flow.name.as_str(), flow.wanted()));
    let swaps = planned.iter().map(|p| (p.path.clone(), p.path.as_str(), p.swap.wanted()));
    check_aliases(&flows.chain(swaps).collect::<Vec<_>>())
}

/// The swaps that fall into the run.
pub(super) fn within(scenario: &Scenario, planned: Vec<Planned>) -> Vec<SwapSpec> {
    planned.into_iter().map(|planned| planned.swap).filter(|swap| swap.at < scenario.duration).collect()
}
