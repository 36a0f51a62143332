//! The scoreboard: what is between snd_una and snd_nxt (`tcp_rtx_queue`), and in which order it was sent last
//! (`tsorted_sent_queue`).

use crate::Nanos;
use std::collections::VecDeque;

/// Bits of [`Entry::flags`], those of `TCP_SKB_CB(skb)->sacked`.
pub const SACKED: u8 = 1;
/// Sent again, and that is still on its way (`TCPCB_SACKED_RETRANS`).
pub const RESENT: u8 = 2;
/// `TCPCB_LOST`
pub const LOST: u8 = 4;
/// `TCPCB_EVER_RETRANS`
pub const EVER_RESENT: u8 = 8;
/// `tx.is_app_limited`
pub const APP_LIMITED: u8 = 16;
/// `TCPHDR_PSH`
pub const PUSHED: u8 = 32;
/// The last of a buffer, as it was sent first.
pub const BUFFER_END: u8 = 64;
/// `TCPCB_RETRANS`
pub const ANY_RESENT: u8 = RESENT | EVER_RESENT;

const NOWHERE: u32 = u32::MAX;

/// A segment, with what `tcp_rate_skb_sent()` notes about its last transmission.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// When it was sent last.
    pub sent_ns: Nanos,
    /// `tx.first_tx_mstamp`
    pub first_tx_us: u64,
    /// `tx.delivered_mstamp`; 0 = its rate sample was taken.
    pub delivered_us: u64,
    /// `tx.delivered`
    pub delivered: u32,
    /// `tx.delivered_ce`
    pub delivered_ce: u32,
    /// Payload.
    pub bytes: u32,
    /// Of the constants above.
    pub flags: u8,
    earlier: u32,
    later: u32,
}

impl Entry {
    /// One that was sent for the first time.
    pub fn new(sent_ns: Nanos, bytes: u32) -> Entry {
        Entry {
            sent_ns,
            first_tx_us: 0,
            delivered_us: 0,
            delivered: 0,
            delivered_ce: 0,
            bytes,
            flags: 0,
            earlier: NOWHERE,
            later: NOWHERE,
        }
    }

    /// Whether any of these flags is set.
    pub fn is(&self, flags: u8) -> bool {
        self.flags & flags != 0
    }

    /// By the kernel's clock, which counts µs.
    pub fn sent_us(&self) -> u64 {
        self.sent_ns / 1000
    }
}

/// Entries by number, and a list through them in the order of their last transmission. All steps cost O(1).
pub struct Board {
    entries: VecDeque<Entry>,
    una: u64,
    oldest: u32,
    newest: u32,
}

impl Board {
    /// Nothing is outstanding; the first segment has number 0.
    pub fn new() -> Board {
        Board { entries: VecDeque::new(), una: 0, oldest: NOWHERE, newest: NOWHERE }
    }

    /// The first number that is not acknowledged.
    pub fn una(&self) -> u64 {
        self.una
    }

    /// The next number to send.
    pub fn nxt(&self) -> u64 {
        self.una + self.entries.len() as u64
    }

    /// Whether nothing is outstanding.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entry of this number, which is outstanding.
    pub fn get(&self, seq: u64) -> &Entry {
        &self.entries[(seq - self.una) as usize]
    }

    /// The same, to change.
    pub fn get_mut(&mut self, seq: u64) -> &mut Entry {
        &mut self.entries[(seq - self.una) as usize]
    }

    /// A new one, at the end of both orders. Its number.
    pub fn push(&mut self, entry: Entry) -> u64 {
        let seq = self.nxt();
        self.entries.push_back(entry);
        self.append(seq);
        seq
    }

    /// Takes the first one out: it was acknowledged.
    pub fn pop(&mut self) -> Option<Entry> {
        if self.entries.is_empty() {
            return None;
        }
        self.unlink(self.una);
        self.una += 1;
        self.entries.pop_front()
    }

    /// Sent again: it is the newest now.
    pub fn sent_again(&mut self, seq: u64) {
        self.unlink(seq);
        self.append(seq);
    }

    /// Takes it out of the order of transmission, as what was SACKed or marked lost.
    pub fn unlink(&mut self, seq: u64) {
        let Entry { earlier, later, .. } = *self.get(seq);
        let is_linked = earlier != NOWHERE || later != NOWHERE || self.oldest == self.link(seq);
        if !is_linked {
            return;
        }
        match self.number(earlier) {
            Some(before) => self.get_mut(before).later = later,
            None => self.oldest = later,
        }
        match self.number(later) {
            Some(after) => self.get_mut(after).earlier = earlier,
            None => self.newest = earlier,
        }
        let entry = self.get_mut(seq);
        (entry.earlier, entry.later) = (NOWHERE, NOWHERE);
    }

    /// What was sent first of all that may still arrive.
    pub fn oldest(&self) -> Option<u64> {
        self.number(self.oldest)
    }

    /// What was sent right after it.
    pub fn after(&self, seq: u64) -> Option<u64> {
        self.number(self.get(seq).later)
    }

    fn append(&mut self, seq: u64) {
        let link = self.link(seq);
        match self.number(self.newest) {
            Some(last) => self.get_mut(last).later = link,
            None => self.oldest = link,
        }
        let newest = self.newest;
        self.get_mut(seq).earlier = newest;
        self.newest = link;
    }

    /// A number as it stands in a link: 31 bits are enough to tell apart what is outstanding.
    fn link(&self, seq: u64) -> u32 {
        (seq & 0x7fff_ffff) as u32
    }

    fn number(&self, link: u32) -> Option<u64> {
        (link != NOWHERE).then(|| self.una + u64::from(link.wrapping_sub(self.link(self.una)) & 0x7fff_ffff))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(board: &Board) -> Vec<u64> {
        std::iter::successors(board.oldest(), |&seq| board.after(seq)).collect()
    }

    #[test]
    fn the_order_of_transmission_is_kept_through_resends_and_losses() {
        let mut board = Board::new();
        for at in 0..6 {
            board.push(Entry::new(at, 1448));
        }
        assert_eq!(order(&board), [0, 1, 2, 3, 4, 5]);
        board.unlink(2);
        board.unlink(2);
        board.sent_again(0);
        assert_eq!(order(&board), [1, 3, 4, 5, 0]);
        board.sent_again(2);
        assert_eq!(order(&board), [1, 3, 4, 5, 0, 2]);
        for _ in 0..5 {
            board.pop();
        }
        assert_eq!((order(&board), board.una(), board.nxt()), (vec![5], 5, 6));
        board.pop();
        assert_eq!((order(&board), board.is_empty()), (vec![], true));
        board.push(Entry::new(9, 1448));
        assert_eq!(order(&board), [6]);
    }
}
