//! BBRv2's send ring: what was in flight, and lost, when an acknowledged packet left. v0 of the trace is the loss rate of
//! that flight in thousandths, −1 when the ring no longer knows it.

mod bbrv2_driver;

use bbrv2_driver::{Ack, Driver, RTT_US, next_round};
use std::collections::VecDeque;

/// Slots of the ring.
const SLOTS: u32 = 512;

fn same_round(sent_at: u32, in_flight: u32) -> Ack {
    Ack { after_us: 1, sent_at: Some(sent_at), in_flight: (in_flight, in_flight), ..next_round() }
}

/// A connection whose `tp->delivered` starts at `first`.
fn starting_at(first: u32) -> Driver {
    let mut driver = Driver::new("bbrv2");
    driver.socket.release();
    driver.socket.tp_mut().delivered = first;
    driver.socket.init();
    driver
}

#[test]
fn losses_are_counted_from_the_sending_of_the_acknowledged_packet() {
    let mut driver = starting_at(1000);
    // Bursts with the keys 1000, 1001, 1002; each ACK closes one with the flight before it, and marks losses.
    driver.ack(Ack { losses: 3, in_flight: (40, 40), ..next_round() });
    driver.ack(Ack { losses: 5, in_flight: (50, 50), ..next_round() });
    driver.ack(Ack { losses: 0, in_flight: (80, 80), ..next_round() });
    // 8 of 40, 5 of 50, 0 of 80.
    assert_eq!(driver.ack(same_round(1000, 80)).v0, 200);
    assert_eq!(driver.ack(same_round(1001, 80)).v0, 100);
    assert_eq!(driver.ack(same_round(1002, 80)).v0, 0);
}

#[test]
fn a_packet_sent_before_the_ring_began_is_not_found() {
    let mut driver = starting_at(1000);
    assert_eq!(driver.ack(same_round(999, 10)).v0, -1);
    assert_eq!(driver.ack(same_round(1000 - SLOTS, 10)).v0, -1);
}

#[test]
fn an_overwritten_burst_is_not_found() {
    // 1000 and 1512 share a slot: after 511 ACKs the first burst is still there, after 512 it is not.
    for (acks, expected) in [(SLOTS - 1, 0), (SLOTS, -1)] {
        let mut driver = starting_at(1000);
        for _ in 0..acks {
            // Above 256 packets the slots would widen.
            driver.socket.tp_mut().snd_cwnd = 100;
            driver.ack(Ack { after_us: 1, ..next_round() });
        }
        assert_eq!(driver.ack(same_round(1000, 10)).v0, expected, "after {acks} ACKs");
    }
}

#[test]
fn duplicate_acks_belong_to_the_same_burst_and_its_largest_flight_counts() {
    let mut driver = starting_at(1000);
    driver.ack(Ack { acked: 0, losses: 2, in_flight: (100, 100), ..next_round() });
    driver.ack(Ack { acked: 0, losses: 2, in_flight: (60, 60), ..next_round() });
    assert_eq!(driver.delivered(), 1000);
    // Both losses came after the first packet of the burst: 4 of 100.
    assert_eq!(driver.ack(same_round(1000, 30)).v0, 40);
}

#[test]
fn keys_wrap_around() {
    let mut driver = starting_at(u32::MAX - 1);
    driver.ack(Ack { losses: 1, in_flight: (50, 50), ..next_round() });
    driver.ack(Ack { in_flight: (50, 50), ..next_round() });
    assert_eq!(driver.delivered(), 0);
    driver.ack(Ack { in_flight: (50, 50), ..next_round() });
    assert_eq!(driver.ack(same_round(u32::MAX - 1, 50)).v0, 20);
    assert_eq!(driver.ack(same_round(u32::MAX, 50)).v0, 0);
    assert_eq!(driver.ack(same_round(0, 50)).v0, 0);
}

#[test]
fn lost_wraps_around() {
    let mut driver = Driver::new("bbrv2");
    driver.socket.release();
    driver.socket.tp_mut().lost = u32::MAX - 2;
    driver.socket.init();
    assert_eq!(driver.ack(Ack { losses: 5, in_flight: (50, 50), ..next_round() }).v0, 100);
}

#[test]
fn a_large_window_puts_neighbours_into_one_slot() {
    let mut driver = starting_at(4096);
    // 512 << 2 spans two windows of 1000. The slots widen by one step per ACK.
    for _ in 0..4 {
        driver.socket.tp_mut().snd_cwnd = 1000;
        driver.ack(Ack { acked: 0, ..next_round() });
    }
    driver.socket.tp_mut().snd_cwnd = 1000;
    driver.ack(Ack { acked: 4, ..next_round() });
    // 4100, 4101, 4102, 4103 share a slot: losses from the first, flight from the last that left.
    for in_flight in [600, 700, 800] {
        driver.socket.tp_mut().snd_cwnd = 1000;
        driver.ack(Ack { losses: 8, in_flight: (in_flight, in_flight), ..next_round() });
    }
    driver.socket.tp_mut().snd_cwnd = 1000;
    // Closes 4103 with 800: 24 of 800 for each of the four.
    assert_eq!(driver.ack(Ack { sent_at: Some(4100), in_flight: (800, 800), ..next_round() }).v0, 30);
}

#[test]
fn a_burst_from_before_the_slots_widened_is_still_found() {
    let mut driver = starting_at(5001);
    driver.socket.tp_mut().snd_cwnd = 200;
    driver.ack(Ack { losses: 4, in_flight: (100, 100), ..next_round() });
    // From here on two keys share a slot, 5002 and 5003 the next one; 5001 lies where single slots have it.
    driver.socket.tp_mut().snd_cwnd = 300;
    driver.ack(next_round());
    driver.socket.tp_mut().snd_cwnd = 300;
    assert_eq!(driver.ack(same_round(5001, 100)).v0, 40);
}

/// Samples without a burst in slow start up to this window. Packets are acknowledged in the order of their sending, two for each of which
/// leave.
fn missed_in_slow_start(first: u32, window: usize) -> usize {
    let mut driver = starting_at(first);
    let mut sent_at: VecDeque<u32> = [first; 10].into();
    let mut missed = 0;
    while sent_at.len() < window {
        let pkts = u32::try_from(sent_at.len()).unwrap();
        let trace = driver.ack(Ack {
            after_us: RTT_US / u64::from(pkts),
            rate: pkts.cast_signed(),
            sent_at: sent_at.pop_front(),
            in_flight: (pkts, pkts - 1),
            ..next_round()
        });
        missed += usize::from(trace.v0 == -1);
        assert_eq!(driver.socket.tp().snd_cwnd, pkts + 1, "slow start");
        sent_at.extend([driver.delivered(); 2]);
    }
    missed
}

#[test]
fn no_burst_of_the_window_is_overwritten_when_the_slots_widen() {
    // 256, 512, 1024 and 2048 packets are passed; where in the ring this happens depends on the first key.
    for first in (0..SLOTS * 16).step_by(331).chain([u32::MAX - 3000]) {
        assert_eq!(missed_in_slow_start(first, 2500), 0, "from {first} on");
    }
}

#[test]
fn an_ack_without_a_newly_acknowledged_packet_finds_nothing() {
    let mut driver = starting_at(1000);
    driver.ack(next_round());
    driver.socket.cong_control(0, 0, &ccactl_native::RateSample::default());
    assert_eq!(driver.trace().v0, -1);
}
