// SPDX-License-Identifier: GPL-2.0
/*
 * YeAH: Baiocchi, Castellani, Vacirca, "YeAH-TCP: Yet Another Highspeed TCP", PFLDnet 2007.
 *
 * In a nutshell: Scalable while the queue is short, Reno while it is not, and a drained queue beyond alpha
 * packets.
 *
 *   once per round   queue = cwnd * (min RTT - base RTT) / min RTT
 *   fast mode        Scalable: cwnd + 1 per min(cwnd, ai_cnt) packets acknowledged
 *   slow mode        Reno
 *   decongestion     cwnd -= min(queue / gamma, cwnd >> epsilon), not below reno_count      when queue > alpha
 *                    ssthresh = cwnd
 *   loss             fewer than rho slow rounds running, so no Reno competes:
 *                        cwnd less the queue, but cwnd >> delta at least and half at most
 *                    otherwise: half
 *
 *            a round with queue > alpha, or min RTT - base RTT > base RTT / phy
 *   FAST -----------------------------------------------------------------------> SLOW
 *    ^                                                                             |
 *    +------------------------------ a round with neither -------------------------+
 *
 *   SLOW_START -- cwnd >= ssthresh --> FAST, or SLOW when the last round was a slow one
 *              <-- timeout, idle time: cwnd below ssthresh -- either
 *
 * reno_count is what a Reno flow in its place is thought to have: half of cwnd at the first slow round, one
 * more per further slow round, half after a loss, forgotten after zeta fast rounds.
 *
 * As native yeah, step by step. What differs: the module lowers the socket's clamp to 2^32 / 128 packets,
 * which BPF may not write. Nothing here overflows above it.
 *
 * Read vegas.bpf.h first: RTT samples and rounds are those of Vegas.
 */
#include "cc.bpf.h"
#include "cc_handover.bpf.h"
#include "vegas.bpf.h"

CC_ALGORITHM("yeah", "hybrid",
	     "Grows as Scalable while the queue is short, as Reno while it is not, and drains it beyond 80 packets.",
	     "Baiocchi, Castellani, Vacirca 2007; net/ipv4/tcp_yeah.c");
CC_COLOR("#EE3377");
CC_TRACE_V0("queue_pkts", "packets queued, as of the last round");
CC_TRACE_V1("reno_count_pkts", "what a competing Reno flow is thought to have");

#define YEAH_SLOW_ROUNDS_MAX 0xffffffU /* the count stops there */

CC_TUNABLE(u32, alpha, 80, 0, 1000000, "packets", "with more packets queued the queue is drained",
	   "net/ipv4/tcp_yeah.c");
CC_TUNABLE(u32, gamma, 1, 1, 1000, "", "one part in so many of the queue is drained per round", "net/ipv4/tcp_yeah.c");
CC_TUNABLE(u32, delta, 3, 1, 16, "log2", "a loss costs at least 2^-delta of the window", "net/ipv4/tcp_yeah.c");
CC_TUNABLE(u32, epsilon, 1, 1, 16, "log2", "draining takes at most 2^-epsilon of the window", "net/ipv4/tcp_yeah.c");
CC_TUNABLE(u32, phy, 8, 1, 1000, "", "queueing delay above base RTT / phy means slow mode", "net/ipv4/tcp_yeah.c");
CC_TUNABLE(u32, rho, 16, 0, 1000000, "rounds", "slow rounds in a row that mean that Reno competes",
	   "net/ipv4/tcp_yeah.c");
CC_TUNABLE(u32, zeta, 50, 0, 1000000, "rounds", "fast rounds after which that is forgotten", "net/ipv4/tcp_yeah.c");
CC_TUNABLE(u32, ai_cnt, 100, 1, 1000000, "packets", "fast mode: acknowledged packets per packet of growth, at most",
	   "TCP_SCALABLE_AI_CNT of net/ipv4/tcp_yeah.c and tcp_scalable.c");

CC_MODES(yeah_mode, YEAH_SLOW_START, YEAH_FAST, YEAH_SLOW);

/* All zero is a valid state: the callbacks may run before init. */
struct yeah {
	struct vegas_rtt rtt;
	u32 queue_pkts;  /* of the last round with enough samples */
	u32 slow_rounds; /* in a row; 0 = fast mode */
	u32 fast_rounds; /* since the last loss or forgetting */
	u32 reno_count_pkts;
};
CC_PRIV_FITS(struct yeah);

static __always_inline void yeah_publish(struct sock *sk)
{
	struct cca_trace *trace = cc_trace(sk);
	const struct yeah *yeah = inet_csk_ca(sk);

	if (!trace)
		return;
	if (tcp_in_slow_start(tcp_sk(sk)))
		trace->mode = YEAH_SLOW_START;
	else
		trace->mode = yeah->slow_rounds ? YEAH_SLOW : YEAH_FAST;
	trace->min_rtt_us = vegas_published_base_us(&yeah->rtt);
	trace->v0 = yeah->queue_pkts;
	trace->v1 = yeah->reno_count_pkts;
	cc_trace_done(trace);
}

