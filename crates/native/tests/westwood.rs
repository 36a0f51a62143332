//! Westwood+ against hand-worked vectors. HZ is 250: a jiffy is 4 ms, the shortest window 12 jiffies, and 1 byte per
//! jiffy is 2000 bit/s. Trace: v0 = packets that fit the path, v1 = bit/s behind the first filter.

mod common;
mod loss_driver;

use ccactl_native::path::Flow;
use ccactl_native::{CA_RECOVERY, EVENT_COMPLETE_CWR, EVENT_LOSS, Socket};
use common::{established, link, rtt};
use loss_driver::{run_and_watch_cuts, share_milli};

const MSS: u32 = 1448;
const SLOW_PATH: u32 = 1;
const BPS: u64 = 2000; // of one byte per jiffy

/// An ACK on the fast path for so many bytes.
fn ack(socket: &mut Socket, bytes: u32) {
    socket.tp_mut().snd_una += bytes;
    socket.in_ack_event(0);
}

fn slow_path_ack(socket: &mut Socket, bytes: u32) {
    socket.tp_mut().snd_una += bytes;
    socket.in_ack_event(SLOW_PATH);
}

/// A window of 13 jiffies, the first length that is more than 12, in which that much is acknowledged; the ACK at its
/// end is for nothing.
fn window(socket: &mut Socket, bytes: u32) {
    ack(socket, bytes);
    socket.advance_us(52_000);
    ack(socket, 0);
}

/// With an RTT of 40 ms = 10 jiffies, after the first ACK, whose bytes do not count.
fn measuring() -> Socket {
    let mut socket = established("westwood");
    rtt(&mut socket, 40_000);
    ack(&mut socket, 5000);
    socket
}

fn bandwidths(socket: &Socket) -> (u64, i64) {
    let trace = socket.trace().expect("published");
    (trace.bw_bps, trace.v1)
}

#[test]
fn the_first_sample_fills_both_filters_and_later_ones_pass_through_both() {
    let mut socket = measuring();
    window(&mut socket, 13_000); // 1000 bytes per jiffy
    assert_eq!(bandwidths(&socket), (1000 * BPS, 1_000 * BPS as i64));
    window(&mut socket, 26_000); // 2000: (7 * 1000 + 2000) / 8 = 1125, (7 * 1000 + 1125) / 8 = 1015
    assert_eq!(bandwidths(&socket), (1015 * BPS, 1125 * BPS as i64));
    window(&mut socket, 26_000); // (7 * 1125 + 2000) / 8 = 1234, (7 * 1015 + 1234) / 8 = 1042
    assert_eq!(bandwidths(&socket), (1042 * BPS, 1234 * BPS as i64));
}

#[test]
fn a_window_lasts_longer_than_the_rtt_and_longer_than_fifty_milliseconds() {
    // 40 ms: the 12 jiffies decide. 100 ms: its 25 do.
    for (rtt_us, jiffies) in [(40_000, 12), (100_000, 25)] {
        let mut socket = measuring();
        rtt(&mut socket, rtt_us);
        ack(&mut socket, 100_000);
        socket.advance_us(jiffies * 4000);
        ack(&mut socket, 0);
        assert_eq!(bandwidths(&socket), (0, 0), "{jiffies} jiffies");
        socket.advance_us(4000);
        ack(&mut socket, 0);
        let bw = 100_000 / (jiffies + 1);
        assert_eq!(bandwidths(&socket).0, bw * BPS, "{jiffies} jiffies and one");
    }
}

#[test]
fn what_was_acknowledged_before_the_first_call_does_not_count() {
    let mut socket = established("westwood");
    rtt(&mut socket, 40_000);
    socket.tp_mut().snd_una = 1_000_000;
    ack(&mut socket, 0);
    window(&mut socket, 13_000);
    assert_eq!(bandwidths(&socket).0, 1000 * BPS);
}

#[test]
fn duplicate_acks_count_one_mss_each_and_the_cumulative_one_the_rest() {
    let arrived = |acks: &[u32]| {
        let mut socket = measuring();
        for &pkts in acks {
            slow_path_ack(&mut socket, pkts * MSS);
        }
        socket.advance_us(52_000);
        ack(&mut socket, 0);
        bandwidths(&socket).0 / BPS
    };
    let pkts = |n: u32| u64::from(n * MSS / 13);
    // Three duplicates, then an ACK for four packets: 3 + (4 - 3).
    assert_eq!(arrived(&[0, 0, 0, 4]), pkts(4));
    // Five duplicates, a partial ACK for two of them: 5 + 1, as a partial ACK that is covered counts one packet;
    // then one for six with three still to be taken off: 6 - 3.
    assert_eq!(arrived(&[0, 0, 0, 0, 0, 2]), pkts(6));
    assert_eq!(arrived(&[0, 0, 0, 0, 0, 2, 6]), pkts(9));
    // A delayed ACK without duplicates counts in full.
    assert_eq!(arrived(&[2, 2]), pkts(4));
}

#[test]
fn after_a_loss_the_window_is_the_bandwidth_times_the_smallest_rtt() {
    let mut socket = measuring();
    window(&mut socket, 1_300_000); // 100000 bytes per jiffy; times 10 jiffies / 1448 = 690.6
    assert_eq!(socket.trace().map(|trace| (trace.v0, trace.min_rtt_us)), Some((690, 40_000)));
    socket.tp_mut().snd_cwnd = 1000;
    // PRR goes to the half; the estimate replaces it when recovery is over.
    assert_eq!(socket.ssthresh(), 500);
    socket.set_state(CA_RECOVERY);
    socket.tp_mut().snd_ssthresh = 500;
    socket.tp_mut().snd_cwnd = 500;
    socket.cwnd_event(EVENT_COMPLETE_CWR);
    assert_eq!((socket.cwnd(), socket.snd_ssthresh()), (690, 690));
}

