//! What a change of algorithm did to its flow: the second before, the second after, and the socket's state around it.
//!
//! A row shows what the ACK before it left behind. So the last row with the old algorithm is the state just before the
//! change. The first row with the new one is the state just after it, before the new algorithm has seen an ACK. Steps
//! lie on one side of a change, as it happens at a row.

use super::changes::Change;
use crate::walk::{Counter, Row, Run, Step};
use ccactl_recording::Column;

/// The columns that this is made of.
pub const COLUMNS: [Column; 11] = [
    Column::TUs,
    Column::Netns,
    Column::FlowId,
    Column::Algorithm,
    Column::CwndPkts,
    Column::SsthreshPkts,
    Column::PacingRateBps,
    Column::RttUs,
    Column::BytesSent,
    Column::RetransPkts,
    Column::DeliveredPkts,
];

/// Length of each side, where no other change, no end and no beginning cuts it short.
pub const SIDE_US: u64 = 1_000_000;
/// Width of the window whose lowest rate makes the dip.
pub const DIP_WINDOW_US: u64 = 100_000;
/// The windows begin at multiples of this after the change.
const BIN_US: u64 = 10_000;
const WINDOW_BINS: usize = (DIP_WINDOW_US / BIN_US) as usize;

/// What a socket is allowed to send; `None` is unlimited or not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct State {
    /// Congestion window.
    pub cwnd_pkts: Option<u32>,
    /// Slow-start threshold.
    pub ssthresh_pkts: Option<u32>,
    /// Pacing rate.
    pub pacing_rate_bps: Option<u64>,
}

impl State {
    fn of(row: &Row) -> State {
        State { cwnd_pkts: row.cwnd_pkts, ssthresh_pkts: row.ssthresh_pkts, pacing_rate_bps: row.pacing_rate_bps }
    }
}

/// What happened on one side of a change.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Side {
    /// How much of [`SIDE_US`] there was.
    pub span_us: u64,
    /// Rows in it.
    pub rows: u64,
    /// Packets delivered; a step over the edge counts in proportion to time.
    pub delivered_pkts: f64,
    /// Packets retransmitted.
    pub retrans_pkts: u64,
    /// Sum of the RTT samples.
    pub rtt_sum_us: u64,
    /// Number of RTT samples.
    pub rtt_samples: u64,
}

/// One change and what is known about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Swap {
    /// When, from what, to what.
    pub change: Change,
    /// The second before.
    pub before: Side,
    /// The second after.
    pub after: Side,
    /// Packets delivered in the slowest window after the change; `None` when there was no whole window.
    pub lowest_pkts: Option<f64>,
    /// Last row with the old algorithm.
    pub state_before: State,
    /// First row with the new algorithm.
    pub state_after: State,
    /// First row that is at least one RTT after the change; `None` when the next change or the end came first.
    pub state_later: Option<State>,
}

/// Follows flows that change their algorithm through the rows, in order.
pub struct Swaps {
    /// One per flow, with or without changes.
    flows: Vec<Follower>,
}

impl Swaps {
    /// For the changes of each flow, which are known from an earlier walk over the same rows.
    pub fn new<'a>(changes: impl Iterator<Item = &'a [Change]>) -> Swaps {
        Swaps { flows: changes.map(Follower::new).collect() }
    }

    /// Whether there is nothing to follow.
    pub fn is_empty(&self) -> bool {
        self.flows.iter().all(|flow| flow.swaps.is_empty())
    }

    /// Takes rows in.
    pub fn add(&mut self, run: &Run<'_>) {
        if let Some(flow) = self.flows.get_mut(run.flow).filter(|flow| !flow.swaps.is_empty()) {
            run.steps(|step| flow.step(step));
        }
    }

    /// The changes of each flow in the order of time.
    pub fn finish(self) -> Vec<Vec<Swap>> {
        self.flows.into_iter().map(Follower::finish).collect()
    }
}

/// The changes among neighbouring rows of a flow, and what these rows say about them.
pub fn among(rows: &[Row]) -> Vec<Swap> {
    let steps = || rows.iter().enumerate().map(|(i, row)| Step { previous: i.checked_sub(1).map(|i| &rows[i]), row });
    let change =
        |step: Step<'_>| Some(Change { at_us: step.row.t_us, from: step.changed_from()?, to: step.row.algorithm });
    let changes: Vec<Change> = steps().filter_map(change).collect();
    let mut follower = Follower::new(&changes);
    steps().for_each(|step| follower.step(&step));
    follower.finish()
}

/// Packets delivered between two times, as if at a steady rate during the step.
fn delivered_between(step: &Step<'_>, from_us: u64, to_us: u64) -> f64 {
    let Some(previous) = step.previous else { return 0.0 };
    let pkts = step.increase(Counter::DeliveredPkts) as f64;
    let (start_us, end_us) = (previous.t_us, step.row.t_us);
    if start_us >= end_us {
        // Two rows at one time.
        let is_inside = (from_us..=to_us).contains(&end_us);
        return if is_inside { pkts } else { 0.0 };
    }
    let inside_us = to_us.min(end_us).saturating_sub(from_us.max(start_us));
    pkts * inside_us as f64 / (end_us - start_us) as f64
}

