//! Summaries of parts add up to the report of the whole, figure by figure, in whatever order they are put together.

mod common;

use std::path::{Path, PathBuf};

use ccactl_report::{Options, Partial, is_summary, open_all, summarize};
use common::{Fixture, Row};
use serde_json::Value;
use tempfile::TempDir;

const MS: u64 = 1_000;
const LENGTH_US: u64 = 9_000_000;
const ALGORITHMS: [&str; 4] = ["bpf_cubic", "bpf_bbr", "bpf_vegas", "bpf_reno"];
const MODES: [Option<&str>; 4] = [Some("slow_start"), Some("probe"), Some("drain"), None];

/// The same numbers for the same seed, on any machine.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

/// A flow with everything that can happen to one: idle times, changes of algorithm before and after the first data, sockets that are
/// connected anew, an opening and an end, or neither.
fn flow(id: u64, chance: &mut Chance) -> Vec<Row> {
    let (opens, closes, receives) = (!chance.one_in(3), chance.one_in(2), chance.one_in(5));
    let mut row = Row::at(id, chance.below(LENGTH_US / 2));
    row.cgroup_id = 100 + id % 3;
    row.algorithm = ALGORITHMS[chance.below(2) as usize];
    row.event = if opens { "open" } else { "sample" };
    let end_us = if closes { row.t_us + chance.below(LENGTH_US / 2) } else { LENGTH_US };
    let mut rows = vec![row.clone()];
    loop {
        row.event = "sample";
        row.t_us += match chance.below(40) {
            0 => 1_300 * MS + chance.below(400 * MS),
            1..4 => chance.below(120 * MS),
            _ => chance.below(20 * MS),
        };
        if row.t_us >= end_us {
            break;
        }
        let pkts = chance.below(12) as u32;
        if receives {
            row.receiver = (!chance.one_in(6)).then(|| [60_000 + 100 * pkts, 5_000 + pkts, 4_000]);
            row.rcv_wnd_bytes = 50_000 + 10 * pkts;
            row.bytes_received += u64::from(pkts) * 1448;
        } else if !chance.one_in(8) {
            row.bytes_sent += u64::from(pkts) * 1448;
            row.bytes_acked += u64::from(pkts) * 1333;
            row.delivered_pkts += pkts;
            row.rtt_us = Some(20_000 + chance.below(9_000) as u32);
        }
        row.lost_pkts += u32::from(chance.one_in(9));
        row.retrans_pkts += u32::from(chance.one_in(9));
        row.bytes_retrans += 1448 * u64::from(chance.one_in(9));
        row.rto_count += u32::from(chance.one_in(50));
        row.cwnd_pkts = 10 + chance.below(100) as u32;
        row.ssthresh_pkts = chance.one_in(2).then_some(50);
        row.pacing_rate_bps = chance.one_in(2).then(|| 1_000_000 * (1 + chance.below(50)));
        if chance.one_in(5) {
            row.trace_mode = MODES[chance.below(4) as usize];
        }
        row.trace_bw_bps = chance.one_in(3).then(|| chance.below(100_000_000));
        row.trace_v0 = chance.one_in(3).then(|| chance.below(1000) as i64 - 500);
        if chance.one_in(25) {
            row.algorithm = ALGORITHMS[chance.below(4) as usize];
        }
        if chance.one_in(200) {
            // Connected anew.
            (row.bytes_sent, row.bytes_acked, row.delivered_pkts, row.retrans_pkts) = (1448, 0, 0, 0);
        }
        rows.push(row.clone());
    }
    if closes {
        let first_us = rows[0].t_us;
        row.t_us = end_us.max(rows[rows.len() - 1].t_us);
        (row.event, row.duration_us) = ("close", Some(row.t_us - first_us));
        row.completion_us = chance.one_in(2).then_some(row.t_us - first_us);
        (row.rtt_mean_us, row.rtt_min_us) = (Some(23_000), Some(20_100));
        rows.push(row);
    }
    rows
}

/// The rows of a recording in order of time, and how many rows were lost meanwhile.
fn rows(seed: u64) -> Vec<Row> {
    let mut chance = Chance(seed);
    let mut rows: Vec<Row> = (1..=14).flat_map(|id| flow(id, &mut chance)).collect();
    rows.sort_by_key(|row| row.t_us);
    let mut lost = if seed.is_multiple_of(2) { 3 } else { 0 };
    for row in &mut rows {
        lost += chance.below(5) * u64::from(chance.one_in(150));
        row.dropped_rows = lost;
    }
    rows
}

