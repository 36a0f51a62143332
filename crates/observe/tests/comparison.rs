//! Rows in, figures and verdicts out: both groups are measured by the same rules, and nothing is counted twice.

use bytemuck::Zeroable;
use ccactl_abi::layout::{EVENT_CLOSE, EVENT_OPEN, EVENT_SAMPLE, Sample, name_bytes};
use ccactl_observe::rollout::{
    CONSECUTIVE, Group, Groups, Ignored, Judge, Membership, Metric, Share, State, early_end,
};
use std::collections::HashSet;

const CGROUP: u64 = 42;
const SHARE: &str = "50%";
const SECOND: u64 = 1_000_000_000;
/// Rows before it do not count.
const START: u64 = 10 * SECOND;

fn share() -> Share {
    SHARE.parse().unwrap()
}

/// The `n`th cookie of a group.
fn cookie(group: Group, n: usize) -> u64 {
    let wanted = group == Group::Canary;
    (1..).filter(|cookie| share().covers(*cookie) == wanted).nth(n).unwrap()
}

fn groups() -> Groups {
    let membership = Membership {
        canary: "new".to_owned(),
        baseline: "old".to_owned(),
        share: share(),
        cgroups: HashSet::from([CGROUP]),
        fixed: HashSet::new(),
    };
    Groups::new(membership, START)
}

/// A row of the `n`th flow of a group, `at` after the start of the watch.
fn row(group: Group, n: usize, at_ns: u64) -> Sample {
    let algorithm = if group == Group::Canary { "new" } else { "old" };
    Sample {
        time_ns: START + at_ns,
        flow_id: cookie(group, n),
        cgroup_id: CGROUP,
        algorithm: name_bytes(algorithm).unwrap(),
        event: EVENT_SAMPLE,
        ..Sample::zeroed()
    }
}

/// Counters of a row: sent, of those retransmitted, acknowledged, in thousands of bytes and as many packets.
fn counted(sample: Sample, sent: u64, retrans: u64, acked: u64) -> Sample {
    Sample {
        bytes_sent: sent * 1000,
        bytes_retrans: retrans * 1000,
        bytes_acked: acked * 1000,
        delivered_pkts: acked as u32,
        lost_pkts: retrans as u32,
        rtt_us: 20_000,
        cwnd_pkts: 10,
        ..sample
    }
}

#[test]
fn what_a_flow_did_before_the_watch_does_not_count() {
    let mut groups = groups();
    let flow = |at_ns| row(Group::Baseline, 0, at_ns);
    let early = Sample { time_ns: START - 1, ..counted(flow(0), 100, 50, 40) };
    groups.feed(&[early, counted(flow(0), 1000, 500, 400), counted(flow(SECOND), 1010, 501, 408)]);
    let tally = groups.tally(Group::Baseline);
    assert_eq!((tally.sent_bytes, tally.retrans_bytes, tally.acked_bytes), (10_000, 1_000, 8_000));
    assert_eq!((tally.flows, tally.rows, tally.active_ns), (1, 2, SECOND));
    assert_eq!(Metric::RetransmitRate.of(tally), Some(0.1));
    assert_eq!(Metric::LossRate.of(tally), Some(1.0 / 9.0));
    assert_eq!(Metric::Goodput.of(tally), Some(64_000.0));
    assert_eq!(Metric::Throughput.of(tally), Some(80_000.0));
    assert_eq!(Metric::MeanRtt.of(tally), Some(20_000.0));
    assert_eq!(Metric::MeanCwnd.of(tally), Some(10.0));
    assert_eq!(groups.tally(Group::Canary).flows, 0);
    assert_eq!(Metric::P95Rtt.of(groups.tally(Group::Canary)), None);
}

#[test]
fn a_flow_that_is_opened_during_the_watch_counts_from_its_first_byte_to_its_last() {
    let mut groups = groups();
    let flow = |at_ns| row(Group::Canary, 0, at_ns);
    // Until the policy acts, a socket that is being opened has the host's default.
    let open = Sample { event: EVENT_OPEN, algorithm: name_bytes("other").unwrap(), ..flow(0) };
    let close = Sample { event: EVENT_CLOSE, ..counted(flow(3 * SECOND), 30, 3, 27) };
    groups.feed(&[open, counted(flow(SECOND), 10, 0, 5), close]);
    let tally = groups.tally(Group::Canary);
    assert_eq!((tally.sent_bytes, tally.retrans_bytes, tally.acked_bytes), (30_000, 3_000, 27_000));
    assert_eq!((tally.flows, tally.rows, tally.active_ns), (1, 2, 3 * SECOND));
    assert_eq!(groups.ignored(), Ignored::default());
}

