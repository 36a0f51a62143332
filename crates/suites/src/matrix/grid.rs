//! What the cells have measured: harm and Jain index of each pair, and how each algorithm stands.

use super::plan::{BUFFER, FLOWS, LINK_RATE, ONE, OTHER, RTT};
use crate::folder::{PlannedCell, SuiteFolder};
use crate::{Error, Result, results};
use ccactl_report::stats;
use ccactl_testbed::bench::RunResult;
use serde::{Serialize, Serializer};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::atomic::AtomicBool;

/// The middle of several runs, and how far they reach.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Range {
    /// Median.
    pub median: f64,
    /// Smallest.
    pub min: f64,
    /// Largest: of five runs, smallest and largest enclose the median of all with 94 %.
    pub max: f64,
    /// Runs.
    pub n: usize,
}

impl Range {
    fn of(mut values: Vec<f64>) -> Option<Range> {
        values.sort_by(f64::total_cmp);
        let (first, last) = (*values.first()?, *values.last()?);
        let middle = values.len() / 2;
        let median = if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 };
        Some(Range { median, min: first, max: last, n: values.len() })
    }
}

/// What one algorithm does to another.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Entry {
    /// Who does it.
    pub does: String,
    /// Who suffers it.
    pub suffers: String,
    /// Of its goodput alone, what the other one loses beside this one, %.
    pub harm: Range,
    /// Of the two goodputs.
    pub jain: Range,
    /// This one's, Mbit/s.
    pub own_mbps: Range,
    /// The other one's.
    pub other_mbps: Range,
    /// This one's part of both, %; of two flows of one algorithm, the larger part.
    pub share: Range,
    /// Mean time in the queue, ms; none where nobody saw it.
    pub queue_ms: Option<Range>,
    /// That count.
    pub runs: usize,
    /// Folder of the runs.
    pub cell: String,
}

impl Entry {
    /// Whether its runs reach so far apart that it hangs on chance who gets how much.
    #[must_use]
    pub fn hangs_on_chance(&self) -> bool {
        self.share.max - self.share.min >= APART
    }
}

/// How an algorithm does in a grid.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Standing {
    /// Its name.
    pub algorithm: String,
    /// Alone, Mbit/s.
    pub alone_mbps: Range,
    /// Median over the others of the harm that it does, %.
    pub does: Option<f64>,
    /// Median of the harm that it suffers.
    pub suffers: Option<f64>,
}

/// All pairs on one link.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Grid {
    /// Rate of the link, flows of each algorithm, base RTT and buffer.
    #[serde(flatten)]
    pub link: Link,
    /// By harm done, the most first.
    pub standings: Vec<Standing>,
    /// By the algorithm that does and the one that suffers.
    #[serde(serialize_with = "without_keys")]
    pub entries: BTreeMap<(String, String), Entry>,
}

/// Each entry names its algorithms itself.
fn without_keys<S: Serializer>(
    entries: &BTreeMap<(String, String), Entry>,
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    serializer.collect_seq(entries.values())
}

/// What all pairs of a grid have in common.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Link {
    /// Of the bottleneck.
    pub rate: String,
    /// Without a queue.
    pub rtt: String,
    /// Of the bottleneck.
    pub buffer: String,
    /// Of each of the two algorithms.
    pub flows: usize,
}

impl Link {
    fn of(cell: &PlannedCell) -> Link {
        let of = |key: &str| cell.labels[key].clone();
        Link { rate: of(LINK_RATE), rtt: of(RTT), buffer: of(BUFFER), flows: of(FLOWS).parse().unwrap_or(1) }
    }
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let spaced = |text: &str| {
            let unit = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
            format!("{} {}", &text[..unit], &text[unit..])
        };
        let buffer = match self.buffer.strip_suffix("bdp") {
            Some(count) => format!("{count} BDP"),
            None => self.buffer.clone(),
        };
        write!(f, "{}, base RTT {}, buffer {buffer}", spaced(&self.rate), spaced(&self.rtt))?;
        if self.flows > 1 { write!(f, ", {} flows a side", self.flows) } else { Ok(()) }
    }
}

/// Points of the share between the runs of a pair from which on it hangs on chance.
const APART: f64 = 10.0;
const PERCENT: f64 = 100.0;
const MBIT: f64 = 1e6;

