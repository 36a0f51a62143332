//! The sender of [`Flow`].

use std::collections::VecDeque;

use super::acks::Acks;
use super::link::{Link, Queue};
use crate::layout::{AckSample, RateSample};
use crate::receive::{Receiver, Seen};
use crate::socket::{CA_CWR, CA_LOSS, CA_OPEN, CA_RECOVERY, EVENT_COMPLETE_CWR, EVENT_LOSS, EVENT_TX_START, Socket};

/// A packet is lost when one that was transmitted this many transmissions later has arrived.
const REORDERING: u64 = 3;
/// Smallest retransmission timeout (`TCP_RTO_MIN`).
const RTO_MIN_US: u64 = 200_000;
/// `tcp_tso_rtt_log`: the TSO allowance halves for every 2^9 µs of minimum RTT.
const TSO_RTT_LOG: u32 = 9;
/// The receive window: 12 MB. It bounds what an algorithm with a huge window, such as Hybla's, can put on the link.
const RECEIVE_WINDOW_PKTS: u64 = 8192;
/// Timestamps count milliseconds.
const TICK_US: u64 = 1000;
/// Without scaling, as in a SYN, a window has at most 64 KiB.
const FIRST_OFFER_PKTS: u64 = 45;
/// `RCV_MIN_SEGMENTS` of `bpf/include/rcv_program.bpf.h`.
const MIN_OFFER_PKTS: u64 = 2;
/// The kernel does not pace the first packets of a connection.
const UNPACED_PKTS: u32 = 10;

/// `TCP_ECN_OK` and `TCP_ECN_ACCECN`: of either kind, whichever the algorithm asks for.
const ANY_ECN: u8 = 1 | 16;
/// `CA_ACK_SLOWPATH`, `CA_ACK_ECE`
const ACK_SLOWPATH: u32 = 1;
const ACK_ECE: u32 = 4;

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    InFlight,
    Sacked,
    Lost,
}

/// A packet between snd_una and snd_nxt, with what `tcp_rate_skb_sent()` notes about its last transmission.
struct Packet {
    state: State,
    retransmitted: bool,
    /// The bottleneck marked it.
    ce: bool,
    serial: u64,
    sent_us: u64,
    first_tx_us: u64,
    delivered_us: u64,
    delivered: u32,
    app_limited: bool,
}

/// Totals since the flow began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Packets that arrived, each counted once.
    pub delivered_pkts: u64,
    /// Transmissions.
    pub sent_pkts: u64,
    /// Of them retransmissions.
    pub retrans_pkts: u64,
    /// Packets that the sender marked lost.
    pub lost_pkts: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Sum and number of RTT samples; see [`Stats::mean_rtt_us`].
    pub rtt_sum_us: u64,
    /// Number of RTT samples.
    pub rtt_samples: u64,
}

impl Stats {
    /// Mean of the RTT samples in µs, 0 without any.
    #[must_use]
    pub fn mean_rtt_us(&self) -> u64 {
        self.rtt_sum_us.checked_div(self.rtt_samples).unwrap_or(0)
    }

    /// What happened since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Stats) -> Stats {
        Stats {
            delivered_pkts: self.delivered_pkts - earlier.delivered_pkts,
            sent_pkts: self.sent_pkts - earlier.sent_pkts,
            retrans_pkts: self.retrans_pkts - earlier.retrans_pkts,
            lost_pkts: self.lost_pkts - earlier.lost_pkts,
            timeouts: self.timeouts - earlier.timeouts,
            rtt_sum_us: self.rtt_sum_us - earlier.rtt_sum_us,
            rtt_samples: self.rtt_samples - earlier.rtt_samples,
        }
    }
}

/// One connection over one [`Link`].
pub struct Flow {
    /// The socket, for reading between steps; tests may also change it there.
    pub socket: Socket,
    /// The path; may be changed while the flow runs.
    pub link: Link,
    queue: Queue,
    acks: Acks,
    ack_every: u32,
    packets: VecDeque<Packet>,
    /// Sequence number (in packets) of `packets[0]`.
    una: u64,
    next_serial: u64,
    /// The end of the current recovery episode.
    high_seq: u64,
    usage_seq: u64,
    application_sends: bool,
    /// See [`Flow::mark_above`].
    mark_above_pkts: Option<usize>,
    receiver: Option<Receiver>,
    /// The first packet that the receiver has offered no room for; never smaller than it was.
    receive_edge: u64,
    stats: Stats,
}

