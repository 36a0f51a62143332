// SPDX-License-Identifier: GPL-2.0
/*
 * ACA-TCP: Na, Park, Lee, Kim, "Design and Performance Evaluation of ACA-TCP", 2006.
 *
 * In a nutshell: Reno whose slow-start threshold is, at every ACK, the window that the estimated available
 * bandwidth calls for.
 *
 *   (1) cwnd < essthresh    cwnd += 1 per packet acknowledged   phase A: start, or after a timeout
 *                                                               phase C: after a fast retransmission
 *   (2) cwnd >= essthresh   cwnd += 1 / cwnd                    phase B
 *   (3) BW_new    = (BW * RTT + bytes) / (RTT + T)              bytes of this ACK, T = time since the one before
 *   (4) BW        = alpha * BW + (1 - alpha) * BW_new
 *   (5) essthresh = BW * RTT / MSS
 *
 *   start, timeout --------> START  (A) --+--- cwnd >= essthresh ---> LINEAR (B)
 *   fast retransmission ---> RESUME (C) --+                              |
 *                            A or C, by the last of them <---------------+
 *                                                      cwnd < essthresh
 *
 * (3) is the time-sliding window of Clark & Fang 1998 with a window of one RTT. A burst of w ACKs lifts BW *
 * RTT to almost 2 w and the pause after it takes it down again. So a flow that leaves gaps is in slow start
 * for part of each round. Once the ACKs are evenly spaced BW * RTT is the window itself, and growth is
 * linear: just above the bandwidth-delay product, without a loss. A paced sender has evenly spaced ACKs from
 * the start and never gets there: the algorithm is meant for senders without pacing (no fq qdisc).
 *
 * What the paper leaves open is a tunable, with the reading taken as default. Unlike the paper:
 *   - Growth counts packets, not ACKs, as Linux does for all its algorithms.
 *   - The connection starts with the kernel's initial window rather than with one packet. essthresh does not
 *     rule before the first RTT sample.
 *   - Recovery is the kernel's PRR, which ends at half of the window. essthresh rules again from the first
 *     ACK after it.
 */
#include "cc.bpf.h"
#include "cc_handover.bpf.h"

CC_ALGORITHM(
    "aca", "loss",
    "Reno with slow start up to an estimate of the available bandwidth, renewed with every ACK; for unpaced senders.",
    "Na, Park, Lee, Kim 2006");
CC_COLOR("#BB5566");
CC_PRESET("p2", "rtt_source=1", "the smallest RTT, with which it prevents large losses, as P2 says",
	  "Na, Park, Lee, Kim 2006");
CC_TRACE_V0("essthresh_pkts", "window that the estimated bandwidth calls for, 0 = none yet");
CC_TRACE_V1("ack_interval_us", "time between the last two ACKs that the estimator took");

#define ACA_BW_SHIFT      20            /* bandwidth in bytes/us << 20 */
#define ACA_MAX_BW        (1ULL << 36)  /* 65536 bytes/us; times ACA_MAX_US it fits into 64 bits */
#define ACA_MAX_US        (1ULL << 27)  /* no RTT and no gap counts as longer than 134 s */
#define ACA_MAX_BYTES     (1ULL << 30)  /* the largest send window (RFC 7323), so the most that an ACK can cover */
#define ACA_UNIT          1000U         /* alpha = 1.0 */
#define ACA_MAX_ESSTHRESH 0x7ffffffeULL /* below TCP_INFINITE_SSTHRESH */

CC_GAIN(u32, alpha, 500, 0, 990, "weight of the old estimate in (4)", "left open by Na, Park, Lee, Kim 2006");
CC_TUNABLE(u32, rtt_source, 0, 0, 2, "", "RTT of (3) and (5): 0 = smoothed, 1 = minimum, 2 = latest",
	   "left open by Na, Park, Lee, Kim 2006");
CC_TUNABLE(u32, min_essthresh, 2, 2, 65535, "packets", "lower bound of essthresh",
	   "left open by Na, Park, Lee, Kim 2006");
CC_TUNABLE(u32, low_window, 0, 0, 65535, "packets",
	   "plain Reno below this window; 38 as the paper concludes, 0 = never, as it simulates",
	   "Na, Park, Lee, Kim 2006, conclusion");
CC_SWITCH(u32, count_sacked, 1, "1 = bytes (S)ACKed by the ACK, 0 = advance of the cumulative ACK",
	  "left open by Na, Park, Lee, Kim 2006");
CC_SWITCH(u32, sample_in_recovery, 1, "the estimator goes on during recovery", "left open by Na, Park, Lee, Kim 2006");
CC_SWITCH(u32, sample_app_limited, 0, "the estimator takes ACKs of a flow that cwnd does not limit",
	  "left open by Na, Park, Lee, Kim 2006");
CC_SWITCH(u32, forget_on_timeout, 0, "a timeout sets the estimate to 0", "left open by Na, Park, Lee, Kim 2006");

