//! The receiver: what has arrived, and when that is acknowledged (`tcp_data_queue()`, `__tcp_ack_snd_check()`).

use crate::Nanos;
use crate::segment::{Ack, Block, SACK_BLOCKS, Segment};
use crate::tcp::SenderConfig;
use crate::wheel::Wheel;
use crate::window::{Arrival, ReceiveBuffer, Window};
use ccactl_link::Ecn;

/// `TCP_ATO_MIN`, `TCP_DELACK_MIN`
const DELAY_MS: u64 = 40;
/// `TCP_MAX_QUICKACKS`
const QUICK_ACKS: u32 = 16;
/// Blocks that a receiver remembers (`TCP_NUM_SACKS`).
const REMEMBERED_BLOCKS: usize = 4;
/// `sysctl_tcp_comp_sack_nr`, `sysctl_tcp_comp_sack_delay_ns`
const COMPRESSED_ACKS: u32 = 44;
const COMPRESSED_NS: u64 = 1_000_000;
/// Duplicate ACKs that are not put off (`TCP_FASTRETRANS_THRESH`).
const PROMPT_DUPACKS: u32 = 3;

/// How a receiver tells its sender of marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EcnFeedback {
    /// Not at all.
    #[default]
    Off,
    /// ECE until the sender has said CWR (RFC 3168).
    Classic,
    /// ECE for just what was marked, with an ACK at each change (RFC 8257).
    PerPacket,
    /// A count (RFC 9768).
    Count,
}

/// What a receiver is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReceiverConfig {
    /// See there.
    pub feedback: EcnFeedback,
    /// See there.
    pub buffer: ReceiveBuffer,
}

/// The end of a connection that has only to acknowledge.
pub struct Receiver {
    wheel: Wheel,
    window: Window,
    feedback: EcnFeedback,
    /// RTT of the handshake in µs: SACKs are put off for a twentieth of it at most.
    rtt_us: u32,
    rcv_nxt: u64,
    /// Of the ACK that was sent last (`rcv_wup`).
    acked: u64,
    /// What has arrived above `rcv_nxt`, ascending.
    above: Vec<Block>,
    /// The same blocks, the newest first.
    recent: Vec<Block>,
    duplicate: Option<Block>,
    /// Echo for the next ACK (`ts_recent`).
    tsval_ms: u32,
    quick_acks: u32,
    last_arrival_ns: Option<Nanos>,
    prompt_dupacks: u32,
    compressed: u32,
    compressed_until_ns: Option<Nanos>,
    delayed_until_ns: Option<Nanos>,
    is_ece: bool,
    was_marked: bool,
    ce_pkts: u32,
    received_bytes: u64,
    in_order_bytes: u64,
}

impl Receiver {
    /// One that has got nothing yet, of a connection that is established now with such a sender.
    #[must_use]
    pub fn new(now_ns: Nanos, config: ReceiverConfig, sender: &SenderConfig) -> Receiver {
        Receiver {
            wheel: Wheel::new(sender.hz),
            window: Window::new(now_ns, config.buffer, sender.mss_bytes),
            feedback: config.feedback,
            rtt_us: sender.handshake_rtt_us,
            in_order_bytes: 0,
            rcv_nxt: 0,
            acked: 0,
            above: Vec::new(),
            recent: Vec::with_capacity(REMEMBERED_BLOCKS),
            duplicate: None,
            tsval_ms: 0,
            quick_acks: 0,
            last_arrival_ns: None,
            prompt_dupacks: 0,
            compressed: 0,
            compressed_until_ns: None,
            delayed_until_ns: None,
            is_ece: false,
            was_marked: false,
            ce_pkts: 0,
            received_bytes: 0,
        }
    }

    /// Payload that has arrived in order or above a hole, each byte once.
    #[must_use]
    pub fn received_bytes(&self) -> u64 {
        self.received_bytes
    }

    /// When [`Receiver::on_timer`] is due.
    #[must_use]
    pub fn next_timer_ns(&self) -> Option<Nanos> {
        [self.compressed_until_ns, self.delayed_until_ns].into_iter().flatten().min()
    }

    /// An ACK that was put off is due.
    pub fn on_timer(&mut self, now_ns: Nanos) -> Option<Ack> {
        self.next_timer_ns().is_some_and(|at| at <= now_ns).then(|| self.ack(now_ns))
    }

