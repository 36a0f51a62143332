//! Rows of cells as lines of a terminal: the one way in which columns become text.

/// Spaces between columns.
pub const GAP: usize = 2;

/// On which side of its column a cell stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Names.
    Left,
    /// Figures.
    Right,
}

/// Characters of a text.
#[must_use]
pub fn length(text: &str) -> usize {
    text.chars().count()
}

/// How wide each column has to be. Rows may be shorter than the longest one.
pub fn widths<'a, R>(rows: impl IntoIterator<Item = R>) -> Vec<usize>
where
    R: IntoIterator<Item = &'a str>,
{
    let mut widths = Vec::new();
    for row in rows {
        for (column, cell) in row.into_iter().enumerate() {
            if widths.len() <= column {
                widths.push(0);
            }
            widths[column] = widths[column].max(length(cell));
        }
    }
    widths
}

/// One row as a line without blanks at its end. Cells are not cut: a longer one pushes those behind it.
pub fn line<'a>(cells: impl IntoIterator<Item = (&'a str, usize, Side)>) -> String {
    let mut line = String::new();
    for (column, (cell, width, side)) in cells.into_iter().enumerate() {
        // Not with `{:<width$}`, which panics for a width beyond 65535, and a name may be longer.
        let blanks = width.saturating_sub(length(cell));
        let (before, after) = if side == Side::Right { (blanks, 0) } else { (0, blanks) };
        line.extend(std::iter::repeat_n(' ', before + if column == 0 { 0 } else { GAP }));
        line.push_str(cell);
        line.extend(std::iter::repeat_n(' ', after));
    }
    line.truncate(line.trim_end().len());
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_left_and_figures_right() {
        let rows = [["flow", "ms"], ["a", "12.5"], ["left", ""]];
        let widths = widths(rows);
        assert_eq!(widths, [4, 4]);
        let of = |row: [&'static str; 2]| line([(row[0], widths[0], Side::Left), (row[1], widths[1], Side::Right)]);
        assert_eq!(rows.map(of), ["flow    ms", "a     12.5", "left"]);
    }

    #[test]
    fn a_name_may_be_longer_than_a_format_string_allows() {
        let name = "x".repeat(70_000);
        assert_eq!(line([("ä", 70_000, Side::Left), (&name, 3, Side::Right)]).chars().count(), 140_002);
    }
}
