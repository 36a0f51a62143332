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
/// Share of the screen that they may take.
const SHARE: u16 = 3;

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

    /// The last ones as far as they have room on a screen of this size, a rule above them. Long ones are broken.
    pub(super) fn lines(&self, width: u16, height: u16) -> Vec<Line<'static>> {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.is_empty() {
            return Vec::new();
        }
        let rule = Line::from("─".repeat(usize::from(width)));
        let chars: Vec<Vec<char>> = lines.iter().map(|line| line.chars().collect()).collect();
        let broken = chars.iter().flat_map(|line| line.chunks(usize::from(width.max(1))));
        let broken: Vec<String> = broken.map(|part| part.iter().collect()).collect();
        let shown = usize::from(height / SHARE).max(1);
        let last = broken[broken.len().saturating_sub(shown)..].iter().map(|line| Line::from(line.clone()));
        std::iter::once(rule).chain(last).collect()
    }
}
