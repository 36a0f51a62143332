//! Fairness of every pair of algorithms: numbers on a scale of colours that runs from one hue to another through white.

use plotters::prelude::*;

use super::color::{self, luminance};
use super::frame::INK;
use super::sheet::{self, Anchor, PT, TEXT_PT, Width, text, text_width, upright};
use crate::charts::{HeatCell, HeatMap};

const LINE_HEIGHT: i32 = (TEXT_PT as i32 + 3) * PT;
const EDGE: i32 = 3 * PT;
const LOWEST_CELL: i32 = 24 * PT;
const BORDER: u32 = 8;
/// Luminance (WCAG 2.1) above which black text has more contrast than white.
const BRIGHT: f64 = 0.179;

/// The map as a figure: rows share the link with columns.
pub fn heat_map(map: &HeatMap, width: Width) -> String {
    let n = map.algorithms.len() as i32;
    let widest = map.algorithms.iter().map(|name| text_width(name)).max().unwrap_or(0);
    let left = EDGE + LINE_HEIGHT + widest + 4 * PT;
    let cell = (width.units() - left - EDGE) / n;
    let height_of_cell = LOWEST_CELL.max(cell.min(LOWEST_CELL * 3 / 2));
    // Names that do not fit beside each other stand upright.
    let upright_names = widest + 2 * PT > cell;
    let names = if upright_names { widest + 4 * PT } else { LINE_HEIGHT };
    let top = EDGE;
    let height = top + n * height_of_cell + names + LINE_HEIGHT + 2 * EDGE;
    sheet::svg(width.units(), height, "Share of the link of each pair of algorithms", |area| {
        for (row, cells) in map.cells.iter().enumerate() {
            let y = top + row as i32 * height_of_cell;
            text(area, &map.algorithms[row], (left - 3 * PT, y + height_of_cell / 2), Anchor::Right, INK)?;
            for (column, value) in cells.iter().enumerate() {
                let x = left + column as i32 * cell;
                let corners = [(x, y), (x + cell, y + height_of_cell)];
                let fill = value.map_or(RGBColor(0xf4, 0xf4, 0xf4), |cell| color::diverging(cell.share));
                area.draw(&Rectangle::new(corners, fill.filled()))?;
                area.draw(&Rectangle::new(corners, WHITE.stroke_width(BORDER)))?;
                let ink = ink_on(fill);
                let (middle, half) = ((x + cell / 2, y + height_of_cell / 2), LINE_HEIGHT / 2);
                let lines = lines(value.as_ref());
                for (i, line) in lines.iter().enumerate() {
                    let down = (2 * i as i32 - (lines.len() as i32 - 1)) * half;
                    text(area, line, (middle.0, middle.1 + down), Anchor::Center, ink)?;
                }
            }
        }
        let below = top + n * height_of_cell;
        for (column, name) in map.algorithms.iter().enumerate() {
            let x = left + column as i32 * cell + cell / 2;
            if upright_names {
                upright(area, name, (x, below + names / 2), INK)?;
            } else {
                text(area, name, (x, below + LINE_HEIGHT / 2 + PT), Anchor::Center, INK)?;
            }
        }
        let label = "beside … (share of the row's flow [%], J: Jain index)";
        let middle = (left + n * cell / 2, height - EDGE - LINE_HEIGHT / 2);
        text(area, label, middle, Anchor::Center, INK)?;
        upright(area, "Algorithm", (EDGE + LINE_HEIGHT / 2, top + n * height_of_cell / 2), INK)
    })
}

/// Background and text of a share, `#rrggbb`, as in the figure.
pub fn heat_colors(share: f64) -> (String, String) {
    let paper = color::diverging(share);
    (color::hex(paper), color::hex(ink_on(paper)))
}

fn ink_on(paper: RGBColor) -> RGBColor {
    if luminance(paper) > BRIGHT { BLACK } else { WHITE }
}

fn lines(cell: Option<&HeatCell>) -> Vec<String> {
    let Some(cell) = cell else { return vec!["–".to_owned()] };
    let mut lines = vec![format!("{:.0} %", cell.share * 100.0)];
    lines.extend(cell.jain.map(|jain| format!("J {jain:.2}")));
    lines
}
