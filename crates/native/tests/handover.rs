//! What a socket carries over when its algorithm is changed in mid-connection: pacing, cwnd, ssthresh, socket storage and
//! the published state, of each kind of algorithm, worked out by hand and over a whole connection.

mod common;

use ccactl_abi::layout::{INFINITE_SSTHRESH, Trace};
use ccactl_abi::test_every_algorithm;
use ccactl_native::path::Flow;
use ccactl_native::{CA_LOSS, CA_OPEN, CA_RECOVERY, NAMES, RateSample, Socket, TcpSock};
use common::{established, link, sample};

const UNLIMITED: u64 = u64::MAX;
const PACING_NONE: u32 = 0;
const PACING_NEEDED: u32 = 1;
const PACING_FQ: u32 = 2;

/// RTT of the hand-worked connections: 2^15 us, so that a rate in packets/us << 24 has no remainder.
const RTT_US: u32 = 32_768;
/// Their path holds 128 packets: 2^16 in that unit.
const BDP_PKTS: u32 = 128;
/// 128 packets of 1448 bytes per RTT, times 1.2.
const BDP_RATE: u64 = 6_787_500;

/// The algorithms that pace themselves; the others leave that to the kernel.
const PACED: [&str; 7] = ["bbr", "bbrv2", "bbrv3", "f-bbrv2", "f-bbrv3", "copa", "prague"];
const MODELS: [&str; 5] = ["bbr", "bbrv2", "bbrv3", "f-bbrv2", "f-bbrv3"];

/// `tcp_update_pacing_rate()` with the kernel's default ratios, bytes/s.
fn kernel_rate(tp: &TcpSock) -> u64 {
    let percent = if tp.snd_cwnd < tp.snd_ssthresh / 2 { 200 } else { 120 };
    let window = u64::from(tp.mss_cache) * u64::from(tp.snd_cwnd.max(tp.packets_out));
    window * percent * 1_000_000 * 8 / 100 / u64::from(tp.srtt_us)
}

fn pacing_status(socket: &Socket) -> u32 {
    socket.tp().inet_conn.sk.sk_pacing_status
}

/// A connection that has carried data over that path, before any algorithm.
fn underway(algorithm: &str) -> Socket {
    let mut socket = Socket::checked(algorithm).expect("the algorithm exists");
    let tp = socket.tp_mut();
    tp.set_cwnd_limited(true);
    tp.data_segs_out = 5000;
    tp.delivered = 5000;
    tp.srtt_us = RTT_US << 3;
    tp.rtt_min[0].v = RTT_US;
    tp.rate_delivered = BDP_PKTS;
    tp.rate_interval_us = RTT_US;
    tp.packets_out = 90;
    tp.snd_cwnd = 250;
    socket
}

/// Rounds of 128 packets, until a model has found the pipe full.
fn fill_pipe(socket: &mut Socket) {
    for _ in 0..12 {
        socket.advance_us(u64::from(RTT_US));
        let prior = socket.tp().delivered;
        let now_us = socket.time_us();
        let tp = socket.tp_mut();
        tp.delivered += BDP_PKTS;
        tp.delivered_mstamp = now_us;
        tp.app_limited = 0;
        let sample = RateSample {
            prior_mstamp: now_us - u64::from(RTT_US),
            ..sample(prior, BDP_PKTS as i32, i64::from(RTT_US))
        };
        socket.cong_control(0, 0, &sample);
    }
}

#[test]
fn bbr_with_a_full_pipe_leaves_its_bdp_as_window_and_threshold_and_no_pacing() {
    for name in MODELS {
        let mut socket = underway(name);
        socket.init();
        assert_eq!((pacing_status(&socket), socket.snd_ssthresh()), (PACING_NEEDED, INFINITE_SSTHRESH), "{name}");
        fill_pipe(&mut socket);
        // Two BDP, of which pacing lets one into the network.
        socket.tp_mut().snd_cwnd = 250;
        socket.tp_mut().snd_ssthresh = 5000;
        socket.release();
        assert_eq!((socket.cwnd(), socket.snd_ssthresh()), (BDP_PKTS, BDP_PKTS), "{name}");
        assert_eq!(pacing_status(&socket), PACING_NONE, "{name}");
        assert_eq!((socket.pacing_rate(), kernel_rate(socket.tp())), (BDP_RATE, BDP_RATE), "{name}");
        assert!(!socket.has_storage(), "{name}");
    }
}

