//! BBRv2: STARTUP, bounds, phases, against vectors worked out by hand.

mod bbrv2_driver;

use bbrv2_driver::{Ack, BDP, Driver, RTT_US, bound, bps, mode, next_round};
use ccactl_abi::layout::{INFINITE_SSTHRESH, UNBOUNDED_U32, UNBOUNDED_U64};

const SECOND_US: u64 = 1_000_000;

#[test]
fn the_first_pacing_rate_is_the_window_per_round_trip_at_startup_gain() {
    let driver = Driver::new("bbrv2");
    // bw = 10 x 512 = 5120; 5120 x 1448 B x 2.887 = 21_403_525 (in 2^-24 B/us); x 10^6 / 2^24 = 1_275_749 B/s;
    // less 1 %: 1_262_991.
    assert_eq!(driver.socket.pacing_rate(), 1_262_991);
    assert_eq!(driver.socket.snd_ssthresh(), INFINITE_SSTHRESH);
    assert_eq!(driver.socket.tp().inet_conn.sk.sk_pacing_status, 1);
}

#[test]
fn startup_grows_the_window_by_what_is_acknowledged() {
    let mut driver = Driver::new("bbrv2");
    let trace = driver.ack(Ack { acked: 10, rate: 10, ..next_round() });
    assert_eq!((trace.mode, trace.pacing_gain_milli, trace.cwnd_gain_milli), (mode::STARTUP, 2887, 2887));
    assert_eq!((trace.bw_bps, trace.min_rtt_us), (bps(10), RTT_US as u32));
    assert_eq!(driver.socket.cwnd(), 20);
    // The target is 2.887 x 20 rounded up = 58, plus 20 that came at once = 78: reached, no further growth.
    driver.socket.tp_mut().snd_cwnd = 79;
    driver.ack(Ack { acked: 20, rate: 20, ..next_round() });
    assert_eq!(driver.socket.cwnd(), 79);
}

#[test]
fn startup_never_lowers_the_pacing_rate() {
    let mut driver = Driver::new("bbrv2");
    driver.ack(Ack { rate: 40, ..next_round() });
    let rate = driver.socket.pacing_rate();
    driver.socket.tp_mut().inet_conn.sk.sk_pacing_rate = rate + 1;
    driver.ack(Ack { rate: 40, ..next_round() });
    assert_eq!(driver.socket.pacing_rate(), rate + 1);
}

#[test]
fn the_pipe_is_full_after_three_rounds_without_a_quarter_more() {
    let mut driver = Driver::new("bbrv2");
    // 125 is exactly a quarter more than 100 and still counts as growth; 156 is less than 1.25 x 125 = 156.25.
    for (rate, phase) in [(100, 0), (125, 0), (156, 0), (156, 0)] {
        let trace = driver.ack(Ack { rate, in_flight: (300, 300), ..next_round() });
        assert_eq!(trace.mode, phase, "rate {rate}");
    }
    let trace = driver.ack(Ack { rate: 156, in_flight: (300, 300), ..next_round() });
    assert_eq!((trace.mode, trace.pacing_gain_milli, trace.cwnd_gain_milli), (mode::DRAIN, 347, 2887));
    assert_eq!(driver.socket.snd_ssthresh(), 156);
}

#[test]
fn rounds_limited_by_the_application_do_not_fill_the_pipe() {
    let mut driver = Driver::new("bbrv2");
    for _ in 0..10 {
        assert_eq!(driver.ack(Ack { app_limited: true, ..next_round() }).mode, mode::STARTUP);
    }
}

#[test]
fn several_acks_of_one_round_count_once() {
    let mut driver = Driver::new("bbrv2");
    driver.ack(next_round());
    let sent_at = Some(driver.delivered() - 1);
    for _ in 0..10 {
        assert_eq!(driver.ack(Ack { after_us: 10, sent_at, ..next_round() }).mode, mode::STARTUP);
    }
}

#[test]
fn drain_ends_with_one_bdp_in_flight() {
    let mut driver = Driver::new("bbrv2");
    for _ in 0..4 {
        driver.ack(Ack { in_flight: (250, 250), ..next_round() });
    }
    assert_eq!(driver.ack(Ack { in_flight: (102, 101), ..next_round() }).mode, mode::DRAIN);
    // 100 in flight after the ACK ends DRAIN; 101 before it are more than a BDP, so DOWN goes on.
    assert_eq!(driver.ack(Ack { in_flight: (101, 100), ..next_round() }).mode, mode::DOWN);
    let trace = driver.ack(Ack { in_flight: (100, 99), ..next_round() });
    assert_eq!((trace.mode, trace.pacing_gain_milli, trace.cwnd_gain_milli), (mode::CRUISE, 1000, 2000));
}

