/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What version 3 decides in its own way (tcp_bbr.c of google/bbr v3). bbr2_rules_v2.bpf.h is the counterpart, with the
 * same functions. "Draft" is draft-ietf-ccwg-bbr.
 */
#ifndef CCACTL_BBR2_RULES_V3_BPF_H
#define CCACTL_BBR2_RULES_V3_BPF_H

#include "bbr2_path.bpf.h"

CC_GAIN(u32, up_cwnd_gain, 2250, 1000, 10000, "window in UP, in BDP", BBR2_SOURCE);
CC_TUNABLE(u32, drain_max_rounds, 0, 0, 254, "rounds",
	   "DRAIN ends after more than so many rounds in any case; 0 = never, the draft has 3", BBR2_SOURCE);

/* The latest signals of a loss round are needed until the ACK has been taken in: STARTUP's inflight_hi uses them. */
#define BBR2_LATEST_KEPT_TO_END_OF_ACK 1

/* Full pipe ---------------------------------------------- */

static __always_inline void bbr2_restart_full_bw(struct bbr2 *b, u32 sample_bw)
{
	b->full_bw = sample_bw;
	b->full_bw_count = 0;
	b->full_bw_now = 0;
}

/*
 * Faster sending has not raised the delivery rate for some rounds. In any phase, because UP asks again; and with the
 * sample instead of the maximum, which in UP would still hold the rate of the cycle before. Growth counts in any ACK, a
 * round without growth at its end.
 */
static __always_inline void bbr2_check_full_bw(struct bbr2 *b, const struct bbr2_sample *s)
{
	if (b->full_bw_now || s->app_limited || !s->valid)
		return;
	if (s->bw >= bbr2_scale(b->full_bw, full_bw_growth)) {
		bbr2_restart_full_bw(b, s->bw);
		return;
	}
	if (!b->round_start)
		return;
	b->full_bw_count++;
	b->full_bw_now = b->full_bw_count >= full_bw_rounds;
	if (b->full_bw_now)
		b->full_pipe = 1;
}

static __always_inline void bbr2_full_bw_after_timeout(struct bbr2 *b)
{
	bbr2_restart_full_bw(b, 0);
}

static __always_inline void bbr2_full_bw_after_undo(struct bbr2 *b)
{
	bbr2_restart_full_bw(b, 0);
}

/* inflight_hi when STARTUP has met too much loss: what arrived in the last round, if that was more than the BDP. */
static __always_inline u32 bbr2_startup_safe_inflight(const struct bbr2 *b, u32 bdp)
{
	return max(bdp, b->inflight_latest);
}

static __always_inline int bbr2_drain_has_lasted(struct bbr2 *b, int entered)
{
	if (entered)
		b->drain_rounds = 0;
	else if (b->round_start && b->drain_rounds < BBR2_ROUNDS_CAP)
		b->drain_rounds++;
	return drain_max_rounds && b->drain_rounds > drain_max_rounds;
}

/* Version 2 has tunables for what a paper says of these (bbr2_paper.bpf.h). */
static __always_inline void bbr2_bound_by_startup(struct bbr2 *b, u32 bdp)
{
}

static __always_inline int bbr2_startup_ends_at_once(void)
{
	return 0;
}

static __always_inline void bbr2_bound_by_clean_up(struct bbr2 *b, u32 inflight)
{
}

static __always_inline u32 bbr2_down_rounds(void)
{
	return 0;
}

/* The probe ---------------------------------------------- */

static __always_inline void bbr2_begin_up(struct bbr2 *b, u32 sample_bw)
{
	bbr2_restart_full_bw(b, sample_bw);
}

static __always_inline u32 bbr2_up_cwnd_gain(void)
{
	return up_cwnd_gain;
}

/* UP has gone on for long enough: no more bandwidth came of it, and inflight_hi was not the reason. */
static __always_inline int bbr2_up_is_done(struct bbr2 *b, const struct bbr2_now *now, const struct bbr2_sample *s,
					   u32 inflight)
{
	if (now->cwnd_limited && now->cwnd >= b->inflight_hi) {
		bbr2_restart_full_bw(b, s->bw);
		return 0;
	}
	return b->full_bw_now;
}

/* What was acknowledged in UP counts, whether the window was used up all the time or not. */
static __always_inline void bbr2_up_not_limited(struct bbr2 *b)
{
}

/* Delay -------------------------------------------------- */

/* Only a lower sample renews the minimum: PROBE_RTT keeps its interval on a path of constant delay. */
static __always_inline int bbr2_renews_min_rtt(u32 rtt_us, u32 min_us)
{
	return rtt_us < min_us;
}

/* Losses ------------------------------------------------- */

/* Packets of its flight that a repaired tail loss counts for. */
static __always_inline u32 bbr2_tlp_lost(const struct bbr2_sample *s)
{
	return 1;
}

/* inflight_hi becomes that flight itself. */
#define BBR2_TLP_CUTS_AT_THRESHOLD 0

/* The ACK of a repairing probe may end the round; the latest signals, of before the tail loss, are kept. */
#define BBR2_TLP_ACK_ENDS_ROUND 1

/* ECN ---------------------------------------------------- */

static __always_inline int bbr2_ecn_path_is_short(const struct bbr2 *b)
{
	return ecn_factor && (!ecn_max_rtt_us || b->min_rtt_us <= ecn_max_rtt_us);
}

/* Above the threshold is too much. */
static __always_inline int bbr2_ecn_exceeds(u32 marked, u32 delivered)
{
	return (u64)marked * BBR2_UNIT > (u64)delivered * ecn_thresh;
}

/* What a marked round leaves of the bounds: only the flight is cut, the rate is not. */
static __always_inline void bbr2_ecn_lower_bounds(struct bbr2 *b, u32 cwnd, u32 keep, u32 *bw_lo, u32 *inflight_lo)
{
	if (b->inflight_lo == BBR2_UNBOUNDED)
		b->inflight_lo = cwnd;
	*inflight_lo = bbr2_scale(b->inflight_lo, keep);
}

#endif /* CCACTL_BBR2_RULES_V3_BPF_H */