#[test]
fn what_is_in_flight_stays_in_the_window() {
    for name in MODELS {
        let mut socket = underway(name);
        socket.init();
        fill_pipe(&mut socket);
        socket.tp_mut().snd_cwnd = 250;
        socket.tp_mut().packets_out = 150;
        socket.release();
        assert_eq!((socket.cwnd(), socket.snd_ssthresh()), (150, BDP_PKTS), "{name}");
    }
}

#[test]
fn the_small_window_of_probe_rtt_grows_back_in_slow_start() {
    for name in MODELS {
        let mut socket = underway(name);
        socket.init();
        fill_pipe(&mut socket);
        socket.tp_mut().snd_cwnd = 4;
        socket.tp_mut().packets_out = 4;
        socket.swap("reno").expect("it exists");
        assert_eq!((socket.cwnd(), socket.snd_ssthresh()), (4, BDP_PKTS), "{name}");
        socket.cong_avoid(0, 4);
        assert_eq!(socket.cwnd(), 8, "{name}");
        // At the swap 4 of 128: the kernel paces slow start at twice the window, 4 * 1448 * 2 bytes per RTT.
        assert_eq!(socket.pacing_rate(), 353_515, "{name}");
    }
}

#[test]
fn a_model_that_is_still_looking_leaves_slow_start_to_go_on_unless_there_was_a_loss() {
    for name in MODELS {
        for (state, expected) in [(CA_OPEN, INFINITE_SSTHRESH), (CA_RECOVERY, BDP_PKTS), (CA_LOSS, BDP_PKTS)] {
            let mut socket = underway(name);
            socket.init();
            socket.tp_mut().delivered += BDP_PKTS;
            socket.cong_control(0, 0, &sample(5000, BDP_PKTS as i32, i64::from(RTT_US)));
            socket.tp_mut().snd_cwnd = 160;
            socket.tp_mut().set_ca_state(state);
            socket.release();
            assert_eq!(socket.snd_ssthresh(), expected, "{name} in state {state}");
            let cwnd = if state == CA_OPEN { 160 } else { BDP_PKTS };
            assert_eq!((socket.cwnd(), pacing_status(&socket)), (cwnd, PACING_NONE), "{name} in state {state}");
        }
    }
}

#[test]
fn pacing_that_the_application_or_fq_asked_for_stays() {
    for name in PACED.into_iter().chain(["new-vegas"]) {
        let mut limited = underway(name);
        limited.tp_mut().inet_conn.sk.sk_pacing_status = PACING_NEEDED;
        limited.tp_mut().inet_conn.sk.sk_max_pacing_rate = 1_000_000;
        limited.init();
        limited.release();
        assert_eq!((pacing_status(&limited), limited.pacing_rate()), (PACING_NEEDED, 1_000_000), "{name}");

        let mut fq = underway(name);
        fq.tp_mut().inet_conn.sk.sk_pacing_status = PACING_FQ;
        fq.init();
        fq.release();
        assert_eq!((pacing_status(&fq), fq.pacing_rate()), (PACING_FQ, kernel_rate(fq.tp())), "{name}");
    }
}

#[test]
fn a_connection_without_data_gets_its_pacing_back_and_keeps_its_window() {
    for name in PACED {
        let mut socket = established(name);
        assert_eq!(pacing_status(&socket), PACING_NEEDED, "{name}");
        socket.tp_mut().srtt_us = RTT_US << 3;
        socket.release();
        assert_eq!((socket.cwnd(), socket.snd_ssthresh()), (10, INFINITE_SSTHRESH), "{name}");
        assert_eq!((pacing_status(&socket), socket.pacing_rate()), (PACING_NONE, kernel_rate(socket.tp())), "{name}");
    }
}

