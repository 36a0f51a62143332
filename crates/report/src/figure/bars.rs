//! Bars in groups: a metric of several things at each point of an axis, beside what a paper prints.

use plotters::prelude::*;

use super::axis::{Axis, Tick};
use super::frame::{Entry, Frame, INK, Labelled, legend_height};
use super::plot::{self, Line, Point, Style};
use super::sheet::{self, Drawn, PT, Width};
use super::style::{DOTS, Look, STROKE};

const HEIGHT: i32 = 150 * PT;
/// Number of the look whose marker is a cross.
const CROSS: usize = 4;
/// Share of a group's width that its bars take.
const FILLED: f64 = 0.8;
/// How strong the colour of a bar is inside its outline.
const STRENGTH: f64 = 0.35;

/// Bars over the groups.
#[derive(Debug, Clone, PartialEq)]
pub struct Bars {
    /// For screen readers.
    pub title: String,
    /// What the groups are.
    pub x_label: String,
    /// Quantity and unit of the bars.
    pub y_label: String,
    /// Names of the groups; the x of a point is the index of its group.
    pub groups: Vec<String>,
    /// A bar per measured line in each group, in their order; a printed line has crosses on the bars of its number.
    pub lines: Vec<Line>,
}

impl Bars {
    fn measured(&self) -> impl Iterator<Item = &Line> {
        self.lines.iter().filter(|line| line.style != Style::Printed)
    }

    /// Left and right end of the bar of a line's point.
    fn span(&self, line: &Line, point: &Point) -> (f64, f64) {
        let count = self.measured().count().max(1);
        let place = self.measured().position(|other| other.number == line.number).unwrap_or(0);
        let width = FILLED / count as f64;
        let left = point.x - FILLED / 2.0 + place as f64 * width;
        (left, left + width)
    }
}

/// The figure as SVG. The bars begin at zero.
#[must_use]
pub fn bars(bars: &Bars, width: Width) -> String {
    let legend = legend(bars);
    let ticks: Vec<Tick> = bars.groups.iter().enumerate().map(|(i, name)| (i as f64, name.clone())).collect();
    let axis = Axis::linear(-0.5, bars.groups.len().max(1) as f64 - 0.5);
    let x = Labelled { ticks: Some(ticks), ..Labelled::new(axis, &bars.x_label) };
    let tops = bars.lines.iter().flat_map(|line| &line.points).map(|point| point.y + point.ci95.unwrap_or(0.0));
    let y = Labelled::new(Axis::from_zero(tops.fold(0.0, f64::max), 5), &bars.y_label);
    let height = HEIGHT + legend_height(&legend, width.units());
    sheet::svg(width.units(), height, &bars.title, |area| {
        let frame = Frame::draw(area, &x, &y, &legend, &[])?;
        bars.lines.iter().try_for_each(|line| draw(bars, &frame, line))
    })
}

/// The measured lines, and one entry for all that is printed.
fn legend(bars: &Bars) -> Vec<Entry> {
    let printed = bars.lines.iter().any(|line| line.style == Style::Printed);
    let cross = Look { color: INK, number: CROSS };
    let printed = printed.then(|| Entry { name: "printed".to_owned(), look: cross, dash: &DOTS, marker: true });
    bars.measured().map(plot::entry).chain(printed).collect()
}

fn draw(bars: &Bars, frame: &Frame<'_, '_>, line: &Line) -> Drawn {
    let look = plot::look(line);
    for point in &line.points {
        let (left, right) = bars.span(line, point);
        let middle = (left + right) / 2.0;
        if line.style == Style::Printed {
            plot::cross(frame, &look, frame.at((middle, point.y)))?;
            continue;
        }
        let corners = [(frame.x(left), frame.y(point.y)), (frame.x(right), frame.y(0.0))];
        frame.area().draw(&Rectangle::new(corners, look.color.mix(STRENGTH).filled()))?;
        frame.area().draw(&Rectangle::new(corners, look.stroke(STROKE)))?;
        plot::interval(frame, &look, &Point { x: middle, ..*point })?;
        look.draw_marker(frame.area(), frame.at((middle, point.y)))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(number: usize, style: Style, values: &[f64]) -> Line {
        let points = values.iter().enumerate().map(|(i, &y)| Point { x: i as f64, y, ci95: None }).collect();
        Line { name: format!("<{number}>"), color: "#332288".to_owned(), number, style, points }
    }

    #[test]
    fn bars_of_a_group_stand_side_by_side_and_print_on_its_own_bar() {
        let lines = vec![
            line(0, Style::Measured, &[1.0, 2.0]),
            line(1, Style::Measured, &[3.0]),
            line(1, Style::Printed, &[2.5]),
        ];
        let (title, x_label, y_label) = ("t".to_owned(), "x".to_owned(), "y".to_owned());
        let groups = vec!["<small>".to_owned(), "large".to_owned()];
        let figure = Bars { title, x_label, y_label, groups, lines };
        let span = |line: usize, point: usize| figure.span(&figure.lines[line], &figure.lines[line].points[point]);
        assert_eq!((span(0, 0), span(1, 0)), ((-0.4, 0.0), (0.0, 0.4)));
        assert_eq!(span(2, 0), span(1, 0));
        assert_eq!(span(0, 1), (0.6, 1.0));
        let svg = bars(&figure, Width::Single);
        assert!(svg.contains("&lt;small&gt;") && svg.contains("large"), "{svg}");
        assert!(bars(&Bars { groups: Vec::new(), lines: Vec::new(), ..figure }, Width::Single).contains("</svg>"));
    }
}