impl Flow {
    /// A connection that has just been established: one RTT sample taken, the algorithm initialised.
    #[must_use]
    pub fn new(mut socket: Socket, link: Link, seed: u64) -> Flow {
        let rtt_us = link.base_rtt_us as u32;
        socket.tp_mut().srtt_us = rtt_us << 3;
        socket.tp_mut().rtt_min[0].v = rtt_us;
        socket.init();
        Flow {
            socket,
            link,
            queue: Queue::new(seed),
            acks: Acks::new(),
            ack_every: 1,
            packets: VecDeque::new(),
            una: 0,
            next_serial: 0,
            high_seq: 0,
            usage_seq: 0,
            application_sends: true,
            mark_above_pkts: None,
            receiver: None,
            receive_edge: RECEIVE_WINDOW_PKTS,
            stats: Stats::default(),
        }
    }

    /// Totals so far.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// ECN from now on: a packet that finds more than this in the queue is marked, and its ACK says so, as that of a DCTCP
    /// receiver does.
    pub fn mark_above(&mut self, pkts: usize) {
        self.mark_above_pkts = Some(pkts);
        self.socket.tp_mut().ecn_flags |= ANY_ECN;
    }

    /// Whether the application has data from now on.
    pub fn set_application_sends(&mut self, sends: bool) {
        self.application_sends = sends;
    }

    /// A receiver that decides what window it offers. Its echo of a packet is the time at which that packet was sent.
    pub fn set_receiver(&mut self, receiver: Receiver) {
        self.receiver = Some(receiver);
        self.receive_edge = self.una + FIRST_OFFER_PKTS;
    }

    /// Before the first packet: the number of that packet. Sequence numbers are this times the MSS, so they can begin just
    /// before they wrap. The algorithm is initialised anew, as a connection has its numbers before its algorithm.
    pub fn set_first_packet(&mut self, number: u64) {
        assert_eq!(self.stats.sent_pkts, 0, "the flow has begun");
        (self.una, self.high_seq, self.usage_seq) = (number, number, number);
        self.receive_edge = number + RECEIVE_WINDOW_PKTS;
        self.count();
        self.socket.init();
    }

    /// From now on one ACK covers so many packets, as where receiver, network card or radio link merge them. 1 at first.
    pub fn set_ack_every(&mut self, packets: u32) {
        self.ack_every = packets;
    }

    /// Runs for so long in virtual time; `observe` sees the flow after every ACK and timeout.
    pub fn run_for_us(&mut self, duration_us: u64, mut observe: impl FnMut(&Flow)) {
        let end_us = self.socket.time_us() + duration_us;
        loop {
            let send_us = self.next_send_us();
            let ack_us = self.acks.next_us(self.ack_every);
            let rto_us = self.rto_us();
            let Some(next_us) = [send_us, ack_us, rto_us].into_iter().flatten().min().filter(|&at| at <= end_us) else {
                break;
            };
            self.socket.set_time_us(next_us.max(self.socket.time_us()));
            if ack_us == Some(next_us) {
                let serials = self.acks.take(self.ack_every);
                self.on_ack(&serials);
                observe(self);
            } else if rto_us == Some(next_us) && send_us != Some(next_us) {
                self.on_timeout();
                observe(self);
            }
            self.transmit();
        }
        self.socket.set_time_us(end_us);
    }

    fn sendable(&self) -> bool {
        self.socket.tp().in_flight() < self.socket.cwnd()
            && (self.has_new_data() || self.packets.iter().any(|packet| packet.state == State::Lost))
    }

    fn has_new_data(&self) -> bool {
        self.application_sends && self.una + (self.packets.len() as u64) < self.receive_edge
    }

    fn next_send_us(&self) -> Option<u64> {
        let paced_us = self.socket.tp().tcp_wstamp_ns.div_ceil(1000);
        self.sendable().then(|| paced_us.max(self.socket.time_us()))
    }

