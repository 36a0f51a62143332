//! Phases over time: a row for each phase, so that the place says which one it is, with or without colour.

use plotters::prelude::*;

use super::axis::Axis;
use super::color;
use super::frame::INK;
use super::sheet::{self, Anchor, Area, Drawn, PT, TEXT_PT, Width, text, text_width};
use crate::charts::{Charts, FlowCharts};

const ROW: i32 = 11 * PT;
const BAR: i32 = 7 * PT;
const LINE_HEIGHT: i32 = (TEXT_PT as i32 + 3) * PT;
const EDGE: i32 = 3 * PT;
const GAP: i32 = 5 * PT;
const STROKE: u32 = 5;
const GRID: RGBColor = RGBColor(0xdd, 0xdd, 0xdd);
const LABEL_DISTANCE: i32 = 34 * PT;
/// A phase shorter than this is drawn as wide as this: a thin bar is better than none.
const NARROWEST: i32 = 3;

/// The flows that have phases; `None` when no algorithm publishes any.
pub fn phases(charts: &Charts, window_s: (f64, f64), width: Width) -> Option<String> {
    let flows: Vec<&FlowCharts> = charts.flows.iter().filter(|flow| !flow.phases.is_empty()).collect();
    if flows.is_empty() {
        return None;
    }
    let panels: Vec<Panel<'_>> = flows.iter().map(|flow| Panel::new(charts, flow)).collect();
    let height: i32 =
        panels.iter().map(|panel| panel.height() + LINE_HEIGHT + GAP).sum::<i32>() + 2 * EDGE + 2 * LINE_HEIGHT + 3 * PT;
    let widest = charts.modes.iter().map(|mode| text_width(mode)).max().unwrap_or(0);
    let (left, right) = (EDGE + widest + 4 * PT, width.units() - EDGE - 6 * PT);
    let axis = Axis::linear(window_s.0, window_s.1);
    let x = |t: f64| left + (axis.share(t) * f64::from(right - left)).round() as i32;
    Some(sheet::svg(width.units(), height, "Phases over time", |area| {
        let ticks = axis.ticks(((right - left) / LABEL_DISTANCE).max(2) as usize);
        let mut top = EDGE;
        for panel in &panels {
            text(area, &panel.flow.name, (left, top + LINE_HEIGHT / 2), Anchor::Left, INK)?;
            top += LINE_HEIGHT;
            for (t, _) in &ticks {
                line(area, [(x(*t), top), (x(*t), top + panel.height())], GRID)?;
            }
            panel.draw(area, charts, top, (left, right), &x)?;
            top += panel.height() + GAP;
        }
        for (t, label) in &ticks {
            line(area, [(x(*t), top - GAP), (x(*t), top - GAP + 3 * PT)], INK)?;
            text(area, label, (x(*t), top + LINE_HEIGHT / 2), Anchor::Center, INK)?;
        }
        text(area, "Time [s]", ((left + right) / 2, height - EDGE - LINE_HEIGHT / 2), Anchor::Center, INK)
    }))
}

fn line(area: &Area<'_>, points: [(i32, i32); 2], color: RGBColor) -> Drawn {
    area.draw(&PathElement::new(points, color.stroke_width(STROKE)))
}

/// The phases of one flow.
struct Panel<'a> {
    flow: &'a FlowCharts,
    /// Indices of the phases that the flow was in, in their order.
    modes: Vec<usize>,
}

impl<'a> Panel<'a> {
    fn new(charts: &Charts, flow: &'a FlowCharts) -> Panel<'a> {
        let seen = |mode: &usize| flow.phases.iter().any(|phase| phase.2 == *mode);
        Panel { flow, modes: (0..charts.modes.len()).filter(seen).collect() }
    }

    fn height(&self) -> i32 {
        self.modes.len() as i32 * ROW
    }

    fn draw(&self, area: &Area<'_>, charts: &Charts, top: i32, (left, right): (i32, i32), x: &impl Fn(f64) -> i32) -> Drawn {
        let color = color::parse(&self.flow.color);
        for (row, &mode) in self.modes.iter().enumerate() {
            let middle = top + row as i32 * ROW + ROW / 2;
            text(area, &charts.modes[mode], (left - 3 * PT, middle), Anchor::Right, INK)?;
            for (start, end, _) in self.flow.phases.iter().filter(|phase| phase.2 == mode) {
                let (from, to) = (x(*start), x(*end));
                let corners = [(from, middle - BAR / 2), (to.max(from + NARROWEST), middle + BAR / 2)];
                area.draw(&Rectangle::new(corners, color.filled()))?;
            }
        }
        let bottom = top + self.height();
        line(area, [(left, top), (left, bottom)], INK)?;
        line(area, [(left, bottom), (right, bottom)], INK)
    }
}
