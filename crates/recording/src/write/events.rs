//! Which events a recording has beside its samples.

use ccactl_abi::layout;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// Names of the rows' kinds, by `event` of a sample.
pub const EVENT_NAMES: [&str; layout::EVENTS] =
    ["sample", "open", "close", "retrans", "ca_state", "algorithm", "rto", "ecn"];

/// Counts by `event` of a sample, by name as the metadata have them.
#[must_use]
pub fn by_event_name(counts: &[u64; layout::EVENTS]) -> BTreeMap<String, u64> {
    EVENT_NAMES.into_iter().map(str::to_owned).zip(*counts).collect()
}

/// A choice of events; samples are not among them, they follow `every`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventSet(u32);

impl EventSet {
    /// Every event there is.
    pub const ALL: EventSet = EventSet(((1 << layout::EVENTS) - 1) & !(1 << layout::EVENT_SAMPLE));
    /// Samples only.
    pub const NONE: EventSet = EventSet(0);

    /// Whether rows with this `event` (one of the `EVENT_` constants) are recorded.
    #[must_use]
    pub fn contains(self, event: u8) -> bool {
        self.0 >> event & 1 != 0
    }

    /// As the BPF side wants it: bit `1 << EVENT_` of each.
    #[must_use]
    pub fn bits(self) -> u32 {
        self.0
    }
}

impl Default for EventSet {
    fn default() -> Self {
        EventSet::ALL
    }
}

/// Why a choice of events was not understood.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("no event {found:?}: expected all, none, or a list of {}, such as open,close", EVENT_NAMES[1..].join(", "))]
pub struct EventSetError {
    found: String,
}

impl FromStr for EventSet {
    type Err = EventSetError;

    fn from_str(text: &str) -> Result<Self, EventSetError> {
        match text {
            "all" => return Ok(EventSet::ALL),
            "none" => return Ok(EventSet::NONE),
            _ => {}
        }
        text.split(',').try_fold(EventSet::NONE, |set, name| {
            let name = name.trim();
            let event = (1..EVENT_NAMES.len()).find(|&event| EVENT_NAMES[event] == name);
            event.map(|event| EventSet(set.0 | 1 << event)).ok_or_else(|| EventSetError { found: name.to_owned() })
        })
    }
}

impl fmt::Display for EventSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            EventSet::ALL => f.write_str("all"),
            EventSet::NONE => f.write_str("none"),
            _ => {
                let names: Vec<&str> = (1..EVENT_NAMES.len())
                    .filter(|&event| self.contains(event as u8))
                    .map(|e| EVENT_NAMES[e])
                    .collect();
                f.write_str(&names.join(","))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_is_all_none_or_a_list() {
        for text in ["all", "none", "open", "open,close", "retrans,ca_state,rto"] {
            assert_eq!(text.parse::<EventSet>().unwrap().to_string(), text);
        }
        let every_name = EVENT_NAMES[1..].join(", ");
        assert_eq!(every_name.parse::<EventSet>().unwrap(), EventSet::ALL);
        for text in ["", "opens", "open,", "sample", "all,open"] {
            assert!(text.parse::<EventSet>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_choice_holds_what_it_names() {
        let set: EventSet = "close,rto".parse().unwrap();
        assert_eq!(set.bits(), 1 << layout::EVENT_CLOSE | 1 << layout::EVENT_RTO);
        assert!(set.contains(layout::EVENT_CLOSE) && !set.contains(layout::EVENT_OPEN));
        assert_eq!(EventSet::ALL.bits(), 0b1111_1110);
    }
}
