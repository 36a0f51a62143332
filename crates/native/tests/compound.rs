//! Compound TCP against hand-worked rounds. The base RTT is 10 000 µs throughout.

mod vegas_driver;

use ccactl_native::path::{Flow, Link};
use ccactl_native::{CA_LOSS, CA_OPEN, CA_RECOVERY, EVENT_COMPLETE_CWR, EVENT_CWND_RESTART, EVENT_TX_START, Socket};
use vegas_driver::{ack_within, at, established, link, round, round_of};

const SLOW_START: u32 = 0;
const RENO: u32 = 1;
const GROW: u32 = 2;
const SHRINK: u32 = 3;

/// Window, dwnd, diff, mode.
fn state(socket: &Socket) -> (u32, i64, i64, u32) {
    let trace = socket.trace().expect("published");
    (socket.cwnd(), trace.v0, trace.v1, trace.mode)
}

/// A window of 10124 packets, 124 of them dwnd: 10000^0.75 / 8 - 1.
fn large() -> Socket {
    let mut socket = at("compound", 10_000, 50);
    round(&mut socket, 10_000, 0);
    assert_eq!(state(&socket), (10_124, 124, 0, GROW));
    socket
}

/// What the kernel does at a loss, up to the end of recovery.
fn recover(socket: &mut Socket) {
    socket.tp_mut().prior_cwnd = socket.cwnd();
    let ssthresh = socket.ssthresh();
    socket.tp_mut().snd_ssthresh = ssthresh;
    socket.set_state(CA_RECOVERY);
    // In between PRR moves the window at its own discretion.
    socket.tp_mut().snd_cwnd = ssthresh / 3;
    socket.set_state(CA_OPEN);
    socket.tp_mut().snd_cwnd = ssthresh;
    socket.cwnd_event(EVENT_COMPLETE_CWR);
    ack_within(socket, 0);
}

#[test]
fn dwnd_grows_by_an_eighth_of_the_windows_three_quarter_power_less_one() {
    for (cwnd, growth) in [
        // 256^0.75 = 64, 1296^0.75 = 216, 10000^0.75 = 1000.
        (256, 7),
        (1296, 26),
        (10_000, 124),
        // 27 / 8 - 1 = 2.375, 16.20 / 8 - 1 = 1.03
        (81, 2),
        (41, 1),
        // 1048576^0.75 = 2^15
        (1 << 20, 4095),
    ] {
        let mut socket = at("compound", cwnd, 2);
        round(&mut socket, 10_000, 0);
        assert_eq!(state(&socket), (cwnd + growth, i64::from(growth), 0, GROW));
    }
}

#[test]
fn fractions_of_a_packet_add_up() {
    // From 81 packets, without Reno's growth: 2.375, then 83^0.75 / 8 - 1 = 2.437, 85: 2.499, 88: 2.591.
    let mut socket = at("compound", 81, 2);
    let mut windows = Vec::new();
    for _ in 0..4 {
        round(&mut socket, 10_000, 0);
        windows.push(socket.cwnd());
    }
    // 81 + 2.375, 4.812, 7.311, 9.902
    assert_eq!(windows, [83, 85, 88, 90]);
}

#[test]
fn renos_part_grows_by_one_per_window_beside_it() {
    let mut socket = large();
    ack_within(&mut socket, 10_123);
    assert_eq!(state(&socket).0, 10_124);
    ack_within(&mut socket, 1);
    assert_eq!(state(&socket), (10_125, 124, 0, GROW));
}

#[test]
fn gamma_packets_in_the_queue_make_dwnd_shrink_by_them_to_nothing_at_worst() {
    // 10124 * 29 / 10029 = 29.3: 10124^0.75 / 8 - 1 = 125.2 more (124 + 125.2 = 249).
    let mut socket = large();
    round(&mut socket, 10_029, 0);
    assert_eq!(state(&socket), (10_249, 249, 29, GROW));
    // 10124 * 40 / 10040 = 40.
    let mut socket = large();
    round(&mut socket, 10_040, 0);
    assert_eq!(state(&socket), (10_084, 84, 40, SHRINK));
    // 10124 * 200 / 10200 = 198, more than dwnd.
    let mut socket = large();
    round(&mut socket, 10_200, 0);
    assert_eq!(state(&socket), (10_000, 0, 198, SHRINK));
    round(&mut socket, 10_200, 0);
    assert_eq!(state(&socket), (10_000, 0, 196, SHRINK));
}

