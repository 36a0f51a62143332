//! BBRv2 with the readings of Cho & Cho 2023, section 3.2: each tunable by itself, against what v2alpha does.

mod bbrv2_driver;

use bbrv2_driver::{Ack, BDP, Driver, RTT_US, mode, next_round};
use ccactl_abi::layout::UNBOUNDED_U32;

/// A probe that has reached its flight without a loss.
fn clean_probe(tunables: &[(&str, i64)], flight: u32) -> (Driver, u32) {
    let mut driver = Driver::probing_up("bbrv2", tunables);
    driver.ack(Ack { after_us: RTT_US, in_flight: (flight, flight), ..next_round() });
    // The burst that is about to leave counts.
    let expected = flight + driver.burst();
    driver.ack(Ack { in_flight: (flight, flight), ..next_round() });
    assert_eq!(driver.mode(), mode::DOWN);
    (driver, expected)
}

#[test]
fn a_clean_probe_bounds_the_flight_where_it_ended() {
    for flight in [140, 200] {
        let (driver, expected) = clean_probe(&[("up_sets_hi", 1)], flight);
        assert_eq!(driver.trace().inflight_hi_pkts, expected);
    }
    assert_eq!(clean_probe(&[], 200).0.trace().inflight_hi_pkts, UNBOUNDED_U32);
}

/// Four rounds without growth and with a BDP in flight.
fn full_pipe(tunables: &[(&str, i64)]) -> Driver {
    let mut driver = Driver::starting("bbrv2", tunables);
    for _ in 0..4 {
        driver.ack(next_round());
    }
    assert_eq!(driver.mode(), mode::DRAIN);
    driver
}

#[test]
fn the_end_of_startup_bounds_the_flight_by_the_bdp() {
    let mut driver = full_pipe(&[("startup_sets_hi", 1)]);
    assert_eq!(driver.trace().inflight_hi_pkts, BDP);
    // A larger flight that came through counts more, as always.
    assert_eq!(driver.ack(Ack { in_flight: (150, 150), ..next_round() }).inflight_hi_pkts, 150);
    assert_eq!(full_pipe(&[]).trace().inflight_hi_pkts, UNBOUNDED_U32);
}

/// One ACK in STARTUP that shows `losses` of a flight of 150 packets, sent two rounds before.
fn lossy_startup(losses: u32, tunables: &[(&str, i64)]) -> Driver {
    let mut driver = Driver::starting("bbrv2", tunables);
    driver.ack(Ack { rate: 10, in_flight: (150, 150), ..next_round() });
    driver.ack(Ack { rate: 20, in_flight: (150, 150), ..next_round() });
    driver.ack(Ack { rate: 40, losses, in_flight: (150, 150), ..next_round() });
    driver
}

#[test]
fn the_first_flight_beyond_the_threshold_ends_startup() {
    let at_once = [("startup_ends_at_once", 1)];
    let driver = lossy_startup(4, &at_once);
    assert_eq!(driver.mode(), mode::DRAIN);
    assert_eq!(driver.trace().inflight_hi_pkts, 150);
    // 3 of 150 are 2 %: not beyond.
    assert_eq!(lossy_startup(3, &at_once).mode(), mode::STARTUP);
    assert_eq!(lossy_startup(4, &[]).mode(), mode::STARTUP);
}

/// Phases of the round that ends DRAIN and of those after it, which have so many packets in flight.
fn phases_after_drain(tunables: &[(&str, i64)], flight: u32) -> Vec<u32> {
    let mut driver = full_pipe(tunables);
    let first = driver.ack(Ack { in_flight: (BDP, BDP - 10), ..next_round() }).mode;
    let mut phase = || driver.ack(Ack { in_flight: (flight, flight), ..next_round() }).mode;
    [first, phase(), phase(), phase()].to_vec()
}

#[test]
fn cruise_begins_after_the_third_round_of_down() {
    use mode::{CRUISE, DOWN};
    // Whether the queue is gone or not.
    for flight in [50, 300] {
        assert_eq!(phases_after_drain(&[("down_rounds", 3)], flight), [DOWN, DOWN, DOWN, CRUISE], "{flight}");
    }
    assert_eq!(phases_after_drain(&[], 300)[0], CRUISE);
}
