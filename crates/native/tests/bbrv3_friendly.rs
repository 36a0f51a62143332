//! F-BBRv3: F-BBRv2's mechanism on the core of version 3. The mechanism itself is tested with F-BBRv2.

mod bbrv2_driver;

use bbrv2_driver::{Ack, Driver, RTT_US, bound, mode, next_round};

const SECOND_US: u64 = 1_000_000;
/// α x RTprop = 1.2 x 32768 = 39321.6: the first delay that exceeds it.
const ABOVE_US: i64 = 39_322;

/// Every RTT is `rtt_us`, until min_rtt (10 s) has followed it.
fn delayed(rtt_us: i64, tunables: &[(&str, i64)]) -> Driver {
    // Few probes and one PROBE_RTT, so that the phase is CRUISE most of the time.
    let quiet = [("probe_wait_base_ms", 1_000_000), ("probe_max_rounds", 254), ("probe_rtt_interval_ms", 9_000)];
    let mut driver = Driver::cruising("f-bbrv3", &[&quiet, tunables].concat());
    let ack = Ack { rtt_us, ..next_round() };
    driver.ack(Ack { after_us: 9 * SECOND_US, ..ack.clone() });
    for _ in 0..20 {
        driver.ack(Ack { after_us: 100_000, in_flight: (50, 50), ..ack.clone() });
    }
    driver
}

fn cruise_at(rtt_us: i64) -> Driver {
    let driver = delayed(rtt_us, &[]);
    assert_eq!(driver.mode(), mode::CRUISE);
    driver
}

#[test]
fn cruise_goes_fifteen_percent_faster_while_the_delay_exceeds_the_threshold() {
    let mut driver = cruise_at(ABOVE_US);
    let trace = driver.trace();
    assert_eq!((trace.pacing_gain_milli, trace.v0), (1150, RTT_US as i64));
    assert_eq!(trace.v1 & (bound::DETECTED | bound::RAISED), bound::DETECTED | bound::RAISED);
    // The delay falls: back to 1 at once.
    let trace = driver.ack(next_round());
    assert_eq!((trace.mode, trace.pacing_gain_milli, trace.v1 & bound::DETECTED), (mode::CRUISE, 1000, 0));
    // 39321 < 39321.6
    assert_eq!(cruise_at(ABOVE_US - 1).trace().pacing_gain_milli, 1000);
}

#[test]
fn the_other_phases_have_the_gains_of_version_three() {
    let mut driver = delayed(ABOVE_US, &[("probe_max_rounds", 8)]);
    let ack = Ack { rtt_us: ABOVE_US, ..next_round() };
    let mut seen = [0; 6];
    for _ in 0..200 {
        let trace = driver.ack(ack.clone());
        // Once PROBE_RTT's packets are acknowledged, whose samples say nothing: a whole cycle.
        seen[trace.mode as usize] = trace.pacing_gain_milli;
    }
    assert_eq!(seen[2..], [910, 1150, 1000, 1250]);
}

#[test]
fn with_a_gain_of_one_it_is_bbrv3() {
    // The same script for both; without its reaction the detector must not be visible in any output.
    let mut plain = Driver::with("bbrv3", &[]);
    let mut friendly = Driver::with("f-bbrv3", &[("cruise_gain", 1000)]);
    for i in 0..5000_u32 {
        let losses = u32::from(i % 97 == 0) * (i % 7);
        let rtt_us = RTT_US as i64 + i64::from(i % 13) * 1000;
        let flight = 60 + i % 150;
        let ack = Ack { losses, rtt_us, in_flight: (flight, flight - 1), ..next_round() };
        let (a, b) = (plain.ack(ack.clone()), friendly.ack(ack));
        assert_eq!(
            (a.mode, a.bw_bps, a.inflight_hi_pkts, a.inflight_lo_pkts),
            (b.mode, b.bw_bps, b.inflight_hi_pkts, b.inflight_lo_pkts),
            "ACK {i}"
        );
        assert_eq!(
            (plain.socket.cwnd(), plain.socket.pacing_rate()),
            (friendly.socket.cwnd(), friendly.socket.pacing_rate())
        );
    }
}