#[test]
fn eta_scales_what_it_gives_back_and_alpha_what_it_takes() {
    let mut socket = large();
    socket.set_tunable("eta", 500).expect("a tunable");
    round(&mut socket, 10_040, 0);
    assert_eq!(state(&socket).1, 104);
    socket.set_tunable("alpha", 0).expect("a tunable");
    round(&mut socket, 10_000, 0);
    assert_eq!(state(&socket).1, 104);
}

#[test]
fn there_is_no_dwnd_below_the_low_window_and_in_slow_start() {
    let mut socket = at("compound", 40, 2);
    round(&mut socket, 10_000, 0);
    assert_eq!(state(&socket), (40, 0, 0, RENO));
    let mut socket = at("compound", 1000, 2000);
    round(&mut socket, 10_000, 7);
    assert_eq!(state(&socket), (1007, 0, 0, SLOW_START));
    // A dwnd that is there becomes Reno's: the window does not jump.
    let mut socket = large();
    socket.tp_mut().snd_ssthresh = 20_000;
    ack_within(&mut socket, 0);
    assert_eq!(state(&socket), (10_124, 0, 0, SLOW_START));
}

#[test]
fn a_loss_halves_both_parts() {
    let mut socket = large();
    recover(&mut socket);
    assert_eq!((state(&socket), socket.snd_ssthresh()), ((5062, 62, 0, GROW), 5062));
}

#[test]
fn with_another_beta_renos_part_is_still_halved_and_dwnd_is_the_rest() {
    // 10124 * 0.75 = 7593, of which 5000 are Reno's.
    let mut socket = large();
    socket.set_tunable("beta", 250).expect("a tunable");
    recover(&mut socket);
    assert_eq!((socket.snd_ssthresh(), state(&socket).1), (7593, 2593));
    // 10124 * 0.25 = 2531 is less than Reno's part: that remains.
    let mut socket = large();
    socket.set_tunable("beta", 750).expect("a tunable");
    recover(&mut socket);
    assert_eq!((socket.snd_ssthresh(), state(&socket).1), (5000, 0));
}

#[test]
fn a_window_that_the_kernel_lowers_by_itself_shrinks_in_proportion() {
    let mut socket = large();
    socket.tp_mut().snd_cwnd = 5062;
    ack_within(&mut socket, 0);
    assert_eq!(state(&socket), (5062, 62, 0, GROW));
    // What the kernel adds is Reno's.
    socket.tp_mut().snd_cwnd = 8000;
    ack_within(&mut socket, 0);
    assert_eq!(state(&socket), (8000, 62, 0, GROW));
}

#[test]
fn a_timeout_leaves_no_dwnd_and_forgets_the_base_rtt() {
    for (forgets, base_us) in [(1, 19_999), (0, 9999)] {
        let mut socket = large();
        socket.set_tunable("rto_forgets_base", forgets).expect("a tunable");
        assert_eq!(socket.ssthresh(), 5062);
        socket.tp_mut().snd_ssthresh = 5062;
        socket.tp_mut().snd_cwnd = 1;
        socket.set_state(CA_LOSS);
        round(&mut socket, 20_000, 1);
        assert_eq!(state(&socket), (2, 0, 0, SLOW_START));
        assert_eq!(socket.trace().map(|trace| trace.min_rtt_us), Some(base_us));
    }
}

#[test]
fn undo_brings_back_both_parts_and_the_base_rtt() {
    let mut socket = large();
    socket.tp_mut().prior_cwnd = 10_124;
    socket.tp_mut().snd_ssthresh = socket.ssthresh();
    socket.tp_mut().snd_cwnd = 1;
    socket.set_state(CA_LOSS);
    round(&mut socket, 20_000, 1);
    let cwnd = socket.undo_cwnd();
    socket.tp_mut().snd_cwnd = cwnd;
    socket.set_state(CA_OPEN);
    socket.cwnd_event(EVENT_COMPLETE_CWR);
    ack_within(&mut socket, 0);
    assert_eq!(state(&socket), (10_124, 124, 0, GROW));
    assert_eq!(socket.trace().map(|trace| trace.min_rtt_us), Some(9999));
}

#[test]
fn a_restart_from_idle_keeps_the_base_rtt_unless_told_otherwise() {
    for (forgets, base_us) in [(0, 9999), (1, 19_999)] {
        for event in [EVENT_TX_START, EVENT_CWND_RESTART] {
            let mut socket = large();
            socket.set_tunable("idle_forgets_base", forgets).expect("a tunable");
            socket.cwnd_event(event);
            round_of(&mut socket, &[20_000], 0);
            assert_eq!(state(&socket).1, 124);
            assert_eq!(socket.trace().map(|trace| trace.min_rtt_us), Some(base_us));
        }
    }
}

