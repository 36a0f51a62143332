//! Figures of lines: over time, distributions, buffer sweeps.

use std::borrow::Cow;

use plotters::prelude::*;

use super::axis::{Axis, Tick};
use super::frame::{Entry, Frame, Labelled, Mark, legend_height};
use super::sheet::{self, Drawn, PT, Width};
use super::style::{DOTS, FINE_DASH, Look, STROKE};
use super::{color, thin};
use crate::charts::{Band, Charts, Ecdf, FlowCharts, GroupCharts, JainSeries, Series, Sweep, plain};

/// Without its legend's further rows.
const HEIGHT: i32 = 150 * PT;
/// Stroke of lines that go up and down with every sample.
const NOISY_STROKE: u32 = 7;
/// A line over time has a point per so many units, or two.
const COLUMN: i32 = 6;
const MARKERS: usize = 7;
/// Flows whose bounds are drawn, at most.
const MAX_BOUNDED: usize = 2;
/// Intervals of a Jain index that are few enough for a marker each.
const MARKED_INTERVALS: usize = 30;
/// Longest tail, in medians, that a linear axis shows.
const LINEAR_TAIL: f64 = 12.0;
/// Values that begin beyond this share of the largest one are not drawn from zero.
const FROM_ZERO: f64 = 0.25;
/// Buffers of a sweep that can each have their label.
const LABELLED_BUFFERS: usize = 8;

/// What the dotted lines of groups are.
const EDGES: &str = "10th, 90th percentile of flows";

/// A line over time with what it is called.
pub struct OverTime<'a> {
    /// Legend; nothing for a line that goes with the one before.
    pub name: String,
    /// How it looks.
    pub look: Look,
    /// Its values.
    pub series: Cow<'a, Series>,
    /// Dash of a bound, which is no measurement and has no markers.
    pub bound: Option<&'static [i32]>,
}

/// One line per flow, the look of the flow's number.
pub fn of_flows(charts: &Charts, series: fn(&FlowCharts) -> &Series) -> Vec<OverTime<'_>> {
    let lines = charts.flows.iter().enumerate().map(|(number, flow)| {
        let look = flow_look(charts, number);
        OverTime { name: flow.name.clone(), look, series: Cow::Borrowed(series(flow)), bound: None }
    });
    lines.filter(|line| !line.series.t.is_empty()).collect()
}

/// The median of each group, and dotted lines around its middle four fifths.
pub fn of_groups(charts: &Charts, band: fn(&GroupCharts) -> &Band) -> Vec<OverTime<'_>> {
    let mut lines = Vec::new();
    for (number, group) in charts.groups.iter().enumerate() {
        let rank = charts.groups[..number].iter().filter(|earlier| earlier.color == group.color).count();
        let look = Look { color: color::shade(color::parse(&group.color), rank), number };
        let of = band(group);
        let line = |name: String, values: &[Option<f64>], bound| OverTime {
            name,
            look,
            series: Cow::Owned(Series { t: of.t.clone(), v: values.to_vec() }),
            bound,
        };
        lines.push(line(format!("{} ({})", group.name, group.flows), &of.p50, None));
        let edges = if number == 0 { EDGES } else { "" };
        lines.push(line(edges.to_owned(), &of.p10, Some(&DOTS)));
        lines.push(line(String::new(), &of.p90, Some(&DOTS)));
    }
    lines
}

/// The bounds of what is in flight, of the flows whose algorithm has them; nothing when these are so many that no bound
/// could be told from another.
pub fn bounds(charts: &Charts) -> Vec<OverTime<'_>> {
    let bounded = charts.flows.iter().filter(|flow| !flow.bounds.is_empty()).count();
    if bounded > MAX_BOUNDED {
        return Vec::new();
    }
    let several = bounded > 1;
    let name = |flow: &FlowCharts, bound: &str| {
        if several { format!("{bound} of {}", flow.name) } else { bound.to_owned() }
    };
    let mut lines = Vec::new();
    for (number, flow) in charts.flows.iter().enumerate() {
        lines.extend(flow.bounds.iter().map(|bound| {
            let look = flow_look(charts, number);
            let dash: &'static [i32] = if bound.name == "inflight_hi" { &FINE_DASH } else { &DOTS };
            OverTime { name: name(flow, bound.name), look, series: Cow::Borrowed(&bound.series), bound: Some(dash) }
        }));
    }
    lines
}

