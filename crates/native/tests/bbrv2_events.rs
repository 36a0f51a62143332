//! BBRv2: PROBE_RTT, recovery, undo, timeouts, idle periods, and a kernel that calls in an unusual order.

mod bbrv2_driver;

use bbrv2_driver::{Ack, BDP, Driver, RTT_US, bound, bps, mode, next_round};
use ccactl_abi::layout::{UNBOUNDED_U32, UNBOUNDED_U64};
use ccactl_native::{
    CA_CWR, CA_LOSS, CA_OPEN, CA_RECOVERY, EVENT_COMPLETE_CWR, EVENT_LOSS, EVENT_TX_START, RateSample, Socket,
};

const SECOND_US: u64 = 1_000_000;

/// An ACK whose RTT is above the minimum.
fn queued() -> Ack {
    Ack { rtt_us: RTT_US as i64 + 5000, ..next_round() }
}

/// CRUISE, 5 s after the last RTT sample at the minimum: PROBE_RTT has begun.
fn probing_rtt() -> Driver {
    let mut driver = Driver::cruising("bbrv2", &[]);
    driver.socket.tp_mut().snd_cwnd = 180;
    let trace = driver.ack(Ack { after_us: 5 * SECOND_US + 1, ..queued() });
    assert_eq!(trace.mode, mode::PROBE_RTT);
    driver
}

#[test]
fn probe_rtt_comes_five_seconds_after_the_last_minimum() {
    let mut driver = Driver::cruising("bbrv2", &[]);
    driver.ack(Ack { after_us: 4 * SECOND_US, ..queued() });
    // A sample at the minimum restarts the clock.
    driver.ack(next_round());
    driver.ack(Ack { after_us: 5 * SECOND_US, ..queued() });
    assert_ne!(driver.mode(), mode::PROBE_RTT);
    driver.ack(Ack { after_us: 1, ..queued() });
    assert_eq!(driver.mode(), mode::PROBE_RTT);
}

#[test]
fn probe_rtt_holds_half_a_bdp_for_two_hundred_milliseconds_and_a_round() {
    let mut driver = probing_rtt();
    let trace = driver.trace();
    assert_eq!((driver.socket.cwnd(), trace.pacing_gain_milli, trace.cwnd_gain_milli), (BDP / 2, 1000, 1000));
    // 51 in flight: not drained yet, however long it takes.
    driver.ack(Ack { after_us: SECOND_US, in_flight: (51, 51), ..queued() });
    let low = Ack { in_flight: (50, 50), ..queued() };
    driver.ack(low.clone());
    assert_eq!(driver.ack(Ack { after_us: 200_000, ..low.clone() }).mode, mode::PROBE_RTT);
    let trace = driver.ack(Ack { after_us: 1, ..low });
    assert_eq!(trace.mode, mode::CRUISE);
    // The window from before comes back: at least 180, at most the target of two BDP and one.
    assert!((180..=201).contains(&driver.socket.cwnd()), "cwnd {}", driver.socket.cwnd());
}

#[test]
fn probe_rtt_lasts_a_whole_round_even_when_it_is_longer() {
    let mut driver = probing_rtt();
    let low = Ack { in_flight: (50, 50), ..queued() };
    driver.ack(low.clone());
    let sent_at = Some(driver.delivered() - 1);
    assert_eq!(driver.ack(Ack { after_us: SECOND_US, sent_at, ..low.clone() }).mode, mode::PROBE_RTT);
    assert_eq!(driver.ack(low).mode, mode::CRUISE);
}

