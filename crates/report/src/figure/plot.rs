//! Lines of any numbers: a metric over a parameter of an experiment, beside points that a paper prints.

use plotters::prelude::*;

use super::axis::{Axis, Tick};
use super::color;
use super::frame::{Entry, Frame, Labelled, legend_height};
use super::sheet::{self, Drawn, PT, Width};
use super::style::{DOTS, Look, STROKE};
use crate::charts::plain;

const HEIGHT: i32 = 150 * PT;
const CAP: i32 = 2 * PT;
const INTERVAL_STROKE: u32 = 7;
/// Values of x that can each have their label.
const LABELLED: usize = 8;
/// Points of a line that can each have a marker …
const MARKED: usize = 30;
/// … and markers on a line of more.
const MARKERS: usize = 7;
/// Spread of x beyond which a linear axis would press the small values together.
const WIDE: f64 = 8.0;

/// What x is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Over {
    /// Always a linear axis.
    Time,
    /// A logarithmic axis where values lie far apart.
    Values,
}

/// Lines over one axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Plot {
    /// For screen readers.
    pub title: String,
    /// What the x axis is.
    pub over: Over,
    /// Quantity and unit of the x axis.
    pub x_label: String,
    /// Quantity and unit of the y axis.
    pub y_label: String,
    /// The lines, in the order of the legend.
    pub lines: Vec<Line>,
}

/// One line.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// Legend.
    pub name: String,
    /// `#rrggbb`.
    pub color: String,
    /// Marker and dash; lines of one thing have the same number.
    pub number: usize,
    /// How it is drawn.
    pub style: Style,
    /// In the order of x.
    pub points: Vec<Point>,
}

/// How a line is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Measured values: a line with markers.
    Measured,
    /// Printed values: dotted, without markers on it.
    Printed,
    /// A distribution: each point is a step.
    Steps,
}

/// A value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// On the x axis.
    pub x: f64,
    /// On the y axis.
    pub y: f64,
    /// Half the width of its 95 % interval.
    pub ci95: Option<f64>,
}

/// The figure as SVG. Axes begin at zero, unless x is spread so wide that it is logarithmic.
#[must_use]
pub fn plot(plot: &Plot, width: Width) -> String {
    let legend: Vec<Entry> = plot.lines.iter().map(entry).collect();
    let x = Labelled { ticks: ticks(plot), ..Labelled::new(x_axis(plot), &plot.x_label) };
    let tops = plot.lines.iter().flat_map(|line| &line.points).map(|point| point.y + point.ci95.unwrap_or(0.0));
    let y = Labelled::new(Axis::from_zero(tops.fold(0.0, f64::max), 5), &plot.y_label);
    let height = HEIGHT + legend_height(&legend, width.units());
    sheet::svg(width.units(), height, &plot.title, |area| {
        let frame = Frame::draw(area, &x, &y, &legend, &[])?;
        plot.lines.iter().try_for_each(|line| draw(&frame, line))
    })
}

pub(super) fn look(line: &Line) -> Look {
    Look { color: color::parse(&line.color), number: line.number }
}

pub(super) fn entry(line: &Line) -> Entry {
    let printed = line.style == Style::Printed;
    let look = look(line);
    Entry { name: line.name.clone(), look, dash: if printed { &DOTS } else { look.dash() }, marker: !printed }
}

fn xs(plot: &Plot) -> impl Iterator<Item = f64> {
    plot.lines.iter().flat_map(|line| &line.points).map(|point| point.x)
}

fn x_axis(plot: &Plot) -> Axis {
    let (least, most) = (xs(plot).fold(f64::INFINITY, f64::min), xs(plot).fold(0.0, f64::max));
    match plot.over {
        Over::Values if least > 0.0 && most / least > WIDE => Axis::logarithmic(least * 0.9, most * 1.1),
        Over::Values | Over::Time => Axis::linear(0.0, most * 1.03),
    }
}

/// A tick at each x, if they are few.
fn ticks(plot: &Plot) -> Option<Vec<Tick>> {
    let mut values: Vec<f64> = xs(plot).collect();
    values.sort_by(f64::total_cmp);
    values.dedup_by(|a, b| plain(*a) == plain(*b));
    let label = |x: f64| if x != 0.0 && x < 1e-3 { format!("{x:e}") } else { plain(x) };
    (values.len() <= LABELLED).then(|| values.into_iter().map(|x| (x, label(x))).collect())
}