#[test]
fn copa_leaves_its_window_as_threshold_once_slow_start_is_over() {
    let mut socket = underway("copa");
    socket.init();
    socket.tp_mut().snd_cwnd = 60;
    socket.release();
    assert_eq!((socket.cwnd(), socket.snd_ssthresh()), (60, INFINITE_SSTHRESH), "in slow start");

    let mut socket = underway("copa");
    socket.init();
    // A timeout ends slow start, wherever the window was.
    socket.set_state(CA_LOSS);
    socket.tp_mut().snd_ssthresh = 150;
    socket.tp_mut().snd_cwnd = 60;
    socket.release();
    assert_eq!((socket.cwnd(), socket.snd_ssthresh()), (60, 150), "while the timeout is worked off");

    socket.init();
    socket.set_state(CA_LOSS);
    socket.set_state(CA_OPEN);
    socket.tp_mut().snd_ssthresh = 150;
    socket.tp_mut().snd_cwnd = 60;
    socket.release();
    assert_eq!((socket.cwnd(), socket.snd_ssthresh()), (60, 60), "afterwards");
    assert_eq!((pacing_status(&socket), socket.pacing_rate()), (PACING_NONE, kernel_rate(socket.tp())));
}

#[test]
fn prague_and_new_vegas_leave_the_threshold_that_they_have() {
    for name in ["prague", "new-vegas"] {
        for (cwnd, ssthresh) in [(60, 150), (60, 40), (60, INFINITE_SSTHRESH)] {
            let mut socket = underway(name);
            socket.init();
            socket.tp_mut().snd_cwnd = cwnd;
            socket.tp_mut().snd_ssthresh = ssthresh;
            socket.release();
            assert_eq!((socket.cwnd(), socket.snd_ssthresh()), (cwnd, ssthresh), "{name}");
            assert_eq!((pacing_status(&socket), socket.pacing_rate()), (PACING_NONE, kernel_rate(socket.tp())));
        }
    }
}

#[test]
fn an_algorithm_without_pacing_of_its_own_settles_what_native_bbr_left() {
    for name in NAMES.iter().filter(|name| !PACED.contains(name) && **name != "new-vegas") {
        let mut socket = underway(name);
        let sk = &mut socket.tp_mut().inet_conn.sk;
        sk.sk_pacing_status = PACING_NEEDED;
        sk.sk_pacing_rate = 123;
        // As of its first DRAIN, when the path was faster.
        socket.tp_mut().snd_ssthresh = 900;
        socket.init();
        assert_eq!((socket.cwnd(), socket.snd_ssthresh()), (BDP_PKTS, BDP_PKTS), "{name}");
        assert_eq!((pacing_status(&socket), socket.pacing_rate()), (PACING_NONE, BDP_RATE), "{name}");

        // In STARTUP it was still looking; in PROBE_RTT its window was small.
        let mut socket = underway(name);
        socket.tp_mut().inet_conn.sk.sk_pacing_status = PACING_NEEDED;
        socket.tp_mut().snd_cwnd = 4;
        socket.tp_mut().packets_out = 4;
        socket.init();
        assert_eq!((socket.cwnd(), socket.snd_ssthresh()), (4, INFINITE_SSTHRESH), "{name}");
        socket.tp_mut().inet_conn.sk.sk_pacing_status = PACING_NEEDED;
        socket.tp_mut().snd_ssthresh = 900;
        socket.init();
        assert_eq!((socket.cwnd(), socket.snd_ssthresh()), (4, BDP_PKTS), "{name}");
    }
}

