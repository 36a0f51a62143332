// SPDX-License-Identifier: GPL-2.0
/*
 * Useless on purpose: four packets per round trip, whatever the path. It shows what `ccactl evaluate` says of
 * such an algorithm.
 *
 * In a nutshell: the window is four packets, before and after a loss.
 */
#include "cc.bpf.h"

CC_ALGORITHM("useless", "loss", "A window of four packets: for the evaluation, and for nothing else.", "none");

#define USELESS_CWND 4

CC_OP(void, useless_init, struct sock *sk)
{
	tcp_sk(sk)->snd_cwnd = USELESS_CWND;
}

CC_OP(u32, useless_ssthresh, struct sock *sk)
{
	return USELESS_CWND;
}

CC_OP(void, useless_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	tcp_sk(sk)->snd_cwnd = USELESS_CWND;
}

CC_OP(u32, useless_undo_cwnd, struct sock *sk)
{
	return USELESS_CWND;
}

CC_OPS(useless) = {
    .init = (void *)useless_init,
    .ssthresh = (void *)useless_ssthresh,
    .cong_avoid = (void *)useless_cong_avoid,
    .undo_cwnd = (void *)useless_undo_cwnd,
    .name = "useless",
};