/// A round of STARTUP in Recovery with so many ACKs that each mark two of 100 packets lost.
fn lossy_startup_round(events: u32) -> Driver {
    let mut driver = Driver::new("bbrv2");
    driver.ack(next_round());
    let sent_at = Some(driver.delivered());
    for i in 0..events {
        driver.ack(Ack { after_us: 10, sent_at, losses: 2, ..next_round() });
        if i == 0 {
            driver.socket.ssthresh();
            driver.socket.set_state(ccactl_native::CA_RECOVERY);
        }
    }
    driver
}

#[test]
fn eight_lossy_acks_in_a_round_of_recovery_end_startup_at_one_bdp() {
    let mut driver = lossy_startup_round(8);
    assert_eq!(driver.mode(), mode::STARTUP);
    let first_of_round = Some(2);
    // The end of the loss round: the packet left when 1 packet was delivered, 16 of its 100 are lost, more than 2 %.
    let trace = driver.ack(Ack { sent_at: first_of_round, in_flight: (250, 250), ..next_round() });
    assert_eq!((trace.mode, trace.v0), (mode::STARTUP, 160));
    let trace = driver.ack(Ack { sent_at: Some(3), in_flight: (250, 250), ..next_round() });
    assert_eq!(trace.mode, mode::DRAIN);
    assert_eq!(trace.inflight_hi_pkts, BDP);
}

#[test]
fn seven_do_not() {
    let mut driver = lossy_startup_round(7);
    driver.ack(Ack { sent_at: Some(2), in_flight: (250, 250), ..next_round() });
    let trace = driver.ack(Ack { sent_at: Some(3), in_flight: (250, 250), ..next_round() });
    assert_eq!((trace.mode, trace.inflight_hi_pkts), (mode::STARTUP, UNBOUNDED_U32));
}

#[test]
fn cruise_waits_two_to_three_seconds() {
    for seed in 0..20 {
        let mut driver = Driver::new("bbrv2");
        driver.socket.set_seed(seed);
        for _ in 0..5 {
            driver.ack(next_round());
        }
        assert_eq!(driver.ack(Ack { after_us: 2 * SECOND_US, ..next_round() }).mode, mode::CRUISE);
        assert_eq!(driver.ack(Ack { after_us: SECOND_US, ..next_round() }).mode, mode::REFILL);
    }
}

#[test]
fn cruise_waits_no_longer_than_one_round_per_packet_of_the_bdp() {
    // BDP of 8: 8 rounds of 32 ms are over long before 2 s. One of {0, 1} rounds is counted at the start of DOWN.
    let mut driver = Driver::new("bbrv2");
    for _ in 0..5 {
        driver.ack(Ack { rate: 8, in_flight: (8, 8), ..next_round() });
    }
    assert_eq!(driver.mode(), mode::CRUISE);
    let rounds = (1..).find(|_| driver.ack(Ack { rate: 8, in_flight: (8, 8), ..next_round() }).mode == mode::REFILL);
    assert!(matches!(rounds, Some(7 | 8)), "{rounds:?}");
}

#[test]
fn a_probe_without_losses_ends_at_one_and_a_quarter_bdp() {
    let mut driver = Driver::probing_up("bbrv2", &[]);
    assert_eq!(driver.trace().pacing_gain_milli, 1250);
    // Not before a min_rtt has passed, whatever is in flight.
    assert_eq!(driver.ack(Ack { after_us: RTT_US, in_flight: (200, 200), ..next_round() }).mode, mode::UP);
    // Aim: 1.25 x 100 + 2 = 127; the burst of 3 packets (3.6 kB/ms at 1448 B) about to leave counts: 123 + 3 < 127.
    let aim = 127 - driver.burst();
    assert_eq!(driver.ack(Ack { in_flight: (aim - 1, aim - 1), ..next_round() }).mode, mode::UP);
    let trace = driver.ack(Ack { in_flight: (aim, aim), ..next_round() });
    assert_eq!((trace.mode, trace.pacing_gain_milli, trace.inflight_hi_pkts), (mode::DOWN, 750, UNBOUNDED_U32));
}

