//! What a change of algorithm did, in small recordings whose figures are worked out beside each assertion.

mod common;

use ccactl_report::{AlgorithmChange, Options, Recording, Side, SocketState, Summary, charts, html, render, summarize};
use common::{Fixture, Row};
use tempfile::TempDir;

const MS: u64 = 1_000;
const SECOND: u64 = 1_000_000;
/// Payload of every packet: 8000 bits, so that a packet per ms is 8 Mbit/s.
const PAYLOAD: u64 = 1_000;

/// A flow that is built ACK by ACK.
struct Flow {
    row: Row,
    rows: Vec<Row>,
}

impl Flow {
    fn new(algorithm: &'static str) -> Flow {
        // Something is sent from the first row on: what comes before the first data is no change.
        let row = Row { algorithm, ..Row::at(1, 0).bytes(PAYLOAD, 0).rtt(20_000, 0) };
        Flow { rows: vec![row.clone()], row }
    }

    /// An ACK for `pkts` packets.
    fn ack(&mut self, t_us: u64, pkts: u32) -> &mut Row {
        self.row.t_us = t_us;
        self.row.delivered_pkts += pkts;
        self.row.bytes_acked += u64::from(pkts) * PAYLOAD;
        self.row.bytes_sent = self.row.bytes_acked + PAYLOAD;
        self.rows.push(self.row.clone());
        self.rows.last_mut().unwrap()
    }

    /// ACKs every 10 ms, from the first to before the last time, each for `pkts` packets.
    fn acks(&mut self, from_ms: u64, to_ms: u64, pkts: u32) {
        for t_ms in (from_ms..to_ms).step_by(10) {
            self.ack(t_ms * MS, pkts);
        }
    }
}

fn summary_of(fixture: &Fixture) -> Summary {
    let folder = TempDir::new().unwrap();
    let path = fixture.parquet(&folder.path().join("x.parquet"));
    summarize(&[Recording::open(path).unwrap()], &Options::default()).unwrap()
}

fn changes_of(fixture: &Fixture) -> Vec<AlgorithmChange> {
    summary_of(fixture).recordings.remove(0).flows.remove(0).changes
}

fn near(value: Option<f64>, expected: f64) {
    let value = value.expect("a value");
    assert!((value - expected).abs() <= 1e-9 * expected.abs().max(1.0), "{value} is not {expected}");
}

/// bbr at 8 Mbit/s for 2 s, then cubic: 100 ms of it at 1.6 Mbit/s, beginning 100 ms after the swap.
fn dip() -> Vec<Row> {
    let mut flow = Flow::new("bpf_bbr");
    flow.row.cwnd_pkts = 100;
    flow.row.pacing_rate_bps = Some(10_000_000);
    flow.acks(10, 1500, 10);
    flow.row.retrans_pkts += 3;
    flow.acks(1500, 2000, 10);
    flow.row.algorithm = "bpf_cubic";
    flow.row.ssthresh_pkts = Some(70);
    flow.row.cwnd_pkts = 70;
    flow.ack(2000 * MS, 10);
    flow.row.pacing_rate_bps = None;
    flow.row.cwnd_pkts = 71;
    flow.row.rtt_us = Some(30_000);
    flow.acks(2010, 2110, 10);
    flow.row.retrans_pkts += 5;
    flow.row.cwnd_pkts = 40;
    flow.row.rtt_us = Some(45_000);
    flow.acks(2110, 2210, 2);
    flow.acks(2210, 4010, 10);
    flow.rows
}

#[test]
fn a_dip_is_the_slowest_tenth_of_a_second_against_the_second_before() {
    let [change] = changes_of(&Fixture::new(dip())).try_into().unwrap();
    assert_eq!((change.at_s, change.from.as_str(), change.to.as_str()), (2.0, "bpf_bbr", "bpf_cubic"));
    // 10 packets every 10 ms are 8 Mbit/s.
    near(change.before.goodput_bps, 8e6);
    // From 2.1 to 2.2 s two packets every 10 ms.
    near(change.lowest_goodput_bps, 1.6e6);
    near(change.dip_ratio, 0.8);
    // 90 ACKs of 10 packets and 10 of 2 in the second after: 920 packets.
    near(change.after.goodput_bps, 7.36e6);
    assert_eq!((change.before.span_s, change.after.span_s), (1.0, 1.0));
    assert_eq!((change.before.retrans_pkts, change.after.retrans_pkts), (3, 5));
    near(change.before.rtt_mean_us, 20_000.0);
    // Of 100 samples 10 of 30 ms and 90 of 45 ms.
    near(change.after.rtt_mean_us, 43_500.0);
}

