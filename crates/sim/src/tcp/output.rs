//! What leaves, and when: `tcp_write_xmit()`, `tcp_xmit_retransmit_queue()`, pacing, TSO.

use super::{FIRST_WINDOW_BYTES, Sender};
use crate::Nanos;
use crate::board::{ANY_RESENT, BUFFER_END, EVER_RESENT, Entry, LOST, PUSHED, RESENT, SACKED};
use crate::segment::Segment;
use ccactl_native::{CA_RECOVERY, EVENT_CWND_RESTART, EVENT_TX_START};

/// `tcp_tso_rtt_log`: the allowance of TSO halves for every 2^9 µs of minimum RTT.
const TSO_RTT_LOG: u32 = 9;
/// `tcp_tso_win_divisor`
const TSO_WINDOW_PARTS: u64 = 3;
/// `sysctl_tcp_min_tso_segs`
const MIN_TSO_SEGS: u32 = 2;
/// Headers that a buffer leaves room for (`MAX_TCP_HEADER`), as `tcp_bound_to_half_wnd()` and `GSO_LEGACY_MAX_SIZE` see it.
const MAX_HEADER: u32 = 320;
/// What a buffer takes of the socket's beside its data.
pub(super) const BUFFER_BYTES: u32 = 1280;
/// `tcp_sndbuf_expand()` for ten segments, which is more than `tcp_wmem` of a kernel begins with.
const LEAST_SNDBUF_BYTES: u32 = 87_040;
/// Segments sent before pacing begins.
const UNPACED_PKTS: u32 = 10;
/// The initial window (`TCP_INIT_CWND`), which an idle sender falls back to.
const INITIAL_CWND_PKTS: u32 = 10;
const MS_NS: u64 = 1_000_000;

/// How much is to leave (`push_one` of `tcp_write_xmit()`).
#[derive(Clone, Copy, PartialEq, Eq)]
enum Push {
    /// All that may.
    All,
    /// One buffer.
    One,
    /// One segment, whatever the window says.
    Probe,
}

/// Segments that an application fills a buffer with (`tcp_send_mss()`).
pub(super) fn buffer_pkts(mss_bytes: u32) -> u32 {
    ((65_536 - 1 - MAX_HEADER) / mss_bytes).max(1)
}

impl Sender {
    /// When pacing lets the next segment out, if anything waits for that (`tcp_pacing_check()`).
    pub(super) fn paced_until(&self) -> Option<Nanos> {
        let tp = self.socket.tp();
        if !self.must_wait() {
            return None;
        }
        let waits = (self.may_send_new() || tp.lost_out > tp.retrans_out) && tp.in_flight() < tp.snd_cwnd;
        waits.then_some(tp.tcp_wstamp_ns)
    }

    fn is_paced(&self) -> bool {
        self.socket.tp().inet_conn.sk.sk_pacing_status != 0
    }

    fn must_wait(&self) -> bool {
        self.is_paced() && self.socket.tp().tcp_wstamp_ns > self.now_ns
    }

    pub(super) fn has_new_data(&self) -> bool {
        self.board.nxt() < self.taken()
    }

    /// The same, and the receiver has a place for it (`tcp_snd_wnd_test()`).
    pub(super) fn may_send_new(&self) -> bool {
        self.board.nxt() < self.taken().min(self.window_end)
    }

    /// `tcp_tso_segs()`: how many segments one buffer has.
    fn tso_segs(&mut self) -> u32 {
        let floor = self.socket.min_tso_segs().unwrap_or(MIN_TSO_SEGS);
        let tp = self.socket.tp();
        let sk = &tp.inet_conn.sk;
        let mut bytes = sk.sk_pacing_rate >> sk.sk_pacing_shift;
        let halvings = tp.rtt_min[0].v >> TSO_RTT_LOG;
        if halvings < 32 {
            bytes = bytes.saturating_add(u64::from(sk.sk_gso_max_size >> halvings));
        }
        let most = u64::from(sk.sk_gso_max_size - 1 - MAX_HEADER);
        let segs = (bytes.min(most) / u64::from(tp.mss_cache)) as u32;
        segs.max(floor).min(self.config.gso_max_segs).max(1)
    }

    /// `tcp_push_pending_frames()`, with what follows an ACK.
    pub(super) fn transmit(&mut self) {
        if self.may_send_new() {
            self.write_out(Push::All);
        }
    }

    /// `tcp_push_one()`
    pub(super) fn transmit_one_buffer(&mut self) {
        if self.may_send_new() {
            self.write_out(Push::One);
        }
    }

    /// The same for one segment, whatever the window says; whether it left.
    pub(super) fn transmit_at_most_one(&mut self) -> bool {
        let before = self.board.nxt();
        self.write_out(Push::Probe);
        self.board.nxt() > before
    }

