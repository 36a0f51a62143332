/* SPDX-License-Identifier: GPL-2.0 */
/* What version 2 decides in its own way (tcp_bbr2.c of google/bbr v2alpha). bbr2_rules_v3.bpf.h is the counterpart. */
#ifndef CCACTL_BBR2_RULES_V2_BPF_H
#define CCACTL_BBR2_RULES_V2_BPF_H

#include "bbr2_paper.bpf.h"

CC_GAIN(u32, probe_inflight_gain, 1250, 1000, 10000, "UP ends with so much in flight, in BDP", BBR2_SOURCE);

/* The latest signals of a loss round start anew as soon as the bounds have taken them in. */
#define BBR2_LATEST_KEPT_TO_END_OF_ACK 0

/* Full pipe ---------------------------------------------- */

/* Faster sending has not raised the highest delivery rate for some rounds. Nothing to find once the pipe is full. */
static __always_inline void bbr2_check_full_bw(struct bbr2 *b, const struct bbr2_sample *s)
{
	u32 bw = bbr2_max_bw(b);

	if (b->full_pipe || !b->round_start || s->app_limited)
		return;
	if (bw >= bbr2_scale(b->full_bw, full_bw_growth)) {
		b->full_bw = bw;
		b->full_bw_count = 0;
		return;
	}
	b->full_bw_count++;
	b->full_pipe = b->full_bw_count >= full_bw_rounds;
}

/* A timeout: the rounds without growth still count. */
static __always_inline void bbr2_full_bw_after_timeout(struct bbr2 *b)
{
	b->full_bw = 0;
}

static __always_inline void bbr2_full_bw_after_undo(struct bbr2 *b)
{
	b->full_bw = 0;
	b->full_bw_count = 0;
}

/* inflight_hi when STARTUP has met too much loss: the BDP. */
static __always_inline u32 bbr2_startup_safe_inflight(const struct bbr2 *b, u32 bdp)
{
	return bdp;
}

/* DRAIN ends with a BDP in flight, and not before. */
static __always_inline int bbr2_drain_has_lasted(struct bbr2 *b, int entered)
{
	return 0;
}

/* The probe ---------------------------------------------- */

static __always_inline void bbr2_begin_up(struct bbr2 *b, u32 sample_bw)
{
}

static __always_inline u32 bbr2_up_cwnd_gain(void)
{
	return cwnd_gain;
}

/* UP has gone on for long enough: a min_rtt, and so much in flight. */
static __always_inline int bbr2_up_is_done(struct bbr2 *b, const struct bbr2_now *now, const struct bbr2_sample *s,
					   u32 inflight)
{
	return bbr2_elapsed(now, b->cycle_stamp_us, b->min_rtt_us) &&
	       inflight >= bbr2_inflight(b, now, bbr2_max_bw(b), probe_inflight_gain);
}

/* Packets acknowledged in UP while the window was not used up buy no growth later. */
static __always_inline void bbr2_up_not_limited(struct bbr2 *b)
{
	b->probe_up_acks = 0;
}

/* Delay -------------------------------------------------- */

/* A sample as low as the minimum renews it: PROBE_RTT comes a whole interval after the last such sample. */
static __always_inline int bbr2_renews_min_rtt(u32 rtt_us, u32 min_us)
{
	return rtt_us <= min_us;
}

/* Losses ------------------------------------------------- */

/* Packets of its flight that a repaired tail loss counts for. */
static __always_inline u32 bbr2_tlp_lost(const struct bbr2_sample *s)
{
	return max(s->lost, 1U);
}

/* Does that loss cut the flight at the packet where the loss rate was exceeded? */
#define BBR2_TLP_CUTS_AT_THRESHOLD 1

/* The ACK of a repairing probe ends no round: its loss belongs to the round that is under way. */
#define BBR2_TLP_ACK_ENDS_ROUND 0

/* ECN ---------------------------------------------------- */

static __always_inline int bbr2_ecn_path_is_short(const struct bbr2 *b)
{
	return b->min_rtt_us <= ecn_max_rtt_us;
}

/* At the threshold is too much. */
static __always_inline int bbr2_ecn_exceeds(u32 marked, u32 delivered)
{
	return (u64)marked * BBR2_UNIT >= (u64)delivered * ecn_thresh;
}

/* What a marked round leaves of the bounds. Both, rate and flight. */
static __always_inline void bbr2_ecn_lower_bounds(struct bbr2 *b, u32 cwnd, u32 keep, u32 *bw_lo, u32 *inflight_lo)
{
	*inflight_lo = bbr2_scale(min(b->inflight_lo, cwnd), keep);
	*bw_lo = bbr2_scale(min(b->bw_lo, bbr2_max_bw(b)), keep);
}

#endif /* CCACTL_BBR2_RULES_V2_BPF_H */
