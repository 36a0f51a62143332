//! What is looked at, and what keys change about it.

use super::notes::Notes;
use crate::live::board::FlowKey;
use crate::live::view::{ALGORITHMS, CGROUPS, Column, FLOWS, FlowRow, GroupRow, Row, RowId, Snapshot};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// The tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// One row per cgroup.
    Cgroups,
    /// One row per algorithm.
    Algorithms,
    /// One row per flow.
    Flows,
}

impl View {
    pub(super) const ALL: [View; 3] = [View::Cgroups, View::Algorithms, View::Flows];

    fn columns(self) -> usize {
        match self {
            View::Cgroups => CGROUPS.len(),
            View::Algorithms => ALGORITHMS.len(),
            View::Flows => FLOWS.len(),
        }
    }
}

/// How one table is looked at.
#[derive(Debug, Clone)]
pub(super) struct Look {
    pub(super) sort: usize,
    pub(super) is_reversed: bool,
    pub(super) selected: Option<RowId>,
    /// First row on the screen.
    pub(super) top: usize,
}

impl Look {
    fn sorted_by<T>(columns: &[Column<T>], title: &str) -> Look {
        let sort = columns.iter().position(|column| column.title == title).unwrap_or(0);
        Look { sort, is_reversed: false, selected: None, top: 0 }
    }
}

/// Flows of one group only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Within {
    Cgroup(String),
    Algorithm(String),
}

/// The state of the screen.
#[derive(Debug, Clone)]
pub struct App {
    pub(super) view: View,
    looks: [Look; 3],
    pub(super) filter: String,
    pub(super) is_typing: bool,
    pub(super) within: Option<Within>,
    pub(super) detail: Option<FlowKey>,
    pub(super) is_help_shown: bool,
    pub(super) is_paused: bool,
    pub(super) are_closed_hidden: bool,
    /// Rows that the table has on the screen, as last drawn.
    pub(super) page: usize,
    pub(super) notes: Notes,
    /// Opens the details of the first flow that comes.
    pub(super) waits_for_a_flow: bool,
}

impl Default for App {
    fn default() -> App {
        App {
            view: View::Flows,
            looks: [
                Look::sorted_by(CGROUPS, "goodput"),
                Look::sorted_by(ALGORITHMS, "goodput"),
                Look::sorted_by(FLOWS, "goodput"),
            ],
            filter: String::new(),
            is_typing: false,
            within: None,
            detail: None,
            is_help_shown: false,
            is_paused: false,
            are_closed_hidden: false,
            page: 1,
            notes: Notes::default(),
            waits_for_a_flow: false,
        }
    }
}

impl App {
    /// With the notes of whoever started the screen, and the details of the first flow that comes.
    #[must_use]
    pub fn beside(notes: Notes) -> App {
        App { notes, waits_for_a_flow: true, ..App::default() }
    }

    /// Opens the flow that was waited for.
    pub(super) fn see(&mut self, snapshot: &Snapshot) {
        if self.waits_for_a_flow
            && let Some(first) = self.flows(snapshot).first()
        {
            self.detail = Some(first.key());
            self.waits_for_a_flow = false;
        }
    }

