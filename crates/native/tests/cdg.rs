//! CDG against hand-worked gradients, with the dice loaded: a factor of 0 never backs off, one of 100000 always does.

mod common;

use ccactl_native::fixed::exp_neg;
use ccactl_native::path::{Flow, Link};
use ccactl_native::{AckSample, CA_LOSS, CA_RECOVERY, EVENT_COMPLETE_CWR, EVENT_CWND_RESTART, Socket};
use common::{established, rtt};

const SLOW_START: u32 = 0;
const AVOIDANCE: u32 = 1;
const BACK_OFF: u32 = 2;
const NEVER: i64 = 0;
const ALWAYS: i64 = 100_000;

/// In avoidance at this window.
fn avoiding(cwnd: u32, backoff_factor: i64) -> Socket {
    let mut socket = established("cdg");
    socket.set_tunable("backoff_factor", backoff_factor).expect("a tunable");
    socket.tp_mut().snd_cwnd = cwnd;
    socket.tp_mut().snd_ssthresh = 2;
    socket
}

/// A round with these RTTs, ended by an ACK for more than had been sent when it began.
fn round(socket: &mut Socket, rtts_us: &[i32]) {
    for &rtt_us in rtts_us {
        rtt(socket, rtt_us);
    }
    let ack = socket.tp().snd_nxt + 1;
    socket.tp_mut().snd_nxt += 1_000_000;
    socket.cong_avoid(ack, 0);
}

fn gradient(socket: &Socket) -> i64 {
    socket.trace().expect("published").v0
}

fn mode(socket: &Socket) -> u32 {
    socket.trace().expect("published").mode
}

fn shadow(socket: &Socket) -> i64 {
    socket.trace().expect("published").v1
}

#[test]
fn the_exponential_is_a_ten_thousandth_off_at_most() {
    assert_eq!((exp_neg(0), exp_neg(1 << 24), exp_neg(u32::MAX)), (u32::MAX, 0, 0));
    for step in 0..65_536_u32 {
        let x = step * 251;
        let exact = (-f64::from(x) / 1e6).exp();
        let got = f64::from(exp_neg(x)) / f64::from(u32::MAX);
        assert!((got - exact).abs() < 1e-4, "e^-{x} us: {got}, exactly {exact}");
    }
    // One linear step, and one factor: 4294967295 - 4294; 4294967295 * 65519 / 65536.
    assert_eq!((exp_neg(1), exp_neg(256)), (4_294_963_001, 4_293_853_183));
}

#[test]
fn gradients_are_summed_and_missing_ones_extrapolated() {
    let mut socket = avoiding(100, NEVER);
    round(&mut socket, &[10_000, 12_000]);
    assert_eq!(gradient(&socket), 0, "nothing to compare with");
    // 500 and 300: the minimum's, for one of eight rounds.
    round(&mut socket, &[10_500, 12_300]);
    assert_eq!(gradient(&socket), 500 * 8);
    // -500 and 600: the sums are 0 and 900, the maximum's counts, for two of eight.
    round(&mut socket, &[10_000, 12_900]);
    assert_eq!(gradient(&socket), 900 * 8 / 2);
    // 0 and -1000: 0 and -100.
    round(&mut socket, &[10_000, 11_900]);
    assert_eq!(gradient(&socket), -100);
}

#[test]
fn after_eight_rounds_the_oldest_gradient_leaves_the_sum() {
    let mut socket = avoiding(100, NEVER);
    round(&mut socket, &[10_000]);
    for step in 1..=7 {
        round(&mut socket, &[10_000 + 100 * step]);
        assert_eq!(gradient(&socket), 800, "100 per round, for eight of them");
    }
    round(&mut socket, &[10_800]);
    assert_eq!(gradient(&socket), 800, "the eighth");
    // 900 instead of the first 100.
    round(&mut socket, &[11_700]);
    assert_eq!(gradient(&socket), 1600);
    for _ in 0..7 {
        round(&mut socket, &[11_700]);
    }
    assert_eq!(gradient(&socket), 900);
    round(&mut socket, &[11_700]);
    assert_eq!(gradient(&socket), 0);
}

