//! The sender: `net/ipv4/tcp_input.c`, `tcp_output.c`, `tcp_recovery.c`, `tcp_rate.c`, `tcp_timer.c` as far as
//! congestion control sees them.

mod ack;
mod metrics;
mod output;
mod rack;
mod rate;
mod recovery;
mod rtt;
mod sndbuf;
mod timers;

use crate::Nanos;
use crate::board::Board;
use crate::segment::{Block, Segment};
use crate::wheel::Wheel;
use ccactl_link::Ecn;
use ccactl_native::{START_US, Socket};
pub use metrics::Remembered;
use rtt::Rtt;
use timers::{Timer, TimerKind};

/// What a SYN offers at most: its window is not scaled.
const FIRST_WINDOW_BYTES: u32 = 65_535;
/// `sysctl_tcp_reordering`
const REORDERING_PKTS: u32 = 3;
/// What is said of an ACK, as `FLAG_` of `tcp_input.c`.
#[derive(Debug, Clone, Copy, Default)]
struct Flags {
    /// `FLAG_DATA_ACKED`: new data are acknowledged.
    acked: bool,
    /// `FLAG_SND_UNA_ADVANCED`
    advanced: bool,
    /// `FLAG_RETRANS_DATA_ACKED`
    resent_acked: bool,
    /// `FLAG_ORIG_SACK_ACKED`: something of before the recovery, sent once, has arrived.
    original_acked: bool,
    /// `FLAG_DATA_SACKED`
    sacked: bool,
    /// `FLAG_DSACKING_ACK`
    dsack: bool,
    /// `FLAG_DSACK_TLP`
    dsack_of_probe: bool,
    /// `FLAG_ECE`
    ece: bool,
    /// `FLAG_LOST_RETRANS`
    lost_resent: bool,
    /// `FLAG_SET_XMIT_TIMER`
    set_timer: bool,
    /// `FLAG_ACK_MAYBE_DELAYED`
    maybe_delayed: bool,
}

impl Flags {
    /// `FLAG_CA_ALERT`
    fn alert(self) -> bool {
        self.sacked || self.ece || self.dsack
    }

    /// `FLAG_FORWARD_PROGRESS`
    fn progress(self) -> bool {
        self.acked || self.sacked
    }

    /// As algorithms get them: the numbers of `tcp_input.c`.
    fn bits(self) -> i32 {
        i32::from(self.acked) << 2
            | i32::from(self.resent_acked) << 3
            | i32::from(self.sacked) << 5
            | i32::from(self.ece) << 6
            | i32::from(self.lost_resent) << 7
            | i32::from(self.original_acked) << 9
            | i32::from(self.advanced) << 10
            | i32::from(self.dsack) << 11
            | i32::from(self.set_timer) << 12
    }
}

/// What is to be sent after an ACK (`REXMIT_NONE`, `REXMIT_LOST`, `REXMIT_NEW`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Resend {
    Nothing,
    Lost,
    NewFirst,
}

/// How the segments of a sender are marked, and what it makes of the echo.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SenderEcn {
    /// Not at all.
    #[default]
    Off,
    /// ECT(0), and one reaction in a round trip (RFC 3168).
    Classic,
    /// ECT(1), and the receiver counts (RFC 9768).
    Accurate,
}

/// What a sender is like apart from its algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SenderConfig {
    /// Payload of a full segment.
    pub mss_bytes: u32,
    /// `CONFIG_HZ`: the tick of the timers.
    pub hz: u32,
    /// RTT sample of the handshake in µs; 0 = none.
    pub handshake_rtt_us: u32,
    /// It has opened the connection: the kernel sees its SYN delivered as it sees data.
    pub is_opener: bool,
    /// Segments that one buffer takes at most (`gso_max_segs`).
    pub gso_max_segs: u32,
    /// What the socket's buffer begins with (`tcp_wmem`); it grows as needed.
    pub sndbuf_bytes: u32,
    /// Where it stops to grow; none: it never holds the sender back.
    pub sndbuf_max_bytes: Option<u64>,
    /// See there.
    pub ecn: SenderEcn,
    /// How far ahead the time stamps of the peer are. Those of Linux begin anywhere (`secure_tcp_ts_off()`), and TCP-LP
    /// stumbles over that.
    pub peer_clock_ms: u32,
    /// From its host's connections before.
    pub remembered: Remembered,
}

impl Default for SenderConfig {
    fn default() -> Self {
        SenderConfig {
            mss_bytes: 1448,
            hz: 250,
            handshake_rtt_us: 0,
            is_opener: true,
            gso_max_segs: 65_535,
            sndbuf_bytes: 16_384,
            sndbuf_max_bytes: None,
            ecn: SenderEcn::Off,
            peer_clock_ms: 0x9e37_79b9,
            remembered: Remembered::default(),
        }
    }
}

