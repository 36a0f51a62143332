/* SPDX-License-Identifier: GPL-2.0 */
/*
 * BBR version 1's model of a token-bucket policer ("An Internet-Wide Analysis of Traffic Policing", SIGCOMM 2016): two
 * consecutive intervals that lose much and deliver at about the same rate. An interval begins and ends with a loss,
 * when the bucket has just run empty; its length is counted in rounds.
 */
#ifndef CCACTL_BBR_POLICER_BPF_H
#define CCACTL_BBR_POLICER_BPF_H

#include "bbr_common.bpf.h"

/* The values of tcp_bbr.c, where they are called lt ("long-term"). */
#define BBR_POLICER_MIN_ROUNDS 4U /* shortest interval */
#define BBR_POLICER_MAX_ROUNDS (4 * BBR_POLICER_MIN_ROUNDS)
#define BBR_POLICER_LOSS       50U            /* lossy: lost / delivered >= 50 / 256 */
#define BBR_POLICER_RATIO      (BBR_UNIT / 8) /* two rates agree when they differ by at most an eighth... */
#define BBR_POLICER_DIFF_Bps   (4000 / 8)     /* ... or by at most 4 kbit/s */
#define BBR_POLICER_USE_ROUNDS 48             /* how long the policed rate is believed */

struct bbr_policer {
	u32 bw;              /* rate of the last interval, packets/us << 24; 0 = none */
	u32 start_delivered; /* the interval's start: tp->delivered, */
	u32 start_ms;        /* time, */
	u32 start_lost;      /* tp->lost */
	u32 is_sampling : 1;
	u32 in_use : 1; /* bw replaces the model's bandwidth */
	u32 rounds : 7; /* of the interval, or since bw is in use */
	u32 unused : 23;
};

static __always_inline void bbr_policer_start_interval(struct bbr_policer *policer, const struct tcp_sock *tp)
{
	policer->start_ms = tp->delivered_mstamp / USEC_PER_MSEC;
	policer->start_delivered = tp->delivered;
	policer->start_lost = tp->lost;
	policer->rounds = 0;
}

static __always_inline void bbr_policer_reset(struct bbr_policer *policer, const struct tcp_sock *tp)
{
	policer->bw = 0;
	policer->in_use = 0;
	policer->is_sampling = 0;
	bbr_policer_start_interval(policer, tp);
}

/* Ends an interval of that rate; 1 when it agrees with the one before: there is a policer. */
static __always_inline int bbr_policer_end_interval(struct bbr_policer *policer, const struct tcp_sock *tp, u32 bw)
{
	if (policer->bw) {
		u32 diff = bw > policer->bw ? bw - policer->bw : policer->bw - bw;

		if (diff * BBR_UNIT <= BBR_POLICER_RATIO * policer->bw ||
		    bbr_bytes_per_s(tp, diff, BBR_UNIT, pacing_margin) <= BBR_POLICER_DIFF_Bps) {
			policer->bw = (bw + policer->bw) >> 1;
			policer->in_use = 1;
			policer->rounds = 0;
			return 1;
		}
	}
	policer->bw = bw;
	bbr_policer_start_interval(policer, tp);
	return 0;
}

/* Counts the rounds for which a rate has been in use; 1 when it has been believed for long enough and was given up. */
static __always_inline int bbr_policer_expire(struct bbr_policer *policer, const struct tcp_sock *tp, int round_start)
{
	if (!round_start)
		return 0;
	policer->rounds++;
	if (policer->rounds < BBR_POLICER_USE_ROUNDS)
		return 0;
	bbr_policer_reset(policer, tp);
	return 1;
}

/* Takes an ACK in while no rate is in use; 1 when it reveals a policer. */
static __always_inline int bbr_policer_sample(struct bbr_policer *policer, const struct tcp_sock *tp, int round_start,
					      int losses, int is_app_limited)
{
	u32 lost, delivered, duration_ms;

	if (!policer->is_sampling) {
		if (!losses)
			return 0;
		bbr_policer_start_interval(policer, tp);
		policer->is_sampling = 1;
	}
	/* The rate of an application says nothing about a policer. */
	if (is_app_limited) {
		bbr_policer_reset(policer, tp);
		return 0;
	}

	if (round_start)
		policer->rounds++;
	if (policer->rounds < BBR_POLICER_MIN_ROUNDS)
		return 0;
	if (policer->rounds > BBR_POLICER_MAX_ROUNDS) {
		bbr_policer_reset(policer, tp);
		return 0;
	}
	if (!losses)
		return 0;

	lost = tp->lost - policer->start_lost;
	delivered = tp->delivered - policer->start_delivered;
	if (!delivered || (lost << BBR_SCALE) < BBR_POLICER_LOSS * delivered)
		return 0;
	duration_ms = (u32)(tp->delivered_mstamp / USEC_PER_MSEC) - policer->start_ms;
	if ((s32)duration_ms < 1)
		return 0;
	if (duration_ms >= ~0U / USEC_PER_MSEC) {
		bbr_policer_reset(policer, tp);
		return 0;
	}
	return bbr_policer_end_interval(policer, tp, delivered * BW_UNIT / (duration_ms * USEC_PER_MSEC));
}

#endif /* CCACTL_BBR_POLICER_BPF_H */
