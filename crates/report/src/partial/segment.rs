//! Neighbouring parts of one recording, folded; two that follow each other make one.

use ccactl_recording::Column;
use ccactl_recording::read::{Extent, Metadata, OneFile, missing, path_of};
use polars::prelude::*;

use super::edges::{self, Edges};
use super::frames;
use super::input::Input;
use crate::measure::drops::Drops;
use crate::measure::swaps::Swap;
use crate::summarize::pools::Pools;
use crate::tables::{Extents, FlowFold, Folded, Intervals, Tables, add_drops, find_swaps, fold_columns};
use crate::walk::{Columns, Counter, Endpoints, FlowKey, Names, Run, Walked, walk_on};
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
    /// Flows that have ended and are kept no more.
    pub pools: Option<Pools>,
}

/// Of more flows than this, those that have ended are pooled …
const MOST_FLOWS: usize = 20_000;
/// … but those that moved most data.
const LISTED_FLOWS: usize = 1_000;
/// Flows whose tables are made together.
const POOLED_AT_ONCE: usize = 10_000;

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
                let rest = if is_new {
                    let (first, row, rest) = run.split_first();
                    rows_of_heads.push(row as IdxSize);
                    fold.add_row(&first);
                    edges.begins = first.has_opened();
                    edges.add(&first);
                    rest
                } else {
                    Some(run)
                };
                if let Some(rest) = rest {
                    if !intervals.have_room(&rest) {
                        return;
                    }
                    fold.add(&rest, width_us);
                    edges.add(&rest);
                }
                // There may be very many that are short: not only when all are read.
                edges.forget(fold.closing.is_some());
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
        let segment = Segment {
            inputs: vec![Input::of(file)?],
            metadata: recording.metadata().clone(),
            extent,
            truncated,
            intervals,
            drops,
            flows,
            heads: heads.map_err(Error::table(recording.path()))?,
            pools: None,
        };
        segment.pooled(MOST_FLOWS, names).map_err(Error::table(recording.path()))
    }

    /// Both together, of which `later` is the one that follows.
    pub fn then(mut self, later: Segment, names: &mut Names) -> PolarsResult<Segment> {
        let width_us = self.intervals.width_us();
        let Segment { inputs, metadata, extent, truncated, intervals, drops, flows, heads, pools } = later;
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
        self.pools = match (self.pools, pools) {
            (Some(one), Some(other)) => Some(one.and(&other)?),
            (one, other) => one.or(other),
        };
        self.pooled(MOST_FLOWS, names)
    }

    /// Puts flows that have ended into pools, when there are more flows than `most`: all but the [`LISTED_FLOWS`] that moved most data.
    /// Flows that changed their algorithm, and those that receive, have figures of their own and stay.
    fn pooled(mut self, most: usize, names: &Names) -> PolarsResult<Segment> {
        if self.flows.len() <= most {
            return Ok(self);
        }
        let is_start = self.inputs[0].part.is_none_or(|part| part == 0);
        let is_whole = |flow: &SegmentFlow| (is_start || flow.edges.begins) && flow.fold.closing.is_some();
        let is_plain = |flow: &SegmentFlow| flow.swaps.is_empty() && flow.fold.offers.rows == 0;
        let ended = self.flows.iter().enumerate().filter(|(_, flow)| is_whole(flow) && is_plain(flow));
        let mut ended: Vec<(u64, FlowKey, usize)> =
            ended.map(|(row, flow)| (flow.acked_bytes(), flow.key, row)).collect();
        // The largest last.
        ended.sort_unstable();
        ended.truncate(ended.len().saturating_sub(LISTED_FLOWS));
        if ended.is_empty() {
            return Ok(self);
        }
        let mut is_ended = vec![false; self.flows.len()];
        ended.iter().for_each(|&(.., row)| is_ended[row] = true);
        let rows = |wanted: bool| {
            let rows = is_ended.iter().zip(0..).filter(|(is_ended, _)| **is_ended == wanted);
            IdxCa::from_vec(PlSmallStr::EMPTY, rows.map(|(_, row): (_, IdxSize)| row).collect())
        };
        let [heads, heads_of_ended] = [self.heads.take(&rows(false))?, self.heads.take(&rows(true))?];
        let (ended, kept): (Vec<_>, Vec<_>) =
            self.flows.into_iter().zip(&is_ended).partition(|(_, is_ended)| **is_ended);
        (self.flows, self.heads) = (kept.into_iter().map(|(flow, _)| flow).collect(), heads);
        let mut ended = ended.into_iter().map(|(flow, _)| flow);
        // A few at a time: their tables are larger than they are.
        for from in (0..heads_of_ended.height()).step_by(POOLED_AT_ONCE) {
            let flows: Vec<SegmentFlow> = ended.by_ref().take(POOLED_AT_ONCE).collect();
            let heads = heads_of_ended.slice(from as i64, flows.len());
            self.pool(Flows { flows, heads }, names)?;
        }
        Ok(self)
    }

    fn pool(&mut self, ended: Flows, names: &Names) -> PolarsResult<()> {
        let width_us = self.intervals.width_us();
        let (flows, names) = ended.finish(&mut self.intervals, names.clone())?;
        let extents = Extents { extent: self.extent, truncated: self.truncated };
        let folded = Folded::of(&self.metadata, flows.into_iter(), names, extents, Vec::new());
        if folded.flows.is_empty() {
            return Ok(());
        }
        let pools = Pools::of(&Tables::of_fold(&folded)?, &self.metadata, width_us)?;
        self.pools = Some(match self.pools.take() {
            Some(others) => others.and(&pools)?,
            None => pools,
        });
        Ok(())
    }

    /// What a report is made of, when nothing comes before.
    pub fn finish(self, names: Names) -> Result<Folded, Error> {
        let path = self.path();
        let table = Error::table(&path);
        // Which flows are listed must not depend on the order in which parts came together.
        let most = if self.pools.is_some() { 0 } else { usize::MAX };
        let segment = self.pooled(most, &names).map_err(&table)?;
        let mut intervals = segment.intervals;
        let width_us = intervals.width_us();
        let flows = Flows { flows: segment.flows, heads: segment.heads };
        let (flows, names) = flows.finish(&mut intervals, names).map_err(&table)?;
        intervals.check(&path)?;
        let extents = Extents { extent: segment.extent, truncated: segment.truncated };
        let drops = segment.drops.finish(width_us);
        let folded = Folded::of(&segment.metadata, flows.into_iter(), names, extents, drops);
        Ok(Folded { pools: segment.pools, ..folded })
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

/// Some flows with their first rows, before which nothing comes.
struct Flows {
    flows: Vec<SegmentFlow>,
    heads: DataFrame,
}

/// A flow that is folded from its first row on.
type Finished = (FlowKey, Endpoints, FlowFold, Vec<Swap>);

impl Flows {
    fn finish(self, intervals: &mut Intervals, mut names: Names) -> PolarsResult<(Vec<Finished>, Names)> {
        let width_us = intervals.width_us();
        let heads = frames::in_one_piece(self.heads);
        let columns = Columns::of(&heads, &mut names)?;
        let finished = |(row, flow): (usize, SegmentFlow)| {
            let first = Run::of_row(&columns, row, (row, flow.key), None);
            // Where there is no room, the intervals know it.
            let _ = intervals.have_room(&first);
            let mut fold = FlowFold::default();
            fold.add_steps(&first, width_us);
            fold.append(flow.fold);
            (flow.key, first.endpoints(), fold, flow.swaps)
        };
        Ok((self.flows.into_iter().enumerate().map(finished).collect(), names))
    }
}

impl SegmentFlow {
    fn acked_bytes(&self) -> u64 {
        self.fold.parts.iter().map(|part| part.totals.grown(Counter::BytesAcked)).fold(0, u64::saturating_add)
    }

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