#[test]
fn without_storage_each_gradient_stands_for_eight() {
    let mut socket = avoiding(100, NEVER);
    socket.drop_storage();
    round(&mut socket, &[10_000]);
    for rtt_us in [10_100, 10_200] {
        round(&mut socket, &[rtt_us]);
        assert_eq!(gradient(&socket), 800);
    }
    let mut single = avoiding(100, NEVER);
    single.set_tunable("window", 1).expect("a tunable");
    round(&mut single, &[10_000]);
    round(&mut single, &[10_100]);
    assert_eq!(gradient(&single), 100);
}

/// At a window of 100, and backing off since this ACK: 100 packets in flight.
fn backed_off() -> Socket {
    let mut socket = avoiding(100, ALWAYS);
    let tp = socket.tp_mut();
    (tp.packets_out, tp.delivered, tp.data_segs_out) = (100, 5000, 6000);
    round(&mut socket, &[10_000]);
    round(&mut socket, &[11_000]);
    socket
}

/// `delivered` and `sent` packets since the back-off, so many in flight, this ACK for one of them.
fn reduce(socket: &mut Socket, delivered: u32, sent: u32, in_flight: u32) -> u32 {
    let tp = socket.tp_mut();
    (tp.packets_out, tp.delivered, tp.data_segs_out) = (in_flight, 5000 + delivered, 6000 + sent);
    socket.cong_avoid(socket.tp().snd_nxt, 1);
    socket.cwnd()
}

#[test]
fn a_back_off_reduces_in_proportion_to_what_arrives() {
    let mut socket = backed_off();
    // 100 * 724 >> 10 = 70. The window itself waits for the next ACK, as after tcp_enter_cwr().
    assert_eq!((socket.cwnd(), socket.snd_ssthresh(), mode(&socket)), (100, 70, BACK_OFF));
    // ceil(70 * 1 / 100) = 1 packet for the first that arrived; for ten 7, of which 1 has been sent.
    assert_eq!(reduce(&mut socket, 1, 0, 99), 100);
    assert_eq!(reduce(&mut socket, 10, 1, 91), 97);
    assert_eq!(reduce(&mut socket, 10, 9, 99), 99, "more has been sent than that: nothing");
    // Below ssthresh: what is owed (40 - 7), one more, but not beyond it.
    assert_eq!(reduce(&mut socket, 40, 7, 60), 70);
    assert_eq!(reduce(&mut socket, 40, 39, 60), 62);
    // All that had been sent is acknowledged: ssthresh, and a new comparison.
    let end = socket.tp().snd_nxt + 1;
    socket.tp_mut().snd_nxt += 1_000_000;
    socket.cong_avoid(end, 1);
    assert_eq!((socket.cwnd(), mode(&socket)), (70, AVOIDANCE));
}

#[test]
fn a_loss_during_a_back_off_keeps_its_threshold() {
    let mut socket = backed_off();
    reduce(&mut socket, 40, 20, 80);
    assert_eq!(socket.ssthresh(), 70);
    socket.set_state(CA_RECOVERY);
    // Another one before the recovery is complete takes the share of a back-off: 80 * 724 >> 10 = 56.
    socket.tp_mut().snd_cwnd = 80;
    assert_eq!(socket.ssthresh(), 56);
    socket.cwnd_event(EVENT_COMPLETE_CWR);
    // Then half, or half the shadow window of 100.
    assert_eq!(socket.ssthresh(), 50);
    socket.tp_mut().prior_cwnd = 120;
    assert_eq!(socket.undo_cwnd(), 120);
}

#[test]
fn a_loss_cuts_to_half_the_shadow_window() {
    let mut socket = backed_off();
    let end = socket.tp().snd_nxt + 1;
    socket.cong_avoid(end, 0);
    assert_eq!((socket.cwnd(), shadow(&socket)), (70, 100));
    assert_eq!(socket.ssthresh(), 50);
    // The second loss halves it again: 25, and cwnd / 2 = 35 is more.
    assert_eq!(socket.ssthresh(), 35);
    let mut without = backed_off();
    without.set_tunable("use_shadow", 0).expect("a tunable");
    without.cong_avoid(end, 0);
    assert_eq!(without.ssthresh(), 35);
}

