//! Every suite has a row here.

use super::Suite;
use super::{
    aca_cwnd, aca_delivered, aca_estimator, aca_fairness, aca_friendliness, aca_loss, aca_rtt, aca_throughput, aqm,
    bufferbloat, fbbrv2_beside, fbbrv2_rtprop, fbbrv2_single, fbbrv2_staggered, fbbrv2_timeline, fbbrv2_vs_cubic,
    interaction_late_joiner, interaction_pairs, interaction_rtt, interaction_single, p4, rivals, rmem_sweep,
    wmem_sweep,
};

/// All of them, in the order of the experiments.
pub const SUITES: &[&Suite] = &[
    &interaction_single::SUITE,
    &interaction_pairs::SUITE,
    &interaction_rtt::SUITE,
    &interaction_late_joiner::SUITE,
    &fbbrv2_timeline::SUITE,
    &fbbrv2_rtprop::SUITE,
    &fbbrv2_single::SUITE,
    &fbbrv2_vs_cubic::SUITE,
    &fbbrv2_beside::SUITE,
    &fbbrv2_staggered::SUITE,
    &aca_estimator::SUITE,
    &aca_cwnd::SUITE,
    &aca_delivered::SUITE,
    &aca_loss::SUITE,
    &aca_fairness::SUITE,
    &aca_throughput::SUITE,
    &aca_rtt::SUITE,
    &aca_friendliness::SUITE,
    &bufferbloat::SUITE,
    &rmem_sweep::SUITE,
    &wmem_sweep::SUITE,
    &aqm::SUITE,
    &rivals::SUITE,
    &p4::DOWNLOAD,
    &p4::UPLOAD,
];

/// Looks one up; scenarios of a user have the tables of [`PLAIN`](super::PLAIN).
#[must_use]
pub fn by_name(name: &str) -> Option<&'static Suite> {
    SUITES.iter().copied().find(|suite| suite.name == name)
}