    /// Whether the picture stands still.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.is_paused
    }

    /// The flow whose details are shown.
    #[must_use]
    pub fn detail(&self) -> Option<FlowKey> {
        self.detail
    }

    pub(super) fn look(&self) -> &Look {
        &self.looks[self.view as usize]
    }

    pub(super) fn look_mut(&mut self) -> &mut Look {
        &mut self.looks[self.view as usize]
    }

    /// The flows of the table in its order.
    pub(super) fn flows<'a>(&self, snapshot: &'a Snapshot) -> Vec<&'a FlowRow> {
        let is_within = |flow: &FlowRow| match &self.within {
            None => true,
            Some(Within::Cgroup(path)) => flow.cgroup == *path,
            Some(Within::Algorithm(name)) => flow.kernel_name == *name,
        };
        let is_shown = |flow: &&FlowRow| is_within(flow) && !(self.are_closed_hidden && flow.is_closed);
        self.arranged(snapshot.flows.iter().filter(is_shown), FLOWS, &self.looks[View::Flows as usize])
    }

    /// The groups of the table in its order.
    pub(super) fn groups<'a>(&self, snapshot: &'a Snapshot) -> Vec<&'a GroupRow> {
        if self.view == View::Cgroups {
            self.arranged(snapshot.cgroups.iter(), CGROUPS, self.look())
        } else {
            self.arranged(snapshot.algorithms.iter(), ALGORITHMS, self.look())
        }
    }

    fn arranged<'a, T: Row>(
        &self,
        rows: impl Iterator<Item = &'a T>,
        columns: &[Column<T>],
        look: &Look,
    ) -> Vec<&'a T> {
        let filter = self.filter.to_lowercase();
        let words: Vec<&str> = filter.split_whitespace().collect();
        let mut rows: Vec<&T> = rows.filter(|row| words.iter().all(|word| row.has(word))).collect();
        let key = columns[look.sort].key;
        // Stable: rows that are equal keep the order of the snapshot.
        rows.sort_by(|a, b| key(a).compare(&key(b), look.is_reversed));
        rows
    }

    /// Does what a key asks for; whether it asks to end.
    pub fn press(&mut self, key: KeyEvent, snapshot: &Snapshot) -> bool {
        if key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c') {
            return true;
        }
        if self.is_typing {
            self.type_filter(key.code);
        } else if self.is_help_shown {
            self.is_help_shown = false;
        } else {
            return self.command(key.code, snapshot);
        }
        false
    }

    fn type_filter(&mut self, key: KeyCode) {
        match key {
            KeyCode::Enter => self.is_typing = false,
            KeyCode::Esc => {
                self.is_typing = false;
                self.filter.clear();
            }
            KeyCode::Backspace => {
                self.filter.pop();
            }
            KeyCode::Char(c) => self.filter.push(c),
            _ => {}
        }
    }

    fn command(&mut self, key: KeyCode, snapshot: &Snapshot) -> bool {
        match key {
            KeyCode::Char('q') => return true,
            KeyCode::Char('?' | 'h') => self.is_help_shown = true,
            KeyCode::Char('p' | ' ') => self.is_paused = !self.is_paused,
            KeyCode::Char('1') => self.show(View::Cgroups),
            KeyCode::Char('2') => self.show(View::Algorithms),
            KeyCode::Char('3') => self.show(View::Flows),
            KeyCode::Tab => self.show(View::ALL[(self.view as usize + 1) % 3]),
            KeyCode::BackTab => self.show(View::ALL[(self.view as usize + 2) % 3]),
            KeyCode::Char('/') => {
                self.detail = None;
                self.is_typing = true;
            }
            KeyCode::Char('x') => self.are_closed_hidden = !self.are_closed_hidden,
            KeyCode::Right | KeyCode::Char('>') => self.sort_by_next(1),
            KeyCode::Left | KeyCode::Char('<') => self.sort_by_next(self.view.columns() - 1),
            KeyCode::Char('r') => self.look_mut().is_reversed ^= true,
            KeyCode::Down | KeyCode::Char('j') => self.move_by(1, snapshot),
            KeyCode::Up | KeyCode::Char('k') => self.move_by(-1, snapshot),
            KeyCode::PageDown => self.move_by(self.page as isize, snapshot),
            KeyCode::PageUp => self.move_by(-(self.page as isize), snapshot),
            KeyCode::Home | KeyCode::Char('g') => self.move_by(isize::MIN, snapshot),
            KeyCode::End | KeyCode::Char('G') => self.move_by(isize::MAX, snapshot),
            KeyCode::Enter => self.enter(snapshot),
            KeyCode::Esc | KeyCode::Backspace => self.leave(),
            _ => {}
        }
        false
    }

    fn show(&mut self, view: View) {
        self.view = view;
        self.detail = None;
        self.within = None;
    }

    fn sort_by_next(&mut self, step: usize) {
        let columns = self.view.columns();
        let look = self.look_mut();
        look.sort = (look.sort + step) % columns;
        look.is_reversed = false;
    }

    fn ids(&self, snapshot: &Snapshot) -> Vec<RowId> {
        match self.view {
            View::Flows => self.flows(snapshot).into_iter().map(Row::id).collect(),
            View::Cgroups | View::Algorithms => self.groups(snapshot).into_iter().map(Row::id).collect(),
        }
    }

    /// Moves the selection, and the details with it.
    fn move_by(&mut self, rows: isize, snapshot: &Snapshot) {
        let ids = self.ids(snapshot);
        let Some(last) = ids.len().checked_sub(1) else { return };
        let selected = &self.look().selected;
        let at = selected.as_ref().and_then(|id| ids.iter().position(|other| other == id));
        // Nothing is selected at first: any step selects the first row.
        let to = at.map_or(if rows == isize::MAX { last } else { 0 }, |at| at.saturating_add_signed(rows).min(last));
        self.look_mut().selected = Some(ids[to].clone());
        if let (Some(_), RowId::Flow(key)) = (self.detail, &ids[to]) {
            self.detail = Some(*key);
        }
    }

    /// From a group to its flows, from a flow to its details; without a selection, of the first row.
    fn enter(&mut self, snapshot: &Snapshot) {
        let ids = self.ids(snapshot);
        let selected = self.look().selected.clone().filter(|id| ids.contains(id));
        let Some(id) = selected.or_else(|| ids.first().cloned()) else { return };
        self.look_mut().selected = Some(id.clone());
        match id {
            RowId::Flow(key) => self.detail = Some(key),
            RowId::Group(name) => {
                let is_cgroup = self.view == View::Cgroups;
                self.show(View::Flows);
                self.within = Some(if is_cgroup { Within::Cgroup(name) } else { Within::Algorithm(name) });
            }
        }
    }

    /// One step back: from the details, from the flows of a group to the groups, from a filter.
    fn leave(&mut self) {
        if self.detail.take().is_some() {
            return;
        }
        match self.within.take() {
            Some(Within::Cgroup(_)) => self.view = View::Cgroups,
            Some(Within::Algorithm(_)) => self.view = View::Algorithms,
            None => self.filter.clear(),
        }
    }
}
