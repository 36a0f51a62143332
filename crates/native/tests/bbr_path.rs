//! BBR version 1 over a path.

mod common;

use ccactl_native::path::Flow;
use common::{established, link};

/// Phases in the order in which they were entered, with the time in µs since the start.
fn phases(flow: &mut Flow, duration_us: u64) -> Vec<(u32, u64)> {
    let start_us = flow.socket.time_us();
    let mut seen: Vec<(u32, u64)> = Vec::new();
    flow.run_for_us(duration_us, |flow| {
        let mode = flow.socket.trace().map(|trace| trace.mode);
        if let Some(mode) = mode
            && seen.last().is_none_or(|&(last, _)| last != mode)
        {
            seen.push((mode, flow.socket.time_us() - start_us));
        }
    });
    seen
}

#[test]
fn it_starts_up_drains_and_probes_without_loss_in_a_deep_buffer() {
    let mut flow = Flow::new(established("bbr"), link(4000), 1);
    let seen = phases(&mut flow, 5_000_000);
    assert_eq!(seen.iter().map(|&(mode, _)| mode).collect::<Vec<_>>(), [0, 1, 2]);
    // 167 packets of BDP from 10: four doublings, three flat rounds with a growing queue.
    let (_, drained_us) = seen[2];
    assert!((400_000..1_000_000).contains(&drained_us), "{seen:?}");
    assert_eq!(flow.stats().lost_pkts, 0);
    let bw_bps = flow.socket.trace().expect("published").bw_bps;
    let payload_bps = link(4000).rate_bps * 1448 / 1500;
    assert!(bw_bps.abs_diff(payload_bps) < payload_bps / 100, "{bw_bps} of {payload_bps}");
}

#[test]
fn it_fills_the_link_with_little_queue_whatever_the_buffer() {
    for buffer in [1000, 4000, 20_000] {
        let mut flow = Flow::new(established("bbr"), link(buffer), 1);
        flow.run_for_us(2_000_000, |_| {});
        let start = flow.stats();
        let limit_pkts = 2 * flow.link.bdp_pkts() as u32 + 30;
        flow.run_for_us(7_500_000, |flow| assert!(flow.socket.cwnd() <= limit_pkts, "{}", flow.socket.cwnd()));
        let stats = flow.stats().since(&start);
        let ideal = 75 * flow.link.rate_bps / 80 / 1500;
        assert!(stats.delivered_pkts * 1000 >= ideal * 990, "buffer {buffer}: {stats:?} of {ideal}");
        assert!(stats.mean_rtt_us() < 48_000, "buffer {buffer}: {stats:?}");
        assert_eq!(stats.lost_pkts, 0, "buffer {buffer}");
    }
}

#[test]
fn probe_rtt_comes_every_ten_seconds_for_a_quarter_of_a_second() {
    let mut flow = Flow::new(established("bbr"), link(4000), 1);
    let mut smallest_cwnd = u32::MAX;
    flow.run_for_us(1_000_000, |_| {});
    let seen = phases(&mut flow, 60_000_000);
    let visits: Vec<(u64, u64)> =
        seen.windows(2).filter(|pair| pair[0].0 == 3).map(|pair| (pair[0].1, pair[1].1 - pair[0].1)).collect();
    assert!((5..=6).contains(&visits.len()), "{visits:?}");
    assert!(visits.iter().all(|&(_, lasted_us)| (200_000..350_000).contains(&lasted_us)), "{visits:?}");
    assert!(visits.windows(2).all(|pair| (10_000_000..10_700_000).contains(&(pair[1].0 - pair[0].0))), "{visits:?}");
    flow.run_for_us(12_000_000, |flow| {
        if flow.socket.trace().is_some_and(|trace| trace.mode == 3) {
            smallest_cwnd = smallest_cwnd.min(flow.socket.cwnd());
        }
    });
    assert_eq!(smallest_cwnd, 4);
}

#[test]
fn a_shorter_path_is_noticed_at_once_and_a_longer_one_after_probe_rtt() {
    let mut flow = Flow::new(established("bbr"), link(4000), 1);
    flow.run_for_us(3_000_000, |_| {});
    flow.link.base_rtt_us = 30_000;
    flow.run_for_us(1_000_000, |_| {});
    let shorter = flow.socket.trace().expect("published").min_rtt_us;
    assert!((30_000..31_000).contains(&shorter), "{shorter}");
    flow.link.base_rtt_us = 60_000;
    flow.run_for_us(5_000_000, |_| {});
    assert_eq!(flow.socket.trace().expect("published").min_rtt_us, shorter);
    flow.run_for_us(10_000_000, |_| {});
    let longer = flow.socket.trace().expect("published").min_rtt_us;
    assert!((60_000..62_000).contains(&longer), "{longer}");
}

#[test]
fn it_follows_the_bandwidth_up_within_seconds_and_down_within_ten_rounds() {
    let mut flow = Flow::new(established("bbr"), link(8000), 1);
    flow.run_for_us(3_000_000, |_| {});
    flow.link.rate_bps = 100_000_000;
    flow.run_for_us(5_000_000, |_| {});
    let start = flow.stats();
    flow.run_for_us(1_000_000, |_| {});
    let pkts = flow.stats().since(&start).delivered_pkts;
    assert!(pkts * 1500 * 8 > 95_000_000, "{pkts}");
    flow.link.rate_bps = 25_000_000;
    // Ten rounds, of which the first are as long as the queue.
    flow.run_for_us(4_000_000, |_| {});
    let bw_bps = flow.socket.trace().expect("published").bw_bps;
    assert!(bw_bps < 27_000_000, "{bw_bps}");
}

#[test]
fn random_loss_of_a_percent_costs_little() {
    let mut path = link(4000);
    path.loss_ppm = 10_000;
    let mut flow = Flow::new(established("bbr"), path, 7);
    flow.run_for_us(9_000_000, |_| {});
    let stats = flow.stats();
    let ideal = 9 * path.rate_bps / 8 / 1500;
    assert!(stats.lost_pkts > 200, "{stats:?}");
    assert!(stats.delivered_pkts * 100 > ideal * 90, "{stats:?} of {ideal}");
}

#[test]
fn in_a_shallow_buffer_it_loses_and_goes_on() {
    let mut flow = Flow::new(established("bbr"), link(500), 1);
    flow.run_for_us(9_000_000, |flow| assert!(flow.socket.cwnd() >= 1));
    let stats = flow.stats();
    let ideal = 9 * flow.link.rate_bps / 8 / 1500;
    assert!(stats.lost_pkts > 100 && stats.timeouts == 0, "{stats:?}");
    assert!(stats.delivered_pkts * 100 > ideal * 90, "{stats:?} of {ideal}");
}

#[test]
fn an_application_that_pauses_does_not_lower_the_estimate() {
    let mut flow = Flow::new(established("bbr"), link(4000), 1);
    flow.run_for_us(3_000_000, |_| {});
    let before = flow.socket.trace().expect("published").bw_bps;
    for _ in 0..10 {
        flow.set_application_sends(false);
        flow.run_for_us(300_000, |_| {});
        flow.set_application_sends(true);
        flow.run_for_us(20_000, |_| {});
    }
    flow.run_for_us(100_000, |_| {});
    let after = flow.socket.trace().expect("published").bw_bps;
    assert!(after * 100 > before * 95, "{before} {after}");
}