#[test]
fn the_shadow_window_grows_with_cwnd_and_falls_to_it_when_the_application_limits() {
    let mut socket = established("cdg");
    socket.cong_avoid(0, 30);
    assert_eq!((socket.cwnd(), shadow(&socket)), (40, 40));
    socket.tp_mut().snd_cwnd = 20;
    socket.tp_mut().set_cwnd_limited(false);
    socket.cong_avoid(0, 30);
    assert_eq!((socket.cwnd(), shadow(&socket)), (20, 20));
}

/// A back-off for every rising round, each completed at once; returns after how many rounds there was none.
fn backoffs_in_a_row(socket: &mut Socket, rtt_us: &mut i32) -> u32 {
    for count in 0..20 {
        // COMPLETE_CWR has made the round of the back-off the one to compare with.
        round(socket, &[*rtt_us]);
        *rtt_us += 1000;
        round(socket, &[*rtt_us]);
        if mode(socket) != BACK_OFF {
            return count;
        }
        let end = socket.tp().snd_nxt + 1;
        socket.tp_mut().snd_nxt += 1_000_000;
        socket.cong_avoid(end, 0);
        socket.tp_mut().snd_cwnd = 100;
    }
    20
}

#[test]
fn after_five_back_offs_without_effect_it_stays() {
    let mut rtt_us = 10_000;
    let mut socket = avoiding(100, ALWAYS);
    // Summed gradients only grow, so the delay never seems to fall.
    assert_eq!(backoffs_in_a_row(&mut socket, &mut rtt_us), 5);
    let mut never = avoiding(100, ALWAYS);
    never.set_tunable("use_ineff", 0).expect("a tunable");
    let mut rtt_us = 10_000;
    assert_eq!(backoffs_in_a_row(&mut never, &mut rtt_us), 20);
}

#[test]
fn a_fall_of_the_delay_by_32_us_makes_back_offs_effectual_again() {
    for (fall_us, count) in [(31, 0), (32, 5)] {
        let mut socket = avoiding(100, ALWAYS);
        socket.set_tunable("window", 1).expect("a tunable");
        let mut rtt_us = 10_000;
        assert_eq!(backoffs_in_a_row(&mut socket, &mut rtt_us), 5);
        rtt_us -= fall_us;
        round(&mut socket, &[rtt_us]);
        assert_eq!(backoffs_in_a_row(&mut socket, &mut rtt_us), count, "a fall by {fall_us} us");
    }
}

#[test]
fn the_probability_of_a_back_off_is_one_minus_the_exponential() {
    // A sum of 8 * 1000 us: 1 - e^-(8000 * 42 / 10^6) = 0.285. Over 4000 flows the standard deviation is 0.007.
    let backed_off = (0..4000).filter(|&seed| {
        let mut socket = avoiding(100, 42);
        socket.set_seed(seed);
        round(&mut socket, &[10_000]);
        round(&mut socket, &[11_000]);
        mode(&socket) == BACK_OFF
    });
    let share = backed_off.count() as f64 / 4000.0;
    assert!((share - 0.2854).abs() < 0.028, "{share}");
}

#[test]
fn tolerance_cuts_nothing_while_the_queue_is_not_full() {
    let mut socket = avoiding(100, NEVER);
    socket.set_tunable("use_tolerance", 1).expect("a tunable");
    round(&mut socket, &[10_000, 20_000]);
    // Sums of 100 and 100: not full. 200 and 0: full. 0 and -100: not full.
    for (rtts_us, ssthresh) in [([10_100, 20_100], 100), ([10_200, 20_000], 50), ([10_000, 19_900], 100)] {
        round(&mut socket, &rtts_us);
        socket.tp_mut().snd_cwnd = 100;
        assert_eq!(socket.ssthresh(), ssthresh, "{rtts_us:?}");
    }
}