#[test]
fn of_a_flow_whose_only_row_is_its_end_nothing_is_known() {
    let mut groups = groups();
    let close = Sample { event: EVENT_CLOSE, ..counted(row(Group::Canary, 0, 0), 30, 3, 27) };
    groups.feed(&[close]);
    assert_eq!((groups.tally(Group::Canary).sent_bytes, groups.tally(Group::Canary).flows), (0, 0));
    assert_eq!(groups.ignored().only_closed_flows, 1);
}

#[test]
fn the_step_in_which_a_flow_changes_belongs_to_nobody() {
    let mut groups = groups();
    let canary = |at_ns| row(Group::Canary, 0, at_ns);
    let before = |sample: Sample| Sample { algorithm: name_bytes("old").unwrap(), ..sample };
    groups.feed(&[
        before(counted(canary(0), 100, 0, 100)),
        before(counted(canary(SECOND), 200, 10, 190)),
        // Moved between these two rows.
        counted(canary(2 * SECOND), 300, 60, 240),
        counted(canary(3 * SECOND), 400, 61, 339),
    ]);
    let tally = groups.tally(Group::Canary);
    assert_eq!((tally.sent_bytes, tally.retrans_bytes, tally.acked_bytes), (100_000, 1_000, 99_000));
    assert_eq!(groups.ignored().changes, 1);
    // While it had the old algorithm it was in the share already, so it was no fair part of the baseline.
    assert_eq!((groups.tally(Group::Baseline).rows, groups.ignored().other_side_rows), (0, 2));
}

#[test]
fn rows_of_others_are_counted_and_left_out() {
    let mut groups = Groups::new(
        Membership {
            canary: "new".to_owned(),
            baseline: "old".to_owned(),
            share: share(),
            cgroups: HashSet::from([CGROUP]),
            fixed: HashSet::from([cookie(Group::Baseline, 7)]),
        },
        START,
    );
    let mut rows = Vec::new();
    for (at_ns, total) in [(0, 10), (SECOND, 20)] {
        let other_cgroup = Sample { cgroup_id: 43, ..row(Group::Canary, 0, at_ns) };
        let other_algorithm = Sample { algorithm: name_bytes("third").unwrap(), ..row(Group::Canary, 1, at_ns) };
        let fixed = row(Group::Baseline, 7, at_ns);
        let unmoved = Sample { algorithm: name_bytes("old").unwrap(), ..row(Group::Canary, 2, at_ns) };
        rows.extend([other_cgroup, other_algorithm, fixed, unmoved].map(|sample| counted(sample, total, 0, total)));
    }
    groups.feed(&rows);
    assert_eq!((groups.tally(Group::Canary).rows, groups.tally(Group::Baseline).rows), (0, 0));
    let expected = Ignored {
        other_algorithm_rows: 2,
        other_cgroup_rows: 2,
        fixed_socket_rows: 2,
        other_side_rows: 2,
        ..Ignored::default()
    };
    assert_eq!(groups.ignored(), expected);
}

#[test]
fn an_rtt_counts_once_and_a_silent_end_is_not_active_time() {
    let mut groups = groups();
    let flow = |at_ns| row(Group::Baseline, 0, at_ns);
    groups.feed(&[
        counted(flow(0), 10, 0, 10),
        counted(flow(SECOND), 20, 0, 20),
        // A duplicate ACK: the kernel still shows the sample of the row before.
        counted(flow(2 * SECOND), 20, 0, 20),
    ]);
    let tally = groups.tally(Group::Baseline);
    assert_eq!((tally.rtt.samples(), tally.active_ns, tally.time_ns), (1, SECOND, 2 * SECOND));
    // The next progress makes the pause a part of the transfer.
    groups.feed(&[counted(flow(5 * SECOND), 30, 0, 30)]);
    let tally = groups.tally(Group::Baseline);
    assert_eq!((tally.rtt.samples(), tally.active_ns), (2, 5 * SECOND));
}

