//! The cases of the two procedures of the Snoop paper (Balakrishnan, Seshan, Katz, Wireless Networks 1(4), 1995, section 3), without SACK.

mod snoop_common;

use ccactl_link::snoop::Action::{Acknowledge, Drop, Forward, Retransmit};
use ccactl_link::snoop::Segment;
use proptest::prelude::*;
use snoop_common::{Agent, FULL, MS, ONE, PACKET, ROOMY, ack, bytes, segment};

/// Number of the first byte.
const BASE: u32 = 5000;
/// Packets with ACKs have numbers from here on.
const ACK: u32 = 100;

/// The number of the first byte of segment `n`.
fn seq(n: u32) -> u32 {
    BASE + n * FULL
}

/// Segments 0 to 9 are with the mobile or on their way, and it has acknowledged the first two.
fn started() -> Agent {
    let mut agent = Agent::new(ROOMY);
    agent.send(0, BASE, 0..10);
    assert_eq!(agent.ack(10 * MS, ack(seq(2)), ACK), [Forward(ACK)]);
    agent
}

// Data from the sender.

#[test]
fn new_data_in_order_are_kept_and_go_on() {
    let agent = started();
    assert_eq!(agent.kept(), [2, 3, 4, 5, 6, 7, 8, 9, ACK]);
    assert_eq!(agent.snoop.counters().cached_packets, 10);
    assert_eq!(agent.snoop.cached_bytes(), 8 * u64::from(PACKET));
}

#[test]
fn a_segment_that_comes_again_before_its_ack_goes_on_and_its_duplicates_are_the_senders() {
    let mut agent = started();
    assert_eq!(agent.data(11 * MS, segment(BASE, 2), 50), [Forward(50)]);
    assert_eq!(agent.kept(), [2, 3, 4, 5, 6, 7, 8, 9, ACK], "it is kept already");
    assert_eq!(agent.ack(12 * MS, ack(seq(2)), 101), [Forward(101)]);
}

#[test]
fn a_segment_that_was_lost_before_the_agent_is_kept_and_its_duplicates_are_the_senders() {
    let mut agent = started();
    // Segment 10 does not come: the network has dropped it.
    assert_eq!(agent.data(11 * MS, segment(BASE, 11), 11), [Forward(11)]);
    assert_eq!(agent.ack(12 * MS, ack(seq(10)), 101), [Forward(101)]);
    assert_eq!(agent.ack(13 * MS, ack(seq(10)), 102), [Forward(102)], "it is not there to be sent again");
    assert_eq!(agent.data(14 * MS, segment(BASE, 10), 10), [Forward(10)]);
    assert_eq!(agent.kept(), [10, 11, 102]);
    assert_eq!(agent.ack(15 * MS, ack(seq(10)), 103), [Forward(103)]);
    assert_eq!(agent.snoop.counters().retransmitted_packets, 0);
}

#[test]
fn the_sender_of_a_segment_that_the_mobile_has_gets_the_last_ack_again() {
    let mut agent = started();
    assert_eq!(agent.data(11 * MS, segment(BASE, 1), 51), [Acknowledge(ACK), Drop(51)]);
    // A segment that is acknowledged in part goes on.
    let across = bytes(seq(1), 2 * FULL);
    assert_eq!(agent.data(12 * MS, across, 52), [Forward(52)]);
    assert_eq!(agent.snoop.counters().answered_packets, 1);
}

#[test]
fn a_segment_that_the_mobile_has_goes_on_where_no_ack_is_kept() {
    let mut agent = Agent::new(ROOMY);
    agent.send(0, BASE, 0..1);
    let with_data = Segment { payload_bytes: 10, ..ack(seq(1)) };
    assert_eq!(agent.ack(MS, with_data, ACK), [Forward(ACK)]);
    assert_eq!(agent.data(2 * MS, segment(BASE, 0), 50), [Forward(50)]);
}

// ACKs from the mobile.

#[test]
fn a_new_ack_frees_what_it_acknowledges_and_goes_on() {
    let mut agent = started();
    assert_eq!(agent.ack(11 * MS, ack(seq(9) + 1), 101), [Forward(101)]);
    assert_eq!(agent.kept(), [9, 101], "of segment 9 a part is missing, and the ACK before this one is of no use");
}

#[test]
fn an_ack_below_the_last_one_is_dropped() {
    let mut agent = started();
    assert_eq!(agent.ack(11 * MS, ack(seq(1)), 101), [Drop(101)]);
    let with_data = Segment { payload_bytes: 10, ..ack(seq(1)) };
    assert_eq!(agent.ack(11 * MS, with_data, 102), [Forward(102)], "data of the mobile are not the agent's");
}

