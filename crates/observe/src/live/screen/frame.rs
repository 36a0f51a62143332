//! What stands above and below every table: how the figures come about, how complete they are, and the keys.

use super::app::{App, View, Within};
use super::theme::Theme;
use crate::live::view::Snapshot;
use ccactl_host::terminal::fit_line;
use ccactl_host::units::narrow::significant;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

/// Lines above the table; those that must be seen are only there when there is something to say.
pub(super) fn header(app: &App, snapshot: &Snapshot) -> Vec<Line<'static>> {
    let status = &snapshot.status;
    let filter = if status.filter.is_empty() { "all of this host".into() } else { fit_line(&status.filter) };
    let how = format!(
        "ccactl top · Linux {} · every {}, over {} s · {filter}",
        status.kernel,
        status.every,
        significant(status.interval_s).trim_end_matches('0').trim_end_matches('.'),
    );
    let receivers = match snapshot.receivers {
        0 => String::new(),
        n => format!(" + {n} only receiving"),
    };
    let lost = if status.drops.total() == 0 { " · no row lost" } else { "" };
    let what = format!(
        "{} flows{receivers} · {} algorithms · {} cgroups · {:.0} rows/s{lost}",
        snapshot.open_flows(),
        snapshot.algorithms.len(),
        snapshot.cgroups.len(),
        status.rows_per_s,
    );
    let mut lines = vec![Line::from(how).style(Theme::strong()), Line::from(what)];
    lines.extend(lost_rows(snapshot));
    if snapshot.flows_without_room > 0 {
        let text =
            format!(" {} FLOWS WITHOUT ROOM: in no figure; choose fewer by a filter ", snapshot.flows_without_room);
        lines.push(Line::from(Span::styled(text, Theme::alarm())));
    }
    lines.push(tabs(app));
    lines
}

fn lost_rows(snapshot: &Snapshot) -> Option<Line<'static>> {
    let drops = &snapshot.status.drops;
    let reasons = [
        ("samples", drops.ring_full_samples),
        ("events", drops.ring_full_events),
        ("for want of memory", drops.no_storage),
    ];
    let reasons: Vec<String> =
        reasons.iter().filter(|(_, n)| *n > 0).map(|(reason, n)| format!("{n} {reason}")).collect();
    (drops.total() > 0).then(|| {
        Line::from(vec![
            Span::styled(format!(" {} ROWS LOST ", drops.total()), Theme::alarm()),
            Span::raw(format!(" {}: choose a rarer --every", reasons.join(", "))),
        ])
    })
}

fn tabs(app: &App) -> Line<'static> {
    let mut spans = Vec::new();
    for (view, name) in View::ALL.into_iter().zip(["1 cgroups", "2 algorithms", "3 flows"]) {
        // The brackets say it without colour or weight.
        if view == app.view {
            spans.push(Span::styled(format!("[{name}]"), Theme::strong()));
        } else {
            spans.push(Span::raw(format!(" {name} ")));
        }
    }
    match &app.within {
        Some(Within::Cgroup(path)) => spans.push(Span::raw(format!("  of {}", fit_line(path)))),
        Some(Within::Algorithm(name)) => spans.push(Span::raw(format!("  with {}", fit_line(name)))),
        None => {}
    }
    if app.is_typing {
        spans.push(Span::styled(format!("  filter: {}▏", fit_line(&app.filter)), Theme::strong()));
    } else if !app.filter.is_empty() {
        spans.push(Span::raw(format!("  filter: {}", fit_line(&app.filter))));
    }
    if app.are_closed_hidden {
        spans.push(Span::raw("  closed hidden"));
    }
    if app.is_paused {
        spans.push(Span::raw("  "));
        spans.push(Span::styled(" PAUSED ", Theme::alarm()));
    }
    Line::from(spans)
}

/// The keys that do something now.
pub(super) fn footer(app: &App) -> Line<'static> {
    let keys: &[(&str, &str)] = if app.is_typing {
        &[("text", "words of address, port, cgroup, algorithm"), ("⏎", "keep"), ("Esc", "clear")]
    } else if app.detail.is_some() {
        &[("q", "quit"), ("?", "help"), ("Esc", "back"), ("↑↓", "other flow"), ("p", "pause")]
    } else {
        &[
            ("q", "quit"),
            ("?", "help"),
            ("Tab", "view"),
            ("↑↓ ⏎", "open"),
            ("←→", "sort"),
            ("r", "reverse"),
            ("/", "filter"),
            ("p", "pause"),
        ]
    };
    let mut spans = Vec::new();
    for (key, action) in keys {
        spans.push(Span::styled(*key, Theme::strong()));
        spans.push(Span::styled(format!(" {action}  "), Style::new()));
    }
    Line::from(spans)
}
