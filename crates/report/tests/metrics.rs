//! Figures of small recordings, worked out by hand beside each assertion.

mod common;

use ccactl_report::{Error, FlowSummary, Options, Recording, RecordingSummary, Summary, open_all, summarize};
use common::{Fixture, Row};
use tempfile::TempDir;

const SECOND: u64 = 1_000_000;

fn summary_of(fixture: &Fixture, options: &Options) -> Result<RecordingSummary, Error> {
    let folder = TempDir::new().unwrap();
    let path = fixture.parquet(&folder.path().join("x.parquet"));
    let mut summary = summarize(&[Recording::open(path)?], options)?;
    Ok(summary.recordings.remove(0))
}

fn summary(rows: Vec<Row>) -> RecordingSummary {
    summary_of(&Fixture::new(rows), &Options::default()).unwrap()
}

fn near(value: Option<f64>, expected: f64) {
    let value = value.expect("a value");
    assert!((value - expected).abs() <= 1e-9 * expected.abs().max(1.0), "{value} is not {expected}");
}

fn flow(summary: &RecordingSummary, flow_id: u64) -> &FlowSummary {
    summary.flows.iter().find(|flow| flow.flow_id == flow_id).expect("the flow")
}

#[test]
fn throughput_counts_what_was_sent_and_goodput_what_was_acknowledged() {
    let first = Row::at(1, SECOND).bytes(1_000, 500);
    let last = Row {
        bytes_retrans: 100_000,
        retrans_pkts: 70,
        lost_pkts: 75,
        ..Row::at(1, 3 * SECOND).bytes(1_001_000, 750_500)
    };
    let found = summary(vec![first, last]);
    let measures = &flow(&found, 1).measures;
    // 1 000 000 bytes sent and 750 000 acknowledged in 2 s.
    near(measures.throughput_bps, 4_000_000.0);
    near(measures.goodput_bps, 3_000_000.0);
    near(measures.retrans_ratio, 0.1);
    assert_eq!((measures.retrans_pkts, measures.lost_pkts), (70, 75));
    assert_eq!((found.rows, found.duration_s), (2, 2.0));
}

#[test]
fn goodput_is_over_the_time_that_the_connection_was_open() {
    let rows = vec![
        Row::at(1, 0),
        Row::at(1, 2 * SECOND).bytes(1_000_000, 1_000_000),
        Row { event: "close", ..Row::at(1, 10 * SECOND).bytes(1_000_000, 1_000_000) },
    ];
    // 1 MB in the 10 s that it was open, and in the 2 s that it moved data.
    let measures = flow(&summary(rows), 1).measures.clone();
    near(measures.goodput_bps, 800_000.0);
    near(measures.throughput_bps, 800_000.0);
    near(measures.sending_goodput_bps, 4_000_000.0);
}

#[test]
fn a_flow_is_open_from_its_opening_to_its_close_or_as_long_as_the_recording() {
    let sends = |id: u64, from_s: u64| Row::at(id, (from_s + 1) * SECOND).bytes(1_000_000, 1_000_000);
    let rows = vec![
        Row::at(1, 0),
        sends(1, 0),
        // Was there before: since 0 s.
        Row::at(2, 2 * SECOND),
        sends(2, 2),
        Row { event: "open", ..Row::at(3, 4 * SECOND) },
        sends(3, 4),
        Row { event: "close", ..Row::at(3, 8 * SECOND).bytes(1_000_000, 1_000_000) },
        Row::at(1, 10 * SECOND).bytes(1_000_000, 1_000_000),
    ];
    let found = summary(rows);
    near(flow(&found, 1).measures.goodput_bps, 800_000.0);
    near(flow(&found, 2).measures.goodput_bps, 800_000.0);
    near(flow(&found, 3).measures.goodput_bps, 2_000_000.0);
    assert!(found.flows.iter().all(|flow| flow.measures.sending_goodput_bps == Some(8_000_000.0)));
    // That of an algorithm is the mean of what its flows show.
    near(found.algorithms[0].measures.goodput_bps, 1_200_000.0);
}

