//! The loop of `ccactl top`: look, draw, wait for a key.

use super::app::App;
use super::draw::draw;
use super::theme::Theme;
use crate::live::board::Board;
use crate::live::view::Snapshot;
use crate::live::watch::Watch;
use ccactl_abi::exit;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use ratatui::{DefaultTerminal, try_init, try_restore};
use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use thiserror::Error;

/// Redraws come twice per window, but within these bounds.
const REDRAW: std::ops::RangeInclusive<Duration> = Duration::from_millis(250)..=Duration::from_secs(1);
/// A signal is noticed after this long at the latest.
const SIGNAL: Duration = Duration::from_millis(100);

/// Why the screen ended.
#[derive(Debug, Error)]
pub enum Error {
    /// There is none.
    #[error("top needs a terminal on standard input and output: use --once to print one interval")]
    NoTerminal,
    /// The terminal refused.
    #[error("the terminal cannot be used: {0}; `--once` needs none")]
    Terminal(#[from] io::Error),
    /// The recorder failed.
    #[error(transparent)]
    Recorder(#[from] ccactl_collector::Error),
}

impl Error {
    /// Exit code of the binary for this error.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::NoTerminal => exit::USAGE,
            Error::Terminal(_) => exit::FAILURE,
            Error::Recorder(error) => error.exit_code(),
        }
    }
}

/// Shows what `watch` sees until a key or `is_stopped` ends it. The terminal is given back whatever happens.
///
/// # Errors
/// [`enum@Error`]
pub fn run(watch: Watch, app: App, interval: Duration, is_stopped: &AtomicBool) -> Result<(), Error> {
    // Also makes a panic, of whatever thread, give the terminal back before it says anything.
    let terminal = try_init()?;
    let shown = show(terminal, watch, app, interval, is_stopped);
    // After a hang-up there is nothing to give back.
    let restored = try_restore();
    shown?;
    if is_stopped.load(Ordering::Relaxed) { Ok(()) } else { Ok(restored?) }
}

fn show(
    mut terminal: DefaultTerminal,
    mut watch: Watch,
    mut app: App,
    interval: Duration,
    is_stopped: &AtomicBool,
) -> Result<(), Error> {
    let theme = Theme::of(|name| std::env::var(name).ok());
    let redraw = (interval / 2).clamp(*REDRAW.start(), *REDRAW.end());
    let mut snapshot = Snapshot::default();
    let mut held: Option<Board> = None;
    loop {
        if !app.is_paused() {
            held = None;
            snapshot = watch.look();
            app.see(&snapshot);
        } else if held.is_none() {
            held = Some(watch.copy());
        }
        let history = app.detail().and_then(|key| match &held {
            Some(board) => board.flow(key).map(|flow| flow.history.clone()),
            None => watch.history(key),
        });
        let drawn = terminal.draw(|screen| draw(screen, &mut app, theme, &snapshot, history.as_ref()));
        let is_left = drawn.map_err(Error::Terminal).and_then(|_| {
            let next = Instant::now() + redraw;
            wait(&mut app, &snapshot, next, is_stopped, || watch.is_finished())
        });
        match is_left {
            Ok(false) => {}
            Ok(true) => return Ok(watch.stop()?),
            // A terminal that hung up is not an error of ours.
            Err(_) if is_stopped.load(Ordering::Relaxed) => return Ok(watch.stop()?),
            Err(error) => return Err(error),
        }
    }
}

/// Waits for input at most this long; whether nobody is there any more. crossterm must not be asked then: it reads the end of
/// its input over and over, and never comes back.
fn is_hung_up(patience: Duration) -> bool {
    let stdin = io::stdin();
    let mut terminal = [PollFd::new(stdin.as_fd(), PollFlags::POLLIN)];
    // An interruption is a signal: a resize, or one that the caller has set a flag for.
    let polled = poll(&mut terminal, PollTimeout::try_from(patience).unwrap_or(PollTimeout::ZERO));
    let gone = PollFlags::POLLHUP | PollFlags::POLLERR | PollFlags::POLLNVAL;
    polled.is_ok() && terminal[0].revents().is_some_and(|events| events.intersects(gone))
}

/// Waits for the next redraw; a key brings it forward. Whether it is time to end.
fn wait(
    app: &mut App,
    snapshot: &Snapshot,
    next: Instant,
    is_stopped: &AtomicBool,
    is_finished: impl Fn() -> bool,
) -> Result<bool, Error> {
    loop {
        if is_stopped.load(Ordering::Relaxed) || is_finished() {
            return Ok(true);
        }
        let left = next.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(false);
        }
        if is_hung_up(left.min(SIGNAL)) {
            return Ok(true);
        }
        if event::poll(Duration::ZERO)? {
            match event::read()? {
                Event::Key(key) if key.kind != KeyEventKind::Release => return Ok(app.press(key, snapshot)),
                Event::Resize(..) => return Ok(false),
                _ => {}
            }
        }
    }
}
