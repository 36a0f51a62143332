//! Neighbouring parts of one recording, folded; two that follow each other make one.

use ccactl_recording::Column;
use ccactl_recording::read::{Extent, Metadata, OneFile, missing, path_of};
use polars::prelude::*;

use super::edges::{self, Edges};
use super::frames;
use super::input::Input;
use crate::measure::drops::Drops;
use crate::measure::swaps::Swap;
use crate::tables::{Extents, FlowFold, Folded, Intervals, add_drops, find_swaps, fold_columns};
use crate::walk::{Columns, FlowKey, Names, Run, Walked, walk_on};
use crate::{Error, Options};

/// What is known of the rows of some neighbouring parts.
///
/// The step to the first row of a flow is in no segment: it needs the row before, which another segment may have.
#[derive(Clone)]
pub struct Segment {
    /// The parts, in order.
    pub inputs: Vec<Input>,
    /// Of all of them.
    pub metadata: Metadata,
    /// What the rows cover.
    pub extent: Option<Extent>,
    /// Whether the end of a part is missing.
    pub truncated: bool,
    /// How many intervals there are.
    pub intervals: Intervals,
    /// When rows were lost.
    pub drops: Drops,
    /// The flows, in the order in which they were met.
    pub flows: Vec<SegmentFlow>,
    /// The first row of each, in the same order, with the columns that a fold needs.
    pub heads: DataFrame,
}

/// One flow in a segment.
#[derive(Debug, Clone)]
pub struct SegmentFlow {
    /// Its identity.
    pub key: FlowKey,
    /// Its steps after the first row.
    pub fold: FlowFold,
    /// Its changes of algorithm, as far as these rows tell.
    pub swaps: Vec<Swap>,
    /// The rows at its ends.
    pub edges: Edges,
}

impl Segment {
    /// Folds one file.
    pub fn of(file: &OneFile, options: &Options, names: &mut Names) -> Result<Segment, Error> {
        let recording = &file.recording;
        let (window_us, width_us) = (options.window_us()?, options.interval_us());
        let mut flows: Vec<(FlowFold, Edges)> = Vec::new();
        let mut heads: Vec<PolarsResult<DataFrame>> = Vec::new();
        let mut drops = Drops::default();
        let mut intervals = Intervals::new(width_us);
        let columns = [&fold_columns()[..], &[Column::SsthreshPkts, Column::PacingRateBps]].concat();
        let walked = walk_on(std::mem::take(names), recording, window_us, &columns, |batch| {
            let mut rows_of_heads: Vec<IdxSize> = Vec::new();
            for run in batch.runs() {
                let is_new = flows.len() == run.flow;
                if is_new {
                    flows.push(<(FlowFold, Edges)>::default());
                }
                let (fold, edges) = &mut flows[run.flow];
                edges.add(&run);
                let rest = if is_new {
                    let (first, row, rest) = run.split_first();
                    rows_of_heads.push(row as IdxSize);
                    fold.add_row(&first);
                    edges.begins = first.has_opened();
                    rest
                } else {
                    Some(run)
                };
                if let Some(rest) = rest {
                    if !intervals.have_room(&rest) {
                        return;
                    }
                    fold.add(&rest, width_us);
                }
            }
            add_drops(&mut drops, batch, width_us);
            if !rows_of_heads.is_empty() {
                heads.push(batch.frame().take(&IdxCa::from_vec(PlSmallStr::EMPTY, rows_of_heads)));
            }
        })?;
        intervals.check(recording.path())?;
        let Walked { flows: keys, names: known, extent, truncated } = walked;
        *names = known;
        let mut swaps = find_swaps(recording, window_us, flows.iter().map(|(fold, _)| fold.changes.as_slice()))?;
        swaps.resize(flows.len(), Vec::new());
        let flow = |(((mut fold, mut edges), (key, _)), swaps): (((FlowFold, Edges), (FlowKey, _)), _)| {
            fold.changes = Vec::new();
            edges.forget(fold.closing.is_some());
            SegmentFlow { key, fold, swaps, edges }
        };
        let flows = flows.into_iter().zip(keys).zip(swaps).map(flow).collect();
        let heads = heads.into_iter().collect::<PolarsResult<Vec<_>>>().and_then(frames::union);
        Ok(Segment {
            inputs: vec![Input::of(file)?],
            metadata: recording.metadata().clone(),
            extent,
            truncated,
            intervals,
            drops,
            flows,
            heads: heads.map_err(Error::table(recording.path()))?,
        })
    }

