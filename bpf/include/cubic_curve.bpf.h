/* SPDX-License-Identifier: GPL-2.0 */
/*
 * CUBIC's window: the cubic of the time since the last loss, and Reno's line beside it. cubic.bpf.c describes both; time
 * is in jiffies, as in the native module.
 */
#ifndef CCACTL_CUBIC_CURVE_BPF_H
#define CCACTL_CUBIC_CURVE_BPF_H

#include "cc.bpf.h"
#include "fixed.bpf.h"

#define CUBIC_BETA_UNIT  1024 /* beta = 1.0 */
#define CUBIC_BETA       717  /* what the native module keeps of a window after a loss */
#define CUBIC_SCALE      41   /* its C, 0.4 */
#define CUBIC_TIME_SHIFT 10   /* t and K in units of 2^-10 s */
#define CUBIC_C_SHIFT    10   /* scale is C * 2^10 for an RTT of 100 ms */
#define CUBIC_RTT_SCALE  10   /* that RTT: 1 / 0.1 s */
#define CUBIC_SHIFT      (CUBIC_C_SHIFT + 3 * CUBIC_TIME_SHIFT)
#define CUBIC_MIN_CNT    2U   /* at most one packet more per two acknowledged */
#define CUBIC_FIRST_CNT  20U  /* at least 5 % per RTT before the first loss: bandwidth is unknown */
#define CUBIC_FLAT_CNT   100U /* next to nothing: one packet per 100 windows */
#define CUBIC_MIN_CWND   2U   /* packets, RFC 5681 section 3.1 */

/* What the curve is like. */
struct cubic_shape {
	u32 beta;  /* 1/1024 */
	u32 scale; /* C, 1/1024 */
	u32 fast_convergence;
	u32 friendly; /* grow at least as fast as Reno with the same beta would */
};

/* All zero is a valid state: no loss yet, no epoch. */
struct cubic_curve {
	u32 cnt;           /* acknowledged packets per packet that cwnd grows */
	u32 last_max_pkts; /* Wmax, 0 = no loss yet */
	u32 last_cwnd;     /* cwnd at the last recomputation of cnt */
	u32 last_jiffies;  /* time of it */
	u32 origin_pkts;   /* plateau of the cubic */
	u32 target_pkts;   /* where the cubic will be one minimum RTT from the last recomputation */
	u32 k;             /* time from the epoch's start to the plateau, 2^-10 s */
	u32 epoch_start;   /* jiffies, 0 = no epoch */
	u32 acked_pkts;    /* acknowledged and not yet turned into growth of W_est */
	u32 reno_pkts;     /* W_est */
};

/* Where the window starts from after a loss: K and the origin of a new epoch. */
static __always_inline void cubic_start_epoch(struct cubic_curve *c, struct cubic_shape shape, u32 cwnd, u32 acked,
					      u32 now)
{
	c->epoch_start = now;
	c->acked_pkts = acked;
	c->reno_pkts = cwnd;
	if (c->last_max_pkts <= cwnd) {
		c->k = 0;
		c->origin_pkts = cwnd;
	} else {
		u64 per_packet = (1ULL << CUBIC_SHIFT) / (shape.scale * CUBIC_RTT_SCALE);

		c->k = cc_cube_root(per_packet * (c->last_max_pkts - cwnd));
		c->origin_pkts = c->last_max_pkts;
	}
}

/* cnt from the distance to the point where the cubic will be one minimum RTT from now. */
static __always_inline void cubic_follow_curve(struct cubic_curve *c, struct cubic_shape shape, u32 cwnd, u32 now,
					       u32 delay_min_us)
{
	u64 t = (s32)(now - c->epoch_start);
	u64 distance;
	u32 rise_pkts;

	t += cc_us_to_jiffies(delay_min_us);
	t = (t << CUBIC_TIME_SHIFT) / HZ;
	distance = t < c->k ? c->k - t : t - c->k;
	rise_pkts = (shape.scale * CUBIC_RTT_SCALE * distance * distance * distance) >> CUBIC_SHIFT;
	c->target_pkts = t < c->k ? c->origin_pkts - rise_pkts : c->origin_pkts + rise_pkts;

	c->cnt = c->target_pkts > cwnd ? cwnd / (c->target_pkts - cwnd) : CUBIC_FLAT_CNT * cwnd;
	if (!c->last_max_pkts)
		c->cnt = min(c->cnt, CUBIC_FIRST_CNT);
}

/* Advances W_est by what was acknowledged, and takes its growth when that is the faster one. */
static __always_inline void cubic_be_friendly(struct cubic_curve *c, struct cubic_shape shape, u32 cwnd)
{
	u32 slope = 8 * (CUBIC_BETA_UNIT + shape.beta) / 3 / (CUBIC_BETA_UNIT - shape.beta);
	u32 per_packet = (cwnd * slope) >> 3;
	u32 fastest_cnt;

	if (per_packet && c->acked_pkts > per_packet) {
		/* One less than the quotient when it divides evenly: the last packet's worth stays for the next ACK. */
		u32 grown_pkts = (c->acked_pkts - 1) / per_packet;

		c->acked_pkts -= grown_pkts * per_packet;
		c->reno_pkts += grown_pkts;
	}
	if (c->reno_pkts <= cwnd)
		return;
	fastest_cnt = cwnd / (c->reno_pkts - cwnd);
	c->cnt = min(c->cnt, fastest_cnt);
}

/* Recomputes cnt: at once when cwnd has changed, but the curve once per jiffy; every 1/32 s while cwnd has not. */
static __always_inline void cubic_update(struct cubic_curve *c, struct cubic_shape shape, u32 cwnd, u32 acked,
					 u32 delay_min_us)
{
	u32 now = cc_jiffies();

	c->acked_pkts += acked;
	if (c->last_cwnd == cwnd && (s32)(now - c->last_jiffies) <= (s32)(HZ / 32))
		return;

	if (!c->epoch_start || now != c->last_jiffies) {
		c->last_cwnd = cwnd;
		c->last_jiffies = now;
		if (!c->epoch_start)
			cubic_start_epoch(c, shape, cwnd, acked, now);
		cubic_follow_curve(c, shape, cwnd, now, delay_min_us);
	}
	if (shape.friendly)
		cubic_be_friendly(c, shape, cwnd);
	c->cnt = max(c->cnt, CUBIC_MIN_CNT);
}

/* A loss at that window: what is left of it. */
static __always_inline u32 cubic_cut(struct cubic_curve *c, struct cubic_shape shape, u32 cwnd)
{
	u32 reduced = cwnd * shape.beta / CUBIC_BETA_UNIT;

	c->epoch_start = 0;
	if (cwnd < c->last_max_pkts && shape.fast_convergence)
		c->last_max_pkts = cwnd * (CUBIC_BETA_UNIT + shape.beta) / (2 * CUBIC_BETA_UNIT);
	else
		c->last_max_pkts = cwnd;
	return max(reduced, CUBIC_MIN_CWND);
}

#endif /* CCACTL_CUBIC_CURVE_BPF_H */