#[test]
fn the_state_around_a_swap_is_that_of_the_rows_next_to_it() {
    let [change] = changes_of(&Fixture::new(dip())).try_into().unwrap();
    let state =
        |cwnd, ssthresh_pkts, pacing_rate_bps| SocketState { cwnd_pkts: Some(cwnd), ssthresh_pkts, pacing_rate_bps };
    assert_eq!(change.before.state, state(100, None, Some(10_000_000)));
    assert_eq!(change.after.state, state(70, Some(70), Some(10_000_000)));
    // The RTT was 20 ms at the swap: the row at 2.02 s.
    assert_eq!(change.one_rtt_later, Some(state(71, Some(70), None)));
}

#[test]
fn sides_end_at_the_next_swap_and_at_the_ends_of_the_flow() {
    let mut flow = Flow::new("bpf_reno");
    flow.acks(10, 300, 10);
    flow.row.algorithm = "bpf_cubic";
    flow.acks(300, 700, 5);
    flow.row.algorithm = "bpf_bbr";
    flow.acks(700, 760, 20);
    let [first, second] = changes_of(&Fixture::new(flow.rows)).try_into().unwrap();
    assert_eq!((first.before.span_s, first.after.span_s), (0.3, 0.4));
    assert_eq!((second.before.span_s, second.after.span_s), (0.4, 0.05));
    // 29 ACKs of 10 packets and the swap's own of 5: 295 packets in 0.3 s.
    near(first.before.goodput_bps, 295.0 * 8_000.0 / 0.3);
    // 39 ACKs of 5 packets and one of 20 in 0.4 s.
    near(first.after.goodput_bps, 215.0 * 8_000.0 / 0.4);
    near(second.before.goodput_bps, 215.0 * 8_000.0 / 0.4);
    near(first.lowest_goodput_bps, 4e6);
    // No whole tenth of a second.
    assert_eq!((second.lowest_goodput_bps, second.dip_ratio), (None, None));
    // 20 ms after the second swap there is a row, before its end.
    assert!(second.one_rtt_later.is_some());
}

/// 8 Mbit/s, a swap at 1 s, silence of 0.3 s in which 3 packets went through, and 8 Mbit/s again.
fn silence() -> Vec<Row> {
    let mut flow = Flow::new("bpf_bbr");
    flow.acks(10, 1000, 10);
    flow.row.algorithm = "bpf_cubic";
    flow.ack(SECOND, 10);
    flow.ack(1300 * MS, 3);
    flow.acks(1310, 3000, 10);
    flow.rows
}

#[test]
fn a_silence_is_a_dip_where_every_ack_is_a_row() {
    let [change] = changes_of(&Fixture::new(silence())).try_into().unwrap();
    // One packet in each of three tenths.
    near(change.lowest_goodput_bps, 80_000.0);
    near(change.dip_ratio, 0.99);
    // 3 packets, then 70 ACKs of 10.
    near(change.after.goodput_bps, 703.0 * 8_000.0);
}

#[test]
fn rows_too_far_apart_to_show_a_dip_show_none() {
    let mut flow = Flow::new("bpf_bbr");
    for t_ms in (250..=4000).step_by(250) {
        flow.row.algorithm = if t_ms < 2000 { "bpf_bbr" } else { "bpf_cubic" };
        flow.ack(t_ms * MS, 100);
    }
    let [change] = changes_of(&Fixture::new(flow.rows).meta("every", "250ms")).try_into().unwrap();
    near(change.before.goodput_bps, 3.2e6);
    near(change.after.goodput_bps, 3.2e6);
    assert_eq!((change.lowest_goodput_bps, change.dip_ratio), (None, None));
}