#[test]
fn gamma_follows_three_quarters_of_renos_queue_at_losses() {
    let mut socket = at("compound", 1000, 2);
    socket.set_tunable("gamma_tuning", 1).expect("a tunable");
    socket.set_tunable("alpha", 0).expect("a tunable");
    // 1000 * 100 / 10100 = 9: gamma = 0.2 * 30 + 0.8 * 6.75 = 11.4.
    round(&mut socket, 10_100, 0);
    socket.ssthresh();
    // 1000 * 112 / 10112 = 11, 1000 * 123 / 10123 = 12.
    for (min_us, diff, mode) in [(10_112, 11, GROW), (10_123, 12, SHRINK)] {
        round(&mut socket, min_us, 0);
        assert_eq!(state(&socket), (1000, 0, diff, mode));
    }
    // 0.2 * 11.4 + 0.8 * 9 = 9.48, and a second loss before another round changes nothing.
    socket.ssthresh();
    socket.ssthresh();
    for (min_us, diff, mode) in [(10_092, 9, GROW), (10_102, 10, SHRINK)] {
        round(&mut socket, min_us, 0);
        assert_eq!(state(&socket), (1000, 0, diff, mode));
    }
    // 0.2 * 9.48 + 0.8 * 0 = 1.896: not below 5.
    round(&mut socket, 10_000, 0);
    socket.ssthresh();
    for (min_us, diff, mode) in [(10_041, 4, GROW), (10_051, 5, SHRINK)] {
        round(&mut socket, min_us, 0);
        assert_eq!(state(&socket), (1000, 0, diff, mode));
    }
}

#[test]
fn rounds_with_few_samples_or_without_use_of_the_window_decide_nothing() {
    let mut socket = large();
    round_of(&mut socket, &[20_000, 20_000], 0);
    assert_eq!(state(&socket), (10_124, 124, 0, GROW));
    socket.tp_mut().set_cwnd_limited(false);
    round(&mut socket, 20_000, 20_000);
    assert_eq!(state(&socket), (10_124, 124, 0, GROW));
}

#[test]
fn the_clamp_holds_for_the_sum() {
    let mut socket = at("compound", 10_000, 2);
    socket.tp_mut().snd_cwnd_clamp = 10_100;
    round(&mut socket, 10_000, 0);
    assert_eq!(state(&socket).0, 10_100);
    round(&mut socket, 10_000, 0);
    assert_eq!(state(&socket).0, 10_100);
}

#[test]
fn callbacks_before_init_are_renos() {
    let mut socket = Socket::checked("compound").expect("compound exists");
    socket.record(true);
    socket.tp_mut().set_cwnd_limited(true);
    round(&mut socket, 10_000, 3);
    assert_eq!((socket.cwnd(), socket.ssthresh(), socket.undo_cwnd()), (13, 6, 13));
}

#[test]
fn on_a_long_fat_path_with_rare_losses_it_delivers_much_more_than_reno() {
    let delivered = |algorithm| {
        let link = Link { rate_bps: 100_000_000, base_rtt_us: 100_000, buffer_pkts: 400, loss_ppm: 30 };
        let mut flow = Flow::new(established(algorithm), link, 1);
        flow.run_for_us(40_000_000, |_| {});
        flow.stats().delivered_pkts
    };
    let (compound, reno) = (delivered("compound"), delivered("reno"));
    assert!(compound * 10 > reno * 14, "{compound} and {reno}");
}

#[test]
fn a_standing_queue_leaves_it_renos_window() {
    let mut flow = Flow::new(established("compound"), link(2000), 1);
    flow.run_for_us(10_000_000, |_| {});
    let bdp = i64::try_from(flow.link.bdp_pkts()).expect("small");
    let mut largest_dwnd = 0;
    flow.run_for_us(30_000_000, |flow| {
        let (cwnd, dwnd, _, mode) = state(&flow.socket);
        largest_dwnd = largest_dwnd.max(dwnd);
        // Two rounds of growth at most after the queue has reached gamma.
        assert!(dwnd == 0 || i64::from(cwnd) < bdp + 30 + 20, "cwnd {cwnd}, dwnd {dwnd}, mode {mode}");
    });
    assert!(flow.stats().lost_pkts > 0, "Reno's part fills the buffer");
}
