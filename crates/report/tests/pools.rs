//! Summaries of very many flows: those that have ended are pooled, and the figures stay.

mod common;

use std::path::{Path, PathBuf};

use ccactl_report::{Options, Partial, RecordingSummary, open_all, render, summarize};
use common::{Fixture, Row};
use serde_json::Value;
use tempfile::TempDir;

/// More than are kept one by one.
const SHORT_FLOWS: u64 = 22_000;
const LISTED: u64 = 1_000;
/// They do not end.
const LONG_FLOWS: u64 = 5;
const PARTS: u64 = 4;
const APART_US: u64 = 400;
const LENGTH_US: u64 = SHORT_FLOWS * APART_US + 2_000_000;

/// A connection of half a second to two, which is opened and closed.
fn short(id: u64) -> Vec<Row> {
    let mut row = Row { event: "open", cgroup_id: 100 + id % 3, ..Row::at(id, id * APART_US) };
    row.algorithm = ["bpf_cubic", "bpf_bbr"][(id % 2) as usize];
    row.trace_mode = Some(["startup", "probe"][(id % 2) as usize]);
    let opened_us = row.t_us;
    let mut rows = vec![row.clone()];
    row.event = "sample";
    for step in 1..4 {
        row.t_us += 150_000 + 1000 * (id % 300);
        row.bytes_sent += 1448 * (10 + id % 91);
        row.bytes_acked = row.bytes_sent - 1448;
        row.delivered_pkts += (9 + id % 91) as u32;
        row.lost_pkts += u32::from(id % 7 == step);
        row.rtt_us = Some(20_000 + (id % 5000) as u32);
        row.cwnd_pkts = 10 + (id % 77) as u32;
        row.trace_bw_bps = Some(1_000_000 * (1 + id % 9));
        rows.push(row.clone());
    }
    row.t_us += 1000;
    (row.event, row.duration_us, row.completion_us) =
        ("close", Some(row.t_us - opened_us), Some(row.t_us - opened_us - 1000));
    (row.rtt_mean_us, row.rtt_min_us) = (Some(21_000 + (id % 100) as u32), Some(20_000));
    rows.push(row);
    rows
}

fn long(id: u64) -> Vec<Row> {
    let row = |step: u64| Row { cgroup_id: 100, ..Row::at(SHORT_FLOWS + id, step * 100_000) };
    (0..LENGTH_US / 100_000)
        .map(|step| row(step).bytes(step * 14_480, step * 14_480).rtt(30_000, step as u32))
        .collect()
}

fn parts(folder: &Path) -> Vec<PathBuf> {
    let mut rows: Vec<Row> = (0..SHORT_FLOWS).flat_map(short).chain((0..LONG_FLOWS).flat_map(long)).collect();
    rows.sort_by_key(|row| row.t_us);
    let link = r#"{"rate_bps":1e9,"base_rtt_us":19000,"overhead_bytes":18}"#;
    let part = |number: u64| {
        let [from, to] = [number, number + 1].map(|number| LENGTH_US * number / PARTS);
        let rows = rows.iter().filter(|row| from <= row.t_us && row.t_us < to).cloned().collect();
        let mut part = Fixture::new(rows).meta("dataset", "d1").meta("part", &number.to_string()).meta("link", link);
        if number + 1 == PARTS {
            part = part.meta("parts", &PARTS.to_string());
        }
        part.parquet(&folder.join(format!("part-{number:05}.parquet")))
    };
    (0..PARTS).map(part).collect()
}

/// The first value that differs by more than the last digits of a sum.
fn difference(one: &Value, other: &Value, at: &str) -> Option<String> {
    match (one, other) {
        (Value::Object(a), Value::Object(b)) => a
            .iter()
            .find_map(|(key, value)| difference(value, b.get(key).unwrap_or(&Value::Null), &format!("{at}.{key}"))),
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            a.iter().zip(b).enumerate().find_map(|(i, (a, b))| difference(a, b, &format!("{at}[{i}]")))
        }
        (Value::Number(a), Value::Number(b)) => {
            let [a, b] = [a, b].map(|number| number.as_f64().unwrap());
            ((a - b).abs() > 1e-12 * a.abs().max(b.abs())).then(|| format!("{at}: {a} and {b}"))
        }
        (a, b) => (a != b).then(|| format!("{at}: {a} and {b}")),
    }
}

fn json<T: serde::Serialize>(of: &T) -> Value {
    serde_json::to_value(of).unwrap()
}

#[test]
fn flows_that_have_ended_are_pooled_and_the_figures_stay() {
    let temp = TempDir::new().unwrap();
    let folder = temp.path().join("rec");
    std::fs::create_dir(&folder).unwrap();
    let files = parts(&folder);
    let whole = summarize(&open_all(&[folder]).unwrap(), &Options::default()).unwrap().recordings.remove(0);
    assert_eq!((whole.flows.len() as u64, whole.pooled_flows), (SHORT_FLOWS + LONG_FLOWS, 0));

    let summary = |files: &[PathBuf], to: &str| {
        let to = temp.path().join(to);
        Partial::of(files, &Options::default()).unwrap().write(&to).unwrap();
        to
    };
    let report = |files: &[PathBuf]| -> RecordingSummary {
        let mut summary = Partial::read(files).unwrap().summarize(&Options::default()).unwrap();
        let terminal = render::terminal(&summary);
        assert!(terminal.contains("more flows have ended and are kept in pools"), "{terminal}");
        summary.recordings.remove(0)
    };
    // All at once: more than the limit come together. One by one, and each half by itself: other flows are pooled first.
    let at_once = report(&[summary(&files, "all.summary")]);
    let singles: Vec<PathBuf> = files
        .iter()
        .enumerate()
        .map(|(i, file)| summary(std::slice::from_ref(file), &format!("{i}.summary")))
        .collect();
    let halves = [&singles[..2], &singles[2..]].map(|half| {
        let to = temp.path().join(format!("half-{}.summary", half[0].file_stem().unwrap().to_str().unwrap()));
        Partial::read(half).unwrap().write(&to).unwrap();
        to
    });
    for found in [at_once, report(&singles), report(&halves)] {
        assert_eq!(found.pooled_flows, SHORT_FLOWS - LISTED);
        assert_eq!(found.flows.len() as u64, LISTED + LONG_FLOWS);
        let listed = found.flows.iter().filter(|flow| flow.closed.is_some()).map(|flow| flow.measures.acked_bytes);
        let mut all: Vec<u64> =
            whole.flows.iter().filter(|flow| flow.closed.is_some()).map(|flow| flow.measures.acked_bytes).collect();
        all.sort_unstable();
        assert_eq!(listed.min(), Some(all[all.len() - LISTED as usize]), "those that moved most data");
        for flow in &found.flows {
            let same = whole.flows.iter().find(|other| other.flow_id == flow.flow_id).unwrap();
            assert_eq!(difference(&json(same), &json(flow), &flow.name), None);
        }
        let but_flows =
            |summary: &RecordingSummary| RecordingSummary { flows: Vec::new(), pooled_flows: 0, ..summary.clone() };
        assert_eq!(difference(&json(&but_flows(&whole)), &json(&but_flows(&found)), ""), None);
    }
}
