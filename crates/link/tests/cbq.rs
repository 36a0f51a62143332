//! CBQ on a link of 8 Mbit/s, where 1000 bytes take 1 ms. Classes are `(group, share, borrow, priority)`.

mod common;

use ccactl_link::queue::{Cbq, CbqClass, CbqGroup};
use ccactl_link::{Capacity, Discipline, Item, LinkConfig, Nanos, RatePlan};
use common::{Arrival, MS, Outcome, S, drive, item};

/// Gap between two packets of 1000 bytes, first and last time.
type Source = (Nanos, Nanos, Nanos);
type Leaf = (Option<u32>, u32, bool, u32);

const GREEDY: Source = (MS / 2, 0, 10 * S);
const SILENT: Source = (MS, 0, 0);

/// Packets by class; of equal times the class with the lowest number is first.
fn arrivals(sources: &[Source]) -> Vec<Arrival> {
    let packets = |(class, (gap, from, until)): (usize, &Source)| {
        (*from..*until).step_by(*gap as usize).map(move |at| (at, class as u8)).collect::<Vec<_>>()
    };
    let mut all: Vec<(Nanos, u8)> = sources.iter().enumerate().flat_map(packets).collect();
    all.sort_unstable();
    let arrival = |(id, (at, class))| (at, Item { class, flow: u32::from(class), ..item(id, 1000) });
    all.into_iter().enumerate().map(arrival).collect()
}

fn cbq(groups: &[(Option<u32>, u32, bool)], classes: &[Leaf]) -> Cbq {
    let group = |(group, share_permille, borrow): &(Option<u32>, u32, bool)| CbqGroup {
        group: *group,
        share_permille: *share_permille,
        borrow: *borrow,
    };
    let class = |(group, share_permille, borrow, priority): &Leaf| CbqClass {
        group: *group,
        share_permille: *share_permille,
        borrow: *borrow,
        priority: *priority,
    };
    Cbq {
        groups: groups.iter().map(group).collect(),
        classes: classes.iter().map(class).collect(),
        quantum_bytes: 1000,
        ..Cbq::default()
    }
}

fn run(cbq: Cbq, arrivals: &[Arrival]) -> Outcome {
    let queue = Discipline::Cbq(cbq);
    drive(LinkConfig { queue, ..LinkConfig::drop_tail(8_000_000, Capacity::Packets(400)) }, arrivals)
}

/// Share of the link of each class between two times.
fn shares<const N: usize>(out: &Outcome, arrivals: &[Arrival], from: Nanos, until: Nanos) -> [f64; N] {
    let bytes = |class| out.sent_bytes(arrivals, from, until, |item| usize::from(item.class) == class) as f64;
    std::array::from_fn(|class| bytes(class) * 1000.0 / (until - from) as f64)
}

#[track_caller]
fn assert_shares<const N: usize>(got: [f64; N], expected: [f64; N]) {
    let near = |(got, expected): (&f64, f64)| (got - expected).abs() < 0.015;
    assert!(got.iter().zip(expected).all(near), "{got:?}, not {expected:?}");
}

/// Two agencies of 70 and 30 %, with two classes each.
fn two_agencies(borrow: bool) -> Cbq {
    let agencies = [(None, 700, borrow), (None, 300, borrow)];
    let [a, b] = [Some(0), Some(1)];
    cbq(&agencies, &[(a, 500, borrow, 0), (a, 200, borrow, 0), (b, 200, borrow, 0), (b, 100, borrow, 0)])
}

#[test]
fn under_overload_everyone_has_the_share_of_the_tree() {
    let arrivals = arrivals(&[GREEDY; 4]);
    for borrow in [true, false] {
        let out = run(two_agencies(borrow), &arrivals);
        assert_shares(shares(&out, &arrivals, S, 9 * S), [0.5, 0.2, 0.2, 0.1]);
    }
}

#[test]
fn what_a_class_leaves_goes_to_its_sibling_first_and_is_given_back() {
    // The class of 50 % is silent before 5 s. Without the tree its share would go to all three, 2 : 2 : 1.
    let arrivals = arrivals(&[(MS / 2, 5 * S, 10 * S), GREEDY, GREEDY, GREEDY]);
    let out = run(two_agencies(true), &arrivals);
    assert_shares(shares(&out, &arrivals, S, 5 * S), [0.0, 0.7, 0.2, 0.1]);
    // It has its share within the debt of the sibling: 15 packets at 20 %.
    assert_shares(shares(&out, &arrivals, 5 * S + 100 * MS, 9 * S), [0.5, 0.2, 0.2, 0.1]);
}

