//! From rows to what is to be kept. It runs on the recorder's thread, a row at a time.

use super::limits::{Limits, Pace, Suppressed};
use super::memory::{FlowKey, Memory, key};
use super::trigger::Trigger;
use ccactl_abi::layout::{EVENT_CLOSE, Sample};
use std::collections::HashMap;
use std::time::Duration;

/// Sockets of which it is known whether a condition holds. Beyond that all are forgotten, and may fire anew.
const MOST_ARMED: usize = 1 << 16;

/// What a black box is asked to do.
#[derive(Debug, Clone)]
pub struct Options {
    /// At least one.
    pub triggers: Vec<Trigger>,
    /// Kept from before a trigger.
    pub before: Duration,
    /// Kept from after it.
    pub after: Duration,
    /// Keep the neighbours in the cgroup as well.
    pub around: bool,
    /// How much at most.
    pub limits: Limits,
}

/// A trigger that has fired and whose file is not written yet.
#[derive(Debug, Clone)]
pub struct Fired {
    /// Number of the trigger.
    pub trigger: usize,
    /// Of the row that fulfilled it.
    pub at_ns: u64,
    /// The socket.
    pub flow: FlowKey,
    /// Its cgroup.
    pub cgroup_id: u64,
    /// How often one fired for the same socket until the file was due.
    pub further: u64,
}

/// Memory and triggers.
#[derive(Debug)]
pub struct BlackBox {
    options: Options,
    memory: Memory,
    pace: Pace,
    /// A bit per trigger that holds now.
    holds: HashMap<FlowKey, u64>,
    fired: Vec<Fired>,
    suppressed: Suppressed,
}

impl BlackBox {
    /// Triggers beyond this are one too many.
    pub const MOST_TRIGGERS: usize = 64;

    /// Nothing seen yet.
    #[must_use]
    pub fn new(options: Options) -> BlackBox {
        // A little longer than asked: a file is written a moment after it is due.
        let keep = options.before + options.after + Duration::from_secs(1);
        let memory = Memory::new(keep.as_nanos() as u64, options.limits.memory_bytes as usize);
        let pace = Pace::new(&options.limits);
        BlackBox { options, memory, pace, holds: HashMap::new(), fired: Vec::new(), suppressed: Suppressed::default() }
    }

    /// What it was asked.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Takes rows in.
    pub fn feed(&mut self, rows: &[Sample]) {
        for row in rows {
            self.look(row);
            self.memory.push(row);
        }
    }

    fn look(&mut self, row: &Sample) {
        let flow = key(row);
        let mut held = self.holds.get(&flow).copied().unwrap_or_default();
        let before = held;
        for i in 0..self.options.triggers.len() {
            let trigger = &self.options.triggers[i];
            let Some(holds) = trigger.holds(row) else { continue };
            let bit = 1 << i;
            // A condition that goes on holding fires once.
            if holds && (trigger.is_event() || held & bit == 0) {
                self.fire(i, row);
            }
            held = if holds && !self.options.triggers[i].is_event() { held | bit } else { held & !bit };
        }
        if row.event == EVENT_CLOSE || held == 0 {
            if before != 0 {
                self.holds.remove(&flow);
            }
        } else if held != before {
            if self.holds.len() >= MOST_ARMED {
                self.holds.clear();
            }
            self.holds.insert(flow, held);
        }
    }

    fn fire(&mut self, trigger: usize, row: &Sample) {
        let flow = key(row);
        if let Some(fired) = self.fired.iter_mut().find(|fired| fired.flow == flow) {
            fired.further += 1;
            self.suppressed.within += 1;
        } else if self.pace.takes(row.time_ns) {
            self.fired.push(Fired { trigger, at_ns: row.time_ns, flow, cgroup_id: row.cgroup_id, further: 0 });
        } else {
            self.suppressed.per_minute += 1;
        }
    }

    /// Those whose time has come; at the end all.
    pub fn due(&mut self, now_ns: u64, is_end: bool) -> Vec<Fired> {
        let after = self.options.after.as_nanos() as u64;
        self.fired.extract_if(.., |fired| is_end || fired.at_ns + after <= now_ns).collect()
    }

