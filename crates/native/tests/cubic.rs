//! CUBIC and HyStart against their formulas.

mod common;

use ccactl_native::path::Flow;
use ccactl_native::{CA_LOSS, CA_RECOVERY, EVENT_TX_START, Socket};
use common::{established, link, rtt};

const SLOW_START: u32 = 0;
const CONCAVE: u32 = 1;
const CONVEX: u32 = 2;
const FRIENDLY: u32 = 3;

/// C of the cubic in packets/s³: bic_scale 41 of 1024, for a nominal RTT of 0.1 s.
const C: f64 = 41.0 / 1024.0 * 10.0;

fn mode(socket: &Socket) -> u32 {
    socket.trace().expect("published").mode
}

/// Loses a packet at `cwnd` and comes out of recovery at ssthresh.
fn lose_at(socket: &mut Socket, cwnd: u32) {
    socket.tp_mut().snd_cwnd = cwnd;
    let ssthresh = socket.ssthresh();
    socket.set_state(CA_RECOVERY);
    socket.tp_mut().snd_ssthresh = ssthresh;
    socket.tp_mut().snd_cwnd = ssthresh;
    socket.set_state(0);
}

/// Acknowledges whole windows, in ten equal parts per RTT.
fn run(socket: &mut Socket, rtt_us: u64, rounds: u64) {
    let mut owed = 0;
    for _ in 0..rounds * 10 {
        socket.advance_us(rtt_us / 10);
        owed += socket.cwnd();
        socket.cong_avoid(0, owed / 10);
        owed %= 10;
    }
}

#[test]
fn loss_cuts_to_beta_and_never_below_two() {
    let mut socket = established("cubic");
    for (cwnd, ssthresh) in [(1000, 700), (100, 70), (10, 7), (3, 2), (2, 2), (1, 2)] {
        socket.tp_mut().snd_cwnd = cwnd;
        assert_eq!(socket.ssthresh(), ssthresh, "cwnd {cwnd}");
    }
    socket.set_tunable("beta", 512).expect("a tunable");
    socket.tp_mut().snd_cwnd = 1000;
    assert_eq!(socket.ssthresh(), 500);
}

#[test]
fn a_tunable_of_one_socket_does_not_leak_into_another() {
    let mut halving = established("cubic");
    let mut normal = established("cubic");
    halving.set_tunable("beta", 512).expect("a tunable");
    halving.tp_mut().snd_cwnd = 1000;
    normal.tp_mut().snd_cwnd = 1000;
    assert_eq!((halving.ssthresh(), normal.ssthresh(), halving.ssthresh()), (500, 700, 500));
}

#[test]
fn k_is_the_cube_root_of_the_lost_window_over_c() {
    for wmax in [20, 100, 333, 1000, 4096, 50_000] {
        let mut socket = established("cubic");
        lose_at(&mut socket, wmax);
        socket.cong_avoid(0, 1);
        let trace = socket.trace().expect("published");
        let exact_ms = (f64::from(wmax - socket.tp().snd_ssthresh) / C).cbrt() * 1000.0;
        assert_eq!(trace.v0, i64::from(wmax), "origin");
        assert!((trace.v1 as f64 / exact_ms - 1.0).abs() < 0.01, "K {} ms, formula {exact_ms} ms", trace.v1);
    }
}

#[test]
fn the_window_follows_the_cubic_below_and_above_the_origin() {
    let mut socket = established("cubic");
    socket.set_tunable("tcp_friendliness", 0).expect("a tunable");
    lose_at(&mut socket, 1000);
    let start_us = socket.time_us();
    let k = (300.0 / C).cbrt();
    for (second, expected_mode) in [(1, CONCAVE), (3, CONCAVE), (6, CONCAVE), (12, CONVEX), (15, CONVEX)] {
        while socket.time_us() < start_us + second * 1_000_000 {
            run(&mut socket, 40_000, 1);
        }
        let t = (socket.time_us() - start_us) as f64 / 1e6;
        let formula = 1000.0 + C * (t - k).powi(3);
        let cwnd = f64::from(socket.cwnd());
        assert!((cwnd / formula - 1.0).abs() < 0.01, "after {t} s: {cwnd}, formula {formula}");
        assert_eq!(mode(&socket), expected_mode, "after {t} s");
    }
}

#[test]
fn the_minimum_rtt_moves_the_window_ahead_on_the_cubic() {
    let grown = |rtt_us| {
        let mut socket = established("cubic");
        socket.set_tunable("tcp_friendliness", 0).expect("a tunable");
        rtt(&mut socket, rtt_us);
        lose_at(&mut socket, 1000);
        run(&mut socket, 40_000, 25);
        socket.cwnd()
    };
    assert!(grown(400_000) > grown(1000) + 20, "{} and {}", grown(400_000), grown(1000));
}

#[test]
fn fast_convergence_remembers_less_than_the_window_of_a_second_loss() {
    for (fast, origin) in [(1, 680), (0, 800)] {
        let mut socket = established("cubic");
        socket.set_tunable("fast_convergence", fast).expect("a tunable");
        lose_at(&mut socket, 1000);
        lose_at(&mut socket, 800);
        assert_eq!(socket.cwnd(), 560);
        socket.cong_avoid(0, 1);
        assert_eq!(socket.trace().map(|trace| trace.v0), Some(origin));
    }
}

