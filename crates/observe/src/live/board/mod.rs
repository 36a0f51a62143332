//! What the sockets do now: rows in, figures of the last moments out. Knows no clock, no kernel and no terminal.
//!
//! Memory is bounded whatever comes: so many flows, groups and points, and slots instead of rows. What finds no room is
//! counted.

mod flow;
mod group;
mod history;
mod meter;
mod pace;
mod rtts;
#[cfg(test)]
mod tests;

pub use flow::{Flow, FlowKey, Swap, Totals};
pub use group::{Group, Live};
pub use history::{History, POINTS, Point};
pub use meter::Counts;
pub use pace::Pace;
pub use rtts::Rtts;

use ccactl_abi::layout::{EVENT_CLOSE, EVENT_OPEN, NAME_LEN, Sample};
use flow::{Step, key_of};
use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::Hash;

/// Flows that are remembered at most.
pub const MAX_FLOWS: usize = 10_000;
/// Cgroups, and algorithms, that are remembered at most.
const MAX_GROUPS: usize = 1000;
/// Flows without room that are told apart at most.
const MAX_TURNED_AWAY: usize = 100_000;
/// How long a closed flow stays.
pub const CLOSED_NS: u64 = 5_000_000_000;
/// How long an open flow stays without a row: its end may have been lost.
const SILENT_NS: u64 = 300_000_000_000;
/// When there is no room for another flow, one that has been silent for so long goes.
const SPARE_NS: u64 = 10_000_000_000;

/// All flows and groups.
///
/// [`Board::feed`] it with rows and [`Board::advance`] it before each look.
#[derive(Debug, Clone)]
pub struct Board {
    pace: Pace,
    flows: HashMap<FlowKey, Flow>,
    cgroups: HashMap<u64, Group>,
    algorithms: HashMap<[u8; NAME_LEN], Group>,
    /// Closed flows in the order of their ends.
    closed: VecDeque<FlowKey>,
    /// Flows that found no room since the last point, and how many there were before it.
    turned_away: HashSet<FlowKey>,
    no_room: usize,
    /// Points were made until here.
    marked_ns: u64,
    /// The last search for silent flows to make room.
    spared_ns: u64,
}

impl Board {
    /// Nothing yet; figures are over the window of `pace`.
    #[must_use]
    pub fn new(pace: Pace) -> Board {
        Board {
            pace,
            flows: HashMap::new(),
            cgroups: HashMap::new(),
            algorithms: HashMap::new(),
            closed: VecDeque::new(),
            turned_away: HashSet::new(),
            no_room: 0,
            marked_ns: 0,
            spared_ns: 0,
        }
    }

    /// Takes rows in, those of one flow in order of time.
    pub fn feed(&mut self, rows: &[Sample]) {
        rows.iter().for_each(|row| self.take(row));
    }

    /// Lets time pass: points are made, and what has been there long enough goes.
    pub fn advance(&mut self, now_ns: u64) {
        self.forget(now_ns);
        self.look();
        let point_ns = self.pace.point_ns();
        let now_point = now_ns / point_ns;
        let points = now_point.saturating_sub(self.marked_ns / point_ns).min(POINTS as u64);
        // A first look back would see a time before there was anything.
        for _ in 0..if self.marked_ns == 0 { points.min(1) } else { points } {
            self.mark(now_ns);
        }
        if points > 0 {
            self.marked_ns = now_ns;
            self.no_room = std::mem::take(&mut self.turned_away).len();
        }
    }

    /// Window of the figures.
    #[must_use]
    pub fn pace(&self) -> &Pace {
        &self.pace
    }

    /// Flows that have sent data, in no order; closed ones for [`CLOSED_NS`].
    pub fn flows(&self) -> impl Iterator<Item = &Flow> {
        self.flows.values().filter(|flow| flow.has_sent())
    }

    /// Open flows that have sent nothing.
    #[must_use]
    pub fn receivers(&self) -> usize {
        self.flows.values().filter(|flow| !flow.has_sent() && !flow.is_closed()).count()
    }

    /// A flow, while it is remembered.
    #[must_use]
    pub fn flow(&self, key: FlowKey) -> Option<&Flow> {
        self.flows.get(&key)
    }

    /// Cgroups by id, in no order.
    pub fn cgroups(&self) -> impl Iterator<Item = (u64, &Group)> {
        self.cgroups.iter().map(|(id, group)| (*id, group))
    }

    /// Algorithms by kernel name, NUL-padded, in no order.
    pub fn algorithms(&self) -> impl Iterator<Item = (&[u8; NAME_LEN], &Group)> {
        self.algorithms.iter()
    }

    /// Flows that found no room lately: they are in no figure.
    #[must_use]
    pub fn no_room(&self) -> usize {
        self.no_room
    }