impl Side {
    fn add(&mut self, step: &Step<'_>, from_us: u64, to_us: u64) {
        self.delivered_pkts += delivered_between(step, from_us, to_us);
        if !(step.row.t_us > from_us && step.row.t_us <= to_us) {
            return;
        }
        self.rows += 1;
        self.retrans_pkts += step.increase(Counter::RetransPkts);
        if let Some(rtt_us) = step.rtt_sample_us() {
            self.rtt_sum_us += u64::from(rtt_us);
            self.rtt_samples += 1;
        }
    }
}

/// One flow on its way through its changes.
#[derive(Default)]
struct Follower {
    swaps: Vec<Swap>,
    /// How many of them have happened.
    happened: usize,
    first_us: Option<u64>,
    last_state: State,
    /// Time from the last change to its [`Swap::state_later`].
    rtt_us: u64,
    /// Packets delivered after the last change, by [`BIN_US`].
    bins: Vec<f64>,
}

impl Follower {
    fn new(changes: &[Change]) -> Follower {
        let swap = |change: &Change| Swap {
            change: *change,
            before: Side::default(),
            after: Side::default(),
            lowest_pkts: None,
            state_before: State::default(),
            state_after: State::default(),
            state_later: None,
        };
        Follower { swaps: changes.iter().map(swap).collect(), ..Follower::default() }
    }

    fn step(&mut self, step: &Step<'_>) {
        let t_us = step.row.t_us;
        let changed = step.changed_from().is_some() && self.happened < self.swaps.len();
        self.first_us.get_or_insert(t_us);
        self.add_after(step, changed);
        self.add_before(step);
        if changed {
            self.close_after();
            let swap = &mut self.swaps[self.happened];
            swap.state_before = self.last_state;
            swap.state_after = State::of(step.row);
            self.rtt_us = step.row.rtt_us.unwrap_or(0).into();
            self.happened += 1;
        }
        self.last_state = State::of(step.row);
    }

    fn add_before(&mut self, step: &Step<'_>) {
        let previous_us = self.happened.checked_sub(1).map(|i| self.swaps[i].change.at_us);
        let Some(next) = self.swaps.get_mut(self.happened) else { return };
        let at_us = next.change.at_us;
        let from_us = at_us.saturating_sub(SIDE_US).max(previous_us.or(self.first_us).unwrap_or(0));
        next.before.span_us = at_us.saturating_sub(from_us);
        next.before.add(step, from_us, at_us);
    }

    fn add_after(&mut self, step: &Step<'_>, changed: bool) {
        let Some(swap) = self.happened.checked_sub(1).map(|i| &mut self.swaps[i]) else { return };
        let (at_us, t_us) = (swap.change.at_us, step.row.t_us);
        let end_us = at_us + SIDE_US;
        swap.after.add(step, at_us, end_us);
        swap.after.span_us = t_us.min(end_us).saturating_sub(at_us);
        if swap.state_later.is_none() && !changed && t_us >= at_us + self.rtt_us {
            swap.state_later = Some(State::of(step.row));
        }
        let start_us = step.previous.map_or(t_us, |previous| previous.t_us).clamp(at_us, end_us);
        let first = (start_us - at_us) / BIN_US;
        let last = (t_us.clamp(at_us, end_us) - at_us) / BIN_US;
        for bin in first..=last.min(SIDE_US / BIN_US - 1) {
            let from_us = at_us + bin * BIN_US;
            let bin = bin as usize;
            if self.bins.len() <= bin {
                self.bins.resize(bin + 1, 0.0);
            }
            self.bins[bin] += delivered_between(step, from_us, from_us + BIN_US);
        }
    }

    /// The last change has seen all that it will.
    fn close_after(&mut self) {
        if let Some(i) = self.happened.checked_sub(1) {
            let swap = &mut self.swaps[i];
            let whole_bins = (swap.after.span_us / BIN_US) as usize;
            self.bins.resize(whole_bins, 0.0);
            swap.lowest_pkts = lowest(&self.bins);
        }
        self.bins.clear();
    }

    fn finish(mut self) -> Vec<Swap> {
        self.close_after();
        // A change that the second pass did not meet says nothing.
        self.swaps.truncate(self.happened);
        self.swaps
    }
}

/// Smallest sum of [`WINDOW_BINS`] neighbours.
fn lowest(bins: &[f64]) -> Option<f64> {
    bins.windows(WINDOW_BINS).map(|window| window.iter().sum()).min_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_window_may_begin_at_any_bin() {
        let mut bins = vec![1.0; 30];
        bins[7..17].fill(0.25);
        assert_eq!(lowest(&bins), Some(2.5));
        assert_eq!(lowest(&bins[..9]), None);
    }

    #[test]
    fn a_step_counts_in_proportion_to_time() {
        let row = |t_us, delivered| Row::delivered(t_us, delivered);
        let between = |previous: Option<&Row>, row: &Row, from_us, to_us| {
            delivered_between(&Step { previous, row }, from_us, to_us)
        };
        let (first, last) = (row(100, 0), row(200, 8));
        assert_eq!(between(Some(&first), &last, 150, 400), 4.0);
        assert_eq!(between(Some(&first), &last, 200, 400), 0.0);
        assert_eq!(between(Some(&first), &row(100, 8), 50, 100), 8.0);
        assert_eq!(between(None, &last, 50, 200), 0.0);
    }
}
