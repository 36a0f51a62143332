//! Recovery: `tcp_fastretrans_alert()` and what it calls, PRR (RFC 9937), undo, F-RTO (RFC 5682).

use super::{Flags, Resend, Sender};
use crate::board::{ANY_RESENT, LOST};
use ccactl_native::{CA_CWR, CA_DISORDER, CA_LOSS, CA_OPEN, CA_RECOVERY, EVENT_COMPLETE_CWR, RateSample, TcpSock};

pub(super) const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

impl Sender {
    /// `tcp_fastretrans_alert()`
    pub(super) fn alert(&mut self, flags: &mut Flags, prior_una: u64, is_dupack: bool) -> Resend {
        if flags.ece {
            self.prior_ssthresh = 0;
        }
        let una = self.board.una();
        if self.ca_state() != CA_OPEN && una >= self.high_seq {
            match self.ca_state() {
                // Until something above it is acknowledged: the receiver has seen CWR then.
                CA_CWR if una != self.high_seq => {
                    self.end_reduction();
                    self.set_state(CA_OPEN);
                }
                CA_RECOVERY => {
                    self.try_undo_recovery();
                    self.end_reduction();
                }
                _ => {}
            }
        }
        match self.ca_state() {
            CA_RECOVERY => {
                if flags.advanced && self.try_undo_partial(prior_una) {
                    return Resend::Nothing;
                }
                if self.try_undo_dsack() {
                    self.try_to_open(flags);
                }
                self.identify_losses(flags);
                if self.ca_state() != CA_RECOVERY {
                    if !self.is_time_to_recover() {
                        return Resend::Nothing;
                    }
                    self.enter_recovery(flags.ece);
                }
            }
            CA_LOSS => {
                let resend = self.process_loss(flags, is_dupack);
                self.identify_losses(flags);
                if self.ca_state() != CA_OPEN && !flags.lost_resent {
                    return resend;
                }
                return self.recover_if_time(flags).unwrap_or(resend);
            }
            _ => return self.recover_if_time(flags).unwrap_or(Resend::Nothing),
        }
        Resend::Lost
    }

    /// The state in which nothing is repaired yet: does it have to be?
    fn recover_if_time(&mut self, flags: &mut Flags) -> Option<Resend> {
        if self.ca_state() <= CA_DISORDER {
            self.try_undo_dsack();
        }
        self.identify_losses(flags);
        if !self.is_time_to_recover() {
            self.try_to_open(flags);
            return None;
        }
        self.enter_recovery(flags.ece);
        Some(Resend::Lost)
    }

    /// `tcp_identify_packet_loss()`
    fn identify_losses(&mut self, flags: &mut Flags) {
        if self.board.is_empty() {
            return;
        }
        let before = self.socket.tp().retrans_out;
        if self.look_for_losses() {
            flags.set_timer = false;
        }
        if self.socket.tp().retrans_out < before {
            flags.lost_resent = true;
        }
    }

    fn is_time_to_recover(&self) -> bool {
        self.socket.tp().lost_out > 0
    }

    fn set_state(&mut self, state: u8) {
        self.mirror();
        self.socket.set_state(state);
    }

    /// `tcp_in_cwnd_reduction()`
    pub(super) fn is_reducing(&self) -> bool {
        matches!(self.ca_state(), CA_CWR | CA_RECOVERY)
    }

    /// `tcp_current_ssthresh()`
    fn current_ssthresh(&self) -> u32 {
        let TcpSock { snd_ssthresh, snd_cwnd, .. } = *self.socket.tp();
        if self.is_reducing() { snd_ssthresh } else { snd_ssthresh.max((snd_cwnd >> 1) + (snd_cwnd >> 2)) }
    }

    /// `tcp_init_undo()`
    fn init_undo(&mut self) {
        self.undo_from = Some(self.board.una());
        self.undo_resent = match self.socket.tp().retrans_out {
            0 => -1,
            resent => i64::from(resent),
        };
        self.mirror();
    }