#[test]
fn a_row_that_comes_late_and_a_socket_that_is_used_again_add_nothing_that_was_not_sent() {
    let mut groups = groups();
    let flow = |at_ns| row(Group::Baseline, 0, at_ns);
    groups.feed(&[
        counted(flow(0), 100, 0, 100),
        counted(flow(2 * SECOND), 300, 0, 300),
        counted(flow(SECOND), 200, 0, 200),
        // Disconnected and connected anew: the counters began at nothing.
        counted(flow(3 * SECOND), 50, 0, 40),
    ]);
    let tally = groups.tally(Group::Baseline);
    assert_eq!((tally.sent_bytes, tally.acked_bytes), (250_000, 240_000));
}

/// `flows` flows in each group for `secs` seconds, 200 packets per second each; of 100 packets these were retransmitted.
fn traffic(groups: &mut Groups, flows: usize, secs: u64, canary_percent: u64, baseline_percent: u64) {
    for (group, percent) in [(Group::Canary, canary_percent), (Group::Baseline, baseline_percent)] {
        for n in 0..flows {
            for at in 0..=secs * 10 {
                let sent = at * 20;
                let retrans = sent * percent / 100;
                groups.feed(&[counted(row(group, n, at * SECOND / 10), sent, retrans, sent - retrans)]);
            }
        }
    }
}

fn judge(guards: &[&str], min_flows: u64) -> Judge {
    Judge::new(guards.iter().map(|guard| guard.parse().unwrap()).collect(), min_flows)
}

#[test]
fn a_bad_canary_is_taken_back_early_and_only_after_several_evaluations_in_a_row() {
    let mut groups = groups();
    traffic(&mut groups, 6, 2, 5, 1);
    let mut judge = judge(&["p95_rtt > 2 * baseline", "retransmit_rate > 2 * baseline"], 5);
    for evaluation in 1..=CONSECUTIVE {
        let verdicts = judge.evaluate(&groups);
        assert_eq!([verdicts[0].state, verdicts[1].state], [State::TooLittleData, State::Holds]);
        let early = early_end(&verdicts).map(|verdict| verdict.guard.to_string());
        let expected = (evaluation == CONSECUTIVE).then(|| "retransmit_rate > 2 * baseline".to_owned());
        assert_eq!(early, expected, "evaluation {evaluation}");
    }
}

#[test]
fn guards_share_the_chance_of_a_wrong_verdict() {
    // Five flows beside five, all of the ones worse: 1 of 252 choices, 0.397 %.
    let mut groups = groups();
    traffic(&mut groups, 5, 2, 5, 1);
    let guards =
        ["retransmit_rate > 2 * baseline", "loss_rate > 50%", "loss_rate > 2 * baseline", "goodput < 0.5 * baseline"];
    let expected = [
        (1, State::Holds, 1, "alone it ends the watch early"),
        (2, State::Holds, 1, "a guard without a baseline asks for no part"),
        (3, State::Holds, 0, "half of 1 % is enough at the end, half of 0.4 % is not early"),
        (4, State::TooLittleData, 0, "no choice of these flows is as rare as a third of 1 %"),
    ];
    for (count, state, held, why) in expected {
        let verdict = &judge(&guards[..count], 5).evaluate(&groups)[0];
        assert_eq!((verdict.state, verdict.held), (state, held), "{why}: {verdict:?}");
    }
}

#[test]
fn a_guard_that_lets_go_starts_to_count_anew() {
    let (mut bad, mut good) = (groups(), groups());
    traffic(&mut bad, 5, 2, 5, 1);
    traffic(&mut good, 5, 2, 1, 1);
    let mut judge = judge(&["retransmit_rate > 2 * baseline"], 5);
    for _ in 1..CONSECUTIVE {
        judge.evaluate(&bad);
    }
    assert_eq!(judge.evaluate(&good)[0].held, 0);
    let verdicts = judge.evaluate(&bad);
    assert_eq!(verdicts[0].held, 1);
    assert!(early_end(&verdicts).is_none());
}

#[test]
fn verdicts_state_what_they_compared() {
    let mut groups = groups();
    traffic(&mut groups, 5, 4, 5, 1);
    let verdict = &judge(&["retransmit_rate > 2 * baseline + 1%"], 5).evaluate(&groups)[0];
    let close = |found: Option<f64>, expected: f64| (found.unwrap() - expected).abs() < 1e-9;
    assert!(close(verdict.canary, 0.05) && close(verdict.baseline, 0.01), "{verdict:?}");
    assert!(close(verdict.threshold, 0.03), "{verdict:?}");
    assert_eq!((verdict.state, verdict.unit), (State::Holds, "ratio"));
}