#[test]
fn what_a_whole_group_leaves_goes_to_the_other_by_its_shares() {
    let arrivals = arrivals(&[SILENT, SILENT, GREEDY, GREEDY]);
    let out = run(two_agencies(true), &arrivals);
    assert_shares(shares(&out, &arrivals, S, 9 * S), [0.0, 0.0, 2.0 / 3.0, 1.0 / 3.0]);
    // Where nobody may borrow, it goes to nobody.
    let out = run(two_agencies(false), &arrivals);
    assert_shares(shares(&out, &arrivals, S, 9 * S), [0.0, 0.0, 0.2, 0.1]);
}

#[test]
fn a_group_that_may_not_borrow_limits_what_is_in_it() {
    // Group 0 may not borrow, but its classes may, from it: one alone gets the 70 %.
    let config =
        |borrow| cbq(&[(None, 700, borrow)], &[(Some(0), 500, true, 0), (Some(0), 200, true, 0), (None, 300, true, 0)]);
    let alone = arrivals(&[SILENT, GREEDY, SILENT]);
    assert_shares(shares(&run(config(false), &alone), &alone, S, 9 * S), [0.0, 0.7, 0.0]);
    assert_shares(shares(&run(config(true), &alone), &alone, S, 9 * S), [0.0, 1.0, 0.0]);
    // It is no limit for who is outside.
    let outside = arrivals(&[SILENT, SILENT, GREEDY]);
    assert_shares(shares(&run(config(false), &outside), &outside, S, 9 * S), [0.0, 0.0, 1.0]);
}

#[test]
fn borrowing_climbs_one_level_after_the_other() {
    // Group 0 has 600; in it are group 1 of 400 with classes 0 and 1 of 200 each, and class 2 of 200. Outside is class 3.
    let groups = [(None, 600, true), (Some(0), 400, true)];
    let classes = [(Some(1), 200, true, 0), (Some(1), 200, true, 0), (Some(0), 200, true, 0), (None, 400, true, 0)];
    let between = |sources: &[Source]| -> [f64; 4] {
        let arrivals = arrivals(sources);
        shares(&run(cbq(&groups, &classes), &arrivals), &arrivals, S, 9 * S)
    };
    assert_shares(between(&[GREEDY; 4]), [0.2, 0.2, 0.2, 0.4]);
    // From the sibling in group 1.
    assert_shares(between(&[SILENT, GREEDY, GREEDY, GREEDY]), [0.0, 0.4, 0.2, 0.4]);
    // From group 1, which is in group 0.
    assert_shares(between(&[SILENT, SILENT, GREEDY, GREEDY]), [0.0, 0.0, 0.6, 0.4]);
    // From class 2, for both of group 1 and not for class 3. The turns of the two divide it only roughly, as each has some when
    // the other is within its share.
    let [one, other, silent, outside] = between(&[GREEDY, GREEDY, SILENT, GREEDY]);
    assert_shares([one + other, silent, outside], [0.6, 0.0, 0.4]);
    assert!(one > 0.25 && other > 0.25, "{one} {other}");
    // From the link.
    assert_shares(between(&[SILENT, SILENT, GREEDY, SILENT]), [0.0, 0.0, 1.0, 0.0]);
}

#[test]
fn a_class_with_priority_waits_for_the_packet_in_transmission_alone() {
    // 50 packets a second are 5 % of the link, half of the share; the others flood it.
    let arrivals = arrivals(&[(20 * MS, 0, 10 * S), GREEDY, GREEDY]);
    let longest = |priority| {
        let out = run(cbq(&[], &[(None, 100, true, priority), (None, 500, true, 1), (None, 400, true, 1)]), &arrivals);
        let own = out.departures.iter().filter(|d| arrivals[d.packet].1.class == 0).map(|d| d.sojourn);
        own.max().unwrap()
    };
    assert!(longest(0) <= MS, "{}", longest(0));
    assert!(longest(2) > MS, "behind the others it waits longer: {}", longest(2));
}

#[test]
fn priority_gives_no_more_than_the_share_while_others_want_theirs() {
    let arrivals = arrivals(&[GREEDY, GREEDY]);
    let out = run(cbq(&[], &[(None, 200, true, 0), (None, 800, true, 7)]), &arrivals);
    assert_shares(shares(&out, &arrivals, S, 9 * S), [0.2, 0.8]);
    // Of what nobody has a share in, it has everything.
    let out = run(cbq(&[], &[(None, 200, true, 0), (None, 300, true, 7)]), &arrivals);
    assert_shares(shares(&out, &arrivals, S, 9 * S), [0.7, 0.3]);
    // Among equals it is divided in proportion to the shares.
    let out = run(cbq(&[], &[(None, 200, true, 7), (None, 300, true, 7)]), &arrivals);
    assert_shares(shares(&out, &arrivals, S, 9 * S), [0.4, 0.6]);
}