    /// `tcp_enter_recovery()`
    pub(super) fn enter_recovery(&mut self, ece: bool) {
        self.prior_ssthresh = 0;
        self.init_undo();
        if !self.is_reducing() {
            if !ece {
                self.prior_ssthresh = self.current_ssthresh();
            }
            self.init_reduction();
        }
        self.set_state(CA_RECOVERY);
    }

    /// `tcp_enter_cwr()`
    fn enter_cwr(&mut self) {
        self.prior_ssthresh = 0;
        if self.ca_state() < CA_CWR {
            self.undo_from = None;
            self.init_reduction();
            self.set_state(CA_CWR);
        }
    }

    /// `tcp_init_cwnd_reduction()`
    pub(super) fn init_reduction(&mut self) {
        self.high_seq = self.board.nxt();
        self.probe_end = None;
        self.mirror();
        let tp = self.socket.tp_mut();
        tp.snd_cwnd_cnt = 0;
        tp.prior_cwnd = tp.snd_cwnd;
        tp.prr_delivered = 0;
        tp.prr_out = 0;
        let ssthresh = self.socket.ssthresh();
        self.socket.tp_mut().snd_ssthresh = ssthresh;
        self.cwr_due = true;
    }

    /// `tcp_cwnd_reduction()`: PRR.
    pub(super) fn reduce(&mut self, delivered: u32, lost: u32, advanced: bool) {
        let tp = self.socket.tp_mut();
        if delivered == 0 || tp.prior_cwnd == 0 {
            return;
        }
        tp.prr_delivered += delivered;
        let delta = i64::from(tp.snd_ssthresh) - i64::from(tp.in_flight());
        let sent = i64::from(tp.prr_out);
        let mut send = if delta < 0 {
            let owed = u64::from(tp.snd_ssthresh) * u64::from(tp.prr_delivered);
            owed.div_ceil(u64::from(tp.prior_cwnd)) as i64 - sent
        } else {
            let owed = (i64::from(tp.prr_delivered) - sent).max(i64::from(delivered));
            delta.min(owed + i64::from(advanced && lost == 0))
        };
        // One at least at the beginning: the first retransmission.
        send = send.max(i64::from(tp.prr_out == 0));
        tp.snd_cwnd = (i64::from(tp.in_flight()) + send).max(1) as u32;
    }

    /// `tcp_end_cwnd_reduction()`
    pub(super) fn end_reduction(&mut self) {
        if self.has_own_control() {
            return;
        }
        let jiffies = self.socket.jiffies();
        let is_undoable = self.undo_from.is_some();
        let tp = self.socket.tp_mut();
        if tp.snd_ssthresh < INFINITE_SSTHRESH && (tp.ca_state() == CA_CWR || is_undoable) {
            tp.snd_cwnd = tp.snd_ssthresh;
            tp.snd_cwnd_stamp = jiffies;
        }
        self.socket.cwnd_event(EVENT_COMPLETE_CWR);
    }

    /// `tcp_try_to_open()`
    fn try_to_open(&mut self, flags: &Flags) {
        if !self.any_resent_done() {
            self.resent_stamp_ms = 0;
        }
        if flags.ece {
            self.enter_cwr();
        }
        if self.ca_state() != CA_CWR {
            self.try_keep_open();
        }
    }

    /// `tcp_try_keep_open()`
    pub(super) fn try_keep_open(&mut self) {
        let tp = self.socket.tp();
        let has_holes = tp.sacked_out + tp.lost_out > 0 || self.any_resent_done();
        let state = if has_holes { CA_DISORDER } else { CA_OPEN };
        if state != self.ca_state() {
            self.set_state(state);
            self.high_seq = self.board.nxt();
            self.mirror();
        }
    }