#[test]
fn the_time_without_rows_belongs_to_the_algorithm_beside_it() {
    let bbr = |row| Row { algorithm: "bbr", ..row };
    let rows = vec![
        Row::at(2, 0),
        // There since 0 s.
        Row::at(1, 2 * SECOND),
        Row::at(1, 4 * SECOND).bytes(1_000_000, 1_000_000),
        bbr(Row::at(1, 5 * SECOND).bytes(2_000_000, 2_000_000)),
        bbr(Row::at(1, 6 * SECOND).bytes(5_000_000, 5_000_000)),
        Row::at(2, 10 * SECOND),
    ];
    let found = summary(rows);
    // 2 MB from 0 to 5 s, 3 MB from 5 to 10 s.
    near(found.algorithms[0].measures.goodput_bps, 3_200_000.0);
    near(found.algorithms[1].measures.goodput_bps, 4_800_000.0);
    near(found.flows[0].measures.goodput_bps, 4_000_000.0);
}

#[test]
fn the_algorithm_that_a_socket_was_opened_with_is_not_one_that_it_ran() {
    let rows = vec![
        // The kernel opens with the host's default; the policy of the cgroup comes right after.
        Row { event: "open", algorithm: "bbr", ..Row::at(1, 0) },
        Row::at(1, SECOND).bytes(500_000, 500_000),
        Row::at(1, 2 * SECOND).bytes(1_000_000, 1_000_000),
    ];
    let found = summary(rows);
    assert_eq!(flow(&found, 1).kernel_name, "bpf_cubic");
    assert_eq!(found.algorithms.iter().map(|a| a.kernel_name.as_str()).collect::<Vec<_>>(), ["bpf_cubic"]);
    // The flow still begins with its open: 1 MB in 2 s.
    near(flow(&found, 1).measures.goodput_bps, 4_000_000.0);
    assert_eq!((flow(&found, 1).start_s, flow(&found, 1).rows), (0.0, 3));
}

#[test]
fn cwnd_is_weighted_by_the_time_for_which_it_held() {
    let rows = vec![
        Row { cwnd_pkts: 10, ..Row::at(1, 0) },
        Row { cwnd_pkts: 100, ..Row::at(1, 900_000).bytes(1_000, 1_000) },
        // Ten rows in quick succession: per row the mean would be near 100.
        Row { cwnd_pkts: 100, ..Row::at(1, 950_000).bytes(2_000, 2_000) },
        Row { cwnd_pkts: 7, ..Row::at(1, SECOND).bytes(3_000, 3_000) },
    ];
    // 10 for 0.9 s, 100 for 0.1 s; the last value held for no time.
    near(flow(&summary(rows), 1).measures.cwnd_mean_pkts, 19.0);
}

#[test]
fn an_rtt_counts_once_however_many_duplicate_acks_repeat_it() {
    let mut rows = vec![Row::at(1, 0).rtt(90_000, 0)];
    // Delivered 1, 2, 2, 2, 3: the two rows with an unchanged count repeat 50 ms.
    for (i, (rtt_us, delivered)) in
        [(40_000, 1), (50_000, 2), (50_000, 2), (50_000, 2), (60_000, 3)].into_iter().enumerate()
    {
        rows.push(Row::at(1, (i as u64 + 1) * 1000).bytes(1000 * (i as u64 + 1), 1000).rtt(rtt_us, delivered));
    }
    let found = summary(rows);
    let measures = &flow(&found, 1).measures;
    assert_eq!(measures.rtt_samples, 3);
    near(measures.rtt_mean_us, 50_000.0);
    assert_eq!((measures.rtt_min_us, measures.rtt_p50_us), (Some(40_000), Some(50_000)));
    // Without a link the flow's own minimum is the base.
    near(measures.queueing_delay_us, 10_000.0);
}

