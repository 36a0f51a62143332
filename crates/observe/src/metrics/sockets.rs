//! From rows to increases: what is remembered of each socket, so that a row adds what is new in it.

use crate::metrics::histogram::Buckets;
use crate::metrics::totals::{Event, Reading, Totals};
use ccactl_abi::layout::{EVENT_ALGORITHM, EVENT_CA_STATE, EVENT_CLOSE, EVENT_OPEN, EVENT_SAMPLE, NAME_LEN, Sample};
use std::collections::HashMap;
use std::sync::Arc;

/// Sockets that are remembered at most; at about 200 bytes each, 50 MB.
pub(crate) const MAX_SOCKETS: usize = 1 << 18;
/// Label sets that wait for their names at most. They are asked for every second.
const MAX_PENDING: usize = 1 << 13;

/// What a row is counted under, as the kernel names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Ids {
    pub(crate) cgroup: u64,
    pub(crate) netns: u32,
    pub(crate) algorithm: [u8; NAME_LEN],
}

impl Ids {
    /// Rows of more label sets than can wait for their names.
    pub(crate) const OTHER: Ids = Ids { cgroup: 0, netns: 0, algorithm: [0; NAME_LEN] };

    fn of(row: &Sample) -> Ids {
        Ids { cgroup: row.cgroup_id, netns: row.netns, algorithm: row.algorithm }
    }
}

/// One socket between two of its rows.
struct Socket {
    ids: Ids,
    reading: Reading,
    /// `delivered_pkts` of the last row that could give an RTT.
    sampled_pkts: u64,
    seen_ns: u64,
}

/// The increases since they were last taken, and the sockets that they come from.
pub(crate) struct Sockets {
    buckets: Arc<Buckets>,
    /// The one algorithm that is recorded, if it is one: a socket that has left it has no more rows.
    only: Option<[u8; NAME_LEN]>,
    capacity: usize,
    live: HashMap<(u64, u32), Socket>,
    /// How many of `live` have these ids.
    live_by_ids: HashMap<Ids, u64>,
    pending: HashMap<Ids, Totals>,
    evicted: u64,
    /// Time of the latest row when sockets were last forgotten.
    evicted_ns: u64,
}

/// What has come since it was last taken.
#[derive(Default)]
pub(crate) struct Taken {
    pub(crate) increases: HashMap<Ids, Totals>,
    /// Sockets that live now.
    pub(crate) live: HashMap<Ids, u64>,
    /// Sockets forgotten so far, because there were too many.
    pub(crate) evicted: u64,
}

impl Sockets {
    pub(crate) fn new(buckets: Arc<Buckets>, only: Option<[u8; NAME_LEN]>, capacity: usize) -> Sockets {
        Sockets {
            buckets,
            only,
            capacity,
            live: HashMap::new(),
            live_by_ids: HashMap::new(),
            pending: HashMap::new(),
            evicted: 0,
            evicted_ns: 0,
        }
    }

    pub(crate) fn add(&mut self, rows: &[Sample]) {
        for row in rows {
            self.add_row(row);
        }
    }

    /// The increases so far; they begin at zero again.
    pub(crate) fn take(&mut self) -> Taken {
        Taken { increases: std::mem::take(&mut self.pending), live: self.live_by_ids.clone(), evicted: self.evicted }
    }

