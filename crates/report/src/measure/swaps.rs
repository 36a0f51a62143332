//! What a change of algorithm did to its flow: the second before, the second after, and the socket's state around it.
//!
//! A row shows what the ACK before it left behind. So the last row with the old algorithm is the state just before the
//! change, and the first row with the new one the state just after it, before the new algorithm has seen an ACK. Steps
//! lie on one side of a change, as it happens at a row.

use std::collections::{BTreeMap, HashMap};

use polars::prelude::*;

use super::changes::{Change, changed};
use crate::columns::{FlowKey, counts, flow_keys, i64s};

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
    pub cwnd_pkts: Option<u64>,
    /// Slow-start threshold.
    pub ssthresh_pkts: Option<u64>,
    /// Pacing rate.
    pub pacing_rate_bps: Option<u64>,
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
    flows: BTreeMap<FlowKey, Follower>,
}

impl Swaps {
    /// For changes that are known from an earlier pass over the same rows.
    pub fn new(changes: impl IntoIterator<Item = Change>) -> Swaps {
        let mut flows: BTreeMap<FlowKey, Follower> = BTreeMap::new();
        for change in changes {
            flows.entry(change.flow).or_default().swaps.push(Swap {
                change,
                before: Side::default(),
                after: Side::default(),
                lowest_pkts: None,
                state_before: State::default(),
                state_after: State::default(),
                state_later: None,
            });
        }
        Swaps { flows }
    }

    /// Whether there is nothing to follow.
    pub fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }

    /// Takes a batch of steps in.
    pub fn push(&mut self, steps: &DataFrame) -> PolarsResult<()> {
        let marked = steps.clone().lazy().with_column(changed().cast(DataType::Int64).alias("changed")).collect()?;
        let keys = flow_keys(&marked)?;
        let (times, previous) = (counts(&marked, "t_us")?, i64s(&marked, "prev_t_us")?);
        let (delivered, retrans) = (counts(&marked, "d_delivered_pkts")?, counts(&marked, "d_retrans_pkts")?);
        let (rtt, changed) = (i64s(&marked, "rtt_us")?, counts(&marked, "changed")?);
        let [cwnd, ssthresh, pacing] =
            ["cwnd_pkts", "ssthresh_pkts", "pacing_rate_bps"].map(|column| i64s(&marked, column));
        let (cwnd, ssthresh, pacing) = (cwnd?, ssthresh?, pacing?);
        let known = |value: Option<i64>| value.and_then(|value| u64::try_from(value).ok());
        for (i, key) in keys.iter().enumerate() {
            let Some(flow) = self.flows.get_mut(key) else { continue };
            flow.step(&Step {
                from_us: known(previous[i]),
                to_us: times[i],
                delivered_pkts: delivered[i],
                retrans_pkts: retrans[i],
                rtt_us: known(rtt[i]),
                changed: changed[i] == 1,
                state: State {
                    cwnd_pkts: known(cwnd[i]),
                    ssthresh_pkts: known(ssthresh[i]),
                    pacing_rate_bps: known(pacing[i]),
                },
            });
        }
        Ok(())
    }

    /// The changes of each flow in the order of time.
    pub fn finish(self) -> HashMap<FlowKey, Vec<Swap>> {
        self.flows.into_iter().map(|(key, flow)| (key, flow.finish())).collect()
    }
}

/// From one row of a flow to the next.
struct Step {
    /// `None` for the first row.
    from_us: Option<u64>,
    to_us: u64,
    delivered_pkts: u64,
    retrans_pkts: u64,
    /// Latest sample; a new one only when packets were delivered.
    rtt_us: Option<u64>,
    /// The later row is the first with another algorithm.
    changed: bool,
    state: State,
}