#[test]
fn percentiles_are_exact() {
    let mut rows = vec![Row::at(1, 0)];
    // 1 … 200 ms, each once, in an order that is not sorted.
    for i in 0..200u32 {
        let rtt_ms = i * 77 % 200 + 1;
        rows.push(Row::at(1, u64::from(i + 1) * 1000).bytes(u64::from(i + 1), 0).rtt(rtt_ms * 1000, i + 1));
    }
    let found = summary(rows);
    let measures = &flow(&found, 1).measures;
    let percentiles = [measures.rtt_p50_us, measures.rtt_p95_us, measures.rtt_p99_us];
    assert_eq!(percentiles, [Some(100_000), Some(190_000), Some(198_000)]);
    near(measures.rtt_mean_us, 100_500.0);
}

#[test]
fn nulls_before_the_first_rtt_are_no_samples() {
    let rows = vec![
        Row::at(1, 0),
        Row { rtt_us: None, delivered_pkts: 1, ..Row::at(1, 1000).bytes(10, 10) },
        Row::at(1, 2000).bytes(20, 20).rtt(30_000, 2),
    ];
    let found = summary(rows);
    assert_eq!(flow(&found, 1).measures.rtt_samples, 1);
    let silent = summary(vec![Row::at(1, 0), Row::at(1, 1000).bytes(10, 10)]);
    let measures = &flow(&silent, 1).measures;
    assert_eq!((measures.rtt_mean_us, measures.rtt_p99_us, measures.queueing_delay_us), (None, None, None));
}

#[test]
fn only_flows_that_sent_data_are_reported() {
    let rows = vec![
        Row::at(1, 0),
        Row::at(2, 0),
        Row::at(1, SECOND).bytes(1000, 1000),
        // A receiver: it acknowledges the SYN and sends nothing.
        Row::at(2, SECOND).bytes(0, 1),
    ];
    let found = summary(rows);
    assert_eq!(found.flows.iter().map(|f| f.flow_id).collect::<Vec<_>>(), [1]);
    assert_eq!((found.rows, found.fairness), (4, None));
}

#[test]
fn flows_are_in_the_order_of_the_metadata_and_strangers_behind_them_as_they_came() {
    let rows = [3, 2, 4, 1].into_iter().zip(0..);
    let rows = rows.flat_map(|(id, t_us)| [Row::at(id, t_us), Row::at(id, SECOND + t_us).bytes(1_000, 1_000)]);
    let flows = r#"[{"cgroup_id":101,"name":"first"},{"cgroup_id":102,"name":"second"}]"#;
    let fixture = Fixture::new(rows.collect()).meta("flows", flows);
    let found = summary_of(&fixture, &Options::default()).unwrap();
    assert_eq!(found.flows.iter().map(|flow| flow.flow_id).collect::<Vec<_>>(), [1, 2, 3, 4]);
}

#[test]
fn the_same_cookie_in_two_namespaces_is_two_flows() {
    let other = |t_us| Row { netns: 7, ..Row::at(1, t_us) };
    let rows = vec![Row::at(1, 0), other(0), Row::at(1, SECOND).bytes(1000, 1000), other(SECOND).bytes(3000, 3000)];
    let found = summary(rows);
    let mut acked: Vec<(u64, u64)> = found.flows.iter().map(|f| (f.netns, f.measures.acked_bytes)).collect();
    acked.sort_unstable();
    assert_eq!(acked, [(7, 3000), (4_026_531_840, 1000)]);
}

#[test]
fn a_counter_that_starts_again_does_not_lose_or_invent_bytes() {
    let rows = vec![
        Row::at(1, 0).bytes(100, 100),
        Row::at(1, SECOND).bytes(1_100, 1_100),
        // The socket was connected anew: 400 bytes since then.
        Row::at(1, 2 * SECOND).bytes(400, 400),
        Row::at(1, 4 * SECOND).bytes(1_000, 1_000),
    ];
    // 1000 + 400 + 600 bytes in 4 s.
    let found = summary(rows);
    assert_eq!(flow(&found, 1).measures.acked_bytes, 2_000);
    near(flow(&found, 1).measures.goodput_bps, 4_000.0);
}

#[test]
fn a_flow_of_one_row_has_no_rates_but_is_there() {
    let rows = vec![Row::at(1, 0).bytes(5_000, 5_000), Row::at(2, 0), Row::at(2, SECOND).bytes(1_000, 1_000)];
    let found = summary(rows);
    let lone = flow(&found, 1);
    assert_eq!((lone.rows, lone.measures.goodput_bps, lone.measures.cwnd_mean_pkts), (1, None, None));
    assert_eq!(lone.measures.sent_bytes, 0);
}

