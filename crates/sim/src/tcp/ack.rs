//! What an acknowledgement does: `tcp_ack()`, `tcp_clean_rtx_queue()`, `tcp_sacktag_write_queue()`.

use super::rate::Sampler;
use super::rtt;
use super::{Flags, Resend, START_NS, Sender, SenderEcn};
use crate::Nanos;
use crate::board::{ANY_RESENT, BUFFER_END, LOST, RESENT, SACKED};
use crate::segment::{Ack, Block};
use ccactl_native::{AckSample, CA_LOSS, CA_OPEN};

/// `CA_ACK_SLOWPATH`, `CA_ACK_WIN_UPDATE`, `CA_ACK_ECE`
const ACK_SLOWPATH: u32 = 1;
const ACK_WINDOW: u32 = 2;
const ACK_ECE: u32 = 4;

/// First and last time of transmission, in µs, of what arrived and was sent once.
#[derive(Default)]
struct Span {
    first_us: Option<u64>,
    last_us: u64,
}

impl Span {
    fn add(&mut self, sent_us: u64) {
        self.first_us.get_or_insert(sent_us);
        self.last_us = sent_us;
    }
}

/// What is known of an ACK while it is processed (`struct tcp_sacktag_state`).
struct Seen {
    flags: Flags,
    sampler: Sampler,
    acked: Span,
    sacked: Span,
    /// The lowest number that has arrived out of order.
    reordered: u64,
    /// Segments newly SACKed.
    sack_delivered: u32,
    /// Segments cumulatively acknowledged.
    acked_pkts: u32,
}

impl Sender {
    /// An acknowledgement has arrived.
    pub fn on_ack(&mut self, now_ns: Nanos, ack: &Ack) {
        let prior_una = self.board.una();
        if ack.ack < prior_una {
            return;
        }
        self.set_now(now_ns);
        let tp = self.socket.tp();
        let (prior_delivered, prior_lost, prior_packets) = (tp.delivered, tp.lost, tp.packets_out);
        let prior_high = self.highest_sack.unwrap_or(prior_una);
        let mut seen = Seen {
            flags: Flags { advanced: ack.ack > prior_una, ..Flags::default() },
            sampler: Sampler::new(tp.in_flight()),
            acked: Span::default(),
            sacked: Span::default(),
            reordered: self.board.nxt(),
            sack_delivered: 0,
            acked_pkts: 0,
        };
        if seen.flags.advanced {
            self.timeouts = 0;
        }
        self.tsecr_ms = ack.tsecr_ms;
        self.heard_from(ack.sent_ns);
        self.window_end = ack.ack + u64::from(ack.window_bytes / self.config.mss_bytes);
        self.socket.tp_mut().snd_wnd = ack.window_bytes;
        let options = &mut self.socket.tp_mut().rx_opt;
        let clock_ms = ((START_NS + ack.sent_ns) / 1_000_000) as u32;
        options.rcv_tsval = clock_ms.wrapping_add(self.config.peer_clock_ms);
        options.rcv_tsecr = ack.tsecr_ms;
        seen.flags.ece = self.config.ecn == SenderEcn::Classic && ack.ece;
        self.take_sacks(ack, &mut seen);
        if prior_packets == 0 {
            return;
        }
        self.clean(ack, prior_high, prior_una, &mut seen);
        let mut rs = seen.sampler.sample;
        self.update_reo_wnd(&rs);
        let mut flags = seen.flags;
        self.count_marks(ack, &mut flags);
        let slow = if ack.sack_count > 0 || flags.ece { ACK_SLOWPATH } else { ACK_WINDOW };
        self.socket.in_ack_event(slow | if flags.ece { ACK_ECE } else { 0 });
        if self.probe_end.is_some() {
            self.process_probe_ack(ack.ack, &flags);
        }
        let is_not_dup = flags.acked;
        let mut resend = Resend::Nothing;
        if !is_not_dup || flags.alert() || self.ca_state() != CA_OPEN {
            let is_dupack = !flags.advanced && !is_not_dup && !flags.dsack;
            resend = self.alert(&mut flags, prior_una, is_dupack);
        }
        if flags.set_timer {
            self.set_timer_after_ack();
        }
        let tp = self.socket.tp();
        let delivered = tp.delivered.wrapping_sub(prior_delivered);
        let lost = tp.lost.wrapping_sub(prior_lost);
        rs.is_ack_delayed = flags.maybe_delayed;
        self.totals.delivered_pkts += u64::from(delivered);
        self.finish_sample(&mut rs, delivered, lost);
        self.control(&rs, &flags);
        self.resend(resend);
        self.transmit();
        self.take_more();
    }

