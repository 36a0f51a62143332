//! One path with what happens on it, as whole numbers: what a search varies, and shrinks.

/// What a path is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Gene {
    /// Rate of the bottleneck, kbit/s.
    Rate,
    /// Base RTT, ms.
    Rtt,
    /// Its buffer, hundredths of a BDP.
    Buffer,
    /// Random losses, of a million packets.
    Loss,
    /// Largest jitter, ms.
    Jitter,
    /// ACKs come back at multiples of this time only, ms; 0: as they leave.
    AckBatch,
    /// When the rivals begin, ms.
    RivalStart,
    /// Flows of the algorithm, and as many rivals.
    Flows,
}

impl Gene {
    /// All of them, by number.
    pub const ALL: [Gene; 8] =
        [Gene::Rate, Gene::Rtt, Gene::Buffer, Gene::Loss, Gene::Jitter, Gene::AckBatch, Gene::RivalStart, Gene::Flows];

    /// The value that means nothing happens; none where every path has to have one.
    #[must_use]
    pub fn plain(self) -> Option<u32> {
        match self {
            Gene::Rate | Gene::Rtt | Gene::Buffer => None,
            Gene::Loss | Gene::Jitter | Gene::AckBatch | Gene::RivalStart => Some(0),
            Gene::Flows => Some(1),
        }
    }
}

/// What happens for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// The link has another rate, in percent of its own.
    Rate,
    /// The path has another base RTT, in percent of its own.
    Rtt,
    /// Packets of others come in, at a rate in percent of the link's.
    Burst,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 3] = [Kind::Rate, Kind::Rtt, Kind::Burst];
}

/// Something that happens for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Event {
    /// When it begins.
    pub at_ms: u32,
    /// How long it lasts.
    pub for_ms: u32,
    /// What it is.
    pub kind: Kind,
    /// How much of it.
    pub percent: u32,
}

impl Event {
    /// When it is over.
    #[must_use]
    pub fn end_ms(&self) -> u32 {
        self.at_ms + self.for_ms
    }
}

/// One path with what happens on it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Case {
    /// By [`Gene`].
    values: [u32; Gene::ALL.len()],
    /// In the order of time.
    events: Vec<Event>,
}

impl Case {
    /// Of these values, by [`Gene`], and events in any order.
    #[must_use]
    pub fn new(values: [u32; Gene::ALL.len()], mut events: Vec<Event>) -> Case {
        events.sort_unstable();
        Case { values, events }
    }

    /// Value of a gene.
    #[must_use]
    pub fn value(&self, gene: Gene) -> u32 {
        self.values[gene as usize]
    }

    /// The same with another value.
    #[must_use]
    pub fn with(&self, gene: Gene, value: u32) -> Case {
        let mut case = self.clone();
        case.values[gene as usize] = value;
        case
    }

    /// What happens, in the order of time.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The same with other events.
    #[must_use]
    pub fn with_events(&self, events: Vec<Event>) -> Case {
        Case::new(self.values, events)
    }

    /// Percent that a kind of event has at a time: that of the event which began last.
    #[must_use]
    pub fn percent_at(&self, kind: Kind, at_ms: u32) -> u32 {
        let on = |event: &&Event| event.kind == kind && (event.at_ms..event.end_ms()).contains(&at_ms);
        self.events.iter().rev().find(on).map_or(100, |event| event.percent)
    }

    /// The times at which a kind of event changes what there is, with the percent from then on; the beginning is not among them
    /// unless something begins there.
    #[must_use]
    pub fn steps(&self, kind: Kind) -> Vec<(u32, u32)> {
        let of_kind = || self.events.iter().filter(move |event| event.kind == kind);
        let mut times: Vec<u32> = of_kind().map(|event| event.at_ms).chain(of_kind().map(Event::end_ms)).collect();
        times.sort_unstable();
        times.dedup();
        let mut steps = Vec::new();
        let mut last = 100;
        for at_ms in times {
            let percent = self.percent_at(kind, at_ms);
            if percent != last {
                steps.push((at_ms, percent));
                last = percent;
            }
        }
        steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_events_that_overlap_the_later_one_counts_while_it_lasts() {
        let event = |at_ms, for_ms, percent| Event { at_ms, for_ms, kind: Kind::Rate, percent };
        let case = Case::new([1; 8], vec![event(2000, 1000, 20), event(1000, 3000, 50)]);
        assert_eq!(case.steps(Kind::Rate), [(1000, 50), (2000, 20), (3000, 50), (4000, 100)]);
        assert_eq!(case.steps(Kind::Rtt), []);
    }

    #[test]
    fn a_step_that_changes_nothing_is_none() {
        let event = |at_ms, for_ms, percent| Event { at_ms, for_ms, kind: Kind::Rtt, percent };
        let case = Case::new([1; 8], vec![event(1000, 1000, 50), event(2000, 500, 50)]);
        assert_eq!(case.steps(Kind::Rtt), [(1000, 50), (2500, 100)]);
    }
}