/// The colour is the algorithm's, another shade of it for its second, third … flow.
fn flow_look(charts: &Charts, number: usize) -> Look {
    let hex = &charts.flows[number].color;
    let rank = charts.flows[..number].iter().filter(|earlier| earlier.color == *hex).count();
    Look { color: color::shade(color::parse(hex), rank), number }
}

/// Values over time, from zero, with a mark at each swap.
pub fn over_time(charts: &Charts, lines: &[OverTime<'_>], window_s: (f64, f64), label: &str, width: Width) -> String {
    let legend: Vec<Entry> = lines
        .iter()
        .filter(|line| !line.name.is_empty())
        .map(|line| Entry {
            name: line.name.clone(),
            look: line.look,
            dash: line.bound.unwrap_or_default(),
            marker: line.bound.is_none(),
        })
        .collect();
    let most = lines.iter().flat_map(|line| line.series.v.iter().flatten()).copied().fold(0.0, f64::max);
    let y = Labelled::new(Axis::from_zero(most, 5), label);
    let height = HEIGHT + legend_height(&legend, width.units());
    sheet::svg(width.units(), height, &format!("{label} over time"), |area| {
        let frame = Frame::draw(area, &time_axis(window_s), &y, &legend, &swaps(charts))?;
        for line in lines {
            draw_noisy(&frame, line, window_s, lines.len())?;
        }
        // On top of all lines.
        for (i, line) in lines.iter().enumerate().filter(|(_, line)| line.bound.is_none()) {
            markers_over_time(&frame, line, window_s, (i, lines.len()))?;
        }
        Ok(())
    })
}

fn time_axis((from_s, to_s): (f64, f64)) -> Labelled {
    Labelled::new(Axis::linear(from_s, to_s), "Time [s]")
}

fn draw_noisy(frame: &Frame<'_, '_>, line: &OverTime<'_>, window_s: (f64, f64), lines: usize) -> Drawn {
    let columns = (frame.width() / COLUMN).max(1) as u32;
    for part in thin::lines(&line.series, window_s, columns) {
        let points: Vec<(i32, i32)> = part.iter().map(|&point| frame.at(point)).collect();
        // A lone line may be a little stronger.
        let stroke = if lines == 1 { STROKE } else { NOISY_STROKE };
        line.look.draw_dashed(frame.area(), &points, line.bound.unwrap_or_default(), stroke)?;
    }
    Ok(())
}

/// Markers at equal distances, each line's between those of the others.
fn markers_over_time(
    frame: &Frame<'_, '_>,
    line: &OverTime<'_>,
    (from_s, to_s): (f64, f64),
    (index, lines): (usize, usize),
) -> Drawn {
    let offset = (index as f64 + 0.5) / lines as f64;
    for k in 0..MARKERS {
        let t = from_s + (to_s - from_s) * (k as f64 + offset) / MARKERS as f64;
        let next = line.series.t.partition_point(|&at| at < t);
        let point = line.series.t.get(next).zip(line.series.v.get(next).copied().flatten());
        // Not where the line has a gap, or has ended.
        if let Some((&at, value)) = point.filter(|(at, _)| **at - t <= (to_s - from_s) / MARKERS as f64 / 2.0) {
            line.look.draw_marker(frame.area(), frame.at((at, value)))?;
        }
    }
    Ok(())
}

fn swaps(charts: &Charts) -> Vec<Mark> {
    let marks = charts.flows.iter().flat_map(|flow| &flow.swaps);
    let mut marks: Vec<Mark> = marks.map(|swap| Mark { at: swap.at_s, name: format!("→ {}", swap.to) }).collect();
    marks.sort_by(|a, b| a.at.total_cmp(&b.at));
    marks
}

/// Jain's index over time.
pub fn jain(charts: &Charts, series: &JainSeries, window_s: (f64, f64), width: Width) -> String {
    let least = series.series.v.iter().flatten().copied().fold(1.0, f64::min);
    // The index of n flows is 1/n at least: an axis from zero would waste half of the figure.
    let from = (least * 10.0 - 0.5).floor().clamp(0.0, 9.0) / 10.0;
    let y = Labelled::new(Axis::linear(from, 1.0), "Jain index");
    let look = Look { color: RGBColor(0, 0, 0), number: 0 };
    let title = format!("Jain index per {} s over time", plain(series.interval_s));
    sheet::svg(width.units(), HEIGHT, &title, |area| {
        let frame = Frame::draw(area, &time_axis(window_s), &y, &[], &swaps(charts))?;
        for part in thin::lines(&series.series, window_s, (frame.width() / COLUMN).max(1) as u32) {
            let points: Vec<(i32, i32)> = part.iter().map(|&point| frame.at(point)).collect();
            look.draw_dashed(area, &points, &[], STROKE)?;
            // A lone interval has no line.
            for point in points.iter().filter(|_| points.len() == 1 || series.series.t.len() <= MARKED_INTERVALS) {
                look.draw_marker(area, *point)?;
            }
        }
        Ok(())
    })
}

/// Distributions, one line per algorithm.
pub fn ecdf(ecdfs: &[Ecdf], numbers: &[usize], label: &str, width: Width) -> String {
    let looks: Vec<Look> =
        ecdfs.iter().zip(numbers).map(|(e, &number)| Look { color: color::parse(&e.color), number }).collect();
    let legend: Vec<Entry> = ecdfs
        .iter()
        .zip(&looks)
        .map(|(ecdf, &look)| Entry { name: ecdf.name.clone(), look, dash: look.dash(), marker: true })
        .collect();
    let x = Labelled::new(value_axis(ecdfs), label);
    let y = Labelled::new(Axis::linear(0.0, 1.0), "ECDF");
    let height = HEIGHT + legend_height(&legend, width.units());
    sheet::svg(width.units(), height, &format!("Distribution of {label}"), |area| {
        let frame = Frame::draw(area, &x, &y, &legend, &[])?;
        for (ecdf, look) in ecdfs.iter().zip(&looks) {
            look.draw_dashed(area, &stairs(&frame, ecdf), look.dash(), STROKE)?;
        }
        for (i, (ecdf, look)) in ecdfs.iter().zip(&looks).enumerate() {
            for k in 0..MARKERS {
                let share = (k as f64 + (i as f64 + 0.5) / ecdfs.len() as f64) / MARKERS as f64;
                if let Some(&(value, _)) = ecdf.points.iter().find(|(_, reached)| *reached >= share) {
                    look.draw_marker(area, frame.at((value, share)))?;
                }
            }
        }
        Ok(())
    })
}

/// A long tail would press all else against the axis: then the axis is logarithmic, and the tail is shown.
fn value_axis(ecdfs: &[Ecdf]) -> Axis {
    let ends = |end: fn(f64, f64) -> f64, start: f64| {
        ecdfs.iter().flat_map(|e| [e.points.first(), e.points.last()]).flatten().map(|p| p.0).fold(start, end)
    };
    let (least, most) = (ends(f64::min, f64::INFINITY), ends(f64::max, 0.0));
    let median = |e: &Ecdf| e.points.iter().find(|(_, share)| *share >= 0.5).map_or(most, |p| p.0);
    let smallest_median = ecdfs.iter().map(median).fold(f64::INFINITY, f64::min);
    if least > 0.0 && most > LINEAR_TAIL * smallest_median {
        Axis::logarithmic(least, most)
    } else if least > FROM_ZERO * most {
        let margin = (most - least) * 0.03;
        Axis::linear((least - margin).max(0.0), most + margin)
    } else {
        Axis::linear(0.0, most)
    }
}

fn stairs(frame: &Frame<'_, '_>, ecdf: &Ecdf) -> Vec<(i32, i32)> {
    let mut points = Vec::new();
    let mut before = 0.0;
    for &(value, share) in &ecdf.points {
        points.push(frame.at((value, before)));
        points.push(frame.at((value, share)));
        before = share;
    }
    points.dedup();
    points
}

/// A metric over the buffer, with the 95 % interval where there are repeats.
pub fn sweep(sweep: &Sweep, numbers: &[usize], width: Width) -> String {
    let buffers = || sweep.lines.iter().flat_map(|line| &line.points).map(|point| point.buffer_bdp);
    let (least, most) = (buffers().fold(f64::INFINITY, f64::min), buffers().fold(0.0, f64::max));
    let x = if least > 0.0 && most / least > 4.0 {
        Axis::logarithmic(least * 0.9, most * 1.1)
    } else {
        Axis::linear(0.0, most * 1.05)
    };
    let tops = sweep.lines.iter().flat_map(|line| &line.points).map(|p| p.mean + p.ci95.unwrap_or(0.0));
    let y = Axis::from_zero(tops.fold(0.0, f64::max), 5);
    let looks: Vec<Look> =
        sweep.lines.iter().zip(numbers).map(|(l, &number)| Look { color: color::parse(&l.color), number }).collect();
    let legend: Vec<Entry> = sweep
        .lines
        .iter()
        .zip(&looks)
        .map(|(line, &look)| Entry { name: line.name.clone(), look, dash: look.dash(), marker: true })
        .collect();
    let unit = if sweep.unit.is_empty() { String::new() } else { format!(" [{}]", sweep.unit) };
    let x = Labelled { ticks: buffer_ticks(sweep), ..Labelled::new(x, "Buffer [BDP]") };
    let y = Labelled::new(y, format!("{}{unit}", sweep.title));
    let height = HEIGHT + legend_height(&legend, width.units());
    sheet::svg(width.units(), height, &format!("{} over the size of the buffer", sweep.title), |area| {
        let frame = Frame::draw(area, &x, &y, &legend, &[])?;
        for (line, look) in sweep.lines.iter().zip(&looks) {
            let points: Vec<(i32, i32)> = line.points.iter().map(|p| frame.at((p.buffer_bdp, p.mean))).collect();
            look.draw_dashed(area, &points, look.dash(), STROKE)?;
            for point in &line.points {
                interval(&frame, look, point.buffer_bdp, point.mean, point.ci95)?;
            }
            for point in points {
                look.draw_marker(area, point)?;
            }
        }
        Ok(())
    })
}

/// A tick at each buffer that was measured, if they are few.
fn buffer_ticks(sweep: &Sweep) -> Option<Vec<Tick>> {
    let mut buffers: Vec<f64> = sweep.lines.iter().flat_map(|line| &line.points).map(|p| p.buffer_bdp).collect();
    buffers.sort_by(f64::total_cmp);
    buffers.dedup_by(|a, b| plain(*a) == plain(*b));
    (buffers.len() <= LABELLED_BUFFERS).then(|| buffers.into_iter().map(|bdp| (bdp, plain(bdp))).collect())
}

fn interval(frame: &Frame<'_, '_>, look: &Look, buffer_bdp: f64, mean: f64, ci95: Option<f64>) -> Drawn {
    let Some(half) = ci95 else { return Ok(()) };
    let (x, cap) = (frame.x(buffer_bdp), 2 * PT);
    let (high, low) = (frame.y(mean + half), frame.y(mean - half));
    for line in [[(x, low), (x, high)], [(x - cap, low), (x + cap, low)], [(x - cap, high), (x + cap, high)]] {
        frame.area().draw(&PathElement::new(line, look.stroke(NOISY_STROKE)))?;
    }
    Ok(())
}
