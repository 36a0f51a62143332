//! Loss by time: RACK (RFC 8985), `net/ipv4/tcp_recovery.c`.

use super::{REORDERING_PKTS, Sender};
use crate::board::{ANY_RESENT, LOST, RESENT, SACKED};
use ccactl_native::{CA_RECOVERY, RateSample};

/// `TCP_RACK_RECOVERY_THRESH`
pub(super) const PERSIST: u8 = 16;

/// `struct tcp_rack`; its time and RTT stand in `tcp_sock`.
pub(super) struct Rack {
    /// The segment that was sent last of those that have arrived.
    seq: u64,
    /// Something has arrived since losses were looked for.
    pub advanced: bool,
    pub dsack_seen: bool,
    reo_wnd_steps: u8,
    pub reo_wnd_persist: u8,
    last_delivered: u32,
}

impl Rack {
    pub fn new() -> Rack {
        Rack { seq: 0, advanced: false, dsack_seen: false, reo_wnd_steps: 1, reo_wnd_persist: 0, last_delivered: 0 }
    }
}

impl Sender {
    /// `tcp_rack_advance()`
    pub(super) fn rack_advance(&mut self, seq: u64, flags: u8, sent_us: u64) {
        let rtt_us = self.now_us().saturating_sub(sent_us) as u32;
        let tp = self.socket.tp_mut();
        // It is the original that has arrived, and not what was sent again a moment ago.
        if rtt_us < tp.rtt_min[0].v && flags & ANY_RESENT != 0 {
            return;
        }
        self.rack.advanced = true;
        tp.rack.rtt_us = rtt_us;
        if (sent_us, seq) > (tp.rack.mstamp, self.rack.seq) {
            tp.rack.mstamp = sent_us;
            self.rack.seq = seq;
        }
    }

    /// `tcp_rack_reo_wnd()`
    fn reo_wnd_us(&self) -> u32 {
        let tp = self.socket.tp();
        if self.reorder_seen == 0 && (tp.ca_state() >= CA_RECOVERY || tp.sacked_out >= self.reordering_pkts) {
            return 0;
        }
        let quarters = (tp.rtt_min[0].v >> 2).saturating_mul(u32::from(self.rack.reo_wnd_steps));
        quarters.min(tp.srtt_us >> 3)
    }

    /// How long a segment has left until it counts as lost, in µs (`tcp_rack_skb_timeout()`).
    pub(super) fn rack_left_us(&self, sent_us: u64, reo_wnd_us: u32) -> i64 {
        let allowed = i64::from(self.socket.tp().rack.rtt_us) + i64::from(reo_wnd_us);
        allowed - self.now_us().saturating_sub(sent_us) as i64
    }

    /// Marks what is lost; how long the next one has left (`tcp_rack_detect_loss()`).
    pub(super) fn detect_losses(&mut self) -> Option<u64> {
        let reo_wnd_us = self.reo_wnd_us();
        let mut timeout_us = 0;
        let mut next = self.board.oldest();
        while let Some(seq) = next {
            next = self.board.after(seq);
            let entry = *self.board.get(seq);
            if entry.is(LOST) && !entry.is(RESENT) {
                continue;
            }
            if (self.socket.tp().rack.mstamp, self.rack.seq) <= (entry.sent_us(), seq) {
                break;
            }
            let left_us = self.rack_left_us(entry.sent_us(), reo_wnd_us);
            if left_us <= 0 {
                self.mark_lost(seq);
                self.board.unlink(seq);
            } else {
                timeout_us = timeout_us.max(left_us as u64);
            }
        }
        (timeout_us > 0).then_some(timeout_us)
    }

    /// `tcp_rack_mark_lost()`; whether it has set the timer.
    pub(super) fn look_for_losses(&mut self) -> bool {
        if !std::mem::take(&mut self.rack.advanced) {
            return false;
        }
        let Some(timeout_us) = self.detect_losses() else {
            return false;
        };
        self.set_reorder_timer(timeout_us);
        true
    }

    /// `tcp_mark_skb_lost()`
    pub(super) fn mark_lost(&mut self, seq: u64) {
        let entry = self.board.get_mut(seq);
        if entry.is(SACKED) {
            return;
        }
        let (was_lost, was_resent) = (entry.is(LOST), entry.is(RESENT));
        if was_lost && !was_resent {
            return;
        }
        entry.flags = (entry.flags | LOST) & if was_lost { !RESENT } else { !0 };
        self.resend_hint = self.resend_hint.min(seq);
        let tp = self.socket.tp_mut();
        if was_lost {
            tp.retrans_out -= 1;
        } else {
            tp.lost_out += 1;
        }
        tp.lost = tp.lost.wrapping_add(1);
        self.totals.lost_pkts += 1;
    }

    /// `tcp_rack_update_reo_wnd()`
    pub(super) fn update_reo_wnd(&mut self, rs: &RateSample) {
        if rs.prior_delivered == 0 {
            return;
        }
        // Not more often than once in a round trip.
        if (rs.prior_delivered.wrapping_sub(self.rack.last_delivered) as i32) < 0 {
            self.rack.dsack_seen = false;
        }
        if self.rack.dsack_seen {
            self.rack.reo_wnd_steps = self.rack.reo_wnd_steps.saturating_add(1);
            self.rack.dsack_seen = false;
            self.rack.last_delivered = self.socket.tp().delivered;
            self.rack.reo_wnd_persist = PERSIST;
        } else if self.rack.reo_wnd_persist == 0 {
            self.rack.reo_wnd_steps = 1;
        }
    }

    /// `tcp_check_sack_reordering()`: `low` has arrived after what is above it.
    pub(super) fn note_reordering(&mut self, low: u64) {
        let high = self.highest_sack.unwrap_or_else(|| self.board.una());
        if low >= high {
            return;
        }
        let distance = (high - low) as u32;
        if distance > self.reordering_pkts {
            self.reordering_pkts = distance.min(300);
        }
        debug_assert!(self.reordering_pkts >= REORDERING_PKTS);
        self.reorder_seen += 1;
    }
}