#[test]
fn a_late_flow_is_measured_over_its_own_time_and_shares_are_of_the_whole_run() {
    let rows = vec![
        Row::at(1, 0),
        Row::at(1, 10 * SECOND).bytes(10_000_000, 10_000_000),
        Row { event: "open", ..Row::at(2, 8 * SECOND) },
        Row::at(2, 10 * SECOND).bytes(2_000_000, 2_000_000),
    ];
    let found = summary(rows);
    // Both ran at 1 MB/s while they ran.
    near(flow(&found, 1).measures.goodput_bps, 8_000_000.0);
    near(flow(&found, 2).measures.goodput_bps, 8_000_000.0);
    let fairness = found.fairness.unwrap();
    // Whole run: (10 + 2)² / (2·(100 + 4)) = 144/208.
    near(fairness.jain, 144.0 / 208.0);
    // Per second: only 8–9 and 9–10 have both from edge to edge, and there they are equal.
    assert_eq!(fairness.intervals, 2);
    near(fairness.jain_interval_mean, 1.0);
}

#[test]
fn bytes_between_two_rows_are_spread_over_the_intervals_between_them() {
    let rows = vec![
        Row::at(1, 0),
        Row::at(2, 0),
        // 3 MB in one step of 3 s: 1 MB in each second.
        Row::at(1, 3 * SECOND).bytes(3_000_000, 3_000_000),
        // 1 MB, then 0, then 3 MB.
        Row::at(2, SECOND).bytes(1_000_000, 1_000_000),
        Row::at(2, 2 * SECOND).bytes(1_000_000, 1_000_000),
        Row::at(2, 3 * SECOND).bytes(4_000_000, 4_000_000),
    ];
    let fairness = summary(rows).fairness.unwrap();
    // (1, 1): 1; (1, 0): 1/2; (1, 3): 16/20.
    near(fairness.jain_interval_mean, (1.0 + 0.5 + 0.8) / 3.0);
    assert_eq!(fairness.intervals, 3);
    near(fairness.jain, 49.0 / 50.0);
}

#[test]
fn an_interval_longer_than_any_recording_has_nothing_in_it() {
    let rows = (1..=2).flat_map(|flow| [Row::at(flow, 7), Row::at(flow, SECOND).bytes(1_000, 1_000)]).collect();
    let fixture = Fixture::new(rows);
    for interval_s in [1e9, 1e13, 1e300, f64::INFINITY] {
        let fairness = summary_of(&fixture, &Options { interval_s, ..Options::default() }).unwrap().fairness.unwrap();
        assert_eq!((fairness.jain, fairness.intervals), (Some(1.0), 0), "{interval_s}");
    }
}

#[test]
fn a_sum_beyond_what_a_counter_holds_is_as_much_as_it_holds() {
    let rows = (1..=2).flat_map(|flow| [Row::at(flow, 0), Row::at(flow, SECOND).bytes(u64::MAX - 1, u64::MAX - 1)]);
    let algorithm = summary(rows.collect()).algorithms.remove(0);
    assert_eq!((algorithm.flows, algorithm.measures.sent_bytes), (2, u64::MAX));
}

#[test]
fn utilisation_is_that_of_the_busier_way_at_the_mean_rate() {
    let link = r#"{"rate_bps":10000000,"mean_rate_bps":5000000,"overhead_bytes":14}"#;
    let flows = r#"[{"cgroup_id":101,"way":"up"},{"cgroup_id":102,"way":"down"},{"cgroup_id":103,"way":"down"},{"cgroup_id":104,"way":"beside"}]"#;
    let rows = (1..=4).flat_map(|flow| {
        let pkts = flow * 10;
        let payload = pkts * 1448;
        [Row::at(flow, 0), Row { delivered_pkts: pkts as u32, ..Row::at(flow, SECOND).bytes(payload, payload) }]
    });
    let fixture = Fixture::new(rows.collect()).meta("link", link).meta("flows", flows);
    let found = summary_of(&fixture, &Options::default()).unwrap();
    // Down: 20 + 30 packets of 1514 bytes in a second, of 5 Mbit/s.
    near(found.link.unwrap().utilisation, 50.0 * 1514.0 * 8.0 / 5e6);
}

