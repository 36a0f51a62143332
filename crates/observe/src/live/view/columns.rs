//! The columns of the three tables: one line each.

use super::flow_row::FlowRow;
use super::format::spark;
use super::group_row::{GroupRow, shares_text};
use crate::live::board::FlowKey;
use ccactl_host::units::UNKNOWN;
use ccactl_host::units::narrow::{bytes, mbit_per_s, millis, number, percent, seconds};
use std::cmp::Ordering;
use std::net::SocketAddr;

/// What a row is sorted by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Key<'a> {
    /// Largest first.
    Number(Option<f64>),
    /// In the order of the alphabet.
    Text(&'a str),
    /// In the order of addresses.
    Address(SocketAddr),
}

impl Key<'_> {
    /// The order in which a table begins; what is not known comes last, also when the order is reversed.
    #[must_use]
    pub fn compare(&self, other: &Key<'_>, is_reversed: bool) -> Ordering {
        let turned = |order: Ordering| if is_reversed { order.reverse() } else { order };
        match (self, other) {
            (Key::Number(Some(a)), Key::Number(Some(b))) => turned(b.total_cmp(a)),
            (Key::Number(a), Key::Number(b)) => b.is_some().cmp(&a.is_some()),
            (Key::Text(a), Key::Text(b)) => turned(a.cmp(b)),
            (Key::Address(a), Key::Address(b)) => turned(a.cmp(b)),
            _ => Ordering::Equal,
        }
    }
}

/// Which row it is, from one look to the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowId {
    /// A flow.
    Flow(FlowKey),
    /// A cgroup or an algorithm, by name.
    Group(String),
}

/// A row of a table.
pub trait Row {
    /// Which one it is.
    fn id(&self) -> RowId;
    /// Whether a filter's word occurs in it; the word is in lower case.
    fn has(&self, word: &str) -> bool;
    /// What takes the place of all cells behind the marked one, as far as there is room; empty: the cells stay.
    fn remark(&self) -> Vec<String> {
        Vec::new()
    }
    /// Whether it is of the past.
    fn is_faded(&self) -> bool {
        false
    }
}

/// A column of a table of `T`.
pub struct Column<T> {
    /// First line of its head.
    pub title: &'static str,
    /// Second line.
    pub unit: &'static str,
    /// Least width without that of the title.
    pub width: usize,
    /// Largest width; wider than `width` only for texts and bars, which take what is left.
    pub max_width: usize,
    /// Who stays when there is not enough room: the lowest.
    pub rank: u8,
    /// Numbers stand on the right.
    pub is_right: bool,
    /// The cell of a row in a column of this width.
    pub cell: fn(&T, usize) -> String,
    /// What the row is sorted by.
    pub key: fn(&T) -> Key<'_>,
    /// Colour of a mark before the cell.
    pub mark: Option<fn(&T) -> Option<&'static str>>,
}

const fn figure<T>(
    title: &'static str,
    unit: &'static str,
    width: usize,
    rank: u8,
    cell: fn(&T, usize) -> String,
    key: fn(&T) -> Key<'_>,
) -> Column<T> {
    Column { title, unit, width, max_width: width, rank, is_right: true, cell, key, mark: None }
}

const fn text<T>(
    title: &'static str,
    unit: &'static str,
    (width, max_width): (usize, usize),
    rank: u8,
    cell: fn(&T, usize) -> String,
    key: fn(&T) -> Key<'_>,
) -> Column<T> {
    Column { title, unit, width, max_width, rank, is_right: false, cell, key, mark: None }
}

const fn marked<T>(column: Column<T>, mark: fn(&T) -> Option<&'static str>) -> Column<T> {
    Column { mark: Some(mark), ..column }
}

fn micros(us: Option<u32>) -> Option<f64> {
    us.map(f64::from)
}

fn num<'a>(value: impl Into<f64>) -> Key<'a> {
    Key::Number(Some(value.into()))
}