    /// `tcp_any_retrans_done()`
    fn any_resent_done(&self) -> bool {
        let is_head_resent = !self.board.is_empty() && self.board.get(self.board.una()).is(ANY_RESENT);
        self.socket.tp().retrans_out > 0 || is_head_resent
    }

    /// `tcp_packet_delayed()`: what came back is the echo of an original, not of what was sent again.
    fn is_packet_delayed(&self) -> bool {
        self.resent_stamp_ms == 0
            || (self.tsecr_ms != 0 && (self.tsecr_ms.wrapping_sub(self.resent_stamp_ms) as i32) < 0)
    }

    /// `tcp_may_undo()`
    fn may_undo(&self) -> bool {
        self.undo_from.is_some() && (self.undo_resent == 0 || self.is_packet_delayed())
    }

    /// `tcp_undo_cwnd_reduction()`
    fn undo_reduction(&mut self, unmark_losses: bool) {
        if unmark_losses {
            for seq in self.board.una()..self.board.nxt() {
                self.board.get_mut(seq).flags &= !LOST;
            }
            self.socket.tp_mut().lost_out = 0;
            self.resend_hint = self.board.nxt();
        }
        if self.prior_ssthresh > 0 {
            let cwnd = self.socket.undo_cwnd();
            let prior = self.prior_ssthresh;
            let tp = self.socket.tp_mut();
            tp.snd_cwnd = cwnd;
            if prior > tp.snd_ssthresh {
                tp.snd_ssthresh = prior;
                self.cwr_due = false;
            }
        }
        let jiffies = self.socket.jiffies();
        self.socket.tp_mut().snd_cwnd_stamp = jiffies;
        self.undo_from = None;
        self.rack.advanced = true;
        self.totals.undos += 1;
        self.mirror();
    }

    /// `tcp_try_undo_recovery()`
    fn try_undo_recovery(&mut self) {
        if self.may_undo() {
            self.undo_reduction(false);
        } else {
            self.rack.reo_wnd_persist = self.rack.reo_wnd_persist.saturating_sub(1);
        }
        self.set_state(CA_OPEN);
    }

    /// `tcp_try_undo_dsack()`
    fn try_undo_dsack(&mut self) -> bool {
        if self.undo_from.is_none() || self.undo_resent != 0 {
            return false;
        }
        self.rack.reo_wnd_persist = super::rack::PERSIST.min(self.rack.reo_wnd_persist + 1);
        self.undo_reduction(false);
        true
    }

    /// `tcp_try_undo_partial()`; whether the ACK has no more to say.
    fn try_undo_partial(&mut self, prior_una: u64) -> bool {
        if self.undo_from.is_none() || !self.is_packet_delayed() {
            return false;
        }
        self.note_reordering(prior_una);
        if self.socket.tp().retrans_out > 0 {
            return true;
        }
        if !self.any_resent_done() {
            self.resent_stamp_ms = 0;
        }
        self.undo_reduction(true);
        self.try_keep_open();
        false
    }

    /// `tcp_try_undo_loss()`
    fn try_undo_loss(&mut self, by_frto: bool) -> bool {
        if !by_frto && !self.may_undo() {
            return false;
        }
        self.undo_reduction(true);
        self.timeouts = 0;
        self.set_state(CA_OPEN);
        true
    }

    /// `tcp_process_loss()`
    fn process_loss(&mut self, flags: &Flags, is_dupack: bool) -> Resend {
        let recovered = self.board.una() >= self.high_seq;
        if flags.advanced && self.try_undo_loss(false) {
            return Resend::Nothing;
        }
        if self.is_frto {
            if flags.original_acked && self.try_undo_loss(true) {
                return Resend::Nothing;
            }
            if self.board.nxt() > self.high_seq {
                if flags.sacked || is_dupack {
                    self.is_frto = false;
                }
            } else if flags.advanced && !recovered {
                self.high_seq = self.board.nxt();
                self.mirror();
                if self.may_send_new() {
                    return Resend::NewFirst;
                }
                self.is_frto = false;
            }
        }
        if recovered {
            self.try_undo_recovery();
            return Resend::Nothing;
        }
        Resend::Lost
    }