    /// Marks that the receiver has counted, or that the echo stands for.
    fn count_marks(&mut self, ack: &Ack, flags: &mut Flags) {
        if self.config.ecn != SenderEcn::Accurate {
            return;
        }
        let marked = ack.ce_pkts.wrapping_sub(self.seen_ce);
        // An older one that was overtaken.
        if (marked as i32) <= 0 {
            return;
        }
        self.seen_ce = ack.ce_pkts;
        flags.ece = true;
        let tp = self.socket.tp_mut();
        tp.delivered_ce = tp.delivered_ce.wrapping_add(marked);
    }

    /// `tcp_count_delivered()`
    fn count_delivered(&mut self, pkts: u32, ece: bool) {
        let tp = self.socket.tp_mut();
        tp.delivered = tp.delivered.wrapping_add(pkts);
        if ece {
            tp.delivered_ce = tp.delivered_ce.wrapping_add(pkts);
        }
    }

    /// `tcp_sacktag_write_queue()`
    fn take_sacks(&mut self, ack: &Ack, seen: &mut Seen) {
        let mut blocks = ack.blocks();
        if ack.dsack {
            let (block, rest) = blocks.split_first().expect("a report of duplicates is a block");
            self.take_dsack(*block, seen);
            blocks = rest;
        }
        let una = self.board.una().max(ack.ack);
        for &block in blocks {
            let known = self.sack_cache;
            for part in without(block, &known) {
                for seq in part.0.max(una)..part.1.min(self.board.nxt()) {
                    self.sack(seq, seen);
                }
            }
        }
        if !blocks.is_empty() {
            self.sack_cache = Default::default();
            self.sack_cache[..blocks.len()].copy_from_slice(blocks);
        }
        if seen.sack_delivered > 0 {
            self.count_delivered(seen.sack_delivered, seen.flags.ece);
        }
        if self.ca_state() != CA_LOSS || self.undo_from.is_some() {
            self.note_reordering(seen.reordered);
        }
    }

    /// What was sent again had arrived before (`tcp_check_dsack()`).
    fn take_dsack(&mut self, block: Block, seen: &mut Seen) {
        seen.flags.dsack = true;
        self.rack.dsack_seen = true;
        if self.probe_end == Some(block.1) {
            seen.flags.dsack_of_probe = true;
        }
        let Some(undo_from) = self.undo_from else {
            return;
        };
        for seq in block.0..block.1 {
            if seq >= undo_from && self.undo_resent > 0 {
                self.undo_resent -= 1;
            }
        }
    }

