/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the descendants of Vegas share: RTT samples of a round, and the queue that follows from them. The
 * module net/ipv4/tcp_vegas.c gives the same functions to tcp_yeah.c; Veno keeps the same two minima.
 *
 *   base RTT   lowest sample since init or the last restart from idle: stands for the propagation delay
 *   min RTT    lowest sample of the round: propagation and queueing, rid of most of the noise of delayed ACKs
 *   queue      diff = cwnd * (min RTT - base RTT) / base RTT: packets in the network beyond what the path holds
 *
 * A round ends with the first ACK for data beyond what had been sent when it began. Samples are kept one
 * microsecond too large, so that none is 0.
 *
 * Read this file, then vegas.bpf.c, the shortest user of all of it. Then each descendant by itself: vegas-a
 * and new-vegas (the same rounds and vegas_ack()), yeah and compound (rounds, but their own growth), veno
 * (the minima only).
 */
#ifndef CCACTL_VEGAS_BPF_H
#define CCACTL_VEGAS_BPF_H

#include "cc.bpf.h"
#include "cc_handover.bpf.h"

#define VEGAS_NO_RTT      0x7fffffffU /* no sample */
#define VEGAS_MIN_SAMPLES 3           /* of a round: with fewer, all of them may come from delayed ACKs */
#define VEGAS_MIN_CWND    2U          /* packets */

/* All zero is valid, and means: switched off, no sample. */
struct vegas_rtt {
	u32 round_end_seq;
	u32 base_rtt_us;
	u32 min_rtt_us; /* of the round */
	u16 samples;    /* of the round; 16 bits as in the native modules */
	u8 enabled;     /* 0 = recovering: Reno instead, until the state is open again */
	u8 pad;
};

static __always_inline void vegas_new_samples(struct vegas_rtt *v)
{
	v->samples = 0;
	v->min_rtt_us = VEGAS_NO_RTT;
}

/* The next decision is due when a whole window sent from now on has been acknowledged. */
static __always_inline void vegas_enable(struct vegas_rtt *v, const struct tcp_sock *tp)
{
	v->enabled = 1;
	v->round_end_seq = tp->snd_nxt;
	vegas_new_samples(v);
}

static __always_inline void vegas_rtt_init(struct vegas_rtt *v, const struct tcp_sock *tp)
{
	*v = (struct vegas_rtt){.base_rtt_us = VEGAS_NO_RTT};
	vegas_enable(v, tp);
}

/*
 * For the init() of those that have no native module to agree with: in mid-connection a predecessor may have a queue
 * standing, which samples from now on would take for part of the base RTT and keep.
 */
static __always_inline void vegas_rtt_take_over(struct vegas_rtt *v, const struct tcp_sock *tp)
{
	u32 min_rtt_us = cc_inherited_min_rtt_us(tp);

	if (min_rtt_us && min_rtt_us < VEGAS_NO_RTT)
		v->base_rtt_us = min_rtt_us + 1;
}

static __always_inline void vegas_rtt_set_state(struct vegas_rtt *v, const struct tcp_sock *tp, u8 new_state)
{
	if (new_state == TCP_CA_Open)
		vegas_enable(v, tp);
	else
		v->enabled = 0;
}

/* The events after which the path may be another one: the base RTT is forgotten. */
static __always_inline int vegas_is_restart(enum tcp_ca_event event)
{
	return event == CA_EVENT_CWND_RESTART || event == CA_EVENT_TX_START;
}

static __always_inline void vegas_rtt_sample(struct vegas_rtt *v, s32 rtt_us)
{
	u32 kept_us = (u32)rtt_us + 1;

	if (rtt_us < 0)
		return;
	v->base_rtt_us = min(v->base_rtt_us, kept_us);
	v->min_rtt_us = min(v->min_rtt_us, kept_us);
	v->samples++;
}

static __always_inline int vegas_round_over(const struct vegas_rtt *v, u32 ack)
{
	return after(ack, v->round_end_seq);
}

static __always_inline void vegas_next_round(struct vegas_rtt *v, const struct tcp_sock *tp)
{
	v->round_end_seq = tp->snd_nxt;
	vegas_new_samples(v);
}