#[test]
fn on_a_short_path_the_window_grows_as_renos_with_the_same_beta_would() {
    let grown = |friendly| {
        let mut socket = established("cubic");
        socket.set_tunable("tcp_friendliness", friendly).expect("a tunable");
        lose_at(&mut socket, 100);
        run(&mut socket, 4000, 100);
        (socket.cwnd(), mode(&socket))
    };
    // One packet per cwnd * 15 / 8 acknowledged: 100 rounds give 53.
    let (cwnd, mode) = grown(1);
    assert!((120..=126).contains(&cwnd) && mode == FRIENDLY, "cwnd {cwnd}, mode {mode}");
    // The cubic alone is at 100 - C * (4.22 - 0.4)^3 = 78.
    let (cwnd, mode) = grown(0);
    assert!((76..=79).contains(&cwnd) && mode == CONCAVE, "cwnd {cwnd}, mode {mode}");
}

#[test]
fn before_the_first_loss_the_window_grows_by_five_percent_per_round() {
    let mut socket = established("cubic");
    socket.tp_mut().snd_cwnd = 100;
    socket.tp_mut().snd_ssthresh = 100;
    for (acked, cwnd) in [(10, 100), (9, 100), (1, 101)] {
        socket.cong_avoid(0, acked);
        assert_eq!(socket.cwnd(), cwnd);
    }
}

#[test]
fn growth_is_at_most_one_packet_per_two_acknowledged() {
    let mut socket = established("cubic");
    lose_at(&mut socket, 40);
    socket.cong_avoid(0, 1);
    // Half a minute later the cubic is thousands of packets above.
    socket.advance_us(30_000_000);
    let before = socket.cwnd();
    socket.cong_avoid(0, before);
    assert!((before + before / 2 - 1..=before + before / 2 + 1).contains(&socket.cwnd()), "{before} {}", socket.cwnd());
}

#[test]
fn nothing_grows_while_the_application_limits() {
    let mut socket = established("cubic");
    lose_at(&mut socket, 100);
    socket.tp_mut().set_cwnd_limited(false);
    run(&mut socket, 40_000, 50);
    assert_eq!(socket.cwnd(), 70);
}

#[test]
fn an_idle_period_is_not_part_of_the_epoch() {
    let after = |idle_us: u64, announced: bool| {
        let mut socket = established("cubic");
        lose_at(&mut socket, 1000);
        run(&mut socket, 40_000, 25);
        socket.tp_mut().lsndtime = socket.jiffies();
        socket.advance_us(idle_us);
        if announced {
            socket.cwnd_event(EVENT_TX_START);
        }
        run(&mut socket, 40_000, 25);
        socket.cwnd()
    };
    let busy = after(0, true);
    assert!(after(10_000_000, true).abs_diff(busy) <= 1, "{} and {busy}", after(10_000_000, true));
    assert!(after(10_000_000, false) > busy + 50, "without the event the idle period counts");
}

#[test]
fn a_timeout_forgets_everything() {
    let mut socket = established("cubic");
    rtt(&mut socket, 10_000);
    lose_at(&mut socket, 1000);
    run(&mut socket, 40_000, 5);
    assert_eq!(socket.trace().map(|trace| (trace.v0, trace.min_rtt_us)), Some((1000, 10_000)));
    socket.set_state(CA_LOSS);
    socket.tp_mut().snd_cwnd = 1;
    socket.cong_avoid(0, 1);
    assert_eq!(socket.trace().map(|trace| (trace.v0, trace.v1, trace.min_rtt_us)), Some((0, 0, 0)));
    assert_eq!(mode(&socket), SLOW_START);
}

/// In slow start at 20 packets with a minimum RTT of 10 ms, and only the given HyStart detector.
fn slow_starting(detect: i64) -> Socket {
    let mut socket = established("cubic");
    socket.set_tunable("hystart_detect", detect).expect("a tunable");
    socket.tp_mut().snd_cwnd = 15;
    rtt(&mut socket, 10_000);
    socket.tp_mut().snd_cwnd = 20;
    socket.tp_mut().snd_una = 1000;
    socket.tp_mut().snd_nxt = 2000;
    socket
}

fn left_slow_start(socket: &Socket) -> bool {
    socket.snd_ssthresh() == socket.cwnd()
}

#[test]
fn hystart_leaves_slow_start_when_the_rtt_of_a_round_has_risen() {
    // An eighth of 10 ms is below the least tolerance of 4 ms.
    for (rtt_us, leaves) in [(14_000, false), (14_001, true)] {
        let mut socket = slow_starting(2);
        for count in 1..=8 {
            rtt(&mut socket, rtt_us);
            assert!(!left_slow_start(&socket), "sample {count} of the round");
        }
        rtt(&mut socket, rtt_us);
        assert_eq!(left_slow_start(&socket), leaves, "RTT {rtt_us}");
    }
}