#[test]
fn a_lossy_probe_cuts_at_the_packet_where_two_percent_were_reached() {
    let mut driver = Driver::probing_up("bbrv2", &[]);
    // 10 of 200 are lost at the end of the flight: 190 before the burst, p = 0.02 x 190 / 0.98 = 3.88 -> 193.
    let trace = driver.probe_loses(200, 10);
    assert_eq!((trace.mode, trace.v0, trace.inflight_hi_pkts), (mode::DOWN, 50, 193));
}

#[test]
fn losses_before_the_burst_are_taken_off_the_budget() {
    let mut driver = Driver::probing_up("bbrv2", &[]);
    // 3 of 200 are below 2 %: the probe goes on.
    let sent_at = Some(driver.delivered());
    assert_eq!(driver.probe_loses(200, 3).mode, mode::UP);
    // 4 more, a packet of the same burst: 7 of 200. Before them 196 in flight and 3 lost: (3.92 - 3) / 0.98 = 0.94 -> 0.
    let trace = driver.ack(Ack { after_us: 1, sent_at, losses: 4, in_flight: (200, 190), ..next_round() });
    assert_eq!((trace.mode, trace.v0, trace.inflight_hi_pkts), (mode::DOWN, 35, 196));
}

#[test]
fn the_lost_prefix_counts_for_the_flight_too() {
    let mut driver = Driver::probing_up("bbrv2", &[]);
    // 10 of 109: 0.02 x 99 = 1.98, but a second lost packet makes the flight 101, of which 2 are just below 2 %.
    assert_eq!(driver.probe_loses(109, 10).inflight_hi_pkts, 101);
}

#[test]
fn exactly_two_percent_are_tolerated() {
    let mut driver = Driver::probing_up("bbrv2", &[]);
    let trace = driver.probe_loses(200, 4);
    assert_eq!((trace.mode, trace.v0, trace.inflight_hi_pkts), (mode::UP, 20, UNBOUNDED_U32));
}

#[test]
fn the_cut_is_no_deeper_than_seventy_percent_of_what_the_flow_aims_at() {
    let mut driver = Driver::probing_up("bbrv2", &[]);
    // 20 in flight, 10 lost: cut point 10. The aim in UP is BDP + 2 = 102 (below cwnd); 0.7 x 102 = 71.
    assert_eq!(driver.probe_loses(20, 10).inflight_hi_pkts, 71);
}

#[test]
fn a_probe_limited_by_the_application_sets_no_bound() {
    let mut driver = Driver::probing_up("bbrv2", &[]);
    let trace = driver.ack(Ack { after_us: 1, losses: 10, in_flight: (200, 189), app_limited: true, ..next_round() });
    assert_eq!((trace.mode, trace.inflight_hi_pkts), (mode::DOWN, UNBOUNDED_U32));
}

#[test]
fn losses_outside_a_probe_do_not_move_inflight_hi() {
    let mut driver = Driver::cruising("bbrv2", &[]);
    assert_eq!(driver.probe_loses(200, 50).inflight_hi_pkts, UNBOUNDED_U32);
}

/// After a probe that lost: inflight_hi = 193, and back to CRUISE. The losses were marked by RACK's timer: the round in
/// which an ACK reports losses would lower the short-term bounds as well.
fn bounded() -> Driver {
    let mut driver = Driver::probing_up("bbrv2", &[]);
    let trace = driver.ack(Ack { after_us: 1, timer_losses: 10, in_flight: (200, 189), ..next_round() });
    assert_eq!((trace.mode, trace.inflight_hi_pkts), (mode::DOWN, 193));
    for _ in 0..3 {
        driver.ack(next_round());
    }
    assert_eq!(driver.mode(), mode::CRUISE);
    driver
}

#[test]
fn cruise_leaves_fifteen_percent_of_inflight_hi() {
    let mut driver = bounded();
    driver.socket.tp_mut().snd_cwnd = 200;
    let trace = driver.ack(next_round());
    // 15 % of 193 is 28.95 -> 28.
    assert_eq!((driver.socket.cwnd(), trace.v1 & 7), (165, bound::HEADROOM));
}

#[test]
fn refill_and_up_may_use_inflight_hi() {
    let mut driver = bounded();
    driver.socket.tp_mut().snd_cwnd = 200;
    let trace = driver.ack(Ack { after_us: 3 * SECOND_US, ..next_round() });
    assert_eq!((trace.mode, driver.socket.cwnd(), trace.v1 & 7), (mode::REFILL, 193, bound::INFLIGHT_HI));
}

