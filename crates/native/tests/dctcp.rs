//! DCTCP against hand-worked vectors: RFC 8257 and `net/ipv4/tcp_dctcp.c`.

mod common;

use ccactl_native::path::Flow;
use ccactl_native::{CA_CWR, CA_OPEN, CA_RECOVERY, EVENT_ECN_IS_CE, EVENT_ECN_NO_CE, EVENT_LOSS, Socket};
use common::{established, link};

/// `TCP_ECN_OK`, `TCP_ECN_DEMAND_CWR`, `ICSK_ACK_TIMER`, `ICSK_ACK_NOW`.
const ECN_OK: u8 = 1;
const DEMAND_CWR: u8 = 4;
const ACK_TIMER: u8 = 2;
const ACK_NOW: u8 = 16;

/// A socket that has negotiated ECN; the first window is open from `init` on, and its first ACK of data ends it.
fn with_ecn() -> Socket {
    let mut socket = established("dctcp");
    socket.tp_mut().ecn_flags = ECN_OK;
    socket
}

/// One window: `delivered` packets, of them `marked`, and the ACK that ends it.
fn window(socket: &mut Socket, delivered: u32, marked: u32) {
    let tp = socket.tp_mut();
    tp.delivered += delivered;
    tp.delivered_ce += marked;
    tp.snd_una = tp.snd_nxt;
    tp.snd_nxt = tp.snd_nxt.wrapping_add(delivered * tp.mss_cache);
    socket.in_ack_event(0);
}

fn alpha(socket: &Socket) -> i64 {
    socket.trace().expect("recorded").v0
}

#[test]
fn alpha_starts_at_one_and_decays_by_a_sixteenth_per_window() {
    let mut socket = with_ecn();
    // 1024 - 1024/16 = 960; 960 - 60 = 900; 900 - 56 = 844.
    for expected in [960, 900, 844] {
        window(&mut socket, 10, 0);
        assert_eq!(alpha(&socket), expected);
    }
}

#[test]
fn alpha_moves_towards_the_share_of_marked_packets() {
    let mut socket = with_ecn();
    // 20 of 100: F = 204.8/1024. 1024 - 64 + (20 << 6) / 100 = 960 + 12 = 972.
    window(&mut socket, 100, 20);
    assert_eq!(alpha(&socket), 972);
    // F itself is (20 << 10) / 100 = 204.
    assert_eq!(socket.trace().map(|trace| trace.v1), Some(204));
    // 972 - 60 + 12 = 924.
    window(&mut socket, 100, 20);
    assert_eq!(alpha(&socket), 924);
    // It settles where alpha / 16 (rounded down) = 12: between 192 and 207, F being 204.8.
    for _ in 0..200 {
        window(&mut socket, 100, 20);
    }
    assert!((192..208).contains(&alpha(&socket)), "{}", alpha(&socket));
}

#[test]
fn alpha_stays_at_one_when_everything_is_marked_and_falls_to_zero_when_nothing_is() {
    let mut socket = with_ecn();
    // 1024 - 64 + (50 << 6) / 50 = 1024.
    window(&mut socket, 50, 50);
    assert_eq!(alpha(&socket), 1024);
    // Below 16 the sixteenth is 0: the rest goes at once (min_not_zero).
    for _ in 0..120 {
        window(&mut socket, 10, 0);
    }
    assert_eq!(alpha(&socket), 0);
}

#[test]
fn a_window_lasts_until_what_was_sent_at_its_start_is_acknowledged() {
    let mut socket = with_ecn();
    socket.tp_mut().snd_nxt = 14_480;
    window(&mut socket, 10, 0);
    assert_eq!(alpha(&socket), 960);
    // snd_nxt was 14480 at the start of this window's last half: nothing before that counts.
    let end = socket.tp().snd_nxt;
    socket.tp_mut().snd_una = end - 1;
    socket.in_ack_event(0);
    assert_eq!(alpha(&socket), 960);
    socket.tp_mut().snd_una = end;
    socket.in_ack_event(0);
    assert_eq!(alpha(&socket), 900);
}

