// SPDX-License-Identifier: GPL-2.0
/*
 * TCP-Illinois: Liu, Basar, Srikant, "TCP-Illinois: A Loss- and Delay-Based Congestion Control Algorithm for
 * High-Speed Networks", Performance Evaluation 65 (2008).
 *
 * In a nutshell: loss decides when the window falls; delay decides how far it falls and how fast it grows.
 *
 *   avoidance  cwnd += alpha per RTT
 *   loss       ssthresh = cwnd - beta * cwnd, at least 2
 *
 *   dm = max RTT - base RTT
 *   da = mean RTT of the last round - base RTT
 *   d1, d2, d3 = 1 %, 10 %, 80 % of dm
 *
 *   alpha(da)  alpha_max for da <= d1, else k1 / (k2 + da), which falls from alpha_max at d1 to alpha_min at dm
 *   beta(da)   beta_min for da <= d2, beta_max for da >= d3, a straight line between
 *
 *                cwnd >= ssthresh        cwnd >= win_thresh            theta rounds of da <= d1
 *   SLOW_START -------------------> RENO ------------------> DELAYED --------------------------> LOW_DELAY
 *                                        <------------------         <--------------------------
 *                                         cwnd < win_thresh            a round of da > d1: alpha falls
 *
 *   any of them -- timeout: alpha 1, beta 1/2; idle time --> SLOW_START
 *
 * SLOW_START at a larger window leads to DELAYED or LOW_DELAY at once, and LOW_DELAY to RENO when the window
 * falls below win_thresh. A single round of da <= d1 is enough while da has not been above d1, at the start or
 * since the last timeout.
 *
 * A window below win_thresh behaves as Reno: alpha 1, beta 1/2. Once da has been above d1, theta rounds below
 * it must pass before alpha jumps to alpha_max.
 *
 * As native illinois, step by step:
 *   - alpha in 1/128 and beta in 1/64, RTT samples cut to 3.36 s;
 *   - one credit per ACK that pkts_acked announced, and the fraction of alpha thrown away when cwnd grows;
 *   - base and maximum RTT never forgotten, not after an idle period or on a longer path either.
 *
 * What differs: the number of RTT samples of a round, the packets of one ACK and the product cwnd * beta do
 * not wrap at 16 and 32 bits. A growth that the packets of one huge round could wrap is computed in 64.
 */
#include "cc.bpf.h"
#include "cc_handover.bpf.h"

CC_ALGORITHM("illinois", "hybrid",
	     "Loss decides when the window falls; the queueing delay decides how far, and how fast it grows.",
	     "Liu, Basar, Srikant 2008; net/ipv4/tcp_illinois.c");
CC_COLOR("#CC3311");
CC_TRACE_V0("alpha_milli", "increase in thousandths of a packet per RTT");
CC_TRACE_V1("beta_milli", "share of the window that a loss would take now, in thousandths");

#define ILLINOIS_ALPHA_SHIFT  7                            /* alpha = 1 is 128 */
#define ILLINOIS_ALPHA_BASE   (1U << ILLINOIS_ALPHA_SHIFT) /* Reno's increase */
#define ILLINOIS_BETA_SHIFT   6                            /* beta = 1 is 64 */
#define ILLINOIS_BETA_BASE    32U                          /* Reno's decrease, 1/2 */
#define ILLINOIS_RTT_MAX_US   3355443U                     /* 2^32 / 1280, the bound of the native module */
#define ILLINOIS_NO_RTT       0x7fffffffU                  /* base RTT before the first sample */
#define ILLINOIS_MIN_SSTHRESH 2U                           /* packets, RFC 5681 section 3.1 */

CC_TUNABLE(u32, win_thresh, 15, 0, 100000, "packets", "window below which it behaves as Reno",
	   "net/ipv4/tcp_illinois.c");
CC_TUNABLE(u32, theta, 5, 1, 255, "rounds", "rounds of low delay before the increase jumps back to alpha_max",
	   "net/ipv4/tcp_illinois.c");
CC_TUNABLE(u32, alpha_min, 38, 1, 128, "1/128", "increase per RTT at the highest delay", "net/ipv4/tcp_illinois.c");
CC_TUNABLE(u32, alpha_max, 1280, 128, 12800, "1/128", "increase per RTT at the lowest delay",
	   "net/ipv4/tcp_illinois.c");
CC_TUNABLE(u32, beta_min, 8, 0, 32, "1/64", "share of the window that a loss takes at low delay",
	   "net/ipv4/tcp_illinois.c");
