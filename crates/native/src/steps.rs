//! Arbitrary sequences of what can happen to a socket.

use crate::{AckSample, RateSample, Socket};
use proptest::prelude::*;

/// Where the clocks and counters of a socket stand when it is made.
#[derive(Debug, Clone)]
pub struct Origin {
    pub time_us: u64,
    pub jiffies: u32,
    pub delivered: u32,
    pub sequence: u32,
    pub hz: u32,
    pub seed: u64,
}

/// Far from every wrap, or so near that a few steps cross it.
pub fn origin() -> impl Strategy<Value = Origin> {
    let near_wrap = || prop_oneof![Just(0_u32), (0_u32..2000).prop_map(|left| u32::MAX - left), any::<u32>()];
    let time_us = prop_oneof![
        Just(1_000_000_000_u64),
        // The low 32 bits of tcp_mstamp, in which algorithms keep times, wrap every 71 minutes.
        (1_u64..1000, 0_u64..5_000_000).prop_map(|(wraps, left)| (wraps << 32) - left),
    ];
    let hz = prop::sample::select(&[100_u32, 250, 300, 1000][..]);
    (time_us, near_wrap(), near_wrap(), near_wrap(), hz, any::<u64>()).prop_map(
        |(time_us, jiffies, delivered, sequence, hz, seed)| Origin { time_us, jiffies, delivered, sequence, hz, seed },
    )
}

impl Origin {
    /// Puts a new socket there. Jiffies are counted such that they have this value at this time.
    pub fn apply(&self, socket: &mut Socket) {
        socket.set_hz(self.hz);
        socket.set_seed(self.seed);
        socket.set_time_us(self.time_us);
        let so_far = (u128::from(self.time_us) * u128::from(self.hz) / 1_000_000) as u32;
        socket.start_jiffies(self.jiffies.wrapping_sub(so_far));
        let jiffies = socket.jiffies();
        let time_us = self.time_us;
        let tp = socket.tp_mut();
        tp.lsndtime = jiffies;
        tp.delivered = self.delivered;
        tp.delivered_ce = self.delivered / 3;
        tp.lost = self.delivered;
        tp.delivered_mstamp = time_us;
        tp.first_tx_mstamp = time_us;
        tp.snd_una = self.sequence;
        tp.snd_nxt = self.sequence;
    }
}

/// One thing that can happen to a socket.
#[derive(Debug, Clone)]
pub enum Step {
    Init,
    InitInherited([u64; 13]),
    Release,
    CongAvoid(u32, u32),
    PktsAcked(u32, i32, u32),
    CongControl(u32, i32, Box<RateSample>),
    SetState(u8),
    CwndEvent(u32),
    InAckEvent(u32),
    Ssthresh(bool),
    Undo(bool),
    Asked,
    Advance(u64),
    Cwnd(u32),
    Window(u32, u32, u32),
    Counters([u32; 8]),
    Sequence(u32, u32),
    Bytes([u64; 3]),
    Mss(u32),
    Rtt(u32, u32, u32),
    Timestamps(u32, u32, u16),
    Ecn(u8, u32),
    Pacing(u64, u32),
    Record(bool),
    FailStorage(bool),
    DropStorage,
    RefuseAppLimited(bool),
}

/// `TCP_ECN_OK | TCP_ECN_QUEUE_CWR | TCP_ECN_DEMAND_CWR | TCP_ECN_SEEN | TCP_ECN_ACCECN`
const ECN_FLAGS: u8 = 0x1f;
/// `FLAG_ECE` of net/ipv4/tcp_input.c
const FLAG_ECE: i32 = 0x40;

/// No sample, none measurable, usual, extreme.
fn rtt_us() -> impl Strategy<Value = i32> {
    prop_oneof![2 => Just(-1_i32), 2 => Just(0), 8 => 1_i32..500_000, 1 => Just(i32::MAX), 1 => any::<i32>()]
}

fn cwnd() -> impl Strategy<Value = u32> {
    prop_oneof![4 => 1_u32..100, 4 => 1_u32..=1 << 20, 1 => Just(1_u32), 1 => Just(1 << 20), 1 => 1_u32..10_000_000]
}