#[test]
fn a_swap_without_harm_has_no_dip_and_one_for_the_better_a_negative_one() {
    let mut flow = Flow::new("bpf_vegas");
    flow.acks(10, 1500, 5);
    flow.row.algorithm = "bpf_reno";
    flow.acks(1500, 3000, 5);
    flow.row.algorithm = "bpf_cubic";
    flow.ack(3000 * MS, 5);
    flow.acks(3010, 4500, 10);
    let [same, faster] = changes_of(&Fixture::new(flow.rows)).try_into().unwrap();
    near(same.dip_ratio, 0.0);
    near(faster.dip_ratio, -1.0);
}

#[test]
fn batches_of_a_file_make_no_difference() {
    let folder = TempDir::new().unwrap();
    let of =
        |path| summarize(&[Recording::open(path).unwrap()], &Options::default()).unwrap().recordings[0].flows.clone();
    let fixture = Fixture::new(dip());
    let whole = of(fixture.parquet(&folder.path().join("one.parquet")));
    assert_eq!(of(fixture.parquet_in_groups(&folder.path().join("many.parquet"), 7)), whole);
    assert_eq!(of(fixture.stream(&folder.path().join("stream.arrows"), 11)), whole);
}

#[test]
fn every_rendering_has_the_swap() {
    let folder = TempDir::new().unwrap();
    let algorithms = r##"[{"kernel_name":"bpf_cubic","algorithm":"cubic","color":"#d55e00"}]"##;
    let path = Fixture::new(dip()).meta("algorithms", algorithms).parquet(&folder.path().join("x.parquet"));
    let recordings = [Recording::open(path).unwrap()];
    let summary = summarize(&recordings, &Options::default()).unwrap();

    let text = render::terminal(&summary);
    // The table is wider than the terminal: each piece repeats flow and algorithms, the flow's name having both too.
    let (_, swaps) = text.split_once("  swaps ").unwrap();
    let pieces = swaps.lines().filter_map(|line| line.rsplit_once("bpf_bbr → cubic"));
    let cells: Vec<&str> = pieces.flat_map(|(_, cells)| cells.split_whitespace()).collect();
    let expected = "2.000 8.00 1.60 7.36 80.0 3 → 5 20.0 43.5 100 → 70 ∞ → 70 10.0 → 10.0 71 ∞";
    assert_eq!(cells.join(" "), expected, "{text}");

    let csv = render::csv(&summary);
    let (head, swap) = (csv.lines().next().unwrap(), csv.lines().find(|line| line.contains(",swap,")).unwrap());
    let value = |name: &str| swap.split(',').nth(head.split(',').position(|column| column == name).unwrap()).unwrap();
    let found = ["from_algorithm", "algorithm", "start_s", "end_s", "goodput_bps", "sent_bytes"].map(value);
    assert_eq!(found, ["bpf_bbr", "cubic", "2.0", "3.0", "7360000.0", ""]);
    let found = ["before_goodput_bps", "lowest_goodput_bps", "before_retrans_pkts", "retrans_pkts"].map(value);
    assert_eq!(found, ["8000000.0", "1600000.0", "3", "5"]);
    let found = ["before_cwnd_pkts", "after_cwnd_pkts", "before_ssthresh_pkts", "later_pacing_rate_bps"].map(value);
    assert_eq!(found, ["100", "70", "", ""]);

    let page = html::page(
        &recordings,
        &summary,
        &charts(&recordings, &summary, &Options::default()).unwrap(),
        &html::Heading::default(),
    );
    assert!(page.contains("<h3>Swaps</h3>") && page.contains("bpf_bbr → cubic</td>"));
    let (_, rest) = page.split_once(r#"id="charts-data">"#).unwrap();
    let charts: serde_json::Value = serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap();
    let mark = serde_json::json!({"at_s": 2.0, "to": "cubic", "color": "#d55e00"});
    assert_eq!(charts[0]["flows"][0]["swaps"], serde_json::json!([mark]));
}

#[test]
fn a_tour_is_named_by_its_ends() {
    let mut flow = Flow::new("bpf_reno");
    for (i, algorithm) in ["bpf_cubic", "bpf_bbr", "bpf_vegas", "bpf_veno"].into_iter().enumerate() {
        flow.acks(10 + 100 * i as u64, 100 + 100 * i as u64, 10);
        flow.row.algorithm = algorithm;
        flow.ack(100 * (i as u64 + 1) * MS, 10);
    }
    flow.acks(410, 500, 10);
    let summary = summary_of(&Fixture::new(flow.rows));
    let flow = &summary.recordings[0].flows[0];
    assert_eq!((flow.algorithm.as_str(), flow.changes.len()), ("bpf_reno → 3 others → bpf_veno", 4));
}

/// Four flows of one cgroup; 2 and 4 are moved to the algorithm on trial, and 4 is taken back.
fn roll_out() -> Fixture {
    let mut rows = Vec::new();
    for (id, algorithms) in [
        (1, ["bpf_cubic"; 3]),
        (2, ["bpf_cubic", "trial", "trial"]),
        (3, ["bpf_cubic"; 3]),
        (4, ["bpf_cubic", "trial", "bpf_cubic"]),
    ] {
        rows.extend(by_the_second("bpf_cubic", id, 0, &algorithms));
    }
    rows.sort_by_key(|row| row.t_us);
    Fixture::new(rows).meta("canary", r#"{"baseline":"bpf_cubic","canary":"trial","share":0.5}"#)
}

/// The rows of a flow that has each of the algorithms for a second.
fn by_the_second(born_with: &'static str, flow_id: u64, start_s: u64, algorithms: &[&'static str]) -> Vec<Row> {
    let mut flow = Flow::new(born_with);
    flow.rows[0].flow_id = flow_id;
    flow.row.flow_id = flow_id;
    flow.rows[0].t_us += start_s * 1000 * MS;
    for (second, algorithm) in (start_s..).zip(algorithms) {
        flow.row.algorithm = algorithm;
        flow.acks(second * 1000 + 10, (second + 1) * 1000 + 10, 5);
    }
    flow.rows
}

#[test]
fn a_promotion_does_not_make_a_canary_of_those_who_were_compared_with_it() {
    let mut rows = Vec::new();
    for (id, algorithms) in [(1, ["bpf_cubic", "bpf_cubic", "trial"]), (2, ["bpf_cubic", "trial", "trial"])] {
        rows.extend(by_the_second("bpf_cubic", id, 0, &algorithms));
    }
    // Nobody compared what came after the decision.
    rows.extend(by_the_second("trial", 3, 2, &["trial"]));
    rows.sort_by_key(|row| row.t_us);
    let canary = r#"{"baseline":"bpf_cubic","canary":"trial","share":0.5,"decided_us":2000000}"#;
    let summary = summary_of(&Fixture::new(rows).meta("canary", canary));
    let flows: Vec<_> = summary.recordings[0].flows.iter().map(|flow| (flow.flow_id, flow.side)).collect();
    assert_eq!(flows, [(2, Some(Side::Canary)), (1, Some(Side::Baseline)), (3, None)]);
}

#[test]
fn the_groups_of_a_roll_out_are_told_apart_in_tables_charts_and_legend() {
    let folder = TempDir::new().unwrap();
    let path = roll_out().parquet(&folder.path().join("x.parquet"));
    let recordings = [Recording::open(path).unwrap()];
    let summary = summarize(&recordings, &Options::default()).unwrap();
    let flows: Vec<_> = summary.recordings[0].flows.iter().map(|flow| (flow.side, flow.flow_id)).collect();
    let [canary, baseline] = [Some(Side::Canary), Some(Side::Baseline)];
    assert_eq!(flows, [(canary, 2), (canary, 4), (baseline, 1), (baseline, 3)]);
    let charts = charts(&recordings, &summary, &Options::default()).unwrap();
    let drawn: Vec<_> =
        charts[0].flows.iter().map(|flow| (flow.name.split(' ').next().unwrap(), &*flow.color)).collect();
    let [canary, baseline] = [("canary", "#d55e00"), ("baseline", "#0072b2")];
    assert_eq!(drawn, [canary, canary, baseline, baseline]);
    let terminal = render::terminal_of_width(&summary, 100);
    let first = terminal.split("\n\n").find(|part| part.contains("goodput")).unwrap();
    assert_eq!((first.matches("\n  canary ").count(), first.matches("\n  baseline ").count()), (2, 2), "{terminal}");
}