test_every_algorithm!(a_predecessor_without_pacing_leaves_its_window_alone);
/// What two loss-based algorithms hand each other, or one to a model: cwnd stays whatever it is.
fn a_predecessor_without_pacing_leaves_its_window_alone(name: &str) {
    for (cwnd, ssthresh) in [(200, 150), (60, 150), (200, INFINITE_SSTHRESH)] {
        let mut socket = underway(name);
        socket.tp_mut().snd_cwnd = cwnd;
        socket.tp_mut().snd_ssthresh = ssthresh;
        socket.tp_mut().snd_cwnd_cnt = 7777;
        socket.init();
        assert_eq!((socket.cwnd(), socket.tp().snd_cwnd_cnt), (cwnd, 0));
        let keeps_ssthresh = !MODELS.contains(&name) && name != "copa";
        assert_eq!(socket.snd_ssthresh(), if keeps_ssthresh { ssthresh } else { INFINITE_SSTHRESH });
        let paces = PACED.contains(&name) || name == "new-vegas";
        assert_eq!(pacing_status(&socket), if paces { PACING_NEEDED } else { PACING_NONE });
    }
}

test_every_algorithm!(init_at_the_start_of_a_connection_finds_what_the_kernel_made);
/// Without data: the window is the route's, not a predecessor's, and what the application limits stays limited.
fn init_at_the_start_of_a_connection_finds_what_the_kernel_made(name: &str) {
    let start = |max_pacing_rate: u64| {
        let mut socket = Socket::checked(name).expect("a row has a file");
        let sk = &mut socket.tp_mut().inet_conn.sk;
        sk.sk_pacing_status = PACING_NEEDED;
        sk.sk_max_pacing_rate = max_pacing_rate;
        sk.sk_pacing_rate = 777;
        socket.tp_mut().snd_cwnd = 40;
        socket.tp_mut().srtt_us = RTT_US << 3;
        socket.init();
        socket
    };
    let paces = PACED.contains(&name) || name == "new-vegas";
    // Hybla and LEDBAT++ have an initial window of their own.
    let own_window = ["hybla", "ledbatpp"].contains(&name);

    let limited = start(1_000_000);
    assert!(own_window || limited.cwnd() == 40);
    assert_eq!((pacing_status(&limited), limited.snd_ssthresh()), (PACING_NEEDED, INFINITE_SSTHRESH));
    assert!(paces || limited.pacing_rate() == 777);

    // A connection that native bbr had before it sent anything.
    let left_on = start(UNLIMITED);
    assert!(own_window || left_on.cwnd() == 40);
    assert_eq!(pacing_status(&left_on), if paces { PACING_NEEDED } else { PACING_NONE });
}

test_every_algorithm!(init_forgets_what_the_predecessor_published);
fn init_forgets_what_the_predecessor_published(name: &str) {
    let mut flow = Flow::new(established("bbrv2"), link(1500), 1);
    flow.run_for_us(3_000_000, |_| {});
    let before = flow.socket.trace().expect("BBRv2 publishes");
    assert!(before.bw_hi_bps > 0 && before.inflight_lo_pkts > 0);
    flow.socket.swap(name).expect("a row has a file");
    assert_eq!(flow.socket.trace(), None);
    flow.run_for_us(3_000_000, |_| {});
    let after = flow.socket.trace().expect("every algorithm publishes");
    assert!(MODELS.contains(&name) || Trace { inflight_lo_pkts: 0, ..after } == after, "{after:?}");
}

#[test]
/// A predecessor's queue stands when they take over; the smallest RTT of the connection is without it.
fn delay_based_algorithms_of_our_own_know_the_rtt_before_them() {
    let base_rtt = |name: &str, underway: bool| {
        let mut flow = Flow::new(established("reno"), link(4000), 1);
        flow.run_for_us(20_000_000, |_| {});
        flow.socket.tp_mut().data_segs_out = if underway { 20_000 } else { 0 };
        flow.socket.swap(name).expect("a row has a file");
        flow.run_for_us(30_000, |_| {});
        flow.socket.trace().expect("ACKs have come").min_rtt_us
    };
    for name in ["copa", "ledbatpp", "fast", "vegas-a", "new-vegas", "compound"] {
        assert_eq!(base_rtt(name, true), 40_000, "{name}: the RTT of the empty path");
        assert!(base_rtt(name, false) > 50_000, "{name}: the standing queue counts in");
    }
}

