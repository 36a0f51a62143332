//! The table of `docs/performance.md`, and whether its goals are reached.

use crate::bpf_time::BpfTime;
use crate::series::Series;
use crate::watchers::{Watched, Watcher};

/// Of the throughput without a recorder, for one flow with every ACK recorded.
const GOAL_RATIO: f64 = 0.97;
/// On disk.
const GOAL_BYTES_PER_ROW: f64 = 25.0;

pub const HEAD: &str = "\
| flows | watched by | Gbit/s bare | throughput with / without | CPU time per byte with / without | rows/s | of the rows asked for \
| drops | CPUs while it records | BPF runs/s | ns per run | CPUs in BPF | bytes/row |
|---|---|---|---|---|---|---|---|---|---|---|---|---|";

/// One row of the table.
pub fn line(series: &Series) -> String {
    let rows_per_s = mean(series, |watched| watched.rows_per_s);
    let asked = rows_per_s.zip(series.watcher.rows_per_s_asked(series.flows));
    let drops: Option<u64> = series.watched.iter().map(|watched| watched.drops).sum();
    let bpf = |value: fn(&BpfTime) -> f64| series.bpf.as_ref().map(value);
    let cells = [
        series.flows.to_string(),
        series.watcher.to_string(),
        format!("{:.1}", series.bare_bps.iter().sum::<f64>() / series.bare_bps.len() as f64 / 1e9),
        series.throughput().to_string(),
        series.cpu_per_byte().to_string(),
        number(rows_per_s, 0),
        asked.map_or_else(none, |(got, asked)| format!("{:.0} %", 100.0 * got / asked)),
        drops.map_or_else(none, |drops| drops.to_string()),
        number(mean(series, |watched| watched.rows_per_s.map(|_| watched.cpus)), 3),
        number(bpf(|bpf| bpf.runs_per_s), 0),
        number(bpf(|bpf| bpf.ns_per_run), 0),
        number(bpf(|bpf| bpf.cpus), 3),
        number(series.bytes_per_row, 1),
    ];
    format!("| {} |", cells.join(" | "))
}

/// What a recording of every ACK was to reach, and whether it did; nothing of other watchers.
pub fn verdict(series: &Series) -> Option<(bool, String)> {
    if series.watcher != Watcher::Record("ack") {
        return None;
    }
    let drops: u64 = series.watched.iter().filter_map(|watched| watched.drops).sum();
    let bytes = series.bytes_per_row.unwrap_or(f64::INFINITY);
    let mut reached = drops == 0 && bytes <= GOAL_BYTES_PER_ROW;
    let mut text = format!(
        "{} flows, every ACK: {drops} rows lost (goal 0), {bytes:.1} bytes per row (goal ≤ {GOAL_BYTES_PER_ROW})",
        series.flows
    );
    if series.flows == 1 {
        let ratio = series.throughput();
        reached &= ratio.median >= GOAL_RATIO;
        text += &format!(", throughput {ratio} of that without (goal ≥ {GOAL_RATIO})");
    }
    Some((reached, format!("{text}: {}", if reached { "reached" } else { "missed" })))
}

/// Over all windows; `None` when any of them has no value.
fn mean(series: &Series, value: fn(&Watched) -> Option<f64>) -> Option<f64> {
    let values = series.watched.iter().map(value).collect::<Option<Vec<f64>>>()?;
    Some(values.iter().sum::<f64>() / values.len() as f64)
}

fn number(value: Option<f64>, decimals: usize) -> String {
    value.map_or_else(none, |value| format!("{value:.decimals$}"))
}

fn none() -> String {
    "—".to_owned()
}
