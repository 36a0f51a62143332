//! TCP-NV against hand-worked rounds. One packet is 1448 bytes. 100 packets in 10 ms are 144800 * 80000 / 10000 = 1158400
//! units of 100 bit/s. At a minimum RTT of 10 ms they need 1158400 * 10000 / (80000 * 1448) = 100 packets: `max_win` 110.

mod common;

use ccactl_native::path::{Flow, Link};
use ccactl_native::{AckSample, CA_LOSS, CA_OPEN, CA_RECOVERY, Socket};
use common::established;

const SLOW_START: u32 = 0;
const GROW: u32 = 1;
const HOLD: u32 = 2;
const MSS: u32 = 1448;

/// At this window, with RTT samples taken as they are: their average would bring in the rates of earlier ones.
fn socket(cwnd: u32, ssthresh: u32) -> Socket {
    let mut socket = established("nv");
    socket.set_tunable("rtt_factor", 256).expect("a tunable");
    socket.tp_mut().snd_cwnd = cwnd;
    socket.tp_mut().snd_ssthresh = ssthresh;
    socket
}

/// So many samples of a packet that was acknowledged with `pkts` in flight; the last one ends the round.
fn round(socket: &mut Socket, samples: u32, rtt_us: i32, pkts: u32) {
    for left in (0..samples).rev() {
        if left == 0 {
            let tp = socket.tp_mut();
            tp.snd_una = tp.snd_nxt + 1;
            tp.snd_nxt = tp.snd_una + 1_000_000;
        }
        socket.pkts_acked(&AckSample { pkts_acked: 1, rtt_us, in_flight: pkts * MSS });
    }
}

/// Publishes without growth, and returns mode, `max_win` and growth.
fn look(socket: &mut Socket) -> (u32, i64, i64) {
    socket.tp_mut().set_cwnd_limited(false);
    let max_packets_out = std::mem::replace(&mut socket.tp_mut().max_packets_out, 0);
    socket.cong_avoid(0, 0);
    socket.tp_mut().set_cwnd_limited(true);
    socket.tp_mut().max_packets_out = max_packets_out;
    let trace = socket.trace().expect("published");
    (trace.mode, trace.v0, trace.v1)
}

fn min_rtt(socket: &mut Socket) -> u32 {
    look(socket);
    socket.trace().expect("published").min_rtt_us
}

#[test]
fn growth_is_renos_but_at_most_a_packet_per_four() {
    for (cwnd, cnt) in [(100, 100), (4, 4), (2, 4)] {
        let mut socket = socket(cwnd, 2);
        socket.cong_avoid(0, cnt - 1);
        assert_eq!(socket.cwnd(), cwnd);
        socket.cong_avoid(0, 1);
        assert_eq!(socket.cwnd(), cwnd + 1);
    }
    let mut fresh = established("nv");
    fresh.cong_avoid(0, 5);
    assert_eq!((fresh.cwnd(), look(&mut fresh).0), (15, SLOW_START));
}

#[test]
fn the_first_slow_start_ends_with_thirty_samples_and_two_rounds() {
    let mut socket = socket(200, 0x7fff_ffff);
    round(&mut socket, 1, 10_000, 100);
    // Twice the window at twice the RTT: the rate is the same, and so is max_win.
    round(&mut socket, 28, 20_000, 200);
    assert_eq!((socket.cwnd(), look(&mut socket).1), (200, 110), "29 samples do not suffice");
    round(&mut socket, 1, 20_000, 200);
    // The excess is 90: 90 * 38 >> 7 = 26.
    assert_eq!((socket.cwnd(), socket.snd_ssthresh()), (174, 110));
    assert_eq!(look(&mut socket), (HOLD, 110, 0));
    assert_eq!(socket.trace().map(|trace| trace.bw_bps), Some(115_840_000));
}

#[test]
fn thirty_samples_of_one_round_do_not_suffice_either() {
    let mut socket = socket(200, 0x7fff_ffff);
    round(&mut socket, 40, 10_000, 100);
    assert_eq!(socket.cwnd(), 200);
}

