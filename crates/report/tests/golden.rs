//! Small recordings in, exact tables out. Every figure in the files of `golden/` can be worked out by hand from the rows
//! below; `CCACTL_BLESS=1 cargo test --release --workspace --test golden` writes them anew, and the difference is to be read.

mod common;

use std::path::{Path, PathBuf};

use ccactl_report::{Options, Recording, Summary, compare, open_all, render, summarize};
use common::{Fixture, Row};
use tempfile::TempDir;

const SECOND: u64 = 1_000_000;
const MS: u64 = 1_000;

/// The text is that of the file, or becomes it when it is blessed.
fn golden(name: &str, found: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("CCACTL_BLESS").is_some() {
        std::fs::write(&file, found).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}; bless it", file.display()));
    assert!(found == expected, "{name} differs; expected:\n{expected}\nfound:\n{found}");
}

/// Every text of one summary; paths of temporary folders are not part of it.
fn all_texts(name: &str, mut summary: Summary) {
    for recording in &mut summary.recordings {
        recording.path = recording.name.clone();
    }
    for repeats in &mut summary.repeats {
        repeats.paths = repeats.paths.iter().map(|path| last_folder(path)).collect();
    }
    golden(&format!("{name}.txt"), &render::terminal_of_width(&summary, 100));
    golden(&format!("{name}.md"), &render::markdown(&summary));
    golden(&format!("{name}.csv"), &render::csv(&summary));
    golden(&format!("{name}.json"), &render::json(&summary));
}

fn last_folder(path: &str) -> String {
    Path::new(path).parent().unwrap().file_name().unwrap().to_string_lossy().into_owned()
}

fn summary_of(fixture: &Fixture) -> Summary {
    let folder = TempDir::new().unwrap();
    let path = fixture.parquet(&folder.path().join("recording.parquet"));
    summarize(&[Recording::open(path).unwrap()], &Options::default()).unwrap()
}