    /// Only when nothing else can happen any more: ACKs of later packets reveal every other loss.
    fn rto_us(&self) -> Option<u64> {
        let last_sent_us = self.packets.iter().filter(|p| p.state == State::InFlight).map(|p| p.sent_us).max()?;
        let srtt_us = u64::from(self.socket.tp().srtt_us >> 3);
        self.acks.is_empty().then_some(last_sent_us + srtt_us + RTO_MIN_US)
    }

    /// `tcp_tso_autosize()`
    fn burst_pkts(&mut self) -> u32 {
        let floor = self.socket.min_tso_segs().unwrap_or(2);
        let tp = self.socket.tp();
        let sk = &tp.inet_conn.sk;
        let mut bytes = sk.sk_pacing_rate >> sk.sk_pacing_shift;
        let halvings = tp.rtt_min[0].v >> TSO_RTT_LOG;
        if halvings < 32 {
            bytes = bytes.saturating_add(u64::from(sk.sk_gso_max_size >> halvings));
        }
        let bytes = bytes.min(u64::from(sk.sk_gso_max_size));
        ((bytes / u64::from(tp.mss_cache)) as u32).max(floor).max(1)
    }

    /// `tcp_write_xmit()`: bursts until cwnd is used or the pacing clock says wait.
    fn transmit(&mut self) {
        if self.packets.is_empty() && self.sendable() && self.stats.sent_pkts > 0 {
            self.socket.cwnd_event(EVENT_TX_START);
        }
        let burst = self.burst_pkts();
        let mut sent = 0;
        while self.sendable() && self.socket.tp().tcp_wstamp_ns <= self.socket.time_us() * 1000 {
            let start = self.stats.sent_pkts;
            while self.sendable() && self.stats.sent_pkts - start < u64::from(burst) {
                self.send_one();
            }
            sent += self.stats.sent_pkts - start;
            self.pace(self.stats.sent_pkts - start);
        }
        if sent > 0 {
            self.note_usage();
        }
        let limited_by_application = !self.application_sends
            && self.socket.tp().in_flight() < self.socket.cwnd()
            && !self.packets.iter().any(|packet| packet.state == State::Lost);
        if limited_by_application {
            let tp = self.socket.tp_mut();
            tp.app_limited = tp.delivered.wrapping_add(tp.in_flight()).max(1);
        }
    }

    /// `tcp_cwnd_validate()`
    fn note_usage(&mut self) {
        let (una, nxt, usage) = (self.una, self.una + self.packets.len() as u64, self.usage_seq);
        let tp = self.socket.tp_mut();
        let limited = tp.in_flight() >= tp.snd_cwnd;
        if una >= usage || limited || (tp.flags & 1 == 0 && tp.packets_out > tp.max_packets_out) {
            tp.set_cwnd_limited(limited);
            tp.max_packets_out = tp.packets_out;
            self.usage_seq = nxt;
        }
    }

    /// The pacing clock moves by the time that the burst takes, less what was waited too long before.
    fn pace(&mut self, pkts: u64) {
        let now_ns = self.socket.time_us() * 1000;
        let tp = self.socket.tp_mut();
        let prior_ns = std::mem::replace(&mut tp.tcp_wstamp_ns, now_ns);
        let sk = &tp.inet_conn.sk;
        if sk.sk_pacing_status == 0 || tp.data_segs_out < UNPACED_PKTS || sk.sk_pacing_rate == u64::MAX {
            return;
        }
        let len_ns = pkts * u64::from(tp.mss_cache) * 1_000_000_000 / sk.sk_pacing_rate.max(1);
        let credit_ns = now_ns.saturating_sub(prior_ns);
        tp.tcp_wstamp_ns += len_ns - credit_ns.min(len_ns / 2);
    }