test_every_algorithm!(goes_to_every_other_algorithm_and_back_in_mid_connection);
fn goes_to_every_other_algorithm_and_back_in_mid_connection(name: &str) {
    let mut flow = Flow::new(Socket::checked(name).expect("a row has a file"), link(1500), 1);
    flow.run_for_us(3_000_000, |_| {});
    for other in NAMES {
        for next in [*other, name] {
            flow.socket.swap(next).expect("a row has a file");
            let before = flow.stats();
            flow.run_for_us(400_000, |flow| assert!(flow.socket.cwnd() > 0, "{next}"));
            assert!(flow.stats().since(&before).delivered_pkts > 0, "{name} to {other}: {next} stands still");
        }
    }
}

test_every_algorithm!(cubic_goes_on_at_the_rate_of_its_predecessor);
/// 50 Mbit/s and 40 ms hold 173 packets. Neither a burst that overflows a buffer of half a BDP nor a standstill follows.
fn cubic_goes_on_at_the_rate_of_its_predecessor(name: &str) {
    let mut flow = Flow::new(Socket::checked(name).expect("a row has a file"), link(500), 1);
    flow.run_for_us(15_000_000, |_| {});
    let before = flow.stats();
    flow.run_for_us(2_000_000, |_| {});
    let kept = flow.stats().since(&before);
    flow.socket.swap("cubic").expect("it exists");
    let before = flow.stats();
    flow.run_for_us(400_000, |_| {});
    let after = flow.stats().since(&before);
    // A fifth of the time. LEDBAT++ is on its way back from a slowdown at that moment.
    let least = if name == "ledbatpp" { 4 } else { 7 };
    assert!(after.delivered_pkts * 5 * 10 >= kept.delivered_pkts * least, "{after:?} after {kept:?}");
    assert!(after.timeouts == 0 && after.lost_pkts < 60, "{after:?}");
}

test_every_algorithm!(release_comes_before_init_and_twice);
fn release_comes_before_init_and_twice(name: &str) {
    let mut socket = underway(name);
    let (cwnd, ssthresh, rate) = (socket.cwnd(), socket.snd_ssthresh(), socket.pacing_rate());
    socket.release();
    assert_eq!((socket.cwnd(), socket.snd_ssthresh(), socket.pacing_rate()), (cwnd, ssthresh, rate));
    socket.init();
    socket.release();
    let left = (socket.cwnd(), socket.snd_ssthresh(), socket.pacing_rate(), pacing_status(&socket));
    socket.release();
    assert_eq!((socket.cwnd(), socket.snd_ssthresh(), socket.pacing_rate(), pacing_status(&socket)), left);
    // At the end of a connection that never had an RTT sample or a packet.
    let mut socket = established(name);
    socket.tp_mut().mss_cache = 0;
    socket.release();
    assert!(socket.cwnd() > 0);
}

#[test]
/// The same swap to CUBIC with what BBR leaves without a `release`, as the native module does: two BDP in the window, of
/// which one leaves at once. The buffer holds half a BDP. (The later versions keep their window below `inflight_hi`.)
fn the_handover_of_bbr_spares_the_path_a_burst() {
    let lost = |handed_over: bool| {
        let mut flow = Flow::new(established("bbr"), link(500), 1);
        flow.run_for_us(12_000_000, |_| {});
        let tp = *flow.socket.tp();
        flow.socket.swap("cubic").expect("it exists");
        if !handed_over {
            flow.socket.tp_mut().snd_cwnd = tp.snd_cwnd;
            flow.socket.tp_mut().snd_ssthresh = tp.snd_ssthresh;
        }
        let before = flow.stats();
        flow.run_for_us(200_000, |_| {});
        flow.stats().since(&before).lost_pkts
    };
    let (with, without) = (lost(true), lost(false));
    eprintln!("{with} packets lost with the handover, {without} without");
    assert!(with == 0 && without > 50, "{with} {without}");
}
