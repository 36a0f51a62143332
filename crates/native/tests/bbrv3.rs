//! BBRv3: what it decides differently from BBRv2, against vectors worked out by hand from tcp_bbr.c of google/bbr v3. What
//! the two share is tested with BBRv2.

mod bbrv2_driver;

use bbrv2_driver::{Ack, BDP, Driver, RTT_US, bound, bps, mode, next_round};
use ccactl_abi::layout::{UNBOUNDED_U32, UNBOUNDED_U64};
use ccactl_native::{CA_CWR, CA_LOSS, CA_OPEN, CA_RECOVERY};

const SECOND_US: u64 = 1_000_000;

/// PROBE_RTT does not come in between: on a constant delay it would, every 5 s.
const QUIET: &[(&str, i64)] = &[("probe_rtt_interval_ms", 1_000_000)];

fn rounds(driver: &mut Driver, rates: &[i32]) -> Vec<u32> {
    rates.iter().map(|&rate| driver.ack(Ack { rate, in_flight: (300, 300), ..next_round() }).mode).collect()
}

// ---- STARTUP ----

#[test]
fn the_first_pacing_rate_is_the_window_per_round_trip_at_four_ln_two() {
    let driver = Driver::new("bbrv3");
    // bw = 10 x 512 = 5120; 5120 x 1448 B x 2.773 = 20_558_356 (in 2^-24 B/us); x 10^6 / 2^24 = 1_225_373 B/s;
    // less 1 %: 1_213_119.
    assert_eq!(driver.socket.pacing_rate(), 1_213_119);
}

#[test]
fn startup_keeps_two_bdp() {
    let mut driver = Driver::new("bbrv3");
    let trace = driver.ack(Ack { acked: 10, rate: 10, ..next_round() });
    assert_eq!((trace.pacing_gain_milli, trace.cwnd_gain_milli), (2773, 2000));
    // The target is 2 x 20, plus 20 that came at once = 60: reached, no further growth.
    driver.socket.tp_mut().snd_cwnd = 61;
    driver.ack(Ack { acked: 20, rate: 20, ..next_round() });
    assert_eq!(driver.socket.cwnd(), 61);
}

#[test]
fn the_pipe_is_full_after_three_rounds_without_a_quarter_more() {
    let mut driver = Driver::new("bbrv3");
    // 125 is exactly a quarter more than 100 and still counts as growth; 156 is less than 1.25 x 125 = 156.25.
    assert_eq!(rounds(&mut driver, &[100, 125, 156, 156]), [mode::STARTUP; 4]);
    let trace = driver.ack(Ack { rate: 156, in_flight: (300, 300), ..next_round() });
    assert_eq!((trace.mode, trace.pacing_gain_milli, trace.cwnd_gain_milli), (mode::DRAIN, 347, 2000));
}

#[test]
fn growth_in_the_middle_of_a_round_restarts_the_count_at_once() {
    let mut driver = Driver::new("bbrv3");
    assert_eq!(rounds(&mut driver, &[100, 100, 100]), [mode::STARTUP; 3]);
    // Two rounds without growth so far. 130 >= 125 within the round: from there three more rounds are needed.
    let sent_at = Some(driver.delivered() - 1);
    driver.ack(Ack { after_us: 10, rate: 130, sent_at, in_flight: (300, 300), ..next_round() });
    assert_eq!(rounds(&mut driver, &[100, 100, 100]), [mode::STARTUP, mode::STARTUP, mode::DRAIN]);
}

#[test]
fn six_lossy_acks_in_a_round_of_recovery_end_startup() {
    // Two of 100 are lost with each ACK; 5 events are too few.
    for (events, phase) in [(5, mode::STARTUP), (6, mode::DRAIN)] {
        assert_eq!(after_lossy_startup_round(events, next_round()).0, phase, "{events} events");
    }
}

