//! Worlds that were not measured: what every flow of every cell would have to show for all orderings of a suite to hold.

use ccactl_report::{InnerValue, Measures};
use ccactl_suites::Cell;
use ccactl_suites::results::{CellResults, Flow, Metric, Part, Results, Run, Window};
use std::collections::BTreeMap;

/// A metric of a flow as a world has it; metrics that are made of others are not asked for.
pub type World = fn(&Place<'_>, Metric) -> f64;

/// Where a figure is asked for.
pub struct Place<'a> {
    /// Labels of the cell.
    pub labels: &'a BTreeMap<String, String>,
    /// Window; empty for the whole run.
    pub window: &'a str,
    /// Index of the flow.
    pub flow: usize,
}

impl Place<'_> {
    pub fn label(&self, axis: &str) -> &str {
        self.labels.get(axis).map_or("", String::as_str)
    }

    /// The flow's algorithm in a cell of pairs.
    pub fn of_pair(&self) -> (&str, &str) {
        let (first, second) = self.label("pair").split_once('+').expect("a pair");
        if self.flow == 0 { (first, second) } else { (second, first) }
    }
}

/// The metrics that a part of a run holds by itself.
pub const STORED: [Metric; 16] = [
    Metric::Throughput,
    Metric::Retransmissions,
    Metric::Timeouts,
    Metric::Overflow,
    Metric::Cwnd,
    Metric::Rtt,
    Metric::Queueing,
    Metric::Delivered,
    Metric::Jain,
    Metric::JainPerSecond,
    Metric::Convergence,
    Metric::Queue,
    Metric::Utilisation,
    Metric::Completion,
    Metric::BandwidthEstimate,
    Metric::MinRttEstimate,
];

/// One valid run per cell.
pub fn results(cells: &[Cell], windows: &[Window], world: World) -> Results {
    let of_cell = |cell: &Cell| {
        let part = |window: &str| {
            let mut part = Part { flows: flows(cell), ..Part::default() };
            for flow in 0..part.flows.len() {
                for metric in STORED.iter().copied().filter(|metric| window.is_empty() || metric.is_of_a_window()) {
                    let value = world(&Place { labels: &cell.labels, window, flow }, metric);
                    set(&mut part, flow, metric, value);
                }
            }
            part
        };
        let windows = windows.iter().map(|window| (window.name, part(window.name))).collect();
        CellResults {
            id: cell.id.clone(),
            labels: cell.labels.clone(),
            folder: "nowhere".into(),
            duration_s: 100.0,
            runs: vec![Run { directory: "run-1".to_owned(), whole: part(""), windows }],
            rejected: Vec::new(),
            missed: Vec::new(),
        }
    };
    Results { cells: cells.iter().map(of_cell).collect() }
}

fn flows(cell: &Cell) -> Vec<Flow> {
    let of = |flow: &ccactl_scenario::FlowSpec| Flow {
        name: flow.name.clone(),
        algorithm: flow.algorithm.clone(),
        measures: Some(Measures::default()),
        ..Flow::default()
    };
    cell.scenario.flows.iter().map(of).collect()
}

/// Puts a figure where [`Metric::of`] finds it.
pub fn set(part: &mut Part, flow: usize, metric: Metric, value: f64) {
    match metric {
        Metric::Jain => part.jain = Some(value),
        Metric::JainPerSecond => part.jain_intervals = Some(value),
        Metric::Convergence => part.converged_after_s = Some(value),
        Metric::Queue => part.queue_ms = Some(value),
        Metric::Utilisation => part.utilisation = Some(value / 100.0),
        _ => set_of_flow(&mut part.flows[flow], metric, value),
    }
}

fn set_of_flow(flow: &mut Flow, metric: Metric, value: f64) {
    let measures = flow.measures.get_or_insert_default();
    let mut inner = |name: &str, mean: f64| {
        measures.inner_state.retain(|value| value.name != name);
        measures.inner_state.push(InnerValue { name: name.to_owned(), doc: String::new(), mean, min: mean, max: mean });
    };
    match metric {
        Metric::Throughput => measures.goodput_bps = Some(value * 1e6),
        Metric::Retransmissions => measures.retrans_pkts = value as u64,
        Metric::Timeouts => measures.rto_count = Some(value as u64),
        Metric::Delivered => measures.delivered_pkts = value as u64,
        Metric::Cwnd => measures.cwnd_mean_pkts = Some(value),
        Metric::Rtt => measures.rtt_mean_us = Some(value * 1e3),
        Metric::Queueing => measures.queueing_delay_us = Some(value * 1e3),
        Metric::Overflow => flow.overflow_pkts = Some(value as u64),
        Metric::Completion => flow.completions_s = vec![value],
        Metric::BandwidthEstimate => inner("bw_bps", value * 1e6),
        Metric::MinRttEstimate => inner("min_rtt_us", value * 1e3),
        other => panic!("{other:?} is made of others"),
    }
}
