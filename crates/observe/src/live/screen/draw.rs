//! The whole screen.

use super::app::{App, View};
use super::detail::Charted;
use super::theme::Theme;
use super::{detail, frame, help, table};
use crate::live::board::History;
use crate::live::view::{ALGORITHMS, CGROUPS, FLOWS, Snapshot};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::Line;
use ratatui::widgets::Paragraph;

/// Draws what `app` looks at; `history` is of the flow whose details are shown.
pub fn draw(screen: &mut Frame<'_>, app: &mut App, theme: Theme, snapshot: &Snapshot, history: Option<&History>) {
    let header = frame::header(app, snapshot);
    let notes = app.notes.lines(screen.area().width, screen.area().height);
    let [above, middle, noted, below] = Layout::vertical([
        Constraint::Length(header.len() as u16),
        Constraint::Min(0),
        Constraint::Length(notes.len() as u16),
        Constraint::Length(1),
    ])
    .areas(screen.area());
    screen.render_widget(Paragraph::new(header), above);
    screen.render_widget(Paragraph::new(notes), noted);
    if app.is_help_shown {
        screen.render_widget(Paragraph::new(help::lines()), middle);
        screen.render_widget(Line::from("any key: back").style(Theme::strong()), below);
        return;
    }
    match app.detail {
        Some(key) => match snapshot.flows.iter().find(|flow| flow.key() == key) {
            Some(flow) => {
                // Two points per window.
                let charted = Charted { history, point_s: snapshot.status.interval_s / 2.0 };
                detail::detail(screen.buffer_mut(), middle, theme, flow, &charted);
            }
            None => screen.render_widget("This flow is closed and gone; Esc goes back.", middle),
        },
        None => tables(screen, app, theme, snapshot, middle),
    }
    screen.render_widget(frame::footer(app), below);
}

fn tables(screen: &mut Frame<'_>, app: &mut App, theme: Theme, snapshot: &Snapshot, area: Rect) {
    let mut look = app.look().clone();
    let buffer = screen.buffer_mut();
    app.page = match app.view {
        View::Flows => table::table(buffer, area, theme, FLOWS, &app.flows(snapshot), &mut look),
        View::Cgroups => table::table(buffer, area, theme, CGROUPS, &app.groups(snapshot), &mut look),
        View::Algorithms => table::table(buffer, area, theme, ALGORITHMS, &app.groups(snapshot), &mut look),
    };
    *app.look_mut() = look;
}
