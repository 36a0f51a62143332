//! F-BBRv2: the detector and what follows from it.

mod bbrv2_driver;

use bbrv2_driver::{Ack, Driver, RTT_US, assert_sends_the_same, bound, mode, next_round};

const SECOND_US: u64 = 1_000_000;
/// α x RTprop = 1.2 x 32768 = 39321.6: the first delay that exceeds it.
const ABOVE_US: i64 = 39_322;

/// Every RTT is `rtt_us`, until min_rtt (10 s) has followed it.
fn delayed(rtt_us: i64, tunables: &[(&str, i64)]) -> Driver {
    // Few probes and one PROBE_RTT, so that the phase is CRUISE most of the time.
    let quiet = [("probe_wait_base_ms", 1_000_000), ("probe_max_rounds", 254), ("probe_rtt_interval_ms", 9_000)];
    let mut driver = Driver::cruising("f-bbrv2", &[&quiet, tunables].concat());
    let ack = Ack { rtt_us, ..next_round() };
    driver.ack(Ack { after_us: 9 * SECOND_US, ..ack.clone() });
    // PROBE_RTT is due with the next ACK; it takes 200 ms and a round.
    for _ in 0..20 {
        driver.ack(Ack { after_us: 100_000, in_flight: (50, 50), ..ack.clone() });
    }
    driver
}

/// As `delayed`, in CRUISE.
fn cruise_at(rtt_us: i64, tunables: &[(&str, i64)]) -> Driver {
    let driver = delayed(rtt_us, tunables);
    assert_eq!(driver.mode(), mode::CRUISE);
    driver
}

#[test]
fn cruise_goes_fifteen_percent_faster_while_the_delay_exceeds_the_threshold() {
    let driver = cruise_at(ABOVE_US, &[]);
    let trace = driver.trace();
    assert_eq!((i64::from(trace.min_rtt_us), trace.v0), (ABOVE_US, RTT_US as i64));
    assert_eq!(trace.pacing_gain_milli, 1150);
    assert_eq!(trace.v1 & (bound::DETECTED | bound::RAISED_GAIN), bound::DETECTED | bound::RAISED_GAIN);
}

#[test]
fn the_threshold_itself_is_not_exceeded() {
    // 39321 < 39321.6
    let trace = cruise_at(ABOVE_US - 1, &[]).trace();
    assert_eq!((i64::from(trace.min_rtt_us), trace.pacing_gain_milli), (ABOVE_US - 1, 1000));
    assert_eq!(trace.v1 & bound::DETECTED, 0);
    // With alpha = 1.25 the threshold is a whole number, 40960, and must be exceeded strictly.
    for (rtt_us, gain) in [(40_960, 1000), (40_961, 1150)] {
        let trace = cruise_at(rtt_us, &[("alpha", 1250)]).trace();
        assert_eq!(trace.pacing_gain_milli, gain, "rtt {rtt_us}");
    }
}

#[test]
fn the_gain_returns_to_one_at_once_when_the_delay_falls() {
    let mut driver = cruise_at(ABOVE_US, &[]);
    let trace = driver.ack(next_round());
    assert_eq!((trace.mode, trace.pacing_gain_milli), (mode::CRUISE, 1000));
    assert_eq!(trace.v1 & (bound::DETECTED | bound::RAISED_GAIN), 0);
}

#[test]
fn other_phases_keep_their_gain() {
    let mut driver = cruise_at(ABOVE_US, &[]);
    let raised = Ack { rtt_us: ABOVE_US, ..next_round() };
    driver.ack(Ack { after_us: 1, ..raised.clone() });
    for _ in 0..260 {
        driver.ack(Ack { after_us: 1, ..raised.clone() });
        if driver.mode() == mode::REFILL {
            break;
        }
    }
    let trace = driver.trace();
    assert_eq!((trace.mode, trace.pacing_gain_milli), (mode::REFILL, 1000));
    assert_eq!(trace.v1 & (bound::DETECTED | bound::RAISED_GAIN), bound::DETECTED);
    assert_eq!(driver.ack(raised).pacing_gain_milli, 1250);
}

#[test]
fn without_a_handshake_sample_the_first_ack_gives_the_first_delay() {
    let mut driver = Driver::new("f-bbrv2");
    driver.socket.release();
    driver.socket.tp_mut().rtt_min[0].v = u32::MAX;
    driver.socket.init();
    assert_eq!(driver.ack(Ack { rtt_us: -1, ..next_round() }).v0, -1);
    assert_eq!(driver.ack(Ack { rtt_us: 50_000, ..next_round() }).v0, 50_000);
    // Frozen, although a lower one follows.
    assert_eq!(driver.ack(Ack { rtt_us: 30_000, ..next_round() }).v0, 50_000);
}

