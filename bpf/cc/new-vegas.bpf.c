// SPDX-License-Identifier: GPL-2.0
/*
 * New Vegas: Sing, Soh, "TCP New Vegas: Improving the Performance of TCP Vegas Over High Latency Links", IEEE
 * NCA 2005. Not Linux' nv, which is another algorithm with a similar name.
 *
 * AN OWN READING: only a description of the three additions to Vegas was at hand, not the paper with its
 * formulas.
 *
 * In a nutshell: Vegas that paces its slow start, grows in pairs of packets, and comes to its window in large
 * steps that halve.
 *
 *   packet pacing    slow start sends one packet per RTT / cwnd; after it, bursts as they come
 *   packet pairing   slow start grows by two packets per two acknowledged, so that they leave in pairs. A
 *                    receiver that delays ACKs acknowledges a pair at once; RTT samples come from such ACKs
 *   rapid window     after Vegas has left slow start, with a step s:
 *   convergence        start           s = cwnd / 8
 *                      diff < alpha    cwnd + s                  per round
 *                      up to beta      nothing
 *                      above           cwnd - 1 and s / 2
 *                    once s has come down to 1 it is Vegas
 *
 *                diff > gamma                 s is 1
 *   SLOW_START ---------------> CONVERGENCE ---------> AVOIDANCE
 *              -------------------------------------->
 *                ssthresh reached
 *
 *   any of them -- CWR, recovery ------> REDUCTION -- open again --> AVOIDANCE
 *   any of them -- disorder, timeout --> RENO -- open again --> SLOW_START below ssthresh, else where it was
 *
 * Diff, rounds, the end of slow start, alpha, beta and gamma are those of Vegas (vegas.bpf.h). So is Reno
 * until the state is open again. A loss ends the convergence.
 *
 * Pacing needs cong_control, for which the kernel does two things less. It does not reduce the window in
 * recovery: cc_reduction.bpf.h does. It does not lower the window after an idle time: the first round after
 * one is paced instead. Growth needs a flow that uses its window, for the kernel does not take unused windows
 * back from cong_control either.
 *
 * Read vegas.bpf.h and vegas.bpf.c first, then cc_reduction.bpf.h.
 */
#include "cc.bpf.h"
#include "cc_handover.bpf.h"
#include "cc_reduction.bpf.h"
#include "vegas.bpf.h"

CC_ALGORITHM("new-vegas", "delay",
	     "Vegas for long paths: slow start paced and in pairs, then large steps that shrink. An own reading.",
	     "Sing, Soh 2005, TCP New Vegas; from a description, without the paper's formulas");
CC_COLOR("#228833");
CC_TRACE_V0("diff_pkts", "packets queued, as of the last round: window * (RTT - base RTT) / base RTT");
CC_TRACE_V1("step_pkts", "growth per round of the convergence; 0 = none, Vegas");

#define NEW_VEGAS_UNPACED (~0UL) /* sk_pacing_rate without a limit */
#define NEW_VEGAS_PAIR    2U     /* packets */
#define NEW_VEGAS_MILLI   1000U

CC_TUNABLE(u32, alpha, 2, 0, 1000000, "packets", "with fewer packets queued the window grows", "net/ipv4/tcp_vegas.c");
CC_TUNABLE(u32, beta, 4, 0, 1000000, "packets", "with more packets queued the window shrinks", "net/ipv4/tcp_vegas.c");
CC_TUNABLE(u32, gamma, 1, 0, 1000000, "packets", "with more packets queued slow start ends", "net/ipv4/tcp_vegas.c");
CC_SWITCH(u32, pacing, 1, "pace slow start, and the first round after an idle time", "own reading of Sing, Soh 2005");
CC_GAIN(u32, pacing_gain, 1000, 100, 10000, "pacing rate of slow start in windows per RTT",
	"own reading of Sing, Soh 2005");
CC_SWITCH(u32, pairing, 1, "slow start grows by two packets per two acknowledged", "own reading of Sing, Soh 2005");
CC_TUNABLE(u32, step_divisor, 8, 0, 1000000, "", "convergence starts with window / this; 0 = none",
	   "own reading of Sing, Soh 2005");
CC_TUNABLE(u32, step_decay, 2, 2, 1000000, "", "divides the step when more than beta are queued",
	   "own reading of Sing, Soh 2005");

/*
 *   reduction   CWR and recovery
 *   reno        disorder, and after a timeout
 */
CC_MODES(new_vegas_mode, NEW_VEGAS_SLOW_START, NEW_VEGAS_CONVERGENCE, NEW_VEGAS_AVOIDANCE, NEW_VEGAS_REDUCTION,
	 NEW_VEGAS_RENO);

