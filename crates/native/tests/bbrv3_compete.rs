//! F-BBRv3: when it competes with loss-based flows, and that its window is CUBIC's then.

mod bbrv2_driver;

use bbrv2_driver::{Ack, BDP, Driver, RTT_US, assert_sends_the_same, bound, mode, next_round};
use ccactl_native::{CA_OPEN, CA_RECOVERY};

/// The queue is raised from here on: 1.1 x 32768 = 36044.8.
const RAISED_US: i64 = 36_045;
/// The same after a PROBE_RTT, whose two packets of its own take 655 us at this bandwidth.
const RAISED_BY_OTHERS_US: i64 = RAISED_US + 655;

/// In CRUISE, with the window used up whenever it is asked.
fn cruising(tunables: &[(&str, i64)]) -> Driver {
    let mut driver = Driver::cruising("f-bbrv3", tunables);
    driver.socket.tp_mut().set_cwnd_limited(true);
    driver
}

/// A PROBE_RTT from its due time to its end, whose packets all see that RTT.
fn probe_rtt(driver: &mut Driver, rtt_us: i64) {
    let ack = Ack { rtt_us, in_flight: (10, 10), ..next_round() };
    for _ in 0..800 {
        if driver.ack(ack.clone()).mode == mode::PROBE_RTT {
            break;
        }
    }
    assert_eq!(driver.mode(), mode::PROBE_RTT);
    for _ in 0..20 {
        if driver.ack(ack.clone()).mode != mode::PROBE_RTT {
            return;
        }
    }
    panic!("PROBE_RTT goes on");
}

fn competing() -> Driver {
    let mut driver = cruising(&[]);
    probe_rtt(&mut driver, RAISED_BY_OTHERS_US);
    probe_rtt(&mut driver, RAISED_BY_OTHERS_US);
    driver
}

/// An episode of loss begins; what ssthresh() is told last is the RTT of the last ACK.
fn lose(driver: &mut Driver, rtt_us: i64) {
    driver.ack(Ack { rtt_us, ..next_round() });
    driver.socket.ssthresh();
    driver.socket.tp_mut().set_ca_state(CA_RECOVERY);
    driver.ack(Ack { rtt_us, losses: 1, after_us: 1, ..next_round() });
    driver.socket.tp_mut().set_ca_state(CA_OPEN);
}

#[test]
fn two_probes_in_a_row_that_find_the_queue_raised_begin_it() {
    let mut driver = cruising(&[]);
    probe_rtt(&mut driver, RAISED_BY_OTHERS_US);
    assert_eq!((driver.trace().v0, driver.trace().v1 & bound::COMPETING), (-1, 0));
    assert_ne!(driver.trace().v1 & bound::RAISED, 0);
    // One that finds none in between: counting begins anew.
    probe_rtt(&mut driver, RAISED_BY_OTHERS_US - 1);
    assert_eq!(driver.trace().v1 & bound::RAISED, 0);
    probe_rtt(&mut driver, RAISED_BY_OTHERS_US);
    assert_eq!(driver.trace().v0, -1);
    probe_rtt(&mut driver, RAISED_BY_OTHERS_US);
    let trace = driver.trace();
    assert_eq!((trace.v0, trace.v1 & bound::COMPETING), (i64::from(driver.socket.cwnd()), bound::COMPETING));
}

#[test]
fn a_loss_from_a_raised_queue_begins_it_and_one_without_a_queue_does_not() {
    let mut driver = cruising(&[]);
    lose(&mut driver, RAISED_US - 1);
    assert_eq!(driver.trace().v0, -1);
    let mut driver = cruising(&[]);
    lose(&mut driver, RAISED_US);
    // 717 / 1024 of the BDP that was in flight; the window was twice as large.
    assert_eq!(driver.trace().v0, i64::from(BDP * 717 / 1024));
    assert_eq!(driver.socket.cwnd(), BDP * 717 / 1024);
}

#[test]
fn what_a_phase_has_drained_does_not_make_the_window_small() {
    let mut driver = cruising(&[]);
    let ack = Ack { rtt_us: RAISED_US, in_flight: (BDP / 10, BDP / 10), ..next_round() };
    driver.ack(ack.clone());
    driver.socket.ssthresh();
    driver.socket.tp_mut().set_ca_state(CA_RECOVERY);
    driver.ack(Ack { losses: 1, after_us: 1, ..ack });
    // A BDP, and CUBIC's cut.
    assert_eq!(driver.socket.cwnd(), BDP * 717 / 1024);
}

#[test]
fn while_competing_a_cut_is_that_of_cubic_and_needs_a_raised_queue() {
    let mut driver = competing();
    for _ in 0..3 {
        lose(&mut driver, RAISED_US);
    }
    let window = driver.socket.cwnd();
    lose(&mut driver, RTT_US as i64);
    assert!(driver.socket.cwnd() >= window, "no queue, no cut");
    let window = driver.socket.cwnd();
    lose(&mut driver, RAISED_US);
    let cut = driver.socket.cwnd();
    // The ACK before the loss may have grown the window by a packet.
    assert!((window * 717 / 1024..=(window + 1) * 717 / 1024).contains(&cut), "{window} to {cut}");
    // Losses that were none are taken back.
    driver.socket.undo_cwnd();
    driver.ack(Ack { rtt_us: RAISED_US, after_us: 1, ..next_round() });
    assert!(driver.socket.cwnd() >= window, "{} of {window}", driver.socket.cwnd());
}