    fn take(&mut self, row: &Sample) {
        let key = key_of(row);
        let step = match self.flows.get_mut(&key) {
            // A socket may be opened again; anything else after its end, or before its last row, is out of order.
            Some(flow) if row.event != EVENT_OPEN => {
                if flow.is_closed() || row.time_ns < flow.last.time_ns {
                    return;
                }
                flow.take(&self.pace, row)
            }
            Some(flow) => {
                let (begun, step) = Flow::begin(&self.pace, row);
                *flow = begun;
                step
            }
            None => {
                if !self.has_room(row.time_ns) {
                    self.turn_away(key);
                    return;
                }
                let (flow, step) = Flow::begin(&self.pace, row);
                self.flows.insert(key, flow);
                step
            }
        };
        if row.event == EVENT_CLOSE {
            self.closed.push_back(key);
        }
        self.add_to_groups(row, &step);
    }

    fn add_to_groups(&mut self, row: &Sample, step: &Step) {
        // Until it sends, a socket has run no algorithm, and may still have the host's default.
        if row.bytes_sent == 0 {
            return;
        }
        group(&mut self.cgroups, row.cgroup_id, &self.pace).add(&self.pace, row.time_ns, step);
        group(&mut self.algorithms, step.algorithm, &self.pace).add(&self.pace, row.time_ns, step);
    }

    /// Makes room when there is none: closed flows go first, the oldest of them, then those that have long been silent.
    fn has_room(&mut self, now_ns: u64) -> bool {
        while self.flows.len() >= MAX_FLOWS && self.forget_oldest_closed() {}
        // The search goes over all flows, so it is not done for every newcomer.
        if self.flows.len() >= MAX_FLOWS && now_ns.saturating_sub(self.spared_ns) >= self.pace.point_ns() {
            self.spared_ns = now_ns;
            self.flows.retain(|_, flow| flow.silent_ns(now_ns) < SPARE_NS);
        }
        self.flows.len() < MAX_FLOWS
    }

    fn turn_away(&mut self, key: FlowKey) {
        if self.turned_away.len() < MAX_TURNED_AWAY {
            self.turned_away.insert(key);
        }
    }

    /// Whether there was one.
    fn forget_oldest_closed(&mut self) -> bool {
        let Some(key) = self.closed.pop_front() else { return false };
        // It may have been opened again.
        if self.flows.get(&key).is_some_and(Flow::is_closed) {
            self.flows.remove(&key);
        }
        true
    }

    fn forget(&mut self, now_ns: u64) {
        let is_over = |flow: Option<&Flow>| flow.is_none_or(|f| !f.is_closed() || f.silent_ns(now_ns) >= CLOSED_NS);
        while self.closed.front().is_some_and(|key| is_over(self.flows.get(key))) {
            self.forget_oldest_closed();
        }
        self.flows.retain(|_, flow| flow.silent_ns(now_ns) < SILENT_NS);
        let is_silent = |touched_ns: u64| now_ns.saturating_sub(touched_ns) >= SILENT_NS;
        self.cgroups.retain(|_, group| group.live().flows > 0 || !is_silent(group.touched_ns));
        self.algorithms.retain(|_, group| group.live().flows > 0 || !is_silent(group.touched_ns));
    }

    /// Looks at all open flows for what groups have of them.
    fn look(&mut self) {
        let mut cgroups: HashMap<u64, Live> = HashMap::new();
        let mut algorithms: HashMap<[u8; NAME_LEN], Live> = HashMap::new();
        for flow in self.flows.values().filter(|flow| flow.has_sent() && !flow.is_closed()) {
            cgroups.entry(flow.last.cgroup_id).or_default().add(flow);
            algorithms.entry(flow.last.algorithm).or_default().add(flow);
        }
        self.cgroups.iter_mut().for_each(|(id, group)| group.set_live(cgroups.remove(id).unwrap_or_default()));
        self.algorithms
            .iter_mut()
            .for_each(|(name, group)| group.set_live(algorithms.remove(name).unwrap_or_default()));
    }

    fn mark(&mut self, now_ns: u64) {
        for flow in self.flows.values_mut().filter(|flow| !flow.is_closed()) {
            flow.mark(&self.pace, now_ns);
        }
        self.cgroups.values_mut().for_each(|group| group.mark(&self.pace, now_ns));
        self.algorithms.values_mut().for_each(|group| group.mark(&self.pace, now_ns));
    }
}

/// The group of a key; when there are too many, the one that has been silent for longest makes room.
fn group<'a, K: Copy + Eq + Hash>(groups: &'a mut HashMap<K, Group>, key: K, pace: &Pace) -> &'a mut Group {
    if groups.len() >= MAX_GROUPS && !groups.contains_key(&key) {
        let oldest = groups.iter().min_by_key(|(_, group)| group.touched_ns).map(|(key, _)| *key);
        oldest.into_iter().for_each(|key| {
            groups.remove(&key);
        });
    }
    groups.entry(key).or_insert_with(|| Group::new(pace))
}
