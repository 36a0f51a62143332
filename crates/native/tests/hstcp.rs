//! HighSpeed TCP against RFC 3649: every row of the table from the formulas, and hand-worked vectors. Trace: v0 = a(w),
//! v1 = b(w) in thousandths.

mod common;
mod loss_driver;

use ccactl_native::path::{Flow, Link};
use ccactl_native::{CA_LOSS, Socket};
use common::established;
use loss_driver::{run_and_watch_cuts, share_milli};

const SLOW_START: u32 = 0;
const RENO: u32 = 1;
const HIGHSPEED: u32 = 2;

fn avoiding(cwnd: u32) -> Socket {
    loss_driver::avoiding(established("hstcp"), cwnd)
}

/// b(w), RFC 3649 section 5: Low_Window 38, High_Window 83000, High_Decrease 0.1.
fn b(w: f64) -> f64 {
    (0.1 - 0.5) * (w.ln() - 38_f64.ln()) / (83_000_f64.ln() - 38_f64.ln()) + 0.5
}

/// a(w) as the program of appendix B computes it: 1 / 12.8 for 0.078.
fn a(w: f64) -> f64 {
    w * w * 2.0 * b(w) / ((2.0 - b(w)) * w.powf(1.2) * 12.8)
}

/// The table of appendix B: a row whenever a(w) has grown by one.
fn rows() -> Vec<(u32, f64)> {
    let mut rows = vec![(38, 0.5)];
    let mut last_a = 1.0;
    for w in 38..100_000 {
        if a(f64::from(w)) > last_a + 1.0 {
            last_a = a(f64::from(w));
            rows.push((w, b(f64::from(w))));
        }
    }
    rows
}

/// a(w) and the window that a loss leaves, at this window.
fn law(cwnd: u32, table_rows: i64) -> (i64, u32) {
    let mut socket = avoiding(cwnd);
    socket.set_tunable("rows", table_rows).expect("a tunable");
    socket.cong_avoid(0, 0);
    let a = socket.trace().expect("published").v0;
    socket.tp_mut().snd_cwnd = cwnd;
    (a, socket.ssthresh())
}

#[test]
fn every_row_of_the_table_is_what_the_rfcs_formulas_give() {
    let rows = rows();
    assert_eq!(rows.len(), 73);
    assert_eq!(rows[1].0, 118); // as printed in the RFC: a = 2, b = 0.44
    for (index, &(w, b)) in rows.iter().enumerate() {
        let b_256 = (b * 256.0) as u32;
        let a = index as i64 + 1;
        assert_eq!(law(w, 73), (a, w - ((w * b_256) >> 8)), "row of {w}");
        // One packet more is the next row's, if there is one.
        let (next_w, next_b) = rows.get(index + 1).copied().unwrap_or((w, b));
        let next_a = a + i64::from(next_w > w);
        let above = w + 1;
        assert_eq!(law(above, 73), (next_a, above - ((above * (next_b * 256.0) as u32) >> 8)), "above {w}");
    }
}

#[test]
fn a_row_of_the_rfc_holds_from_its_window_on() {
    let rows = rows();
    let a = |cwnd: u32| {
        let mut socket = avoiding(cwnd);
        socket.set_tunable("rows", 73).expect("a tunable");
        socket.set_tunable("rfc_rows", 1).expect("a tunable");
        socket.cong_avoid(0, 0);
        socket.trace().expect("published").v0
    };
    for (index, &(w, _)) in rows.iter().enumerate() {
        let row = index as i64 + 1;
        assert_eq!((a(w), a(w + 1)), (row, row), "row of {w}");
        if index > 0 {
            assert_eq!(a(w - 1), row - 1, "below {w}");
        }
    }
    assert_eq!((a(2), a(200_000)), (1, 73));
}

#[test]
fn the_native_module_stops_a_row_earlier() {
    let (last, _) = rows()[71];
    assert_eq!(last, 89_053);
    // b = 24/256: 100000 - 9375; with the RFC's last row 23/256: 100000 - 8984.
    assert_eq!(law(100_000, 72), (72, 90_625));
    assert_eq!(law(100_000, 73), (73, 91_016));
    assert_eq!((law(last, 72).0, law(last + 1, 72).0, law(last + 1, 73).0), (72, 72, 73));
}

#[test]
fn up_to_38_packets_it_is_reno() {
    let mut socket = avoiding(38);
    for _ in 0..37 {
        socket.cong_avoid(0, 1);
    }
    assert_eq!((socket.cwnd(), socket.tp().snd_cwnd_cnt), (38, 37));
    assert_eq!(socket.ssthresh(), 19);
    assert_eq!(socket.trace().map(|trace| (trace.mode, trace.v0, trace.v1)), Some((RENO, 1, 500)));
    socket.cong_avoid(0, 1);
    assert_eq!((socket.cwnd(), socket.tp().snd_cwnd_cnt), (39, 0));
    socket.cong_avoid(0, 1);
    assert_eq!(socket.trace().map(|trace| (trace.mode, trace.v0, trace.v1)), Some((HIGHSPEED, 2, 437)));
}

