//! One table: head, rows, selection, scrolling.

use super::app::Look;
use super::theme::Theme;
use crate::live::view::{Column, Fitted, MARK_WIDTH, Row, cells, fit};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

/// Title and unit.
const HEAD_LINES: u16 = 2;

/// Draws the rows that have room, so that the selected one is among them; says how many have.
pub(super) fn table<T: Row>(
    buffer: &mut Buffer,
    area: Rect,
    theme: Theme,
    columns: &[Column<T>],
    rows: &[&T],
    look: &mut Look,
) -> usize {
    let page = usize::from(area.height.saturating_sub(HEAD_LINES));
    let fitted = fit(columns, rows, area.width.into(), look.sort);
    for (line, y) in head(columns, &fitted, look).into_iter().zip(area.top()..area.bottom()) {
        buffer.set_line(area.x, y, &line, area.width);
    }
    let selected = look.selected.as_ref().and_then(|id| rows.iter().position(|row| row.id() == *id));
    look.top = top(look.top, selected, rows.len(), page);
    let shown = rows.iter().enumerate().skip(look.top).take(page);
    for ((at, row), y) in shown.zip(area.top() + HEAD_LINES..) {
        let line = line(theme, columns, &fitted, *row, area.width);
        buffer.set_line(area.x, y, &line, area.width);
        if selected == Some(at) {
            buffer.set_style(Rect { y, height: 1, ..area }, Theme::selected());
        }
    }
    page
}

/// The first row on the screen: where it was, unless the selected row would not be seen or the end has come nearer.
fn top(last: usize, selected: Option<usize>, rows: usize, page: usize) -> usize {
    let top = last.min(rows.saturating_sub(page));
    match selected {
        Some(at) if at < top => at,
        Some(at) if at >= top + page => (at + 1).saturating_sub(page.max(1)),
        _ => top,
    }
}

/// The sorted column has an arrow that says where its largest values are, and is bold.
fn head<T>(columns: &[Column<T>], fitted: &[Fitted], look: &Look) -> [Line<'static>; 2] {
    let arrow = if look.is_reversed { '▲' } else { '▼' };
    let line = |text: &dyn Fn(usize) -> String, style: Style| {
        let spans = fitted.iter().map(|place| {
            let is_sorted = place.column == look.sort;
            let text: String = text(place.column).chars().take(place.width).collect();
            let padded = if columns[place.column].is_right {
                format!("{text:>width$} ", width = place.width)
            } else {
                format!("{text:<width$} ", width = place.width)
            };
            Span::styled(padded, if is_sorted { style.add_modifier(Modifier::BOLD) } else { style })
        });
        Line::from(spans.collect::<Vec<_>>())
    };
    let title = |at: usize| {
        let title = columns[at].title;
        if at == look.sort { format!("{arrow}{title}") } else { title.to_owned() }
    };
    let head = Style::new().add_modifier(Modifier::UNDERLINED);
    [line(&title, Style::new()), line(&|at| columns[at].unit.to_owned(), head)]
}

fn line<T: Row>(theme: Theme, columns: &[Column<T>], fitted: &[Fitted], row: &T, width: u16) -> Line<'static> {
    let style = if row.is_faded() { Theme::faded() } else { Style::new() };
    let remark = row.remark();
    let mut spans: Vec<Span> = Vec::new();
    for (place, cell) in fitted.iter().zip(cells(columns, fitted, row)) {
        let column = &columns[place.column];
        match column.mark {
            None => spans.push(Span::styled(format!("{cell} "), style)),
            Some(mark) => {
                let rest: String = cell.chars().skip(MARK_WIDTH).collect();
                match mark(row) {
                    Some(color) => spans.push(Span::styled("■ ", theme.color(color))),
                    None => spans.push(Span::raw("  ")),
                }
                spans.push(Span::styled(format!("{rest} "), style));
                if !remark.is_empty() {
                    let used: usize = spans.iter().map(Span::width).sum();
                    spans.push(Span::styled(joined(&remark, usize::from(width).saturating_sub(used)), style));
                    break;
                }
            }
        }
    }
    Line::from(spans)
}

/// The first parts that have room together.
fn joined(parts: &[String], room: usize) -> String {
    let mut text = String::new();
    for part in parts {
        let gap = if text.is_empty() { "" } else { " " };
        if text.chars().count() + gap.len() + part.chars().count() > room {
            break;
        }
        text = text + gap + part;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_remark_are_shown_whole_or_not_at_all() {
        let parts = ["closed 2 kB", "1 ms", "retr 0"].map(str::to_owned);
        assert_eq!(joined(&parts, 16), "closed 2 kB 1 ms");
        assert_eq!(joined(&parts, 15), "closed 2 kB");
        assert_eq!(joined(&parts, 3), "");
    }

    #[test]
    fn the_selected_row_is_on_the_screen() {
        assert_eq!(top(0, None, 100, 10), 0);
        assert_eq!(top(0, Some(9), 100, 10), 0);
        assert_eq!(top(0, Some(10), 100, 10), 1);
        assert_eq!(top(50, Some(20), 100, 10), 20);
        assert_eq!(top(95, None, 100, 10), 90, "no blank lines while there are rows");
        assert_eq!(top(95, None, 5, 10), 0);
        assert_eq!(top(0, Some(3), 5, 0), 3, "no room for any row");
    }
}