#[test]
fn rounds_of_probe_rtt_do_not_fill_the_pipe() {
    let mut driver = Driver::new("bbrv2");
    driver.ack(next_round());
    // The second round without growth; the third one would end STARTUP.
    driver.ack(Ack { after_us: 5 * SECOND_US + 1, ..queued() });
    assert_eq!(driver.mode(), mode::PROBE_RTT);
    let low = Ack { in_flight: (50, 50), rate: 50, ..queued() };
    while driver.mode() == mode::PROBE_RTT {
        driver.ack(low.clone());
    }
    assert_eq!(driver.mode(), mode::STARTUP);
    // Nor do those in which what PROBE_RTT sent is acknowledged: 50 packets in flight and one more, one per ACK.
    for _ in 0..51 {
        assert_eq!(driver.ack(low.clone()).mode, mode::STARTUP);
    }
    // From then on the rounds count: one for the packet sent at the turn, and the two that were missing.
    for _ in 0..3 {
        driver.ack(low.clone());
    }
    assert_ne!(driver.mode(), mode::STARTUP);
}

#[test]
fn min_rtt_holds_for_ten_seconds_and_then_follows_the_last_probe_rtt() {
    let mut driver = probing_rtt();
    let rise = RTT_US as i64 + 5000;
    let low = Ack { in_flight: (50, 50), rtt_us: rise, ..next_round() };
    driver.ack(low.clone());
    assert_eq!(driver.ack(Ack { after_us: 200_001, ..low.clone() }).min_rtt_us, RTT_US as u32);
    assert_eq!(driver.mode(), mode::CRUISE);
    // 5.4 s after the last minimum. Cruise on with the raised delay until 10 s are over.
    assert_eq!(driver.ack(Ack { after_us: 4 * SECOND_US, ..queued() }).min_rtt_us, RTT_US as u32);
    assert_eq!(driver.ack(Ack { after_us: SECOND_US, ..queued() }).min_rtt_us, rise as u32);
}

#[test]
fn a_timeout_during_a_probe_cuts_inflight_hi_and_leaves_the_window_for_the_return() {
    let mut driver = Driver::probing_up("bbrv2", &[]);
    driver.socket.tp_mut().snd_cwnd = 180;
    // As tcp_enter_loss(): mark everything, ssthresh(), event, cut the window, set_state().
    let tp = driver.socket.tp_mut();
    tp.packets_out = 150;
    tp.lost_out = 150;
    tp.lost += 150;
    tp.prior_cwnd = 180;
    driver.socket.ssthresh();
    driver.socket.cwnd_event(EVENT_LOSS);
    driver.socket.tp_mut().snd_cwnd = 1;
    driver.socket.set_state(CA_LOSS);
    // All of 150 lost: cut point 0, so the floor of 0.7 x 102 (BDP and 2 in UP, below the cwnd of before) = 71.
    let trace = driver.ack(Ack { after_us: RTT_US, in_flight: (0, 0), ..next_round() });
    assert_eq!(trace.inflight_hi_pkts, 71);
    assert_ne!(trace.mode, mode::UP);
    assert!(driver.socket.cwnd() <= 4, "cwnd {}", driver.socket.cwnd());
    driver.socket.set_state(CA_OPEN);
    assert_eq!(driver.socket.cwnd(), 180);
}

#[test]
fn a_timeout_outside_a_probe_remembers_the_window_as_short_term_bound() {
    let mut driver = Driver::cruising("bbrv2", &[]);
    driver.socket.tp_mut().snd_cwnd = 180;
    driver.socket.ssthresh();
    let tp = driver.socket.tp_mut();
    tp.snd_cwnd = 1;
    tp.lost += 100;
    driver.socket.set_state(CA_LOSS);
    let sent_at = Some(driver.delivered() - 1);
    let trace = driver.ack(Ack { after_us: 1, sent_at, ..next_round() });
    assert_eq!(trace.inflight_lo_pkts, 180);
    // The lossy round ends: 0.7 x 180.
    assert_eq!(driver.ack(next_round()).inflight_lo_pkts, 126);
}

#[test]
fn packets_sent_after_a_timeout_do_not_inherit_its_losses() {
    let mut driver = Driver::cruising("bbrv2", &[]);
    driver.socket.ssthresh();
    driver.socket.tp_mut().lost += 100;
    driver.socket.set_state(CA_LOSS);
    assert_eq!(driver.ack(next_round()).v0, 0);
}

