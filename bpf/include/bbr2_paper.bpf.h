/* SPDX-License-Identifier: GPL-2.0 */
/*
 * BBRv2 as Cho & Cho 2023 describe it in their section 3.2, where that is not what v2alpha does. Each sentence of theirs
 * is a tunable of its own, off by default; the preset p1 has them all.
 */
#ifndef CCACTL_BBR2_PAPER_BPF_H
#define CCACTL_BBR2_PAPER_BPF_H

#include "bbr2_path.bpf.h"

#define BBR2_PAPER "Cho & Cho 2023, 3.2"

CC_SWITCH(u32, up_sets_hi, 0, "a clean UP that has reached its flight sets inflight_hi to it", BBR2_PAPER);
CC_SWITCH(u32, startup_sets_hi, 0, "the end of STARTUP sets inflight_hi to the BDP", BBR2_PAPER);
CC_SWITCH(u32, startup_ends_at_once, 0, "the first flight of STARTUP beyond a threshold ends it, and is inflight_hi",
	  BBR2_PAPER);
CC_TUNABLE(u32, down_rounds, 0, 0, 254, "rounds",
	   "CRUISE begins after so many rounds of DOWN; 0 = when the queue of the probe is gone", BBR2_PAPER);

static __always_inline void bbr2_bound_by_clean_up(struct bbr2 *b, u32 inflight)
{
	if (up_sets_hi)
		b->inflight_hi = max(inflight, min_cwnd);
}

static __always_inline void bbr2_bound_by_startup(struct bbr2 *b, u32 bdp)
{
	if (startup_sets_hi && b->inflight_hi == BBR2_UNBOUNDED)
		b->inflight_hi = max(bdp, min_cwnd);
}

static __always_inline int bbr2_startup_ends_at_once(void)
{
	return startup_ends_at_once;
}

static __always_inline u32 bbr2_down_rounds(void)
{
	return down_rounds;
}

#endif /* CCACTL_BBR2_PAPER_BPF_H */