fn sample() -> impl Strategy<Value = RateSample> {
    let interval = prop_oneof![Just(-1_i64), Just(0), 1_i64..100_000, any::<i32>().prop_map(i64::from)];
    (
        any::<[u32; 2]>(),
        prop_oneof![-1_i32..100, any::<i32>()],
        interval,
        rtt_us().prop_map(i64::from),
        prop_oneof![0_i32..50, 0_i32..1_000_000],
        prop_oneof![0_u32..50, 0_u32..1_000_000],
        (0_u32..100_000, prop_oneof![Just(0_i32), Just(-1), 0_i32..100, any::<i32>()]),
        any::<[bool; 3]>(),
    )
        .prop_map(|(prior, delivered, interval_us, rtt_us, losses, acked_sacked, (flight, ce), flags)| {
            RateSample {
                prior_mstamp: u64::from(prior[0]),
                prior_delivered: prior[1],
                prior_delivered_ce: prior[1] / 2,
                delivered,
                delivered_ce: ce,
                interval_us,
                snd_interval_us: interval_us as u32,
                rcv_interval_us: interval_us as u32,
                rtt_us,
                losses,
                acked_sacked,
                prior_in_flight: flight,
                last_end_seq: prior[0],
                is_app_limited: flags[0],
                is_retrans: flags[1],
                is_ack_delayed: flags[2],
            }
        })
}

/// Callbacks.
fn call() -> impl Strategy<Value = Step> {
    let flag = prop_oneof![Just(0_i32), Just(FLAG_ECE), any::<i32>()];
    let control = (any::<u32>(), flag, sample());
    prop_oneof![
        2 => Just(Step::Init),
        1 => any::<[u64; 13]>().prop_map(Step::InitInherited),
        1 => Just(Step::Release),
        8 => (any::<u32>(), prop_oneof![0_u32..4, 0_u32..100_000]).prop_map(|(ack, acked)| Step::CongAvoid(ack, acked)),
        8 => (0_u32..1000, rtt_us(), any::<u32>()).prop_map(|(acked, rtt, flight)| Step::PktsAcked(acked, rtt, flight)),
        16 => control.prop_map(|(ack, flag, sample)| Step::CongControl(ack, flag, Box::new(sample))),
        4 => (0_u8..5).prop_map(Step::SetState),
        2 => (0_u32..6).prop_map(Step::CwndEvent),
        4 => (0_u32..8).prop_map(Step::InAckEvent),
        3 => any::<bool>().prop_map(Step::Ssthresh),
        2 => any::<bool>().prop_map(Step::Undo),
        1 => Just(Step::Asked),
    ]
}

/// What the kernel, the other end and time do to a socket between callbacks.
fn surroundings() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => prop_oneof![0_u64..100_000, 0_u64..100_000_000].prop_map(Step::Advance),
        2 => cwnd().prop_map(Step::Cwnd),
        1 => (2_u32..=1 << 20, cwnd(), any::<u32>()).prop_map(|(ssthresh, prior, out)| Step::Window(ssthresh, prior, out)),
        6 => any::<[u32; 8]>().prop_map(Step::Counters),
        3 => (prop_oneof![0_u32..100_000, any::<u32>()], 0_u32..1_000_000)
            .prop_map(|(acked, outstanding)| Step::Sequence(acked, outstanding)),
        1 => any::<[u64; 3]>().prop_map(Step::Bytes),
        1 => prop::sample::select(&[88_u32, 536, 1448, 8948, 65_483][..]).prop_map(Step::Mss),
        2 => (any::<u32>(), prop_oneof![Just(0_u32), Just(u32::MAX), any::<u32>()], any::<u32>())
            .prop_map(|(srtt, min, rack)| Step::Rtt(srtt, min, rack)),
        3 => (any::<u32>(), any::<u32>(), 0_u16..4).prop_map(|(val, ecr, flags)| Step::Timestamps(val, ecr, flags)),
        2 => (any::<u8>(), 0_u32..1000).prop_map(|(flags, marked)| Step::Ecn(flags & ECN_FLAGS, marked)),
        2 => (any::<u64>(), 0_u32..3).prop_map(|(rate, status)| Step::Pacing(rate, status)),
        1 => any::<bool>().prop_map(Step::Record),
        1 => any::<bool>().prop_map(Step::FailStorage),
        1 => Just(Step::DropStorage),
        1 => any::<bool>().prop_map(Step::RefuseAppLimited),
    ]
}

pub fn step() -> impl Strategy<Value = Step> {
    prop_oneof![5 => call(), 3 => surroundings()]
}

/// What the kernel asks for sending: none of it may be nothing.
pub fn answers(socket: &mut Socket) -> Result<(), String> {
    if socket.min_tso_segs() == Some(0) {
        return Err("min_tso_segs gives 0: nothing would be sent".to_owned());
    }
    if socket.sndbuf_expand() == Some(0) {
        return Err("sndbuf_expand gives 0".to_owned());
    }
    Ok(())
}