    /// `tcp_sacktag_one()`
    fn sack(&mut self, seq: u64, seen: &mut Seen) {
        let entry = *self.board.get(seq);
        if entry.is(SACKED) {
            return;
        }
        let sent_us = entry.sent_us();
        self.rack_advance(seq, entry.flags, sent_us);
        let mut flags = entry.flags;
        if entry.is(RESENT) {
            // Not marked lost a second time: what was sent again is taken to be on its way.
            if entry.is(LOST) {
                flags &= !(LOST | RESENT);
                let tp = self.socket.tp_mut();
                tp.lost_out -= 1;
                tp.retrans_out -= 1;
            }
        } else {
            if !entry.is(ANY_RESENT) {
                if self.highest_sack.is_some_and(|high| seq + 1 < high) {
                    seen.reordered = seen.reordered.min(seq);
                }
                seen.flags.original_acked |= seq < self.high_seq;
                seen.sacked.add(sent_us);
            }
            if entry.is(LOST) {
                flags &= !LOST;
                self.socket.tp_mut().lost_out -= 1;
            }
        }
        seen.flags.sacked = true;
        seen.sack_delivered += 1;
        self.highest_sack = Some(self.highest_sack.map_or(seq + 1, |high| high.max(seq + 1)));
        self.board.unlink(seq);
        let entry = self.board.get_mut(seq);
        // The sample sees what it was before, but that it is SACKed.
        entry.flags |= SACKED;
        let tp = self.socket.tp_mut();
        tp.sacked_out += 1;
        seen.sampler.delivered(tp, seq, entry);
        entry.flags = flags | SACKED;
    }

    /// `tcp_clean_rtx_queue()`
    fn clean(&mut self, ack: &Ack, prior_high: u64, prior_una: u64, seen: &mut Seen) {
        let prior_sacked = self.socket.tp().sacked_out;
        let mut reordered = u64::MAX;
        while self.board.una() < ack.ack {
            let seq = self.board.una();
            let Some(mut entry) = self.board.pop() else { break };
            let sent_us = entry.sent_us();
            if entry.is(ANY_RESENT) {
                seen.flags.resent_acked = true;
                if entry.is(RESENT) {
                    self.socket.tp_mut().retrans_out -= 1;
                }
            } else if !entry.is(SACKED) {
                seen.acked.add(sent_us);
                reordered = reordered.min(seq);
                seen.flags.original_acked |= seq < self.high_seq;
            }
            if entry.is(SACKED) {
                self.socket.tp_mut().sacked_out -= 1;
            } else {
                self.count_delivered(1, seen.flags.ece);
                self.rack_advance(seq, entry.flags, sent_us);
            }
            self.sndbuf.sent_buffers -= u64::from(entry.is(BUFFER_END));
            let tp = self.socket.tp_mut();
            if entry.is(LOST) {
                tp.lost_out -= 1;
            }
            tp.packets_out -= 1;
            tp.bytes_acked += u64::from(entry.bytes);
            self.totals.acked_bytes += u64::from(entry.bytes);
            seen.acked_pkts += 1;
            seen.flags.acked = true;
            seen.sampler.delivered(tp, seq, &mut entry);
        }
        let una = self.board.una();
        self.resend_hint = self.resend_hint.max(una);
        self.highest_sack = self.highest_sack.filter(|&high| high > una);
        self.mirror();
        self.take_rtt(prior_una, prior_sacked, seen);
        if seen.flags.acked && reordered < prior_high {
            self.note_reordering_below(reordered, prior_high);
        }
        let tp = self.socket.tp();
        let in_flight = tp.delivered.wrapping_sub(seen.sampler.sample.prior_delivered).wrapping_mul(tp.mss_cache);
        let rtt_us = seen.sampler.sample.rtt_us as i32;
        self.socket.pkts_acked(&AckSample { pkts_acked: seen.acked_pkts, rtt_us, in_flight });
    }

