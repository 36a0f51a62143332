// SPDX-License-Identifier: GPL-2.0
/*
 * Harmful on purpose: Reno that never backs off. It shows what `ccactl evaluate` says of such an algorithm.
 *
 * In a nutshell: the window grows as Reno's does, and a loss leaves it as it is.
 *
 *   slow start      cwnd += packets acked                     while cwnd < ssthresh
 *   avoidance       cwnd += packets acked / cwnd              (+1 per RTT)
 *   loss            nothing
 */
#include "cc.bpf.h"

CC_ALGORITHM("harmful", "loss", "Reno that never backs off: for the evaluation, and for nothing else.", "none");

CC_OP(u32, harmful_ssthresh, struct sock *sk)
{
	return tcp_sk(sk)->snd_cwnd;
}

CC_OP(void, harmful_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	tcp_reno_cong_avoid(sk, ack, acked);
}

CC_OP(u32, harmful_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

CC_OPS(harmful) = {
    .ssthresh = (void *)harmful_ssthresh,
    .cong_avoid = (void *)harmful_cong_avoid,
    .undo_cwnd = (void *)harmful_undo_cwnd,
    .name = "harmful",
};