#[test]
fn startup_that_ends_by_loss_keeps_what_arrived_in_the_round() {
    // 100 packets in a round trip are the BDP.
    assert_eq!(after_lossy_startup_round(6, next_round()), (mode::DRAIN, BDP));
    // 150 packets over one and a half: the same rate and BDP, but 150 have been delivered in the round.
    let queued = Ack { rate: 150, interval_us: RTT_US * 3 / 2, ..next_round() };
    assert_eq!(after_lossy_startup_round(6, queued), (mode::DRAIN, 150));
}

/// A round of STARTUP in Recovery with so many ACKs that report losses, ended by `last`: phase and `inflight_hi`.
fn after_lossy_startup_round(events: u32, last: Ack) -> (u32, u32) {
    let mut driver = Driver::new("bbrv3");
    driver.ack(next_round());
    let sent_at = Some(driver.delivered());
    for i in 0..events {
        driver.ack(Ack { after_us: 10, sent_at, losses: 2, ..next_round() });
        if i == 0 {
            driver.socket.ssthresh();
            driver.socket.set_state(CA_RECOVERY);
        }
    }
    // The first lossy ACK was the third packet delivered: the round ends with a packet sent after it.
    let trace = driver.ack(Ack { sent_at: Some(3), in_flight: (250, 250), ..last });
    (trace.mode, trace.inflight_hi_pkts)
}

#[test]
fn a_timeout_or_an_undo_restarts_the_search_for_the_full_pipe() {
    type Event = fn(&mut Driver);
    let timeout: Event = |driver| {
        driver.socket.ssthresh();
        driver.socket.set_state(CA_LOSS);
        driver.socket.set_state(CA_OPEN);
    };
    let undo: Event = |driver| {
        driver.socket.ssthresh();
        driver.socket.undo_cwnd();
    };
    for event in [timeout, undo] {
        let mut driver = Driver::new("bbrv3");
        assert_eq!(rounds(&mut driver, &[100, 100, 100]), [mode::STARTUP; 3]);
        event(&mut driver);
        // One round to find a bandwidth again, three without growth.
        assert_eq!(rounds(&mut driver, &[100, 100, 100]), [mode::STARTUP; 3]);
        assert_eq!(rounds(&mut driver, &[100]), [mode::DRAIN]);
    }
}

#[test]
fn drain_lasts_until_a_bdp_is_in_flight_or_as_the_draft_has_it() {
    // Entered with the fourth round; with the draft's 3, rounds 1 to 3 of DRAIN go on and the next one ends it.
    for (limit, last) in [(0, mode::DRAIN), (3, mode::DOWN)] {
        let mut driver = Driver::with("bbrv3", &[("drain_max_rounds", limit)]);
        assert_eq!(rounds(&mut driver, &[100; 4])[3], mode::DRAIN);
        assert_eq!(rounds(&mut driver, &[100; 3]), [mode::DRAIN; 3]);
        assert_eq!(rounds(&mut driver, &[100]), [last], "limit {limit}");
    }
}

// ---- PROBE_BW ----

#[test]
fn gains_of_probe_bw_are_those_of_version_three() {
    let mut driver = Driver::cruising("bbrv3", &[]);
    let gains = |driver: &Driver| (driver.trace().pacing_gain_milli, driver.trace().cwnd_gain_milli);
    assert_eq!(gains(&driver), (1000, 2000));
    driver.ack(Ack { after_us: 3_000_001, ..next_round() });
    assert_eq!((driver.mode(), gains(&driver)), (mode::REFILL, (1000, 2000)));
    driver.ack(next_round());
    assert_eq!((driver.mode(), gains(&driver)), (mode::UP, (1250, 2250)));
    for _ in 0..3 {
        driver.ack(next_round());
    }
    assert_eq!((driver.mode(), gains(&driver)), (mode::DOWN, (910, 2000)));
}

#[test]
fn a_probe_ends_after_three_rounds_without_a_quarter_more_whatever_is_in_flight() {
    let mut driver = Driver::probing_up("bbrv3", &[]);
    // 300 in flight are three BDP, where version 2 would have stopped.
    assert_eq!(rounds(&mut driver, &[100, 124, 100]), [mode::UP, mode::UP, mode::DOWN]);
    assert_eq!(driver.trace().inflight_hi_pkts, UNBOUNDED_U32);
}