/// Totals of a sender.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Segments sent, retransmissions included.
    pub sent_pkts: u64,
    /// Of them retransmissions.
    pub resent_pkts: u64,
    /// Segments marked lost.
    pub lost_pkts: u64,
    /// Segments delivered.
    pub delivered_pkts: u64,
    /// Payload acknowledged.
    pub acked_bytes: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Probes of a lost tail.
    pub probes: u64,
    /// Recoveries that were taken back.
    pub undos: u64,
}

/// One direction of an established connection: what has data to send.
pub struct Sender {
    /// The algorithm, and of `struct tcp_sock` what algorithms see.
    pub socket: Socket,
    config: SenderConfig,
    wheel: Wheel,
    board: Board,
    rtt: Rtt,
    /// Segments that the application has written so far, and the size of the last one.
    written: u64,
    last_bytes: u32,
    sndbuf: sndbuf::SendBuffer,
    /// One past the highest SACKed number (`tcp_highest_sack_seq()`), when there is one.
    highest_sack: Option<u64>,
    /// Blocks of the ACK before (`recv_sack_cache`).
    sack_cache: [Block; crate::segment::SACK_BLOCKS],
    high_seq: u64,
    prior_ssthresh: u32,
    /// `undo_marker`; the one in `tcp_sock` is for algorithms.
    undo_from: Option<u64>,
    undo_resent: i64,
    /// When the first retransmission of an episode left, in ms (`retrans_stamp`); 0 = none.
    resent_stamp_ms: u32,
    is_frto: bool,
    /// Timeouts in a row (`icsk_retransmits`).
    timeouts: u32,
    /// The end of what was outstanding when a probe left, and whether the probe sent old data.
    probe_end: Option<u64>,
    probe_resent: bool,
    /// The lowest number that may be lost and not sent again yet (`retransmit_skb_hint`).
    resend_hint: u64,
    reordering_pkts: u32,
    reorder_seen: u32,
    rack: rack::Rack,
    timer: Option<Timer>,
    tsecr_ms: u32,
    /// The receiver's latest time stamp, by the world's clock.
    peer_ms: u32,
    /// One past the last segment for which the receiver has room.
    window_end: u64,
    /// The receiver's count of marks in the ACK before.
    seen_ce: u32,
    cwr_due: bool,
    now_ns: Nanos,
    sent: Vec<Segment>,
    totals: Totals,
}

/// Where the clock of a sender stands when that of the world is 0: far from zero, which the kernel takes for "never".
const START_NS: Nanos = START_US * 1000;

impl Sender {
    /// An established connection that has nothing to send yet, its algorithm initialised.
    #[must_use]
    pub fn new(mut socket: Socket, config: SenderConfig, now_ns: Nanos) -> Sender {
        socket.set_hz(config.hz);
        let wheel = Wheel::new(config.hz);
        let mut rtt = Rtt::new();
        socket.set_time_us((START_NS + now_ns) / 1000);
        let jiffies = socket.jiffies();
        let tp = socket.tp_mut();
        tp.mss_cache = config.mss_bytes;
        tp.snd_wnd = FIRST_WINDOW_BYTES;
        // Negotiated: timestamps, and ECN.
        tp.rx_opt.flags = 3;
        tp.ecn_flags |= match config.ecn {
            SenderEcn::Off => 0,
            SenderEcn::Classic => 1,
            SenderEcn::Accurate => 16,
        };
        tp.snd_cwnd_stamp = jiffies;
        if config.handshake_rtt_us > 0 {
            rtt.sample(tp, config.handshake_rtt_us, 0, 0);
            rtt::update_min(tp, config.handshake_rtt_us, jiffies, config.hz);
            tp.delivered = 1;
            if config.is_opener {
                tp.rack.rtt_us = config.handshake_rtt_us;
            }
            recovery::update_pacing_rate(tp);
        }
        let reordering_pkts = config.remembered.begin(tp);
        socket.init();
        Sender {
            socket,
            config,
            wheel,
            board: Board::new(),
            rtt,
            written: 0,
            last_bytes: config.mss_bytes,
            sndbuf: sndbuf::SendBuffer::new(config.sndbuf_max_bytes),
            highest_sack: None,
            sack_cache: Default::default(),
            high_seq: 0,
            prior_ssthresh: 0,
            undo_from: None,
            undo_resent: 0,
            resent_stamp_ms: 0,
            is_frto: false,
            timeouts: 0,
            probe_end: None,
            probe_resent: false,
            resend_hint: 0,
            reordering_pkts,
            reorder_seen: 0,
            rack: rack::Rack::new(),
            timer: None,
            tsecr_ms: 0,
            peer_ms: 0,
            window_end: u64::from(FIRST_WINDOW_BYTES / config.mss_bytes),
            seen_ce: 0,
            cwr_due: false,
            now_ns: START_NS + now_ns,
            sent: Vec::new(),
            totals: Totals::default(),
        }
    }

