//! The receiving algorithms: their arithmetic by hand, and downloads over bloated paths in virtual time.

use ccactl_native::path::{Flow, Link, Stats};
use ccactl_native::{Receiver, Seen, Socket};

const MSS: u32 = 1448;
const RTT_US: u64 = 40_000;

fn receiver(name: &str, set: &[(&str, i64)]) -> Receiver {
    let mut receiver = Receiver::checked(name).expect("it exists");
    for (tunable, raw) in set {
        receiver.set_tunable(tunable, *raw).expect("it has that tunable");
    }
    receiver
}

/// Acknowledgements of one connection by hand.
struct Hand {
    receiver: Receiver,
    seen: Seen,
}

impl Hand {
    fn new(receiver: Receiver) -> Self {
        let seen = Seen { now_us: 1_000_000, rcv_nxt: u32::MAX - 5000, tick_us: 1000, mss: MSS, ..Seen::default() };
        let mut hand = Self { receiver, seen: Seen { echo: 900, clock: 1000, ..seen } };
        assert_eq!(hand.receiver.step(&hand.seen), None, "the first one only tells where the connection stands");
        hand
    }

    /// `after_us` later, `bytes` more have arrived, in answer to what was acknowledged an RTT of `rtt_us` ago.
    fn ack(&mut self, after_us: u64, bytes: u32, rtt_us: u64) -> Option<u32> {
        self.seen.now_us += after_us;
        self.seen.rcv_nxt = self.seen.rcv_nxt.wrapping_add(bytes);
        self.seen.clock = (self.seen.now_us / 1000) as u32;
        self.seen.echo = ((self.seen.now_us - rtt_us) / 1000) as u32;
        self.receiver.step(&self.seen)
    }
}

#[test]
fn drwa_offers_three_times_a_round_trip_less_the_queue() {
    let mut hand = Hand::new(receiver("drwa", &[]));
    // The first round begins with the first look and ends once an RTT, 40 ms, has passed.
    assert_eq!(hand.ack(30_000, 40_000, RTT_US), None);
    assert_eq!(hand.ack(10_000, 40_000, RTT_US), Some(3 * 80_000));
    // 80 000 bytes in 80 ms of an RTT that was 40 and is 80: srtt 45 ms, 80000 * 45 / 80 = 45000 bytes per RTT,
    // estimate 80000 - 35000 / 8 = 75625, window 3 * 75625 * 40 / 45.
    assert_eq!(hand.ack(80_000, 80_000, 80_000), Some(201_666));
    // Within a round only the RTT moves the window: srtt 45 + (85 - 45) / 8 = 50 ms.
    assert_eq!(hand.ack(10_000, MSS, 85_000), Some(3 * 75_625 * 40 / 50));
}

#[test]
fn a_fixed_clamp_in_bytes_needs_nothing_measured() {
    let mut hand = Hand::new(receiver("fixed-clamp", &[("bytes", 400_000)]));
    hand.seen.echo = 0;
    assert_eq!(hand.ack(1000, MSS, 0), Some(400_000));
}

#[test]
fn a_fixed_clamp_in_bdp_keeps_the_best_round_of_the_connection() {
    let mut hand = Hand::new(receiver("fixed-clamp", &[("bdp", 1500)]));
    assert_eq!(hand.ack(40_000, 100_000, RTT_US), Some(150_000));
    for _ in 0..100 {
        assert_eq!(hand.ack(40_000, 60_000, RTT_US), Some(150_000), "a rival takes its share");
    }
    assert_eq!(hand.ack(40_000, 200_000, RTT_US), Some(300_000), "a better one counts at once");
    // 200 000 bytes in 40 ms over an RTT that has turned out to be 20 ms.
    assert_eq!(hand.ack(20_000, 60_000, RTT_US / 2), Some(150_000));
}

#[test]
fn without_timestamps_the_window_is_the_kernels() {
    for name in ["drwa", "rledbat", "fixed-clamp"] {
        let mut hand = Hand::new(receiver(name, &[]));
        for _ in 0..100 {
            hand.seen.now_us += 10_000;
            hand.seen.rcv_nxt = hand.seen.rcv_nxt.wrapping_add(MSS);
            hand.seen.echo = 0;
            assert_eq!(hand.receiver.step(&hand.seen), None, "{name}");
        }
    }
}

#[test]
fn neither_late_nor_repeated_echoes_make_an_rtt() {
    let mut hand = Hand::new(receiver("drwa", &[]));
    hand.seen.is_late = true;
    assert_eq!(hand.ack(40_000, MSS, RTT_US), None, "held back");
    hand.seen.is_late = false;
    // The first sample ends the first round: two segments in 41 ms are 2896 * 40 / 41 per RTT.
    let window = Some(3 * (2 * MSS * 40 / 41));
    assert_eq!(hand.ack(1_000, MSS, RTT_US), window);
    // The same echo a little later would be an RTT of 70 ms: the sender had paused.
    hand.seen.now_us += 30_000;
    hand.seen.clock += 30;
    hand.seen.rcv_nxt = hand.seen.rcv_nxt.wrapping_add(1);
    assert_eq!(hand.receiver.step(&hand.seen), window);
}

/// Into avoidance at some window, in steps of one acknowledgement per RTT.
fn rledbat_in_avoidance() -> (Hand, u32) {
    let mut hand = Hand::new(receiver("rledbat", &[("slowdown", 0)]));
    let mut window = 0;
    for _ in 0..30 {
        window = hand.ack(RTT_US, window.max(10 * MSS), RTT_US).expect("a window");
    }
    // 50 ms of queue are beyond 3/4 of 60 ms. The filter is of four samples.
    for _ in 0..4 {
        window = hand.ack(90_000, window, 90_000).expect("a window");
    }
    (hand, window)
}

