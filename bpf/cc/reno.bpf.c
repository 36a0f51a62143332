// SPDX-License-Identifier: GPL-2.0
/*
 * Reno with NewReno recovery: RFC 5681, RFC 6582.
 *
 * In a nutshell: the window grows by what is acknowledged up to ssthresh, by a packet per RTT above, and a loss
 * halves it.
 *
 *   slow start      cwnd += packets acked                     while cwnd < ssthresh
 *   avoidance       cwnd += packets acked / cwnd              (+1 per RTT)
 *   loss            ssthresh = max(cwnd / 2, 2)
 *
 *                cwnd >= ssthresh
 *   SLOW_START -------------------> AVOIDANCE
 *              <-------------------
 *                timeout, idle time: the kernel sets cwnd below ssthresh
 *
 * Unlike the RFCs, and as native reno, growth counts packets, not ACKs, so delayed ACKs do not halve it (RFC
 * 3465 with L = infinity). A loss halves cwnd rather than FlightSize. Recovery itself (PRR, partial ACKs) is
 * the kernel's.
 */
#include "cc.bpf.h"
#include "cc_handover.bpf.h"

CC_ALGORITHM("reno", "loss", "Additive increase, halving on loss: the baseline of every comparison.",
	     "RFC 5681, RFC 6582; net/ipv4/tcp_cong.c");
CC_COLOR("#777777");

CC_MODES(reno_mode, RENO_SLOW_START, RENO_AVOIDANCE);

static __always_inline void reno_publish(struct sock *sk)
{
	struct cca_trace *trace = cc_trace(sk);

	if (!trace)
		return;
	trace->mode = tcp_in_slow_start(tcp_sk(sk)) ? RENO_SLOW_START : RENO_AVOIDANCE;
	cc_trace_done(trace);
}

CC_OP(void, reno_init, struct sock *sk)
{
	cc_take_over(sk);
}

CC_OP(u32, reno_ssthresh, struct sock *sk)
{
	return tcp_reno_ssthresh(sk);
}

/* Does nothing unless the flow is cwnd-limited: the kfunc makes that test. */
CC_OP(void, reno_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	tcp_reno_cong_avoid(sk, ack, acked);
	reno_publish(sk);
}

CC_OP(u32, reno_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

CC_OPS(bpf_reno) = {
    .init = (void *)reno_init,
    .ssthresh = (void *)reno_ssthresh,
    .cong_avoid = (void *)reno_cong_avoid,
    .undo_cwnd = (void *)reno_undo_cwnd,
    .name = "bpf_reno",
};
