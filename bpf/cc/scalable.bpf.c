// SPDX-License-Identifier: GPL-2.0
/*
 * Scalable TCP: Kelly, "Scalable TCP: Improving Performance in Highspeed Wide Area Networks", ACM CCR 33(2),
 * 2003.
 *
 * In a nutshell: the window grows by 1 % per RTT and gives up an eighth on loss.
 *
 *   slow start      cwnd += packets acked                      while cwnd < ssthresh
 *   avoidance       cwnd += 0.01 per packet acked              (1 % per RTT, whatever the window)
 *                   cwnd += packets acked / cwnd               below 100 packets, where that is the faster one
 *   loss            ssthresh = max(cwnd - cwnd / 8, 2)
 *
 *                cwnd >= ssthresh         cwnd >= ai_cnt
 *   SLOW_START -------------------> RENO ----------------> PROPORTIONAL
 *                                        <----------------
 *                                         cwnd < ai_cnt
 *   SLOW_START -- cwnd >= ssthresh >= ai_cnt --> PROPORTIONAL
 *   RENO, PROPORTIONAL -- timeout, idle time: cwnd below ssthresh --> SLOW_START
 *
 * So the time to recover from a loss does not depend on the window: ln(8 / 7) / ln(1.01) = 13.4 RTTs.
 *
 * As native scalable of Linux 5.10 and later, step by step. Earlier ones took 50 instead of 100 packets and
 * counted ACKs, so that delayed ACKs gave the paper's rate. ai_cnt = 50 has their growth for a receiver that
 * acknowledges each packet. Unlike the paper: growth as Reno's below 100 packets instead of below the legacy
 * window of 16, a decrease rounded in favour of the window, recovery by PRR.
 */
#include "cc.bpf.h"
#include "cc_handover.bpf.h"

CC_ALGORITHM("scalable", "loss",
	     "Grows by 1 % per round trip and gives up an eighth on loss, so recovery takes the same time at any rate.",
	     "Kelly 2003; net/ipv4/tcp_scalable.c");
CC_COLOR("#DDAA33");

#define SCALABLE_MIN_CWND 2U /* packets, RFC 5681 section 3.1 */

CC_TUNABLE(u32, ai_cnt, 100, 1, 1000000, "packets", "packets acknowledged per packet that the window grows: 1/a",
	   "Kelly 2003; net/ipv4/tcp_scalable.c");
CC_TUNABLE(u32, md_shift, 3, 1, 16, "", "a loss takes the 2^md_shift-th part of the window: b",
	   "Kelly 2003; net/ipv4/tcp_scalable.c");

/* reno: a packet per window, because the window is smaller than ai_cnt */
CC_MODES(scalable_mode, SCALABLE_SLOW_START, SCALABLE_RENO, SCALABLE_PROPORTIONAL);

static __always_inline enum scalable_mode scalable_mode(const struct tcp_sock *tp)
{
	if (tcp_in_slow_start(tp))
		return SCALABLE_SLOW_START;
	return tp->snd_cwnd < ai_cnt ? SCALABLE_RENO : SCALABLE_PROPORTIONAL;
}

static __always_inline void scalable_publish(struct sock *sk)
{
	struct cca_trace *trace = cc_trace(sk);

	if (!trace)
		return;
	trace->mode = scalable_mode(tcp_sk(sk));
	cc_trace_done(trace);
}

static __always_inline void scalable_grow(struct tcp_sock *tp, u32 acked)
{
	if (!tcp_is_cwnd_limited(tp))
		return;
	if (cc_slow_start(tp, &acked))
		return;
	tcp_cong_avoid_ai(tp, min(tp->snd_cwnd, ai_cnt), acked);
}

CC_OP(void, scalable_init, struct sock *sk)
{
	cc_take_over(sk);
}

CC_OP(u32, scalable_ssthresh, struct sock *sk)
{
	u32 cwnd = tcp_sk(sk)->snd_cwnd;
	u32 kept = cwnd - (cwnd >> md_shift);

	return max(kept, SCALABLE_MIN_CWND);
}

CC_OP(void, scalable_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	scalable_grow(tcp_sk(sk), acked);
	scalable_publish(sk);
}

CC_OP(u32, scalable_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

CC_OPS(bpf_scalable) = {
    .init = (void *)scalable_init,
    .ssthresh = (void *)scalable_ssthresh,
    .cong_avoid = (void *)scalable_cong_avoid,
    .undo_cwnd = (void *)scalable_undo_cwnd,
    .name = "bpf_scalable",
};
