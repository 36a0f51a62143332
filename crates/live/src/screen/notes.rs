//! Lines of whoever started the screen, below what is shown: for `ccactl dev`, which tells there what became of a version.

use ccactl_host::terminal::fit_line;
use ratatui::text::Line;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Lines that are kept; compilers say more than anybody reads at once.
const KEPT: usize = 100;
/// Lines of the screen that they may take.
const SHOWN: usize = 12;

/// The latest lines.
#[derive(Debug, Clone, Default)]
pub struct Notes(Arc<Mutex<VecDeque<String>>>);

impl Notes {
    /// Reads lines until the writer closes its end.
    #[must_use]
    pub fn read(from: File) -> Notes {
        let notes = Notes::default();
        let kept = notes.clone();
        thread::spawn(move || {
            for line in BufReader::new(from).lines().map_while(Result::ok) {
                kept.push(&line);
            }
        });
        notes
    }

    pub(super) fn push(&self, line: &str) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.push_back(fit_line(line).into_owned());
        if lines.len() > KEPT {
            lines.pop_front();
        }
    }

    /// The last ones, a rule above them.
    pub(super) fn lines(&self, width: u16) -> Vec<Line<'static>> {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.is_empty() {
            return Vec::new();
        }
        let rule = Line::from("─".repeat(usize::from(width)));
        let last = lines.iter().skip(lines.len().saturating_sub(SHOWN));
        std::iter::once(rule).chain(last.map(|line| Line::from(line.clone()))).collect()
    }
}
