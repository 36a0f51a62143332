//! A recording whose every value is known: three flows, one of which is given another algorithm.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{Fixture, Row};

const STEP_US: u64 = 10_000;
/// Length of the recording.
pub const END_US: u64 = 10_000_000;
/// When "moved" gets its second algorithm.
pub const SWAP_US: u64 = 4_000_000;
const BYTES_PER_PACKET: u64 = 1448;

/// RTT of "left" in ms, a ramp: any place in the chart has a value of its own.
pub fn left_rtt_ms(t_s: f64) -> f64 {
    40.0 + 5.0 * t_s
}

/// Flows "left" (phases, bounds), "right" (losses) and "moved" (a swap).
pub fn three_flows() -> Fixture {
    let mut rows = Vec::new();
    for t_us in (0..=END_US).step_by(STEP_US as usize) {
        let n = t_us / STEP_US;
        let row = |flow: u64, packets: u64| {
            let bytes = n * packets * BYTES_PER_PACKET;
            Row { lost_pkts: 0, ..Row::at(flow, t_us).bytes(bytes, bytes) }
        };
        let mode = ["down", "cruise", "refill", "up"][(t_us / 500_000 % 4) as usize];
        let rtt_us = (left_rtt_ms(t_us as f64 / 1e6) * 1e3) as u32;
        let left = Row { algorithm: "bbrv2", trace_mode: Some(mode), cwnd_pkts: 100, ..row(1, 20) };
        rows.push(left.rtt(rtt_us, n as u32 * 20));
        let lost_pkts = if n > 500 { 12 } else { 0 };
        rows.push(Row { cwnd_pkts: 60, lost_pkts, ..row(2, 10) }.rtt(60_000, n as u32 * 10));
        let algorithm = if t_us < SWAP_US { "bpf_cubic" } else { "vegas" };
        let cwnd_pkts = if t_us < SWAP_US { 80 } else { 30 };
        rows.push(Row { algorithm, cwnd_pkts, ..row(3, 5) }.rtt(50_000, n as u32 * 5));
    }
    named(Fixture::new(rows), 100_000)
}

fn named(fixture: Fixture, buffer_bytes: u64) -> Fixture {
    let link =
        format!(r#"{{"rate_bps":50000000,"base_rtt_us":40000,"buffer_bytes":{buffer_bytes},"overhead_bytes":14}}"#);
    fixture
        .meta(
            "algorithms",
            r##"[{"kernel_name":"bpf_cubic","algorithm":"cubic","color":"#0072B2","tunables":{"beta":"0.7"}},
                 {"kernel_name":"bbrv2","algorithm":"bbrv2","color":"#009E73","modes":["down","cruise","refill","up"]},
                 {"kernel_name":"vegas","algorithm":"vegas","color":"#117733"}]"##,
        )
        .meta(
            "flows",
            r#"[{"cgroup_id":101,"name":"left"},{"cgroup_id":102,"name":"right"},{"cgroup_id":103,"name":"moved"}]"#,
        )
        .meta("link", &link)
}

/// Two algorithms on a link with this buffer; `share` of 30 packets per step is the first one's.
pub fn pair(buffer_bytes: u64, share: u64) -> Fixture {
    let mut rows = Vec::new();
    for t_us in (0..=END_US / 2).step_by(STEP_US as usize) {
        let n = t_us / STEP_US;
        for (flow, algorithm, packets) in [(1, "bbrv2", share), (2, "bpf_cubic", 30 - share)] {
            let bytes = n * packets * BYTES_PER_PACKET;
            let row = Row { algorithm, ..Row::at(flow, t_us).bytes(bytes, bytes) };
            rows.push(row.rtt(50_000, (n * packets) as u32));
        }
    }
    named(Fixture::new(rows), buffer_bytes)
}

/// The flow of [`crowd`] that has next to nothing.
pub const SLOW: u64 = 7;

/// Flows of two algorithms in turn, each with a rate of its own: bbrv2 from 8 to 10 packets a step, cubic twice that. Five seconds.
pub fn crowd(flows: u64) -> Fixture {
    // Long steps, as a recording of many flows has.
    const STEP_US: u64 = 100_000;
    let mut rows = Vec::new();
    for t_us in (0..=END_US / 2).step_by(STEP_US as usize) {
        let n = t_us / STEP_US;
        for flow in 1..=flows {
            let (algorithm, factor) = if flow % 2 == 0 { ("bbrv2", 10) } else { ("bpf_cubic", 20) };
            let percent = if flow == SLOW { 1 } else { 80 + flow * 20 / flows };
            let packets = n * factor * percent / 100;
            let bytes = packets * BYTES_PER_PACKET;
            let sport = 10_000 + flow as u16;
            let row = Row { algorithm, sport, cwnd_pkts: 20, ..Row::at(flow, t_us).bytes(bytes, bytes) };
            rows.push(row.rtt(40_000 + (flow % 10) as u32 * 1000, packets as u32));
        }
    }
    Fixture::new(rows).meta(
        "algorithms",
        r##"[{"kernel_name":"bpf_cubic","algorithm":"cubic","color":"#0072B2"},
             {"kernel_name":"bbrv2","algorithm":"bbrv2","color":"#009E73"}]"##,
    )
}

/// The page of some recordings, by the program itself.
pub fn page(folder: &Path, fixtures: &[Fixture]) -> PathBuf {
    let page = folder.join("page.html");
    let recordings = fixtures.iter().enumerate().map(|(i, f)| f.parquet(&folder.join(format!("run-{i}.parquet"))));
    let output = Command::new(env!("CARGO_BIN_EXE_ccactl"))
        .arg("report")
        .args(recordings.collect::<Vec<_>>())
        .arg("--html")
        .arg(&page)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    page
}