#[test]
fn the_first_duplicate_sends_the_segment_again_and_those_that_the_segments_behind_cause_are_dropped() {
    let mut agent = started();
    // Segments 3 to 9 have left behind segment 2.
    assert_eq!(agent.ack(11 * MS, ack(seq(2)), 101), [Retransmit(2), Drop(101)]);
    for packet in 102..108 {
        assert_eq!(agent.ack(12 * MS, ack(seq(2)), packet), [Drop(packet)]);
    }
    // One more is not expected: the second transmission was lost as well, and segment 10 came behind it.
    agent.send(13 * MS, BASE, 10..11);
    assert_eq!(agent.ack(14 * MS, ack(seq(2)), 108), [Retransmit(2), Drop(108)]);
    assert_eq!(agent.ack(15 * MS, ack(seq(11)), 109), [Forward(109)]);
    let counters = agent.snoop.counters();
    assert_eq!((counters.retransmitted_packets, counters.suppressed_acks, counters.timeouts), (2, 8, 0));
}

#[test]
fn after_a_new_ack_no_duplicate_is_expected() {
    let mut agent = started();
    assert_eq!(agent.ack(11 * MS, ack(seq(2)), 101), [Retransmit(2), Drop(101)]);
    assert_eq!(agent.ack(12 * MS, ack(seq(5)), 102), [Forward(102)], "segment 5 is missing too");
    assert_eq!(agent.ack(13 * MS, ack(seq(5)), 103), [Retransmit(5), Drop(103)]);
}

#[test]
fn a_segment_that_is_lost_ten_times_is_the_senders() {
    let mut agent = Agent::new(ROOMY);
    agent.send(0, BASE, 0..2);
    agent.ack(MS, ack(BASE), ACK);
    for round in 0..10 {
        assert_eq!(agent.ack(2 * MS, ack(BASE), 200 + round), [Retransmit(0), Drop(200 + round)]);
        agent.send(2 * MS, BASE, 2 + round..3 + round);
    }
    assert_eq!(agent.ack(3 * MS, ack(BASE), 300), [Forward(300)]);
    // The timer gives up too, and after a minute of silence so does the cache.
    assert_eq!(agent.wake(60_002 * MS), []);
    assert_eq!(agent.kept(), (0..12).chain([300]).collect::<Vec<_>>());
    assert_eq!(agent.wake(60_003 * MS), []);
    assert_eq!((agent.kept(), agent.snoop.next_timer()), (vec![300], None));
}

#[test]
fn a_change_of_the_window_is_not_a_duplicate() {
    let mut agent = started();
    let wider = Segment { window: 600, ..ack(seq(2)) };
    assert_eq!(agent.ack(11 * MS, wider, 101), [Forward(101)]);
    let with_data = Segment { payload_bytes: 10, ..wider };
    assert_eq!(agent.ack(11 * MS, with_data, 102), [Forward(102)]);
    assert_eq!(agent.ack(12 * MS, wider, 103), [Retransmit(2), Drop(103)]);
}

// Timers.

#[test]
fn a_segment_that_was_sent_again_is_so_once_more_after_two_round_trips_of_the_hop() {
    for (rtt, timeout) in [(10 * MS, 40 * MS), (30 * MS, 60 * MS)] {
        let mut agent = Agent::new(ROOMY);
        agent.send(0, BASE, 0..10);
        agent.ack(rtt, ack(seq(2)), ACK);
        let again = rtt + MS;
        assert_eq!(agent.ack(again, ack(seq(2)), 101), [Retransmit(2), Drop(101)]);
        // What happens besides does not put it off.
        agent.ack(again + 20 * MS, ack(seq(2)), 102);
        assert_eq!(agent.wake(again + timeout - 1), []);
        assert_eq!(agent.snoop.next_timer(), Some(again + timeout));
        assert_eq!(agent.wake(again + timeout), [Retransmit(2)]);
        // Without an answer it takes twice as long.
        assert_eq!(agent.snoop.next_timer(), Some(again + 3 * timeout));
        assert_eq!(agent.wake(again + 3 * timeout), [Retransmit(2)]);
        assert_eq!(agent.snoop.counters().timeouts, 2);
    }
}

#[test]
fn without_a_sign_of_a_loss_the_timer_waits_until_both_sides_are_silent() {
    let mut agent = started();
    agent.wake(40 * MS);
    assert_eq!(agent.snoop.next_timer(), Some(210 * MS), "200 ms after the last ACK");
    agent.send(100 * MS, BASE, 10..11);
    assert_eq!(agent.wake(299 * MS), []);
    assert_eq!(agent.wake(300 * MS), [Retransmit(2)]);
    assert_eq!(agent.ack(310 * MS, ack(seq(11)), 101), [Forward(101)]);
    agent.wake(1000 * MS);
    assert_eq!(agent.snoop.next_timer(), None, "nothing is missing");
}

