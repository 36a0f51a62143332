// SPDX-License-Identifier: GPL-2.0
/*
 * Vegas: Brakmo, Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global Internet", IEEE JSAC
 * 13(8), 1995.
 *
 * In a nutshell: once per round the flow computes how many of its packets wait in a queue, and keeps that
 * number between alpha and beta.
 *
 *   once per round    diff = cwnd * (min RTT - base RTT) / base RTT     packets queued, see vegas.bpf.h
 *   slow start        as Reno while diff <= gamma
 *                     then cwnd = cwnd * base RTT / min RTT + 1, and avoidance
 *   avoidance         diff < alpha             cwnd + 1
 *                     alpha <= diff <= beta    nothing
 *                     diff > beta              cwnd - 1
 *   loss              as Reno; what happens until the state is open again, too
 *
 *                diff > gamma, or ssthresh reached
 *   SLOW_START -----------------------------------> AVOIDANCE
 *
 *                               state no longer open
 *   SLOW_START or AVOIDANCE --------------------------> RENO
 *            (by ssthresh)  <--------------------------
 *                               state open again
 *
 * An idle time forgets the base RTT and begins a new round.
 *
 * As native vegas, step by step. Unlike the paper (and like the module):
 *   - slow start doubles in every round, not in every other one;
 *   - the actual rate is that of the ACKs, and the smallest RTT of the round counts;
 *   - loss detection is the kernel's;
 *   - there is no test whether the flow is limited by cwnd. The diff of a flow that is not is small, and cwnd
 *     grows by one per round.
 * Unlike the module: the product in diff does not wrap (vegas.bpf.h).
 *
 * Read vegas.bpf.h first.
 */
#include "cc.bpf.h"
#include "cc_handover.bpf.h"
#include "vegas.bpf.h"

CC_ALGORITHM("vegas", "delay",
	     "Keeps two to four packets queued, by comparing the RTT of a round with the lowest one ever.",
	     "Brakmo, Peterson 1995; net/ipv4/tcp_vegas.c");
CC_COLOR("#117733");
CC_TRACE_V0("diff_pkts", "packets queued, as of the last round: window * (RTT - base RTT) / base RTT");
CC_TRACE_V1("target_pkts", "window that would leave the queue empty");

CC_TUNABLE(u32, alpha, 2, 0, 1000000, "packets", "with fewer packets queued the window grows", "net/ipv4/tcp_vegas.c");
CC_TUNABLE(u32, beta, 4, 0, 1000000, "packets", "with more packets queued the window shrinks", "net/ipv4/tcp_vegas.c");
CC_TUNABLE(u32, gamma, 1, 0, 1000000, "packets", "with more packets queued slow start ends", "net/ipv4/tcp_vegas.c");

/* reno: until the state is open again */
CC_MODES(vegas_mode, VEGAS_SLOW_START, VEGAS_AVOIDANCE, VEGAS_RENO);

struct vegas {
	struct vegas_rtt rtt;
	u32 diff_pkts; /* of the last decision, for the trace */
	u32 target_pkts;
};
CC_PRIV_FITS(struct vegas);

static __always_inline void vegas_publish(struct sock *sk)
{
	struct cca_trace *trace = cc_trace(sk);
	const struct vegas *vegas = inet_csk_ca(sk);

	if (!trace)
		return;
	if (!vegas->rtt.enabled)
		trace->mode = VEGAS_RENO;
	else
		trace->mode = tcp_in_slow_start(tcp_sk(sk)) ? VEGAS_SLOW_START : VEGAS_AVOIDANCE;
	trace->min_rtt_us = vegas_published_base_us(&vegas->rtt);
	trace->v0 = vegas->diff_pkts;
	trace->v1 = vegas->target_pkts;
	cc_trace_done(trace);
}

/* The decision of a round with enough samples. */
static __always_inline void vegas_decide(struct sock *sk, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct vegas *vegas = inet_csk_ca(sk);
	u32 cwnd = tp->snd_cwnd;

	vegas->diff_pkts = vegas_diff_pkts(&vegas->rtt, cwnd);
	vegas->target_pkts = vegas_target_pkts(&vegas->rtt, cwnd);
	if (tcp_in_slow_start(tp)) {
		cwnd = vegas_slow_start_cwnd(tp, &vegas->rtt, vegas->diff_pkts, gamma, acked);
	} else if (vegas->diff_pkts > beta) {
		cwnd--;
		tp->snd_ssthresh = min(tp->snd_ssthresh, cwnd);
	} else if (vegas->diff_pkts < alpha) {
		cwnd++;
	}
	vegas_set_cwnd(sk, cwnd);
}

CC_OP(void, vegas_init, struct sock *sk)
{
	struct vegas *vegas = inet_csk_ca(sk);

	cc_take_over(sk);
	*vegas = (struct vegas){0};
	vegas_rtt_init(&vegas->rtt, tcp_sk(sk));
}

CC_OP(u32, vegas_ssthresh, struct sock *sk)
{
	return tcp_reno_ssthresh(sk);
}

CC_OP(void, vegas_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct vegas *vegas = inet_csk_ca(sk);

	if (vegas_ack(sk, &vegas->rtt, ack, acked) == VEGAS_ROUND_DECIDE) {
		vegas_decide(sk, acked);
		vegas_next_round(&vegas->rtt, tcp_sk(sk));
	}
	vegas_publish(sk);
}

CC_OP(void, vegas_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct vegas *vegas = inet_csk_ca(sk);

	vegas_rtt_sample(&vegas->rtt, sample->rtt_us);
}

CC_OP(void, vegas_set_state, struct sock *sk, u8 new_state)
{
	struct vegas *vegas = inet_csk_ca(sk);

	vegas_rtt_set_state(&vegas->rtt, tcp_sk(sk), new_state);
}

CC_OP(void, vegas_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct vegas *vegas = inet_csk_ca(sk);

	if (vegas_is_restart(event))
		vegas_rtt_init(&vegas->rtt, tcp_sk(sk));
}

CC_OP(u32, vegas_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

CC_OPS(bpf_vegas) = {
    .init = (void *)vegas_init,
    .ssthresh = (void *)vegas_ssthresh,
    .cong_avoid = (void *)vegas_cong_avoid,
    .pkts_acked = (void *)vegas_pkts_acked,
    .set_state = (void *)vegas_set_state,
    .cwnd_event = (void *)vegas_cwnd_event,
    .undo_cwnd = (void *)vegas_undo_cwnd,
    .name = "bpf_vegas",
};