/// After a first round at 10 ms: a window of `cwnd` with 60 samples in avoidance, two rounds old.
fn decided(cwnd: u32, samples: u32) -> Socket {
    let mut socket = socket(cwnd, 50);
    round(&mut socket, 1, 10_000, 100);
    round(&mut socket, samples - 1, 20_000, 200);
    socket
}

#[test]
fn later_decisions_to_shrink_need_sixty_samples() {
    assert_eq!(decided(200, 59).cwnd(), 200);
    assert_eq!(decided(200, 60).cwnd(), 174);
}

#[test]
fn the_cut_is_thirty_percent_of_the_excess_but_at_least_two() {
    // Excess 3: 3 * 38 >> 7 = 0, so 2. Excess 2 and 1: to max_win at once. 30000 - 110: 29890 * 38 >> 7 = 8873.
    for (cwnd, after) in [(113, 111), (112, 110), (111, 110), (30_000, 21_127)] {
        assert_eq!(decided(cwnd, 60).cwnd(), after, "from {cwnd}");
    }
}

#[test]
fn within_the_pad_nothing_is_decided_and_below_it_the_window_may_grow() {
    for (cwnd, mode) in [(110, HOLD), (109, HOLD), (108, GROW)] {
        let mut socket = socket(cwnd, 50);
        socket.set_state(CA_RECOVERY);
        socket.set_state(CA_OPEN);
        assert_eq!(look(&mut socket).0, HOLD, "no growth right after a loss");
        round(&mut socket, 19, 10_000, 100);
        assert_eq!((socket.cwnd(), look(&mut socket)), (cwnd, (HOLD, 110, 0)), "19 samples");
        round(&mut socket, 1, 10_000, 100);
        assert_eq!((socket.cwnd(), look(&mut socket)), (cwnd, (mode, 110, 0)), "20 samples");
    }
}

#[test]
fn too_few_samples_for_eleven_rounds_stop_growth() {
    let mut socket = socket(200, 50);
    round(&mut socket, 2, 10_000, 100);
    for rounds in 2..=10 {
        round(&mut socket, 2, 20_000, 200);
        assert_eq!(look(&mut socket).0, GROW, "round {rounds}");
    }
    round(&mut socket, 2, 20_000, 200);
    assert_eq!((look(&mut socket).0, socket.cwnd()), (HOLD, 200));
}

#[test]
fn a_loss_takes_a_fifth_and_a_timeout_slows_growth() {
    let mut socket = socket(100, 50);
    for (cwnd, ssthresh) in [(100, 79), (1000, 799), (3, 2), (1, 2)] {
        socket.tp_mut().snd_cwnd = cwnd;
        // 100 * 819 >> 10 = 79.98
        assert_eq!(socket.ssthresh(), ssthresh);
    }
    for growth in [-1, -2, -3, -4, -5, -6, -7, -8, -8] {
        socket.set_state(CA_LOSS);
        assert_eq!(look(&mut socket).2, growth);
        socket.set_state(CA_OPEN);
    }
    socket.tp_mut().prior_cwnd = 100;
    assert_eq!(socket.undo_cwnd(), 100);
}

#[test]
fn after_a_timeout_growth_doubles_with_the_ninth_calm_decision() {
    let mut socket = socket(100, 50);
    socket.set_state(CA_LOSS);
    socket.set_state(CA_OPEN);
    for _ in 1..=8 {
        round(&mut socket, 20, 10_000, 100);
        assert_eq!(look(&mut socket), (GROW, 110, -1));
    }
    // One packet per 2 * 100.
    socket.cong_avoid(0, 199);
    assert_eq!(socket.cwnd(), 100);
    round(&mut socket, 20, 10_000, 100);
    assert_eq!(look(&mut socket), (GROW, 110, 0));
    // The 199 are worth one packet now.
    socket.cong_avoid(0, 1);
    assert_eq!(socket.cwnd(), 101);
}

#[test]
fn one_ack_per_round_lets_a_small_window_grow() {
    for (bytes, mode) in [(3 * MSS - 1, HOLD), (3 * MSS, GROW)] {
        let mut socket = socket(4, 2);
        socket.set_state(CA_RECOVERY);
        socket.set_state(CA_OPEN);
        let tp = socket.tp_mut();
        tp.snd_una += bytes;
        tp.snd_nxt = tp.snd_una;
        socket.pkts_acked(&AckSample { pkts_acked: 3, rtt_us: 10_000, in_flight: 3 * MSS });
        assert_eq!(look(&mut socket).0, mode, "{bytes} bytes");
    }
}

