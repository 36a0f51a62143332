//! What the steps of one flow add up to. What two such sums of neighbouring steps have together is again one, and the same in
//! whichever order three of them are added.

use crate::measure::amounts::Amounts;
use crate::measure::changes::Change;
use crate::measure::inner::InnerState;
use crate::measure::offers::Offers;
use crate::measure::phases::Phases;
use crate::measure::totals::Totals;
use crate::stats::Histogram;
use crate::walk::{Closing, Counter, Name, Run};

/// Algorithm and phase of a step.
pub type Held = (Name, Option<Name>);

/// The steps of one flow so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FlowFold {
    /// In the order in which the algorithms ran first.
    pub parts: Vec<Part>,
    /// Index of the part of the step before.
    current: usize,
    /// Algorithm and phase of the first and of the last step that had a row before it.
    pub phases: Option<[Held; 2]>,
    /// When it was given another algorithm.
    pub changes: Vec<Change>,
    /// Acknowledged bytes per interval.
    pub acked: Amounts<u64>,
    /// Whether its opening is among the rows.
    pub opened: bool,
    /// What its end says.
    pub closing: Option<Closing>,
    /// What it offered as a receiver. These are sums over rows and not over steps: the first row of the flow is among them.
    pub offers: Offers,
}

/// What a flow did while it ran one algorithm.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// The algorithm.
    pub algorithm: Name,
    /// Counters, window and times.
    pub totals: Totals,
    /// RTT samples.
    pub rtt: Histogram,
    /// Time per phase.
    pub phases: Phases,
    /// Inner state.
    pub inner: InnerState,
}

impl FlowFold {
    /// Takes rows in.
    pub fn add(&mut self, run: &Run<'_>, width_us: u64) {
        self.add_steps(run, width_us);
        self.add_row(run);
    }

    /// The steps that end with these rows.
    pub fn add_steps(&mut self, run: &Run<'_>, width_us: u64) {
        for (running, run) in run.by_algorithm() {
            let mut phases = self.phases;
            let part = self.part(running);
            part.add(&run);
            run.modes(|mode, _, us| {
                let held = (running, mode);
                if let Some(mode) = mode {
                    part.phases.add(mode, us, phases.is_none_or(|[_, before]| before != held));
                }
                phases = Some([phases.map_or(held, |[first, _]| first), held]);
            });
            self.phases = phases;
            if run.last_algorithm() != running {
                let at_us = run.last_row().t_us;
                self.changes.push(Change { at_us, from: running, to: run.last_algorithm() });
            }
        }
        run.growth(Counter::BytesAcked, |span_us, bytes| self.acked.add(span_us, width_us, bytes));
    }

    /// What rows say by themselves, without the one before.
    pub fn add_row(&mut self, run: &Run<'_>) {
        self.offers.add(run);
        self.opened |= run.has_opened();
        self.closing = run.closing().or(self.closing);
    }

    /// Takes in the steps that follow.
    pub fn append(&mut self, later: FlowFold) {
        for part in later.parts {
            self.part(part.algorithm).append(&part);
        }
        if let Some([first, last]) = later.phases {
            // The later steps have counted it as a visit of its own, as they did not know what was before.
            if let (Some([_, before]), (algorithm, Some(mode))) = (self.phases, first)
                && before == first
            {
                self.part(algorithm).phases.take_back_visit(mode);
            }
            self.phases = Some([self.phases.map_or(first, |[earliest, _]| earliest), last]);
        }
        self.changes.extend(later.changes);
        self.acked.append(later.acked);
        self.opened |= later.opened;
        self.closing = later.closing.or(self.closing);
        self.offers.append(&later.offers);
    }

    /// First row.
    pub fn first_us(&self) -> u64 {
        self.parts.iter().map(|part| part.totals.first_us).min().unwrap_or(0)
    }

    fn part(&mut self, algorithm: Name) -> &mut Part {
        if self.parts.get(self.current).is_none_or(|part| part.algorithm != algorithm) {
            let known = self.parts.iter().position(|part| part.algorithm == algorithm);
            self.current = known.unwrap_or(self.parts.len());
            if known.is_none() {
                // Most flows have one.
                self.parts.reserve_exact(1);
                self.parts.push(Part::of(algorithm));
            }
        }
        &mut self.parts[self.current]
    }
}

impl Part {
    /// Nothing yet.
    pub fn of(algorithm: Name) -> Part {
        Part {
            algorithm,
            totals: Totals::default(),
            rtt: Histogram::default(),
            phases: Phases::default(),
            inner: InnerState::default(),
        }
    }

    fn add(&mut self, run: &Run<'_>) {
        self.totals.add(run);
        run.rtt_samples_us(|rtt_us| self.rtt.add(rtt_us.into(), 1));
        for (column, held) in self.inner.iter_mut().enumerate() {
            run.inner_state(column, |value, us| held.add(value, us));
        }
    }

    fn append(&mut self, later: &Part) {
        self.totals.append(&later.totals);
        self.rtt.merge(&later.rtt);
        self.phases.append(&later.phases);
        for (held, later) in self.inner.iter_mut().zip(&later.inner) {
            held.append(later);
        }
    }
}
