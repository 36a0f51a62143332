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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::view::Key;

    #[test]
    fn a_table_has_a_head_and_a_line_per_row_however_wide_it_may_be() {
        let column = |title, is_right| Column {
            title,
            unit: "unit",
            width: 4,
            max_width: if is_right { 4 } else { 9 },
            rank: 0,
            is_right,
            cell: |text: &&str, _| (*text).to_owned(),
            key: |text| Key::Text(text),
            mark: None,
        };
        let columns = [column("name", false), column("n", true)];
        assert_eq!(plain(&columns, &[&"abc"], usize::MAX), "name     n\nunit  unit\nabc    abc\n");
        assert_eq!(plain(&columns, &[&"abc"], 5), "name\nunit\nabc\n");
    }
}
