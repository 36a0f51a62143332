//! One connection: the two procedures of the paper (section 3, figures 2 and 3), which it calls `snoop_data` and `snoop_ack`.

use super::cache::{Cached, Shared};
use super::segment::{Sack, Segment, before};
use super::{Action, GIVE_UP, MAX_REPEATS, PERSIST, ROUND_TRIP_LEAST};
use crate::Nanos;
use crate::list::List;

/// A new sample counts an eighth (RFC 6298 section 2).
const SMOOTHING: u64 = 8;
/// Without an answer the timer doubles so often: a minute and more without a link.
const MAX_DOUBLINGS: u32 = 6;

/// What becomes of an ACK.
enum Fate {
    Forward,
    /// The agent repairs what its blocks report: the sender need not know.
    ForwardWithoutSack,
    Drop,
}

/// State of a connection, seen from the agent.
pub(super) struct Connection<P> {
    pub key: u64,
    cache: List,
    /// One beyond the highest number seen from the sender.
    next_seq: u32,
    last_ack: Option<u32>,
    last_window: u16,
    /// The last ACK that went to the sender.
    kept_ack: Option<P>,
    /// Duplicates that segments behind a repeated one may still cause.
    expected_duplicates: u64,
    /// Transmissions so far, repeats included.
    order: u64,
    smoothed_rtt: Option<Nanos>,
    /// End of a segment whose round trip is measured, and when it came.
    probe: Option<(u32, Nanos)>,
    /// Timeouts since the last progress.
    timeouts: u32,
    /// When either side last sent something.
    pub last_activity: Nanos,
    /// When a new ACK came or something was sent again.
    last_progress: Nanos,
}

impl<P: Copy> Connection<P> {
    /// Begins with a segment of the sender.
    pub fn new(key: u64, now: Nanos, first: &Segment) -> Self {
        Connection {
            key,
            cache: List::default(),
            next_seq: first.seq,
            last_ack: None,
            last_window: 0,
            kept_ack: None,
            expected_duplicates: 0,
            order: 0,
            smoothed_rtt: None,
            probe: None,
            timeouts: 0,
            last_activity: now,
            last_progress: now,
        }
    }

    /// Gives back all that is kept.
    pub fn close(&mut self, shared: &mut Shared<P>) {
        shared.free_all(&mut self.cache);
        shared.actions.extend(self.kept_ack.take().map(Action::Release));
    }

    /// The first segment of a connection: the round trip of its handshake is a first sample.
    pub fn syn(&mut self, now: Nanos, segment: &Segment) {
        self.next_seq = segment.seq.wrapping_add(1);
        self.probe = Some((self.next_seq, now));
    }

    /// A segment with data towards the mobile.
    pub fn data(&mut self, now: Nanos, segment: &Segment, packet: P, bytes: u32, shared: &mut Shared<P>) {
        self.last_activity = now;
        let (seq, end) = (segment.seq, segment.end());
        if self.last_ack.is_some_and(|ack| !before(ack, end)) {
            return self.answer(packet, shared);
        }
        let order = self.next_order();
        let by_sender = before(seq, self.next_seq);
        if by_sender {
            self.probe = None;
        } else if self.probe.is_none() {
            self.probe = Some((end, now));
        }
        if before(self.next_seq, end) {
            self.next_seq = end;
        }
        if !by_sender || !self.mark_by_sender(seq, end, order, shared) {
            let bytes = u64::from(bytes);
            let cached = Cached { packet, seq, end, bytes, order, sacked: false, by_sender, repeats: 0 };
            shared.keep(&mut self.cache, cached);
        }
        shared.actions.push_back(Action::Forward(packet));
    }

    /// The mobile has all of a segment: the sender did not get the ACK that says so. Without one to repeat, the mobile is asked.
    fn answer(&mut self, packet: P, shared: &mut Shared<P>) {
        let Some(ack) = self.kept_ack else { return shared.actions.push_back(Action::Forward(packet)) };
        shared.counters.answered_packets += 1;
        shared.actions.extend([Action::Acknowledge(ack), Action::Drop(packet)]);
    }

