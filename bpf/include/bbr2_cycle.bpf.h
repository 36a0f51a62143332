/* SPDX-License-Identifier: GPL-2.0 */
/* BBRv2: entering each phase of PROBE_BW. When to do so is decided in bbr2_phases.bpf.h and bbr2_bounds.bpf.h. */
#ifndef CCACTL_BBR2_CYCLE_BPF_H
#define CCACTL_BBR2_CYCLE_BPF_H

#include "bbr2_rules.bpf.h"

static __always_inline void bbr2_start_round(struct bbr2 *b, const struct bbr2_now *now)
{
	b->next_round_delivered = now->delivered;
}

static __always_inline void bbr2_reset_congestion_signals(struct bbr2 *b)
{
	b->loss_in_round = 0;
	b->ecn_in_round = 0;
	b->loss_in_cycle = 0;
	b->ecn_in_cycle = 0;
	b->bw_latest = 0;
	b->inflight_latest = 0;
}

static __always_inline void bbr2_reset_lower_bounds(struct bbr2 *b)
{
	b->bw_lo = BBR2_UNBOUNDED;
	b->inflight_lo = BBR2_UNBOUNDED;
}

/* Growth of inflight_hi in the coming round of UP: 1, 2, 4 ... packets, spread over the ACKs of a window. */
static __always_inline void bbr2_raise_slope(struct bbr2 *b, const struct bbr2_now *now)
{
	u32 growth = 1U << (b->slope_shift & 31);

	if (b->slope_shift < BBR2_MAX_SLOPE_SHIFT)
		b->slope_shift++;
	b->probe_up_count = max(now->cwnd / growth, 1U);
}

/* When to probe next: random, so that flows do not probe together. */
static __always_inline void bbr2_pick_probe_wait(struct bbr2 *b)
{
	u32 random_us = probe_wait_rand_ms * USEC_PER_MSEC;

	b->rounds_since_probe = cc_random() % BBR2_PROBE_RAND_ROUNDS;
	b->probe_wait_us = probe_wait_base_ms * USEC_PER_MSEC;
	if (random_us)
		b->probe_wait_us += cc_random() % random_us;
}

static __always_inline void bbr2_start_down(struct bbr2 *b, const struct bbr2_now *now)
{
	bbr2_reset_congestion_signals(b);
	b->probe_up_count = BBR2_UNBOUNDED;
	bbr2_pick_probe_wait(b);
	b->cycle_stamp_us = now->us;
	b->rounds_in_down = 0;
	b->ack_phase = BBR2_ACKS_PROBE_STOPPING;
	bbr2_start_round(b, now);
	b->phase = BBR2_PROBE_BW_DOWN;
}

static __always_inline void bbr2_start_cruise(struct bbr2 *b)
{
	if (b->inflight_lo != BBR2_UNBOUNDED)
		b->inflight_lo = min(b->inflight_lo, b->inflight_hi);
	b->phase = BBR2_PROBE_BW_CRUISE;
}

/* slope_shift: 0, or more if UP is to start with faster growth. */
static __always_inline void bbr2_start_refill(struct bbr2 *b, const struct bbr2_now *now, u32 slope_shift)
{
	bbr2_reset_lower_bounds(b);
	b->slope_shift = min(slope_shift, (u32)BBR2_MAX_SLOPE_SHIFT);
	b->probe_up_acks = 0;
	b->stopped_risky_probe = 0;
	b->ack_phase = BBR2_ACKS_REFILLING;
	bbr2_start_round(b, now);
	b->phase = BBR2_PROBE_BW_REFILL;
}

static __always_inline void bbr2_start_up(struct bbr2 *b, const struct bbr2_now *now, u32 sample_bw)
{
	b->ack_phase = BBR2_ACKS_PROBE_STARTING;
	bbr2_start_round(b, now);
	b->cycle_stamp_us = now->us;
	bbr2_begin_up(b, sample_bw);
	b->phase = BBR2_PROBE_BW_UP;
	bbr2_raise_slope(b, now);
}

#endif /* CCACTL_BBR2_CYCLE_BPF_H */
