//! One flow: charts of the last minute, all figures, the inner state of its algorithm.

use super::theme::Theme;
use crate::live::board::{History, Point};
use crate::live::view::{FlowRow, InnerValue, elide};
use ccactl_host::terminal::fit_line;
use ccactl_host::units::narrow::{bytes, mbit_per_s, millis, percent, seconds, significant};
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, RenderDirection, Sparkline, Widget, Wrap};

/// Width of a figure with its name.
const CELL: u16 = 26;
/// Height of the bars of a chart.
const CHART_LINES: std::ops::RangeInclusive<u16> = 2..=12;

/// What the charts are drawn from.
pub(super) struct Charted<'a> {
    /// `None` when nothing is remembered.
    pub(super) history: Option<&'a History>,
    /// From one point to the next.
    pub(super) point_s: f64,
}

type ValueOf = fn(&Point) -> Option<f32>;
type Cells = Vec<(String, String)>;

pub(super) fn detail(buffer: &mut Buffer, area: Rect, theme: Theme, flow: &FlowRow, history: &Charted<'_>) {
    let per_line = usize::from((area.width / CELL).max(1));
    // What belongs together stands in threes.
    let per_line = if per_line > 3 { per_line / 3 * 3 } else { per_line };
    let figures = figures(flow);
    let inner: Cells = flow.inner.iter().map(inner_cell).collect();
    let lines = |cells: &Cells| cells.len().div_ceil(per_line) as u16;
    let below = lines(&figures) + lines(&inner) + 1;
    // Title and scale of a chart take a line.
    let chart_lines = area.height.saturating_sub(2 + 1 + below).clamp(*CHART_LINES.start(), *CHART_LINES.end());
    let [title, charts, figure_area, inner_title, inner_area, docs] = Layout::vertical([
        Constraint::Length(2),
        Constraint::Length(chart_lines + 1),
        Constraint::Length(lines(&figures)),
        Constraint::Length(1),
        Constraint::Length(lines(&inner)),
        Constraint::Min(0),
    ])
    .areas(area);
    draw_lines(buffer, title, headline(flow, theme, history.point_s, area.width));
    draw_charts(buffer, charts, history.history);
    draw_cells(buffer, figure_area, &figures, per_line);
    draw_lines(buffer, inner_title, [Line::from(inner_text(flow)).style(Theme::strong())]);
    draw_cells(buffer, inner_area, &inner, per_line);
    let explained = flow.inner.iter().filter(|value| !value.doc.is_empty());
    let explained = explained.map(|value| Line::from(format!("{}: {}", value.name, value.doc)).style(Theme::faded()));
    Paragraph::new(explained.collect::<Vec<_>>()).wrap(Wrap { trim: true }).render(docs, buffer);
}

fn headline(flow: &FlowRow, theme: Theme, point_s: f64, width: u16) -> [Line<'static>; 2] {
    let mark = match flow.color {
        Some(color) => Span::styled("■ ", theme.color(color)),
        None => Span::raw("  "),
    };
    let phase = flow.phase.as_deref().unwrap_or(flow.ca_state).to_owned();
    let state = if flow.is_closed { "closed".to_owned() } else { phase };
    let moved = flow.changed_from.as_ref().zip(flow.changed_s);
    let moved = moved.map_or(String::new(), |(from, ago_s)| format!(" ({from} until {} ago)", seconds(ago_s)));
    let first = Line::from(vec![
        Span::styled(format!("{} → {}  ", flow.local, flow.remote), Theme::strong()),
        mark,
        Span::styled(fit_line(&format!("{}{moved}  {state}", flow.kernel_name)).into_owned(), Theme::strong()),
    ]);
    let rest = format!("  netns {}  charts: {}/column", fit_line(&flow.netns), seconds(point_s));
    let room = usize::from(width).saturating_sub("cgroup ".len() + rest.chars().count());
    let place = format!("cgroup {}{rest}", elide(&fit_line(&flow.cgroup), room));
    [first, Line::from(place)]
}

fn inner_text(flow: &FlowRow) -> String {
    match (flow.algorithm, flow.inner.is_empty()) {
        (Some(name), false) => format!("inner state of {name}"),
        (None, false) => format!("inner state of {}", flow.kernel_name),
        (_, true) => format!("{} publishes no inner state", flow.kernel_name),
    }
}

fn cell(name: &str, value: impl Into<String>) -> (String, String) {
    (name.to_owned(), value.into())
}

fn ms(us: Option<u32>) -> String {
    format!("{} ms", millis(us.map(f64::from)))
}

fn rate(bps: Option<f64>) -> String {
    format!("{} Mbit/s", mbit_per_s(bps))
}