    /// `tcp_write_xmit()`
    fn write_out(&mut self, push: Push) {
        let is_probe = push == Push::Probe;
        let most = self.tso_segs();
        let (mut sent, mut is_cwnd_limited) = (0, false);
        while self.may_send_new() {
            if self.must_wait() {
                break;
            }
            let tp = self.socket.tp();
            let room = tp.snd_cwnd.saturating_sub(tp.in_flight());
            let quota = match room {
                0 if is_probe => 1,
                0 => break,
                room => room.min((tp.snd_cwnd >> 1).max(1)),
            };
            let waiting = self.taken().min(self.window_end) - self.board.nxt();
            if push == Push::All && waiting > 1 && self.defers(most, room, &mut is_cwnd_limited) {
                break;
            }
            let left = u64::from(self.buffer_left()).min(waiting) as u32;
            let burst = left.min(most).min(quota).max(1);
            let burst = if is_probe { 1 } else { burst };
            self.send_new(burst);
            sent += burst;
            if push != Push::All {
                break;
            }
        }
        is_cwnd_limited |= self.in_flight() >= self.socket.tp().snd_cwnd;
        if sent > 0 || is_cwnd_limited {
            self.validate_cwnd(is_cwnd_limited);
        }
        if sent > 0 {
            if self.is_reducing() {
                self.socket.tp_mut().prr_out += sent;
            }
            if !is_probe {
                self.schedule_probe(false);
            }
        }
        // What the application has written is out: the next ACKs measure it and not the path.
        if !self.has_new_data() {
            self.check_app_limited();
        }
    }

    /// Segments left of the buffer that the application has filled: what is sent at once ends with it. What it writes before the
    /// first ACK goes into buffers of half a window that is not scaled yet (`tcp_bound_to_half_wnd()`).
    fn buffer_left(&self) -> u32 {
        let mss = self.config.mss_bytes;
        let (first, later) = (((FIRST_WINDOW_BYTES >> 1) / mss).max(1), buffer_pkts(mss));
        let sndbuf_bytes = self.config.sndbuf_bytes.max(LEAST_SNDBUF_BYTES);
        // A buffer is begun as long as those before it have not filled the socket's.
        let buffers = sndbuf_bytes.div_ceil(first * mss + BUFFER_BYTES);
        let (nxt, before_first_ack) = (self.board.nxt(), u64::from(first) * u64::from(buffers));
        match nxt.checked_sub(before_first_ack) {
            None => first - (nxt % u64::from(first)) as u32,
            Some(after) => later - (after % u64::from(later)) as u32,
        }
    }

    /// `tcp_tso_should_defer()`: whether it pays to wait for the next ACK and send more at once.
    fn defers(&self, most: u32, room: u32, is_cwnd_limited: &mut bool) -> bool {
        let tp = self.socket.tp();
        if tp.ca_state() >= CA_RECOVERY || self.now_ns > tp.tcp_wstamp_ns + MS_NS {
            return false;
        }
        if room >= most || room >= self.buffer_left() {
            return false;
        }
        if u64::from(room) >= u64::from(tp.snd_cwnd) / TSO_WINDOW_PARTS {
            return false;
        }
        if self.board.is_empty() {
            return false;
        }
        // Half an RTT after the head was sent its ACK is not far; before, the wait could be long.
        let age_ns = self.now_ns - self.board.get(self.board.una()).sent_ns;
        if age_ns < u64::from(tp.srtt_us >> 4) * 1000 {
            return false;
        }
        *is_cwnd_limited = true;
        true
    }

    /// `tcp_event_new_data_sent()` and before it `tcp_transmit_skb()`: one buffer.
    fn send_new(&mut self, segments: u32) {
        let prior_out = self.socket.tp().packets_out;
        if self.in_flight() == 0 {
            self.socket.cwnd_event(EVENT_TX_START);
        }
        let jiffies = self.socket.jiffies();
        let mut bytes = 0;
        let mut noted = Entry::new(self.now_ns, self.config.mss_bytes);
        self.note_sent(&mut noted);
        // __tcp_transmit_skb() pushes every buffer of several segments, and tcp_push() the end of what was written.
        let end = self.board.nxt() + u64::from(segments);
        let pushes = segments > 1 || self.buffer_left() == segments || end == self.written;
        for _ in 0..segments {
            let next = self.board.nxt() + 1;
            noted.bytes = if next == self.written { self.last_bytes } else { self.config.mss_bytes };
            noted.flags |= if next == end && pushes { PUSHED } else { 0 };
            noted.flags |= if next == end { BUFFER_END } else { 0 };
            bytes += noted.bytes;
            let seq = self.board.push(noted);
            self.emit(seq, &noted, false);
        }
        let tp = self.socket.tp_mut();
        tp.lsndtime = jiffies;
        tp.packets_out += segments;
        self.sndbuf.sent_buffers += 1;
        self.pace(bytes, segments);
        self.mirror();
        let is_probe = self.timer.is_some_and(|timer| timer.kind == super::TimerKind::Probe);
        if prior_out == 0 || is_probe {
            self.rearm_rto();
        }
    }

