// SPDX-License-Identifier: GPL-2.0
/*
 * Vegas-A: Srijith, Jacob, Ananda, "TCP Vegas-A: Improving the Performance of TCP Vegas", Computer
 * Communications 28(4), 2005.
 *
 * In a nutshell: Vegas whose thresholds move, by comparing the throughput of a round with that of the round
 * before.
 *
 *   once per round in avoidance, Th = packets delivered in the round / min RTT:
 *
 *   alpha <= diff <= beta    Th rose              cwnd + 1, alpha + 1, beta + 1
 *                            otherwise            nothing
 *   diff < alpha             alpha = 1            cwnd + 1
 *                            Th rose              cwnd + 1
 *                            otherwise            cwnd - 1, alpha - 1, beta - 1
 *   diff > beta              alpha > 1            cwnd - 1, alpha - 1, beta - 1
 *                            otherwise            cwnd - 1
 *
 *                diff > gamma, or ssthresh reached
 *   SLOW_START -----------------------------------> STAY, then by the last decision: UP, STAY, DOWN
 *              <-----------------------------------
 *                cwnd below ssthresh
 *
 *                  state no longer open
 *   any of them --------------------------> RENO
 *  (as before)  <--------------------------
 *                  state open again
 *
 * At the start alpha = 1, beta = 3. Everything else is Vegas (vegas.bpf.h and vegas.bpf.c): diff, slow start
 * with gamma, rounds, Reno until the state is open again.
 *
 * There is no native module. Own readings where the paper is silent:
 *   - An equal Th has not risen (tunable). The thresholds have an upper bound.
 *   - A timeout leaves the thresholds, as a loss does. A restart from idle, which forgets the base RTT,
 *     resets them.
 *   - Th is counted in delivered packets over the smallest RTT of the round, the same RTT that diff comes
 *     from.
 *
 * Read vegas.bpf.h and vegas.bpf.c first.
 */
#include "cc.bpf.h"
#include "cc_handover.bpf.h"
#include "vegas.bpf.h"

CC_ALGORITHM("vegas-a", "delay",
	     "Vegas with thresholds that rise while more queue brings more throughput, to hold its own beside others.",
	     "Srijith, Jacob, Ananda 2005, TCP Vegas-A");
CC_COLOR("#66CCEE");
CC_TRACE_V0("diff_pkts", "packets queued, as of the last round: window * (RTT - base RTT) / base RTT");
CC_TRACE_V1("alpha_pkts", "lower threshold; the upper one is as far above as at the start");

#define VEGAS_A_ALPHA_MIN 1U /* packets: alpha falls no further */

CC_TUNABLE(u32, alpha, 1, 1, 1000000, "packets", "lower threshold at the start; it never falls below 1",
	   "Srijith, Jacob, Ananda 2005");
CC_TUNABLE(u32, beta, 3, 0, 1000000, "packets", "upper threshold at the start; the distance stays",
	   "Srijith, Jacob, Ananda 2005");
CC_TUNABLE(u32, gamma, 1, 0, 1000000, "packets", "with more packets queued slow start ends",
	   "Srijith, Jacob, Ananda 2005");
CC_TUNABLE(u32, alpha_max, 255, 1, 1000000, "packets", "alpha rises no further", "left open by the paper");
CC_SWITCH(u32, equal_is_rise, 0, "a throughput equal to the last one counts as risen", "left open by the paper");

/*
 *   up     cwnd + 1
 *   stay   and thresholds as they were
 *   down   cwnd - 1
 *   reno   until the state is open again
 */
CC_MODES(vegas_a_mode, VEGAS_A_SLOW_START, VEGAS_A_UP, VEGAS_A_STAY, VEGAS_A_DOWN, VEGAS_A_RENO);

struct vegas_a {
	struct vegas_rtt rtt;
	u32 alpha_pkts;      /* beta is this and the distance of the start */
	u32 diff_pkts;       /* of the last decision, for the trace */
	u32 round_delivered; /* tp->delivered at the start of the round */
	u32 prev_pkts;       /* delivered in the round before; 0 = there was none */
	u32 prev_rtt_us;     /* and its min RTT */
	u8 step;             /* the last decision: enum vegas_a_mode */
	u8 pad[3];
};
CC_PRIV_FITS(struct vegas_a);

enum vegas_a_throughput {
	VEGAS_A_FELL,
	VEGAS_A_ROSE,
	VEGAS_A_UNKNOWN, /* no round before this one */
};

static __always_inline u32 vegas_a_beta_pkts(const struct vegas_a *va)
{
	return va->alpha_pkts + (beta > alpha ? beta - alpha : 0);
}

static __always_inline enum vegas_a_mode vegas_a_mode(const struct tcp_sock *tp, const struct vegas_a *va)
{
	if (!va->rtt.enabled)
		return VEGAS_A_RENO;
	return tcp_in_slow_start(tp) ? VEGAS_A_SLOW_START : va->step;
}

static __always_inline void vegas_a_publish(struct sock *sk)
{
	struct cca_trace *trace = cc_trace(sk);
	const struct vegas_a *va = inet_csk_ca(sk);

	if (!trace)
		return;
	trace->mode = vegas_a_mode(tcp_sk(sk), va);
	trace->min_rtt_us = vegas_published_base_us(&va->rtt);
	trace->v0 = va->diff_pkts;
	trace->v1 = va->alpha_pkts;
	cc_trace_done(trace);
}

/* A new series of rounds: there is none to compare with. */
static __always_inline void vegas_a_start_rounds(struct vegas_a *va, const struct tcp_sock *tp)
{
	va->round_delivered = tp->delivered;
	va->prev_pkts = 0;
}

