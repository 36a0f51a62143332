//! Which row belongs to whom: per flow the step from its last row, per group the sum of the steps.
//!
//! The rules that keep the two groups comparable:
//!  - counts begin with the watch: the first row of a flow is its zero, and only a flow that is opened during the watch
//!    begins at nothing;
//!  - a step belongs to the algorithm that the flow had at *both* of its rows; the step in which a flow changes belongs to
//!    nobody, as nobody knows how much of it is whose;
//!  - a flow counts only on the side that its share says. One may have kept its algorithm though it is in the share: its
//!    application or its route chose, or it could not be moved. Counted, it would make the baseline a selection;
//!  - a flow that had sent nothing before it changed has run nothing, so it begins in its new group from nothing.

use crate::rollout::chance::Units;
use crate::rollout::share::{Share, hash};
use crate::rollout::tally::{Sums, Tally};
use ccactl_abi::layout::{EVENT_CLOSE, EVENT_OPEN, Sample, name_str};
use serde::Serialize;
use std::collections::{HashMap, HashSet};

/// The two sides of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Group {
    /// Sockets of the share, with the new algorithm.
    Canary,
    /// All others, with the present one.
    Baseline,
}

/// Which sockets are part of the comparison.
#[derive(Debug, Clone)]
pub struct Membership {
    /// Kernel name of the canary; that of the baseline where nothing has moved yet.
    pub canary: String,
    /// Kernel name of the baseline.
    pub baseline: String,
    /// Who is to have which.
    pub share: Share,
    /// cgroups whose sockets the policy decides about: without those that have a policy of their own.
    pub cgroups: HashSet<u64>,
    /// Cookies of sockets that keep what they have, whatever the policy says: chosen by the application, or by the route.
    pub fixed: HashSet<u64>,
}

/// Rows that belong to neither group, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Ignored {
    /// Rows of another algorithm.
    pub other_algorithm_rows: u64,
    /// Rows of cgroups with a policy of their own, or that were made after the last look at the tree.
    pub other_cgroup_rows: u64,
    /// Rows of sockets that keep their algorithm whatever the policy says.
    pub fixed_socket_rows: u64,
    /// Rows of sockets on the other side than the one that the share says.
    pub other_side_rows: u64,
    /// Flows that were there before the watch and whose only row in it is that of their end.
    pub only_closed_flows: u64,
    /// Times at which a flow with data changed its algorithm; it then begins anew.
    pub changes: u64,
}

/// The sums of both groups, fed row by row.
#[derive(Debug)]
pub struct Groups {
    membership: Membership,
    /// Monotonic clock; rows before it are not looked at.
    start_ns: u64,
    flows: HashMap<FlowKey, Flow>,
    /// Of the canary and of the baseline.
    tallies: [Tally; 2],
    units: [Units; 2],
    ignored: Ignored,
}

/// Cookie and network namespace.
type FlowKey = (u64, u32);

/// What is remembered of a live flow.
#[derive(Debug)]
struct Flow {
    /// Of its last row; `None` with another algorithm.
    group: Option<Group>,
    last: Row,
    /// Since its last progress, or since it began in its group.
    silent_ns: u64,
    /// What it has done in the canary and in the baseline.
    goodput: [Goodput; 2],
}

/// What a flow has brought over in a group.
#[derive(Debug, Clone, Copy, Default)]
struct Goodput {
    acked_bytes: u64,
    active_ns: u64,
    /// As it is counted; `None` for a flow that does not count yet.
    rate_bps: Option<u64>,
}

impl Goodput {
    fn rate_now(&self) -> u64 {
        (u128::from(self.acked_bytes) * 8_000_000_000 / u128::from(self.active_ns.max(1))) as u64
    }
}

/// The cumulative counters of a row, and the window that counts until the next row.
#[derive(Debug, Clone, Copy)]
struct Row {
    time_ns: u64,
    sent_bytes: u64,
    retrans_bytes: u64,
    acked_bytes: u64,
    lost_pkts: u32,
    delivered_pkts: u32,
    delivered_ce_pkts: u32,
    cwnd_pkts: u32,
}

impl From<&Sample> for Row {
    fn from(sample: &Sample) -> Row {
        Row {
            time_ns: sample.time_ns,
            sent_bytes: sample.bytes_sent,
            retrans_bytes: sample.bytes_retrans,
            acked_bytes: sample.bytes_acked,
            lost_pkts: sample.lost_pkts,
            delivered_pkts: sample.delivered_pkts,
            delivered_ce_pkts: sample.delivered_ce_pkts,
            cwnd_pkts: sample.cwnd_pkts,
        }
    }
}

impl Row {
    /// The same moment with every counter at nothing.
    fn zeroed(self) -> Row {
        let Row { time_ns, cwnd_pkts, .. } = self;
        Row {
            time_ns,
            cwnd_pkts,
            sent_bytes: 0,
            retrans_bytes: 0,
            acked_bytes: 0,
            lost_pkts: 0,
            delivered_pkts: 0,
            delivered_ce_pkts: 0,
        }
    }

    /// Whether the socket was disconnected and used again. Of the counters only this one never goes down otherwise:
    /// the kernel counts a retransmission that it could not send, and what is acknowledged is capped by that.
    fn was_reset_since(&self, last: &Row) -> bool {
        self.sent_bytes < last.sent_bytes
    }
}

impl Groups {
    /// Empty sums; rows count from `start_ns` (monotonic clock) on.
    #[must_use]
    pub fn new(membership: Membership, start_ns: u64) -> Groups {
        Groups {
            membership,
            start_ns,
            flows: HashMap::new(),
            tallies: Default::default(),
            units: Default::default(),
            ignored: Ignored::default(),
        }
    }