/*
 *   start    A: exponential, since the start or a timeout
 *   linear   B
 *   resume   C: exponential, since a fast retransmission
 */
CC_MODES(aca_phase, ACA_START, ACA_LINEAR, ACA_RESUME);

enum aca_rtt_source {
	ACA_SMOOTHED_RTT,
	ACA_MIN_RTT,
	ACA_LATEST_RTT,
};

/* What T of the next ACK is. */
enum aca_clock {
	ACA_BEFORE_INIT, /* zero, as the private area is before init */
	ACA_NO_ACK_YET,  /* one RTT: the first ACK, or the first one after a timeout */
	ACA_WAS_IDLE,    /* nothing: the ACK only starts the clock again, BW stays */
	ACA_RUNNING,     /* the time since the last ACK */
};

struct aca {
	u64 bw;             /* BW of (4), bytes/us << ACA_BW_SHIFT */
	u64 last_ack_us;    /* tp->tcp_mstamp of the last ACK that acknowledged anything */
	u32 last_delivered; /* tp->delivered and snd_una then */
	u32 last_una;
	u32 interval_us;        /* T of (3) */
	u32 rtt_us;             /* latest sample, 0 = none */
	u32 essthresh_pkts;     /* 0 = no estimate yet */
	u32 reno_ssthresh;      /* what Reno would have, for cwnd below low_window */
	u32 undo_reno_ssthresh; /* and before the last reduction */
	u8 clock;               /* enum aca_clock */
	u8 after_recovery;      /* the last reduction was not a timeout: exponential growth is phase C */
	u8 phase;               /* enum aca_phase of the last ACK outside recovery */
	u8 pad;
};
CC_PRIV_FITS(struct aca);

/* How this ACK finds the window: growth may take it to essthresh. */
static __always_inline enum aca_phase aca_phase(const struct tcp_sock *tp, const struct aca *ca)
{
	if (!tcp_in_slow_start(tp))
		return ACA_LINEAR;
	return ca->after_recovery ? ACA_RESUME : ACA_START;
}

static __always_inline void aca_publish(struct sock *sk)
{
	struct cca_trace *trace = cc_trace(sk);
	const struct aca *ca = inet_csk_ca(sk);

	if (!trace)
		return;
	trace->mode = ca->phase;
	trace->bw_bps = ca->bw * 8 * USEC_PER_SEC >> ACA_BW_SHIFT;
	trace->v0 = ca->essthresh_pkts;
	trace->v1 = ca->interval_us;
	cc_trace_done(trace);
}

/* The RTT of the equations, 0 = no sample yet. */
static __always_inline u64 aca_rtt_us(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct aca *ca = inet_csk_ca(sk);
	u64 rtt_us = tp->srtt_us >> 3;

	if (!tp->srtt_us)
		return 0;
	if (rtt_source == ACA_MIN_RTT && tcp_min_rtt(tp) != ~0U)
		rtt_us = tcp_min_rtt(tp);
	else if (rtt_source == ACA_LATEST_RTT && ca->rtt_us)
		rtt_us = ca->rtt_us;
	return clamp(rtt_us, 1ULL, ACA_MAX_US);
}

/* Bytes acknowledged since the last ACK that was counted. */
static __always_inline u64 aca_new_bytes(const struct tcp_sock *tp, const struct aca *ca)
{
	u64 bytes;

	if (count_sacked)
		bytes = (u64)(tp->delivered - ca->last_delivered) * tp->mss_cache;
	else
		bytes = tp->snd_una - ca->last_una;
	return min(bytes, ACA_MAX_BYTES);
}

/* (3) and (4) */
static __always_inline void aca_estimate(struct aca *ca, u64 bytes, u64 rtt_us, u64 interval_us)
{
	u64 bw = (ca->bw * rtt_us + (bytes << ACA_BW_SHIFT)) / (rtt_us + interval_us);

	bw = min(bw, ACA_MAX_BW);
	ca->interval_us = interval_us;
	ca->bw = (alpha * ca->bw + (ACA_UNIT - alpha) * bw) / ACA_UNIT;
}

/*
 * (5), to the nearest packet: the divisions of (3) and (4) round down, so that BW settles a few thousandths of a
 * percent below its fixed point, where rounding down once more would always lose a packet.
 */
static __always_inline void aca_set_essthresh(struct aca *ca, const struct tcp_sock *tp, u64 rtt_us)
{
	u32 mss = max(tp->mss_cache, 1U);
	u64 pkts = ((ca->bw * rtt_us >> ACA_BW_SHIFT) + mss / 2) / mss;

	pkts = max(pkts, (u64)min_essthresh);
	ca->essthresh_pkts = min(pkts, ACA_MAX_ESSTHRESH);
}

static __always_inline int aca_reducing(const struct sock *sk)
{
	u8 state = cc_ca_state(sk);

	return state == TCP_CA_CWR || state == TCP_CA_Recovery;
}

