//! How long each algorithm stayed in each of its phases, and how often it came there.

use crate::walk::Name;

/// What is known of one phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stay {
    /// Time in it.
    pub time_us: u64,
    /// How often it was entered; being in it at the first row counts.
    pub visits: u64,
}

/// The phases of one flow under one algorithm, in the order in which they appeared.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Phases {
    stays: Vec<(Name, Stay)>,
}

impl Phases {
    /// It was in a phase for some time. A phase holds from the row that shows it to the flow's next row. A visit begins with
    /// the row that shows another phase than the one before, and counts once the phase has held.
    pub fn add(&mut self, mode: Name, time_us: u64, entered: bool) {
        self.add_stay(mode, time_us, entered.into());
    }

    /// Takes in what was later.
    pub fn append(&mut self, later: &Phases) {
        later.iter().for_each(|(mode, stay)| self.add_stay(mode, stay.time_us, stay.visits));
    }

    /// Takes in a stay of several visits.
    pub fn add_stay(&mut self, mode: Name, time_us: u64, visits: u64) {
        let stay = self.stay(mode);
        stay.time_us = stay.time_us.saturating_add(time_us);
        stay.visits += visits;
    }

    /// A visit that was counted twice, as nobody had seen it begin.
    pub fn take_back_visit(&mut self, mode: Name) {
        let stay = self.stay(mode);
        stay.visits = stay.visits.saturating_sub(1);
    }

    /// The phases.
    pub fn iter(&self) -> impl Iterator<Item = (Name, Stay)> + '_ {
        self.stays.iter().copied()
    }

    fn stay(&mut self, mode: Name) -> &mut Stay {
        let index = self.stays.iter().position(|(known, _)| *known == mode).unwrap_or_else(|| {
            self.stays.push((mode, Stay::default()));
            self.stays.len() - 1
        });
        &mut self.stays[index].1
    }
}