/// Columns of a table of flows.
#[rustfmt::skip]
pub static FLOWS: &[Column<FlowRow>] = &[
    text("port→remote", "", (21, 48), 0, |f, _| format!(":{}→{}", f.local.port(), f.remote), |f| Key::Address(f.remote)),
    text("local", "", (21, 48), 22, |f, _| f.local.to_string(), |f| Key::Address(f.local)),
    marked(text("algorithm", "", (9, 34), 0, algorithm, |f| Key::Text(&f.kernel_name)), |f| f.color),
    text("phase", "", (8, 15), 3, phase, |f| Key::Text(f.phase.as_deref().unwrap_or(f.ca_state))),
    figure("goodput", "Mbit/s", 7, 0, |f, _| mbit_per_s(f.goodput_bps), |f| Key::Number(f.goodput_bps)),
    figure("thrput", "Mbit/s", 7, 10, |f, _| mbit_per_s(f.throughput_bps), |f| Key::Number(f.throughput_bps)),
    figure("RTT", "ms", 5, 0, |f, _| millis(micros(f.srtt_us)), |f| Key::Number(micros(f.srtt_us))),
    text("RTT", "▁min █2·min", (4, 24), 4, flow_rtts, |f| Key::Number(queueing(f))),
    figure("latest", "ms", 6, 12, |f, _| millis(micros(f.rtt_us)), |f| Key::Number(micros(f.rtt_us))),
    figure("min", "ms", 6, 11, |f, _| millis(micros(f.min_rtt_us)), |f| Key::Number(micros(f.min_rtt_us))),
    figure("cwnd", "pkts", 5, 1, |f, _| f.cwnd_pkts.to_string(), |f| num(f.cwnd_pkts)),
    figure("inflight", "pkts", 8, 9, |f, _| f.inflight_pkts.to_string(), |f| num(f.inflight_pkts)),
    figure("ssthr", "pkts", 6, 13, |f, _| f.ssthresh_pkts.map_or("∞".to_owned(), |v| v.to_string()), |f| Key::Number(f.ssthresh_pkts.map(f64::from))),
    figure("retr", "per s", 5, 2, |f, _| number(f.retrans_pkts_per_s), |f| Key::Number(f.retrans_pkts_per_s)),
    figure("retr", "%", 5, 8, |f, _| percent(f.retrans_ratio), |f| Key::Number(f.retrans_ratio)),
    figure("retr", "total", 6, 14, |f, _| f.retrans_pkts.to_string(), |f| num(f.retrans_pkts)),
    figure("RTOs", "total", 5, 7, |f, _| f.rto_count.to_string(), |f| num(f.rto_count)),
    figure("CE", "%", 5, 15, |f, _| percent(f.ce_ratio), |f| Key::Number(f.ce_ratio)),
    text("state", "", (8, 8), 6, |f, _| state(f), |f| Key::Text(f.ca_state)),
    text("limit", "", (5, 5), 16, |f, _| f.limited().to_owned(), |f| Key::Text(f.limited())),
    figure("snd_wnd", "kB", 8, 17, |f, _| number(Some(f64::from(f.snd_wnd_bytes) / 1e3)), |f| num(f.snd_wnd_bytes)),
    figure("acked", "total", 8, 18, |f, _| bytes(f.acked_bytes as f64), |f| num(f.acked_bytes as f64)),
    figure("age", "", 7, 19, |f, _| f.age_s.map_or(UNKNOWN.to_owned(), seconds), |f| Key::Number(f.age_s)),
    text("cgroup", "", (12, 60), 5, |f, _| f.cgroup.clone(), |f| Key::Text(&f.cgroup)),
    text("netns", "", (8, 20), 20, |f, _| f.netns.clone(), |f| Key::Text(&f.netns)),
];