/// The grids of what is finished in a folder, and what does not count, in words.
///
/// # Errors
/// When a result cannot be read, or a signal asked for the end.
pub fn read(folder: &SuiteFolder, interrupt: &AtomicBool) -> Result<(Vec<Grid>, Vec<String>)> {
    let mut measured: Vec<(&PlannedCell, Vec<RunResult>)> = Vec::new();
    let mut warnings = Vec::new();
    let (mut missing, mut rejected) = (0, 0);
    for cell in &folder.experiment().cells {
        Error::check(interrupt)?;
        if folder.finished(&cell.id)?.is_none() {
            missing += 1;
            continue;
        }
        let runs = results::read(&folder.of_cell(&cell.id))?.runs;
        let tried = runs.len();
        let valid: Vec<RunResult> = runs.into_iter().filter(|run| run.valid).collect();
        rejected += tried - valid.len();
        measured.push((cell, valid));
    }
    if missing > 0 {
        warnings.push(format!("{missing} of {} cells are not run", folder.experiment().cells.len()));
    }
    if rejected > 0 {
        warnings.push(format!("{rejected} runs or attempts are not valid and in no figure"));
    }
    let mut links: Vec<Link> = Vec::new();
    for (cell, _) in &measured {
        let link = Link::of(cell);
        if !links.contains(&link) {
            links.push(link);
        }
    }
    let grid = |link: Link| {
        let here = measured.iter().filter(|(cell, _)| Link::of(cell) == link);
        let cells: Vec<_> = here.map(|(cell, runs)| (*cell, runs.as_slice())).collect();
        Grid::of(link, &cells)
    };
    Ok((links.into_iter().map(grid).collect(), warnings))
}

impl Grid {
    fn of(link: Link, cells: &[(&PlannedCell, &[RunResult])]) -> Grid {
        let mut alone: BTreeMap<&str, Range> = BTreeMap::new();
        for (cell, runs) in cells.iter().filter(|(cell, _)| !cell.labels.contains_key(OTHER)) {
            let goodputs = runs.iter().map(|run| goodput_mbps(run, 0..link.flows, cell.duration_s)).collect();
            alone.extend(Range::of(goodputs).map(|range| (cell.labels[ONE].as_str(), range)));
        }
        let mut entries = BTreeMap::new();
        for (cell, runs) in cells.iter().filter(|(cell, _)| cell.labels.contains_key(OTHER)) {
            let names = [cell.labels[ONE].as_str(), cell.labels[OTHER].as_str()];
            let measured: Vec<[f64; 2]> = runs.iter().map(|run| sides(run, link.flows, cell.duration_s)).collect();
            for (does, suffers) in [(0, 1), (1, 0)] {
                let Some(without) = alone.get(names[suffers]).filter(|range| range.median > 0.0) else { continue };
                let pairs = measured.iter().map(|sides| [sides[does], sides[suffers]]);
                // Two flows of one algorithm are told apart by nothing: each of them is an example of both.
                let swapped = measured.iter().map(|sides| [sides[suffers], sides[does]]);
                let all: Vec<[f64; 2]> = pairs.chain(swapped.filter(|_| names[0] == names[1])).collect();
                let pair = (names[does], names[suffers]);
                let entry = entry(pair, &all, without.median, queue_ms(runs), &cell.id);
                entries.extend(entry.map(|entry| ((entry.does.clone(), entry.suffers.clone()), entry)));
            }
        }
        let mut standings: Vec<Standing> = alone.iter().map(|(name, range)| standing(name, *range, &entries)).collect();
        standings.sort_by(|a, b| b.does.unwrap_or(0.0).total_cmp(&a.does.unwrap_or(0.0)));
        Grid { link, standings, entries }
    }

    /// What one does to the other; none where it was not measured.
    #[must_use]
    pub fn entry(&self, does: &str, suffers: &str) -> Option<&Entry> {
        self.entries.get(&(does.to_owned(), suffers.to_owned()))
    }

    /// Each pair once.
    pub fn pairs(&self) -> impl Iterator<Item = &Entry> {
        let once: BTreeMap<&str, &Entry> = self.entries.values().map(|entry| (entry.cell.as_str(), entry)).collect();
        once.into_values()
    }

    /// Whose folder of runs, by the runs that there are, does not tell how a pair shares.
    #[must_use]
    pub fn hanging_on_chance(&self) -> BTreeSet<&str> {
        self.pairs().filter(|entry| entry.hangs_on_chance()).map(|entry| entry.cell.as_str()).collect()
    }
}