#[rustfmt::skip]
fn figures(flow: &FlowRow) -> Cells {
    let mut cells = vec![
        cell("goodput", rate(flow.goodput_bps)),
        cell("throughput", rate(flow.throughput_bps)),
        cell("delivery", rate(flow.delivery_rate_bps.map(|bps| bps as f64))),
        cell("RTT smoothed", ms(flow.srtt_us)),
        cell("RTT latest", ms(flow.rtt_us)),
        cell("RTT min", ms(flow.min_rtt_us)),
        cell("cwnd", format!("{} pkts", flow.cwnd_pkts)),
        cell("in flight", format!("{} pkts", flow.inflight_pkts)),
        cell("ssthresh", flow.ssthresh_pkts.map_or("∞".to_owned(), |pkts| format!("{pkts} pkts"))),
        cell("pacing", flow.pacing_rate_bps.map_or("none".to_owned(), |bps| rate(Some(bps as f64)))),
        cell("send window", bytes(flow.snd_wnd_bytes.into())),
        cell("MSS", format!("{} B", flow.mss_bytes)),
        cell("retransmitted", format!("{} pkts", flow.retrans_pkts)),
        cell("retr now", format!("{} pkts/s", flow.retrans_pkts_per_s.map_or("–".to_owned(), significant))),
        cell("retr now", format!("{} %", percent(flow.retrans_ratio))),
        cell("lost", format!("{} pkts", flow.lost_pkts)),
        cell("RTOs", flow.rto_count.to_string()),
        cell("CE marks", format!("{} pkts", flow.delivered_ce_pkts)),
        cell("state", flow.ca_state),
        cell("limited by", flow.limited()),
        cell("acked", bytes(flow.acked_bytes as f64)),
        cell("open for", flow.age_s.map_or("longer than seen".to_owned(), seconds)),
        cell("last row", format!("{} ago", seconds(flow.silent_s))),
        cell("cookie", flow.flow_id.to_string()),
    ];
    if let Some(totals) = flow.totals {
        let took = |us: Option<u64>| us.map_or("–".to_owned(), |us| seconds(us as f64 / 1e6));
        cells.extend([
            cell("completion", took(totals.completion_us)),
            cell("RTT mean", ms(totals.rtt_mean_us)),
            cell("RTT least", ms(totals.rtt_min_us)),
            cell("received", bytes(totals.received_bytes as f64)),
        ]);
    }
    cells
}

/// By name and unit: `bw_bps` is `bw … Mbit/s`. Names without a unit that we know stay as they are.
fn inner_cell(value: &InnerValue) -> (String, String) {
    let units = [("_bps", 1e6, "Mbit/s"), ("_us", 1e3, "ms"), ("_pkts", 1.0, "pkts")];
    let unit = units.iter().find_map(|(suffix, scale, unit)| Some((value.name.strip_suffix(suffix)?, scale, unit)));
    match (unit, value.value) {
        (Some((name, ..)), None) => cell(name, "no bound"),
        (None, None) => cell(value.name, "no bound"),
        // -1 of a time or a rate is a word of the algorithm, not a quantity.
        (Some((name, scale, unit)), Some(number)) if number >= 0.0 => {
            cell(name, format!("{} {unit}", significant(number / scale)))
        }
        (_, Some(number)) if number.fract() == 0.0 => cell(value.name, format!("{number:.0}")),
        (_, Some(number)) => cell(value.name, format!("{number:.3}")),
    }
}

fn draw_lines(buffer: &mut Buffer, area: Rect, lines: impl IntoIterator<Item = Line<'static>>) {
    for (line, y) in lines.into_iter().zip(area.top()..area.bottom()) {
        buffer.set_line(area.x, y, &line, area.width);
    }
}

fn draw_cells(buffer: &mut Buffer, area: Rect, cells: &Cells, per_line: usize) {
    for (line, y) in cells.chunks(per_line).zip(area.top()..area.bottom()) {
        for ((name, value), x) in line.iter().zip((area.x..).step_by(CELL.into())) {
            let room = usize::from(CELL) - 1;
            let value_room = room.saturating_sub(name.chars().count() + 1);
            let text = Line::from(vec![
                Span::styled(format!("{name} "), Theme::faded()),
                Span::raw(format!("{value:>value_room$}")),
            ]);
            buffer.set_line(x, y, &text, CELL - 1);
        }
    }
}

/// Goodput, RTT and window from nothing to their largest, the latest on the right.
fn draw_charts(buffer: &mut Buffer, area: Rect, history: Option<&History>) {
    let charts: [(&str, &str, f32, ValueOf); 3] = [
        ("goodput", "Mbit/s", 1e6, |point| point.goodput_bps),
        ("RTT", "ms", 1e3, |point| point.rtt_us),
        ("cwnd", "pkts", 1.0, |point| point.cwnd_pkts),
    ];
    let areas: [Rect; 3] = Layout::horizontal([Constraint::Fill(1); 3]).spacing(2).areas(area);
    for ((name, unit, scale, value), area) in charts.into_iter().zip(areas) {
        let values = history.map_or(Vec::new(), |history| history.latest(area.width.into(), value));
        let largest = values.iter().flatten().copied().fold(0.0, f32::max);
        let title = format!("{name} 0 … {} {unit}", significant(f64::from(largest / scale)));
        buffer.set_stringn(area.x, area.y, title, area.width.into(), Theme::strong());
        // In thousandths of the largest, since the bars want integers.
        let bars = values.iter().rev().map(|value| value.map(|value| (value / largest.max(1.0) * 1000.0) as u64));
        let bars_area = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
        Sparkline::default()
            .data(bars.collect::<Vec<Option<u64>>>())
            .max(1000)
            .direction(RenderDirection::RightToLeft)
            .absent_value_symbol(" ")
            .render(bars_area, buffer);
    }
}
