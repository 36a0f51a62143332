//! BBRv3 and F-BBRv3 over the scripted path: the figures that the model promises.

use ccactl_native::Socket;
use ccactl_native::path::{Flow, Link, Stats};

const RATE_BPS: u64 = 50_000_000;
const SECONDS: u64 = 30;
const BOTH: [&str; 2] = ["bbrv3", "f-bbrv3"];
/// `enum bbr2_phase`
const UP: u32 = 5;
const PROBE_RTT: u32 = 6;

struct Run {
    stats: Stats,
    /// Every stay in a phase: phase, start, end in µs.
    stays: Vec<(u32, u64, u64)>,
    /// Losses up to the first stay in PROBE_BW, and packets sent until then.
    startup: Stats,
}

impl Run {
    fn of(algorithm: &str, buffer_milli_bdp: u64, loss_ppm: u32) -> Run {
        let link = Link { rate_bps: RATE_BPS, base_rtt_us: 40_000, buffer_pkts: 0, loss_ppm }
            .with_buffer_milli_bdp(buffer_milli_bdp);
        let mut socket = Socket::checked(algorithm).expect("exists");
        socket.record(true);
        let mut flow = Flow::new(socket, link, 1);
        let start_us = flow.socket.time_us();
        let mut stays: Vec<(u32, u64, u64)> = Vec::new();
        let mut startup = None;
        flow.run_for_us(SECONDS * 1_000_000, |flow| {
            let mode = flow.socket.trace().expect("recording").mode;
            let now_us = flow.socket.time_us() - start_us;
            assert!(flow.socket.cwnd() > 0 && flow.socket.pacing_rate() > 0);
            match stays.last_mut() {
                Some(stay) if stay.0 == mode => stay.2 = now_us,
                _ => stays.push((mode, now_us, now_us)),
            }
            if mode == 2 && startup.is_none() {
                startup = Some(flow.stats());
            }
        });
        Run { stats: flow.stats(), stays, startup: startup.expect("STARTUP ends") }
    }

    /// Share of the link that was used, in percent.
    fn utilisation(&self) -> u64 {
        self.stats.delivered_pkts * 1500 * 8 * 100 / (RATE_BPS * SECONDS)
    }

    fn stays_in(&self, phase: u32) -> Vec<(u64, u64)> {
        self.stays.iter().filter(|stay| stay.0 == phase).map(|stay| (stay.1, stay.2)).collect()
    }
}

#[test]
fn alone_on_the_link_both_use_it_and_keep_the_queue_short() {
    for algorithm in BOTH {
        let run = Run::of(algorithm, 4000, 0);
        // A PROBE_RTT at half a BDP for 0.24 of each 5.2 s costs 2.3 %, the pacing margin 1 % until the next probe.
        assert!(run.utilisation() >= 95, "{algorithm}: {} %", run.utilisation());
        assert_eq!(run.stats.lost_pkts, 0, "{algorithm}");
        // A Cubic flow would fill the buffer: 200 ms.
        assert!(run.stats.mean_rtt_us() < 48_000, "{algorithm}: {} us", run.stats.mean_rtt_us());
    }
}

#[test]
fn probe_rtt_comes_every_five_seconds_for_two_hundred_milliseconds_and_a_round() {
    for algorithm in BOTH {
        let run = Run::of(algorithm, 4000, 0);
        let stays = run.stays_in(PROBE_RTT);
        assert!((5..=6).contains(&stays.len()), "{algorithm}: {stays:?}");
        // The interval runs from the end of one to the start of the next, unless a lower RTT comes right after it.
        for pair in stays.windows(2) {
            let pause_us = pair[1].0 - pair[0].1;
            assert!((4_990_000..5_300_000).contains(&pause_us), "{algorithm}: {stays:?}");
        }
        assert!(stays.iter().all(|&(from, to)| (195_000..330_000).contains(&(to - from))), "{algorithm}: {stays:?}");
    }
}

#[test]
fn a_probe_lasts_until_three_rounds_have_brought_no_more() {
    let run = Run::of("bbrv3", 4000, 0);
    let stays = run.stays_in(UP);
    assert!(stays.len() >= 6, "{stays:?}");
    // Each round is at least 40 ms, and longer by what the probe itself queues (a quarter of a BDP per round).
    assert!(stays.iter().all(|&(from, to)| (100_000..250_000).contains(&(to - from))), "{stays:?}");
}

#[test]
fn half_a_bdp_of_buffer_costs_two_percent_at_most() {
    for algorithm in BOTH {
        let run = Run::of(algorithm, 500, 0);
        assert!(run.utilisation() >= 93, "{algorithm}: {} %", run.utilisation());
        assert!(run.stats.lost_pkts * 100 <= run.stats.sent_pkts * 2, "{algorithm}: {:?}", run.stats);
        assert_eq!(run.stats.timeouts, 0, "{algorithm}");
    }
}

#[test]
fn half_a_percent_of_random_loss_costs_little() {
    for algorithm in BOTH {
        let run = Run::of(algorithm, 4000, 5000);
        assert!(run.utilisation() >= 80, "{algorithm}: {} %", run.utilisation());
        assert_eq!(run.stats.timeouts, 0, "{algorithm}");
    }
}

#[test]
fn its_startup_loses_less_than_that_of_version_two() {
    let [v2, v3] = ["bbrv2", "bbrv3"].map(|algorithm| Run::of(algorithm, 500, 0).startup);
    assert!(v3.lost_pkts < v2.lost_pkts, "v2 {v2:?}, v3 {v3:?}");
}