/// What one does to the other, from the goodputs of both.
fn entry(
    (does, suffers): (&str, &str),
    pairs: &[[f64; 2]],
    without: f64,
    queue_ms: Option<Range>,
    cell: &str,
) -> Option<Entry> {
    let of = |figure: &dyn Fn(&[f64; 2]) -> f64| Range::of(pairs.iter().map(figure).collect());
    let share = |[own, other]: &[f64; 2]| {
        let own = own / (own + other).max(f64::MIN_POSITIVE) * PERCENT;
        if does == suffers { own.max(PERCENT - own) } else { own }
    };
    Some(Entry {
        does: does.to_owned(),
        suffers: suffers.to_owned(),
        harm: of(&|[_, beside]| (1.0 - beside / without) * PERCENT)?,
        jain: of(&|pair| stats::jain(pair).unwrap_or(0.0))?,
        own_mbps: of(&|[own, _]| *own)?,
        other_mbps: of(&|[_, other]| *other)?,
        share: of(&share)?,
        queue_ms,
        runs: if does == suffers { pairs.len() / 2 } else { pairs.len() },
        cell: cell.to_owned(),
    })
}

fn queue_ms(runs: &[RunResult]) -> Option<Range> {
    Range::of(runs.iter().filter_map(|run| Some(run.link.queue?.queueing.mean_us / 1e3)).collect())
}

/// Goodput of all flows of the first algorithm, and of all flows of the second.
fn sides(run: &RunResult, flows: usize, duration_s: f64) -> [f64; 2] {
    [0..flows, flows..2 * flows].map(|side| goodput_mbps(run, side, duration_s))
}

fn goodput_mbps(run: &RunResult, side: std::ops::Range<usize>, duration_s: f64) -> f64 {
    let flows = run.flows.get(side).unwrap_or_default();
    let acked: u64 = flows.iter().filter_map(|flow| flow.metrics.as_ref()).map(|metrics| metrics.acked_bytes).sum();
    acked as f64 * 8.0 / duration_s / MBIT
}

fn standing(name: &str, alone: Range, entries: &BTreeMap<(String, String), Entry>) -> Standing {
    let others = |is_it: &dyn Fn(&(String, String)) -> bool| {
        let harm = entries.iter().filter(|(pair, _)| pair.0 != pair.1 && is_it(pair));
        Range::of(harm.map(|(_, entry)| entry.harm.median).collect()).map(|range| range.median)
    };
    Standing {
        algorithm: name.to_owned(),
        alone_mbps: alone,
        does: others(&|pair| pair.0 == name),
        suffers: others(&|pair| pair.1 == name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_the_middle_and_both_ends() {
        let range = Range::of(vec![3.0, 1.0, 2.0]).unwrap();
        assert_eq!((range.median, range.min, range.max, range.n), (2.0, 1.0, 3.0, 3));
        assert_eq!(Range::of(vec![1.0, 2.0]).unwrap().median, 1.5);
        assert_eq!(Range::of(Vec::new()), None);
    }

    fn of(pairs: &[[f64; 2]], is_same: bool) -> Entry {
        entry(("a", if is_same { "a" } else { "b" }), pairs, 20.0, None, "one=a,other=b").unwrap()
    }

    #[test]
    fn harm_is_what_the_other_one_loses_of_its_goodput_alone() {
        let entry = of(&[[15.0, 5.0]], false);
        assert_eq!((entry.harm.median, entry.share.median, entry.jain.median), (75.0, 75.0, 0.8));
        // It leaves a fifth of the link unused and harms no less for it.
        assert_eq!(of(&[[11.0, 5.0]], false).harm.median, 75.0);
    }

    #[test]
    fn runs_far_apart_hang_on_chance_and_changing_places_with_ones_like_is_none() {
        assert!(!of(&[[12.0, 8.0]], false).hangs_on_chance(), "one run says nothing of chance");
        assert!(of(&[[12.0, 8.0], [9.0, 11.0]], false).hangs_on_chance());
        assert!(!of(&[[12.0, 8.0], [11.0, 9.0]], false).hangs_on_chance());
        let alike = of(&[[12.0, 8.0], [8.0, 12.0]], true);
        assert!(!alike.hangs_on_chance(), "each time one of both has 60 %");
        assert_eq!((alike.harm.min, alike.harm.max), (40.0, 60.0));
    }
}