#[test]
fn a_class_that_may_not_borrow_sends_at_its_rate_after_a_burst() {
    let arrivals: Vec<Arrival> = (0..60).map(|id| (5 * S, item(id, 1000))).collect();
    let config = Cbq { burst_packets: 4, ..cbq(&[], &[(None, 100, false, 0)]) };
    let out = run(config, &arrivals);
    let times: Vec<Nanos> = out.departures.iter().map(|d| (d.at - 5 * S + MS / 2) / MS).collect();
    // One, four of the burst, then one every 10 ms.
    assert_eq!(times[..7], [1, 2, 3, 4, 5, 15, 25]);
    assert_eq!(times[59], 5 + 55 * 10);
    assert!(!out.departures[10].back_to_back, "the transmitter paused");
}

#[test]
fn a_class_that_nobody_lends_to_does_not_keep_others_from_borrowing() {
    // Class 0 may not borrow, and its group is always unsatisfied. The link is lent to class 1 all the same.
    let arrivals = arrivals(&[GREEDY, GREEDY]);
    let out = run(cbq(&[(None, 500, true)], &[(Some(0), 100, false, 0), (None, 300, true, 0)]), &arrivals);
    assert_shares(shares(&out, &arrivals, S, 9 * S), [0.1, 0.9]);
}

#[test]
fn shares_are_of_the_rate_that_the_link_has() {
    let arrivals = arrivals(&[GREEDY, GREEDY]);
    let queue = Discipline::Cbq(cbq(&[], &[(None, 250, false, 0), (None, 250, false, 0)]));
    let rate = RatePlan::Steps(vec![(0, 8_000_000), (4 * S, 0), (5 * S, 4_000_000)]);
    let out = drive(LinkConfig { rate, queue, ..LinkConfig::drop_tail(1, Capacity::Packets(400)) }, &arrivals);
    assert_shares(shares(&out, &arrivals, S, 4 * S), [0.25, 0.25]);
    assert_shares(shares(&out, &arrivals, 5 * S + 200 * MS, 9 * S), [0.125, 0.125]);
}

#[test]
fn the_longest_queue_for_its_share_makes_room() {
    // Packet 0 is in transmission. Class 1 has three times the share, so its two packets are shorter than class 0's two.
    let classes = [0, 1, 1, 0, 0];
    let arrivals: Vec<Arrival> =
        classes.iter().enumerate().map(|(id, class)| (0, Item { class: *class, ..item(id, 1000) })).collect();
    let queue = Discipline::Cbq(cbq(&[], &[(None, 250, true, 0), (None, 750, true, 0)]));
    let out = drive(LinkConfig { queue, ..LinkConfig::drop_tail(8_000_000, Capacity::Packets(4)) }, &arrivals);
    assert_eq!(out.dropped(), [4]);
}

#[test]
fn a_tree_that_cannot_be_is_told_with_the_field() {
    let fault = |groups: &[(Option<u32>, u32, bool)], classes: &[Leaf]| cbq(groups, classes).fault();
    assert_eq!(two_agencies(true).fault(), None);
    assert_eq!(Cbq::default().fault(), None);
    let told = |found: Option<(&'static str, String)>| found.map(|(field, fault)| format!("{field}: {fault}")).unwrap();
    for (found, expected) in [
        (fault(&[], &[]), "classes: expected at least one class, found none"),
        (
            fault(&[(Some(0), 500, true)], &[(None, 500, true, 0)]),
            "groups: expected a group to come after the one that it is in, found group 0",
        ),
        (
            fault(&[(None, 500, true)], &[(Some(1), 500, true, 0)]),
            "classes: expected a group below 1, the number of groups, found 1",
        ),
        (
            fault(&[(None, 500, true)], &[(None, 501, true, 0)]),
            "classes: expected shares of 1000 thousandths at most together, found 1001",
        ),
        (
            fault(&[(None, 500, true)], &[(Some(0), 501, true, 0)]),
            "classes: expected shares of 500 thousandths at most together in group 0, found 501",
        ),
    ] {
        assert_eq!(told(found), expected);
    }
}