/* An ACK of an application that leaves the window unused says little about the path. */
static __always_inline int aca_counts(const struct sock *sk)
{
	if (aca_reducing(sk))
		return sample_in_recovery;
	return sample_app_limited || tcp_is_cwnd_limited(tcp_sk(sk));
}

/* One ACK for the estimator. An ACK of nothing new (a duplicate, a window update) is none: T goes on. */
static __always_inline void aca_take_ack(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct aca *ca = inet_csk_ca(sk);
	u64 rtt_us = aca_rtt_us(sk);
	u64 bytes = aca_new_bytes(tp, ca);
	u64 gap_us = tp->tcp_mstamp - ca->last_ack_us;
	u64 interval_us = ca->clock == ACA_RUNNING ? min(gap_us, ACA_MAX_US) : rtt_us;

	if (!bytes || !rtt_us)
		return;
	if (ca->clock != ACA_WAS_IDLE && aca_counts(sk))
		aca_estimate(ca, bytes, rtt_us, interval_us);
	ca->clock = ACA_RUNNING;
	ca->last_ack_us = tp->tcp_mstamp;
	ca->last_delivered = tp->delivered;
	ca->last_una = tp->snd_una;
	if (ca->bw)
		aca_set_essthresh(ca, tp, rtt_us);
}

/* Which threshold rules at this window, and growth towards or beyond it. */
static __always_inline void aca_grow(struct sock *sk, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct aca *ca = inet_csk_ca(sk);

	if (tp->snd_cwnd < low_window)
		tp->snd_ssthresh = ca->reno_ssthresh;
	else if (ca->essthresh_pkts)
		tp->snd_ssthresh = ca->essthresh_pkts;
	ca->phase = aca_phase(tp, ca);
	if (!tcp_is_cwnd_limited(tp))
		return;
	if (cc_slow_start(tp, &acked))
		return;
	tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked);
}

CC_OP(void, aca_init, struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct aca *ca = inet_csk_ca(sk);

	cc_take_over(sk);
	*ca = (struct aca){
	    .last_delivered = tp->delivered,
	    .last_una = tp->snd_una,
	    .reno_ssthresh = TCP_INFINITE_SSTHRESH,
	    .undo_reno_ssthresh = TCP_INFINITE_SSTHRESH,
	    .clock = ACA_NO_ACK_YET,
	};
}

CC_OP(u32, aca_ssthresh, struct sock *sk)
{
	struct aca *ca = inet_csk_ca(sk);

	ca->undo_reno_ssthresh = ca->reno_ssthresh;
	ca->reno_ssthresh = tcp_reno_ssthresh(sk);
	return ca->reno_ssthresh;
}

/* Before the state changes and before cong_avoid, in every state, and with tp->delivered brought up to date. */
CC_OP(void, aca_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct aca *ca = inet_csk_ca(sk);

	if (ca->clock == ACA_BEFORE_INIT)
		return;
	if (sample->rtt_us >= 0)
		ca->rtt_us = max(sample->rtt_us, 1);
	aca_take_ack(sk);
	if (aca_reducing(sk))
		aca_publish(sk);
}

CC_OP(void, aca_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct aca *ca = inet_csk_ca(sk);

	if (ca->clock == ACA_BEFORE_INIT) {
		tcp_reno_cong_avoid(sk, ack, acked);
		return;
	}
	aca_grow(sk, acked);
	aca_publish(sk);
}

CC_OP(void, aca_set_state, struct sock *sk, u8 new_state)
{
	struct aca *ca = inet_csk_ca(sk);

	if (new_state == TCP_CA_Loss)
		ca->after_recovery = 0;
	else if (new_state == TCP_CA_Recovery || new_state == TCP_CA_CWR)
		ca->after_recovery = 1;
}

CC_OP(void, aca_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct aca *ca = inet_csk_ca(sk);

	if (ca->clock == ACA_BEFORE_INIT)
		return;
	if (event == CA_EVENT_LOSS) {
		ca->clock = ACA_NO_ACK_YET;
		if (forget_on_timeout)
			ca->bw = 0;
	} else if (event == CA_EVENT_TX_START && ca->clock == ACA_RUNNING &&
		   tp->tcp_mstamp - ca->last_ack_us > aca_rtt_us(sk)) {
		ca->clock = ACA_WAS_IDLE;
	}
}

CC_OP(u32, aca_undo_cwnd, struct sock *sk)
{
	struct aca *ca = inet_csk_ca(sk);

	ca->reno_ssthresh = max(ca->reno_ssthresh, ca->undo_reno_ssthresh);
	return tcp_reno_undo_cwnd(sk);
}

CC_OPS(aca) = {
    .init = (void *)aca_init,
    .ssthresh = (void *)aca_ssthresh,
    .cong_avoid = (void *)aca_cong_avoid,
    .set_state = (void *)aca_set_state,
    .cwnd_event = (void *)aca_cwnd_event,
    .pkts_acked = (void *)aca_pkts_acked,
    .undo_cwnd = (void *)aca_undo_cwnd,
    .name = "aca",
};
