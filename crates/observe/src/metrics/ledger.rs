//! The label sets and their totals: a bounded number of them, and one for all the rest.

use crate::metrics::histogram::Buckets;
use crate::metrics::labels::Labels;
use crate::metrics::totals::Totals;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a label set without live sockets keeps its place against a new one. Three times as long as Prometheus
/// looks back for a value, so that its last one has been scraped.
const KEPT: Duration = Duration::from_secs(15 * 60);

/// The totals of one label set.
pub(crate) struct Series {
    pub(crate) totals: Totals,
    pub(crate) live: u64,
    changed: Instant,
}

/// All that is shown of sockets.
pub(crate) struct Ledger {
    buckets: Arc<Buckets>,
    max_label_sets: usize,
    by_labels: BTreeMap<Labels, Series>,
    /// Everything that found no place; exists once something did not.
    other: Option<Series>,
}

impl Ledger {
    pub(crate) fn new(buckets: Arc<Buckets>, max_label_sets: usize) -> Ledger {
        Ledger { buckets, max_label_sets, by_labels: BTreeMap::new(), other: None }
    }

    /// Adds increases, and says anew how many sockets live under which labels.
    pub(crate) fn settle(
        &mut self,
        increases: impl IntoIterator<Item = (Labels, Totals)>,
        live: impl IntoIterator<Item = (Labels, u64)>,
        now: Instant,
    ) {
        for series in self.by_labels.values_mut().chain(&mut self.other) {
            series.live = 0;
        }
        // First those that live, so that none of them is taken for one that has ended.
        for (labels, count) in live {
            let series = self.place(labels, now);
            series.live += count;
            series.changed = now;
        }
        for (labels, totals) in increases {
            let series = self.place(labels, now);
            series.totals.add(&totals);
            series.changed = now;
        }
    }

    /// All series in the order of their labels.
    pub(crate) fn series(&self) -> impl Iterator<Item = (Labels, &Series)> {
        let own = self.by_labels.iter().map(|(labels, series)| (labels.clone(), series));
        own.chain(self.other.iter().map(|series| (Labels::other(), series)))
    }

    pub(crate) fn label_sets(&self) -> usize {
        self.by_labels.len()
    }

    pub(crate) fn max_label_sets(&self) -> usize {
        self.max_label_sets
    }

    /// Whether something had to go to `other`.
    pub(crate) fn is_limited(&self) -> bool {
        self.other.is_some()
    }

    pub(crate) fn buckets(&self) -> &Buckets {
        &self.buckets
    }

    fn place(&mut self, labels: Labels, now: Instant) -> &mut Series {
        let is_new = !self.by_labels.contains_key(&labels);
        if is_new && self.by_labels.len() >= self.max_label_sets {
            self.by_labels.retain(|_, series| series.live > 0 || now - series.changed < KEPT);
        }
        let empty = || Series { totals: Totals::new(&self.buckets), live: 0, changed: now };
        if labels == Labels::other() || (is_new && self.by_labels.len() >= self.max_label_sets) {
            self.other.get_or_insert_with(empty)
        } else {
            self.by_labels.entry(labels).or_insert_with(empty)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::totals::Event;

    fn labels(cgroup: &str) -> Labels {
        Labels { cgroup: cgroup.to_owned(), algorithm: "cubic".to_owned(), netns: "host".to_owned() }
    }

    fn ledger(max: usize) -> Ledger {
        Ledger::new(Arc::default(), max)
    }

    /// One connection closed.
    fn one() -> Totals {
        let mut totals = Totals::new(&Buckets::default());
        totals.count(Event::Closed);
        totals
    }

    fn closed(ledger: &Ledger) -> Vec<(String, u64)> {
        ledger.series().map(|(labels, series)| (labels.cgroup, series.totals.events.iter().sum())).collect()
    }

    fn expected(pairs: &[(&str, u64)]) -> Vec<(String, u64)> {
        pairs.iter().map(|&(cgroup, count)| (cgroup.to_owned(), count)).collect()
    }

    #[test]
    fn what_finds_no_place_is_counted_together_and_said() {
        let mut ledger = ledger(2);
        let now = Instant::now();
        ledger.settle(["/a", "/b"].map(|name| (labels(name), one())), [], now);
        assert!(!ledger.is_limited());
        ledger.settle(["/c", "/d", "/a"].map(|name| (labels(name), one())), [(labels("/e"), 3)], now);
        assert!(ledger.is_limited());
        assert_eq!(closed(&ledger), expected(&[("/a", 2), ("/b", 1), ("other", 2)]));
        assert_eq!(ledger.series().last().unwrap().1.live, 3);
        assert_eq!(ledger.label_sets(), 2);
    }

    #[test]
    fn a_place_becomes_free_when_its_sockets_have_been_gone_for_long() {
        let mut ledger = ledger(2);
        let start = Instant::now();
        ledger.settle(["/a", "/b"].map(|name| (labels(name), one())), [], start);
        // /a has a silent socket, /b has none.
        let later = start + KEPT;
        ledger.settle([(labels("/c"), one())], [(labels("/a"), 1)], later);
        assert_eq!(closed(&ledger), expected(&[("/a", 1), ("/c", 1)]));
        assert!(!ledger.is_limited());
    }

    #[test]
    fn the_live_sockets_are_those_of_the_last_time() {
        let mut ledger = ledger(2);
        let now = Instant::now();
        // Two cgroups may share labels once their paths are cut.
        ledger.settle([], [(labels("/a"), 1), (labels("/a"), 2)], now);
        assert_eq!(ledger.series().next().unwrap().1.live, 3);
        ledger.settle([], [], now);
        assert_eq!(ledger.series().next().unwrap().1.live, 0);
    }
}