    /// Both together, of which `later` is the one that follows.
    pub fn then(mut self, later: Segment, names: &mut Names) -> PolarsResult<Segment> {
        let width_us = self.intervals.width_us();
        let Segment { inputs, metadata, extent, truncated, intervals, drops, flows, heads } = later;
        let numbers: PlHashMap<FlowKey, usize> = self.flows.iter().map(|flow| flow.key).zip(0..).collect();
        let heads = frames::in_one_piece(heads);
        let columns = Columns::of(&heads, names)?;
        let mut new: Vec<IdxSize> = Vec::new();
        for (row, flow) in flows.into_iter().enumerate() {
            match numbers.get(&flow.key) {
                None => {
                    new.push(row as IdxSize);
                    self.flows.push(flow);
                }
                Some(&number) => {
                    let earlier = &mut self.flows[number];
                    let previous = earlier.edges.last.last().copied();
                    let step = Run::of_row(&columns, row, (number, flow.key), previous);
                    // Where there is no room, the intervals know it.
                    let _ = self.intervals.have_room(&step);
                    earlier.append(&step, flow, width_us);
                }
            }
        }
        if !new.is_empty() {
            let new = heads.take(&IdxCa::from_vec(PlSmallStr::EMPTY, new))?;
            self.heads = frames::union(vec![self.heads, new])?;
        }
        self.inputs.extend(inputs);
        self.metadata.append(&metadata);
        self.extent = self.extent.into_iter().chain(extent).reduce(Extent::and);
        self.truncated |= truncated;
        self.intervals.append(&intervals);
        self.drops.append(drops, width_us);
        Ok(self)
    }

    /// What a report is made of, when nothing comes before.
    pub fn finish(self, mut names: Names) -> Result<Folded, Error> {
        let path = self.path();
        let mut intervals = self.intervals;
        let width_us = intervals.width_us();
        let heads = frames::in_one_piece(self.heads);
        let columns = Columns::of(&heads, &mut names).map_err(Error::table(&path))?;
        let flows = self.flows.into_iter().enumerate();
        let flows: Vec<_> = flows
            .map(|(row, flow)| {
                let first = Run::of_row(&columns, row, (row, flow.key), None);
                // Where there is no room, the intervals know it.
                let _ = intervals.have_room(&first);
                let mut fold = FlowFold::default();
                fold.add_steps(&first, width_us);
                fold.append(flow.fold);
                (flow.key, first.endpoints(), fold, flow.swaps)
            })
            .collect();
        intervals.check(&path)?;
        let extents = Extents { extent: self.extent, truncated: self.truncated };
        Ok(Folded::of(&self.metadata, flows.into_iter(), names, extents, self.drops.finish(width_us)))
    }

    /// As a report names the recording.
    pub fn path(&self) -> std::path::PathBuf {
        path_of(&self.inputs[0].path, self.inputs.len())
    }

    /// As [`ccactl_recording::read::Recording::problems`].
    pub fn problems(&self) -> Vec<String> {
        let there: Vec<u64> = self.inputs.iter().filter_map(|input| input.part).collect();
        let of_dataset = self
            .metadata
            .dataset
            .as_ref()
            .and_then(|_| missing(&there, self.inputs.iter().filter_map(|input| input.parts).max()));
        let problems = self.inputs.iter().filter_map(|input| input.problem.clone());
        let recovered = self.inputs.iter().filter_map(|input| input.recovered.clone());
        of_dataset.into_iter().chain(problems).chain(recovered).collect()
    }

    /// First and last part.
    pub fn parts(&self) -> Option<[u64; 2]> {
        Some([self.inputs.first()?.part?, self.inputs.last()?.part?])
    }
}

impl SegmentFlow {
    /// `step` leads from its last row to the first one of `later`.
    fn append(&mut self, step: &Run<'_>, later: SegmentFlow, width_us: u64) {
        let mut over = FlowFold::default();
        over.add_steps(step, width_us);
        over.changes = Vec::new();
        self.fold.append(over);
        self.fold.append(later.fold);
        let swaps = std::mem::take(&mut self.swaps);
        self.swaps = edges::join(swaps, &self.edges.last, &later.swaps, &later.edges.first);
        self.edges.append(later.edges);
        self.edges.forget(self.fold.closing.is_some());
    }
}