#[test]
fn utilisation_counts_headers_and_framing_of_delivered_packets() {
    let link = r#"{"rate_bps":10000000,"base_rtt_us":40000,"buffer_bytes":100000,"overhead_bytes":14}"#;
    let rows = vec![
        Row::at(1, 0),
        Row { delivered_pkts: 400, rtt_us: Some(50_000), ..Row::at(1, SECOND).bytes(800_000, 579_200) },
    ];
    let found = summary_of(&Fixture::new(rows.clone()).meta("link", link), &Options::default()).unwrap();
    let of_link = found.link.unwrap();
    // 400 packets of 1448 bytes, each with 52 bytes of headers and 14 of framing: 400·1514·8 bits of 10 Mbit.
    near(of_link.utilisation, 0.484_48);
    // 10 Mbit/s · 40 ms = 50 kB.
    near(of_link.buffer_bdp, 2.0);
    near(found.flows[0].measures.queueing_delay_us, 10_000.0);

    let ipv6: Vec<Row> = rows.into_iter().map(|row| Row { src: "fd00::1", dst: "fd00::2", ..row }).collect();
    let found = summary_of(&Fixture::new(ipv6).meta("link", link), &Options::default()).unwrap();
    // 20 bytes more per packet.
    near(found.link.unwrap().utilisation, 0.484_48 + 400.0 * 20.0 * 8.0 / 10e6);
    assert_eq!((found.flows[0].local.as_str(), found.flows[0].remote.as_str()), ("[fd00::1]:40001", "[fd00::2]:5001"));
}