#[test]
fn the_round_trip_is_that_of_one_segment_at_a_time_and_of_none_that_was_sent_again() {
    let mut agent = Agent::new(ROOMY);
    let syn = Segment { seq: BASE - 1, syn: true, ..Segment::default() };
    assert_eq!(agent.data(0, syn, 90), [Forward(90)]);
    agent.ack(50 * MS, Segment { syn: true, ..ack(BASE) }, 91);
    // The handshake took 50 ms. Segment 0 is measured; its ACK comes after it was sent again.
    agent.send(60 * MS, BASE, 0..2);
    assert_eq!(agent.ack(70 * MS, ack(BASE), 93), [Retransmit(0), Drop(93)]);
    agent.ack(500 * MS, ack(seq(1)), 94);
    agent.send(500 * MS, BASE, 2..3);
    assert_eq!(agent.ack(500 * MS, ack(seq(1)), 95), [Retransmit(1), Drop(95)]);
    agent.wake(500 * MS);
    assert_eq!(agent.snoop.next_timer(), Some(600 * MS));
}

// Connections and memory.

#[test]
fn what_does_not_fit_is_not_kept_and_is_the_senders() {
    let mut agent = Agent::new(3 * u64::from(PACKET));
    agent.send(0, BASE, 0..5);
    assert_eq!(agent.kept(), [0, 1, 2]);
    assert_eq!(agent.ack(MS, ack(seq(3)), ACK), [Forward(ACK)]);
    assert_eq!(agent.ack(MS, ack(seq(3)), 101), [Forward(101)]);
    // Small packets count as 256 bytes.
    let mut agent = Agent::new(512);
    for n in 0..3 {
        agent.data(0, bytes(n, 1), n);
    }
    assert_eq!(agent.kept(), [0, 1]);
}

#[test]
fn what_the_hop_has_refused_is_the_senders() {
    let mut agent = started();
    agent.snoop.refused(ONE, &segment(BASE, 2));
    assert_eq!(agent.ack(11 * MS, ack(seq(2)), 101), [Forward(101)]);
    assert_eq!(agent.kept(), [3, 4, 5, 6, 7, 8, 9, 101]);
}

#[test]
fn connections_do_not_meet_and_a_new_one_in_the_place_of_an_old_one_begins_anew() {
    let mut agent = started();
    let mut other = |segment: &Segment, packet| {
        agent.snoop.ack(11 * MS, 2, segment, packet);
        agent.snoop.pop()
    };
    assert_eq!(other(&ack(seq(2)), 60), Some(Forward(60)), "nothing is known of it");
    let syn = Segment { seq: 77, syn: true, ..Segment::default() };
    assert_eq!(agent.data(12 * MS, syn, 61), [Forward(61)]);
    assert_eq!(agent.kept(), []);
    agent.data(13 * MS, bytes(78, 10), 62);
    let rst = Segment { seq: 88, rst: true, ..Segment::default() };
    assert_eq!(agent.data(14 * MS, rst, 63), [Forward(63)]);
    assert_eq!(agent.kept(), []);
}

#[test]
fn of_too_many_connections_the_most_silent_is_forgotten() {
    let mut agent = Agent::new(ROOMY);
    for connection in 0..1025 {
        agent.snoop.data(connection, connection, &bytes(0, 10), connection as u32, 50);
    }
    let actions: Vec<_> = std::iter::from_fn(|| agent.snoop.pop()).collect();
    let released: Vec<_> =
        actions.iter().filter(|action| matches!(action, ccactl_link::snoop::Action::Release(_))).collect();
    assert_eq!(released, [&ccactl_link::snoop::Action::Release(0)]);
}

proptest! {
    /// Wherever the numbers begin, the agent does the same.
    #[test]
    fn numbers_wrap(base: u32) {
        let mut agent = Agent::new(ROOMY);
        agent.send(0, base, 0..10);
        let number = |n: u32| ack(base.wrapping_add(n * FULL));
        prop_assert_eq!(agent.ack(10 * MS, number(2), ACK), [Forward(ACK)]);
        prop_assert_eq!(agent.ack(11 * MS, number(2), 101), [Retransmit(2), Drop(101)]);
        prop_assert_eq!(agent.ack(11 * MS, number(1), 102), [Drop(102)]);
        prop_assert_eq!(agent.data(12 * MS, segment(base, 1), 50), [Acknowledge(ACK), Drop(50)]);
        prop_assert_eq!(agent.ack(13 * MS, number(10), 103), [Forward(103)]);
        prop_assert_eq!(agent.kept(), [103]);
    }
}
