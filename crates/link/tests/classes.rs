//! Sharing by class, on a link of 8 Mbit/s, where 1000 bytes take 1 ms.

mod common;

use ccactl_link::queue::{Class, Classes};
use ccactl_link::{Capacity, Discipline, Item, LinkConfig, Nanos, RatePlan};
use common::{Arrival, MS, Outcome, S, drive, item};

const BUFFER: Capacity = Capacity::Packets(200);

/// Packets of 1000 bytes, by class: gap between two, first and last time.
fn arrivals(classes: &[(Nanos, Nanos, Nanos)]) -> Vec<Arrival> {
    let packets = |(class, (gap, from, until)): (usize, &(Nanos, Nanos, Nanos))| {
        (*from..*until).step_by(*gap as usize).map(move |at| (at, class as u8)).collect::<Vec<_>>()
    };
    let mut all: Vec<(Nanos, u8)> = classes.iter().enumerate().flat_map(packets).collect();
    all.sort_unstable();
    let arrival = |(id, (at, class))| (at, Item { class, flow: u32::from(class), ..item(id, 1000) });
    all.into_iter().enumerate().map(arrival).collect()
}

fn run(shares: &[(u32, bool)], arrivals: &[Arrival]) -> Outcome {
    run_with_burst(shares, Classes::default().burst_bytes, arrivals)
}

fn run_with_burst(shares: &[(u32, bool)], burst_bytes: u32, arrivals: &[Arrival]) -> Outcome {
    let class = |(share_permille, borrow): &(u32, bool)| Class { share_permille: *share_permille, borrow: *borrow };
    let queue = Discipline::Classes(Classes { classes: shares.iter().map(class).collect(), burst_bytes });
    drive(LinkConfig { queue, ..LinkConfig::drop_tail(8_000_000, BUFFER) }, arrivals)
}

/// Share of the link of each class between two times.
fn shares(out: &Outcome, arrivals: &[Arrival], from: Nanos, until: Nanos) -> Vec<f64> {
    let share = |class| {
        let bytes = out.sent_bytes(arrivals, from, until, |item| item.class == class);
        bytes as f64 * 8e9 / (until - from) as f64 / 8e6
    };
    (0..3).map(share).collect()
}

#[track_caller]
fn assert_shares(got: &[f64], expected: [f64; 3]) {
    assert!(got.iter().zip(expected).all(|(got, expected)| (got - expected).abs() < 0.01), "{got:?}, not {expected:?}");
}

const GREEDY: (Nanos, Nanos, Nanos) = (MS / 2, 0, 10 * S);

#[test]
fn classes_that_all_want_more_get_their_shares() {
    let arrivals = arrivals(&[GREEDY; 3]);
    let out = run(&[(600, true), (300, true), (100, true)], &arrivals);
    assert_shares(&shares(&out, &arrivals, S, 9 * S), [0.6, 0.3, 0.1]);
    let out = run(&[(600, false), (300, false), (100, false)], &arrivals);
    assert_shares(&shares(&out, &arrivals, S, 9 * S), [0.6, 0.3, 0.1]);
}

#[test]
fn what_a_class_does_not_use_is_borrowed_in_proportion_and_given_back() {
    // Class 0 sends nothing before 5 s; 60 % are divided 3 : 1.
    let arrivals = arrivals(&[(MS / 2, 5 * S, 10 * S), GREEDY, GREEDY]);
    let out = run(&[(600, true), (300, true), (100, true)], &arrivals);
    assert_shares(&shares(&out, &arrivals, S, 5 * S), [0.0, 0.75, 0.25]);
    assert_shares(&shares(&out, &arrivals, 5 * S + 100 * MS, 9 * S), [0.6, 0.3, 0.1]);
}

#[test]
fn a_class_that_may_not_borrow_stays_at_its_share_and_lets_the_link_idle() {
    let arrivals = arrivals(&[(S, 0, S), GREEDY, (S, 0, S)]);
    let out = run(&[(600, true), (300, false), (100, true)], &arrivals);
    assert_shares(&shares(&out, &arrivals, S, 9 * S), [0.0, 0.3, 0.0]);
    // 1000 bytes every 3.33 ms, each of which begins when the one before it is paid for.
    let late: Vec<Nanos> = out.departures.iter().map(|d| d.at).filter(|at| *at > S).collect();
    assert!(late.windows(2).all(|w| (3_333_332..=3_333_334).contains(&(w[1] - w[0]))), "{:?}", &late[..5]);
    assert!(out.departures.iter().filter(|d| d.at > S).all(|d| !d.back_to_back), "the transmitter paused");
}

#[test]
fn a_class_within_its_share_waits_for_its_own_packets_alone() {
    // Class 0 uses 500 of its 600 thousandths, evenly; the others flood the link and the buffer.
    let arrivals = arrivals(&[(2 * MS, 0, 10 * S), GREEDY, GREEDY]);
    let out = run_with_burst(&[(600, true), (300, true), (100, true)], 0, &arrivals);
    assert!(out.dropped.iter().all(|d| arrivals[d.0].1.class != 0));
    let longest = out.departures.iter().filter(|d| arrivals[d.packet].1.class == 0).map(|d| d.sojourn).max();
    // One in transmission, and without bursts each of the two others may be within its share with one packet.
    assert!(longest <= Some(3 * MS), "{longest:?}");
}

#[test]
fn shares_are_of_the_rate_that_the_link_has() {
    let arrivals = arrivals(&[GREEDY, (MS / 2, 0, 10 * S)]);
    let classes = vec![Class { share_permille: 250, borrow: false }, Class { share_permille: 250, borrow: false }];
    let queue = Discipline::Classes(Classes { classes, ..Classes::default() });
    let rate = RatePlan::Steps(vec![(0, 8_000_000), (5 * S, 0), (6 * S, 4_000_000)]);
    let out = drive(LinkConfig { rate, queue, ..LinkConfig::drop_tail(1, BUFFER) }, &arrivals);
    assert_shares(&shares(&out, &arrivals, S, 5 * S), [0.25, 0.25, 0.0]);
    assert_shares(&shares(&out, &arrivals, 6 * S + 100 * MS, 9 * S), [0.125, 0.125, 0.0]);
}

#[test]
fn a_pause_gives_a_burst_and_no_more() {
    // 40 packets after 5 s of nothing, at 100 thousandths without borrowing: two at once, the rest at 10 ms each.
    let arrivals: Vec<Arrival> = (0..40).map(|id| (5 * S, item(id, 1000))).collect();
    let queue =
        Discipline::Classes(Classes { classes: vec![Class { share_permille: 100, borrow: false }], burst_bytes: 2000 });
    let out = drive(LinkConfig { queue, ..LinkConfig::drop_tail(8_000_000, BUFFER) }, &arrivals);
    let times: Vec<Nanos> = out.departures.iter().map(|d| d.at - 5 * S).collect();
    // A packet may begin while what was sent is at most a burst, 20 ms, ahead: at 0, 1, and 2 ms, then every 10 ms.
    assert_eq!(times[..5], [MS, 2 * MS, 3 * MS, 11 * MS, 21 * MS]);
    assert_eq!(times[39], times[4] + 35 * 10 * MS);
}