/* All zero means: not initialised. */
struct new_vegas {
	struct vegas_rtt rtt;
	u32 diff_pkts;      /* of the last decision, for the trace */
	u32 step_pkts;      /* of the convergence; 0 = none */
	u32 odd_pkts;       /* acknowledged without a partner */
	u32 delivered_pkts; /* in this reduction of the window */
	u32 last_una;       /* tp->snd_una at the last ACK */
	u8 initialized;
	u8 restarting;   /* the first round after an idle time */
	u8 pairs_seen;   /* in this round */
	u8 pairs_before; /* in the round before */
};
CC_PRIV_FITS(struct new_vegas);

static __always_inline int new_vegas_is_paced(const struct tcp_sock *tp, const struct new_vegas *nv)
{
	return pacing && (tcp_in_slow_start(tp) || nv->restarting);
}

static __always_inline enum new_vegas_mode new_vegas_mode(const struct sock *sk)
{
	const struct new_vegas *nv = inet_csk_ca(sk);

	if (cc_in_reduction(sk))
		return NEW_VEGAS_REDUCTION;
	if (!nv->rtt.enabled)
		return NEW_VEGAS_RENO;
	if (tcp_in_slow_start(tcp_sk(sk)))
		return NEW_VEGAS_SLOW_START;
	return nv->step_pkts ? NEW_VEGAS_CONVERGENCE : NEW_VEGAS_AVOIDANCE;
}

static __always_inline void new_vegas_publish(struct sock *sk)
{
	struct cca_trace *trace = cc_trace(sk);
	const struct new_vegas *nv = inet_csk_ca(sk);

	if (!trace)
		return;
	trace->mode = new_vegas_mode(sk);
	trace->min_rtt_us = vegas_published_base_us(&nv->rtt);
	trace->pacing_gain_milli = new_vegas_is_paced(tcp_sk(sk), nv) ? pacing_gain : 0;
	trace->v0 = nv->diff_pkts;
	trace->v1 = nv->step_pkts;
	cc_trace_done(trace);
}

/* One packet per RTT / cwnd, within what the application allows (SO_MAX_PACING_RATE). */
static __always_inline void new_vegas_pace(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 rate = NEW_VEGAS_UNPACED;

	if (new_vegas_is_paced(tp, inet_csk_ca(sk)) && tp->srtt_us) {
		/* srtt_us counts eighths. */
		rate = (u64)tp->snd_cwnd * tp->mss_cache * (USEC_PER_SEC * 8) / tp->srtt_us;
		rate = max(rate * pacing_gain / NEW_VEGAS_MILLI, (u64)1);
	}
	sk->sk_pacing_rate = min(rate, (u64)sk->sk_max_pacing_rate);
}

/* What slow start may grow by for so many packets acknowledged: whole pairs. The rest waits for a partner. */
static __always_inline u32 new_vegas_paired(const struct tcp_sock *tp, struct new_vegas *nv, u32 acked)
{
	u32 pkts;

	if (!pairing || !tcp_in_slow_start(tp)) {
		nv->odd_pkts = 0;
		return acked;
	}
	pkts = nv->odd_pkts + acked;
	nv->odd_pkts = pkts % NEW_VEGAS_PAIR;
	return pkts - nv->odd_pkts;
}

static __always_inline void new_vegas_begin_convergence(struct new_vegas *nv, u32 cwnd)
{
	u32 step_pkts = step_divisor ? cwnd / step_divisor : 0;

	nv->step_pkts = step_pkts > 1 ? step_pkts : 0;
}

/* Growth per round with fewer than alpha packets queued: the step, or Vegas' one packet. */
static __always_inline u32 new_vegas_growth(const struct tcp_sock *tp, const struct new_vegas *nv)
{
	if (!tcp_is_cwnd_limited(tp))
		return 0;
	return max(nv->step_pkts, 1U);
}

static __always_inline void new_vegas_decay(struct new_vegas *nv)
{
	nv->step_pkts /= max(step_decay, 2U);
	if (nv->step_pkts <= 1)
		nv->step_pkts = 0;
}

/* The decision of a round with enough samples. */
static __always_inline void new_vegas_decide(struct sock *sk, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct new_vegas *nv = inet_csk_ca(sk);
	u32 cwnd = tp->snd_cwnd;

	nv->diff_pkts = vegas_diff_pkts(&nv->rtt, cwnd);
	if (tcp_in_slow_start(tp)) {
		cwnd = vegas_slow_start_cwnd(tp, &nv->rtt, nv->diff_pkts, gamma, acked);
		if (nv->diff_pkts > gamma)
			new_vegas_begin_convergence(nv, cwnd);
	} else if (nv->diff_pkts > beta) {
		cwnd--;
		tp->snd_ssthresh = min(tp->snd_ssthresh, cwnd);
		new_vegas_decay(nv);
	} else if (nv->diff_pkts < alpha) {
		cwnd += new_vegas_growth(tp, nv);
	}
	vegas_set_cwnd(sk, cwnd);
}