impl Step {
    /// Packets delivered between two times, as if at a steady rate during the step.
    fn delivered_between(&self, from_us: u64, to_us: u64) -> f64 {
        let Some(start_us) = self.from_us else { return 0.0 };
        let pkts = self.delivered_pkts as f64;
        if start_us >= self.to_us {
            // Two rows at one time.
            let is_inside = (from_us..=to_us).contains(&self.to_us);
            return if is_inside { pkts } else { 0.0 };
        }
        let inside_us = to_us.min(self.to_us).saturating_sub(from_us.max(start_us));
        pkts * inside_us as f64 / (self.to_us - start_us) as f64
    }
}

impl Side {
    fn add(&mut self, step: &Step, from_us: u64, to_us: u64) {
        self.delivered_pkts += step.delivered_between(from_us, to_us);
        if !(step.to_us > from_us && step.to_us <= to_us) {
            return;
        }
        self.rows += 1;
        self.retrans_pkts += step.retrans_pkts;
        if let Some(rtt_us) = step.rtt_us.filter(|_| step.delivered_pkts > 0) {
            self.rtt_sum_us += rtt_us;
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
    last_us: u64,
    last_state: State,
    /// Time from the last change to its [`Swap::state_later`].
    rtt_us: u64,
    /// Packets delivered after the last change, by [`BIN_US`].
    bins: Vec<f64>,
}

impl Follower {
    fn step(&mut self, step: &Step) {
        self.first_us.get_or_insert(step.to_us);
        self.add_after(step);
        self.add_before(step);
        self.last_us = step.to_us;
        if step.changed && self.happened < self.swaps.len() {
            self.close_after();
            let swap = &mut self.swaps[self.happened];
            swap.state_before = self.last_state;
            swap.state_after = step.state;
            self.rtt_us = step.rtt_us.unwrap_or(0);
            self.happened += 1;
        }
        self.last_state = step.state;
    }

    fn add_before(&mut self, step: &Step) {
        let previous_us = self.happened.checked_sub(1).map(|i| self.swaps[i].change.at_us);
        let Some(next) = self.swaps.get_mut(self.happened) else { return };
        let at_us = next.change.at_us;
        let from_us = at_us.saturating_sub(SIDE_US).max(previous_us.or(self.first_us).unwrap_or(0));
        next.before.span_us = at_us.saturating_sub(from_us);
        next.before.add(step, from_us, at_us);
    }

    fn add_after(&mut self, step: &Step) {
        let Some(swap) = self.happened.checked_sub(1).map(|i| &mut self.swaps[i]) else { return };
        let at_us = swap.change.at_us;
        let end_us = at_us + SIDE_US;
        swap.after.add(step, at_us, end_us);
        swap.after.span_us = step.to_us.min(end_us).saturating_sub(at_us);
        if swap.state_later.is_none() && !step.changed && step.to_us >= at_us + self.rtt_us {
            swap.state_later = Some(step.state);
        }
        let start_us = step.from_us.unwrap_or(step.to_us).clamp(at_us, end_us);
        let first = (start_us - at_us) / BIN_US;
        let last = (step.to_us.clamp(at_us, end_us) - at_us) / BIN_US;
        for bin in first..=last.min(SIDE_US / BIN_US - 1) {
            let from_us = at_us + bin * BIN_US;
            let bin = bin as usize;
            if self.bins.len() <= bin {
                self.bins.resize(bin + 1, 0.0);
            }
            self.bins[bin] += step.delivered_between(from_us, from_us + BIN_US);
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
        let step = |from_us, to_us| Step {
            from_us,
            to_us,
            delivered_pkts: 8,
            retrans_pkts: 0,
            rtt_us: None,
            changed: false,
            state: State::default(),
        };
        assert_eq!(step(Some(100), 200).delivered_between(150, 400), 4.0);
        assert_eq!(step(Some(100), 200).delivered_between(200, 400), 0.0);
        assert_eq!(step(Some(100), 100).delivered_between(50, 100), 8.0);
        assert_eq!(step(None, 100).delivered_between(50, 100), 0.0);
    }
}
