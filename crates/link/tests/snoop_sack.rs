//! The Snoop agent with selective acknowledgements (RFC 2018), which the paper does not have.

mod snoop_common;

use ccactl_link::snoop::Action::{Drop, Forward, ForwardWithoutSack, Retransmit};
use proptest::prelude::*;
use snoop_common::{Agent, FULL, MS, ONE, ROOMY, ack, sacked, segment};

/// Close below the wrap, so that every test crosses it.
const BASE: u32 = u32::MAX - 4500;

fn seq(n: u32) -> u32 {
    BASE.wrapping_add(n * FULL)
}

/// The segments in these ranges.
fn blocks(ranges: &[(u32, u32)]) -> Vec<(u32, u32)> {
    ranges.iter().map(|(from, to)| (seq(*from), seq(*to))).collect()
}

/// Segments 0 to 9 are on their way, and all before segment 2 has arrived.
fn started() -> Agent {
    let mut agent = Agent::new(ROOMY);
    agent.send(0, BASE, 0..10);
    assert_eq!(agent.ack(10 * MS, ack(seq(2)), 100), [Forward(100)]);
    agent
}

#[test]
fn every_hole_is_filled_at_once_and_the_sender_sees_no_block() {
    let mut agent = started();
    assert_eq!(agent.ack(11 * MS, sacked(seq(2), &blocks(&[(3, 4)])), 101), [Retransmit(2), Drop(101)]);
    // Segments 4 and 6 are missing as well.
    assert_eq!(agent.ack(12 * MS, sacked(seq(2), &blocks(&[(5, 6), (3, 4)])), 102), [Retransmit(4), Drop(102)]);
    let three = blocks(&[(7, 8), (5, 6), (3, 4)]);
    assert_eq!(agent.ack(13 * MS, sacked(seq(2), &three), 103), [Retransmit(6), Drop(103)]);
    assert_eq!(agent.ack(14 * MS, sacked(seq(2), &blocks(&[(7, 9), (5, 6), (3, 4)])), 104), [Drop(104)]);
    // The new ACK has blocks above it that the agent answers for.
    let rest = sacked(seq(4), &blocks(&[(7, 10), (5, 6)]));
    assert_eq!(agent.ack(15 * MS, rest, 105), [ForwardWithoutSack(105)]);
    assert_eq!(agent.ack(16 * MS, ack(seq(10)), 106), [Forward(106)]);
    let counters = agent.snoop.counters();
    assert_eq!((counters.retransmitted_packets, counters.suppressed_acks, counters.stripped_acks), (3, 4, 1));
}

#[test]
fn a_second_transmission_is_lost_when_what_left_after_it_has_arrived() {
    let mut agent = started();
    assert_eq!(agent.ack(11 * MS, sacked(seq(2), &blocks(&[(3, 4)])), 101), [Retransmit(2), Drop(101)]);
    // What waited when it left says nothing.
    assert_eq!(agent.ack(12 * MS, sacked(seq(2), &blocks(&[(3, 10)])), 102), [Drop(102)]);
    agent.send(13 * MS, BASE, 10..11);
    assert_eq!(agent.ack(14 * MS, sacked(seq(2), &blocks(&[(3, 11)])), 103), [Retransmit(2), Drop(103)]);
}

#[test]
fn a_hole_that_the_agent_cannot_fill_is_the_senders() {
    let mut agent = started();
    // Segment 10 was lost before the agent; segment 8 on the hop.
    agent.send(11 * MS, BASE, 11..13);
    let both = sacked(seq(8), &blocks(&[(9, 10), (11, 12)]));
    assert_eq!(agent.ack(12 * MS, both, 101), [Retransmit(8), Forward(101)]);
    let one = sacked(seq(10), &blocks(&[(11, 13)]));
    assert_eq!(agent.ack(13 * MS, one, 102), [Forward(102)]);
    assert_eq!(agent.ack(14 * MS, one, 103), [Forward(103)]);
    // It comes again from the sender, and is not the agent's.
    assert_eq!(agent.data(15 * MS, segment(BASE, 10), 10), [Forward(10)]);
    assert_eq!(agent.ack(16 * MS, one, 104), [Forward(104)]);
    // Nor is one that the hop's queue has dropped.
    let mut agent = started();
    agent.snoop.refused(ONE, &segment(BASE, 2));
    assert_eq!(agent.ack(11 * MS, sacked(seq(2), &blocks(&[(3, 5)])), 101), [Forward(101)]);
}

#[test]
fn a_report_of_bytes_that_came_twice_is_no_loss() {
    let mut agent = started();
    for twice in [blocks(&[(0, 1)]), blocks(&[(4, 5), (3, 6)])] {
        assert_eq!(agent.ack(11 * MS, sacked(seq(2), &twice), 101), [Forward(101)]);
    }
    assert_eq!(agent.ack(12 * MS, sacked(seq(4), &blocks(&[(0, 1)])), 102), [Forward(102)]);
    assert_eq!(agent.snoop.counters().retransmitted_packets, 0);
}

proptest! {
    /// Blocks that no receiver would send change no byte and end no packet of the sender.
    #[test]
    fn any_blocks_are_survived(acks in prop::collection::vec((0..12u32, prop::collection::vec((any::<u32>(), any::<u32>()), 0..6)), 1..50)) {
        let mut agent = started();
        for (n, (number, any)) in acks.into_iter().enumerate() {
            let packet = 200 + n as u32;
            let actions = agent.ack(20 * MS, sacked(seq(number), &any), packet);
            let mine = |action: &&ccactl_link::snoop::Action<u32>| !matches!(action, Retransmit(_));
            let fate: Vec<_> = actions.iter().filter(mine).collect();
            prop_assert!(
                matches!(fate[..], [Forward(p) | ForwardWithoutSack(p) | Drop(p)] if *p == packet),
                "{actions:?}"
            );
        }
    }
}