/* Never without samples: both minima are then set, and the smaller one is not 0. */
static __always_inline int vegas_has_samples(const struct vegas_rtt *v)
{
	return v->samples >= VEGAS_MIN_SAMPLES && v->base_rtt_us && v->min_rtt_us >= v->base_rtt_us;
}

/* The window that would fill the path and no queue: measured rate * base RTT. */
static __always_inline u32 vegas_target_pkts(const struct vegas_rtt *v, u32 cwnd)
{
	return v->min_rtt_us ? (u64)cwnd * v->base_rtt_us / v->min_rtt_us : cwnd;
}

/* "Diff" of the Vegas papers. The native module multiplies in 32 bits, which wrap above 4295 packet seconds. */
static __always_inline u32 vegas_diff_pkts(const struct vegas_rtt *v, u32 cwnd)
{
	u64 diff_pkts;

	if (!v->base_rtt_us || v->min_rtt_us < v->base_rtt_us)
		return 0;
	diff_pkts = (u64)cwnd * (v->min_rtt_us - v->base_rtt_us) / v->base_rtt_us;
	return min(diff_pkts, (u64)(u32)~0U);
}

/* tcp_current_ssthresh(), include/net/tcp.h: not much below a window that has been grown into. */
static __always_inline u32 vegas_current_ssthresh(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u8 state = cc_ca_state(sk);
	u32 three_quarters = (tp->snd_cwnd >> 1) + (tp->snd_cwnd >> 2);

	if (state == TCP_CA_CWR || state == TCP_CA_Recovery)
		return tp->snd_ssthresh;
	return max(tp->snd_ssthresh, three_quarters);
}

/* At least two packets, at most what the socket may use. */
static __always_inline u32 vegas_bounded_cwnd(const struct tcp_sock *tp, u32 cwnd)
{
	return cwnd < VEGAS_MIN_CWND ? VEGAS_MIN_CWND : min(cwnd, tp->snd_cwnd_clamp);
}

enum vegas_round {
	VEGAS_ROUND_RUNS,
	VEGAS_ROUND_DECIDE,  /* over: the caller decides and calls vegas_next_round() */
	VEGAS_ROUND_SKIPPED, /* over without enough samples: the next one has begun */
};

/* What Vegas does with an ACK, but for the decision at the end of a round. */
static __always_inline enum vegas_round vegas_ack(struct sock *sk, struct vegas_rtt *v, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!v->enabled) {
		tcp_reno_cong_avoid(sk, ack, acked);
		return VEGAS_ROUND_RUNS;
	}
	if (!vegas_round_over(v, ack)) {
		if (tcp_in_slow_start(tp))
			tcp_slow_start(tp, acked);
		return VEGAS_ROUND_RUNS;
	}
	if (vegas_has_samples(v))
		return VEGAS_ROUND_DECIDE;
	tcp_reno_cong_avoid(sk, ack, acked);
	vegas_next_round(v, tp);
	return VEGAS_ROUND_SKIPPED;
}

/* The window after a round of slow start, which ends with more than gamma packets queued. */
static __always_inline u32 vegas_slow_start_cwnd(struct tcp_sock *tp, const struct vegas_rtt *v, u32 diff_pkts,
						 u32 gamma_pkts, u32 acked)
{
	u32 cwnd;

	if (diff_pkts <= gamma_pkts) {
		tcp_slow_start(tp, acked);
		return tp->snd_cwnd;
	}
	/* One more than the path holds: the division has rounded down. */
	cwnd = min(tp->snd_cwnd, vegas_target_pkts(v, tp->snd_cwnd) + 1);
	tp->snd_ssthresh = min(tp->snd_ssthresh, cwnd);
	return cwnd;
}

/* Writes the window that a decision has come to. */
static __always_inline void vegas_set_cwnd(struct sock *sk, u32 cwnd)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tp->snd_cwnd = vegas_bounded_cwnd(tp, cwnd);
	tp->snd_ssthresh = vegas_current_ssthresh(sk);
}

/* The base RTT for the trace, as it was measured; 0 = none. */
static __always_inline u32 vegas_published_base_us(const struct vegas_rtt *v)
{
	return v->base_rtt_us && v->base_rtt_us != VEGAS_NO_RTT ? v->base_rtt_us - 1 : 0;
}

#endif /* CCACTL_VEGAS_BPF_H */