#[test]
fn a_probe_goes_on_while_the_bandwidth_grows() {
    let mut driver = Driver::probing_up("bbrv3", &[]);
    // 125 is a quarter more than 100: three rounds from there; 156 < 156.25.
    assert_eq!(rounds(&mut driver, &[100, 100, 125, 156, 156]), [mode::UP; 5]);
    assert_eq!(rounds(&mut driver, &[156]), [mode::DOWN]);
}

#[test]
fn the_plateau_of_the_probe_before_does_not_end_the_next_one() {
    let mut driver = Driver::probing_up("bbrv3", QUIET);
    rounds(&mut driver, &[100, 100, 100]);
    for _ in 0..3 {
        driver.ack(next_round());
    }
    driver.ack(Ack { after_us: 3_000_001, ..next_round() });
    assert_eq!((driver.mode(), driver.ack(next_round()).mode), (mode::REFILL, mode::UP));
    assert_eq!(rounds(&mut driver, &[100, 100, 100]), [mode::UP, mode::UP, mode::DOWN]);
}

/// After a probe that lost 10 of 200: `inflight_hi` = 190 + 0.02 x 190 / 0.98 = 193, and the next probe has begun with
/// that window.
fn bounded_and_probing() -> Driver {
    let mut driver = Driver::probing_up("bbrv3", QUIET);
    driver.ack(Ack { after_us: 1, timer_losses: 10, in_flight: (200, 189), ..next_round() });
    assert_eq!((driver.mode(), driver.trace().inflight_hi_pkts), (mode::DOWN, 193));
    for _ in 0..3 {
        driver.ack(next_round());
    }
    driver.ack(Ack { after_us: 3_000_001, ..next_round() });
    driver.socket.tp_mut().snd_cwnd = 193;
    assert_eq!(driver.ack(next_round()).mode, mode::UP);
    driver
}

#[test]
fn rounds_in_which_inflight_hi_is_the_limit_do_not_count_as_plateau() {
    let mut driver = bounded_and_probing();
    for _ in 0..5 {
        let inflight_hi = driver.trace().inflight_hi_pkts;
        let tp = driver.socket.tp_mut();
        tp.snd_cwnd = inflight_hi;
        tp.set_cwnd_limited(true);
        assert_eq!(driver.ack(next_round()).mode, mode::UP);
    }
    driver.socket.tp_mut().set_cwnd_limited(false);
    let modes: Vec<u32> = (0..3).map(|_| driver.ack(next_round()).mode).collect();
    assert_eq!(modes, [mode::UP, mode::UP, mode::DOWN]);
}

#[test]
fn a_probe_after_a_lossy_one_still_stops_at_inflight_hi() {
    let mut driver = bounded_and_probing();
    let limit = 193 - driver.burst();
    let sent_at = Some(driver.delivered() - 1);
    let at = |flight| Ack { after_us: 1, sent_at, in_flight: (flight, flight), ..next_round() };
    assert_eq!(driver.ack(at(limit - 1)).mode, mode::UP);
    assert_eq!(driver.ack(at(limit)).mode, mode::DOWN);
}

#[test]
fn what_was_acknowledged_in_a_probe_counts_for_inflight_hi_although_the_window_was_idle_meanwhile() {
    let mut driver = bounded_and_probing();
    // One packet of growth per 193 acknowledged in the first round: 100, a pause, and 93 more.
    let sent_at = Some(driver.delivered() - 1);
    let mut part = |acked, limited| {
        let tp = driver.socket.tp_mut();
        tp.snd_cwnd = 193;
        tp.set_cwnd_limited(limited);
        driver.ack(Ack { after_us: 1, acked, sent_at, ..next_round() }).inflight_hi_pkts
    };
    assert_eq!((part(100, true), part(1, false), part(92, true), part(1, true)), (193, 193, 193, 194));
}

// ---- PROBE_RTT ----