fn draw(frame: &Frame<'_, '_>, line: &Line) -> Drawn {
    let look = look(line);
    let points: Vec<(i32, i32)> = line.points.iter().map(|point| frame.at((point.x, point.y))).collect();
    match line.style {
        Style::Printed => {
            look.draw_dashed(frame.area(), &points, &DOTS, STROKE)?;
            points.into_iter().try_for_each(|point| cross(frame, &look, point))
        }
        Style::Steps => {
            look.draw_dashed(frame.area(), &stairs(frame, line), look.dash(), STROKE)?;
            let apart = (points.len() / MARKERS).max(1);
            points.into_iter().step_by(apart).try_for_each(|point| look.draw_marker(frame.area(), point))
        }
        Style::Measured => {
            look.draw_dashed(frame.area(), &points, look.dash(), STROKE)?;
            line.points.iter().try_for_each(|point| interval(frame, &look, point))?;
            let apart = if points.len() > MARKED { points.len() / MARKERS } else { 1 };
            points.into_iter().step_by(apart).try_for_each(|point| look.draw_marker(frame.area(), point))
        }
    }
}

/// A printed value.
pub(super) fn cross(frame: &Frame<'_, '_>, look: &Look, (x, y): (i32, i32)) -> Drawn {
    for line in [[(x - CAP, y - CAP), (x + CAP, y + CAP)], [(x - CAP, y + CAP), (x + CAP, y - CAP)]] {
        frame.area().draw(&PathElement::new(line, look.stroke(STROKE)))?;
    }
    Ok(())
}

fn stairs(frame: &Frame<'_, '_>, line: &Line) -> Vec<(i32, i32)> {
    let mut points = Vec::new();
    let mut before = 0.0;
    for point in &line.points {
        points.push(frame.at((point.x, before)));
        points.push(frame.at((point.x, point.y)));
        before = point.y;
    }
    points.dedup();
    points
}

pub(super) fn interval(frame: &Frame<'_, '_>, look: &Look, point: &Point) -> Drawn {
    let Some(half) = point.ci95 else { return Ok(()) };
    let (x, high, low) = (frame.x(point.x), frame.y(point.y + half), frame.y(point.y - half));
    for line in [[(x, low), (x, high)], [(x - CAP, low), (x + CAP, low)], [(x - CAP, high), (x + CAP, high)]] {
        frame.area().draw(&PathElement::new(line, look.stroke(INTERVAL_STROKE)))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(points: &[(f64, f64)], style: Style) -> Plot {
        let points = points.iter().map(|&(x, y)| Point { x, y, ci95: None }).collect();
        let line = Line { name: "<bbr>".to_owned(), color: "#332288".to_owned(), number: 0, style, points };
        Plot {
            title: "t".to_owned(),
            over: Over::Values,
            x_label: "x".to_owned(),
            y_label: "y".to_owned(),
            lines: vec![line],
        }
    }

    #[test]
    fn each_of_few_values_of_x_has_its_label() {
        let labels = |xs: &[f64]| {
            let points: Vec<(f64, f64)> = xs.iter().map(|&x| (x, 1.0)).collect();
            ticks(&of(&points, Style::Measured))
                .map(|ticks| ticks.into_iter().map(|(_, label)| label).collect::<Vec<_>>())
        };
        assert_eq!(labels(&[7.0, 0.5, 1.0]).unwrap(), ["0.5", "1", "7"]);
        assert_eq!(labels(&[1e-4, 1e-7]).unwrap(), ["1e-7", "1e-4"]);
        assert_eq!(labels(&(0..20).map(f64::from).collect::<Vec<_>>()), None);
    }

    #[test]
    fn time_is_linear_however_early_the_first_point_is() {
        let plot = |over| Plot { over, ..of(&[(0.1, 1.0), (50.0, 2.0), (100.0, 1.0)], Style::Measured) };
        let half = |over| x_axis(&plot(over)).share(50.0);
        assert!((half(Over::Time) - 50.0 / 103.0).abs() < 1e-9, "{}", half(Over::Time));
        assert!(half(Over::Values) > 0.8, "{}", half(Over::Values));
    }

    #[test]
    fn names_are_text_and_a_plot_without_points_is_drawn() {
        for style in [Style::Measured, Style::Printed, Style::Steps] {
            let svg = plot(&of(&[(1.0, 2.0), (2.0, 3.0)], style), Width::Single);
            assert!(svg.contains("&lt;bbr&gt;") && !svg.contains("<bbr>"), "{svg}");
            assert!(plot(&of(&[], style), Width::Single).contains("</svg>"));
        }
    }
}