    /// A segment has arrived; the ACKs that leave at once, one at most but for a change of marks.
    pub fn on_segment(&mut self, now_ns: Nanos, segment: &Segment) -> [Option<Ack>; 2] {
        // RFC 7323, section 4.3: of what the next ACK covers, the earliest.
        if segment.seq <= self.acked {
            self.tsval_ms = segment.tsval_ms;
        }
        let before_change = self.take_mark(now_ns, segment);
        self.note_arrival(now_ns);
        let before = self.rcv_nxt;
        let is_prompt = if segment.seq < self.rcv_nxt || self.has(segment.seq) {
            self.duplicate = Some((segment.seq, segment.seq + 1));
            self.quick_acks = self.quick_acks.max(2);
            true
        } else {
            self.received_bytes += u64::from(segment.bytes);
            self.take(segment.seq)
        };
        self.in_order_bytes = self.received_bytes - self.above_bytes(segment.bytes);
        let arrival = Arrival {
            now_ns,
            bytes: segment.bytes,
            tsecr_ms: segment.tsecr_ms,
            copied_bytes: self.in_order_bytes,
            above_bytes: self.received_bytes - self.in_order_bytes,
        };
        let is_in_order = segment.seq == before;
        if is_in_order && self.window.grows(&arrival) {
            self.quick_acks |= 1;
        }
        // The application reads what is in order at once, and that acknowledges what was pushed (`__tcp_cleanup_rbuf()`).
        let is_read_to_push = segment.push && self.rcv_nxt > before;
        let ack = self.decide(now_ns, is_prompt || is_read_to_push);
        if is_in_order {
            self.window.is_read(&arrival);
        }
        [before_change, ack]
    }

    /// What waits above a hole, if its segments are like that one.
    fn above_bytes(&self, segment_bytes: u32) -> u64 {
        let segments: u64 = self.above.iter().map(|(from, to)| to - from).sum();
        segments * u64::from(segment_bytes)
    }

    /// A mark, and the ACK that a DCTCP receiver sends for what came before it changed (RFC 8257, section 3.2).
    fn take_mark(&mut self, now_ns: Nanos, segment: &Segment) -> Option<Ack> {
        let is_marked = segment.ecn == Ecn::Ce;
        self.ce_pkts = self.ce_pkts.wrapping_add(u32::from(is_marked));
        match self.feedback {
            EcnFeedback::Off | EcnFeedback::Count => None,
            EcnFeedback::Classic => {
                if segment.cwr {
                    self.is_ece = false;
                }
                self.is_ece |= is_marked;
                None
            }
            EcnFeedback::PerPacket => {
                let changed = is_marked != self.was_marked;
                let waits = self.acked < self.rcv_nxt;
                let ack = (changed && waits).then(|| self.ack(now_ns));
                self.was_marked = is_marked;
                self.is_ece = is_marked;
                ack
            }
        }
    }

    /// `tcp_event_data_recv()`: the first segment, and one after a long pause, are acknowledged at once.
    fn note_arrival(&mut self, now_ns: Nanos) {
        let pause_ns = self.last_arrival_ns.map(|last| now_ns - last);
        if pause_ns.is_none_or(|pause| pause > 200_000_000 + u64::from(self.rtt_us) * 1000) {
            self.quick_acks = QUICK_ACKS;
        }
        self.last_arrival_ns = Some(now_ns);
    }

    fn has(&self, seq: u64) -> bool {
        let at = self.above.partition_point(|block| block.1 <= seq);
        self.above.get(at).is_some_and(|block| block.0 <= seq)
    }

    /// Takes a new segment in; whether a gap was filled altogether.
    fn take(&mut self, seq: u64) -> bool {
        if seq != self.rcv_nxt {
            self.take_above(seq);
            return false;
        }
        self.rcv_nxt += 1;
        if self.above.is_empty() {
            return false;
        }
        if self.above[0].0 == self.rcv_nxt {
            self.rcv_nxt = self.above.remove(0).1;
        }
        let rcv_nxt = self.rcv_nxt;
        self.recent.retain(|block| block.1 > rcv_nxt);
        self.above.is_empty()
    }