#[test]
fn an_undo_takes_back_the_cut_of_its_own_episode_only() {
    let mut driver = competing();
    for _ in 0..3 {
        lose(&mut driver, RAISED_US);
    }
    // This one has cut nothing.
    lose(&mut driver, RTT_US as i64);
    let window = driver.trace().v0;
    driver.socket.undo_cwnd();
    let after = driver.ack(Ack { rtt_us: RAISED_US, after_us: 1, ..next_round() }).v0;
    assert!(after <= window + 1, "{window} became {after}");
}

#[test]
fn where_losses_come_without_a_queue_they_are_random_and_end_it() {
    let mut driver = cruising(&[]);
    // Belief 3 - 2: one raised loss is not enough any more, two are.
    lose(&mut driver, RTT_US as i64);
    lose(&mut driver, RAISED_US);
    assert_eq!(driver.trace().v0, -1);
    lose(&mut driver, RAISED_US);
    assert_ne!(driver.trace().v0, -1);
    // 3 - 2.
    lose(&mut driver, RTT_US as i64);
    assert_eq!(driver.trace().v0, -1);
}

#[test]
fn the_window_grows_as_that_of_cubic() {
    let mut driver = competing();
    lose(&mut driver, RAISED_US);
    let start = driver.socket.cwnd();
    let mut most = start;
    for step in 0..3000 {
        let trace = driver.ack(Ack { rtt_us: RAISED_US, after_us: 5000, acked: 40, ..next_round() });
        if trace.mode == mode::PROBE_RTT {
            continue;
        }
        let now = driver.socket.cwnd();
        assert!(now >= most, "step {step}: {now} after {most}");
        // At most a packet for two acknowledged ones, as in CUBIC.
        assert!(now - most <= 20, "step {step}: {now} after {most}");
        most = now;
    }
    // 15 s after the loss: W(t) = C (t - K)^3 + Wmax, with Wmax = start / 0.7 and K = cbrt(0.3 Wmax / C).
    let w_max = f64::from(start) / 0.7;
    let k = (0.3 * w_max / 0.4).cbrt();
    let law = 0.4 * (15.0 - k).powi(3) + w_max;
    assert!((0.95..1.05).contains(&(f64::from(most) / law)), "{most} packets from {start}, {law} by the law");
}

#[test]
fn a_probe_that_finds_no_queue_ends_it_with_the_window_as_the_bound() {
    let mut driver = competing();
    let window = driver.trace().v0;
    // Every twentieth second now, not every fifth.
    let before_us = driver.socket.time_us();
    probe_rtt(&mut driver, RTT_US as i64);
    assert!(driver.socket.time_us() - before_us > 20_000_000);
    let trace = driver.trace();
    assert_eq!((trace.v0, trace.v1 & bound::COMPETING), (-1, 0));
    assert!(i64::from(trace.inflight_hi_pkts) >= window, "{} of {window}", trace.inflight_hi_pkts);
    // The model's window again: two BDP.
    assert!(driver.ack(next_round()).v0 == -1 && driver.socket.cwnd() <= 2 * BDP + 64, "{}", driver.socket.cwnd());
}

/// `SK_PACING_NONE` is 0, `SK_PACING_NEEDED` 1, `SK_PACING_FQ` 2.
fn pacing_status(driver: &Driver) -> u32 {
    driver.socket.tp().inet_conn.sk.sk_pacing_status
}

/// An ACK that leaves the window full, but for the packet that it acknowledges.
fn full(driver: &mut Driver) {
    let in_flight = driver.socket.cwnd();
    driver.ack(Ack { rtt_us: RAISED_US, in_flight: (in_flight, in_flight - 1), ..next_round() });
}

#[test]
fn pacing_is_given_back_once_the_window_is_full_and_taken_for_each_probe() {
    let mut driver = competing();
    // What PROBE_RTT has left of the window is filled with pacing, at the kernel's 1.2 windows in a round trip.
    driver.ack(Ack { rtt_us: RAISED_US, in_flight: (10, 10), ..next_round() });
    let per_rtt = driver.socket.pacing_rate() as f64 * RTT_US as f64 / 1e6 / 1448.0;
    let window = f64::from(driver.socket.cwnd());
    assert_eq!(pacing_status(&driver), 1);
    assert!((1.19..1.21).contains(&(per_rtt / window)), "{per_rtt} packets in a round trip, window {window}");
    full(&mut driver);
    assert_eq!(pacing_status(&driver), 0);
    probe_rtt(&mut driver, RAISED_BY_OTHERS_US);
    assert_eq!(pacing_status(&driver), 1);
    full(&mut driver);
    assert_eq!(pacing_status(&driver), 0);
    // BBRv3 paces always.
    probe_rtt(&mut driver, RTT_US as i64);
    full(&mut driver);
    assert_eq!((driver.trace().v0, pacing_status(&driver)), (-1, 1));
}

#[test]
fn pacing_that_others_have_asked_for_stays_while_competing() {
    let mut driver = competing();
    driver.socket.tp_mut().inet_conn.sk.sk_max_pacing_rate = 1_000_000;
    full(&mut driver);
    assert_eq!((pacing_status(&driver), driver.socket.pacing_rate()), (1, 1_000_000));
    let mut driver = competing();
    driver.socket.tp_mut().inet_conn.sk.sk_pacing_status = 2;
    full(&mut driver);
    assert_eq!(pacing_status(&driver), 2);
}

#[test]
fn without_competition_it_is_bbrv3() {
    assert_sends_the_same(Driver::with("bbrv3", &[]), Driver::with("f-bbrv3", &[("compete_after", 0)]));
}