#[test]
fn the_probe_after_a_lossy_one_stops_at_inflight_hi_and_goes_on_when_nothing_is_lost() {
    let mut driver = bounded();
    driver.ack(Ack { after_us: 3 * SECOND_US, ..next_round() });
    assert_eq!(driver.ack(next_round()).mode, mode::UP);
    // At the old limit, the burst about to leave included: stop before it hurts.
    let limit = 193 - driver.burst();
    let sent_at = Some(driver.delivered() - 1);
    let at = |flight| Ack { after_us: 1, sent_at, in_flight: (flight, flight), ..next_round() };
    assert_eq!(driver.ack(at(limit - 1)).mode, mode::UP);
    assert_eq!(driver.ack(at(limit)).mode, mode::DOWN);
    // A round later no loss has come: straight on with the next probe, without a wait.
    assert_eq!(driver.ack(Ack { in_flight: (193, 193), ..next_round() }).mode, mode::REFILL);
}

#[test]
fn inflight_hi_grows_by_one_two_four_packets_per_round_while_the_window_is_used() {
    let mut driver = bounded();
    driver.ack(Ack { after_us: 3 * SECOND_US, ..next_round() });
    driver.socket.tp_mut().snd_cwnd = 193;
    let up = driver.ack(next_round());
    assert_eq!((up.mode, up.inflight_hi_pkts), (mode::UP, 193));
    let tp = driver.socket.tp_mut();
    tp.set_cwnd_limited(true);
    tp.snd_cwnd = 193;
    // Round 1 began with UP: one packet per window of 193. 192 acknowledged: not yet; one more: 194.
    let sent_at = Some(driver.delivered() - 1);
    let part = |acked, sent_at| Ack { after_us: 1, acked, sent_at, ..next_round() };
    assert_eq!(driver.ack(part(192, sent_at)).inflight_hi_pkts, 193);
    assert_eq!(driver.ack(part(1, sent_at)).inflight_hi_pkts, 194);
    // cwnd follows by one per ACK; the next round starts: two packets per window of 194, so 97 acknowledged for each.
    driver.socket.tp_mut().snd_cwnd = 194;
    assert_eq!(driver.ack(part(1, None)).inflight_hi_pkts, 194);
    let sent_at = Some(driver.delivered() - 1);
    driver.socket.tp_mut().snd_cwnd = 194;
    assert_eq!(driver.ack(part(95, sent_at)).inflight_hi_pkts, 194);
    driver.socket.tp_mut().snd_cwnd = 194;
    assert_eq!(driver.ack(part(1, sent_at)).inflight_hi_pkts, 195);
}

#[test]
fn inflight_hi_does_not_grow_while_the_window_is_not_used() {
    let mut driver = bounded();
    driver.ack(Ack { after_us: 3 * SECOND_US, ..next_round() });
    driver.ack(next_round());
    driver.socket.tp_mut().snd_cwnd = 193;
    let sent_at = Some(driver.delivered() - 1);
    let trace = driver.ack(Ack { after_us: 1, acked: 1000, sent_at, ..next_round() });
    assert_eq!((trace.mode, trace.inflight_hi_pkts), (mode::UP, 193));
}

#[test]
fn a_larger_flight_without_loss_raises_inflight_hi_in_any_phase() {
    let mut driver = bounded();
    assert_eq!(driver.ack(Ack { in_flight: (240, 100), ..next_round() }).inflight_hi_pkts, 240);
}