#[test]
fn a_call_adds_a_of_w_whatever_the_ack_covers() {
    // At 1000 packets a = 8 (851 < 1000 <= 1058): 125 calls are a window.
    let mut socket = avoiding(1000);
    for _ in 0..124 {
        socket.cong_avoid(0, 44);
    }
    assert_eq!((socket.cwnd(), socket.tp().snd_cwnd_cnt), (1000, 992));
    socket.cong_avoid(0, 44);
    assert_eq!((socket.cwnd(), socket.tp().snd_cwnd_cnt), (1001, 0));
    // Credit from a larger window is worth one packet per call.
    socket.tp_mut().snd_cwnd_cnt = 5000;
    socket.cong_avoid(0, 1);
    assert_eq!((socket.cwnd(), socket.tp().snd_cwnd_cnt), (1002, 5000 + 8 - 1001));
}

#[test]
fn counting_packets_gives_the_rfcs_growth_with_stretch_acks() {
    let mut socket = avoiding(1000);
    socket.set_tunable("count_packets", 1).expect("a tunable");
    // 25 ACKs of 40 packets are a window: 25 * 320 = 8000, eight packets.
    for _ in 0..25 {
        socket.cong_avoid(0, 40);
    }
    assert!((1007..=1008).contains(&socket.cwnd()), "{}", socket.cwnd());
    // One ACK for the whole window: 8 * 1000.
    let mut socket = avoiding(1000);
    socket.set_tunable("count_packets", 1).expect("a tunable");
    socket.cong_avoid(0, 1000);
    assert_eq!((socket.cwnd(), socket.tp().snd_cwnd_cnt), (1008, 0));
}

#[test]
fn a_loss_takes_b_of_w_and_never_goes_below_two() {
    // 1000: b = 83/256, 1000 - 324; 10000: row 10661, b = 52/256, 10000 - 2031; 2 and 1: the floor.
    for (cwnd, ssthresh) in [(1000, 676), (10_000, 7969), (10, 5), (3, 2), (2, 2), (1, 2)] {
        assert_eq!(law(cwnd, 72).1, ssthresh, "cwnd {cwnd}");
    }
}

#[test]
fn a_loss_in_the_first_slow_start_halves_as_if_the_window_were_small() {
    let mut socket = established("hstcp");
    socket.tp_mut().snd_cwnd = 5000;
    socket.cong_avoid(0, 100);
    assert_eq!((socket.cwnd(), socket.trace().map(|trace| trace.mode)), (5100, Some(SLOW_START)));
    assert_eq!(socket.ssthresh(), 2550);
}

#[test]
fn a_timeout_keeps_the_row_and_undo_returns_the_larger_window() {
    let mut socket = avoiding(1000);
    socket.cong_avoid(0, 1);
    assert_eq!(socket.ssthresh(), 676);
    socket.set_state(CA_LOSS);
    socket.tp_mut().prior_cwnd = 1000;
    socket.tp_mut().snd_cwnd = 1;
    assert_eq!(socket.undo_cwnd(), 1000);
}

#[test]
fn growth_stops_where_the_native_modules_clamp_is() {
    // 2^32 / 128 - 1 packets.
    let clamp = 33_554_431;
    for (cwnd, grown) in [(clamp - 1, 1), (clamp, 0), (clamp + 1, 0)] {
        let mut socket = avoiding(cwnd);
        socket.tp_mut().snd_cwnd_cnt = cwnd - 1;
        socket.cong_avoid(0, 1);
        assert_eq!(socket.cwnd() - cwnd, grown, "cwnd {cwnd}");
    }
    // A product of 32 bits would wrap: 2^30 * 24 / 256.
    assert_eq!(law(1 << 30, 72).1, (1 << 30) - (1 << 30) / 32 * 3);
    // The socket's own clamp holds as well.
    let mut socket = avoiding(1000);
    socket.tp_mut().snd_cwnd_clamp = 1000;
    socket.tp_mut().snd_cwnd_cnt = 999;
    socket.cong_avoid(0, 1);
    assert_eq!(socket.cwnd(), 1000);
}

#[test]
fn nothing_grows_while_the_application_limits() {
    let mut socket = avoiding(1000);
    socket.tp_mut().set_cwnd_limited(false);
    socket.cong_avoid(0, 1000);
    assert_eq!((socket.cwnd(), socket.tp().snd_cwnd_cnt), (1000, 0));
}

/// 200 Mbit/s and 40 ms, a BDP of 666 packets, and a buffer of as many: losses near 1300 packets, where b is 0.32, so that
/// the link never runs empty.
#[test]
fn on_a_fast_path_a_loss_takes_a_third_and_the_link_stays_full() {
    let link =
        Link { rate_bps: 200_000_000, base_rtt_us: 40_000, buffer_pkts: 0, loss_ppm: 0 }.with_buffer_milli_bdp(1000);
    let mut flow = Flow::new(established("hstcp"), link, 1);
    flow.run_for_us(4_000_000, |_| {});
    let (stats, cuts) = run_and_watch_cuts(&mut flow, 10_000_000);
    assert!(share_milli(&flow, &stats, 10_000_000) >= 990, "{stats:?}");
    assert!(!cuts.is_empty(), "{stats:?}");
    for (cwnd, cut) in cuts {
        let left = f64::from(cut) / f64::from(cwnd);
        assert!((left - (1.0 - b(f64::from(cwnd)))).abs() < 0.01, "{left} of {cwnd}");
    }
}