/* Precautionary decongestion: drains what is queued, but leaves what a Reno flow would have. */
static __always_inline void yeah_drain(struct tcp_sock *tp, const struct yeah *yeah, u32 queue_pkts)
{
	u32 cwnd = tp->snd_cwnd;
	u32 reduction = min(queue_pkts / max(gamma, 1U), cwnd >> epsilon);

	cwnd = max(cwnd - reduction, max(yeah->reno_count_pkts, 1U));
	tp->snd_cwnd = cwnd;
	tp->snd_ssthresh = cwnd;
}

static __always_inline void yeah_slow_round(struct tcp_sock *tp, struct yeah *yeah, u32 queue_pkts)
{
	if (queue_pkts > alpha && tp->snd_cwnd > yeah->reno_count_pkts)
		yeah_drain(tp, yeah, queue_pkts);
	if (yeah->reno_count_pkts <= VEGAS_MIN_CWND)
		yeah->reno_count_pkts = max(tp->snd_cwnd >> 1, VEGAS_MIN_CWND);
	else
		yeah->reno_count_pkts++;
	yeah->slow_rounds = min(yeah->slow_rounds + 1, YEAH_SLOW_ROUNDS_MAX);
}

static __always_inline void yeah_fast_round(struct yeah *yeah)
{
	yeah->fast_rounds++;
	if (yeah->fast_rounds > zeta) {
		yeah->reno_count_pkts = VEGAS_MIN_CWND;
		yeah->fast_rounds = 0;
	}
	yeah->slow_rounds = 0;
}

static __always_inline void yeah_decide(struct tcp_sock *tp, struct yeah *yeah)
{
	u32 queueing_us = yeah->rtt.min_rtt_us - yeah->rtt.base_rtt_us;
	u32 queue_pkts = (u64)tp->snd_cwnd * queueing_us / yeah->rtt.min_rtt_us;

	if (queue_pkts > alpha || queueing_us > yeah->rtt.base_rtt_us / max(phy, 1U))
		yeah_slow_round(tp, yeah, queue_pkts);
	else
		yeah_fast_round(yeah);
	yeah->queue_pkts = queue_pkts;
}

static __always_inline void yeah_grow(struct tcp_sock *tp, const struct yeah *yeah, u32 acked)
{
	u32 cwnd;

	if (cc_slow_start(tp, &acked))
		return;
	cwnd = tp->snd_cwnd;
	tcp_cong_avoid_ai(tp, yeah->slow_rounds ? cwnd : min(cwnd, ai_cnt), acked);
}

CC_OP(void, yeah_init, struct sock *sk)
{
	struct yeah *yeah = inet_csk_ca(sk);

	cc_take_over(sk);
	*yeah = (struct yeah){.reno_count_pkts = VEGAS_MIN_CWND};
	vegas_rtt_init(&yeah->rtt, tcp_sk(sk));
}

CC_OP(u32, yeah_ssthresh, struct sock *sk)
{
	struct yeah *yeah = inet_csk_ca(sk);
	u32 cwnd = tcp_sk(sk)->snd_cwnd;
	u32 reduction = max(cwnd >> 1, VEGAS_MIN_CWND);

	if (yeah->slow_rounds < rho) {
		reduction = min(yeah->queue_pkts, reduction);
		reduction = max(reduction, cwnd >> delta);
	}
	yeah->fast_rounds = 0;
	yeah->reno_count_pkts = max(yeah->reno_count_pkts >> 1, VEGAS_MIN_CWND);
	return cwnd > reduction ? max(cwnd - reduction, VEGAS_MIN_CWND) : VEGAS_MIN_CWND;
}

/* As in the module, the state does not matter: a round that ends in TCP_CA_Loss is one like any other. */
CC_OP(void, yeah_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct yeah *yeah = inet_csk_ca(sk);

	if (tcp_is_cwnd_limited(tp)) {
		yeah_grow(tp, yeah, acked);
		if (vegas_round_over(&yeah->rtt, ack)) {
			if (vegas_has_samples(&yeah->rtt))
				yeah_decide(tp, yeah);
			vegas_next_round(&yeah->rtt, tp);
		}
	}
	yeah_publish(sk);
}

CC_OP(void, yeah_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct yeah *yeah = inet_csk_ca(sk);

	vegas_rtt_sample(&yeah->rtt, sample->rtt_us);
}

CC_OP(void, yeah_set_state, struct sock *sk, u8 new_state)
{
	struct yeah *yeah = inet_csk_ca(sk);

	vegas_rtt_set_state(&yeah->rtt, tcp_sk(sk), new_state);
}

CC_OP(void, yeah_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct yeah *yeah = inet_csk_ca(sk);

	if (vegas_is_restart(event))
		vegas_rtt_init(&yeah->rtt, tcp_sk(sk));
}

CC_OP(u32, yeah_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

CC_OPS(bpf_yeah) = {
    .init = (void *)yeah_init,
    .ssthresh = (void *)yeah_ssthresh,
    .cong_avoid = (void *)yeah_cong_avoid,
    .pkts_acked = (void *)yeah_pkts_acked,
    .set_state = (void *)yeah_set_state,
    .cwnd_event = (void *)yeah_cwnd_event,
    .undo_cwnd = (void *)yeah_undo_cwnd,
    .name = "bpf_yeah",
};