    fn send_one(&mut self) {
        let now_us = self.socket.time_us();
        let serial = self.next_serial;
        self.next_serial += 1;
        let jiffies = self.socket.jiffies();
        let lost = self.packets.iter().position(|packet| packet.state == State::Lost);
        let ce = self.mark_above_pkts.is_some_and(|limit| self.queue.found_pkts(now_us * 1000) > limit);
        let tp = self.socket.tp_mut();
        if tp.in_flight() == 0 && self.packets.is_empty() {
            tp.first_tx_mstamp = now_us;
            tp.delivered_mstamp = now_us;
        }
        let packet = Packet {
            state: State::InFlight,
            retransmitted: lost.is_some(),
            ce,
            serial,
            sent_us: now_us,
            first_tx_us: tp.first_tx_mstamp,
            delivered_us: tp.delivered_mstamp,
            delivered: tp.delivered,
            app_limited: tp.app_limited != 0,
        };
        tp.lsndtime = jiffies;
        tp.data_segs_out += 1;
        tp.bytes_sent += u64::from(tp.mss_cache);
        tp.prr_out += 1;
        self.stats.sent_pkts += 1;
        if let Some(index) = lost {
            self.packets[index] = packet;
            tp.total_retrans += 1;
            tp.bytes_retrans += u64::from(tp.mss_cache);
            self.stats.retrans_pkts += 1;
        } else {
            self.packets.push_back(packet);
        }
        self.count();
        if let Some(departure_ns) = self.queue.enqueue(&self.link, now_us * 1000) {
            self.acks.push(departure_ns.div_ceil(1000) + self.link.base_rtt_us, serial);
        }
    }

    /// Recounts what the kernel keeps incrementally. A retransmitted packet counts as lost and as retransmitted there.
    fn count(&mut self) {
        let mss = self.socket.tp().mss_cache;
        let of = |packets: &VecDeque<Packet>, wanted: fn(&Packet) -> bool| {
            packets.iter().filter(|p| wanted(p)).count() as u32
        };
        let resent = of(&self.packets, |p| p.retransmitted && p.state == State::InFlight);
        let lost = of(&self.packets, |p| p.state == State::Lost);
        let sacked = of(&self.packets, |p| p.state == State::Sacked);
        let (una, len) = (self.una, self.packets.len() as u64);
        let tp = self.socket.tp_mut();
        tp.packets_out = len as u32;
        tp.sacked_out = sacked;
        tp.lost_out = lost + resent;
        tp.retrans_out = resent;
        tp.snd_una = (una as u32).wrapping_mul(mss);
        tp.snd_nxt = ((una + len) as u32).wrapping_mul(mss);
    }

    fn on_ack(&mut self, serials: &[u64]) {
        let now_us = self.socket.time_us();
        let prior_in_flight = self.socket.tp().in_flight();
        let mut arrived = 0;
        let (mut newest, mut retransmitted) = (None, false);
        // A transmission that was given up and repeated, then arrived after all, cannot happen on a FIFO path.
        for (index, packet) in self.packets.iter_mut().enumerate().filter(|(_, p)| serials.contains(&p.serial)) {
            packet.state = State::Sacked;
            arrived += 1;
            retransmitted |= packet.retransmitted;
            // The rate sample is that of the packet that was sent last (tcp_rate_skb_delivered()).
            newest = newest.max(Some((packet.serial, index)));
        }
        let Some((serial, index)) = newest else {
            return;
        };
        let packet = &self.packets[index];
        // One repeated packet among those acknowledged, and the kernel takes no RTT (Karn's rule).
        let rtt_us = (!retransmitted).then_some(now_us - packet.sent_us);
        let mut sample = RateSample {
            prior_mstamp: packet.delivered_us,
            prior_delivered: packet.delivered,
            delivered_ce: 0,
            interval_us: (packet.sent_us - packet.first_tx_us) as i64,
            is_app_limited: packet.app_limited,
            is_retrans: packet.retransmitted,
            rtt_us: rtt_us.map_or(-1, |rtt| rtt as i64),
            acked_sacked: arrived,
            prior_in_flight,
            ..RateSample::default()
        };
        let (sent_us, ce) = (packet.sent_us, packet.ce);
        let tp = self.socket.tp_mut();
        tp.delivered_ce = tp.delivered_ce.wrapping_add(u32::from(ce));
        sample.delivered_ce = i32::from(ce);
        tp.first_tx_mstamp = sent_us;
        tp.delivered = tp.delivered.wrapping_add(arrived);
        tp.rack.mstamp = sent_us;
        self.stats.delivered_pkts += u64::from(arrived);
        let una_before = self.una;
        while self.packets.front().is_some_and(|p| p.state == State::Sacked) {
            self.packets.pop_front();
            self.una += 1;
        }
        let advanced = self.una - una_before;
        self.offer(sent_us);
        self.count();
        if let Some(rtt_us) = rtt_us {
            self.take_rtt(rtt_us as u32);
        }
        if advanced > 0 {
            let mss = self.socket.tp().mss_cache;
            self.socket.tp_mut().bytes_acked += advanced * u64::from(mss);
            let in_flight = self.socket.tp().delivered.wrapping_sub(sample.prior_delivered).saturating_mul(mss);
            let rtt_us = rtt_us.map_or(-1, |rtt| rtt as i32);
            self.socket.pkts_acked(&AckSample { pkts_acked: advanced as u32, rtt_us, in_flight });
        }
        self.socket.in_ack_event(if ce { ACK_SLOWPATH | ACK_ECE } else { ACK_SLOWPATH });
        let losses = self.mark_losses(serial);
        self.change_state(losses, ce);
        sample.losses = losses as i32;
        self.finish_sample(&mut sample);
        self.control(&sample, advanced, losses);
    }