#[test]
fn undo_takes_back_what_followed_from_losses_that_were_none() {
    let mut driver = Driver::cruising("bbrv2", &[]);
    driver.socket.tp_mut().snd_cwnd = 190;
    assert_eq!(driver.socket.ssthresh(), driver.socket.snd_ssthresh());
    driver.socket.set_state(CA_RECOVERY);
    driver.ack(Ack { after_us: 1, losses: 5, rate: 60, ..next_round() });
    driver.socket.tp_mut().snd_cwnd = 190;
    let trace = driver.ack(Ack { rate: 60, ..next_round() });
    assert_eq!((trace.bw_lo_bps, trace.inflight_lo_pkts), (bps(70), 133));
    assert_eq!(driver.socket.undo_cwnd(), 190);
    let trace = driver.ack(next_round());
    assert_eq!((trace.bw_lo_bps, trace.inflight_lo_pkts), (UNBOUNDED_U64, UNBOUNDED_U32));
}

#[test]
fn undo_restores_inflight_hi() {
    let mut driver = Driver::probing_up("bbrv2", &[]);
    driver.socket.ssthresh();
    driver.socket.set_state(CA_RECOVERY);
    assert_eq!(driver.probe_loses(200, 10).inflight_hi_pkts, 193);
    driver.socket.undo_cwnd();
    assert_eq!(driver.ack(next_round()).inflight_hi_pkts, UNBOUNDED_U32);
}

#[test]
fn a_restart_after_idle_paces_at_the_estimated_rate() {
    let mut driver = Driver::probing_up("bbrv2", &[]);
    let fast = driver.socket.pacing_rate();
    driver.socket.advance_us(SECOND_US);
    // Not idle because of the application: nothing changes.
    driver.socket.cwnd_event(EVENT_TX_START);
    assert_eq!(driver.socket.pacing_rate(), fast);
    driver.socket.tp_mut().app_limited = 1;
    driver.socket.cwnd_event(EVENT_TX_START);
    // 100 x 1448 B per 32.768 ms, less 1 %, rounded down at each step.
    assert_eq!(driver.socket.pacing_rate(), 4_374_755);
}

#[test]
fn an_idle_period_does_not_start_probe_rtt_by_itself() {
    let mut driver = Driver::cruising("bbrv2", &[]);
    driver.socket.tp_mut().app_limited = 1;
    driver.socket.advance_us(6 * SECOND_US);
    driver.socket.cwnd_event(EVENT_TX_START);
    // The first ACK after the idle period renews the minimum instead, the next one may probe again.
    let trace = driver.ack(Ack { after_us: RTT_US, ..queued() });
    assert_ne!(trace.mode, mode::PROBE_RTT);
}

#[test]
fn a_loss_repaired_by_a_tail_probe_counts_only_when_asked_for() {
    for (tlp_is_loss, lowered) in [(0, false), (1, true)] {
        let mut driver = Driver::cruising("bbrv2", &[("tlp_is_loss", tlp_is_loss)]);
        driver.socket.ssthresh();
        driver.socket.set_state(CA_CWR);
        driver.ack(Ack { after_us: 1, ..next_round() });
        driver.socket.set_state(CA_OPEN);
        let trace = driver.ack(next_round());
        assert_eq!(trace.inflight_lo_pkts != UNBOUNDED_U32, lowered, "tlp_is_loss {tlp_is_loss}");
    }
}

#[test]
fn the_ack_of_a_tail_probe_does_not_end_the_round_of_an_earlier_loss() {
    for (tlp_is_loss, ended) in [(0, true), (1, false)] {
        let mut driver = Driver::cruising("bbrv2", &[("tlp_is_loss", tlp_is_loss)]);
        driver.ack(Ack { after_us: 1, losses: 5, ..next_round() });
        driver.socket.set_state(CA_CWR);
        let trace = driver.ack(next_round());
        assert_eq!(trace.inflight_lo_pkts != UNBOUNDED_U32, ended, "tlp_is_loss {tlp_is_loss}");
        assert_ne!(driver.ack(next_round()).inflight_lo_pkts, UNBOUNDED_U32);
    }
}

