//! What is printed and written: table, JSON, CSV, page.

mod common;

use std::path::PathBuf;

use ccactl_report::{Charts, Error, Options, Recording, Summary, charts, html, output, render, summarize};
use common::{Fixture, Row};
use tempfile::TempDir;

const SECOND: u64 = 1_000_000;

fn two_flows() -> Fixture {
    let bbr = |row: Row| Row { algorithm: "bbrv2", ..row };
    let mut rows = vec![bbr(Row { trace_mode: Some("cruise"), ..Row::at(1, 0) }), Row::at(2, 0)];
    for i in 1..=20u64 {
        let t_us = i * SECOND / 10;
        let mode = if i < 10 { "cruise" } else { "up" };
        rows.push(bbr(Row {
            trace_mode: Some(mode),
            ..Row::at(1, t_us).bytes(i * 100_000, i * 100_000).rtt(40_000, i as u32)
        }));
        rows.push(Row::at(2, t_us).bytes(i * 300_000, i * 250_000).rtt(60_000, i as u32));
    }
    Fixture::new(rows)
        .meta("drops", "5")
        .meta("algorithms", r##"[{"kernel_name":"bpf_cubic","algorithm":"cubic","color":"#d55e00"}]"##)
        .meta("flows", r#"[{"cgroup_id":101,"name":"</script><b>left"},{"cgroup_id":102,"name":"right, \"x\""}]"#)
        .meta("link", r#"{"rate_bps":50000000,"base_rtt_us":40000,"buffer_bytes":1000000,"overhead_bytes":14}"#)
        .meta("scenario", "rate = \"50 Mbit/s\" # {{data}} <i>")
}

struct Made {
    _folder: TempDir,
    folder: PathBuf,
    recordings: Vec<Recording>,
    summary: Summary,
    charts: Vec<Charts>,
}

fn made(fixture: &Fixture) -> Made {
    let folder = TempDir::new().unwrap();
    let path = fixture.parquet(&folder.path().join("x.parquet"));
    let recordings = vec![Recording::open(path).unwrap()];
    let summary = summarize(&recordings, &Options::default()).unwrap();
    let charts = charts(&recordings, &summary, &Options::default()).unwrap();
    Made { folder: folder.path().to_owned(), _folder: folder, recordings, summary, charts }
}

fn page(made: &Made) -> String {
    html::page(&made.recordings, &made.summary, &made.charts, &html::Heading::default())
}

#[test]
fn the_table_has_the_figures_and_the_warning() {
    let text = render::terminal(&made(&two_flows()).summary);
    let right: Vec<Vec<&str>> = text
        .lines()
        .filter_map(|line| line.split_once(r#"right, "x""#)?.1.trim_start().strip_prefix("cubic"))
        .map(|figures| figures.split_whitespace().collect())
        .collect();
    // 250 kB and 300 kB per 0.1 s; nothing retransmitted; cwnd 10; RTT 60 ms, 20 ms above the base; 20 Mbit/s / 60 ms.
    let expected: [&[&str]; 2] =
        [&["20.0", "24.0", "0", "0", "0", "0", "0", "10.0"], &["60.0", "60.0", "60.0", "60.0", "60.0", "20.0", "333"]];
    assert_eq!(right, expected, "{text}");
    assert!(text.contains("WARNING: 5 rows were dropped"), "{text}");
    assert!(text.contains("buffer 1.00 MB (4.00 BDP)"), "{text}");
    // (8 + 20)² / (2·(64 + 400)) = 784/928
    assert!(text.contains("Jain index 0.845"), "{text}");
    assert!(text.contains("phases of bbrv2: cruise 50.0 % (1 × 1000 ms), up 50.0 % (1 × 1000 ms)"), "{text}");
    assert!(!text.contains("per algorithm"), "one flow each: the same figures again\n{text}");
}

#[test]
fn the_json_reads_back_and_its_keys_carry_units() {
    let summary = made(&two_flows()).summary;
    let text = render::json(&summary);
    assert_eq!(serde_json::from_str::<Summary>(&text).unwrap(), summary);
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let flow = &value["recordings"][0]["flows"][1];
    assert_eq!((flow["goodput_bps"].as_f64(), flow["rtt_p95_us"].as_u64()), (Some(20e6), Some(60_000)));
    assert_eq!(value["recordings"][0]["link"]["buffer_bdp"], 4.0);
}

#[test]
fn the_csv_has_a_line_per_flow_and_algorithm_and_quotes_names() {
    let text = render::csv(&made(&two_flows()).summary);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("recording,kind,name,algorithm,flows,start_s,end_s,throughput_bps,goodput_bps"));
    assert_eq!(lines.len(), 1 + 2 + 2);
    assert!(
        lines[2].contains(r#",flow,"right, ""x""",cubic,1,0.0,2.0,24000000.0,20000000.0,20000000.0,6000000,5000000,"#),
        "{}",
        lines[2]
    );
    assert!(lines[4].contains(",algorithm,cubic,cubic,1,,,"), "{}", lines[4]);
}

#[test]
fn the_page_loads_nothing_and_stays_a_page_whatever_the_names() {
    let page = page(&made(&two_flows()));
    for load in ["src=\"http", "src='http", "href=", "@import", "url(", "fetch(", "XMLHttpRequest", "import("] {
        assert!(!page.contains(load), "{load}");
    }
    assert_eq!(page.matches("<script").count(), page.matches("</script>").count());
    assert_eq!(page.matches("<script").count(), 4);
    assert!(page.contains("&lt;/script&gt;&lt;b&gt;left"));
    assert!(page.contains("# {{data}} &lt;i&gt;"));
    assert!(page.contains("5 rows were dropped"));
}

#[test]
fn the_page_holds_the_series() {
    let page = page(&made(&two_flows()));
    let (_, rest) = page.split_once(r#"id="charts-data">"#).unwrap();
    let (json, _) = rest.split_once("</script>").unwrap();
    let charts: serde_json::Value = serde_json::from_str(json).unwrap();
    let charts = &charts[0];
    assert_eq!(charts["flows"][0]["name"], "</script><b>left");
    assert_eq!(charts["flows"][1]["color"], "#d55e00");
    // 0.1 s buckets of 250 kB: 20 Mbit/s in each.
    assert_eq!(charts["rate_bucket_s"], 0.1);
    let rates = charts["flows"][1]["rate"]["v"].as_array().unwrap();
    assert_eq!(rates.len(), 20);
    assert!(rates.iter().all(|v| (v.as_f64().unwrap() - 20.0).abs() < 1e-6), "{rates:?}");
    let rtts = charts["flows"][1]["rtt"]["v"].as_array().unwrap();
    assert!(rtts.len() == 20 && rtts.iter().all(|v| *v == 60.0), "{rtts:?}");
    let phases = charts["flows"][0]["phases"].as_array().unwrap();
    let spans: Vec<(f64, f64, &str)> = phases
        .iter()
        .map(|p| {
            (
                p[0].as_f64().unwrap(),
                p[1].as_f64().unwrap(),
                charts["modes"][p[2].as_u64().unwrap() as usize].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(spans, [(0.0, 1.0, "cruise"), (1.0, 2.0, "up")]);
}

#[test]
fn a_spike_of_one_row_among_many_is_in_the_page() {
    let mut rows = vec![Row::at(1, 0)];
    for i in 1..200_000u64 {
        let rtt_us = if i == 123_456 { 987_000 } else { 20_000 };
        rows.push(Row::at(1, i * 500).bytes(i * 1000, i * 1000).rtt(rtt_us, i as u32));
    }
    let page = page(&made(&Fixture::new(rows)));
    assert!(page.len() < 1_000_000, "{} bytes", page.len());
    let (_, rest) = page.split_once(r#"id="charts-data">"#).unwrap();
    let charts: serde_json::Value = serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap();
    let (times, values) = (&charts[0]["flows"][0]["rtt"]["t"], &charts[0]["flows"][0]["rtt"]["v"]);
    let spikes: Vec<f64> = values
        .as_array()
        .unwrap()
        .iter()
        .zip(times.as_array().unwrap())
        .filter(|(v, _)| **v == 987.0)
        .map(|(_, t)| t.as_f64().unwrap())
        .collect();
    assert_eq!(spikes.len(), 1);
    assert!((spikes[0] - 61.728).abs() < 0.05, "{spikes:?}");
}

#[test]
fn a_page_is_written_whole_or_not_at_all() {
    let made = made(&two_flows());
    let write =
        |path: PathBuf| html::write(&path, &made.recordings, &made.summary, &made.charts, &html::Heading::default());
    write(made.folder.join("x.html")).unwrap();
    assert!(std::fs::read_to_string(made.folder.join("x.html")).unwrap().ends_with("</html>\n"));

    let missing = made.folder.join("no/such/folder/x.html");
    let error = write(missing.clone()).unwrap_err();
    assert!(error.to_string().starts_with(&format!("{}: cannot be written", missing.display())), "{error}");
    assert_eq!(error.exit_code(), 1);

    assert!(matches!(write(made.folder.clone()), Err(Error::Output { .. })));
    let leftovers = std::fs::read_dir(&made.folder)
        .unwrap()
        .filter(|e| e.as_ref().unwrap().file_name().to_string_lossy().starts_with('.'));
    assert_eq!(leftovers.count(), 0);
}

#[test]
fn a_full_disk_leaves_nothing_behind() {
    // /dev/full is the kernel's own full disk.
    let error = output::write_whole(std::path::Path::new("/dev/full"), &[0; 4096]).unwrap_err();
    assert!(error.to_string().starts_with("/dev/full: cannot be written: No space left"), "{error}");
}
