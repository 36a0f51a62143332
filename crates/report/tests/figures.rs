//! The figures of a paper: which ones a recording gives, and what is in them.

mod common;

use std::path::Path;

use ccactl_report::figure::paper::{self, Figure, Format, Width};
use ccactl_report::{Options, charts, open_all, summarize};
use common::{Fixture, Row};
use tempfile::TempDir;

const STEP_US: u64 = 10_000;
const END_US: u64 = 5_000_000;
const BYTES_PER_PACKET: u64 = 1448;

/// Two flows; `share` of 30 packets per step is the first one's.
fn pair(share: u64, buffer_bytes: u64) -> Fixture {
    let mut rows = Vec::new();
    for t_us in (0..=END_US).step_by(STEP_US as usize) {
        let n = t_us / STEP_US;
        let flows = [(1, "bbrv2", share, Some("cruise")), (2, "bpf_cubic", 30 - share, None)];
        for (flow, algorithm, packets, trace_mode) in flows {
            let bytes = n * packets * BYTES_PER_PACKET;
            let row = Row { algorithm, trace_mode, cwnd_pkts: 50, ..Row::at(flow, t_us).bytes(bytes, bytes) };
            rows.push(row.rtt(50_000 + (n % 100) as u32 * 100, (n * packets) as u32));
        }
    }
    let link =
        format!(r#"{{"rate_bps":50000000,"base_rtt_us":40000,"buffer_bytes":{buffer_bytes},"overhead_bytes":14}}"#);
    Fixture::new(rows)
        .meta(
            "algorithms",
            r##"[{"kernel_name":"bpf_cubic","algorithm":"cubic","color":"#0072B2"},
                 {"kernel_name":"bbrv2","algorithm":"bbrv2","color":"#009E73"}]"##,
        )
        .meta("link", &link)
}

fn figures(fixtures: &[Fixture], width: Width) -> Vec<Figure> {
    let folder = TempDir::new().unwrap();
    let write = |(i, fixture): (usize, &Fixture)| fixture.parquet(&folder.path().join(format!("run-{i}.parquet")));
    let paths: Vec<_> = fixtures.iter().enumerate().map(write).collect();
    let recordings = open_all(&paths).unwrap();
    let options = Options::default();
    let summary = summarize(&recordings, &options).unwrap();
    paper::figures(&summary, &charts(&recordings, &summary, &options).unwrap(), width)
}

fn names(figures: &[Figure]) -> Vec<&str> {
    figures.iter().map(|figure| figure.name.as_str()).collect()
}

fn svg<'a>(figures: &'a [Figure], name: &str) -> &'a str {
    &figures.iter().find(|figure| figure.name == name).unwrap_or_else(|| panic!("{name}: {:?}", names(figures))).svg
}

#[test]
fn a_recording_gives_the_figures_that_it_has_data_for() {
    let drawn = figures(&[pair(20, 100_000)], Width::Single);
    assert_eq!(names(&drawn), ["throughput", "goodput", "rtt", "cwnd", "phases", "rtt-ecdf", "jain"]);
    let rtt = svg(&drawn, "rtt");
    for text in ["width=\"3.500in\"", "RTT [ms]", "Time [s]", "#009E73", "#0072B2", "font/woff2"] {
        assert!(rtt.contains(text), "{text}");
    }
    assert!(svg(&drawn, "phases").contains(">\ncruise\n<"));
    // A figure has no title but the one for screen readers.
    assert_eq!(rtt.matches("<title>").count(), 1);
    let one_flow = Fixture::new(pair(20, 1).rows.into_iter().filter(|row| row.flow_id == 2).collect());
    assert_eq!(names(&figures(&[one_flow], Width::Double)), ["throughput", "goodput", "rtt", "cwnd", "rtt-ecdf"]);
}

#[test]
fn bounds_of_what_is_in_flight_stand_beside_the_window() {
    let mut fixture = pair(20, 100_000);
    for row in fixture.rows.iter_mut().filter(|row| row.flow_id == 1) {
        row.trace_inflight_hi_pkts = Some(80);
    }
    let drawn = figures(&[fixture], Width::Single);
    assert!(svg(&drawn, "cwnd").contains(">\ninflight_hi\n<"));
    assert!(!svg(&drawn, "cwnd").contains("inflight_lo"));
}

