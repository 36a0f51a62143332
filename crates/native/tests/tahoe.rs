//! Tahoe against hand-worked vectors, and its sawtooth on a path beside Reno's.

mod common;

use ccactl_native::path::{Flow, Link, Stats};
use ccactl_native::{CA_CWR, CA_LOSS, CA_OPEN, CA_RECOVERY, RateSample, Socket};
use common::established;

const SLOW_START: u32 = 0;
const AVOIDANCE: u32 = 1;
const FAST_RETRANSMIT: u32 = 2;

/// An ACK that moves the left edge by `advanced` bytes and reports `delivered` packets.
fn ack(socket: &mut Socket, advanced: u32, delivered: u32) -> u32 {
    let tp = socket.tp_mut();
    tp.snd_una = tp.snd_una.wrapping_add(advanced);
    socket.cong_control(0, 0, &RateSample { acked_sacked: delivered, ..RateSample::default() });
    socket.cwnd()
}

fn mode(socket: &Socket) -> u32 {
    socket.trace().expect("published").mode
}

/// 20 packets in flight, two of them lost and three delivered out of order; the kernel enters recovery.
fn with_losses() -> Socket {
    let mut socket = established("tahoe");
    let tp = socket.tp_mut();
    (tp.snd_cwnd, tp.packets_out, tp.sacked_out, tp.lost_out) = (20, 20, 3, 2);
    (tp.prior_cwnd, tp.prr_out, tp.undo_marker) = (20, 0, 1);
    let ssthresh = socket.ssthresh();
    socket.tp_mut().snd_ssthresh = ssthresh;
    socket.set_state(CA_RECOVERY);
    socket
}

#[test]
fn without_losses_it_is_reno() {
    let mut socket = established("tahoe");
    assert_eq!(ack(&mut socket, 1000, 3), 13);
    assert_eq!(mode(&socket), SLOW_START);
    socket.tp_mut().snd_ssthresh = 10;
    let grown: Vec<u32> = (0..13).map(|_| ack(&mut socket, 1000, 1)).collect();
    assert_eq!((grown[11], grown[12], mode(&socket)), (13, 14, AVOIDANCE));
    assert_eq!(ack(&mut socket, 0, 14), 14, "a duplicate ACK does not let it grow");
}

#[test]
fn a_loss_lets_one_packet_out_and_then_the_window_is_one() {
    let mut socket = with_losses();
    assert_eq!((socket.cwnd(), socket.snd_ssthresh()), (15 + 1, 10), "in flight: 20 - 3 - 2");
    // The ACK that began it is not over: one more is found lost.
    socket.tp_mut().lost_out = 3;
    assert_eq!((ack(&mut socket, 0, 1), mode(&socket)), (14 + 1, FAST_RETRANSMIT));
    (socket.tp_mut().prr_out, socket.tp_mut().retrans_out) = (1, 1);
    assert_eq!((ack(&mut socket, 0, 1), mode(&socket)), (1, SLOW_START));
    assert_eq!(ack(&mut socket, 0, 1), 1, "duplicate ACKs: no fast recovery");
}

#[test]
fn cumulative_acks_lead_back_to_half_by_slow_start_then_one_per_window() {
    let mut socket = with_losses();
    (socket.tp_mut().prr_out, socket.tp_mut().retrans_out) = (1, 1);
    ack(&mut socket, 0, 1);
    let climb: Vec<u32> = [1, 2, 4, 2, 10].iter().map(|&pkts| ack(&mut socket, 1000, pkts)).collect();
    assert_eq!(climb, [2, 4, 8, 10, 11]);
}

#[test]
fn an_episode_that_ends_before_the_next_ack_leaves_the_window_at_one() {
    let mut socket = with_losses();
    socket.set_state(CA_OPEN);
    assert_eq!((socket.cwnd(), socket.snd_ssthresh()), (1, 10));
    let mut socket = with_losses();
    socket.set_state(CA_LOSS);
    assert_eq!(socket.cwnd(), 1);
}

#[test]
fn undo_gives_back_the_window_and_keeps_it() {
    let mut socket = with_losses();
    let undone = socket.undo_cwnd();
    (socket.tp_mut().snd_cwnd, socket.tp_mut().undo_marker) = (undone, 0);
    socket.set_state(CA_OPEN);
    assert_eq!(socket.cwnd(), 20);
}

#[test]
fn a_mark_halves_as_reno_does() {
    let mut socket = established("tahoe");
    (socket.tp_mut().snd_cwnd, socket.tp_mut().prior_cwnd, socket.tp_mut().packets_out) = (20, 20, 20);
    let ssthresh = socket.ssthresh();
    socket.tp_mut().snd_ssthresh = ssthresh;
    socket.set_state(CA_CWR);
    // Of two delivered packets one is replaced: 18 in flight and one more.
    socket.tp_mut().packets_out = 18;
    socket.tp_mut().prr_out = 1;
    assert_eq!(ack(&mut socket, 2000, 2), 18);
    socket.set_state(CA_OPEN);
    assert_eq!(socket.cwnd(), 10);
}

fn run(algorithm: &str, milli_bdp: u64, loss_ppm: u32) -> (Stats, Vec<u32>) {
    let link =
        Link { rate_bps: 20_000_000, base_rtt_us: 40_000, buffer_pkts: 0, loss_ppm }.with_buffer_milli_bdp(milli_bdp);
    let mut flow = Flow::new(established(algorithm), link, 1);
    let mut windows = Vec::new();
    flow.run_for_us(60_000_000, |flow| windows.push(flow.socket.cwnd()));
    (flow.stats(), windows)
}

/// Without a buffer Reno halves to W/2 and sends 3/4 of the link; Tahoe spends the slow start from 1 to W/2 besides. With
/// the buffer of a BDP Reno fills the link, and Tahoe leaves it idle for that slow start.
#[test]
fn it_delivers_less_than_reno_and_more_than_half() {
    for milli_bdp in [500, 1000, 2000] {
        let [tahoe, reno] = ["tahoe", "reno"].map(|name| run(name, milli_bdp, 0).0);
        assert_eq!((tahoe.timeouts, reno.timeouts), (0, 0));
        let share = tahoe.delivered_pkts as f64 / reno.delivered_pkts as f64;
        assert!((0.7..0.995).contains(&share), "{milli_bdp}: {share:.3}, {tahoe:?} {reno:?}");
    }
}

#[test]
fn every_sawtooth_passes_the_window_of_one() {
    let (stats, windows) = run("tahoe", 1000, 0);
    let teeth = windows.windows(2).filter(|pair| pair[0] > 1 && pair[1] == 1).count();
    assert!(teeth >= 5 && stats.retrans_pkts > 0 && stats.timeouts == 0, "{teeth}: {stats:?}");
}