    /// RTT samples of an ACK: `tcp_ack_update_rtt()`.
    fn take_rtt(&mut self, prior_una: u64, prior_sacked: u32, seen: &mut Seen) {
        let now_us = self.now_us();
        let since = |sent_us: u64| now_us.saturating_sub(sent_us) as i64;
        let (mut seq_rtt_us, mut ca_rtt_us, mut sack_rtt_us) = (-1, -1, -1);
        if let (Some(first_us), false) = (seen.acked.first_us, seen.flags.resent_acked) {
            seq_rtt_us = since(first_us);
            ca_rtt_us = since(seen.acked.last_us);
            let is_alone = seen.acked_pkts == 1 && prior_sacked == 0 && self.board.una() - prior_una == 1;
            let is_next = seen.sampler.sample.prior_delivered.wrapping_add(1) == self.socket.tp().delivered;
            seen.flags.maybe_delayed = is_alone && is_next && !seen.flags.alert();
        }
        if let Some(first_us) = seen.sacked.first_us {
            sack_rtt_us = since(first_us);
            ca_rtt_us = since(seen.sacked.last_us);
        }
        if seq_rtt_us < 0 {
            seq_rtt_us = sack_rtt_us;
        }
        if seq_rtt_us < 0 && seen.flags.acked && self.tsecr_ms != 0 {
            // Of what was sent again only the time stamp says when it left, in ms.
            let ms = self.now_ms().wrapping_sub(self.tsecr_ms).max(1);
            seq_rtt_us = i64::from(ms) * 1000;
            ca_rtt_us = seq_rtt_us;
        }
        seen.sampler.sample.rtt_us = ca_rtt_us;
        let has_sample = seq_rtt_us >= 0;
        if has_sample {
            let (una, nxt) = (self.board.una(), self.board.nxt());
            let (jiffies, hz) = (self.socket.jiffies(), self.config.hz);
            let tp = self.socket.tp_mut();
            let is_longer = i64::from(tp.rtt_min[0].v) < ca_rtt_us;
            if !(seen.flags.maybe_delayed && is_longer) {
                // 0 µs counts as a jiffy.
                let rtt_us = if ca_rtt_us == 0 { 1_000_000 / hz } else { ca_rtt_us as u32 };
                rtt::update_min(tp, rtt_us, jiffies, hz);
            }
            self.rtt.sample(tp, seq_rtt_us as u32, una, nxt);
            self.rtt.backoff = 0;
        }
        if seen.flags.acked {
            seen.flags.set_timer = true;
        } else if has_sample && sack_rtt_us >= 0 && !self.board.is_empty() {
            // Not for data sent after the head was: it would put the timeout off for ever.
            let head_us = self.board.get(self.board.una()).sent_us();
            seen.flags.set_timer |= sack_rtt_us > since(head_us);
        }
    }

    /// What was sent once has filled a hole below what had arrived before.
    fn note_reordering_below(&mut self, low: u64, prior_high: u64) {
        let high = self.highest_sack;
        self.highest_sack = high.or(Some(prior_high));
        self.note_reordering(low);
        self.highest_sack = high;
    }

    /// `tcp_xmit_recovery()`
    fn resend(&mut self, what: Resend) {
        match what {
            Resend::Nothing => return,
            Resend::Lost => {}
            Resend::NewFirst => {
                self.transmit();
                if self.board.nxt() > self.high_seq {
                    return;
                }
                self.is_frto = false;
            }
        }
        self.resend_lost();
    }
}

/// What of a block is in none of the others, in order.
fn without(block: Block, known: &[Block]) -> impl Iterator<Item = Block> {
    let mut known: Vec<Block> = known.iter().copied().filter(|k| k.0 < block.1 && k.1 > block.0).collect();
    known.sort_unstable();
    let mut parts = Vec::new();
    let mut from = block.0;
    for (start, end) in known {
        if from < start {
            parts.push((from, start));
        }
        from = from.max(end);
    }
    if from < block.1 {
        parts.push((from, block.1));
    }
    parts.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_without_what_is_known() {
        let left = |block, known: &[Block]| without(block, known).collect::<Vec<_>>();
        assert_eq!(left((10, 20), &[]), [(10, 20)]);
        assert_eq!(left((10, 20), &[(0, 0), (12, 14), (18, 30)]), [(10, 12), (14, 18)]);
        assert_eq!(left((10, 20), &[(15, 20), (5, 15)]), []);
    }
}