    fn take_above(&mut self, seq: u64) {
        let at = self.above.partition_point(|block| block.1 < seq);
        let block = match self.above.get_mut(at) {
            Some(block) if block.1 == seq => {
                block.1 += 1;
                *block
            }
            Some(block) if block.0 == seq + 1 => {
                block.0 = seq;
                *block
            }
            _ => {
                self.above.insert(at, (seq, seq + 1));
                self.above[at]
            }
        };
        let whole = match self.above.get(at + 1) {
            Some(next) if next.0 == block.1 => {
                let whole = (block.0, next.1);
                self.above[at] = whole;
                self.above.remove(at + 1);
                whole
            }
            _ => block,
        };
        self.recent.retain(|known| known.1 < whole.0 || known.0 > whole.1);
        self.recent.insert(0, whole);
        self.recent.truncate(REMEMBERED_BLOCKS);
    }

    /// `__tcp_ack_snd_check()`
    fn decide(&mut self, now_ns: Nanos, is_prompt: bool) -> Option<Ack> {
        let is_second = self.rcv_nxt - self.acked > 1;
        if is_second || is_prompt || self.quick_acks > 0 {
            return Some(self.ack(now_ns));
        }
        if self.above.is_empty() {
            if self.delayed_until_ns.is_none() {
                self.delayed_until_ns = Some(self.wheel.fires_ns(now_ns, self.wheel.jiffies(DELAY_MS * 1000)));
            }
            return None;
        }
        if self.prompt_dupacks < PROMPT_DUPACKS || self.compressed >= COMPRESSED_ACKS {
            self.prompt_dupacks += 1;
            return Some(self.ack(now_ns));
        }
        self.compressed += 1;
        if self.compressed_until_ns.is_none() {
            let delay_ns = (u64::from(self.rtt_us) * 1000 / 20).min(COMPRESSED_NS);
            self.compressed_until_ns = Some(now_ns + delay_ns);
        }
        None
    }