    fn emit(&mut self, seq: u64, entry: &Entry, is_resent: bool) {
        let (bytes, push) = (entry.bytes, entry.is(PUSHED));
        let cwr = !is_resent && std::mem::take(&mut self.cwr_due);
        // What is sent again is not ECT (RFC 3168, section 6.1.5), unless its sender is accurate.
        let ecn = match self.ecn_of_data() {
            ccactl_link::Ecn::Ect0 if is_resent => ccactl_link::Ecn::NotCapable,
            ecn => ecn,
        };
        self.sent.push(Segment { seq, bytes, tsval_ms: self.now_ms(), tsecr_ms: self.peer_ms, ecn, cwr, push });
        self.totals.sent_pkts += 1;
        self.totals.resent_pkts += u64::from(is_resent);
        let tp = self.socket.tp_mut();
        tp.bytes_sent += u64::from(bytes);
        if is_resent {
            tp.bytes_retrans += u64::from(bytes);
            tp.total_retrans += 1;
        }
    }

    /// `tcp_update_skb_after_send()`
    fn pace(&mut self, bytes: u32, segments: u32) {
        let now_ns = self.now_ns;
        let is_paced = self.is_paced();
        let tp = self.socket.tp_mut();
        let sent_before = tp.data_segs_out;
        tp.data_segs_out += segments;
        let prior_ns = tp.tcp_wstamp_ns;
        tp.tcp_wstamp_ns = now_ns.max(prior_ns);
        let rate = tp.inet_conn.sk.sk_pacing_rate;
        if !is_paced || rate == 0 || rate == u64::MAX || sent_before + segments < UNPACED_PKTS {
            return;
        }
        let length_ns = u64::from(bytes) * 1_000_000_000 / rate;
        let credit_ns = tp.tcp_wstamp_ns - prior_ns;
        tp.tcp_wstamp_ns += length_ns - credit_ns.min(length_ns / 2);
    }

    /// `tcp_cwnd_validate()`
    fn validate_cwnd(&mut self, is_limited: bool) {
        let (una, nxt) = (self.board.una() as u32, self.board.nxt() as u32);
        let jiffies = self.socket.jiffies();
        let rto_jiffies = self.wheel.jiffies(self.rtt.rto_us(self.socket.tp())) as u32;
        let has_own_control = self.has_own_control();
        let tp = self.socket.tp_mut();
        let was_limited = tp.flags & 1 != 0;
        let is_round_over = (una.wrapping_sub(tp.cwnd_usage_seq) as i32) >= 0;
        if is_round_over || is_limited || (!was_limited && tp.packets_out > tp.max_packets_out) {
            tp.set_cwnd_limited(is_limited);
            tp.max_packets_out = tp.packets_out;
            tp.cwnd_usage_seq = nxt;
        }
        if self.is_cwnd_limited() {
            let tp = self.socket.tp_mut();
            tp.snd_cwnd_used = 0;
            tp.snd_cwnd_stamp = jiffies;
            return;
        }
        let tp = self.socket.tp_mut();
        tp.snd_cwnd_used = tp.snd_cwnd_used.max(tp.packets_out);
        if jiffies.wrapping_sub(tp.snd_cwnd_stamp) >= rto_jiffies && !has_own_control {
            self.limit_by_application(jiffies);
        }
    }

    /// `tcp_is_cwnd_limited()`
    fn is_cwnd_limited(&self) -> bool {
        let tp = self.socket.tp();
        tp.flags & 1 != 0 || (tp.snd_cwnd < tp.snd_ssthresh && tp.snd_cwnd < 2 * tp.max_packets_out)
    }

    /// `tcp_cwnd_application_limited()` (RFC 2861)
    fn limit_by_application(&mut self, jiffies: u32) {
        let tp = self.socket.tp_mut();
        if tp.ca_state() == ccactl_native::CA_OPEN {
            let used = tp.snd_cwnd_used.max(INITIAL_CWND_PKTS);
            if used < tp.snd_cwnd {
                tp.snd_ssthresh = tp.snd_ssthresh.max((tp.snd_cwnd >> 1) + (tp.snd_cwnd >> 2));
                tp.snd_cwnd = (tp.snd_cwnd + used) >> 1;
            }
            tp.snd_cwnd_used = 0;
        }
        tp.snd_cwnd_stamp = jiffies;
    }

