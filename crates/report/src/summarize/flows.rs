//! One summary per flow.

use polars::prelude::*;

use super::cells::{Line, lines};
use super::measures::{self, Group};
use super::stretches;
use crate::labels::{self, Algorithms};
use crate::scale::US_PER_S;
use crate::summary::{AlgorithmChange, Closed, FlowSummary, Side};
use crate::tables::{Tables, columns as c};
use ccactl_recording::read::{Canary, Metadata};

/// A flow that went through more algorithms than this is known by the first and the last of them.
const LONGEST_CHAIN: usize = 4;

/// One summary per flow, in their order. `changes` are those of each flow.
pub fn summaries(
    tables: &Tables,
    stretches: &DataFrame,
    metadata: &Metadata,
    algorithms: &Algorithms,
    changes: Vec<Vec<AlgorithmChange>>,
) -> PolarsResult<Vec<FlowSummary>> {
    let firsts = tables.flows.clone().lazy().filter(col(c::IS_FIRST)).collect()?;
    let firsts: Vec<Line> = lines(&firsts).collect();
    let kernel_name = |flow: usize| firsts[flow].text(c::ALGORITHM);
    let groups = measures::groups(tables, metadata, &stretches::by_flow(stretches), kernel_name)?;
    let chains = firsts.iter().zip(&changes).map(|(line, changes)| chain(*line, changes, algorithms));
    let sides = firsts.iter().zip(&changes).map(|(line, changes)| side(metadata, *line, changes));
    let labelled: Vec<labels::Labelled> =
        chains.zip(sides).zip(&firsts).map(|((chain, side), line)| labelled(chain, side, *line)).collect();
    let names = labels::flow_names(metadata, &labelled);
    let flows = firsts.iter().zip(groups).zip(names).zip(labelled).zip(changes);
    Ok(flows.map(|((((line, group), name), of), changes)| summary(*line, group, name, of, changes)).collect())
}

/// The canary's side is whoever had its algorithm before the decision: in the beginning all have the baseline's, and when it is
/// promoted or taken back, all have the same again.
fn side(metadata: &Metadata, first: Line<'_>, changes: &[AlgorithmChange]) -> Option<Side> {
    let Canary { canary, baseline, decided_us, .. } = metadata.canary.as_ref()?;
    let is_compared = |at_us: f64| decided_us.is_none_or(|decided_us| at_us < decided_us as f64);
    let born_with = first.text(c::ALGORITHM);
    let is_born_before = is_compared(first.count(c::FIRST_US) as f64);
    let has_had = |name: &String| {
        (is_born_before && born_with == *name)
            || changes.iter().any(|change| change.to_kernel_name == *name && is_compared(change.at_s * US_PER_S))
    };
    let sides = [(Side::Canary, canary), (Side::Baseline, baseline)];
    sides.into_iter().find(|(_, name)| has_had(name)).map(|(side, _)| side)
}

fn labelled(algorithm: String, side: Option<Side>, line: Line<'_>) -> labels::Labelled {
    let [local, remote] = [c::LOCAL, c::REMOTE].map(|end| line.text(end));
    labels::Labelled { algorithm, side, cgroup_id: line.count(c::CGROUP_ID), local, remote }
}

fn summary(
    line: Line<'_>,
    group: Group,
    name: String,
    of: labels::Labelled,
    changes: Vec<AlgorithmChange>,
) -> FlowSummary {
    FlowSummary {
        name,
        algorithm: of.algorithm,
        side: of.side,
        kernel_name: line.text(c::ALGORITHM),
        changes,
        flow_id: line.count(c::FLOW_ID),
        netns: line.count(c::NETNS),
        cgroup_id: of.cgroup_id,
        local: of.local,
        remote: of.remote,
        start_s: group.first_us as f64 / US_PER_S,
        end_s: group.progress_us as f64 / US_PER_S,
        rows: group.rows,
        closed: line.is(c::CLOSED).then(|| closed(line)),
        measures: group.measures,
    }
}

fn closed(line: Line<'_>) -> Closed {
    let [duration_us, completion_us, rtt_mean_us, rtt_min_us] = c::CLOSING.map(|of| line.whole(of));
    Closed { duration_us, completion_us, rtt_mean_us, rtt_min_us }
}

fn chain(line: Line<'_>, changes: &[AlgorithmChange], algorithms: &Algorithms) -> String {
    let first = changes.first().map_or_else(|| algorithms.name(&line.text(c::ALGORITHM)), |change| change.from.clone());
    let names: Vec<String> = std::iter::once(first).chain(changes.iter().map(|change| change.to.clone())).collect();
    match names.as_slice() {
        [first, between @ .., last] if names.len() > LONGEST_CHAIN => {
            format!("{first} → {} others → {last}", between.len())
        }
        names => names.join(" → "),
    }
}