    /// `tcp_enter_loss()`
    pub(super) fn enter_loss(&mut self) {
        let state = self.ca_state();
        let is_new = state < CA_RECOVERY;
        self.mark_lost_by_timeout();
        let una = self.board.una();
        if state <= CA_DISORDER || self.high_seq <= una || (state == CA_LOSS && self.timeouts == 0) {
            self.prior_ssthresh = self.current_ssthresh();
            let tp = self.socket.tp_mut();
            tp.prior_cwnd = tp.snd_cwnd;
            let ssthresh = self.socket.ssthresh();
            self.socket.tp_mut().snd_ssthresh = ssthresh;
            self.socket.cwnd_event(ccactl_native::EVENT_LOSS);
            self.init_undo();
        }
        let jiffies = self.socket.jiffies();
        let tp = self.socket.tp_mut();
        tp.snd_cwnd = tp.in_flight() + 1;
        tp.snd_cwnd_cnt = 0;
        tp.snd_cwnd_stamp = jiffies;
        if state <= CA_DISORDER && tp.sacked_out >= super::REORDERING_PKTS {
            self.reordering_pkts = self.reordering_pkts.min(super::REORDERING_PKTS);
        }
        self.set_state(CA_LOSS);
        self.high_seq = self.board.nxt();
        self.probe_end = None;
        self.cwr_due = true;
        self.is_frto = is_new || self.timeouts > 0;
        self.mirror();
    }

    /// `tcp_timeout_mark_lost()`: all but what was sent a moment ago.
    fn mark_lost_by_timeout(&mut self) {
        let una = self.board.una();
        for seq in una..self.board.nxt() {
            if seq == una || self.rack_left_us(self.board.get(seq).sent_us(), 0) <= 0 {
                self.mark_lost(seq);
            }
        }
        self.resend_hint = una;
    }

    /// `tcp_process_tlp_ack()`
    pub(super) fn process_probe_ack(&mut self, ack: u64, flags: &Flags) {
        let Some(end) = self.probe_end.filter(|&end| ack >= end) else {
            return;
        };
        if !self.probe_resent || flags.dsack_of_probe {
            self.probe_end = None;
        } else if ack > end {
            // The probe has repaired a loss, which costs what a loss costs.
            self.init_reduction();
            self.set_state(CA_CWR);
            self.end_reduction();
            self.try_keep_open();
        } else if !flags.advanced && !flags.acked && !flags.sacked {
            self.probe_end = None;
        }
    }

    /// `tcp_cong_control()`
    pub(super) fn control(&mut self, rs: &RateSample, flags: &Flags) {
        let ack = self.socket.tp().snd_una;
        if self.has_own_control() {
            self.socket.cong_control(ack, flags.bits(), rs);
            return;
        }
        if self.is_reducing() {
            self.reduce(rs.acked_sacked, rs.losses as u32, flags.advanced);
        } else {
            let may_raise = if self.reordering_pkts > super::REORDERING_PKTS { flags.progress() } else { flags.acked };
            if may_raise {
                self.socket.cong_avoid(ack, rs.acked_sacked);
            }
        }
        update_pacing_rate(self.socket.tp_mut());
    }
}

/// `tcp_update_pacing_rate()`
pub(super) fn update_pacing_rate(tp: &mut TcpSock) {
    let percent = if tp.snd_cwnd < tp.snd_ssthresh / 2 { 200 } else { 120 };
    let mut rate = u64::from(tp.mss_cache) * 80_000 * percent * u64::from(tp.snd_cwnd.max(tp.packets_out));
    if tp.srtt_us > 0 {
        rate /= u64::from(tp.srtt_us);
    }
    let sk = &mut tp.inet_conn.sk;
    sk.sk_pacing_rate = rate.min(sk.sk_max_pacing_rate);
}
