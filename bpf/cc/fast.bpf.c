// SPDX-License-Identifier: GPL-2.0
/*
 * FAST TCP: Jin, Wei, Low, "FAST TCP: Motivation, Architecture, Algorithms, Performance", INFOCOM 2004; Wei,
 * Jin, Low, Hegde, IEEE/ACM ToN 14(6), 2006. There is no native module.
 *
 * In a nutshell: every other RTT the window moves towards the one with alpha packets in the queue.
 *
 *   w <- min(2 w, (1 - gamma) w + gamma (baseRTT / RTT * w + alpha))          every other RTT
 *   RTT <- (1 - eta) RTT + eta * sample
 *   eta = min(3 / w, 1/4)
 *   baseRTT = the smallest sample
 *
 * At rest w (1 - baseRTT / RTT) = alpha: every flow keeps alpha packets in the queue, whatever its RTT.
 *
 *                mi_threshold of alpha waits, or a loss
 *   SLOW_START ----------------------------------------> INCREASE or DECREASE: by the step of the last update
 *              <----------------------------------------
 *                timeout, idle time: cwnd below ssthresh
 *
 * Slow start ends as soon as more than mi_threshold of alpha waits, by the smallest RTT of a round that has
 * given 8 samples. HyStart's delay test does the same: the burst of a doubled window queues below the
 * bandwidth-delay product too, its first packets do not. The price is a window of up to 4 BDP, or a loss,
 * before it ends. Loss is Reno's.
 *
 * Own readings where the papers leave it open:
 *   - The step of an update is spread over the packets acknowledged in the next RTT, which has the effect of
 *     the prototype's burst control with cong_avoid alone. Pacing is left to the kernel. w has 8 bits of
 *     fraction, or the last half packet would never be reached.
 *   - alpha is 20 packets: the prototype's value for 10 to 100 Mbit/s. On 100 Mbit/s and 10 ms (83 packets)
 *     it costs 2.4 ms of queue and half a buffer of a BDP. The value beyond 100 Mbit/s, 200, would be 24 ms
 *     and overflow buffers below 2.4 BDP. alpha = 0 is the prototype's table: 8, 20, 200 below 10, below 100,
 *     from 100 Mbit/s on, by w / RTT at each update.
 *   - An idle period forgets RTT and keeps baseRTT. Nothing is updated while the flow is not limited by cwnd.
 * As in the papers, a baseRTT measured over a standing queue is too large and costs others that much, and a
 * path that has become longer is never noticed.
 */
#include "cc.bpf.h"
#include "cc_handover.bpf.h"

CC_ALGORITHM("fast", "delay",
	     "Steers the window to a fixed number of packets in the queue, by steps that shrink near the goal.",
	     "Jin, Wei, Low 2004; Wei, Jin, Low, Hegde 2006");
CC_COLOR("#EE6677");
CC_TRACE_V0("queue_pkts", "packets of the window that wait, by the RTT of the last update");
CC_TRACE_V1("avg_rtt_us", "averaged RTT");

#define FAST_W_SHIFT     8          /* fraction bits of the window */
#define FAST_RTT_SHIFT   10         /* fraction bits of the averaged RTT: eta may fall far below 1 */
#define FAST_RATIO_SHIFT 4          /* of them those that count in baseRTT / RTT */
#define FAST_MIN_CWND    2U         /* packets */
#define FAST_MAX_CWND    (1U << 24) /* packets, 24 GB: 32 bits with the fraction, */
#define FAST_RTT_MAX_US  (1U << 27) /* 134 s: and 31 bits for an RTT, so that their product fits into 64 */
#define FAST_MIN_SAMPLES 8U
#define FAST_ETA_NUM     3U /* eta = min(3 / w, 1 / 4) */
#define FAST_ETA_DEN     4U

