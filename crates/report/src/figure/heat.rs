//! Numbers on a scale of colours that runs from one hue to another through white: fairness of every pair of algorithms, or
//! any other matrix.

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

/// A matrix of numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Grid {
    /// For screen readers.
    pub title: String,
    /// What the rows are.
    pub row_label: String,
    /// What the columns are, and what stands in a cell.
    pub column_label: String,
    /// Names of the rows.
    pub rows: Vec<String>,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// `cells[row][column]`; `None` where there is nothing.
    pub cells: Vec<Vec<Option<GridCell>>>,
}

/// One number of a matrix.
#[derive(Debug, Clone, PartialEq)]
pub struct GridCell {
    /// Where it stands on the scale of colours, from 0 to 1; 0.5 is white.
    pub share: f64,
    /// What it says, line by line.
    pub lines: Vec<String>,
}

/// The map as a figure: rows share the link with columns.
pub fn heat_map(map: &HeatMap, width: Width) -> String {
    let cell = |cell: &HeatCell| GridCell { share: cell.share, lines: lines(cell) };
    let cells = map.cells.iter().map(|row| row.iter().map(|of| of.as_ref().map(cell)).collect()).collect();
    let grid = Grid {
        title: "Share of the link of each pair of algorithms".to_owned(),
        row_label: "Algorithm".to_owned(),
        column_label: "beside … (share of the row's flow [%], J: Jain index)".to_owned(),
        rows: map.algorithms.clone(),
        columns: map.algorithms.clone(),
        cells,
    };
    draw(&grid, width)
}

/// A matrix as a figure.
#[must_use]
pub fn draw(grid: &Grid, width: Width) -> String {
    let (columns, rows) = (grid.columns.len().max(1) as i32, grid.rows.len() as i32);
    let widest = |names: &[String]| names.iter().map(|name| text_width(name)).max().unwrap_or(0);
    let left = EDGE + LINE_HEIGHT + widest(&grid.rows) + 4 * PT;
    let cell = (width.units() - left - EDGE) / columns;
    let most_lines = grid.cells.iter().flatten().flatten().map(|cell| cell.lines.len()).max().unwrap_or(1) as i32;
    let lowest = LOWEST_CELL.max((most_lines + 1) * LINE_HEIGHT);
    let height_of_cell = lowest.max(cell.min(LOWEST_CELL * 3 / 2));
    // Names that do not fit beside each other stand upright.
    let upright_names = widest(&grid.columns) + 2 * PT > cell;
    let names = if upright_names { widest(&grid.columns) + 4 * PT } else { LINE_HEIGHT };
    let top = EDGE;
    let height = top + rows * height_of_cell + names + LINE_HEIGHT + 2 * EDGE;
    sheet::svg(width.units(), height, &grid.title, |area| {
        for (row, cells) in grid.cells.iter().enumerate() {
            let y = top + row as i32 * height_of_cell;
            text(area, &grid.rows[row], (left - 3 * PT, y + height_of_cell / 2), Anchor::Right, INK)?;
            for (column, value) in cells.iter().enumerate() {
                let x = left + column as i32 * cell;
                let corners = [(x, y), (x + cell, y + height_of_cell)];
                let fill = value.as_ref().map_or(RGBColor(0xf4, 0xf4, 0xf4), |cell| color::diverging(cell.share));
                area.draw(&Rectangle::new(corners, fill.filled()))?;
                area.draw(&Rectangle::new(corners, WHITE.stroke_width(BORDER)))?;
                let ink = ink_on(fill);
                let (middle, half) = ((x + cell / 2, y + height_of_cell / 2), LINE_HEIGHT / 2);
                let nothing = ["–".to_owned()];
                let lines = value.as_ref().map_or(&nothing[..], |cell| &cell.lines);
                for (i, line) in lines.iter().enumerate() {
                    let down = (2 * i as i32 - (lines.len() as i32 - 1)) * half;
                    text(area, line, (middle.0, middle.1 + down), Anchor::Center, ink)?;
                }
            }
        }
        let below = top + rows * height_of_cell;
        for (column, name) in grid.columns.iter().enumerate() {
            let x = left + column as i32 * cell + cell / 2;
            if upright_names {
                upright(area, name, (x, below + names / 2), INK)?;
            } else {
                text(area, name, (x, below + LINE_HEIGHT / 2 + PT), Anchor::Center, INK)?;
            }
        }
        let middle = (left + columns * cell / 2, height - EDGE - LINE_HEIGHT / 2);
        text(area, &grid.column_label, middle, Anchor::Center, INK)?;
        upright(area, &grid.row_label, (EDGE + LINE_HEIGHT / 2, top + rows * height_of_cell / 2), INK)
    })
}

/// Background and text of a share, `#rrggbb`, as in the figure.
#[must_use]
pub fn heat_colors(share: f64) -> (String, String) {
    let paper = color::diverging(share);
    (color::hex(paper), color::hex(ink_on(paper)))
}

fn ink_on(paper: RGBColor) -> RGBColor {
    if luminance(paper) > BRIGHT { BLACK } else { WHITE }
}

fn lines(cell: &HeatCell) -> Vec<String> {
    let mut lines = vec![format!("{:.0} %", cell.share * 100.0)];
    lines.extend(cell.jain.map(|jain| format!("J {jain:.2}")));
    lines
}