    /// What the ACK that has come offers; the receiver's end of the path is here, so that both ends measure one RTT.
    fn offer(&mut self, sent_us: u64) {
        let window_pkts = self.receiver.as_mut().and_then(|receiver| {
            let (tp, now_us) = (self.socket.tp(), self.socket.time_us());
            let limit = receiver.step(&Seen {
                now_us,
                rcv_nxt: (self.una as u32).wrapping_mul(tp.mss_cache),
                echo: (sent_us / TICK_US) as u32,
                clock: (now_us / TICK_US) as u32,
                tick_us: TICK_US as u32,
                mss: tp.mss_cache,
                has_hole: self.packets.iter().any(|packet| packet.state == State::Sacked),
                ..Seen::default()
            });
            limit.map(|bytes| u64::from(bytes / tp.mss_cache).max(MIN_OFFER_PKTS))
        });
        let window_pkts = window_pkts.unwrap_or(RECEIVE_WINDOW_PKTS).min(RECEIVE_WINDOW_PKTS);
        self.receive_edge = self.receive_edge.max(self.una + window_pkts);
    }

    fn take_rtt(&mut self, rtt_us: u32) {
        self.stats.rtt_sum_us += u64::from(rtt_us);
        self.stats.rtt_samples += 1;
        let tp = self.socket.tp_mut();
        tp.rack.rtt_us = rtt_us;
        tp.rtt_min[0].v = tp.rtt_min[0].v.min(rtt_us);
        tp.srtt_us = if tp.srtt_us == 0 { rtt_us << 3 } else { tp.srtt_us - (tp.srtt_us >> 3) + rtt_us };
    }

    fn mark_losses(&mut self, delivered_serial: u64) -> u32 {
        let mut losses = 0;
        for packet in &mut self.packets {
            if packet.state == State::InFlight && packet.serial + REORDERING <= delivered_serial {
                packet.state = State::Lost;
                losses += 1;
            }
        }
        let tp = self.socket.tp_mut();
        tp.lost = tp.lost.wrapping_add(losses);
        self.stats.lost_pkts += u64::from(losses);
        self.count();
        losses
    }

    /// `tcp_fastretrans_alert()`
    fn change_state(&mut self, losses: u32, ece: bool) {
        let state = self.socket.tp().ca_state();
        let nxt = self.una + self.packets.len() as u64;
        if state != CA_OPEN && self.una >= self.high_seq {
            if matches!(state, CA_RECOVERY | CA_CWR) && self.socket.unit().ops().cong_control.is_none() {
                let ssthresh = self.socket.tp().snd_ssthresh;
                self.socket.tp_mut().snd_cwnd = ssthresh;
                self.socket.cwnd_event(EVENT_COMPLETE_CWR);
            }
            self.socket.set_state(CA_OPEN);
        }
        let state = self.socket.tp().ca_state();
        if losses > 0 && state == CA_CWR {
            self.high_seq = nxt;
            self.socket.set_state(CA_RECOVERY);
        } else if (losses > 0 || ece) && state == CA_OPEN {
            self.high_seq = nxt;
            let tp = self.socket.tp_mut();
            tp.snd_cwnd_cnt = 0;
            tp.prior_cwnd = tp.snd_cwnd;
            tp.prr_delivered = 0;
            tp.prr_out = 0;
            // Never 0, which stands for "undone".
            tp.undo_marker = tp.snd_una.max(1);
            let ssthresh = self.socket.ssthresh();
            self.socket.tp_mut().snd_ssthresh = ssthresh;
            self.socket.set_state(if losses > 0 { CA_RECOVERY } else { CA_CWR });
        }
    }