#[test]
fn probe_rtt_comes_five_seconds_after_the_last_lower_rtt() {
    let mut driver = Driver::cruising("bbrv3", &[]);
    // Five rounds so far, all at the minimum of the handshake: as low is not lower.
    driver.ack(Ack { after_us: 4 * SECOND_US, ..next_round() });
    let passed_us = 4 * SECOND_US + 5 * RTT_US;
    driver.ack(Ack { after_us: 5 * SECOND_US - passed_us, ..next_round() });
    assert_ne!(driver.mode(), mode::PROBE_RTT);
    driver.ack(Ack { after_us: 1, ..next_round() });
    assert_eq!((driver.mode(), driver.socket.cwnd()), (mode::PROBE_RTT, BDP / 2));
}

#[test]
fn a_lower_rtt_puts_probe_rtt_off() {
    let mut driver = Driver::cruising("bbrv3", &[]);
    driver.ack(Ack { after_us: 4 * SECOND_US, rtt_us: RTT_US as i64 - 1, ..next_round() });
    driver.ack(Ack { after_us: 5 * SECOND_US, ..next_round() });
    assert_ne!(driver.mode(), mode::PROBE_RTT);
    assert_eq!(driver.ack(Ack { after_us: 1, ..next_round() }).mode, mode::PROBE_RTT);
}

// ---- losses ----

#[test]
fn a_lossy_round_cuts_rate_and_flight_but_not_below_what_arrived() {
    let mut driver = Driver::cruising("bbrv3", &[]);
    let mut lossy_round = |rate| {
        driver.ack(Ack { after_us: 1, rate, losses: 5, in_flight: (150, 140), ..next_round() });
        driver.socket.tp_mut().snd_cwnd = 200;
        let trace = driver.ack(Ack { rate, ..next_round() });
        (trace.bw_lo_bps, trace.inflight_lo_pkts, trace.bw_bps, trace.v1 & 15)
    };
    // The round began with the ACK that ended DRAIN, and that had 100: they hold for the rate. 0.7 x 200 = 140 > 100.
    assert_eq!(lossy_round(60), (bps(100), 140, bps(100), bound::INFLIGHT_LO));
    // Now it began with 60. 0.7 x 100 = 70 > 60; 0.7 x 140 = 98. bw = min(max_bw, bw_lo).
    assert_eq!(lossy_round(55), (bps(70), 98, bps(70), bound::INFLIGHT_LO | bound::BW_LO));
}

/// UP on a path with a BDP of 30 packets.
fn probing_a_small_path(tunables: &[(&str, i64)]) -> Driver {
    let mut driver = Driver::with("bbrv3", tunables);
    let ack = Ack { rate: 30, in_flight: (30, 30), ..next_round() };
    for _ in 0..5 {
        driver.ack(ack.clone());
    }
    driver.socket.tp_mut().snd_cwnd = 60;
    driver.ack(Ack { after_us: 3_000_001, ..ack.clone() });
    assert_eq!(driver.ack(ack).mode, mode::UP);
    driver
}

#[test]
fn a_tail_loss_repaired_by_a_probe_is_one_packet_of_what_had_arrived_and_one() {
    // 1 of 30 + 1 exceeds 2 %: the flight of 31 is the new bound; 0.7 x (30 + 2 in UP) = 22 is less.
    for (tlp_is_loss, expected) in [(1, (mode::DOWN, 31)), (0, (mode::UP, UNBOUNDED_U32))] {
        let mut driver = probing_a_small_path(&[("tlp_is_loss", tlp_is_loss)]);
        driver.socket.ssthresh();
        driver.socket.set_state(CA_CWR);
        let trace = driver.ack(Ack { after_us: 1, rate: 30, in_flight: (31, 30), ..next_round() });
        assert_eq!((trace.mode, trace.inflight_hi_pkts), expected, "tlp_is_loss {tlp_is_loss}");
    }
    // 1 of 101 does not.
    let mut driver = Driver::probing_up("bbrv3", &[]);
    driver.socket.set_state(CA_CWR);
    let trace = driver.ack(Ack { after_us: 1, ..next_round() });
    assert_eq!((trace.mode, trace.inflight_hi_pkts), (mode::UP, UNBOUNDED_U32));
}