/* The prototype's table: rates in Mbit/s and packets. */
#define FAST_MEDIUM_BPS   10000000ULL
#define FAST_HIGH_BPS     100000000ULL
#define FAST_ALPHA_LOW    8U
#define FAST_ALPHA_MEDIUM 20U
#define FAST_ALPHA_HIGH   200U

CC_TUNABLE(u32, alpha, 20, 0, 100000, "packets",
	   "packets that the flow keeps in the queue; 0 = 8, 20 or 200 by its rate", "Wei, Jin, Low, Hegde 2006");
CC_GAIN(u32, gamma, 500, 1, 1000, "part of the way to the law's window that an update goes",
	"Wei, Jin, Low, Hegde 2006");
CC_TUNABLE(u32, update_rtts, 2, 1, 100, "RTTs", "RTTs from one update to the next", "Wei, Jin, Low, Hegde 2006");
CC_GAIN(u32, mi_threshold, 500, 0, 100000, "part of alpha whose queueing ends slow start", "Wei, Jin, Low, Hegde 2006");

/* increase: by the last update */
CC_MODES(fast_mode, FAST_SLOW_START, FAST_INCREASE, FAST_DECREASE);

/* All zero is a valid state: the callbacks may run before init. */
struct fast {
	u64 avg_rtt;      /* us << FAST_RTT_SHIFT, 0 = no sample */
	u64 w;            /* window, packets << FAST_W_SHIFT */
	u64 from;         /* window at the last update; 0 = none yet, or cwnd has been moved by others since */
	u64 to;           /* window that it leads to */
	u32 base_rtt_us;  /* 0 = no sample */
	u32 round_rtt_us; /* smallest of this round */
	u32 end_seq;      /* the round ends when more than this is acknowledged */
	u32 acked_pkts;   /* since the last update */
	u32 written_cwnd; /* by us: another value means that the kernel has moved it */
	u32 queue_pkts;   /* at the last update: for the trace */
	u32 round_samples;
	u32 rounds; /* since the last update */
};
CC_PRIV_FITS(struct fast);

static __always_inline u32 fast_avg_rtt_us(const struct fast *ca)
{
	return ca->avg_rtt >> FAST_RTT_SHIFT;
}

static __always_inline void fast_publish(struct sock *sk)
{
	struct cca_trace *trace = cc_trace(sk);
	const struct fast *ca = inet_csk_ca(sk);

	if (!trace)
		return;
	if (tcp_in_slow_start(tcp_sk(sk)))
		trace->mode = FAST_SLOW_START;
	else
		trace->mode = ca->to >= ca->from ? FAST_INCREASE : FAST_DECREASE;
	trace->min_rtt_us = ca->base_rtt_us;
	trace->v0 = ca->queue_pkts;
	trace->v1 = fast_avg_rtt_us(ca);
	cc_trace_done(trace);
}

static __always_inline void fast_new_round(const struct tcp_sock *tp, struct fast *ca)
{
	ca->end_seq = tp->snd_nxt;
	ca->round_samples = 0;
}

/* baseRTT and RTT as the law divides them, us << FAST_RATIO_SHIFT. */
static __always_inline u64 fast_base_rtt(const struct fast *ca)
{
	return (u64)ca->base_rtt_us << FAST_RATIO_SHIFT;
}

static __always_inline u64 fast_rtt(const struct fast *ca)
{
	u64 rtt = ca->avg_rtt >> (FAST_RTT_SHIFT - FAST_RATIO_SHIFT);

	return max(rtt, fast_base_rtt(ca));
}

/* Packets of a window that wait at an RTT of rtt >= baseRTT. */
static __always_inline u32 fast_queue_pkts(const struct fast *ca, u32 cwnd, u64 rtt)
{
	return rtt ? cwnd * (rtt - fast_base_rtt(ca)) / rtt : 0;
}