    /// `tcp_rate_gen()`
    fn finish_sample(&mut self, sample: &mut RateSample) {
        let now_us = self.socket.time_us();
        let tp = self.socket.tp_mut();
        if tp.app_limited != 0 && (tp.delivered.wrapping_sub(tp.app_limited) as i32) > 0 {
            tp.app_limited = 0;
        }
        tp.delivered_mstamp = now_us;
        sample.delivered = tp.delivered.wrapping_sub(sample.prior_delivered) as i32;
        sample.snd_interval_us = sample.interval_us as u32;
        sample.rcv_interval_us = (now_us - sample.prior_mstamp) as u32;
        sample.interval_us = i64::from(sample.snd_interval_us.max(sample.rcv_interval_us));
        if sample.interval_us < i64::from(tp.rtt_min[0].v) {
            sample.interval_us = -1;
            return;
        }
        tp.rate_delivered = sample.delivered as u32;
        tp.rate_interval_us = sample.interval_us as u32;
    }

    /// `tcp_cong_control()` and `tcp_update_pacing_rate()`
    fn control(&mut self, sample: &RateSample, advanced: u64, losses: u32) {
        let ack = self.socket.tp().snd_una;
        if self.socket.unit().ops().cong_control.is_some() {
            self.socket.cong_control(ack, 0, sample);
            return;
        }
        if matches!(self.socket.tp().ca_state(), CA_RECOVERY | CA_CWR) {
            self.reduce(sample.acked_sacked, advanced, losses);
        } else if advanced > 0 {
            self.socket.cong_avoid(ack, sample.acked_sacked);
        }
        let tp = self.socket.tp_mut();
        let percent = if tp.snd_cwnd < tp.snd_ssthresh / 2 { 200 } else { 120 };
        let window = u64::from(tp.snd_cwnd.max(tp.packets_out)) * u64::from(tp.mss_cache);
        tp.inet_conn.sk.sk_pacing_rate = window * percent * 80_000 / u64::from(tp.srtt_us.max(1));
    }

    /// Proportional rate reduction, `tcp_cwnd_reduction()`.
    fn reduce(&mut self, arrived: u32, advanced: u64, losses: u32) {
        let tp = self.socket.tp_mut();
        tp.prr_delivered += arrived;
        let delta = i64::from(tp.snd_ssthresh) - i64::from(tp.in_flight());
        let mut send = if delta < 0 {
            let prior = u64::from(tp.prior_cwnd.max(1));
            (u64::from(tp.snd_ssthresh) * u64::from(tp.prr_delivered)).div_ceil(prior) as i64 - i64::from(tp.prr_out)
        } else {
            let owed = (i64::from(tp.prr_delivered) - i64::from(tp.prr_out)).max(i64::from(arrived));
            delta.min(owed + i64::from(advanced > 0 && losses == 0))
        };
        send = send.max(i64::from(tp.prr_out == 0));
        tp.snd_cwnd = (i64::from(tp.in_flight()) + send) as u32;
    }

    /// `tcp_enter_loss()`
    fn on_timeout(&mut self) {
        self.stats.timeouts += 1;
        let mut losses = 0;
        for packet in &mut self.packets {
            if packet.state == State::InFlight {
                packet.state = State::Lost;
                losses += 1;
            }
        }
        self.stats.lost_pkts += u64::from(losses);
        let tp = self.socket.tp_mut();
        tp.lost = tp.lost.wrapping_add(losses);
        self.count();
        let tp = self.socket.tp_mut();
        if tp.ca_state() != CA_LOSS {
            tp.prior_cwnd = tp.snd_cwnd;
            let ssthresh = self.socket.ssthresh();
            self.socket.tp_mut().snd_ssthresh = ssthresh;
            self.socket.cwnd_event(EVENT_LOSS);
        }
        let tp = self.socket.tp_mut();
        tp.snd_cwnd = tp.in_flight() + 1;
        tp.snd_cwnd_cnt = 0;
        self.socket.set_state(CA_LOSS);
        self.high_seq = self.una + self.packets.len() as u64;
    }
}
