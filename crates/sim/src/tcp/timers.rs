//! Timers of a sender: retransmission, probe of a lost tail (RFC 8985, section 7), reordering.

use super::Sender;
use super::rtt::{RTO_FIRST_US, RTO_MIN_US};
use crate::Nanos;
use ccactl_native::{CA_CWR, CA_OPEN, CA_RECOVERY};

/// `ICSK_TIME_RETRANS`, `ICSK_TIME_LOSS_PROBE`, `ICSK_TIME_REO_TIMEOUT`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimerKind {
    Resend,
    Probe,
    Reorder,
}

/// There is one at a time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Timer {
    pub kind: TimerKind,
    pub fires_ns: Nanos,
}

impl Sender {
    fn set_timer(&mut self, kind: TimerKind, jiffies: u64) {
        let fires_ns = self.wheel.fires_ns(self.now_ns, jiffies.max(1));
        self.timer = Some(Timer { kind, fires_ns });
    }

    /// `tcp_reset_xmit_timer()`: not before pacing lets anything out.
    fn set_paced_timer(&mut self, kind: TimerKind, jiffies: u64) {
        let wstamp_ns = self.socket.tp().tcp_wstamp_ns;
        let delay_us = wstamp_ns.saturating_sub(self.now_ns).div_ceil(1000);
        self.set_timer(kind, jiffies + self.wheel.jiffies(delay_us));
    }

    fn rto_us(&self) -> u64 {
        let tp = self.socket.tp();
        self.wheel.us(self.wheel.jiffies(self.rtt.rto_us(tp)))
    }

    /// How far away the timeout of the first outstanding segment is (`tcp_rto_delta_us()`).
    fn rto_left_us(&self) -> i64 {
        let sent_us = self.board.get(self.board.una()).sent_us();
        (sent_us + self.rto_us()) as i64 - self.now_us() as i64
    }

    /// `tcp_rearm_rto()`
    pub(super) fn rearm_rto(&mut self) {
        if self.board.is_empty() {
            self.timer = None;
            return;
        }
        let is_other = self.timer.is_some_and(|timer| timer.kind != TimerKind::Resend);
        let us = if is_other { self.rto_left_us().max(1) as u64 } else { self.rto_us() };
        self.set_paced_timer(TimerKind::Resend, self.wheel.jiffies(us));
    }

    /// `tcp_set_xmit_timer()`
    pub(super) fn set_timer_after_ack(&mut self) {
        if !self.schedule_probe(true) {
            self.rearm_rto();
        }
    }

    pub(super) fn set_reorder_timer(&mut self, timeout_us: u64) {
        // TCP_TIMEOUT_MIN_US
        let jiffies = self.wheel.jiffies(timeout_us + self.wheel.us(2));
        self.set_timer(TimerKind::Reorder, jiffies);
    }

    /// `tcp_schedule_loss_probe()`
    pub(super) fn schedule_probe(&mut self, is_advancing: bool) -> bool {
        let tp = self.socket.tp();
        if tp.packets_out == 0 || !matches!(tp.ca_state(), CA_OPEN | CA_CWR) {
            return false;
        }
        let mut us = match tp.srtt_us {
            0 => RTO_FIRST_US,
            srtt if tp.packets_out == 1 => u64::from(srtt >> 2) + u64::from(RTO_MIN_US),
            srtt => u64::from(srtt >> 2) + self.wheel.us(2),
        };
        let rto_left_us = if is_advancing { self.rto_us() as i64 } else { self.rto_left_us() };
        if rto_left_us > 0 {
            us = us.min(rto_left_us as u64);
        }
        self.set_paced_timer(TimerKind::Probe, self.wheel.jiffies(us));
        true
    }

    /// `tcp_retransmit_timer()`
    pub(super) fn on_timeout(&mut self) {
        if self.board.is_empty() {
            return;
        }
        self.totals.timeouts += 1;
        self.enter_loss();
        self.timeouts += 1;
        self.resend_one(self.board.una());
        self.rtt.backoff += 1;
        self.set_timer(TimerKind::Resend, self.wheel.jiffies(self.rto_us()));
    }

    /// `tcp_send_loss_probe()`
    pub(super) fn on_probe(&mut self) {
        if self.board.is_empty() {
            return;
        }
        if self.probe_end.is_none() && self.send_probe() {
            self.totals.probes += 1;
            self.probe_end = Some(self.board.nxt());
            self.timer = None;
        }
        self.rearm_rto();
    }

    /// New data where there are any, else the last segment once more.
    fn send_probe(&mut self) -> bool {
        self.probe_resent = false;
        if self.may_send_new() {
            return self.transmit_at_most_one();
        }
        self.probe_resent = true;
        self.resend_as_probe(self.board.nxt() - 1);
        true
    }

    /// `tcp_rack_reo_timeout()`
    pub(super) fn on_reorder_timeout(&mut self) {
        let before = self.in_flight();
        let lost_before = self.socket.tp().lost;
        let _ = self.detect_losses();
        if self.in_flight() != before {
            if self.ca_state() != CA_RECOVERY {
                self.enter_recovery(false);
                if !self.has_own_control() {
                    let lost = self.socket.tp().lost.wrapping_sub(lost_before);
                    self.reduce(1, lost, false);
                }
            }
            self.resend_lost();
        }
        if self.timer.is_none() {
            self.rearm_rto();
        }
    }
}