    /// Totals so far.
    #[must_use]
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// Whether everything that was written is acknowledged.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.board.una() == self.written
    }

    /// The application writes so many bytes more, which become segments. `u64::MAX`: it never runs out of data.
    ///
    /// # Panics
    /// When an earlier write ended within a segment: only the last one may.
    pub fn write(&mut self, now_ns: Nanos, bytes: u64) {
        self.set_now(now_ns);
        self.check_app_limited();
        self.restart_after_idle();
        if bytes == 0 {
            return;
        }
        assert_eq!(self.last_bytes, self.config.mss_bytes, "only the last write ends within a segment");
        let mss = u64::from(self.config.mss_bytes);
        let segments = bytes.div_ceil(mss);
        self.written = self.written.saturating_add(segments);
        self.last_bytes = (bytes - (segments - 1).saturating_mul(mss)).min(mss) as u32;
        self.take_more();
        self.transmit();
    }

    /// The application writes no more: what has left is all, or what the socket has taken.
    pub(crate) fn stop_writing(&mut self) {
        self.written = if self.config.sndbuf_max_bytes.is_some() { self.taken() } else { self.board.nxt() };
    }

    /// When the packet left that has established the connection.
    pub(crate) fn heard_from(&mut self, peer_ns: Nanos) {
        self.peer_ms = (peer_ns / 1_000_000) as u32;
    }

    /// What it has sent and nobody has taken yet.
    pub(crate) fn sent_mut(&mut self) -> &mut Vec<Segment> {
        &mut self.sent
    }

    /// Payload of a full segment.
    pub(crate) fn mss_bytes(&self) -> u32 {
        self.config.mss_bytes
    }

    /// Written and not sent yet, as if all segments were full.
    pub(crate) fn unsent_bytes(&self) -> u64 {
        (self.written - self.board.nxt()).saturating_mul(u64::from(self.config.mss_bytes))
    }

    /// When [`Sender::on_timer`] is to be called next, by the world's clock.
    #[must_use]
    pub fn next_timer_ns(&self) -> Option<Nanos> {
        let timer = self.timer.map(|timer| timer.fires_ns);
        let fires = [timer, self.paced_until()].into_iter().flatten().min()?;
        Some(fires.max(self.now_ns) - START_NS)
    }

    /// Time has come for what [`Sender::next_timer_ns`] has said.
    pub fn on_timer(&mut self, now_ns: Nanos) {
        let paced = self.paced_until();
        self.set_now(now_ns);
        if paced.is_some_and(|at| at <= self.now_ns) {
            // tcp_tsq_handler(): what is lost goes first, then new data.
            self.resend_lost();
            self.transmit();
        }
        let Some(timer) = self.timer.filter(|timer| timer.fires_ns <= self.now_ns) else {
            return;
        };
        self.timer = None;
        match timer.kind {
            TimerKind::Resend => self.on_timeout(),
            TimerKind::Probe => self.on_probe(),
            TimerKind::Reorder => self.on_reorder_timeout(),
        }
    }

    fn set_now(&mut self, now_ns: Nanos) {
        self.now_ns = self.now_ns.max(START_NS + now_ns);
        self.socket.set_time_us(self.now_ns / 1000);
    }

    fn now_us(&self) -> u64 {
        self.now_ns / 1000
    }

    fn now_ms(&self) -> u32 {
        (self.now_ns / 1_000_000) as u32
    }

    fn ca_state(&self) -> u8 {
        self.socket.tp().ca_state()
    }

    fn in_flight(&self) -> u32 {
        self.socket.tp().in_flight()
    }

    /// The window is what the algorithm says, whatever that is.
    fn has_own_control(&self) -> bool {
        self.socket.unit().ops().cong_control.is_some()
    }

    /// Sequence numbers and counts that `tcp_sock` has in other units.
    fn mirror(&mut self) {
        let (una, nxt, high) = (self.board.una(), self.board.nxt(), self.high_seq);
        let mss = self.config.mss_bytes;
        let bytes = |segments: u64| (segments as u32).wrapping_mul(mss);
        let undo = self.undo_from.map_or(0, |from| bytes(from).max(1));
        let tp = self.socket.tp_mut();
        tp.snd_una = bytes(una);
        tp.snd_nxt = bytes(nxt);
        tp.high_seq = bytes(high);
        tp.undo_marker = undo;
    }

    fn ecn_of_data(&self) -> Ecn {
        match self.config.ecn {
            SenderEcn::Off => Ecn::NotCapable,
            SenderEcn::Classic => Ecn::Ect0,
            SenderEcn::Accurate => Ecn::Ect1,
        }
    }
}