#[test]
fn one_small_sample_of_a_round_keeps_hystart_quiet() {
    let mut socket = slow_starting(2);
    rtt(&mut socket, 11_000);
    for _ in 0..50 {
        rtt(&mut socket, 30_000);
    }
    assert!(!left_slow_start(&socket));
    // The next round starts when what had been sent at the start of this one is acknowledged.
    socket.tp_mut().snd_una = 2001;
    socket.tp_mut().snd_nxt = 3000;
    for _ in 0..9 {
        rtt(&mut socket, 30_000);
    }
    assert!(left_slow_start(&socket));
}

#[test]
fn hystart_leaves_slow_start_after_a_train_of_half_the_rtt_or_a_whole_one_when_paced() {
    // Pacing status, pacing rate, milliseconds after which the train is too long. At 1 byte/s the cushion for TSO is at
    // its limit of 1 ms.
    for (status, rate, leaves_ms) in [(0, u64::MAX, 6), (1, u64::MAX, 11), (1, 1, 12)] {
        let mut socket = slow_starting(1);
        socket.tp_mut().inet_conn.sk.sk_pacing_status = status;
        socket.tp_mut().inet_conn.sk.sk_pacing_rate = rate;
        rtt(&mut socket, 10_000);
        for ms in 1..=leaves_ms {
            assert!(!left_slow_start(&socket), "status {status}: before {ms} ms");
            socket.advance_us(1000);
            rtt(&mut socket, 10_000);
        }
        assert!(left_slow_start(&socket), "status {status}: after {leaves_ms} ms");
    }
}

#[test]
fn a_gap_ends_the_train() {
    let mut socket = slow_starting(1);
    rtt(&mut socket, 10_000);
    socket.advance_us(2001);
    for _ in 0..30 {
        rtt(&mut socket, 10_000);
        socket.advance_us(1000);
    }
    assert!(!left_slow_start(&socket));
}

#[test]
fn hystart_can_be_switched_off_and_is_idle_below_its_window() {
    let mut off = slow_starting(3);
    off.set_tunable("hystart", 0).expect("a tunable");
    let mut small = slow_starting(3);
    small.tp_mut().snd_cwnd = 15;
    for _ in 0..50 {
        rtt(&mut off, 30_000);
        rtt(&mut small, 30_000);
    }
    assert!(!left_slow_start(&off) && !left_slow_start(&small));
}

#[test]
fn initial_ssthresh_holds_only_without_hystart() {
    for (hystart, ssthresh) in [(0, 64), (1, 0x7fff_ffff)] {
        let mut socket = established("cubic");
        socket.set_tunable("initial_ssthresh", 64).expect("a tunable");
        socket.set_tunable("hystart", hystart).expect("a tunable");
        socket.init();
        assert_eq!(socket.snd_ssthresh(), ssthresh);
    }
}

#[test]
fn rtt_samples_of_the_first_second_of_an_epoch_do_not_count() {
    let mut socket = established("cubic");
    rtt(&mut socket, 10_000);
    lose_at(&mut socket, 100);
    socket.cong_avoid(0, 1);
    rtt(&mut socket, 5000);
    socket.cong_avoid(0, 1);
    assert_eq!(socket.trace().map(|trace| trace.min_rtt_us), Some(10_000));
    socket.advance_us(1_000_000);
    rtt(&mut socket, 5000);
    socket.cong_avoid(0, 1);
    assert_eq!(socket.trace().map(|trace| trace.min_rtt_us), Some(5000));
}

#[test]
fn on_a_path_it_leaves_slow_start_without_loss_and_then_fills_the_link() {
    let mut flow = Flow::new(established("cubic"), link(2000), 1);
    let mut first_avoidance = None;
    flow.run_for_us(1_000_000, |flow| {
        if flow.socket.cwnd() >= flow.socket.snd_ssthresh() && first_avoidance.is_none() {
            first_avoidance = Some((flow.socket.cwnd(), flow.stats().lost_pkts));
        }
    });
    let (cwnd, lost) = first_avoidance.expect("it leaves slow start in the first second");
    assert!(u64::from(cwnd) < flow.link.bdp_pkts() * 2 && lost == 0, "cwnd {cwnd}, lost {lost}");
    flow.run_for_us(4_000_000, |_| {});
    let start = flow.stats();
    let mut cuts = Vec::new();
    let mut previous = (0, flow.socket.snd_ssthresh());
    flow.run_for_us(60_000_000, |flow| {
        if flow.socket.snd_ssthresh() != previous.1 {
            cuts.push(f64::from(flow.socket.snd_ssthresh()) / f64::from(previous.0));
        }
        previous = (flow.socket.cwnd(), flow.socket.snd_ssthresh());
    });
    let stats = flow.stats().since(&start);
    let ideal = 60 * flow.link.rate_bps / 8 / 1500;
    assert!(stats.delivered_pkts * 1000 >= ideal * 999, "{stats:?} of {ideal}");
    assert!(cuts.len() >= 3, "{cuts:?}");
    assert!(cuts.iter().all(|cut| (0.695..0.705).contains(cut)), "{cuts:?}");
}
