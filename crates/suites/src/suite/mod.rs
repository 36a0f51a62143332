//! Every suite: one file, and one row of `all.rs`.

mod aca_cwnd;
mod aca_delivered;
mod aca_estimator;
mod aca_fairness;
mod aca_friendliness;
mod aca_loss;
mod aca_rtt;
mod aca_throughput;
mod all;
mod aqm;
mod bufferbloat;
mod drawing;
mod fbbrv2_beside;
mod fbbrv2_rtprop;
mod fbbrv2_single;
mod fbbrv2_staggered;
mod fbbrv2_timeline;
mod fbbrv2_vs_cubic;
mod interaction_late_joiner;
mod interaction_pairs;
mod interaction_rtt;
mod interaction_single;
mod names;
mod p4;
mod paper;
mod plain;
mod rivals;
mod rmem_sweep;
mod wmem_sweep;

pub use all::{SUITES, by_name};
pub use drawing::{BarLine, Curve, Drawing, Kind, OfFlow, OverTime, distribution};
pub use paper::{in_full, papers};
pub use plain::PLAIN;

use crate::compare::Table;
use crate::results::{Results, Window};
use crate::verdict::Ordering;

/// An experiment of a paper: what is made of the results of a scenario's cells.
pub struct Suite {
    /// Name of the suite and of its scenario.
    pub name: &'static str,
    /// Number of the experiment, such as `E1`; empty for what no paper has measured.
    pub experiment: &'static str,
    /// Paper and table or figure.
    pub paper: &'static str,
    /// What a reader should look at, in one sentence.
    pub look_at: &'static str,
    /// Parts of a run that are looked at by themselves.
    pub windows: &'static [Window],
    /// The paper's tables.
    pub tables: fn(&Results) -> Vec<Table>,
    /// What a reproduction should show.
    pub orderings: &'static [Ordering],
    /// The paper's figures.
    pub figures: fn(&Results) -> Vec<Drawing>,
}