#[test]
fn a_delayed_ack_counts_only_for_a_lower_minimum() {
    let gradient_after = |pkts_acked: u32, rtt_us: i32| {
        let mut socket = avoiding(100, NEVER);
        socket.set_tunable("window", 1).expect("a tunable");
        round(&mut socket, &[10_000]);
        socket.pkts_acked(&AckSample { pkts_acked: 2, rtt_us: 10_000, in_flight: 0 });
        round(&mut socket, &[]);
        socket.pkts_acked(&AckSample { pkts_acked: 1, rtt_us: 10_000, in_flight: 0 });
        socket.pkts_acked(&AckSample { pkts_acked: 2, rtt_us: 10_000, in_flight: 0 });
        socket.pkts_acked(&AckSample { pkts_acked, rtt_us, in_flight: 0 });
        round(&mut socket, &[]);
        gradient(&socket)
    };
    assert_eq!(gradient_after(1, 50_000), 0, "one packet after two: delayed, it waited for a second one");
    assert_eq!(gradient_after(2, 50_000), 40_000);
    // The minimum falls and the maximum, which such an ACK leaves alone, stays.
    assert_eq!(gradient_after(1, 9_000), 0);
}

#[test]
fn hystart_leaves_slow_start_by_delay_after_eight_samples() {
    for (rtt_us, leaves) in [(11_250, false), (11_251, true)] {
        let mut socket = established("cdg");
        socket.set_tunable("hystart_detect", 2).expect("a tunable");
        rtt(&mut socket, 10_000);
        socket.cong_avoid(1, 0);
        for call in 1..=9 {
            rtt(&mut socket, rtt_us);
            assert_eq!((socket.snd_ssthresh(), mode(&socket)), (0x7fff_ffff, SLOW_START), "call {call}");
            socket.cong_avoid(0, 0);
        }
        assert_eq!(socket.snd_ssthresh() == 10, leaves, "RTT {rtt_us}");
    }
}

#[test]
fn hystart_leaves_slow_start_by_a_train_of_half_the_minimum() {
    for (gap_us, last) in [(1000, Some(6)), (3000, None)] {
        let mut socket = established("cdg");
        socket.set_tunable("hystart_detect", 1).expect("a tunable");
        rtt(&mut socket, 10_000);
        let left = (0..20).find(|_| {
            socket.cong_avoid(0, 0);
            socket.advance_us(gap_us);
            socket.snd_ssthresh() == 10
        });
        // The call at 6 ms is the first more than 5 ms after the start.
        assert_eq!(left, last, "gaps of {gap_us} us");
    }
}

#[test]
fn a_pause_forgets_everything_and_a_timeout_ends_a_back_off() {
    let mut socket = backed_off();
    socket.cwnd_event(EVENT_CWND_RESTART);
    socket.cong_avoid(0, 0);
    assert_eq!((gradient(&socket), mode(&socket), shadow(&socket)), (0, AVOIDANCE, 100));
    round(&mut socket, &[20_000]);
    assert_eq!(gradient(&socket), 0, "nothing to compare with");
    let mut lost = backed_off();
    assert_eq!(lost.ssthresh(), 70);
    lost.set_state(CA_LOSS);
    lost.tp_mut().snd_cwnd = 1;
    lost.tp_mut().snd_ssthresh = 70;
    lost.cong_avoid(0, 3);
    assert_eq!((lost.cwnd(), mode(&lost)), (4, SLOW_START));
}

#[test]
fn on_a_path_it_keeps_the_delay_below_renos() {
    let run = |name: &str| {
        let link = Link { rate_bps: 100_000_000, base_rtt_us: 10_000, buffer_pkts: 0, loss_ppm: 0 };
        let mut flow = Flow::new(established(name), link.with_buffer_milli_bdp(2000), 1);
        flow.run_for_us(3_000_000, |_| {});
        let start = flow.stats();
        flow.run_for_us(20_000_000, |_| {});
        let stats = flow.stats().since(&start);
        (stats.mean_rtt_us(), stats.delivered_pkts, stats.lost_pkts)
    };
    let (reno, cdg) = (run("reno"), run("cdg"));
    assert!(cdg.0 * 10 < reno.0 * 7 && cdg.1 * 100 > reno.1 * 85 && cdg.2 <= reno.2, "{cdg:?} and reno's {reno:?}");
}