#[test]
fn too_few_flows_or_packets_are_no_verdict() {
    let mut few_flows = groups();
    traffic(&mut few_flows, 4, 4, 5, 1);
    let verdict = &judge(&["retransmit_rate > 2 * baseline"], 5).evaluate(&few_flows)[0];
    assert_eq!(verdict.state, State::TooLittleData);
    assert_eq!(verdict.note.as_deref(), Some("the canary had 4 active flows, needed are 5"));

    let mut few_packets = groups();
    traffic(&mut few_packets, 5, 1, 5, 1);
    let verdict = &judge(&["retransmit_rate > 2 * baseline"], 5).evaluate(&few_packets)[0];
    assert_eq!(verdict.state, State::TooLittleData);
    let note = verdict.note.as_deref();
    assert_eq!(note, Some("retransmit_rate of the canary: 950 seen, needed are 1000 packets delivered"));
}

#[test]
fn a_baseline_without_losses_makes_the_guard_say_what_it_lacks() {
    let mut groups = groups();
    traffic(&mut groups, 5, 4, 1, 0);
    let verdict = &judge(&["retransmit_rate > 2 * baseline"], 5).evaluate(&groups)[0];
    assert_eq!((verdict.state, verdict.threshold), (State::Holds, Some(0.0)));
    assert!(verdict.note.as_deref().unwrap().contains("add an allowance"), "{verdict:?}");
    let verdict = &judge(&["retransmit_rate > 2 * baseline + 2%"], 5).evaluate(&groups)[0];
    assert_eq!((verdict.state, verdict.note.as_deref()), (State::Clear, None));
}

#[test]
fn a_guard_needs_evidence_and_not_only_a_ratio() {
    let mut groups = groups();
    // All alike, but for two flows of the baseline that are ten times as fast: the means differ as 1 to 2.5.
    for (group, flows) in [(Group::Canary, 12), (Group::Baseline, 12)] {
        for n in 0..flows {
            let packets = if group == Group::Baseline && n < 2 { 200 } else { 20 };
            for at in 0..=50 {
                groups.feed(&[counted(row(group, n, at * SECOND / 10), at * packets, 0, at * packets)]);
            }
        }
    }
    let verdicts = judge(&["goodput < 0.5 * baseline", "p50_goodput < 0.5 * baseline"], 5).evaluate(&groups);
    assert_eq!([verdicts[0].state, verdicts[1].state], [State::Unproven, State::Clear], "{verdicts:?}");
    assert!(verdicts[0].canary.unwrap() < 0.5 * verdicts[0].baseline.unwrap());
    assert!((0.2..0.3).contains(&verdicts[0].chance.unwrap()), "both fast flows in one group by chance: {verdicts:?}");
    assert_eq!(verdicts[0].held, 0);
    let medians = [verdicts[1].canary, verdicts[1].baseline].map(Option::unwrap);
    assert!(medians.iter().all(|median| (1.57e6..=1.6e6).contains(median)), "{medians:?}");
}

#[test]
fn too_few_flows_to_tell_are_no_verdict() {
    let mut groups = groups();
    traffic(&mut groups, 4, 4, 5, 1);
    let verdict = &judge(&["retransmit_rate > 2 * baseline"], 1).evaluate(&groups)[0];
    assert_eq!(verdict.state, State::TooLittleData);
    assert!(verdict.note.as_deref().unwrap().contains("1 of 70 cases"), "{verdict:?}");
    let verdict = &judge(&["retransmit_rate > 1%"], 1).evaluate(&groups)[0];
    assert_eq!((verdict.state, verdict.chance), (State::Holds, None), "a guard without a baseline compares nothing");
}

#[test]
fn before_anything_moves_both_sides_have_the_same_algorithm() {
    let membership = Membership {
        canary: "old".to_owned(),
        baseline: "old".to_owned(),
        share: share(),
        cgroups: HashSet::from([CGROUP]),
        fixed: HashSet::new(),
    };
    let mut groups = Groups::new(membership, START);
    for group in [Group::Canary, Group::Baseline] {
        let old = |at_ns| Sample { algorithm: name_bytes("old").unwrap(), ..row(group, 0, at_ns) };
        groups.feed(&[counted(old(0), 10, 0, 10), counted(old(SECOND), 20, 0, 20)]);
    }
    assert_eq!([Group::Canary, Group::Baseline].map(|group| groups.tally(group).flows), [1, 1]);
    assert_eq!(groups.ignored(), Ignored::default());
}