CC_TUNABLE(u32, beta_max, 32, 32, 63, "1/64", "share of the window that a loss takes at high delay",
	   "net/ipv4/tcp_illinois.c");
CC_TUNABLE(u32, alpha_low_pct, 1, 0, 99, "%", "d1: up to this part of the largest delay, alpha_max",
	   "net/ipv4/tcp_illinois.c");
CC_TUNABLE(u32, beta_low_pct, 10, 0, 100, "%", "d2: up to this part of the largest delay, beta_min",
	   "net/ipv4/tcp_illinois.c");
CC_TUNABLE(u32, beta_high_pct, 80, 0, 100, "%", "d3: from this part of the largest delay on, beta_max",
	   "net/ipv4/tcp_illinois.c");

/*
 *   reno        the window is below win_thresh
 *   low-delay   alpha is at its maximum
 */
CC_MODES(illinois_mode, ILLINOIS_SLOW_START, ILLINOIS_RENO, ILLINOIS_LOW_DELAY, ILLINOIS_DELAYED);

/* All zero is a valid state, in which nothing grows: the callbacks may run before init. */
struct illinois {
	u64 rtt_sum_us; /* of this round */
	u32 rtt_count;
	u32 base_rtt_us;
	u32 max_rtt_us;
	u32 end_seq; /* the round ends when more than this is acknowledged */
	u32 alpha;
	u32 beta;
	u32 acked_pkts;  /* credit of the current ACK */
	u32 good_rounds; /* of low delay, in a row or not, since the delay was high */
	u8 was_delayed;  /* the delay has been above d1 since alpha was last at its maximum */
	u8 pad[3];
};
CC_PRIV_FITS(struct illinois);

