//! A table as plain text, for scripts and pipes.

use super::columns::Column;
use super::fit::{cells, fit};

/// Head, unit and rows of a table that is at most so wide; lines end with their last character.
pub fn plain<T>(columns: &[Column<T>], rows: &[&T], width: usize) -> String {
    let fitted = fit(columns, rows, width, 0);
    let head = |part: fn(&Column<T>) -> &'static str| {
        fitted
            .iter()
            .map(|place| {
                let column = &columns[place.column];
                let text: String = part(column).chars().take(place.width).collect();
                let width = place.width;
                if column.is_right { format!("{text:>width$}") } else { format!("{text:<width$}") }
            })
            .collect::<Vec<_>>()
    };
    let lines = [head(|column| column.title), head(|column| column.unit)];
    let rows = rows.iter().map(|row| cells(columns, &fitted, row));
    lines.into_iter().chain(rows).map(|cells| format!("{}\n", cells.join(" ").trim_end())).collect()
}
