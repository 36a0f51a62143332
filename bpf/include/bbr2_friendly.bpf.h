/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The detector and the reaction of F-BBRv2 (Cho & Cho 2023) as a variant of the shared core: include it before
 * bbr2.bpf.h. f-bbrv2.bpf.c has the description.
 */
#ifndef CCACTL_BBR2_FRIENDLY_BPF_H
#define CCACTL_BBR2_FRIENDLY_BPF_H

#include "cc.bpf.h"

/* Detector: the current delay must exceed the first one by this factor (thousandths), strictly. */
CC_TUNABLE(u32, alpha, 1200);
/* Pacing gain of CRUISE while a loss-based flow is detected (thousandths). */
CC_TUNABLE(u32, cruise_gain, 1150);
/* RTprop_current: 0 = min_rtt (10-s window, forms the BDP), 1 = probe_rtt_min (5-s window, reacts faster). */
CC_TUNABLE(u32, rtprop_estimator, 0);
/* RTprop: 0 = the first sample for good, 1 = the lowest sample so far (for a flow that joined a filled queue). */
CC_TUNABLE(u32, rtprop_anchor, 0);
/* Take RTprop_current as the new RTprop after so many minutes (a path that has become longer); 0 = never. */
CC_TUNABLE(u32, reanchor_min, 0);
/* The test must hold for so many whole rounds before the gain is raised. */
CC_TUNABLE(u32, detect_rounds, 0);
/* 1 = CRUISE leaves no headroom below inflight_hi while a loss-based flow is detected. */
CC_TUNABLE(u32, drop_headroom, 0);

#define FBBR2_US_PER_MINUTE     60000000ULL
#define FBBR2_MAX_RISING_ROUNDS 255

enum fbbr2_estimator {
	FBBR2_MIN_RTT,
	FBBR2_PROBE_RTT_MIN,
};

enum fbbr2_anchor {
	FBBR2_FIRST_SAMPLE,
	FBBR2_LOWEST_SAMPLE,
};

#define BBR2_HAS_VARIANT
struct bbr2_variant {
	u64 anchor_stamp_us; /* when rtprop_first_us was taken */
	u32 rtprop_first_us;
	u8 rising; /* the test holds */
	u8 rising_rounds;
	u8 detected; /* it has held for long enough */
	u8 pad;
};

#include "bbr2_state.bpf.h"

enum fbbr2_bound {
	BBR2_BOUND_DETECTED = BBR2_BOUND_VARIANT,    /* the delay says that a loss-based flow shares the link */
	BBR2_BOUND_RAISED = BBR2_BOUND_VARIANT << 1, /* CRUISE with the raised gain */
};

static __always_inline void fbbr2_anchor_at(struct bbr2_variant *v, const struct bbr2_now *now, u32 rtt_us)
{
	v->rtprop_first_us = rtt_us;
	v->anchor_stamp_us = now->us;
}

/* The handshake has usually given a sample already. */
static __always_inline void bbr2_variant_init(struct bbr2 *b, const struct bbr2_now *now)
{
	fbbr2_anchor_at(&b->variant, now, b->min_rtt_us);
}

static __always_inline void fbbr2_update_anchor(struct bbr2 *b, const struct bbr2_now *now, u32 rtt_us, u32 current_us)
{
	struct bbr2_variant *v = &b->variant;

	if (rtt_us != BBR_NO_RTT &&
	    (v->rtprop_first_us == BBR_NO_RTT || (rtprop_anchor == FBBR2_LOWEST_SAMPLE && rtt_us < v->rtprop_first_us)))
		fbbr2_anchor_at(v, now, rtt_us);
	else if (reanchor_min && bbr2_elapsed(now, v->anchor_stamp_us, reanchor_min * FBBR2_US_PER_MINUTE))
		fbbr2_anchor_at(v, now, current_us);
}

static __always_inline void bbr2_variant_update(struct bbr2 *b, const struct bbr2_now *now, const struct bbr2_sample *s)
{
	struct bbr2_variant *v = &b->variant;
	u32 current_us = rtprop_estimator == FBBR2_PROBE_RTT_MIN ? b->probe_rtt_min_us : b->min_rtt_us;

	fbbr2_update_anchor(b, now, s->rtt_us, current_us);
	if (current_us == BBR_NO_RTT || (u64)current_us * BBR2_UNIT <= (u64)v->rtprop_first_us * alpha) {
		v->rising = 0;
		v->rising_rounds = 0;
		v->detected = 0;
		return;
	}
	/* A round counts once it has begun and ended above the threshold. */
	if (v->rising && b->round_start && v->rising_rounds < FBBR2_MAX_RISING_ROUNDS)
		v->rising_rounds++;
	v->rising = 1;
	v->detected = v->rising_rounds >= detect_rounds;
}

static __always_inline u32 bbr2_variant_cruise_gain(const struct bbr2 *b)
{
	return b->variant.detected ? cruise_gain : BBR2_UNIT;
}

static __always_inline int bbr2_variant_drops_headroom(const struct bbr2 *b)
{
	return drop_headroom && b->variant.detected;
}

static __always_inline u32 bbr2_variant_bounds(const struct bbr2 *b)
{
	if (!b->variant.detected)
		return 0;
	return BBR2_BOUND_DETECTED | (b->phase == BBR2_CRUISE ? BBR2_BOUND_RAISED : 0);
}

/* v0 of the trace: RTprop. */
static __always_inline s64 bbr2_variant_v0(const struct bbr2 *b, const struct bbr2_sample *s)
{
	return b->variant.rtprop_first_us == BBR_NO_RTT ? -1 : (s64)b->variant.rtprop_first_us;
}

#endif /* CCACTL_BBR2_FRIENDLY_BPF_H */