#[test]
fn the_base_rtt_of_a_flow_wins_over_that_of_the_link() {
    let rows = vec![Row::at(1, 0), Row::at(1, SECOND).bytes(10, 10).rtt(90_000, 1)];
    let fixture = Fixture::new(rows)
        .meta("link", r#"{"rate_bps":1e7,"base_rtt_us":40000}"#)
        .meta("flows", r#"[{"cgroup_id":101,"name":"far","algorithm":"cubic","base_rtt_us":80000}]"#);
    let found = summary_of(&fixture, &Options::default()).unwrap();
    assert_eq!(found.flows[0].name, "far");
    near(found.flows[0].measures.queueing_delay_us, 10_000.0);
}

#[test]
fn a_phase_holds_until_the_next_row() {
    let at = |t_us, mode| Row { trace_mode: mode, ..Row::at(1, t_us).bytes(t_us, t_us) };
    let rows = vec![
        at(0, None),
        at(200_000, Some("up")),
        at(300_000, Some("cruise")),
        at(900_000, Some("up")),
        at(SECOND, Some("down")),
    ];
    let algorithms = r#"[{"kernel_name":"bpf_cubic","algorithm":"cubic","modes":["cruise","up","down"]}]"#;
    let found = summary_of(&Fixture::new(rows).meta("algorithms", algorithms), &Options::default()).unwrap();
    let phases: Vec<(&str, f64)> = found.flows[0].measures.phases.iter().map(|p| (p.mode.as_str(), p.share)).collect();
    // Known for 0.8 s: cruise 0.6, up 0.1 + 0.1; "down" held for no time. In the order of the registry.
    assert_eq!(phases, [("cruise", 0.75), ("up", 0.25)]);
}

#[test]
fn inner_state_has_the_registrys_names_and_is_weighted_by_time() {
    let at =
        |t_us, v0: i64| Row { trace_v0: Some(v0), trace_bw_bps: Some(8_000), ..Row::at(1, t_us).bytes(t_us, t_us) };
    // -1 for 0.1 s, 4 for 0.3 s: (-0.1 + 1.2) / 0.4 = 2.75. What only the last row shows held for no time.
    let rows = vec![at(0, -1), at(100_000, 4), at(400_000, 90)];
    let algorithms = r#"[{"kernel_name":"bpf_cubic","algorithm":"cubic","v0":{"name":"diff_pkts","doc":"queued"}}]"#;
    let found = summary_of(&Fixture::new(rows).meta("algorithms", algorithms), &Options::default()).unwrap();
    let inner = &found.flows[0].measures.inner_state;
    let seen: Vec<_> = inner.iter().map(|v| (v.name.as_str(), v.mean, v.min, v.max)).collect();
    assert_eq!(seen, [("bw_bps", 8000.0, 8000.0, 8000.0), ("diff_pkts", 2.75, -1.0, 4.0)]);
}

#[test]
fn a_flow_that_was_moved_shows_both_algorithms_and_counts_for_each_its_part() {
    let bbr = |row| Row { algorithm: "bbr", ..row };
    let rows = vec![
        // Before any data the host's default shows: not a change.
        Row { algorithm: "reno", ..Row::at(1, 0) },
        Row::at(1, 1000).bytes(1_000, 0).rtt(30_000, 1),
        Row::at(1, SECOND).bytes(1_001_000, 1_000_000).rtt(40_000, 2),
        bbr(Row::at(1, 2 * SECOND).bytes(2_001_000, 2_000_000).rtt(50_000, 3)),
        bbr(Row::at(1, 4 * SECOND).bytes(8_001_000, 8_000_000).rtt(20_000, 4)),
    ];
    let fixture = Fixture::new(rows).meta("algorithms", r#"[{"kernel_name":"bpf_cubic","algorithm":"cubic"}]"#);
    let found = summary_of(&fixture, &Options::default()).unwrap();
    let moved = &found.flows[0];
    assert_eq!(moved.algorithm, "cubic → bbr");
    assert_eq!((moved.changes.len(), moved.changes[0].at_s), (1, 2.0));
    near(moved.measures.goodput_bps, 16_000_000.0);
    let parts: Vec<(&str, u64, u64)> = found
        .algorithms
        .iter()
        .map(|a| (a.algorithm.as_str(), a.measures.acked_bytes, a.measures.rtt_samples))
        .collect();
    assert_eq!(parts, [("cubic", 2_000_000, 3), ("bbr", 6_000_000, 1)]);
    // bbr: 6 MB in the 2 s from its first row to its last.
    near(found.algorithms[1].measures.goodput_bps, 24_000_000.0);
}

#[test]
fn flows_of_one_algorithm_are_pooled() {
    let rows = vec![
        Row::at(1, 0),
        Row::at(2, 0),
        Row::at(1, SECOND).bytes(1_000_000, 1_000_000).rtt(10_000, 1),
        Row::at(2, SECOND).bytes(3_000_000, 3_000_000).rtt(30_000, 1),
    ];
    let found = summary(rows);
    let [pooled] = found.algorithms.as_slice() else { panic!("one algorithm") };
    assert_eq!((pooled.flows, pooled.kernel_name.as_str()), (2, "bpf_cubic"));
    near(pooled.measures.goodput_bps, 16_000_000.0);
    near(pooled.total_goodput_bps, 32_000_000.0);
    near(pooled.measures.rtt_mean_us, 20_000.0);
    near(pooled.measures.queueing_delay_us, 0.0);
}

#[test]
fn a_window_cuts_the_warm_up() {
    let rows = vec![
        Row::at(1, 0),
        Row::at(1, SECOND).bytes(100, 100).rtt(10_000, 1),
        Row::at(1, 2 * SECOND).bytes(1_100, 1_100).rtt(20_000, 2),
        Row::at(1, 3 * SECOND).bytes(9_100, 9_100).rtt(90_000, 3),
    ];
    let options = Options { from_s: Some(1.0), to_s: Some(2.5), ..Options::default() };
    let found = summary_of(&Fixture::new(rows.clone()), &options).unwrap();
    // From the row at 1 s to the row at 2 s.
    near(found.flows[0].measures.goodput_bps, 8_000.0);
    assert_eq!((found.rows, found.flows[0].measures.rtt_samples), (2, 1));

    let outside = Options { from_s: Some(200.0), ..Options::default() };
    let text = summary_of(&Fixture::new(rows.clone()), &outside).unwrap_err().to_string();
    assert!(text.contains("no rows between 200 s and") && text.contains("covers 0.0 s to 3.0 s"), "{text}");

    let backwards = Options { from_s: Some(3.0), to_s: Some(1.0), ..Options::default() };
    assert!(matches!(summary_of(&Fixture::new(rows), &backwards), Err(Error::Window { .. })));
}

#[test]
fn drops_and_missing_rows_are_warned_about() {
    let rows = vec![Row::at(1, 0), Row::at(1, SECOND).bytes(10, 10)];
    let fixture = Fixture::new(rows).meta("drops", "2").meta("rows", "3");
    let found = summary_of(&fixture, &Options::default()).unwrap();
    assert_eq!(found.drops, Some(2));
    assert!(
        found.warnings[0].starts_with("2 rows were dropped while recording (50.00 % of all)"),
        "{:?}",
        found.warnings
    );
    assert!(found.warnings[1].contains("wrote 3 rows, the file has 2"), "{:?}", found.warnings);
}

#[test]
fn batches_of_a_file_make_no_difference() {
    let mut rows = Vec::new();
    for i in 0..1000u64 {
        for id in [1, 2] {
            let mode = if i % 7 < 3 { "up" } else { "down" };
            let row = Row { cwnd_pkts: (i % 50) as u32, trace_mode: Some(mode), ..Row::at(id, i * 1733) };
            rows.push(row.bytes(i * 3000 * id, i * 2900 * id).rtt((i * 37 % 500) as u32 + 1000, (i / 2) as u32));
        }
    }
    let folder = TempDir::new().unwrap();
    let fixture = Fixture::new(rows);
    let one = fixture.parquet(&folder.path().join("one.parquet"));
    let many = fixture.parquet_in_groups(&folder.path().join("many.parquet"), 13);
    let stream = fixture.stream(&folder.path().join("stream.arrows"), 37);
    let of = |path| {
        let mut found = summarize(&[Recording::open(path).unwrap()], &Options::default()).unwrap().recordings.remove(0);
        (found.path, found.name) = Default::default();
        found
    };
    let expected = of(one);
    assert_eq!(of(many), expected);
    assert_eq!(of(stream), expected);
}

#[test]
fn repeats_of_a_scenario_give_mean_and_interval() {
    let folder = TempDir::new().unwrap();
    let write = |run: &str, acked: u64, scenario: &str| {
        let rows = vec![Row::at(1, 0), Row::at(1, SECOND).bytes(acked, acked).rtt(10_000, 1)];
        std::fs::create_dir(folder.path().join(run)).unwrap();
        Fixture::new(rows).meta("scenario", scenario).parquet(&folder.path().join(run).join("recording.parquet"));
    };
    // 10, 12 and 14 Mbit/s: mean 12, deviation 2, t(2) = 4.303, interval 4.303·2/√3.
    write("run-1", 1_250_000, "a = 1");
    write("run-2", 1_500_000, "a = 1");
    write("run-3", 1_750_000, "a = 1");
    write("other", 9_000_000, "a = 2");
    let recordings = open_all(&[folder.path().to_owned()]).unwrap();
    let Summary { recordings, repeats } = summarize(&recordings, &Options::default()).unwrap();
    let names: Vec<&str> = recordings.iter().map(|r| r.name.as_str()).collect();
    assert_eq!(
        names,
        ["other/recording.parquet", "run-1/recording.parquet", "run-2/recording.parquet", "run-3/recording.parquet"]
    );
    let [group] = repeats.as_slice() else { panic!("one group of repeats") };
    assert_eq!(group.paths.len(), 3);
    let goodput = group.algorithms[0].goodput_bps.unwrap();
    assert_eq!(goodput.n, 3);
    near(Some(goodput.mean), 12e6);
    near(goodput.sd, 2e6);
    assert!((goodput.ci95.unwrap() - 4.968_7e6).abs() < 1e3);
}