static __always_inline void illinois_publish(struct sock *sk)
{
	struct cca_trace *trace = cc_trace(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct illinois *ca = inet_csk_ca(sk);

	if (!trace)
		return;
	if (tcp_in_slow_start(tp))
		trace->mode = ILLINOIS_SLOW_START;
	else if (tp->snd_cwnd < win_thresh)
		trace->mode = ILLINOIS_RENO;
	else
		trace->mode = ca->alpha == alpha_max ? ILLINOIS_LOW_DELAY : ILLINOIS_DELAYED;
	trace->min_rtt_us = ca->base_rtt_us == ILLINOIS_NO_RTT ? 0 : ca->base_rtt_us;
	trace->v0 = (u64)ca->alpha * 1000 >> ILLINOIS_ALPHA_SHIFT;
	trace->v1 = (u64)ca->beta * 1000 >> ILLINOIS_BETA_SHIFT;
	cc_trace_done(trace);
}

static __always_inline void illinois_new_round(struct sock *sk)
{
	struct illinois *ca = inet_csk_ca(sk);

	ca->end_seq = tcp_sk(sk)->snd_nxt;
	ca->rtt_count = 0;
	ca->rtt_sum_us = 0;
}

/*
 * The increase for a mean queueing delay of da out of at most dm. da <= dm, so beyond d1 both differences are positive
 * and the denominator is not 0. With k1 and k2 of the paper's equation multiplied out:
 *
 *   alpha = (dm - d1) * alpha_max / ((dm - d1) + (da - d1) * (alpha_max - alpha_min) / alpha_min)
 */
static __always_inline u32 illinois_alpha(struct illinois *ca, u32 da_us, u32 dm_us)
{
	u32 d1_us = dm_us * alpha_low_pct / 100;
	u64 span_us, excess;

	if (da_us <= d1_us) {
		if (!ca->was_delayed)
			return alpha_max;
		/* One good round is not yet a sign: the window would jump. */
		if (++ca->good_rounds < theta)
			return ca->alpha;
		ca->good_rounds = 0;
		ca->was_delayed = 0;
		return alpha_max;
	}
	ca->was_delayed = 1;
	span_us = dm_us - d1_us;
	excess = (u64)(da_us - d1_us) * (alpha_max - alpha_min) / alpha_min;
	return span_us * alpha_max / (span_us + excess);
}

/* The decrease: weights of beta_min and beta_max by the distance to the two ends of the line. */
static __always_inline u32 illinois_beta(u32 da_us, u32 dm_us)
{
	u32 d2_us = dm_us * beta_low_pct / 100;
	u32 d3_us = dm_us * beta_high_pct / 100;

	if (da_us <= d2_us)
		return beta_min;
	if (da_us >= d3_us || d3_us <= d2_us)
		return beta_max;
	return (beta_min * (d3_us - da_us) + beta_max * (da_us - d2_us)) / (d3_us - d2_us);
}

/* Once per round. */
static __always_inline void illinois_adapt(struct sock *sk)
{
	struct illinois *ca = inet_csk_ca(sk);

	if (tcp_sk(sk)->snd_cwnd < win_thresh) {
		ca->alpha = ILLINOIS_ALPHA_BASE;
		ca->beta = ILLINOIS_BETA_BASE;
	} else if (ca->rtt_count) {
		u32 dm_us = ca->max_rtt_us - ca->base_rtt_us;
		u32 da_us = (u32)(ca->rtt_sum_us / ca->rtt_count) - ca->base_rtt_us;

		ca->alpha = illinois_alpha(ca, da_us, dm_us);
		ca->beta = illinois_beta(da_us, dm_us);
	}
	illinois_new_round(sk);
}

static __always_inline void illinois_grow(struct sock *sk, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct illinois *ca = inet_csk_ca(sk);
	u64 weighted, cwnd;

	if (!tcp_is_cwnd_limited(tp))
		return;
	if (tcp_in_slow_start(tp)) {
		tcp_slow_start(tp, acked);
		return;
	}
	tp->snd_cwnd_cnt += ca->acked_pkts;
	ca->acked_pkts = 1;
	weighted = (u64)tp->snd_cwnd_cnt * ca->alpha >> ILLINOIS_ALPHA_SHIFT;
	if (weighted < tp->snd_cwnd || !tp->snd_cwnd)
		return;
	cwnd = tp->snd_cwnd + weighted / tp->snd_cwnd;
	tp->snd_cwnd = min(cwnd, (u64)tp->snd_cwnd_clamp);
	tp->snd_cwnd_cnt = 0;
}

CC_OP(void, illinois_init, struct sock *sk)
{
	struct illinois *ca = inet_csk_ca(sk);

	cc_take_over(sk);
	*ca = (struct illinois){0};
	ca->alpha = alpha_max;
	ca->beta = ILLINOIS_BETA_BASE;
	ca->base_rtt_us = ILLINOIS_NO_RTT;
	illinois_new_round(sk);
}

CC_OP(void, illinois_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct illinois *ca = inet_csk_ca(sk);
	u32 rtt_us;

	ca->acked_pkts = sample->pkts_acked;
	if (sample->rtt_us < 0)
		return;
	rtt_us = min((u32)sample->rtt_us, ILLINOIS_RTT_MAX_US);
	ca->base_rtt_us = min(ca->base_rtt_us, rtt_us);
	ca->max_rtt_us = max(ca->max_rtt_us, rtt_us);
	ca->rtt_count++;
	ca->rtt_sum_us += rtt_us;
}

CC_OP(void, illinois_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	const struct illinois *ca = inet_csk_ca(sk);

	if (after(ack, ca->end_seq))
		illinois_adapt(sk);
	illinois_grow(sk, acked);
	illinois_publish(sk);
}

CC_OP(void, illinois_set_state, struct sock *sk, u8 new_state)
{
	struct illinois *ca = inet_csk_ca(sk);

	if (new_state != TCP_CA_Loss)
		return;
	ca->alpha = ILLINOIS_ALPHA_BASE;
	ca->beta = ILLINOIS_BETA_BASE;
	ca->good_rounds = 0;
	ca->was_delayed = 0;
	illinois_new_round(sk);
}

CC_OP(u32, illinois_ssthresh, struct sock *sk)
{
	const struct illinois *ca = inet_csk_ca(sk);
	u32 cwnd = tcp_sk(sk)->snd_cwnd;
	u32 reduced = cwnd - (u32)((u64)cwnd * ca->beta >> ILLINOIS_BETA_SHIFT);

	return max(reduced, ILLINOIS_MIN_SSTHRESH);
}

CC_OP(u32, illinois_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

CC_OPS(bpf_illinois) = {
    .init = (void *)illinois_init,
    .ssthresh = (void *)illinois_ssthresh,
    .cong_avoid = (void *)illinois_cong_avoid,
    .set_state = (void *)illinois_set_state,
    .pkts_acked = (void *)illinois_pkts_acked,
    .undo_cwnd = (void *)illinois_undo_cwnd,
    .name = "bpf_illinois",
};