/// Writes the rows as that many parts of one dataset, cut by time.
fn cut(rows: &[Row], parts: u64, folder: &Path) -> Vec<PathBuf> {
    std::fs::create_dir(folder).unwrap();
    let mut files = Vec::new();
    for number in 0..parts {
        let ends_us = [number, number + 1].map(|number| LENGTH_US * number / parts);
        let is_last = number + 1 == parts;
        let within = |row: &&Row| row.t_us >= ends_us[0] && (row.t_us < ends_us[1] || is_last);
        let rows: Vec<Row> = rows.iter().filter(within).cloned().collect();
        let count = rows.len();
        let mut part = Fixture::new(rows)
            .meta("dataset", "d1")
            .meta("part", &number.to_string())
            .meta("rows", &count.to_string())
            .meta("rows_by_event", &format!(r#"{{"sample":{count}}}"#))
            .meta("duration_us", &(ends_us[1] - ends_us[0]).to_string())
            .meta("drops", "1");
        if is_last {
            part = part.meta("parts", &parts.to_string());
        }
        files.push(part.parquet_in_groups(&folder.join(format!("part-{number:05}.parquet")), 37));
    }
    files
}

fn json(summary: &ccactl_report::Summary) -> Value {
    serde_json::to_value(summary).unwrap()
}

fn of_rows(folder: &Path) -> Value {
    json(&summarize(&open_all(&[folder.to_owned()]).unwrap(), &Options::default()).unwrap())
}

fn of_summaries(files: &[PathBuf]) -> Value {
    json(&Partial::read(files).unwrap().summarize(&Options::default()).unwrap())
}

fn summary_of(part: &Path) -> PathBuf {
    let file = part.with_extension("summary");
    Partial::of(&[part.to_owned()], &Options::default()).unwrap().write(&file).unwrap();
    file
}

/// Puts summaries together, a few at a time in an order of its own, until one is left.
fn merged(mut files: Vec<PathBuf>, folder: &Path, chance: &mut Chance) -> PathBuf {
    let mut number = 0;
    while files.len() > 1 {
        let count = files.len().min(2 + chance.below(6) as usize);
        let mut take = || files.swap_remove(chance.below(files.len() as u64) as usize);
        let some: Vec<PathBuf> = (0..count).map(|_| take()).collect();
        let file = folder.join(format!("merged-{number}.summary"));
        Partial::read(&some).unwrap().write(&file).unwrap();
        files.push(file);
        number += 1;
    }
    files.remove(0)
}

/// The first figure that differs, with the way to it.
fn difference(one: &Value, other: &Value, at: &str) -> Option<String> {
    match (one, other) {
        (Value::Object(a), Value::Object(b)) if a.len() == b.len() => {
            a.iter().find_map(|(key, value)| difference(value, b.get(key)?, &format!("{at}.{key}")))
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            a.iter().zip(b).enumerate().find_map(|(i, (a, b))| difference(a, b, &format!("{at}[{i}]")))
        }
        (a, b) => (a != b).then(|| format!("{at}: {a} and {b}")),
    }
}

/// Cuts recordings into so many parts, and puts their summaries together in three orders.
fn compare(seeds: std::ops::Range<u64>, parts: u64) {
    for seed in seeds {
        let temp = TempDir::new().unwrap();
        let folder = temp.path().join("rec");
        let files = cut(&rows(seed), parts, &folder);
        let whole = of_rows(&folder);
        let flows = whole["recordings"][0]["flows"].as_array().unwrap();
        assert!(flows.iter().any(|flow| !flow["changes"].as_array().unwrap().is_empty()));
        let summaries: Vec<PathBuf> = files.iter().map(|part| summary_of(part)).collect();
        for order in 0..3 {
            let mut chance = Chance(seed * 3 + order);
            let found = of_summaries(&[merged(summaries.clone(), temp.path(), &mut chance)]);
            if let Some(difference) = difference(&whole, &found, "") {
                panic!("seed {seed}, {parts} parts, order {order}: {difference}");
            }
            assert_eq!(found, whole);
        }
    }
}

#[test]
fn ten_recordings_in_1_and_in_7_parts_give_the_same_figures_in_any_order() {
    compare(0..10, 1);
    compare(0..10, 7);
}

/// Parts of a tenth of a second: the second around a change lies in twenty of them.
#[test]
fn a_recording_in_80_parts_gives_the_same_figures_in_any_order() {
    compare(0..2, 80);
}

#[test]
#[ignore = "takes 90 s: `cargo test --release --workspace --test partial -- --ignored`"]
fn ten_recordings_in_80_parts_give_the_same_figures_in_any_order() {
    compare(0..10, 80);
}

#[test]
fn a_summary_is_known_by_its_content() {
    let temp = TempDir::new().unwrap();
    let files = cut(&rows(1), 2, &temp.path().join("rec"));
    let summary = summary_of(&files[0]);
    assert!(is_summary(&summary) && !is_summary(&files[0]) && !is_summary(temp.path()));
    let error = Partial::read(&files).err().unwrap().to_string();
    assert!(error.contains("expected a summary") && error.contains("part-00000.parquet"), "{error}");
    let mut bytes = std::fs::read(&summary).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&summary, bytes).unwrap();
    let error = Partial::read(&[summary]).err().unwrap().to_string();
    assert!(error.contains("a damaged file"), "{error}");
}

#[test]
fn what_is_there_twice_counts_once_and_what_differs_is_refused() {
    let temp = TempDir::new().unwrap();
    let folder = temp.path().join("rec");
    let files = cut(&rows(2), 3, &folder);
    let whole = of_rows(&folder);
    let [a, b, c]: [PathBuf; 3] = files.iter().map(|part| summary_of(part)).collect::<Vec<_>>().try_into().unwrap();
    let partial = Partial::read(&[b.clone(), a.clone(), c.clone(), a.clone()]).unwrap();
    assert_eq!(partial.notes().len(), 1, "{:?}", partial.notes());
    assert!(partial.notes()[0].contains("passed over, as it is there already"));
    assert_eq!(json(&partial.summarize(&Options::default()).unwrap()), whole);

    let both = temp.path().join("both.summary");
    Partial::read(&[a.clone(), b.clone()]).unwrap().write(&both).unwrap();
    assert_eq!(of_summaries(&[a.clone(), both.clone(), c.clone()]), whole, "of a part within others");
    let later = temp.path().join("later.summary");
    Partial::read(&[b.clone(), c]).unwrap().write(&later).unwrap();
    let error = Partial::read(&[both, later]).err().unwrap().to_string();
    assert!(error.contains("1 parts are in both, and each has others beside them"), "{error}");

    let other = temp.path().join("other");
    let others = cut(&rows(3), 3, &other);
    let error = Partial::read(&[b, summary_of(&others[1])]).err().unwrap().to_string();
    assert!(error.contains("part 1 is in both, with other content"), "{error}");
}

#[test]
fn a_part_that_is_missing_is_told_and_may_still_come() {
    let temp = TempDir::new().unwrap();
    let folder = temp.path().join("rec");
    let files = cut(&rows(4), 5, &folder);
    let whole = of_rows(&folder);
    let summaries: Vec<PathBuf> = files.iter().map(|part| summary_of(part)).collect();
    let without: Vec<PathBuf> = [0, 1, 3, 4].map(|i: usize| summaries[i].clone()).into();
    let hidden = files[2].with_extension("hidden");
    std::fs::rename(&files[2], &hidden).unwrap();
    assert_eq!(of_summaries(&without), of_rows(&folder), "as the report of the files that are there");
    assert!(of_summaries(&without)["recordings"][0]["warnings"][0].as_str().unwrap().contains("part 2 is missing"));
    let holed = temp.path().join("holed.summary");
    Partial::read(&without).unwrap().write(&holed).unwrap();
    assert_eq!(of_summaries(&[summaries[2].clone(), holed]), whole);
}

#[test]
fn parts_of_other_versions_clocks_and_intervals_do_not_add_up() {
    let temp = TempDir::new().unwrap();
    let rows = rows(5);
    let files = cut(&rows, 2, &temp.path().join("rec"));
    let first = summary_of(&files[0]);
    let error = |other: &Path| Partial::read(&[first.clone(), other.to_owned()]).err().unwrap().to_string();

    let part = |rows: Vec<Row>| Fixture::new(rows).meta("dataset", "d1").meta("part", "1");
    let old = part(rows.clone()).of_version(2).parquet(&temp.path().join("old.parquet"));
    assert!(error(&summary_of(&old)).contains("schema versions 3 and 2"));
    let of_host = |host: &str, boot: &str| part(rows.clone()).meta("host", host).meta("boot_id", boot);
    let [here, there] = [("a", "1"), ("a", "2")].map(|(host, boot)| of_host(host, boot));
    let here = summary_of(&here.meta("part", "0").parquet(&temp.path().join("here.parquet")));
    let there = summary_of(&there.parquet(&temp.path().join("there.parquet")));
    let text = Partial::read(&[here, there]).err().unwrap().to_string();
    assert!(text.contains("a (boot 1) and a (boot 2)"), "{text}");
    let early: Vec<Row> = rows.iter().map(|row| Row { t_us: row.t_us / 9, ..row.clone() }).collect();
    let text = error(&summary_of(&part(early).parquet(&temp.path().join("early.parquet"))));
    assert!(text.contains("another host's clock"), "{text}");
    let fine = temp.path().join("fine.summary");
    let options = Options { interval_s: 0.5, ..Options::default() };
    Partial::of(&files[1..], &options).unwrap().write(&fine).unwrap();
    assert!(error(&fine).contains("1000000 and 500000 µs"));
    let error = Partial::read(&[fine]).unwrap().summarize(&Options::default()).unwrap_err().to_string();
    assert!(error.contains("--partial --interval 1"), "{error}");
    let window = Options { from_s: Some(1.0), ..Options::default() };
    let error = Partial::of(&files, &window).err().unwrap().to_string();
    assert!(error.contains("--from"), "{error}");
}

#[test]
fn rows_are_read_again_only_where_they_are_the_same() {
    let temp = TempDir::new().unwrap();
    let files = cut(&rows(6), 2, &temp.path().join("rec"));
    let both = || Partial::read(&[summary_of(&files[0]), summary_of(&files[1])]).unwrap();
    let partial = both();
    assert_eq!(partial.recordings().unwrap().len(), 1);
    std::fs::copy(&files[0], &files[1]).unwrap();
    let error = partial.recordings().unwrap_err().to_string();
    assert!(error.contains("a file with other content"), "{error}");
    std::fs::remove_file(&files[1]).unwrap();
    let error = partial.recordings().unwrap_err().to_string();
    assert!(error.contains("no such file"), "{error}");
}