#[test]
fn a_lossy_round_takes_thirty_percent_off_but_not_below_what_arrived() {
    let mut driver = Driver::cruising("bbrv2", &[]);
    // First loss: from here a whole round is observed, with 60 packets per round trip arriving.
    driver.ack(Ack { after_us: 1, rate: 60, losses: 5, in_flight: (150, 140), ..next_round() });
    assert_eq!(driver.trace().bw_lo_bps, UNBOUNDED_U64);
    driver.socket.tp_mut().snd_cwnd = 200;
    let trace = driver.ack(Ack { rate: 60, ..next_round() });
    // 0.7 x 100 = 70 > 60; 0.7 x 200 = 140 > 60.
    assert_eq!((trace.bw_lo_bps, trace.inflight_lo_pkts), (bps(70), 140));
    assert_eq!(trace.bw_bps, bps(70));
    assert_eq!((driver.socket.cwnd(), trace.v1 & 15), (140, bound::INFLIGHT_LO | bound::BW_LO));
    // A second lossy round with 55 arriving. The ACK that ended the round before, with 60, counts for this one too:
    // 0.7 x 70 = 49 < 60; 0.7 x 140 = 98.
    driver.ack(Ack { after_us: 1, rate: 55, losses: 5, ..next_round() });
    let trace = driver.ack(Ack { rate: 55, ..next_round() });
    assert_eq!((trace.bw_lo_bps, trace.inflight_lo_pkts), (bps(60), 98));
    // A round without loss keeps them; the next probe forgets them.
    let trace = driver.ack(next_round());
    assert_eq!((trace.bw_lo_bps, trace.inflight_lo_pkts), (bps(60), 98));
    let trace = driver.ack(Ack { after_us: 3 * SECOND_US, ..next_round() });
    assert_eq!((trace.mode, trace.bw_lo_bps, trace.inflight_lo_pkts), (mode::REFILL, UNBOUNDED_U64, UNBOUNDED_U32));
}

#[test]
fn max_bw_is_that_of_this_probing_cycle_and_the_one_before() {
    let mut driver = Driver::cruising("bbrv2", &[]);
    // During the second cycle the rate of the first still holds; at the end of its probe it is forgotten.
    for (rate, in_up, after) in [(120, 120, 120), (80, 120, 80)] {
        let ack = |flight| Ack { rate, in_flight: (flight, flight), ..next_round() };
        driver.ack(Ack { after_us: 3 * SECOND_US, ..ack(80) });
        assert_eq!((driver.ack(ack(80)).mode, driver.trace().bw_bps), (mode::UP, bps(in_up)));
        assert_eq!(driver.ack(Ack { after_us: RTT_US + 1, ..ack(200) }).mode, mode::DOWN);
        assert_eq!(driver.ack(ack(80)).bw_bps, bps(after));
    }
}

#[test]
fn low_samples_of_an_application_do_not_lower_and_high_ones_raise_max_bw() {
    let mut driver = Driver::cruising("bbrv2", &[]);
    assert_eq!(driver.ack(Ack { rate: 50, app_limited: true, ..next_round() }).bw_bps, bps(100));
    assert_eq!(driver.ack(Ack { rate: 120, app_limited: true, ..next_round() }).bw_bps, bps(120));
}

#[test]
fn the_window_is_two_bdp_and_what_arrives_in_bunches() {
    let mut driver = Driver::cruising("bbrv2", &[]);
    driver.socket.tp_mut().snd_cwnd = 400;
    driver.ack(next_round());
    assert_eq!(driver.socket.cwnd(), 201);
    driver.socket.tp_mut().snd_cwnd = 400;
    driver.ack(Ack { acked: 30, ..next_round() });
    assert_eq!(driver.socket.cwnd(), 230);
}

#[test]
fn after_marks_without_loss_the_next_probe_may_follow_at_once() {
    for (gain, phase) in [(0, mode::CRUISE), (500, mode::REFILL)] {
        let tunables = [("ecn_enable", 1), ("ecn_max_rtt_us", 1_000_000), ("ecn_reprobe_gain", gain)];
        let mut driver = Driver::cruising("bbrv2", &tunables);
        driver.socket.tp_mut().delivered_ce += 1;
        assert_eq!(driver.ack(next_round()).mode, phase, "ecn_reprobe_gain {gain}");
    }
}

#[test]
fn marked_packets_count_only_when_ecn_is_enabled() {
    for (enable, hi) in [(0, UNBOUNDED_U32), (1, 200)] {
        let tunables = [("ecn_enable", enable), ("ecn_max_rtt_us", 1_000_000)];
        let mut driver = Driver::probing_up("bbrv2", &tunables);
        driver.socket.advance_us(1);
        let sent_at = driver.delivered();
        let tp = driver.socket.tp_mut();
        tp.delivered += 1;
        tp.delivered_ce += 1;
        let sample = ccactl_native::RateSample {
            prior_mstamp: 1,
            prior_delivered: sent_at,
            delivered: 100,
            delivered_ce: 50,
            interval_us: RTT_US as i64,
            acked_sacked: 1,
            prior_in_flight: 200,
            ..Default::default()
        };
        driver.socket.cong_control(0, 0, &sample);
        // Half of the packets marked is the threshold: the flight of 200 becomes the bound.
        assert_eq!(driver.trace().inflight_hi_pkts, hi, "ecn_enable {enable}");
    }
}
