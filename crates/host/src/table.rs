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

/// Rows under a head, which is the first of them, as lines that are at most so wide, if they can be. What is too wide is broken between
/// words, in the widest column first: heads, and cells that stand left. Figures stay whole.
#[must_use]
pub fn grid<S: AsRef<str>>(rows: &[Vec<S>], side: impl Fn(usize) -> Side, width: Option<usize>) -> String {
    let texts = || rows.iter().map(|row| row.iter().map(AsRef::as_ref));
    let mut widths = widths(texts());
    let least: Vec<usize> = (0..widths.len()).map(|column| least_width(rows, column, side(column))).collect();
    let total = |widths: &[usize]| widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1);
    while width.is_some_and(|width| total(&widths) > width) {
        let breakable = (0..widths.len()).filter(|&column| widths[column] > least[column]);
        let Some(widest) = breakable.max_by_key(|&column| widths[column]) else { break };
        widths[widest] -= 1;
    }
    texts().map(|row| broken(row, &widths, &side)).collect()
}

/// What cannot be broken in a column.
fn least_width<S: AsRef<str>>(rows: &[Vec<S>], column: usize, side: Side) -> usize {
    let cells = rows.iter().enumerate().filter_map(|(number, row)| Some((number, row.get(column)?.as_ref())));
    let longest_word = |text: &str| text.split(' ').map(length).max().unwrap_or(0);
    let least = cells.map(|(number, text)| match side {
        Side::Right if number > 0 => length(text),
        _ => longest_word(text),
    });
    least.max().unwrap_or(0)
}

/// One row, on as many lines as its cells need.
fn broken<'a>(row: impl Iterator<Item = &'a str>, widths: &[usize], side: &impl Fn(usize) -> Side) -> String {
    let cells: Vec<Vec<String>> = row.zip(widths).map(|(cell, &width)| words_within(cell, width)).collect();
    let height = cells.iter().map(Vec::len).max().unwrap_or(0);
    let text = |cell: &'_ Vec<String>, at: usize| cell.get(at).cloned().unwrap_or_default();
    let lines = (0..height).map(|at| {
        let parts: Vec<String> = cells.iter().map(|cell| text(cell, at)).collect();
        let parts = parts.iter().zip(widths).enumerate();
        line(parts.map(|(column, (part, &width))| (part.as_str(), width, side(column)))) + "\n"
    });
    lines.collect()
}

fn words_within(text: &str, width: usize) -> Vec<String> {
    if length(text) <= width {
        return vec![text.to_owned()];
    }
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.last_mut().expect("has one");
        if last.is_empty() {
            last.push_str(word);
        } else if length(last) + 1 + length(word) <= width {
            last.push(' ');
            last.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(rows: &[&[&str]]) -> Vec<Vec<String>> {
        rows.iter().map(|row| row.iter().map(|&cell| cell.to_owned()).collect()).collect()
    }

    fn side(column: usize) -> Side {
        if column == 0 { Side::Left } else { Side::Right }
    }

    #[test]
    fn a_table_that_is_too_wide_is_broken_between_words_and_never_in_figures() {
        let rows = rows(&[&["flow", "mean RTT [ms]", "n"], &["a flow with a long name", "12.5 ± 0.1", "7"]]);
        let whole = "flow                     mean RTT [ms]  n\na flow with a long name     12.5 ± 0.1  7\n";
        assert_eq!(grid(&rows, side, None), whole);
        assert_eq!(grid(&rows, side, Some(80)), whole);
        let narrow =
            "flow            mean RTT  n\n                    [ms]\na flow with   12.5 ± 0.1  7\na long name\n";
        assert_eq!(grid(&rows, side, Some(27)), narrow);
        // Where nothing can be broken any more, it stays too wide.
        assert!(grid(&rows, side, Some(1)).contains("12.5 ± 0.1"));
    }

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