/// A crowd of flows, `each` of both algorithms.
fn crowd(each: u64) -> Fixture {
    let mut rows = Vec::new();
    for t_us in (0..=END_US).step_by(STEP_US as usize * 10) {
        for flow in 1..=2 * each {
            let bytes = t_us / STEP_US * flow * BYTES_PER_PACKET;
            let algorithm = if flow > each { "bbrv2" } else { "bpf_cubic" };
            rows.push(Row { algorithm, cwnd_pkts: 50, ..Row::at(flow, t_us).bytes(bytes, bytes) }.rtt(50_000, 1));
        }
    }
    Fixture::new(rows)
}

#[test]
fn many_flows_are_drawn_as_their_groups() {
    let band = "10th, 90th percentile of flows";
    let goodput = |each| svg(&figures(&[crowd(each)], Width::Single), "goodput").to_owned();
    let (few, many) = (goodput(4), goodput(5));
    assert!(!few.contains(band) && many.contains(band), "{many}");
    assert!(many.contains("bbrv2 (5)") && many.contains("cubic (5)"), "{many}");
}

#[test]
fn recordings_of_two_algorithms_give_fairness_and_several_buffers_a_sweep() {
    let fixtures = [pair(20, 100_000), pair(22, 100_000), pair(15, 400_000)];
    let drawn = figures(&fixtures, Width::Single);
    let across: Vec<&str> = names(&drawn).into_iter().filter(|name| !name.starts_with("run-")).collect();
    let expected = [
        "fairness-50-mbit-s-40-ms-buffer-0.4-bdp",
        "fairness-50-mbit-s-40-ms-buffer-1.6-bdp",
        "buffer-goodput",
        "buffer-rtt",
        "buffer-rtt-p95",
        "buffer-retransmissions",
    ];
    assert_eq!(across, expected);
    // (20 + 22) / 2 of 30 packets.
    let fairness = svg(&drawn, expected[0]);
    assert!(fairness.contains(">\n70 %\n<") && fairness.contains(">\n30 %\n<"), "{fairness}");
    let sweep = svg(&drawn, "buffer-goodput");
    assert!(sweep.contains(">\n0.4\n<") && sweep.contains(">\n1.6\n<"), "a tick at each buffer");
    assert!(sweep.contains("Goodput of a flow [Mbit/s]"));
}

#[test]
fn figures_are_written_in_each_format_and_never_over_each_other() {
    let folder = TempDir::new().unwrap();
    let target = folder.path().join("a/b");
    let drawn = figures(&[pair(20, 100_000)], Width::Double);
    let files = paper::write(&target, &drawn, &[Format::Svg, Format::Png]).unwrap();
    assert_eq!(files.len(), 2 * drawn.len());
    for file in &files {
        let content = std::fs::read(file).unwrap();
        match file.extension().unwrap().to_str().unwrap() {
            "svg" => assert!(content.starts_with(b"<svg") && content.len() < 300_000, "{}", file.display()),
            _ => assert!(content.starts_with(b"\x89PNG") && content.len() > 5_000, "{}", file.display()),
        }
    }
    let same = [pair(20, 100_000), pair(20, 100_000)];
    let folders = [TempDir::new().unwrap(), TempDir::new().unwrap()];
    let paths: Vec<_> = same.iter().zip(&folders).map(|(f, d)| f.parquet(&d.path().join("x.parquet"))).collect();
    let recordings = open_all(&paths).unwrap();
    let summary = summarize(&recordings, &Options::default()).unwrap();
    let charts = charts(&recordings, &summary, &Options::default()).unwrap();
    let drawn = paper::figures(&summary, &charts, Width::Single);
    let mut unique = names(&drawn);
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(unique.len(), drawn.len());
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let error = paper::write(Path::new("/proc/ccactl-figures"), &[], &[Format::Svg]).unwrap_err();
    assert!(error.to_string().starts_with("/proc/ccactl-figures: cannot be written"), "{error}");
}
