//! Rate samples: `net/ipv4/tcp_rate.c`.

use super::Sender;
use crate::board::{ANY_RESENT, APP_LIMITED, Entry, SACKED};
use ccactl_native::{RateSample, TcpSock};

/// A rate sample in the making, with what decides which segment it is of.
pub(super) struct Sampler {
    pub sample: RateSample,
    seq: u64,
}

impl Sampler {
    pub fn new(prior_in_flight: u32) -> Sampler {
        Sampler {
            sample: RateSample { prior_in_flight, interval_us: 0, delivered: 0, ..RateSample::default() },
            seq: 0,
        }
    }

    /// `tcp_rate_skb_delivered()`
    pub fn delivered(&mut self, tp: &mut TcpSock, seq: u64, entry: &mut Entry) {
        if entry.delivered_us == 0 {
            return;
        }
        let sent_us = entry.sent_us();
        // tcp_skb_sent_after(): of all that arrives with this ACK, what was sent last.
        if self.sample.prior_delivered == 0 || (sent_us, seq) > (tp.first_tx_mstamp, self.seq) {
            self.sample.prior_delivered = entry.delivered;
            self.sample.prior_delivered_ce = entry.delivered_ce;
            self.sample.prior_mstamp = entry.delivered_us;
            self.sample.is_app_limited = entry.is(APP_LIMITED);
            self.sample.is_retrans = entry.is(ANY_RESENT);
            self.sample.last_end_seq = (seq as u32).wrapping_add(1).wrapping_mul(tp.mss_cache);
            self.seq = seq;
            tp.first_tx_mstamp = sent_us;
            self.sample.interval_us = sent_us.saturating_sub(entry.first_tx_us) as i64;
        }
        if entry.is(SACKED) {
            entry.delivered_us = 0;
        }
    }
}

impl Sender {
    /// `tcp_rate_skb_sent()`
    pub(super) fn note_sent(&mut self, entry: &mut Entry) {
        let now_us = entry.sent_us();
        let tp = self.socket.tp_mut();
        if tp.packets_out == 0 {
            tp.first_tx_mstamp = now_us;
            tp.delivered_mstamp = now_us;
        }
        entry.first_tx_us = tp.first_tx_mstamp;
        entry.delivered_us = tp.delivered_mstamp;
        entry.delivered = tp.delivered;
        entry.delivered_ce = tp.delivered_ce;
        if tp.app_limited != 0 {
            entry.flags |= APP_LIMITED;
        } else {
            entry.flags &= !APP_LIMITED;
        }
    }

    /// `tcp_rate_gen()`
    pub(super) fn finish_sample(&mut self, rs: &mut RateSample, delivered: u32, lost: u32) {
        let now_us = self.now_us();
        let tp = self.socket.tp_mut();
        if tp.app_limited != 0 && (tp.delivered.wrapping_sub(tp.app_limited) as i32) > 0 {
            tp.app_limited = 0;
        }
        if delivered > 0 {
            tp.delivered_mstamp = now_us;
        }
        rs.acked_sacked = delivered;
        rs.losses = lost as i32;
        if rs.prior_mstamp == 0 {
            rs.delivered = -1;
            rs.interval_us = -1;
            return;
        }
        rs.delivered = tp.delivered.wrapping_sub(rs.prior_delivered) as i32;
        rs.delivered_ce = tp.delivered_ce.wrapping_sub(rs.prior_delivered_ce) as i32;
        rs.snd_interval_us = rs.interval_us as u32;
        rs.rcv_interval_us = now_us.saturating_sub(rs.prior_mstamp) as u32;
        rs.interval_us = i64::from(rs.snd_interval_us.max(rs.rcv_interval_us));
        // Shorter than a round trip: ACKs of a retransmission that came in a bunch.
        if rs.interval_us < i64::from(tp.rtt_min[0].v) {
            rs.interval_us = -1;
            return;
        }
        let is_faster = rs.delivered as u64 * u64::from(tp.rate_interval_us)
            >= u64::from(tp.rate_delivered) * rs.interval_us as u64;
        if !rs.is_app_limited || is_faster {
            tp.rate_delivered = rs.delivered as u32;
            tp.rate_interval_us = rs.interval_us as u32;
        }
    }

    /// `tcp_rate_check_app_limited()`
    pub(super) fn check_app_limited(&mut self) {
        let has_data = self.has_new_data();
        let tp = self.socket.tp_mut();
        if !has_data && tp.in_flight() < tp.snd_cwnd && tp.lost_out <= tp.retrans_out {
            tp.app_limited = tp.delivered.wrapping_add(tp.in_flight()).max(1);
        }
    }
}