    /// What is kept for one: the recorder waits meanwhile, so it is asked for one at a time.
    #[must_use]
    pub fn rows(&self, fired: &Fired) -> Vec<Sample> {
        let (before, after) = (self.options.before.as_nanos() as u64, self.options.after.as_nanos() as u64);
        let is_neighbour = |row: &Sample| self.options.around && row.cgroup_id == fired.cgroup_id;
        let is_wanted = |row: &Sample| key(row) == fired.flow || is_neighbour(row);
        self.memory.rows(fired.at_ns.saturating_sub(before), fired.at_ns + after, is_wanted)
    }

    /// One could not be kept.
    pub fn note(&mut self, count: impl FnOnce(&mut Suppressed)) {
        count(&mut self.suppressed);
    }

    /// What has not been kept so far.
    #[must_use]
    pub fn suppressed(&self) -> Suppressed {
        Suppressed { evicted_rows: self.memory.evicted(), ..self.suppressed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytemuck::Zeroable;
    use ccactl_abi::layout::{EVENT_RTO, EVENT_SAMPLE};

    const S: u64 = 1_000_000_000;

    fn options(triggers: &[&str], per_minute: u32) -> Options {
        Options {
            triggers: triggers.iter().map(|text| text.parse().unwrap()).collect(),
            before: Duration::from_secs(30),
            after: Duration::from_secs(5),
            around: false,
            limits: Limits { per_minute, ..Limits::default() },
        }
    }

    fn row(flow_id: u64, second: u64, event: u8, cwnd_pkts: u32) -> Sample {
        Sample { flow_id, cgroup_id: flow_id % 2, time_ns: second * S, event, cwnd_pkts, ..Sample::zeroed() }
    }

    #[test]
    fn a_file_has_the_time_before_and_after_of_its_socket_alone() {
        let mut kept = BlackBox::new(options(&["rto"], 10));
        for second in 0..=100 {
            kept.feed(&[row(1, second, EVENT_SAMPLE, 10), row(2, second, EVENT_SAMPLE, 10)]);
            if second == 60 {
                kept.feed(&[row(1, 60, EVENT_RTO, 1)]);
            }
            let due = kept.due(second * S, false);
            assert_eq!(due.len(), usize::from(second == 65), "at {second}");
            for fired in due {
                let rows = kept.rows(&fired);
                assert_eq!((fired.at_ns, fired.flow), (60 * S, (1, 0)));
                assert_eq!((rows.first().unwrap().time_ns, rows.last().unwrap().time_ns), (30 * S, 65 * S));
                assert!(rows.iter().all(|row| row.flow_id == 1) && rows.len() == 37);
            }
        }
        assert_eq!(kept.suppressed(), Suppressed::default());
    }

    #[test]
    fn neighbours_are_those_of_the_cgroup() {
        let mut kept = BlackBox::new(Options { around: true, ..options(&["rto"], 10) });
        kept.feed(&[row(1, 1, EVENT_SAMPLE, 10), row(2, 1, EVENT_SAMPLE, 10), row(3, 1, EVENT_SAMPLE, 10)]);
        kept.feed(&[row(1, 2, EVENT_RTO, 1)]);
        let due = kept.due(2 * S, true);
        assert_eq!(kept.rows(&due[0]).iter().map(|row| row.flow_id).collect::<Vec<_>>(), [1, 3, 1]);
    }

    #[test]
    fn a_condition_fires_when_it_begins_to_hold_and_what_is_not_kept_is_counted() {
        let mut kept = BlackBox::new(options(&["cwnd < 4"], 2));
        for (second, cwnd) in [(0, 10), (1, 3), (2, 2), (3, 10), (4, 3)] {
            kept.feed(&[row(1, second, EVENT_SAMPLE, cwnd)]);
        }
        // The second time it was within the file of the first.
        assert_eq!((kept.suppressed().within, kept.due(6 * S, false).len()), (1, 1));
        for flow in 2..6 {
            kept.feed(&[row(flow, 7, EVENT_SAMPLE, 1)]);
        }
        assert_eq!((kept.suppressed().per_minute, kept.due(7 * S, true).len()), (3, 1));
        assert_eq!(kept.suppressed().lost(), 3);
    }
}