static __always_inline void vegas_a_restart(struct vegas_a *va, const struct tcp_sock *tp)
{
	vegas_rtt_init(&va->rtt, tp);
	va->alpha_pkts = max(alpha, VEGAS_A_ALPHA_MIN);
	va->step = VEGAS_A_STAY;
	vegas_a_start_rounds(va, tp);
}

/* The round's throughput against that of the one before: pkts / rtt > prev_pkts / prev_rtt, without the quotients. */
static __always_inline enum vegas_a_throughput vegas_a_compare(struct vegas_a *va, const struct tcp_sock *tp)
{
	u32 pkts = tp->delivered - va->round_delivered;
	u32 rtt_us = va->rtt.min_rtt_us;
	u64 now = (u64)pkts * va->prev_rtt_us;
	u64 last = (u64)va->prev_pkts * rtt_us;
	int known = va->prev_pkts && pkts;

	va->round_delivered = tp->delivered;
	va->prev_pkts = pkts;
	va->prev_rtt_us = rtt_us;
	if (!known)
		return VEGAS_A_UNKNOWN;
	return now > last || (equal_is_rise && now == last) ? VEGAS_A_ROSE : VEGAS_A_FELL;
}

static __always_inline void vegas_a_lower(struct vegas_a *va)
{
	if (va->alpha_pkts > VEGAS_A_ALPHA_MIN)
		va->alpha_pkts--;
}

/* The three cases of the paper: moves the thresholds and says what cwnd does. */
static __always_inline enum vegas_a_mode vegas_a_judge(struct vegas_a *va, enum vegas_a_throughput throughput)
{
	if (va->diff_pkts > vegas_a_beta_pkts(va)) {
		vegas_a_lower(va);
		return VEGAS_A_DOWN;
	}
	if (va->diff_pkts >= va->alpha_pkts) {
		if (throughput != VEGAS_A_ROSE)
			return VEGAS_A_STAY;
		if (va->alpha_pkts < alpha_max)
			va->alpha_pkts++;
		return VEGAS_A_UP;
	}
	if (va->alpha_pkts <= VEGAS_A_ALPHA_MIN || throughput == VEGAS_A_ROSE)
		return VEGAS_A_UP;
	if (throughput == VEGAS_A_UNKNOWN)
		return VEGAS_A_STAY;
	vegas_a_lower(va);
	return VEGAS_A_DOWN;
}

static __always_inline void vegas_a_decide(struct sock *sk, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct vegas_a *va = inet_csk_ca(sk);
	enum vegas_a_throughput throughput = vegas_a_compare(va, tp);
	u32 cwnd = tp->snd_cwnd;

	va->diff_pkts = vegas_diff_pkts(&va->rtt, cwnd);
	if (tcp_in_slow_start(tp)) {
		cwnd = vegas_slow_start_cwnd(tp, &va->rtt, va->diff_pkts, gamma, acked);
		vegas_set_cwnd(sk, cwnd);
		va->step = VEGAS_A_STAY;
		return;
	}
	va->step = vegas_a_judge(va, throughput);
	if (va->step == VEGAS_A_UP) {
		cwnd++;
	} else if (va->step == VEGAS_A_DOWN) {
		cwnd--;
		tp->snd_ssthresh = min(tp->snd_ssthresh, cwnd);
	}
	vegas_set_cwnd(sk, cwnd);
}

CC_OP(void, vegas_a_init, struct sock *sk)
{
	struct vegas_a *va = inet_csk_ca(sk);

	cc_take_over(sk);
	*va = (struct vegas_a){0};
	vegas_a_restart(va, tcp_sk(sk));
	vegas_rtt_take_over(&va->rtt, tcp_sk(sk));
}

CC_OP(u32, vegas_a_ssthresh, struct sock *sk)
{
	return tcp_reno_ssthresh(sk);
}

CC_OP(void, vegas_a_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct vegas_a *va = inet_csk_ca(sk);
	enum vegas_round round = vegas_ack(sk, &va->rtt, ack, acked);

	if (round == VEGAS_ROUND_DECIDE) {
		vegas_a_decide(sk, acked);
		vegas_next_round(&va->rtt, tp);
	} else if (round == VEGAS_ROUND_SKIPPED) {
		vegas_a_start_rounds(va, tp);
	}
	vegas_a_publish(sk);
}

CC_OP(void, vegas_a_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct vegas_a *va = inet_csk_ca(sk);

	vegas_rtt_sample(&va->rtt, sample->rtt_us);
}

CC_OP(void, vegas_a_set_state, struct sock *sk, u8 new_state)
{
	struct vegas_a *va = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);

	vegas_rtt_set_state(&va->rtt, tp, new_state);
	vegas_a_start_rounds(va, tp);
}

CC_OP(void, vegas_a_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct vegas_a *va = inet_csk_ca(sk);

	if (vegas_is_restart(event))
		vegas_a_restart(va, tcp_sk(sk));
}

CC_OP(u32, vegas_a_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

CC_OPS(vegas_a) = {
    .init = (void *)vegas_a_init,
    .ssthresh = (void *)vegas_a_ssthresh,
    .cong_avoid = (void *)vegas_a_cong_avoid,
    .pkts_acked = (void *)vegas_a_pkts_acked,
    .set_state = (void *)vegas_a_set_state,
    .cwnd_event = (void *)vegas_a_cwnd_event,
    .undo_cwnd = (void *)vegas_a_undo_cwnd,
    .name = "vegas_a",
};