/// Three flows on a link. Every second each delivers what is said of it, in kB; a packet carries 1 kB.
fn sharing() -> Fixture {
    let rates_kb: [(u64, u64, &[u64]); 3] = [
        // Alone for 2 s, then squeezed.
        (1, 0, &[1000, 1000, 800, 600, 400, 400, 400, 400, 400, 400]),
        (2, 0, &[0, 0, 300, 300, 400, 400, 400, 400, 400, 400]),
        // Comes at 2 s.
        (3, 2, &[100, 300, 400, 400, 400, 400, 400, 400]),
    ];
    let mut rows: Vec<Row> = Vec::new();
    for (id, start_s, rates) in rates_kb {
        rows.push(Row { event: "open", ..Row::at(id, start_s * SECOND) });
        let mut kb = 0;
        for (second, rate) in (start_s + 1..).zip(rates) {
            kb += rate;
            let lost = if id == 1 { kb / 1000 } else { 0 };
            rows.push(Row {
                lost_pkts: lost as u32,
                retrans_pkts: lost as u32,
                bytes_retrans: lost * 1000,
                delivered_ce_pkts: if id == 3 { kb as u32 / 10 } else { 0 },
                rto_count: u32::from(id == 1 && second >= 4),
                dropped_rows: if second < 4 { 0 } else { 5 },
                ..Row::at(id, second * SECOND)
                    .bytes((kb + lost) * 1000, kb * 1000)
                    .rtt(40_000 + 1000 * id as u32, kb as u32)
            });
        }
    }
    rows.sort_by_key(|row| row.t_us);
    Fixture::new(rows)
        .meta("started", "2026-11-20T18:00:00Z")
        .meta("drops", "5")
        .meta("drops_by_reason", r#"{"ring_full_samples":4,"ring_full_events":1,"no_storage":0}"#)
        .meta(
            "flows",
            r#"[{"cgroup_id":101,"name":"first"},{"cgroup_id":102,"name":"second"},{"cgroup_id":103,"name":"late"}]"#,
        )
        .meta("link", r#"{"rate_bps":20000000,"base_rtt_us":40000,"buffer_bytes":200000,"overhead_bytes":14}"#)
        .meta("algorithms", r##"[{"kernel_name":"bpf_cubic","algorithm":"cubic","color":"#d55e00"}]"##)
}

#[test]
fn flows_that_come_to_share_evenly() {
    all_texts("sharing", summary_of(&sharing()));
}

/// A flow of BBR through its phases, with nothing known but its rows.
#[test]
fn a_flow_with_phases() {
    let phases = ["startup", "drain", "up", "cruise", "cruise", "up", "cruise", "cruise", "down", "cruise"];
    let rows = phases.iter().zip(0u64..).map(|(mode, i)| Row {
        algorithm: "bbrv3",
        trace_mode: Some(mode),
        trace_bw_bps: Some(8_000_000 + i * 1_000_000),
        cwnd_pkts: 20 + i as u32,
        ..Row::at(1, i * 100 * MS).bytes(i * 100_000, i * 100_000).rtt(20_000 + i as u32, i as u32 * 69)
    });
    all_texts("phases", summary_of(&Fixture::new(rows.collect()).meta("drops", "0").of_version(1)));
}

/// A thousand connections of about 3 ms beside one that stays: completion times 1001 … 2000 µs, each once.
fn short_connections() -> Fixture {
    let mut rows = vec![Row { algorithm: "bbr", ..Row::at(5000, 0) }];
    for i in 0..1000u64 {
        let (start_us, duration_us) = (i * 5 * MS, 3 * MS);
        let completion_us = 1001 + (i * 77) % 1000;
        rows.push(Row { event: "open", ..Row::at(i + 1, start_us) });
        rows.push(Row {
            event: "close",
            duration_us: Some(duration_us),
            completion_us: Some(completion_us),
            rtt_mean_us: Some(700),
            rtt_min_us: Some(500 + (i % 100) as u32),
            ..Row::at(i + 1, start_us + duration_us).bytes(10_000, 10_000).rtt(700, 7)
        });
    }
    rows.push(Row { algorithm: "bbr", ..Row::at(5000, 5 * SECOND).bytes(5_000_000, 5_000_000).rtt(30_000, 3500) });
    rows.sort_by_key(|row| row.t_us);
    Fixture::new(rows).meta("drops", "0").meta("algorithms", r#"[{"kernel_name":"bpf_cubic","algorithm":"cubic"}]"#)
}

#[test]
fn a_thousand_short_connections_are_counted_and_not_listed() {
    let summary = summary_of(&short_connections());
    let connections = summary.recordings[0].algorithms.iter().find(|a| a.algorithm == "cubic").unwrap();
    let completion = connections.connections.completion.unwrap();
    // 1001 … 2000, each once: nearest-rank.
    assert_eq!((completion.n, completion.mean_us), (1000, 1500.5));
    assert_eq!([completion.min_us, completion.p50_us, completion.p90_us], [1001, 1500, 1900]);
    assert_eq!([completion.p95_us, completion.p99_us, completion.max_us], [1950, 1990, 2000]);
    assert_eq!((connections.completion_quantiles_us.len(), connections.completion_quantiles_us[100]), (201, 1500));
    golden("connections.txt", &render::terminal_of_width(&named(summary.clone()), 80));
    golden("connections.md", &render::markdown(&named(summary)));
}

fn named(mut summary: Summary) -> Summary {
    summary.recordings[0].name = "recording.parquet".to_owned();
    summary
}

/// Runs of one second: kB acknowledged, and RTT in µs.
fn runs(folder: &Path, algorithm: &'static str, runs: &[(u64, u32)]) -> PathBuf {
    for (i, (kb, rtt_us)) in runs.iter().enumerate() {
        let run = folder.join(format!("run-{}", i + 1));
        std::fs::create_dir_all(&run).unwrap();
        let row = |row| Row { algorithm, ..row };
        let rows =
            vec![row(Row::at(1, 0)), row(Row::at(1, SECOND).bytes(kb * 1000, kb * 1000).rtt(*rtt_us, *kb as u32))];
        Fixture::new(rows).meta("scenario", "a = 1").meta("drops", "0").parquet(&run.join("recording.parquet"));
    }
    folder.to_owned()
}

fn comparison(a: &[(u64, u32)], b: &[(u64, u32)]) -> ccactl_report::Comparison {
    let folder = TempDir::new().unwrap();
    let (a, b) = (runs(&folder.path().join("a"), "bpf_cubic", a), runs(&folder.path().join("b"), "bbrv3", b));
    let summary = |side: PathBuf| summarize(&open_all(&[side]).unwrap(), &Options::default()).unwrap();
    let mut found = compare(("a", &summary(a)), ("b", &summary(b)), None).unwrap();
    for side in [&mut found.a, &mut found.b] {
        side.paths = side.paths.iter().map(|path| last_folder(path)).collect();
    }
    found
}

#[test]
fn two_sides_of_three_runs() {
    // Goodput: 8, 16 and 24 Mbit/s beside 32, 40 and 48: the case by hand of `stats::welch`, in units of 8 Mbit/s.
    let found = comparison(
        &[(1000, 20_000), (2000, 21_000), (3000, 22_000)],
        &[(4000, 20_500), (5000, 21_500), (6000, 22_500)],
    );
    let goodput = found.figures.iter().find(|figure| figure.metric == "goodput_bps").unwrap();
    assert_eq!(goodput.algorithm.as_deref(), Some("bpf_cubic → bbrv3"));
    assert_eq!((goodput.difference, goodput.relative), (Some(24e6), Some(1.5)));
    assert!((goodput.p.unwrap() - 0.021_311_64).abs() < 1e-6, "{goodput:?}");
    golden("comparison.txt", &render::comparison_terminal(&found, 100));
    golden("comparison.md", &render::comparison_markdown(&found));
    golden("comparison.csv", &render::comparison_csv(&found));
    golden("comparison.json", &render::json(&found));
}

#[test]
fn one_run_each_says_nothing_about_significance() {
    let found = comparison(&[(1000, 20_000)], &[(4000, 20_500)]);
    assert!(found.method.contains("no statement about significance"), "{}", found.method);
    assert!(found.figures.iter().all(|figure| figure.p.is_none() && figure.significant.is_none()));
    golden("single.txt", &render::comparison_terminal(&found, 80));
}

#[test]
fn the_parquet_has_the_rows_of_the_csv_and_says_its_units() {
    use polars::prelude::*;
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("summary.parquet");
    render::write_parquet(&file, &summary_of(&sharing())).unwrap();
    let mut reader = ParquetReader::new(std::fs::File::open(&file).unwrap());
    let pairs = reader.get_metadata().unwrap().key_value_metadata.clone().unwrap();
    let units = pairs.iter().find(|pair| pair.key == "ccactl.units").unwrap().value.clone().unwrap();
    let units: serde_json::Value = serde_json::from_str(&units).unwrap();
    assert_eq!((&units["goodput_bps"], &units["rtt_p95_us"]), (&"bit/s".into(), &"microseconds".into()));
    assert_eq!(units["power_bps_per_s"], "bit/s per second of RTT");
    let frame = reader.finish().unwrap();
    // Three flows and one algorithm.
    assert_eq!(frame.height(), 4);
    assert_eq!(frame.column("goodput_bps").unwrap().dtype(), &DataType::Float64);
    assert_eq!(frame.column("rto_count").unwrap().dtype(), &DataType::UInt64);
    assert_eq!(frame.column("rto_count").unwrap().u64().unwrap().get(0), Some(1));
}