#[test]
fn marks_take_half_of_alpha_off_the_window_and_never_below_two() {
    let mut socket = with_ecn();
    socket.tp_mut().snd_cwnd = 100;
    // alpha = 1: 100 - (100 * 1024 >> 11) = 50.
    assert_eq!(socket.ssthresh(), 50);
    for _ in 0..3 {
        window(&mut socket, 10, 0);
    }
    // alpha = 844: 100 - (84400 >> 11) = 100 - 41 = 59; 3 - (2532 >> 11) = 2; 2 - 0 = 2; 1 -> 2.
    for (cwnd, ssthresh) in [(100, 59), (3, 2), (2, 2), (1, 2)] {
        socket.tp_mut().snd_cwnd = cwnd;
        assert_eq!(socket.ssthresh(), ssthresh, "cwnd {cwnd}");
    }
    // No overflow where the kernel's 32 bits would have one: 2^23 - (2^23 * 844 >> 11) = 8388608 - 3457024.
    socket.tp_mut().snd_cwnd = 1 << 23;
    assert_eq!(socket.ssthresh(), 4_931_584);
}

#[test]
fn a_loss_halves_whatever_alpha_is_and_only_once_per_recovery() {
    let mut socket = with_ecn();
    for _ in 0..120 {
        window(&mut socket, 10, 0);
    }
    socket.tp_mut().snd_cwnd = 80;
    // alpha is 0, so ssthresh() reduces nothing; entering recovery then halves.
    assert_eq!(socket.ssthresh(), 80);
    socket.set_state(CA_RECOVERY);
    assert_eq!(socket.snd_ssthresh(), 40);
    socket.tp_mut().snd_cwnd = 60;
    socket.set_state(CA_RECOVERY);
    assert_eq!(socket.snd_ssthresh(), 40);
    // CWR is not a loss.
    socket.set_state(CA_OPEN);
    socket.tp_mut().snd_ssthresh = 60;
    socket.set_state(CA_CWR);
    assert_eq!(socket.snd_ssthresh(), 60);
    // A timeout comes as an event; 3 / 2 = 1 becomes 2.
    socket.tp_mut().snd_cwnd = 3;
    socket.cwnd_event(EVENT_LOSS);
    assert_eq!(socket.snd_ssthresh(), 2);
}

#[test]
fn undo_restores_the_window_before_the_last_reduction() {
    let mut socket = with_ecn();
    socket.tp_mut().snd_cwnd = 90;
    socket.ssthresh();
    socket.tp_mut().snd_cwnd = 50;
    assert_eq!(socket.undo_cwnd(), 90);
    socket.tp_mut().snd_cwnd = 95;
    assert_eq!(socket.undo_cwnd(), 95);
}

#[test]
fn the_window_grows_as_renos() {
    let mut socket = with_ecn();
    socket.cong_avoid(0, 5);
    assert_eq!(socket.cwnd(), 15);
    socket.tp_mut().snd_ssthresh = 15;
    for _ in 0..15 {
        socket.cong_avoid(0, 1);
    }
    assert_eq!(socket.cwnd(), 16);
}