    /// The sender retransmits these bytes; true when exactly this segment is kept already.
    fn mark_by_sender(&mut self, seq: u32, end: u32, order: u64, shared: &mut Shared<P>) -> bool {
        let mut same = false;
        let mut place = shared.first(&self.cache);
        while let Some(at) = place {
            let cached = shared.at(at);
            if !before(cached.seq, end) {
                break;
            }
            if before(seq, cached.end) {
                (cached.by_sender, cached.repeats, cached.order) = (true, 0, order);
                same |= cached.seq == seq && cached.end == end;
            }
            place = shared.next(at);
        }
        same
    }

    /// The hop's own queue has dropped a segment, which is congestion: the sender is to learn of it.
    pub fn refused(&mut self, segment: &Segment, shared: &mut Shared<P>) {
        shared.free(&mut self.cache, segment.seq, segment.end());
    }

    /// A segment with an ACK from the mobile.
    pub fn ack(&mut self, now: Nanos, segment: &Segment, packet: P, shared: &mut Shared<P>) {
        let Some(ack) = segment.ack else { return shared.actions.push_back(Action::Forward(packet)) };
        self.last_activity = now;
        let pure = segment.is_pure_ack();
        let fate = match self.last_ack {
            Some(last) if before(ack, last) => Fate::Drop,
            Some(last) if ack == last => self.same_ack(now, segment, ack, shared),
            _ => self.new_ack(now, segment, ack, shared),
        };
        match fate {
            Fate::Drop if pure => {
                shared.counters.suppressed_acks += 1;
                shared.actions.push_back(Action::Drop(packet));
            }
            Fate::ForwardWithoutSack if pure => {
                self.keep_ack(packet, shared);
                shared.counters.stripped_acks += 1;
                shared.actions.push_back(Action::ForwardWithoutSack(packet));
            }
            // What carries data of the mobile goes on as it is.
            Fate::Forward | Fate::Drop | Fate::ForwardWithoutSack => {
                if pure {
                    self.keep_ack(packet, shared);
                }
                shared.actions.push_back(Action::Forward(packet));
            }
        }
    }

    fn keep_ack(&mut self, packet: P, shared: &mut Shared<P>) {
        shared.actions.push_back(Action::Keep(packet));
        shared.actions.extend(self.kept_ack.replace(packet).map(Action::Release));
    }

    fn new_ack(&mut self, now: Nanos, segment: &Segment, ack: u32, shared: &mut Shared<P>) -> Fate {
        shared.free_to(&mut self.cache, ack);
        self.sample_rtt(now, ack);
        (self.last_ack, self.last_window) = (Some(ack), segment.window);
        (self.expected_duplicates, self.timeouts, self.last_progress) = (0, 0, now);
        if before(self.next_seq, ack) {
            self.next_seq = ack;
        }
        if self.repair(now, &segment.sack, ack, shared) { Fate::ForwardWithoutSack } else { Fate::Forward }
    }

    /// An ACK with the number of the one before it: a duplicate, or a change of the window (RFC 5681 section 2).
    fn same_ack(&mut self, now: Nanos, segment: &Segment, ack: u32, shared: &mut Shared<P>) -> Fate {
        let same_window = std::mem::replace(&mut self.last_window, segment.window) == segment.window;
        let sack = &segment.sack;
        if !segment.is_pure_ack() || sack.reports_duplicate(ack) || (sack.is_empty() && !same_window) {
            return Fate::Forward;
        }
        let suppress =
            if sack.is_empty() { self.duplicate(now, ack, shared) } else { self.repair(now, sack, ack, shared) };
        if suppress { Fate::Drop } else { Fate::Forward }
    }

    /// A duplicate without SACK; true when the sender need not see it.
    fn duplicate(&mut self, now: Nanos, ack: u32, shared: &mut Shared<P>) -> bool {
        let Some(place) = shared.first(&self.cache) else { return false };
        let Cached { seq, by_sender, repeats, order, .. } = *shared.at(place);
        if before(ack, seq) || by_sender {
            return false;
        }
        if self.expected_duplicates > 0 {
            self.expected_duplicates -= 1;
            return true;
        }
        if repeats == MAX_REPEATS {
            return false;
        }
        // One for each transmission since, without those that have come: this one.
        self.expected_duplicates = (self.order - order).saturating_sub(1);
        self.repeat(now, place, shared);
        true
    }

