//! Everything that is shown of one moment.

use super::flow_row::FlowRow;
use super::group_row::GroupRow;
use crate::live::board::Board;
use crate::live::labels::Labels;
use ccactl_abi::layout::name_str;
use ccactl_collector::Drops;
use serde::Serialize;

/// How the figures come about, and how complete they are.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Status {
    /// `uname -r`
    pub kernel: String,
    /// How often a socket is sampled.
    pub every: String,
    /// Window of the figures.
    pub interval_s: f64,
    /// Which sockets are looked at; empty: all of the host.
    pub filter: String,
    /// Since the attachment.
    pub elapsed_s: f64,
    /// Rows taken so far.
    pub rows: u64,
    /// Rows per second now.
    pub rows_per_s: f64,
    /// Rows that were lost so far, by reason.
    pub drops: Drops,
}

/// All rows of one moment.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Snapshot {
    /// How the figures come about.
    #[serde(flatten)]
    pub status: Status,
    /// Open flows that have sent nothing; of these there are no figures.
    pub receivers: usize,
    /// Flows that found no room; they are in no figure.
    pub flows_without_room: usize,
    /// By cgroup.
    pub cgroups: Vec<GroupRow>,
    /// By algorithm.
    pub algorithms: Vec<GroupRow>,
    /// Flow by flow, the closed ones of the last seconds included.
    pub flows: Vec<FlowRow>,
}

impl Snapshot {
    /// What a board has at this moment.
    #[must_use]
    pub fn take(board: &Board, labels: &Labels, status: Status, now_ns: u64) -> Snapshot {
        let pace = board.pace();
        let mut snapshot = Snapshot {
            status,
            receivers: board.receivers(),
            flows_without_room: board.no_room(),
            cgroups: board.cgroups().map(|(id, group)| GroupRow::cgroup(id, group, labels, pace, now_ns)).collect(),
            algorithms: board
                .algorithms()
                .map(|(name, group)| GroupRow::algorithm(name_str(name), group, labels, pace, now_ns))
                .collect(),
            flows: board.flows().map(|flow| FlowRow::new(flow, labels, pace, now_ns)).collect(),
        };
        // The board has no order of its own; equal rows are not to change places from one look to the next.
        snapshot.cgroups.sort_by(|a, b| a.name.cmp(&b.name));
        snapshot.algorithms.sort_by(|a, b| a.name.cmp(&b.name));
        snapshot.flows.sort_by_key(FlowRow::key);
        snapshot
    }

    /// Open flows.
    #[must_use]
    pub fn open_flows(&self) -> usize {
        self.flows.iter().filter(|flow| !flow.is_closed).count()
    }
}