    fn ack(&mut self, now_ns: Nanos) -> Ack {
        if self.acked != self.rcv_nxt {
            self.prompt_dupacks = 0;
        }
        self.acked = self.rcv_nxt;
        self.quick_acks = self.quick_acks.saturating_sub(1);
        self.compressed = 0;
        (self.compressed_until_ns, self.delayed_until_ns) = (None, None);
        let mut ack = Ack {
            ack: self.rcv_nxt,
            dsack: self.duplicate.is_some(),
            tsecr_ms: self.tsval_ms,
            ece: self.is_ece,
            ce_pkts: if self.feedback == EcnFeedback::Count { self.ce_pkts } else { 0 },
            sent_ns: now_ns,
            window_bytes: self.window.offer_bytes(self.in_order_bytes, self.received_bytes - self.in_order_bytes),
            ..Ack::default()
        };
        for (place, block) in ack.sacks.iter_mut().zip(self.duplicate.iter().chain(&self.recent)) {
            *place = *block;
            ack.sack_count += 1;
        }
        debug_assert!(usize::from(ack.sack_count) <= SACK_BLOCKS);
        self.duplicate = None;
        ack
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(seq: u64) -> Segment {
        Segment {
            seq,
            bytes: 1448,
            tsval_ms: seq as u32 + 1,
            tsecr_ms: 0,
            ecn: Ecn::NotCapable,
            cwr: false,
            push: false,
        }
    }

    fn receiver(feedback: EcnFeedback) -> Receiver {
        let sender = SenderConfig { hz: 1000, handshake_rtt_us: 40_000, ..SenderConfig::default() };
        // No buffer, which cannot grow: no segment is acknowledged for that.
        let buffer = ReceiveBuffer { first_bytes: 0, most_bytes: 0 };
        Receiver::new(0, ReceiverConfig { feedback, buffer }, &sender)
    }

    /// A receiver behind its first, quickly acknowledged segments; the next is number 16.
    fn settled() -> Receiver {
        let mut receiver = receiver(EcnFeedback::Off);
        for seq in 0..16 {
            let [_, ack] = receiver.on_segment(seq, &segment(seq));
            assert_eq!(ack.map(|ack| ack.ack), Some(seq + 1), "at once");
        }
        receiver
    }

    #[test]
    fn one_ack_for_two_segments_or_after_40_ms() {
        let mut receiver = settled();
        assert_eq!(receiver.on_segment(100, &segment(16)), [None, None]);
        let [_, ack] = receiver.on_segment(200, &segment(17));
        // The echo is that of the first of the two.
        assert_eq!(ack.map(|ack| (ack.ack, ack.tsecr_ms)), Some((18, 17)));
        receiver.on_segment(300, &segment(18));
        let due_ns = receiver.next_timer_ns().unwrap();
        assert!((40_000_000..=42_000_000).contains(&due_ns), "{due_ns}");
        assert_eq!(receiver.on_timer(due_ns - 1), None);
        assert_eq!(receiver.on_timer(due_ns).map(|ack| ack.ack), Some(19));
        assert_eq!(receiver.next_timer_ns(), None);
    }

    #[test]
    fn what_was_pushed_is_acknowledged_once_it_is_read() {
        let mut receiver = settled();
        let pushed = |seq| Segment { push: true, ..segment(seq) };
        assert_eq!(receiver.on_segment(100, &segment(16)), [None, None]);
        // The second segment is acknowledged anyway, and the third is a pushed one: on its own.
        assert_eq!(receiver.on_segment(200, &pushed(17))[1].map(|ack| ack.ack), Some(18));
        assert_eq!(receiver.on_segment(300, &pushed(18))[1].map(|ack| ack.ack), Some(19));
        // Above a gap there is nothing to read: after three prompt ACKs it is put off.
        let prompt = (20..23).all(|seq| receiver.on_segment(400, &segment(seq))[1].is_some());
        assert!(prompt && receiver.on_segment(500, &pushed(23)) == [None, None]);
    }

    #[test]
    fn a_gap_is_reported_the_newest_block_first() {
        let mut receiver = settled();
        let blocks = |acks: [Option<Ack>; 2]| acks[1].map(|ack| (ack.ack, ack.blocks().to_vec()));
        assert_eq!(blocks(receiver.on_segment(101, &segment(17))), Some((16, vec![(17, 18)])));
        assert_eq!(blocks(receiver.on_segment(102, &segment(20))), Some((16, vec![(20, 21), (17, 18)])));
        assert_eq!(blocks(receiver.on_segment(103, &segment(18))), Some((16, vec![(17, 19), (20, 21)])));
        // Now they are put off, for a millisecond at most.
        assert_eq!(receiver.on_segment(104, &segment(21)), [None, None]);
        let due_ns = receiver.next_timer_ns().unwrap();
        assert_eq!(due_ns, 104 + COMPRESSED_NS);
        let ack = receiver.on_timer(due_ns).unwrap();
        assert_eq!((ack.ack, ack.blocks()), (16, &[(20, 22), (17, 19)][..]));
        // A part of the gap is filled, then all of it, which is told at once.
        assert_eq!(blocks(receiver.on_segment(5_000_000, &segment(16))), Some((19, vec![(20, 22)])));
        assert_eq!(blocks(receiver.on_segment(5_000_001, &segment(19))), Some((22, vec![])));
    }

    #[test]
    fn what_came_twice_is_told_in_the_first_block() {
        let mut receiver = settled();
        let ack = receiver.on_segment(101, &segment(3))[1].unwrap();
        assert_eq!((ack.ack, ack.dsack, ack.blocks()), (16, true, &[(3, 4)][..]));
        receiver.on_segment(102, &segment(18));
        let ack = receiver.on_segment(103, &segment(18))[1].unwrap();
        assert_eq!((ack.dsack, ack.blocks()), (true, &[(18, 19), (18, 19)][..]));
        assert_eq!(receiver.received_bytes(), 17 * 1448);
    }

    #[test]
    fn marks_come_back_by_each_of_the_three_rules() {
        let marked = |seq| Segment { ecn: Ecn::Ce, ..segment(seq) };
        let reduced = |seq| Segment { cwr: true, ..segment(seq) };
        let ece = |feedback| {
            let mut receiver = receiver(feedback);
            let all = [segment(0), marked(1), segment(2), reduced(3), segment(4)];
            all.map(|segment| receiver.on_segment(segment.seq, &segment)[1].map(|ack| (ack.ece, ack.ce_pkts)).unwrap())
        };
        let (no, yes) = ((false, 0), (true, 0));
        assert_eq!(ece(EcnFeedback::Classic), [no, yes, yes, no, no]);
        assert_eq!(ece(EcnFeedback::PerPacket), [no, yes, no, no, no]);
        assert_eq!(ece(EcnFeedback::Count), [no, (false, 1), (false, 1), (false, 1), (false, 1)]);
    }
}