#[test]
fn a_timeout_sets_the_threshold_alone_and_lets_the_minimum_rtt_rise() {
    let mut socket = measuring();
    window(&mut socket, 1_300_000);
    socket.tp_mut().snd_cwnd = 1000;
    socket.cwnd_event(EVENT_LOSS);
    assert_eq!((socket.cwnd(), socket.snd_ssthresh()), (1000, 690));
    // 80 ms = 20 jiffies: taken at once, though it is larger; a later 40 ms is smaller.
    rtt(&mut socket, 80_000);
    ack(&mut socket, 0);
    assert_eq!(socket.trace().map(|trace| (trace.v0, trace.min_rtt_us)), Some((1381, 80_000)));
    rtt(&mut socket, 100_000);
    ack(&mut socket, 0);
    assert_eq!(socket.trace().map(|trace| trace.min_rtt_us), Some(80_000));
    rtt(&mut socket, 40_000);
    ack(&mut socket, 0);
    assert_eq!(socket.trace().map(|trace| trace.min_rtt_us), Some(40_000));
}

#[test]
fn without_a_sample_a_loss_leaves_two_packets() {
    let mut socket = established("westwood");
    socket.tp_mut().snd_cwnd = 100;
    ack(&mut socket, 1000);
    assert_eq!(socket.trace().map(|trace| (trace.bw_bps, trace.min_rtt_us)), Some((0, 0)));
    socket.cwnd_event(EVENT_COMPLETE_CWR);
    assert_eq!((socket.cwnd(), socket.snd_ssthresh()), (2, 2));
}

#[test]
fn an_rtt_of_zero_or_none_is_not_a_sample() {
    let mut socket = measuring();
    rtt(&mut socket, 0);
    rtt(&mut socket, -1);
    ack(&mut socket, 0);
    assert_eq!(socket.trace().map(|trace| trace.min_rtt_us), Some(40_000));
    // One microsecond is a whole jiffy.
    rtt(&mut socket, 1);
    ack(&mut socket, 0);
    assert_eq!(socket.trace().map(|trace| trace.min_rtt_us), Some(4000));
}

#[test]
fn sequence_numbers_may_wrap() {
    let mut socket = established("westwood");
    rtt(&mut socket, 40_000);
    socket.tp_mut().snd_una = u32::MAX - 999;
    ack(&mut socket, 0);
    socket.tp_mut().snd_una = 12_000;
    socket.in_ack_event(0);
    socket.advance_us(52_000);
    ack(&mut socket, 0);
    assert_eq!(bandwidths(&socket).0, 1000 * BPS);
}

#[test]
fn growth_is_renos() {
    let mut socket = loss_driver::avoiding(established("westwood"), 100);
    socket.cong_avoid(0, 100);
    assert_eq!(socket.cwnd(), 101);
    socket.tp_mut().set_cwnd_limited(false);
    socket.cong_avoid(0, 1000);
    assert_eq!(socket.cwnd(), 101);
}

#[test]
fn tunables_set_the_shortest_window_and_the_filter() {
    let mut socket = measuring();
    socket.set_tunable("window_min_ms", 100).expect("a tunable");
    socket.set_tunable("filter_old", 0).expect("a tunable");
    window(&mut socket, 13_000);
    assert_eq!(bandwidths(&socket), (0, 0), "13 jiffies are not more than 25");
    socket.advance_us(52_000);
    ack(&mut socket, 13_000);
    assert_eq!(bandwidths(&socket).0, 500 * BPS); // 13000 / 26; the last ACK's bytes belong to the next window
    socket.advance_us(104_000);
    ack(&mut socket, 0);
    assert_eq!(bandwidths(&socket).0, 500 * BPS);
    ack(&mut socket, 26_000);
    socket.advance_us(104_000);
    ack(&mut socket, 0);
    assert_eq!(bandwidths(&socket), (1000 * BPS, 1_000 * BPS as i64), "no memory");
}

/// 50 Mbit/s and 40 ms are a BDP of 166 packets: the window after a loss is near it whatever the buffer holds, where Reno's
/// would be half of BDP + buffer.
#[test]
fn on_a_path_a_loss_leaves_the_bandwidth_delay_product() {
    for buffer_milli_bdp in [500, 1000, 3000] {
        let mut flow = Flow::new(established("westwood"), link(buffer_milli_bdp), 1);
        flow.run_for_us(10_000_000, |_| {});
        let bdp = flow.link.bdp_pkts() as f64;
        let bw = flow.socket.trace().expect("published").bw_bps as f64;
        let payload = flow.link.rate_bps as f64 * 1448.0 / 1500.0;
        assert!((0.9..1.02).contains(&(bw / payload)), "buffer {buffer_milli_bdp}: {bw} of {payload}");
        let (stats, cuts) = run_and_watch_cuts(&mut flow, 60_000_000);
        let left = f64::from(flow.socket.snd_ssthresh()) / bdp;
        assert!(!cuts.is_empty() && (0.85..1.15).contains(&left), "buffer {buffer_milli_bdp}: {left} BDP, {cuts:?}");
        assert!(share_milli(&flow, &stats, 60_000_000) >= 980, "buffer {buffer_milli_bdp}: {stats:?}");
    }
}
