//! The frame of a figure with two axes: legend above it, never over data, ticks and units around it.

use plotters::prelude::*;

use super::axis::{Axis, Tick};
use super::sheet::{Anchor, Area, Drawn, PT, TEXT_PT, text, text_width, upright};
use super::style::{FINE_DASH, Look, STROKE};

/// Text and axes.
pub const INK: RGBColor = RGBColor(0x22, 0x22, 0x22);
const GRID: RGBColor = RGBColor(0xdd, 0xdd, 0xdd);
const AXIS_STROKE: u32 = 6;
const GRID_STROKE: u32 = 4;
const MARK_STROKE: u32 = 5;
const LINE_HEIGHT: i32 = (TEXT_PT as i32 + 3) * PT;
const TICK: i32 = 3 * PT;
const EDGE: i32 = 3 * PT;
const Y_TICKS: usize = 5;
/// Length of the line in front of a name of the legend.
const SAMPLE: i32 = 20 * PT;
/// Distance between an x label and the next one that can still be read.
const LABEL_DISTANCE: i32 = 34 * PT;

/// An entry of the legend.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// What it says.
    pub name: String,
    /// The line.
    pub look: Look,
    /// Dash of the line; nothing is solid.
    pub dash: &'static [i32],
    /// Whether the line has markers.
    pub marker: bool,
}

/// An axis with what it shows: `RTT [ms]`.
pub struct Labelled {
    /// The scale.
    pub axis: Axis,
    /// Quantity and unit.
    pub label: String,
    /// Ticks where round values are not the ones of interest.
    pub ticks: Option<Vec<Tick>>,
}

impl Labelled {
    /// With ticks at round values.
    pub fn new(axis: Axis, label: impl Into<String>) -> Labelled {
        Labelled { axis, label: label.into(), ticks: None }
    }

    fn ticks(&self, wanted: usize) -> Vec<Tick> {
        self.ticks.clone().unwrap_or_else(|| self.axis.ticks(wanted))
    }
}

/// A moment that is marked across the figure.
pub struct Mark {
    /// On the x axis.
    pub at: f64,
    /// Above the figure.
    pub name: String,
}

/// Where a figure draws its data.
pub struct Frame<'a, 'b> {
    area: &'a Area<'b>,
    x: Axis,
    y: Axis,
    left: i32,
    right: i32,
    top: i32,
    bottom: i32,
}

impl<'a, 'b> Frame<'a, 'b> {
    /// Draws legend, marks, grid and axes.
    pub fn draw(
        area: &'a Area<'b>,
        x: &Labelled,
        y: &Labelled,
        legend: &[Entry],
        marks: &[Mark],
    ) -> Result<Frame<'a, 'b>, DrawingAreaErrorKind<std::io::Error>> {
        let (width, height) = area.dim_in_pixel();
        let (width, height) = (width as i32, height as i32);
        let y_ticks = y.ticks(Y_TICKS);
        let widest = y_ticks.iter().map(|(_, label)| text_width(label)).max().unwrap_or(0);
        let left = EDGE + LINE_HEIGHT + widest + TICK + 2 * PT;
        let rows = legend_rows(legend, width - left - EDGE);
        let mut frame = Frame {
            area,
            x: x.axis,
            y: y.axis,
            left,
            right: width - EDGE - 4 * PT,
            top: EDGE + LINE_HEIGHT / 2 + (rows.len() as i32 + i32::from(!marks.is_empty())) * LINE_HEIGHT,
            bottom: height - EDGE - 2 * LINE_HEIGHT - TICK,
        };
        // Half of the last label of the x axis stands beyond its tick.
        let wanted = ((frame.right - frame.left) / LABEL_DISTANCE).max(2) as usize;
        let x_ticks = x.ticks(wanted);
        let last = x_ticks.iter().rev().find(|(_, label)| !label.is_empty());
        if let Some((value, label)) = last {
            let beyond = frame.x(*value) + text_width(label) / 2 - (width - EDGE);
            frame.right -= beyond.max(0);
        }
        frame.legend(&rows)?;
        for (value, label) in &x_ticks {
            frame.x_tick(*value, label)?;
        }
        for (value, label) in &y_ticks {
            frame.y_tick(*value, label)?;
        }
        frame.marks(marks)?;
        let corner = [(frame.left, frame.top), (frame.left, frame.bottom), (frame.right, frame.bottom)];
        area.draw(&PathElement::new(corner, INK.stroke_width(AXIS_STROKE)))?;
        let middle = (frame.left + frame.right) / 2;
        text(area, &x.label, (middle, height - EDGE - LINE_HEIGHT / 2), Anchor::Center, INK)?;
        upright(area, &y.label, (EDGE + LINE_HEIGHT / 2, (frame.top + frame.bottom) / 2), INK)?;
        Ok(frame)
    }

