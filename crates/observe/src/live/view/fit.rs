//! Which columns a table of a given width has, and how wide they are.

use super::columns::Column;
use super::format::elide;
use ccactl_host::terminal::fit_line;

/// A column that has found its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fitted {
    /// Index in the columns.
    pub column: usize,
    /// Its width, without the gap behind it.
    pub width: usize,
}

/// Between two columns.
pub(crate) const GAP: usize = 1;
/// What a text needs is its content, up to this, before columns of higher ranks come: two ports and an IPv4 address.
const KEY_WIDTH: usize = 28;
/// Columns up to this rank have their texts and bars widened before others come, up to this width.
const CORE_RANK: u8 = 5;
const COMFORT_WIDTH: usize = 16;
/// Mark and blank before a marked cell.
pub const MARK_WIDTH: usize = 2;

/// The columns for which there is room, by rank, in their order. `kept` has room in any case: the one that the table is
/// sorted by. Texts take the room that is left, as far as their content needs it.
pub fn fit<T>(columns: &[Column<T>], rows: &[&T], width: usize, kept: usize) -> Vec<Fitted> {
    let mut by_rank: Vec<usize> = (0..columns.len()).collect();
    by_rank.sort_by_key(|at| if *at == kept { 0 } else { columns[*at].rank });
    let mut room = width.saturating_add(GAP);
    let mut fitted = Vec::new();
    let mut is_core = true;
    for at in by_rank {
        if is_core && columns[at].rank > CORE_RANK && at != kept {
            is_core = false;
            widen(columns, rows, &mut fitted, &mut room, COMFORT_WIDTH);
        }
        let widths = [needed_width(&columns[at], rows), least_width(&columns[at])];
        if let Some(width) = widths.into_iter().find(|width| room >= width + GAP) {
            room -= width + GAP;
            fitted.push(Fitted { column: at, width });
        }
    }
    widen(columns, rows, &mut fitted, &mut room, usize::MAX);
    fitted.sort_by_key(|place| place.column);
    fitted
}

/// Gives room to texts and bars, by rank, as far as their content needs it and `most` allows.
fn widen<T>(columns: &[Column<T>], rows: &[&T], fitted: &mut [Fitted], room: &mut usize, most: usize) {
    for place in fitted {
        let wanted = wanted_width(&columns[place.column], rows).min(most);
        let more = wanted.saturating_sub(place.width).min(*room);
        place.width += more;
        *room -= more;
    }
}

/// The cells of a row, each as wide as its column; the mark of a marked one is left blank.
pub fn cells<T>(columns: &[Column<T>], fitted: &[Fitted], row: &T) -> Vec<String> {
    fitted.iter().map(|place| cell(&columns[place.column], place.width, row)).collect()
}

fn cell<T>(column: &Column<T>, width: usize, row: &T) -> String {
    let mark = mark_width(column);
    let text = elide(&text(column, row, width - mark), width - mark);
    if column.is_right { format!("{text:>width$}") } else { format!("{:mark$}{text:<1$}", "", width - mark) }
}

/// What a cell shows, with room for so much. Names are those of others, so it is made fit for a terminal.
fn text<T>(column: &Column<T>, row: &T, room: usize) -> String {
    fit_line(&(column.cell)(row, room)).into_owned()
}

pub(crate) fn mark_width<T>(column: &Column<T>) -> usize {
    if column.mark.is_some() { MARK_WIDTH } else { 0 }
}

/// The arrow of the sorted column stands before its title, so a title has room for it.
fn least_width<T>(column: &Column<T>) -> usize {
    (column.width + mark_width(column)).max(column.title.chars().count() + 1)
}

fn needed_width<T>(column: &Column<T>, rows: &[&T]) -> usize {
    let content = content_width(column, rows, column.width).min(KEY_WIDTH);
    (content + mark_width(column)).max(least_width(column))
}

fn wanted_width<T>(column: &Column<T>, rows: &[&T]) -> usize {
    content_width(column, rows, column.max_width) + mark_width(column)
}

/// What the cells of a column would take, had they that much room; of figures it is known.
fn content_width<T>(column: &Column<T>, rows: &[&T], room: usize) -> usize {
    if column.is_right {
        return column.width;
    }
    let content = rows.iter().map(|row| text(column, row, room).chars().count()).max().unwrap_or(0);
    content.min(column.max_width)
}

#[cfg(test)]
mod tests {
    use super::super::columns::Key;
    use super::*;

    fn column(title: &'static str, width: usize, max_width: usize, rank: u8) -> Column<&'static str> {
        Column {
            title,
            unit: "",
            width,
            max_width,
            rank,
            is_right: width == max_width,
            cell: |text, _| (*text).to_owned(),
            key: |text| Key::Text(text),
            mark: None,
        }
    }

    fn widths(width: usize, kept: usize) -> Vec<(usize, usize)> {
        let columns = [column("name", 6, 40, 0), column("a", 5, 5, 2), column("b", 5, 5, 1), column("text", 6, 12, 3)];
        let fitted = fit(&columns, &[&"ten chars!"], width, kept);
        assert!(fitted.iter().map(|place| place.width + GAP).sum::<usize>() <= width + GAP);
        fitted.iter().map(|place| (place.column, place.width)).collect()
    }

    #[test]
    fn columns_go_by_rank_and_what_is_left_goes_to_texts() {
        assert_eq!(widths(80, 0), [(0, 10), (1, 5), (2, 5), (3, 10)]);
        assert_eq!(widths(30, 0), [(0, 10), (1, 5), (2, 5), (3, 7)], "as much as there is");
        assert_eq!(widths(22, 0), [(0, 10), (1, 5), (2, 5)]);
        assert_eq!(widths(16, 0), [(0, 10), (2, 5)], "the lower rank stays");
    }

    #[test]
    fn the_column_that_is_sorted_by_stays() {
        assert_eq!(widths(16, 1), [(0, 10), (1, 5)]);
    }

    #[test]
    fn what_a_terminal_must_not_get_is_escaped_before_the_width_is_measured() {
        let columns = [column("name", 4, 40, 0), column("n", 5, 5, 1)];
        let fitted = fit(&columns, &[&"/\u{1b}\u{202e}x"], 80, 0);
        assert_eq!(cells(&columns, &fitted, &"/\u{1b}\u{202e}x")[0], "/\\u{1b}\\u{202e}x");
    }

    #[test]
    fn a_cell_is_as_wide_as_its_column() {
        let columns = [column("name", 6, 40, 0), column("n", 5, 5, 0)];
        let fitted = [Fitted { column: 0, width: 8 }, Fitted { column: 1, width: 5 }];
        assert_eq!(cells(&columns, &fitted, &"abc"), ["abc     ", "  abc"]);
        assert_eq!(cells(&columns, &fitted, &"0123456789"), ["…3456789", "…6789"]);
    }
}