/// Columns of a table of cgroups.
#[rustfmt::skip]
pub static CGROUPS: &[Column<GroupRow>] = &[
    text("cgroup", "", (12, 60), 0, |g, _| g.name.clone(), |g| Key::Text(&g.name)),
    FLOW_COUNT, GOODPUT, THROUGHPUT, RTT_MEAN, RTTS, RTT_P50, RTT_P95, CWND, RETRANS_RATIO, RETRANS, RTOS, CE, CLOSES,
    text("algorithms", "open flows", (10, 40), 2, |g, _| shares_text(&g.algorithms), |g| num(g.algorithms.len() as f64)),
    PHASES,
];

/// Columns of a table of algorithms.
#[rustfmt::skip]
pub static ALGORITHMS: &[Column<GroupRow>] = &[
    marked(text("algorithm", "", (9, 18), 0, |g, _| g.name.clone(), |g| Key::Text(&g.name)), |g| g.color),
    FLOW_COUNT, GOODPUT, THROUGHPUT, RTT_MEAN, RTTS, RTT_P50, RTT_P95, CWND, RETRANS_RATIO, RETRANS, RTOS, CE, CLOSES,
    PHASES,
];

const FLOW_COUNT: Column<GroupRow> = figure("flows", "open", 6, 0, |g, _| g.flows.to_string(), |g| num(g.flows as f64));
const GOODPUT: Column<GroupRow> =
    figure("goodput", "Mbit/s", 7, 0, |g, _| mbit_per_s(Some(g.goodput_bps)), |g| num(g.goodput_bps));
const THROUGHPUT: Column<GroupRow> =
    figure("thrput", "Mbit/s", 7, 10, |g, _| mbit_per_s(Some(g.throughput_bps)), |g| num(g.throughput_bps));
const RTT_MEAN: Column<GroupRow> =
    figure("RTT", "mean ms", 7, 0, |g, _| millis(g.rtt_mean_us), |g| Key::Number(g.rtt_mean_us));
const RTTS: Column<GroupRow> = text("RTT", "trend", (4, 24), 4, group_rtts, |g| Key::Number(g.rtt_mean_us));
const RTT_P50: Column<GroupRow> =
    figure("RTT", "p50 ms", 6, 8, |g, _| millis(g.rtt_p50_us), |g| Key::Number(g.rtt_p50_us));
const RTT_P95: Column<GroupRow> =
    figure("RTT", "p95 ms", 6, 1, |g, _| millis(g.rtt_p95_us), |g| Key::Number(g.rtt_p95_us));
const CWND: Column<GroupRow> =
    figure("cwnd", "mean", 6, 1, |g, _| number(g.cwnd_mean_pkts), |g| Key::Number(g.cwnd_mean_pkts));
const RETRANS_RATIO: Column<GroupRow> =
    figure("retr", "%", 5, 1, |g, _| percent(g.retrans_ratio), |g| Key::Number(g.retrans_ratio));
const RETRANS: Column<GroupRow> =
    figure("retr", "pkts/s", 6, 9, |g, _| number(Some(g.retrans_pkts_per_s)), |g| num(g.retrans_pkts_per_s));
const RTOS: Column<GroupRow> = figure("RTOs", "per s", 5, 5, |g, _| number(Some(g.rtos_per_s)), |g| num(g.rtos_per_s));
const CE: Column<GroupRow> = figure("CE", "%", 5, 6, |g, _| percent(g.ce_ratio), |g| Key::Number(g.ce_ratio));
const CLOSES: Column<GroupRow> =
    figure("closes", "per s", 6, 7, |g, _| number(Some(g.closes_per_s)), |g| num(g.closes_per_s));
const PHASES: Column<GroupRow> =
    text("phases", "open flows", (12, 60), 3, |g, _| short_phases(g), |g| num(g.phases.len() as f64));

/// A flow that was just moved has an arrow, and with more room what it had before.
fn algorithm(flow: &FlowRow, width: usize) -> String {
    let name = &flow.kernel_name;
    match &flow.changed_from {
        None => name.clone(),
        Some(from) if name.chars().count() + 1 + from.chars().count() <= width => format!("{name}←{from}"),
        Some(_) => format!("→{name}"),
    }
}