static __always_inline u32 fast_alpha(const struct tcp_sock *tp, const struct fast *ca)
{
	u64 rate_bps;

	if (alpha)
		return alpha;
	rate_bps = cc_bps(min(tp->snd_cwnd, FAST_MAX_CWND), min(tp->mss_cache, 0xffffU), fast_avg_rtt_us(ca));
	if (rate_bps < FAST_MEDIUM_BPS)
		return FAST_ALPHA_LOW;
	return rate_bps < FAST_HIGH_BPS ? FAST_ALPHA_MEDIUM : FAST_ALPHA_HIGH;
}

/* The law, from the window as it is. */
static __always_inline void fast_update(const struct tcp_sock *tp, struct fast *ca)
{
	u64 rtt = fast_rtt(ca);
	u64 target, next;

	if (!rtt)
		return;
	if (!ca->from)
		ca->w = (u64)min(tp->snd_cwnd, FAST_MAX_CWND) << FAST_W_SHIFT;
	target = ca->w * fast_base_rtt(ca) / rtt + ((u64)fast_alpha(tp, ca) << FAST_W_SHIFT);
	next = ((1000 - gamma) * ca->w + gamma * target) / 1000;
	next = min(next, 2 * ca->w);
	ca->queue_pkts = fast_queue_pkts(ca, tp->snd_cwnd, rtt);
	ca->from = ca->w;
	ca->to = clamp(next, (u64)FAST_MIN_CWND << FAST_W_SHIFT, (u64)FAST_MAX_CWND << FAST_W_SHIFT);
	ca->acked_pkts = 0;
	ca->rounds = 0;
}

/* Goes on along the step by what has been acknowledged: at its end after one window. */
static __always_inline void fast_follow(struct tcp_sock *tp, struct fast *ca, u32 acked)
{
	u64 window_pkts = max(ca->from >> FAST_W_SHIFT, 1ULL);
	u32 cwnd;

	ca->acked_pkts = min((u64)ca->acked_pkts + acked, window_pkts);
	if (ca->to >= ca->from)
		ca->w = ca->from + (ca->to - ca->from) * ca->acked_pkts / window_pkts;
	else
		ca->w = ca->from - (ca->from - ca->to) * ca->acked_pkts / window_pkts;
	cwnd = ca->w >> FAST_W_SHIFT;
	cwnd = min(cwnd, tp->snd_cwnd_clamp);
	tp->snd_cwnd = max(cwnd, FAST_MIN_CWND);
	ca->written_cwnd = tp->snd_cwnd;
	/* The law's own decrease is not a reason for slow start. */
	tp->snd_ssthresh = min(tp->snd_ssthresh, tp->snd_cwnd);
}

/* Once per ACK outside of slow start. */
static __always_inline void fast_avoid(struct tcp_sock *tp, struct fast *ca, u32 acked, int round_over)
{
	/* PRR, an undo or an idle period has moved cwnd: a new step from there. */
	if (ca->written_cwnd != tp->snd_cwnd)
		ca->from = 0;
	if (round_over) {
		ca->rounds++;
		if (!ca->from || ca->rounds >= update_rtts)
			fast_update(tp, ca);
	}
	if (ca->from)
		fast_follow(tp, ca, acked);
	ca->written_cwnd = tp->snd_cwnd;
}

/* As Reno's, until the queue says that the pipe is full. */
static __always_inline void fast_slow_start(struct tcp_sock *tp, struct fast *ca, u32 acked)
{
	u64 round_rtt = (u64)ca->round_rtt_us << FAST_RATIO_SHIFT;
	u32 limit_pkts = (u64)fast_alpha(tp, ca) * mi_threshold / 1000;

	ca->from = 0;
	if (ca->round_samples >= FAST_MIN_SAMPLES) {
		ca->queue_pkts = fast_queue_pkts(ca, tp->snd_cwnd, round_rtt);
		if (ca->queue_pkts > limit_pkts) {
			tp->snd_ssthresh = tp->snd_cwnd;
			return;
		}
	}
	tcp_slow_start(tp, acked);
}