    /// Takes rows in, those of one flow in order of time.
    pub fn feed(&mut self, samples: &[Sample]) {
        for sample in samples {
            self.take(sample);
        }
    }

    /// Replaces the cgroups that count, after a look at the tree.
    pub fn set_cgroups(&mut self, cgroups: HashSet<u64>) {
        self.membership.cgroups = cgroups;
    }

    /// The sums of a group.
    #[must_use]
    pub fn tally(&self, group: Group) -> &Tally {
        &self.tallies[group as usize]
    }

    /// The flows of a group, in the pieces in which a hash has chosen them.
    pub(crate) fn units(&self, group: Group) -> &Units {
        &self.units[group as usize]
    }

    /// What was left out.
    #[must_use]
    pub fn ignored(&self) -> Ignored {
        self.ignored
    }

    fn take(&mut self, sample: &Sample) {
        if sample.time_ns < self.start_ns {
            return;
        }
        if !self.membership.cgroups.contains(&sample.cgroup_id) {
            self.ignored.other_cgroup_rows += 1;
            return;
        }
        if self.membership.fixed.contains(&sample.flow_id) {
            self.ignored.fixed_socket_rows += 1;
            return;
        }
        let group = self.side_of(sample);
        let key = (sample.flow_id, sample.netns);
        if let Some(mut flow) = self.flows.remove(&key) {
            self.step(&mut flow, sample, group);
            if sample.event != EVENT_CLOSE {
                self.flows.insert(key, flow);
            }
        } else if sample.event == EVENT_CLOSE {
            self.ignored.only_closed_flows += u64::from(group.is_some() && sample.bytes_sent > 0);
        } else {
            let row = Row::from(sample);
            let last = if sample.event == EVENT_OPEN { row.zeroed() } else { row };
            self.flows.insert(key, Flow { group, last, silent_ns: 0, goodput: Default::default() });
        }
        match group {
            Some(group) => self.tallies[group as usize].sums.rows += 1,
            // A socket that is being opened has the host's default until the policy acts.
            None if sample.event == EVENT_OPEN => {}
            None if self.is_of_either(sample) => self.ignored.other_side_rows += 1,
            None => self.ignored.other_algorithm_rows += 1,
        }
    }

    /// The group of a row's algorithm, if that is the one that the socket is to have.
    fn side_of(&self, sample: &Sample) -> Option<Group> {
        let membership = &self.membership;
        let (group, algorithm) = if membership.share.covers(sample.flow_id) {
            (Group::Canary, &membership.canary)
        } else {
            (Group::Baseline, &membership.baseline)
        };
        (name_str(&sample.algorithm) == *algorithm).then_some(group)
    }

    fn is_of_either(&self, sample: &Sample) -> bool {
        let algorithm = name_str(&sample.algorithm);
        algorithm == self.membership.canary || algorithm == self.membership.baseline
    }

    /// From the last row of a flow to this one.
    fn step(&mut self, flow: &mut Flow, sample: &Sample, group: Option<Group>) {
        let row = Row::from(sample);
        if row.time_ns < flow.last.time_ns {
            return;
        }
        if group != flow.group {
            if flow.last.sent_bytes > 0 {
                self.ignored.changes += 1;
                *flow = Flow { group, last: row, silent_ns: 0, goodput: flow.goodput };
                return;
            }
            flow.group = group;
        }
        let last = if row.was_reset_since(&flow.last) { flow.last.zeroed() } else { flow.last };
        flow.last = row;
        let Some(group) = group else { return };

        let step_ns = row.time_ns - last.time_ns;
        let mut step = Sums {
            sent_bytes: row.sent_bytes - last.sent_bytes,
            acked_bytes: row.acked_bytes.saturating_sub(last.acked_bytes),
            retrans_bytes: row.retrans_bytes.saturating_sub(last.retrans_bytes),
            lost_pkts: u64::from(row.lost_pkts.wrapping_sub(last.lost_pkts)),
            delivered_pkts: u64::from(row.delivered_pkts.wrapping_sub(last.delivered_pkts)),
            delivered_ce_pkts: u64::from(row.delivered_ce_pkts.wrapping_sub(last.delivered_ce_pkts)),
            time_ns: step_ns,
            cwnd_pkts_ns: f64::from(last.cwnd_pkts) * step_ns as f64,
            ..Sums::default()
        };
        let (tally, unit) =
            (&mut self.tallies[group as usize], self.units[group as usize].of_mut(hash(sample.flow_id)));
        flow.silent_ns += step_ns;
        if step.sent_bytes > 0 || step.acked_bytes > 0 {
            step.active_ns = std::mem::take(&mut flow.silent_ns);
            let goodput = &mut flow.goodput[group as usize];
            goodput.acked_bytes += step.acked_bytes;
            goodput.active_ns += step.active_ns;
            step.flows = u64::from(goodput.rate_bps.is_none());
            let (before, now) = (goodput.rate_bps, goodput.rate_now());
            goodput.rate_bps = Some(now);
            for rates in [&mut tally.rates_bps, &mut unit.rates_bps] {
                before.into_iter().for_each(|rate| rates.remove(rate));
                rates.add(now);
            }
        }
        // The kernel keeps its latest sample: without a delivery it is the one that was counted before.
        if step.delivered_pkts > 0 && sample.rtt_us > 0 {
            tally.rtt.add(sample.rtt_us);
            unit.rtt_us.add(u64::from(sample.rtt_us));
            unit.rtt_sum_us += u64::from(sample.rtt_us);
        }
        tally.sums += step;
        unit.sums += step;
    }
}