    /// Sends again what the blocks show to be lost: a segment is when one that left after it has arrived. True when there is such a
    /// block, and all that is missing below the highest of them is kept and may be sent again.
    fn repair(&mut self, now: Nanos, sack: &Sack, ack: u32, shared: &mut Shared<P>) -> bool {
        let Some(highest) = sack.highest(ack) else { return false };
        let latest = self.mark_sacked(sack, shared);
        let mut covered_to = ack;
        let mut all = true;
        let mut place = shared.first(&self.cache);
        while let Some(at) = place {
            let Cached { seq, end, sacked, by_sender, repeats, order, .. } = *shared.at(at);
            if !before(seq, highest) {
                break;
            }
            all &= reaches(sack, covered_to, seq);
            if !sacked {
                all &= !by_sender && (repeats < MAX_REPEATS || order >= latest);
                if order < latest && !by_sender && repeats < MAX_REPEATS {
                    self.repeat(now, at, shared);
                }
            }
            if before(covered_to, end) {
                covered_to = end;
            }
            place = shared.next(at);
        }
        all && reaches(sack, covered_to, highest)
    }

    /// Notes which segments the mobile has; gives the position of the last of them among the transmissions.
    fn mark_sacked(&mut self, sack: &Sack, shared: &mut Shared<P>) -> u64 {
        let mut latest = 0;
        let mut place = shared.first(&self.cache);
        while let Some(at) = place {
            let cached = shared.at(at);
            cached.sacked |= sack.holds(cached.seq, cached.end);
            if cached.sacked {
                latest = latest.max(cached.order);
            }
            place = shared.next(at);
        }
        latest
    }

    fn repeat(&mut self, now: Nanos, place: u32, shared: &mut Shared<P>) {
        let order = self.next_order();
        shared.repeat(place, order);
        self.last_progress = now;
        self.probe = None;
    }

    fn next_order(&mut self) -> u64 {
        self.order += 1;
        self.order
    }

    /// One sample at a time, and none of a segment beside which something was sent again (Karn).
    fn sample_rtt(&mut self, now: Nanos, ack: u32) {
        let Some((_, since)) = self.probe.take_if(|(end, _)| !before(ack, *end)) else { return };
        let sample = now - since;
        let smooth = |old: Nanos| old - old / SMOOTHING + sample / SMOOTHING;
        self.smoothed_rtt = Some(self.smoothed_rtt.map_or(sample, smooth));
    }

    /// When the first segment is sent again without an ACK that asks for it. After the agent has sent it again, that is after two round
    /// trips of the hop. Before, there is no sign of a loss: both sides have to be silent, and for longer.
    pub fn deadline(&self, shared: &Shared<P>) -> Option<Nanos> {
        let front = shared.front(&self.cache)?;
        if self.is_senders(front) {
            return Some(self.last_activity + GIVE_UP);
        }
        let (since, least) =
            if front.repeats > 0 { (self.last_progress, ROUND_TRIP_LEAST) } else { (self.last_activity, PERSIST) };
        let patience = least.max(2 * self.smoothed_rtt.unwrap_or(0));
        Some(since + (patience << self.timeouts.min(MAX_DOUBLINGS)))
    }

    /// The deadline has passed.
    pub fn timeout(&mut self, now: Nanos, shared: &mut Shared<P>) {
        let Some(place) = shared.first(&self.cache) else { return };
        if self.is_senders(shared.at(place)) {
            return shared.free_all(&mut self.cache);
        }
        self.timeouts += 1;
        self.expected_duplicates = 0;
        shared.counters.timeouts += 1;
        self.repeat(now, place, shared);
    }

    /// The first kept segment is not the one that the mobile lacks, or was sent in vain too often.
    fn is_senders(&self, front: &Cached<P>) -> bool {
        front.repeats == MAX_REPEATS || self.last_ack.is_some_and(|ack| before(ack, front.seq))
    }
}

/// The blocks hold all bytes from one number to another.
fn reaches(sack: &Sack, mut from: u32, to: u32) -> bool {
    while before(from, to) {
        match sack.end_of(from) {
            Some(end) => from = end,
            None => return false,
        }
    }
    true
}