    fn add_row(&mut self, row: &Sample) {
        let key = (row.flow_id, row.netns);
        let ids = Ids::of(row);
        let now = Reading::of(row);
        let mut socket = match self.live.remove(&key) {
            Some(known) if row.event != EVENT_OPEN && !now.is_reset_since(&known.reading) => known,
            Some(former) => {
                // Its close was lost.
                self.leave(&former.ids);
                self.enter(row, ids)
            }
            None => self.enter(row, ids),
        };
        let had_moved_data = socket.reading.has_moved_data();
        // A step belongs to the algorithm that it began with; what was set before the first data ran nothing.
        let owner = if had_moved_data { socket.ids } else { ids };
        if socket.ids != ids {
            self.leave(&socket.ids);
            *self.live_by_ids.entry(ids).or_default() += 1;
            socket.ids = ids;
        }
        let buckets = Arc::clone(&self.buckets);
        self.totals(owner).add_step(&mut socket.reading, &now);
        match row.event {
            EVENT_SAMPLE => {
                if now.delivers_since(socket.sampled_pkts) {
                    let totals = self.totals(ids);
                    if row.rtt_us > 0 {
                        totals.rtt.observe(&buckets.rtt, u64::from(row.rtt_us));
                    }
                    totals.cwnd.observe(&buckets.cwnd, u64::from(row.cwnd_pkts));
                }
                socket.sampled_pkts = now.delivered_pkts();
            }
            EVENT_ALGORITHM if had_moved_data => self.totals(ids).count(Event::AlgorithmChanged),
            EVENT_CA_STATE => {
                if let Some(event) = entered(row.ca_state) {
                    self.totals(ids).count(event);
                }
            }
            EVENT_CLOSE => {
                let totals = self.totals(ids);
                totals.count(Event::Closed);
                if let Some(completion_us) = completion_us(row) {
                    totals.completion.observe(&buckets.completion, completion_us);
                }
            }
            _ => {}
        }
        if row.event == EVENT_CLOSE || self.only.is_some_and(|only| only != row.algorithm) {
            self.leave(&ids);
        } else {
            socket.seen_ns = row.time_ns;
            self.live.insert(key, socket);
        }
    }

    /// A socket at its first row. It counts from zero when the recording has seen its connection begin: by its `open`
    /// row or, where that was lost, by the time of its opening. Otherwise this row is the zero of its counters. So it
    /// is for a socket that may have been forgotten in between, or had another algorithm than the only one that is
    /// recorded: it was there before.
    fn enter(&mut self, row: &Sample, ids: Ids) -> Socket {
        if self.live.len() >= self.capacity {
            self.evict(row.time_ns);
        }
        *self.live_by_ids.entry(ids).or_default() += 1;
        let is_new_to_us = self.only.is_none() && row.opened_ns > self.evicted_ns;
        let is_seen_whole = row.event == EVENT_OPEN || is_new_to_us;
        if is_seen_whole {
            self.totals(ids).count(Event::Opened);
        }
        let present = Reading::of(row);
        let reading = if is_seen_whole { Reading::default() } else { present };
        Socket { ids, reading, sampled_pkts: present.delivered_pkts(), seen_ns: row.time_ns }
    }

    fn leave(&mut self, ids: &Ids) {
        let Some(count) = self.live_by_ids.get_mut(ids) else { return };
        *count -= 1;
        if *count == 0 {
            self.live_by_ids.remove(ids);
        }
    }

    /// Forgets the sixteenth of the sockets that has been silent longest, so that a full table does not sort itself
    /// at every row.
    fn evict(&mut self, now_ns: u64) {
        let count = (self.capacity / 16).max(1);
        let mut seen: Vec<(u64, (u64, u32))> = self.live.iter().map(|(key, socket)| (socket.seen_ns, *key)).collect();
        if count < seen.len() {
            seen.select_nth_unstable(count);
            seen.truncate(count);
        }
        for (_, key) in &seen {
            if let Some(socket) = self.live.remove(key) {
                self.leave(&socket.ids);
            }
        }
        self.evicted += seen.len() as u64;
        self.evicted_ns = now_ns;
    }

    fn totals(&mut self, ids: Ids) -> &mut Totals {
        let is_full = self.pending.len() >= MAX_PENDING && !self.pending.contains_key(&ids);
        let ids = if is_full { Ids::OTHER } else { ids };
        self.pending.entry(ids).or_insert_with(|| Totals::new(&self.buckets))
    }
}

/// From the handshake to the ACK that delivered the last of the data.
fn completion_us(row: &Sample) -> Option<u64> {
    let is_known = row.opened_ns > 0 && row.progress_ns >= row.opened_ns && row.bytes_acked > 0;
    is_known.then(|| (row.progress_ns - row.opened_ns) / 1_000)
}

/// `TCP_CA_*` of include/net/tcp.h; the way back to `open` is no event of its own.
fn entered(ca_state: u8) -> Option<Event> {
    match ca_state {
        1 => Some(Event::Disorder),
        2 => Some(Event::Cwr),
        3 => Some(Event::Recovery),
        4 => Some(Event::Loss),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