/// Without a phase of its algorithm, the state of the kernel.
fn phase(flow: &FlowRow, width: usize) -> String {
    match &flow.phase {
        Some(phase) if phase.chars().count() > width => short_phase(phase).to_owned(),
        Some(phase) => phase.clone(),
        None => flow.ca_state.to_owned(),
    }
}

/// The phases of PROBE_BW by what tells them apart.
fn short_phase(phase: &str) -> &str {
    phase.strip_prefix("probe-bw-").unwrap_or(phase)
}

fn short_phases(group: &GroupRow) -> String {
    shares_text(&group.phases).replace("probe-bw-", "")
}

/// A flow that has been silent is not in the state of its last row any more.
fn state(flow: &FlowRow) -> String {
    if flow.silent_s >= 10.0 {
        format!("idle {}", seconds(flow.silent_s).replace(' ', ""))
    } else {
        flow.ca_state.to_owned()
    }
}

/// How much longer than the minimum the RTT is, in parts of the minimum.
fn queueing(flow: &FlowRow) -> Option<f64> {
    Some(micros(flow.srtt_us)? / micros(flow.min_rtt_us)?)
}

fn latest(values: &[Option<f32>], width: usize) -> &[Option<f32>] {
    &values[values.len().saturating_sub(width)..]
}

/// From the minimum to twice that, so that a standing queue looks the same on short and on long paths; farther when the
/// RTT is.
fn flow_rtts(flow: &FlowRow, width: usize) -> String {
    let values = latest(&flow.rtts_us, width);
    let smallest = values.iter().flatten().copied().fold(f32::INFINITY, f32::min);
    let floor = micros(flow.min_rtt_us).unwrap_or(f64::INFINITY).min(f64::from(smallest));
    let largest = values.iter().flatten().copied().fold(0.0, f32::max);
    format!("{:>width$}", spark(values, floor, f64::from(largest).max(2.0 * floor)))
}

/// From nothing: paths of a group differ, and so do their minima.
fn group_rtts(group: &GroupRow, width: usize) -> String {
    let values = latest(&group.rtts_us, width);
    let largest = values.iter().flatten().copied().fold(0.0, f32::max);
    format!("{:>width$}", spark(values, 0.0, f64::from(largest)))
}

impl Row for FlowRow {
    fn id(&self) -> RowId {
        RowId::Flow(self.key())
    }

    fn has(&self, word: &str) -> bool {
        let has = |text: &str| text.to_lowercase().contains(word);
        has(&self.local.to_string())
            || has(&self.remote.to_string())
            || has(&self.cgroup)
            || has(&self.netns)
            || has(&self.kernel_name)
            || self.algorithm.is_some_and(has)
    }

    fn remark(&self) -> Vec<String> {
        let Some(totals) = self.totals else { return Vec::new() };
        let took = |us: u64| seconds(us as f64 / 1e6);
        let parts = [
            Some(format!("closed {}", bytes(totals.acked_bytes as f64))),
            totals.duration_us.map(took),
            totals.completion_us.map(|us| format!("FCT {}", took(us))),
            Some(format!("retr {}", totals.retrans_pkts)),
            totals.rtt_mean_us.map(|us| format!("RTT {} ms", millis(Some(us.into())))),
        ];
        parts.into_iter().flatten().collect()
    }

    fn is_faded(&self) -> bool {
        self.is_closed
    }
}

impl Row for GroupRow {
    fn id(&self) -> RowId {
        RowId::Group(self.name.clone())
    }

    fn has(&self, word: &str) -> bool {
        let is_named =
            self.name.to_lowercase().contains(word) || self.algorithm.is_some_and(|name| name.contains(word));
        is_named || self.algorithms.iter().any(|share| share.name.contains(word))
    }

    fn is_faded(&self) -> bool {
        self.flows == 0
    }
}