#[test]
fn a_change_of_the_mark_is_acknowledged_at_once_and_what_waited_before_it_with_the_old_echo() {
    let mut socket = with_ecn();
    let receive = |socket: &mut Socket, rcv_nxt: u32, event: u32| {
        socket.tp_mut().rcv_nxt = rcv_nxt;
        socket.cwnd_event(event);
    };
    // 1000 unmarked: nothing to say, the ACK may wait.
    receive(&mut socket, 1000, EVENT_ECN_NO_CE);
    assert_eq!((socket.acks_sent(), socket.tp().ecn_flags), ((0, 0), ECN_OK));
    // The next packet is marked while an ACK of the first is due: an ACK up to 1000 without ECE, then ECE, at once.
    socket.tp_mut().inet_conn.icsk_ack_pending = ACK_TIMER;
    receive(&mut socket, 2000, EVENT_ECN_IS_CE);
    assert_eq!(socket.acks_sent(), (1, 1000));
    assert_eq!(socket.tp().ecn_flags, ECN_OK | DEMAND_CWR);
    assert_eq!(socket.tp().inet_conn.icsk_ack_pending & ACK_NOW, ACK_NOW);
    // Another marked one changes nothing.
    socket.tp_mut().inet_conn.icsk_ack_pending = ACK_TIMER;
    receive(&mut socket, 3000, EVENT_ECN_IS_CE);
    assert_eq!((socket.acks_sent(), socket.tp().inet_conn.icsk_ack_pending), ((1, 1000), ACK_TIMER));
    // Back to unmarked without an ACK pending: none is made up, but the next one goes at once and without ECE.
    socket.tp_mut().inet_conn.icsk_ack_pending = 0;
    receive(&mut socket, 4000, EVENT_ECN_NO_CE);
    assert_eq!((socket.acks_sent(), socket.tp().inet_conn.icsk_ack_pending), ((1, 1000), ACK_NOW));
    assert_eq!(socket.tp().ecn_flags, ECN_OK);
}

#[test]
fn without_ecn_it_is_reno_and_says_so() {
    let mut socket = established("dctcp");
    socket.in_ack_event(0);
    assert_eq!(socket.trace().map(|trace| trace.mode), Some(2));
    socket.tp_mut().snd_cwnd = 41;
    assert_eq!(socket.ssthresh(), 20);
    socket.tp_mut().prior_cwnd = 41;
    socket.tp_mut().snd_cwnd = 20;
    assert_eq!(socket.undo_cwnd(), 41);
    socket.tp_mut().snd_ssthresh = 20;
    socket.set_state(CA_RECOVERY);
    socket.cwnd_event(EVENT_LOSS);
    assert_eq!(socket.snd_ssthresh(), 20);
    // The peer's answer may come after init, as it does when the algorithm is set before the SYN-ACK.
    socket.tp_mut().ecn_flags = ECN_OK;
    socket.in_ack_event(0);
    assert_ne!(socket.trace().map(|trace| trace.mode), Some(2));
}

/// 50 Mbit/s and 40 ms are 167 packets; marks beyond 30, a little more than the seventh that the paper derives.
fn marked_path() -> Flow {
    let mut flow = Flow::new(established("dctcp"), link(2000), 1);
    flow.mark_above(30);
    flow
}

#[test]
fn on_a_path_the_link_is_full_the_queue_stays_at_the_threshold_and_nothing_is_lost() {
    let mut flow = marked_path();
    flow.run_for_us(10_000_000, |_| {});
    let before = flow.stats();
    flow.run_for_us(20_000_000, |_| {});
    let stats = flow.stats().since(&before);
    let ideal = 20 * 50_000_000 / 8 / 1500;
    assert!(stats.delivered_pkts * 100 > ideal * 97, "{stats:?} of {ideal}");
    assert_eq!(stats.lost_pkts, 0);
    // The threshold is 30 * 240 us = 7.2 ms above the base of 40 ms; the sawtooth is around it.
    assert!((41_000..49_000).contains(&stats.mean_rtt_us()), "{} us", stats.mean_rtt_us());
}

#[test]
fn on_a_path_alpha_is_the_share_of_marked_packets() {
    let mut flow = marked_path();
    flow.run_for_us(10_000_000, |_| {});
    let (delivered, marked) = (flow.socket.tp().delivered, flow.socket.tp().delivered_ce);
    let (mut sum, mut samples) = (0, 0);
    flow.run_for_us(40_000_000, |flow| {
        sum += alpha(&flow.socket);
        samples += 1;
    });
    let share = f64::from(flow.socket.tp().delivered_ce - marked) / f64::from(flow.socket.tp().delivered - delivered);
    let mean_alpha = sum as f64 / f64::from(samples) / 1024.0;
    // Rounding keeps alpha up to 15/1024 high (min_not_zero of the decay).
    assert!(share > 0.001 && (mean_alpha - share).abs() < 0.02, "alpha {mean_alpha}, marked {share}");
}