#[test]
fn the_trace_says_when_the_window_stopped_the_sending() {
    let mut driver = Driver::cruising("bbrv2", &[]);
    driver.socket.tp_mut().set_cwnd_limited(true);
    assert_eq!(driver.ack(next_round()).v1, bound::CWND_LIMITED);
    driver.socket.tp_mut().set_cwnd_limited(false);
    assert_eq!(driver.ack(next_round()).v1, 0);
}

fn call_everything(socket: &mut Socket) {
    socket.cong_control(0, 0, &RateSample { delivered: 1, interval_us: 1, acked_sacked: 1, ..Default::default() });
    socket.cong_control(0, 0x40, &RateSample::default());
    for event in [EVENT_TX_START, EVENT_COMPLETE_CWR, EVENT_LOSS] {
        socket.cwnd_event(event);
    }
    for state in [CA_CWR, CA_RECOVERY, CA_LOSS, CA_OPEN] {
        socket.set_state(state);
    }
    socket.ssthresh();
    socket.undo_cwnd();
    assert_eq!(socket.sndbuf_expand(), Some(3));
}

#[test]
fn callbacks_before_init_change_nothing() {
    let mut socket = Socket::checked("bbrv2").expect("bbrv2 exists");
    call_everything(&mut socket);
    assert_eq!((socket.cwnd(), socket.pacing_rate(), socket.has_storage()), (10, u64::MAX, false));
    assert_eq!(socket.ssthresh(), socket.snd_ssthresh());
    assert_eq!(socket.undo_cwnd(), 10);
}

#[test]
fn without_memory_the_connection_behaves_as_reno() {
    let mut socket = Socket::checked("bbrv2").expect("bbrv2 exists");
    socket.fail_storage(true);
    socket.init();
    call_everything(&mut socket);
    assert_eq!((socket.has_storage(), socket.tp().inet_conn.sk.sk_pacing_status), (false, 0));

    let tp = socket.tp_mut();
    tp.snd_cwnd = 20;
    tp.set_cwnd_limited(true);
    let ack = RateSample { acked_sacked: 4, ..Default::default() };
    socket.cong_control(0, 0, &ack);
    assert_eq!(socket.cwnd(), 24);
    // Recovery: ssthresh is half the window, and the window follows the flight down to it.
    assert_eq!(socket.ssthresh(), 12);
    let tp = socket.tp_mut();
    tp.snd_ssthresh = 12;
    tp.packets_out = 24;
    tp.lost_out = 5;
    socket.set_state(CA_RECOVERY);
    socket.cong_control(0, 0, &RateSample { acked_sacked: 1, ..Default::default() });
    assert_eq!(socket.cwnd(), 20);
    socket.tp_mut().packets_out = 10;
    socket.cong_control(0, 0, &RateSample { acked_sacked: 1, ..Default::default() });
    assert_eq!(socket.cwnd(), 12);
}

#[test]
fn storage_that_vanishes_is_survived() {
    let mut driver = Driver::cruising("bbrv2", &[]);
    driver.socket.drop_storage();
    let cwnd = driver.socket.cwnd();
    call_everything(&mut driver.socket);
    assert_eq!(driver.socket.cwnd(), cwnd);
}

#[test]
fn release_gives_the_storage_back_and_init_starts_afresh() {
    let mut driver = Driver::probing_up("bbrv2", &[]);
    driver.socket.release();
    assert!(!driver.socket.has_storage());
    driver.socket.init_inherited();
    let trace = driver.ack(next_round());
    assert_eq!((trace.mode, trace.bw_bps), (mode::STARTUP, bps(100)));
}

#[test]
fn samples_without_a_rate_or_an_interval_are_ignored() {
    let mut driver = Driver::cruising("bbrv2", &[]);
    for (delivered, interval_us) in [(-1, 1000), (100, 0), (100, -1), (0, 0)] {
        let sample = RateSample { delivered, interval_us, acked_sacked: 1, prior_mstamp: 1, ..RateSample::default() };
        driver.socket.cong_control(0, 0, &sample);
        assert_eq!(driver.trace().bw_bps, bps(100), "{sample:?}");
    }
}