#[test]
fn the_ack_of_a_tail_probe_may_end_the_round_of_an_earlier_loss_and_keeps_what_had_arrived() {
    let mut driver = Driver::cruising("bbrv3", &[]);
    driver.ack(Ack { after_us: 1, losses: 5, ..next_round() });
    driver.socket.tp_mut().snd_cwnd = 100;
    driver.socket.set_state(CA_CWR);
    // The round ends: 100 arrived in it, which is more than 0.7 x 100.
    let trace = driver.ack(Ack { rate: 10, ..next_round() });
    assert_eq!((trace.bw_lo_bps, trace.inflight_lo_pkts), (bps(100), 100));
    // The next lossy round: the 100 of before the tail loss still count, although 10 arrive now.
    driver.socket.set_state(CA_OPEN);
    driver.ack(Ack { after_us: 1, rate: 10, losses: 5, ..next_round() });
    let trace = driver.ack(Ack { rate: 10, ..next_round() });
    assert_eq!((trace.bw_lo_bps, trace.inflight_lo_pkts), (bps(100), 100));
}

#[test]
fn undo_restores_inflight_hi_and_the_window() {
    let mut driver = Driver::probing_up("bbrv3", &[]);
    driver.socket.tp_mut().snd_cwnd = 210;
    driver.socket.ssthresh();
    driver.socket.set_state(CA_RECOVERY);
    assert_eq!(driver.probe_loses(200, 10).inflight_hi_pkts, 193);
    assert_eq!(driver.socket.undo_cwnd(), 210);
    assert_eq!(driver.ack(next_round()).inflight_hi_pkts, UNBOUNDED_U32);
}

// ---- ECN ----

const ECN: &[(&str, i64)] = &[("ecn_enable", 1), ("ecn_max_rtt_us", 100_000)];

/// CRUISE; the ACK of a marked packet, upon which the kernel enters CWR.
fn marked(algorithm: &str, tunables: &[(&str, i64)]) -> Driver {
    let mut driver = Driver::cruising(algorithm, tunables);
    driver.socket.set_state(CA_CWR);
    driver.ack(Ack { after_us: 1, marked: 1, ..next_round() });
    driver
}

#[test]
fn marks_cut_the_flight_and_leave_the_rate() {
    for (algorithm, rate_is_cut) in [("bbrv2", true), ("bbrv3", false)] {
        let trace = marked(algorithm, ECN).trace();
        assert_ne!(trace.inflight_lo_pkts, UNBOUNDED_U32, "{algorithm}");
        assert_eq!(trace.bw_lo_bps != UNBOUNDED_U64, rate_is_cut, "{algorithm}");
    }
}

#[test]
fn when_the_marks_cease_the_next_probe_follows_at_once() {
    let mut driver = marked("bbrv3", ECN);
    assert_eq!(driver.ack(Ack { after_us: 1, ..next_round() }).mode, mode::CRUISE);
    driver.socket.set_state(CA_OPEN);
    let trace = driver.ack(Ack { after_us: 1, ..next_round() });
    assert_eq!((trace.mode, trace.inflight_lo_pkts), (mode::REFILL, UNBOUNDED_U32));
}

#[test]
fn exactly_half_of_the_flight_marked_is_tolerated() {
    for (marked, expected) in [(50, (mode::UP, UNBOUNDED_U32)), (51, (mode::DOWN, 120))] {
        let mut driver = Driver::probing_up("bbrv3", ECN);
        let trace = driver.ack(Ack { after_us: 1, marked, in_flight: (120, 119), ..next_round() });
        assert_eq!((trace.mode, trace.inflight_hi_pkts), expected, "{marked} of 100");
    }
}

#[test]
fn a_limit_of_zero_lets_marks_count_at_any_rtt() {
    for (limit_us, counts) in [(0, true), (RTT_US as i64 - 1, false), (RTT_US as i64, true)] {
        let trace = marked("bbrv3", &[("ecn_enable", 1), ("ecn_max_rtt_us", limit_us)]).trace();
        assert_eq!(trace.inflight_lo_pkts != UNBOUNDED_U32, counts, "limit {limit_us}");
    }
}