#[test]
fn the_lowest_sample_may_serve_as_first_delay() {
    let mut driver = Driver::with("f-bbrv2", &[("rtprop_anchor", 1)]);
    assert_eq!(driver.ack(Ack { rtt_us: 50_000, ..next_round() }).v0, RTT_US as i64);
    assert_eq!(driver.ack(Ack { rtt_us: 30_000, ..next_round() }).v0, 30_000);
    assert_eq!(driver.ack(Ack { rtt_us: 31_000, ..next_round() }).v0, 30_000);
}

#[test]
fn the_five_second_estimate_reacts_before_min_rtt() {
    for (estimator, detected) in [(0, 0), (1, bound::DETECTED)] {
        let mut driver = Driver::cruising("f-bbrv2", &[("rtprop_estimator", estimator)]);
        let trace = driver.ack(Ack { after_us: 5 * SECOND_US + 1, rtt_us: 60_000, ..next_round() });
        assert_eq!(trace.min_rtt_us, RTT_US as u32);
        assert_eq!(trace.v1 & bound::DETECTED, detected, "estimator {estimator}");
    }
}

#[test]
fn a_delayed_ack_does_not_renew_the_five_second_estimate() {
    let mut driver = Driver::cruising("f-bbrv2", &[("rtprop_estimator", 1)]);
    let late = Ack { after_us: 5 * SECOND_US + 1, rtt_us: 60_000, delayed: true, ..next_round() };
    assert_eq!(driver.ack(late).v1 & bound::DETECTED, 0);
    assert_eq!(driver.ack(Ack { rtt_us: 60_000, ..next_round() }).v1 & bound::DETECTED, bound::DETECTED);
}

#[test]
fn detection_may_have_to_last_whole_rounds() {
    let mut driver = Driver::cruising("f-bbrv2", &[("rtprop_estimator", 1), ("detect_rounds", 2)]);
    let ack = Ack { rtt_us: 60_000, ..next_round() };
    // The ACK that renews the 5-s minimum starts a round: it does not count itself.
    let mut seen = vec![driver.ack(Ack { after_us: 5 * SECOND_US + 1, ..ack.clone() }).v1 & bound::DETECTED];
    for _ in 0..2 {
        seen.push(driver.ack(ack.clone()).v1 & bound::DETECTED);
    }
    assert_eq!(seen, [0, 0, bound::DETECTED]);
}

#[test]
fn the_first_delay_may_be_renewed_after_a_while() {
    let mut driver = cruise_at(ABOVE_US, &[("reanchor_min", 1)]);
    assert_eq!(driver.trace().v0, RTT_US as i64);
    let trace = driver.ack(Ack { after_us: 60 * SECOND_US, rtt_us: ABOVE_US, ..next_round() });
    assert_eq!((trace.v0, trace.v1 & bound::DETECTED), (ABOVE_US, 0));
}

/// A probe that lost 10 of 200, then CRUISE with the raised delay.
fn bounded_and_detected(tunables: &[(&str, i64)]) -> Driver {
    let mut driver = delayed(ABOVE_US, &[&[("probe_max_rounds", 8)], tunables].concat());
    let ack = Ack { rtt_us: ABOVE_US, ..next_round() };
    // What PROBE_RTT sent counts as application-limited until it is acknowledged, one packet per ACK here.
    for _ in 0..60 {
        let flight = if driver.mode() == mode::UP { 200 } else { 100 };
        driver.ack(Ack { in_flight: (flight, flight), ..ack.clone() });
    }
    while driver.mode() != mode::UP {
        driver.ack(ack.clone());
    }
    driver.ack(Ack { after_us: 1, timer_losses: 10, in_flight: (200, 189), ..ack.clone() });
    while driver.mode() != mode::CRUISE {
        driver.ack(ack.clone());
    }
    driver.socket.tp_mut().snd_cwnd = 200;
    driver.socket.tp_mut().set_cwnd_limited(true);
    driver.ack(Ack { after_us: 1, ..ack });
    driver
}

#[test]
fn the_headroom_masks_the_gain_and_the_trace_says_so() {
    let driver = bounded_and_detected(&[]);
    let trace = driver.trace();
    assert_eq!((trace.pacing_gain_milli, trace.inflight_hi_pkts, driver.socket.cwnd()), (1150, 193, 165));
    assert_eq!(trace.v1, bound::DETECTED | bound::RAISED_GAIN | bound::CWND_LIMITED | bound::HEADROOM);
}

#[test]
fn the_headroom_may_be_dropped_while_detected() {
    let driver = bounded_and_detected(&[("drop_headroom", 1)]);
    let trace = driver.trace();
    assert_eq!((trace.pacing_gain_milli, driver.socket.cwnd()), (1150, 193));
    assert_eq!(trace.v1, bound::DETECTED | bound::RAISED_GAIN | bound::CWND_LIMITED | bound::INFLIGHT_HI);
}

#[test]
fn with_a_gain_of_one_it_is_bbrv2() {
    // The same script for both; without its reaction the detector must not be visible in any output.
    assert_sends_the_same(Driver::new("bbrv2"), Driver::starting("f-bbrv2", &[("cruise_gain", 1000)]));
}
