//! A scenario of a user: a row per cell with the usual figures.

use super::{Drawing, OverTime, Suite};
use crate::compare::{Compared, Entry, Row, Table};
use crate::results::{Metric, Results};
use ccactl_loader::plain_name;

/// Stands in for a suite where no paper has anything to compare with.
pub const PLAIN: Suite = Suite {
    name: "",
    experiment: "",
    paper: "",
    look_at: "",
    windows: &[],
    tables,
    orderings: &[],
    figures: |results| Drawing::over_time(results, &[OverTime::Throughput], |_| true),
};

const OF_A_FLOW: [Metric; 4] = [Metric::Throughput, Metric::Rtt, Metric::Cwnd, Metric::Retransmissions];
const OF_A_RUN: [Metric; 3] = [Metric::Jain, Metric::Utilisation, Metric::Queue];

/// Flows of different cells may differ in number and in name, so each has a row.
fn tables(results: &Results) -> Vec<Table> {
    let mut of_flows = Vec::new();
    let mut of_runs = Vec::new();
    for cell in &results.cells {
        let entry = |metric: Metric, flow: usize| {
            Entry(vec![Compared { metric, measured: cell.estimate(metric, flow), printed: None }])
        };
        let flows = cell.runs.first().map_or(&[][..], |run| &run.whole.flows);
        for (number, flow) in flows.iter().enumerate() {
            let names = vec![cell.id.clone(), flow.name.clone(), plain_name(&flow.algorithm).to_owned()];
            of_flows.push(Row { names, entries: OF_A_FLOW.iter().map(|&metric| entry(metric, number)).collect() });
        }
        let entries = OF_A_RUN.iter().map(|&metric| entry(metric, 0)).collect();
        of_runs.push(Row { names: vec![cell.id.clone()], entries });
    }
    let table = |title: &str, names: &[&str], metrics: &[Metric], rows: Vec<Row>| Table {
        title: title.to_owned(),
        source: String::new(),
        names: names.iter().map(|name| (*name).to_owned()).collect(),
        columns: metrics.iter().map(|metric| metric.label()).collect(),
        rows,
    };
    vec![
        table("Flows", &["Cell", "Flow", "Algorithm"], &OF_A_FLOW, of_flows),
        table("Runs", &["Cell"], &OF_A_RUN, of_runs),
    ]
}