impl Step {
    /// Does it; an error is an answer that no algorithm may give.
    pub fn apply(&self, socket: &mut Socket) -> Result<(), String> {
        match self {
            Self::Init => socket.init(),
            Self::InitInherited(bytes) => {
                socket.set_ca_priv(*bytes);
                socket.init_inherited();
            }
            Self::Release => socket.release(),
            Self::CongAvoid(ack, acked) => socket.cong_avoid(*ack, *acked),
            Self::PktsAcked(pkts_acked, rtt_us, in_flight) => {
                socket.pkts_acked(&AckSample { pkts_acked: *pkts_acked, rtt_us: *rtt_us, in_flight: *in_flight });
            }
            Self::CongControl(ack, flag, sample) => socket.cong_control(*ack, *flag, sample),
            Self::SetState(state) => socket.set_state(*state),
            Self::CwndEvent(event) => socket.cwnd_event(*event),
            Self::InAckEvent(flags) => socket.in_ack_event(*flags),
            Self::Ssthresh(store) => {
                let ssthresh = socket.ssthresh();
                if *store {
                    socket.tp_mut().prior_cwnd = socket.cwnd();
                    socket.tp_mut().snd_ssthresh = ssthresh;
                }
            }
            Self::Undo(store) => {
                let cwnd = socket.undo_cwnd();
                if cwnd == 0 {
                    return Err("undo_cwnd gives a window of 0".to_owned());
                }
                if *store {
                    socket.tp_mut().snd_cwnd = cwnd;
                }
            }
            Self::Asked => {
                answers(socket)?;
            }
            other => other.surround(socket),
        }
        Ok(())
    }

    fn surround(&self, socket: &mut Socket) {
        match self {
            Self::Advance(by_us) => {
                socket.advance_us(*by_us);
                socket.tp_mut().delivered_mstamp = socket.time_us();
            }
            Self::Record(recording) => socket.record(*recording),
            Self::FailStorage(fails) => socket.fail_storage(*fails),
            Self::DropStorage => socket.drop_storage(),
            Self::RefuseAppLimited(refuse) => socket.refuse_app_limited(*refuse),
            _ => self.set_members(socket),
        }
    }

    fn set_members(&self, socket: &mut Socket) {
        let tp = socket.tp_mut();
        match self {
            Self::Cwnd(cwnd) => tp.snd_cwnd = *cwnd,
            Self::Window(ssthresh, prior_cwnd, max_packets_out) => {
                tp.snd_ssthresh = *ssthresh;
                tp.prior_cwnd = *prior_cwnd;
                tp.max_packets_out = *max_packets_out;
            }
            Self::Counters([delivered, lost, out, sacked, lost_out, retrans, lsndtime, flags]) => {
                tp.delivered = tp.delivered.wrapping_add(delivered % 10_000);
                tp.lost = tp.lost.wrapping_add(lost % 1000);
                tp.packets_out = out % 1_000_000;
                tp.sacked_out = sacked % 1_000_000;
                tp.lost_out = lost_out % 1_000_000;
                tp.retrans_out = retrans % 1_000_000;
                tp.lsndtime = *lsndtime;
                tp.set_cwnd_limited(flags & 1 != 0);
                tp.app_limited = flags & 2;
                tp.tcp_wstamp_ns = u64::from(*retrans) * 1_000_000;
            }
            Self::Sequence(acked, outstanding) => {
                tp.snd_una = tp.snd_una.wrapping_add(*acked);
                tp.snd_nxt = tp.snd_una.wrapping_add(*outstanding);
                tp.high_seq = tp.snd_nxt;
                tp.undo_marker = tp.snd_una;
                tp.rcv_nxt = tp.rcv_nxt.wrapping_add(*acked);
            }
            Self::Bytes([sent, retransmitted, acked]) => {
                tp.bytes_sent = *sent;
                tp.bytes_retrans = *retransmitted;
                tp.bytes_acked = *acked;
            }
            Self::Mss(mss) => tp.mss_cache = *mss,
            Self::Rtt(srtt_us, min_rtt_us, rack_rtt_us) => {
                tp.srtt_us = *srtt_us;
                tp.rtt_min[0].v = *min_rtt_us;
                tp.rack.rtt_us = *rack_rtt_us;
            }
            Self::Timestamps(value, echo, flags) => {
                tp.rx_opt.rcv_tsval = *value;
                tp.rx_opt.rcv_tsecr = *echo;
                tp.rx_opt.flags = *flags;
            }
            Self::Ecn(flags, marked) => {
                tp.ecn_flags = *flags;
                tp.delivered_ce = tp.delivered_ce.wrapping_add(*marked);
            }
            Self::Pacing(rate, status) => {
                tp.inet_conn.sk.sk_pacing_rate = *rate;
                tp.inet_conn.sk.sk_pacing_status = *status;
            }
            _ => unreachable!("the callbacks and the surroundings are above"),
        }
    }
}
