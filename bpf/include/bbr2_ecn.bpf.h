/* SPDX-License-Identifier: GPL-2.0 */
/*
 * BBRv2: ECN. Off by default, as in v2alpha: the response is meant for paths that mark at a shallow queue, and mainline
 * has no way to tell such a path. It needs a receiver that echoes each mark (DCTCP, AccECN); a classic one repeats ECE
 * for a round, and the mark rate comes out too high.
 */
#ifndef CCACTL_BBR2_ECN_BPF_H
#define CCACTL_BBR2_ECN_BPF_H

#include "bbr2_rules.bpf.h"

/* Full pipe by the signs of congestion: remember how much was in it. */
static __always_inline void bbr2_startup_too_high(struct bbr2 *b, struct bbr2_now *now)
{
	b->full_pipe = 1;
	b->inflight_hi = bbr2_startup_safe_inflight(b, bbr2_inflight(b, now, bbr2_max_bw(b), BBR2_UNIT));
}

static __always_inline void bbr2_note_ecn(struct bbr2 *b, const struct bbr2_now *now, const struct bbr2_sample *s)
{
	if (!ecn_enable)
		return;
	if (now->delivered_ce != b->seen_delivered_ce || s->ece) {
		b->ecn_in_round = 1;
		b->ecn_in_cycle = 1;
	}
	b->seen_delivered_ce = now->delivered_ce;
}

/* Start of a round: alpha follows the share of marked packets in the round before. */
static __always_inline void bbr2_update_ecn_alpha(struct bbr2 *b, struct bbr2_now *now)
{
	u32 delivered = now->delivered - b->round_delivered;
	u32 marked = now->delivered_ce - b->round_delivered_ce;
	u32 share;

	if (!ecn_enable || !delivered)
		return;
	b->round_delivered = now->delivered;
	b->round_delivered_ce = now->delivered_ce;
	if (bbr2_ecn_path_is_short(b))
		b->ecn_eligible = 1;
	if (!b->ecn_eligible)
		return;
	share = (u64)marked * BBR2_UNIT / delivered;
	b->ecn_alpha -= b->ecn_alpha >> BBR2_ECN_ALPHA_SHIFT;
	b->ecn_alpha = min(b->ecn_alpha + (share >> BBR2_ECN_ALPHA_SHIFT), (u32)BBR2_UNIT);

	if (b->full_pipe || !ecn_thresh)
		return;
	b->startup_ecn_rounds = share >= ecn_thresh ? b->startup_ecn_rounds + 1 : 0;
	if (b->startup_ecn_rounds >= BBR2_ECN_FULL_ROUNDS)
		bbr2_startup_too_high(b, now);
}

#endif /* CCACTL_BBR2_ECN_BPF_H */