/* An ACK of new data while the window is not being reduced. */
static __always_inline void new_vegas_grow(struct sock *sk, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct new_vegas *nv = inet_csk_ca(sk);
	enum vegas_round round;

	acked = tcp_is_cwnd_limited(tp) ? new_vegas_paired(tp, nv, acked) : 0;
	round = vegas_ack(sk, &nv->rtt, tp->snd_una, acked);
	if (round == VEGAS_ROUND_RUNS)
		return;
	if (round == VEGAS_ROUND_DECIDE) {
		new_vegas_decide(sk, acked);
		vegas_next_round(&nv->rtt, tp);
	}
	nv->pairs_before = nv->pairs_seen;
	nv->pairs_seen = 0;
	nv->restarting = 0;
}

static __always_inline void new_vegas_reduce(struct sock *sk, const struct rate_sample *rs, int una_advanced)
{
	struct new_vegas *nv = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	nv->delivered_pkts += rs->acked_sacked;
	tp->snd_cwnd = cc_reduced_cwnd(tp, rs, nv->delivered_pkts, una_advanced);
}

CC_OP(void, new_vegas_init, struct sock *sk)
{
	struct new_vegas *nv = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);

	cc_take_over_paced(sk);
	*nv = (struct new_vegas){.last_una = tp->snd_una, .initialized = 1};
	vegas_rtt_init(&nv->rtt, tp);
	vegas_rtt_take_over(&nv->rtt, tp);
	if (pacing)
		cc_need_pacing(sk);
	new_vegas_pace(sk);
}

/* Window and ssthresh are Reno's and Vegas'. */
CC_OP(void, new_vegas_release, struct sock *sk)
{
	const struct new_vegas *nv = inet_csk_ca(sk);

	if (nv->initialized)
		cc_give_pacing_back(sk);
}

CC_CONG_CONTROL(new_vegas_cong_control, sk, ack, flag, rs)
{
	struct new_vegas *nv = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	int una_advanced = tp->snd_una != nv->last_una;

	if (!nv->initialized)
		return;
	nv->last_una = tp->snd_una;
	if (cc_in_reduction(sk))
		new_vegas_reduce(sk, rs, una_advanced);
	else if (una_advanced)
		new_vegas_grow(sk, rs->acked_sacked);
	new_vegas_pace(sk);
	new_vegas_publish(sk);
}

CC_OP(u32, new_vegas_ssthresh, struct sock *sk)
{
	struct new_vegas *nv = inet_csk_ca(sk);

	nv->delivered_pkts = 0;
	nv->step_pkts = 0;
	nv->odd_pkts = 0;
	return tcp_reno_ssthresh(sk);
}

/* An ACK of a single packet, where pairs are the rule, is one that a timer of the receiver has delayed. */
CC_OP(void, new_vegas_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct new_vegas *nv = inet_csk_ca(sk);

	if (sample->pkts_acked >= NEW_VEGAS_PAIR)
		nv->pairs_seen = 1;
	else if (pairing && nv->pairs_before && tcp_in_slow_start(tcp_sk(sk)))
		return;
	vegas_rtt_sample(&nv->rtt, sample->rtt_us);
}

CC_OP(void, new_vegas_set_state, struct sock *sk, u8 new_state)
{
	struct new_vegas *nv = inet_csk_ca(sk);

	if (!nv->initialized)
		return;
	cc_end_reduction(sk, new_state);
	vegas_rtt_set_state(&nv->rtt, tcp_sk(sk), new_state);
}

/* The kernel sends no CWND_RESTART to an algorithm with cong_control. */
CC_OP(void, new_vegas_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct new_vegas *nv = inet_csk_ca(sk);

	if (!nv->initialized || !vegas_is_restart(event))
		return;
	vegas_rtt_init(&nv->rtt, tcp_sk(sk));
	nv->restarting = 1;
	nv->pairs_seen = 0;
	nv->pairs_before = 0;
	new_vegas_pace(sk);
}

CC_OP(u32, new_vegas_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

CC_OPS(new_vegas) = {
    .init = (void *)new_vegas_init,
    .release = (void *)new_vegas_release,
    .cong_control = (void *)new_vegas_cong_control,
    .ssthresh = (void *)new_vegas_ssthresh,
    .pkts_acked = (void *)new_vegas_pkts_acked,
    .set_state = (void *)new_vegas_set_state,
    .cwnd_event = (void *)new_vegas_cwnd_event,
    .undo_cwnd = (void *)new_vegas_undo_cwnd,
    .name = "new_vegas",
};