#[test]
fn the_rtt_is_averaged_by_halves() {
    let mut socket = established("nv");
    round(&mut socket, 1, 10_000, 100);
    assert_eq!(min_rtt(&mut socket), 10_000);
    // (8000 + 10000) / 2, then (8000 + 9000) / 2.
    round(&mut socket, 1, 8_000, 100);
    assert_eq!(min_rtt(&mut socket), 9_000);
    round(&mut socket, 1, 8_000, 100);
    assert_eq!(min_rtt(&mut socket), 8_500);
}

#[test]
fn the_minimum_rtt_is_replaced_after_two_seconds_and_then_every_five_or_so() {
    let mut socket = socket(100, 50);
    round(&mut socket, 1, 10_000, 100);
    socket.advance_us(2_000_000);
    round(&mut socket, 1, 20_000, 100);
    assert_eq!(min_rtt(&mut socket), 10_000, "the minimum of the first two seconds");
    socket.advance_us(3_740_000);
    round(&mut socket, 1, 20_000, 100);
    assert_eq!(min_rtt(&mut socket), 10_000, "not before 3/4 of 5 s");
    socket.advance_us(2_520_000);
    round(&mut socket, 1, 20_000, 100);
    assert_eq!(min_rtt(&mut socket), 20_000, "by 5/4 of 5 s");
}

#[test]
fn a_loss_forgets_the_minimum_rtt() {
    let mut socket = socket(100, 50);
    round(&mut socket, 1, 10_000, 100);
    socket.set_state(CA_RECOVERY);
    round(&mut socket, 1, 20_000, 100);
    assert_eq!(min_rtt(&mut socket), 10_000, "samples of a recovery do not count");
    socket.set_state(CA_OPEN);
    round(&mut socket, 1, 20_000, 100);
    assert_eq!(min_rtt(&mut socket), 20_000);
}

#[test]
fn a_base_rtt_bounds_the_minimum_on_both_sides() {
    // 80 %: 10000 * 205 >> 8 = 8007.
    for (rtt_us, min_rtt_us) in [(20_000, 10_000), (9_000, 9_000), (1_000, 8_007)] {
        let mut socket = socket(100, 50);
        socket.set_tunable("base_rtt_us", 10_000).expect("a tunable");
        round(&mut socket, 1, rtt_us, 100);
        // The first sample founds the minimum at twice its own size.
        assert_eq!(min_rtt(&mut socket), min_rtt_us.min(2 * rtt_us as u32), "{rtt_us}");
    }
}

#[test]
fn nothing_grows_while_the_application_limits() {
    let mut socket = socket(100, 50);
    socket.tp_mut().set_cwnd_limited(false);
    socket.cong_avoid(0, 1000);
    assert_eq!(socket.cwnd(), 100);
}

#[test]
fn on_a_path_it_keeps_pad_packets_of_queue_and_ten_more_with_every_second_reset() {
    let link = Link { rate_bps: 100_000_000, base_rtt_us: 10_000, buffer_pkts: 0, loss_ppm: 0 };
    let mut flow = Flow::new(established("nv"), link.with_buffer_milli_bdp(2000), 1);
    let mut second = |seconds| {
        let start = flow.stats();
        flow.run_for_us(seconds * 1_000_000, |_| {});
        let stats = flow.stats().since(&start);
        let ideal = seconds * link.rate_bps / 8 / 1500;
        assert!(stats.delivered_pkts * 100 >= ideal * 83 && stats.lost_pkts == 0, "{stats:?} of {ideal}");
        stats.mean_rtt_us()
    };
    second(2);
    // A packet takes 120 us, and the base RTT is 10.12 ms: with 84.3 packets in the path and 94 in the window, 9.7 wait.
    assert_eq!(second(3), 11_280);
    // The flow never empties its own queue. When the minimum of the last period replaces the one before, the queue has
    // become part of it, and pad more are added: 3.75 to 6.25 s after a first replacement at 2 s, and so on.
    second(8);
    assert_eq!(second(1), 12_480);
}