    /// The x of a value.
    pub fn x(&self, value: f64) -> i32 {
        self.left + (self.x.share(value) * f64::from(self.right - self.left)).round() as i32
    }

    /// The y of a value.
    pub fn y(&self, value: f64) -> i32 {
        self.bottom - (self.y.share(value) * f64::from(self.bottom - self.top)).round() as i32
    }

    /// A point of the data.
    pub fn at(&self, (x, y): (f64, f64)) -> (i32, i32) {
        (self.x(x), self.y(y))
    }

    /// Width of the data.
    pub fn width(&self) -> i32 {
        self.right - self.left
    }

    /// What it draws on.
    pub fn area(&self) -> &'a Area<'b> {
        self.area
    }

    fn x_tick(&self, value: f64, label: &str) -> Drawn {
        let x = self.x(value);
        if label.is_empty() {
            return self.line([(x, self.bottom), (x, self.bottom + TICK / 2)], INK, AXIS_STROKE);
        }
        self.line([(x, self.top), (x, self.bottom)], GRID, GRID_STROKE)?;
        self.line([(x, self.bottom), (x, self.bottom + TICK)], INK, AXIS_STROKE)?;
        text(self.area, label, (x, self.bottom + TICK + LINE_HEIGHT / 2), Anchor::Center, INK)
    }

    fn y_tick(&self, value: f64, label: &str) -> Drawn {
        let y = self.y(value);
        self.line([(self.left, y), (self.right, y)], GRID, GRID_STROKE)?;
        self.line([(self.left - TICK, y), (self.left, y)], INK, AXIS_STROKE)?;
        text(self.area, label, (self.left - TICK - PT, y), Anchor::Right, INK)
    }

    fn line(&self, points: [(i32, i32); 2], color: RGBColor, width: u32) -> Drawn {
        self.area.draw(&PathElement::new(points, color.stroke_width(width)))
    }

    /// A line across the figure, and its name above; names that would lie over each other are left out.
    fn marks(&self, marks: &[Mark]) -> Drawn {
        let mut free_from = i32::MIN;
        for mark in marks {
            let x = self.x(mark.at);
            let look = Look { color: INK, number: 0 };
            look.draw_dashed(self.area, &[(x, self.top), (x, self.bottom)], &FINE_DASH, MARK_STROKE)?;
            let half = text_width(&mark.name) / 2;
            let middle = x.min(self.right + EDGE - half);
            if middle - half > free_from {
                text(self.area, &mark.name, (middle, self.top - LINE_HEIGHT / 2), Anchor::Center, INK)?;
                free_from = middle + half + 2 * PT;
            }
        }
        Ok(())
    }

    fn legend(&self, rows: &[Vec<&Entry>]) -> Drawn {
        for (row, entries) in rows.iter().enumerate() {
            let y = EDGE + LINE_HEIGHT / 2 + row as i32 * LINE_HEIGHT;
            let mut x = self.left;
            for entry in entries {
                entry.look.draw_dashed(self.area, &[(x, y), (x + SAMPLE, y)], entry.dash, STROKE)?;
                if entry.marker {
                    entry.look.draw_marker(self.area, (x + SAMPLE / 2, y))?;
                }
                text(self.area, &entry.name, (x + SAMPLE + 3 * PT, y), Anchor::Left, INK)?;
                x += entry_width(entry);
            }
        }
        Ok(())
    }
}

/// Height that a legend takes from the figure, for figures that grow with it.
pub fn legend_height(legend: &[Entry], width: i32) -> i32 {
    // What is left of the axis is not known yet; it is about five digits.
    let rows = legend_rows(legend, width - EDGE - LINE_HEIGHT - text_width("00000") - EDGE);
    (rows.len() as i32 - 1).max(0) * LINE_HEIGHT
}

fn entry_width(entry: &Entry) -> i32 {
    SAMPLE + 3 * PT + text_width(&entry.name) + 8 * PT
}

fn legend_rows(legend: &[Entry], width: i32) -> Vec<Vec<&Entry>> {
    let mut rows: Vec<Vec<&Entry>> = Vec::new();
    let mut used = 0;
    for entry in legend {
        let needed = entry_width(entry);
        match rows.last_mut() {
            Some(row) if used + needed <= width => {
                row.push(entry);
                used += needed;
            }
            _ => {
                rows.push(vec![entry]);
                used = needed;
            }
        }
    }
    rows
}