static __always_inline void fast_control(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct fast *ca = inet_csk_ca(sk);
	int round_over = after(ack, ca->end_seq);

	if (!ca->avg_rtt) {
		tcp_reno_cong_avoid(sk, ack, acked);
		return;
	}
	/* A window that is not used says nothing about the queue that it would cause. */
	if (tcp_is_cwnd_limited(tp)) {
		if (tcp_in_slow_start(tp))
			fast_slow_start(tp, ca, acked);
		else
			fast_avoid(tp, ca, acked, round_over);
	}
	if (round_over)
		fast_new_round(tp, ca);
}

/* eta = min(3 n / w, 1/4) for an ACK of n packets: each of them is a sample to the paper. */
static __always_inline void fast_average_rtt(const struct tcp_sock *tp, struct fast *ca, u32 rtt_us, u32 pkts)
{
	u64 sample = (u64)rtt_us << FAST_RTT_SHIFT;
	u64 num = (u64)FAST_ETA_NUM * max(pkts, 1U);
	u64 den = tp->snd_cwnd;

	if (num * FAST_ETA_DEN >= den) {
		num = 1;
		den = FAST_ETA_DEN;
	}
	if (!ca->avg_rtt)
		ca->avg_rtt = sample;
	else if (sample >= ca->avg_rtt)
		ca->avg_rtt += (sample - ca->avg_rtt) * num / den;
	else
		ca->avg_rtt -= (ca->avg_rtt - sample) * num / den;
}

CC_OP(void, fast_init, struct sock *sk)
{
	struct fast *ca = inet_csk_ca(sk);

	cc_take_over(sk);
	*ca = (struct fast){.base_rtt_us = cc_inherited_min_rtt_us(tcp_sk(sk))};
	fast_new_round(tcp_sk(sk), ca);
}

CC_OP(void, fast_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct fast *ca = inet_csk_ca(sk);
	u32 rtt_us;

	if (sample->rtt_us < 0)
		return;
	rtt_us = clamp((u32)sample->rtt_us, 1U, FAST_RTT_MAX_US);
	if (!ca->base_rtt_us || rtt_us < ca->base_rtt_us)
		ca->base_rtt_us = rtt_us;
	if (!ca->round_samples || rtt_us < ca->round_rtt_us)
		ca->round_rtt_us = rtt_us;
	if (ca->round_samples < FAST_MIN_SAMPLES)
		ca->round_samples++;
	fast_average_rtt(tcp_sk(sk), ca, rtt_us, sample->pkts_acked);
}

CC_OP(void, fast_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	fast_control(sk, ack, acked);
	fast_publish(sk);
}

/* What was in the queue before a loss or a pause is no longer there. */
CC_OP(void, fast_set_state, struct sock *sk, u8 new_state)
{
	struct fast *ca = inet_csk_ca(sk);

	if (new_state < TCP_CA_CWR)
		return;
	ca->from = 0;
	fast_new_round(tcp_sk(sk), ca);
}

CC_OP(void, fast_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct fast *ca = inet_csk_ca(sk);

	if (event != CA_EVENT_TX_START && event != CA_EVENT_CWND_RESTART)
		return;
	ca->avg_rtt = 0;
	ca->from = 0;
	fast_new_round(tcp_sk(sk), ca);
}

CC_OP(u32, fast_ssthresh, struct sock *sk)
{
	return tcp_reno_ssthresh(sk);
}

CC_OP(u32, fast_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

CC_OPS(fast) = {
    .init = (void *)fast_init,
    .ssthresh = (void *)fast_ssthresh,
    .cong_avoid = (void *)fast_cong_avoid,
    .set_state = (void *)fast_set_state,
    .cwnd_event = (void *)fast_cwnd_event,
    .pkts_acked = (void *)fast_pkts_acked,
    .undo_cwnd = (void *)fast_undo_cwnd,
    .name = "fast",
};