#[test]
fn rledbat_begins_with_slow_start_by_its_gain() {
    let mut hand = Hand::new(receiver("rledbat", &[]));
    // base 40 ms: GAIN = 1 / ceil(120 / 40) = 1/3.
    let bytes = 10 * MSS;
    assert_eq!(hand.ack(RTT_US, bytes, RTT_US), Some(bytes + bytes / 3));
    // base 4 ms would be 30, and is 16.
    let mut hand = Hand::new(receiver("rledbat", &[]));
    assert_eq!(hand.ack(4000, bytes, 4000), Some(bytes + bytes / 16));
}

#[test]
fn rledbat_adds_its_gain_per_round_trip_below_the_target_and_gives_up_above() {
    let (mut hand, before) = rledbat_in_avoidance();
    let after = hand.ack(90_000, before, 90_000).expect("a window");
    // 50 ms of queue, below TARGET: a third of a segment.
    assert!((MSS / 3 - 2..=MSS / 3 + 1).contains(&(after - before)), "{before} {after}");
    let mut window = after;
    for _ in 0..4 {
        window = hand.ack(130_000, window, 130_000).expect("a window");
    }
    // 90 ms: half of the window less per round trip, but for the gain.
    let after = hand.ack(130_000, window, 130_000).expect("a window");
    assert!((window / 2..=window / 2 + MSS / 3 + 2).contains(&after), "{window} {after}");
}

#[test]
fn rledbat_halves_once_per_round_trip_for_what_a_retransmission_has_filled() {
    let (mut hand, before) = rledbat_in_avoidance();
    hand.seen.has_hole = true;
    hand.ack(0, 0, 90_000);
    hand.seen.has_hole = false;
    let reordered = hand.ack(5_000, MSS, 90_000).expect("a window");
    assert!(reordered >= before, "5 ms are reordering: {before} {reordered}");
    hand.seen.has_hole = true;
    hand.ack(0, 0, 90_000);
    hand.seen.has_hole = false;
    let lost = hand.ack(90_000, MSS, 90_000).expect("a window");
    assert!(lost.abs_diff(reordered / 2) < MSS, "{reordered} {lost}");
}

#[test]
fn rledbat_does_not_grow_where_it_does_not_limit() {
    let mut hand = Hand::new(receiver("rledbat", &[("slowdown", 0)]));
    let windows: Vec<u32> = (0..50).filter_map(|_| hand.ack(RTT_US, 4 * MSS, RTT_US)).collect();
    assert!(windows[49] <= 2 * 10 * MSS, "{windows:?}");
}

struct Download {
    stats: Stats,
    /// Mean queueing delay of the second half, µs.
    queue_us: u64,
    rate_share: f64,
}

fn download(sender: &str, receiver: Option<Receiver>, link: Link) -> Download {
    let mut flow = Flow::new(Socket::checked(sender).expect("it exists"), link, 1);
    if let Some(receiver) = receiver {
        flow.set_receiver(receiver);
    }
    flow.run_for_us(8_000_000, |_| {});
    let before = flow.stats();
    flow.run_for_us(8_000_000, |_| {});
    let stats = flow.stats().since(&before);
    let ideal = 8 * link.rate_bps / 8 / ccactl_native::path::WIRE_BYTES;
    Download {
        stats,
        queue_us: stats.mean_rtt_us().saturating_sub(link.base_rtt_us),
        rate_share: stats.delivered_pkts as f64 / ideal as f64,
    }
}

/// Paths like those of E18, with a megabyte of buffer.
fn bloated() -> [Link; 2] {
    [(100_000_000, 50_000), (54_000_000, 20_000)].map(|(rate_bps, base_rtt_us)| Link {
        rate_bps,
        base_rtt_us,
        buffer_pkts: 2000,
        loss_ppm: 0,
    })
}

fn compared(name: &str, set: &[(&str, i64)], link: Link, without: &Download) -> (Download, String) {
    let with = download("cubic", Some(receiver(name, set)), link);
    let text = format!(
        "{name} {set:?} {link:?}: {:.3} of the link and {} us of queue, {:.3} and {} us without",
        with.rate_share, with.queue_us, without.rate_share, without.queue_us
    );
    println!("{text}");
    (with, text)
}

#[test]
fn each_keeps_the_rate_with_a_quarter_of_the_queue() {
    // The slowdowns of rLEDBAT cost up to a tenth.
    let all = [("drwa", &[("lambda", 1800)][..], 0.95), ("rledbat", &[], 0.9), ("fixed-clamp", &[("bdp", 1800)], 0.95)];
    for link in bloated() {
        let without = download("cubic", None, link);
        for (name, set, share) in all {
            let (with, text) = compared(name, set, link, &without);
            assert!(with.rate_share >= share * without.rate_share, "{text}");
            assert!(with.queue_us * 4 <= without.queue_us, "{text}");
            assert_eq!(with.stats.timeouts, 0, "{text}");
        }
    }
}

/// With the paper's lambda the queue is two RTT_min, whatever the buffer.
#[test]
fn drwa_settles_where_the_rtt_is_lambda_times_the_shortest() {
    for link in bloated() {
        let with = download("cubic", Some(receiver("drwa", &[])), link);
        assert!(with.rate_share >= 0.95, "{}", with.rate_share);
        assert!(with.queue_us.abs_diff(2 * link.base_rtt_us) * 10 <= 2 * link.base_rtt_us, "{}", with.queue_us);
    }
}