    /// `tcp_slow_start_after_idle_check()`, `tcp_cwnd_restart()`
    pub(super) fn restart_after_idle(&mut self) {
        let jiffies = self.socket.jiffies();
        let rto = self.wheel.jiffies(self.rtt.rto_us(self.socket.tp())) as u32;
        let tp = self.socket.tp();
        let idle = jiffies.wrapping_sub(tp.lsndtime);
        if tp.packets_out > 0 || self.totals.sent_pkts == 0 || self.has_own_control() || idle <= rto {
            return;
        }
        self.socket.cwnd_event(EVENT_CWND_RESTART);
        let tp = self.socket.tp_mut();
        let restart = INITIAL_CWND_PKTS.min(tp.snd_cwnd);
        tp.snd_ssthresh = tp.snd_ssthresh.max((tp.snd_cwnd >> 1) + (tp.snd_cwnd >> 2));
        let mut left = idle;
        while left > rto && tp.snd_cwnd > restart {
            left -= rto;
            tp.snd_cwnd >>= 1;
        }
        tp.snd_cwnd = tp.snd_cwnd.max(restart);
        tp.snd_cwnd_stamp = jiffies;
        tp.snd_cwnd_used = 0;
    }

    /// `tcp_xmit_retransmit_queue()`
    pub(super) fn resend_lost(&mut self) {
        if self.board.is_empty() {
            return;
        }
        let most = self.tso_segs();
        let mut seq = self.resend_hint.max(self.board.una());
        let mut rearms = false;
        while seq < self.board.nxt() {
            if self.must_wait() {
                break;
            }
            let tp = self.socket.tp();
            let room = tp.snd_cwnd.saturating_sub(tp.in_flight());
            if room == 0 || tp.retrans_out >= tp.lost_out {
                break;
            }
            if !self.is_resend_due(seq) {
                seq += 1;
                continue;
            }
            let burst = self.same_buffer(seq, room.min(most));
            rearms |= seq == self.board.una() && !self.waits_for_reordering();
            self.resend_buffer(seq, burst);
            if self.is_reducing() {
                self.socket.tp_mut().prr_out += burst;
            }
            seq += u64::from(burst);
        }
        // All before it is on its way again or has arrived.
        self.resend_hint = seq.min(self.board.nxt());
        if rearms {
            self.timer = None;
            self.rearm_rto();
        }
    }

    fn waits_for_reordering(&self) -> bool {
        self.timer.is_some_and(|timer| timer.kind == super::TimerKind::Reorder)
    }

    fn is_resend_due(&self, seq: u64) -> bool {
        let entry = self.board.get(seq);
        entry.is(LOST) && !entry.is(SACKED | RESENT)
    }

    /// How many from this one on are to be sent again, and left in one buffer the last time: they leave in one now.
    fn same_buffer(&self, seq: u64, most: u32) -> u32 {
        let sent_ns = self.board.get(seq).sent_ns;
        let is_same =
            |&at: &u64| at < self.board.nxt() && self.is_resend_due(at) && self.board.get(at).sent_ns == sent_ns;
        (seq..seq + u64::from(most)).take_while(is_same).count().max(1) as u32
    }

    /// `tcp_retransmit_skb()`
    fn resend_buffer(&mut self, seq: u64, segments: u32) {
        let mut bytes = 0;
        if segments > 1 {
            self.board.get_mut(seq + u64::from(segments) - 1).flags |= PUSHED;
        }
        for seq in seq..seq + u64::from(segments) {
            bytes += self.resend_segment(seq);
            self.board.get_mut(seq).flags |= RESENT;
            self.socket.tp_mut().retrans_out += 1;
        }
        if self.resent_stamp_ms == 0 {
            self.resent_stamp_ms = self.now_ms();
        }
        self.undo_resent = self.undo_resent.max(0) + i64::from(segments);
        self.pace(bytes, segments);
    }

    /// The head, after a timeout.
    pub(super) fn resend_one(&mut self, seq: u64) {
        self.resend_buffer(seq, 1);
    }

    /// `__tcp_retransmit_skb()` alone: the probe does not count as on its way.
    pub(super) fn resend_as_probe(&mut self, seq: u64) {
        let bytes = self.resend_segment(seq);
        self.pace(bytes, 1);
    }

    fn resend_segment(&mut self, seq: u64) -> u32 {
        let mut entry = *self.board.get(seq);
        let bytes = entry.bytes;
        entry.sent_ns = self.now_ns;
        entry.flags |= EVER_RESENT;
        self.note_sent(&mut entry);
        *self.board.get_mut(seq) = entry;
        if !entry.is(SACKED) {
            self.board.sent_again(seq);
        }
        debug_assert!(entry.is(ANY_RESENT));
        self.emit(seq, &entry, true);
        bytes
    }
}
