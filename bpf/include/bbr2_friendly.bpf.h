/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The detector and the reaction of F-BBRv2 (Cho & Cho 2023) as a variant of the shared core: include it before
 * bbr2.bpf.h. f-bbrv2.bpf.c has the description.
 */
#ifndef CCACTL_BBR2_FRIENDLY_BPF_H
#define CCACTL_BBR2_FRIENDLY_BPF_H

#include "cc.bpf.h"

CC_GAIN(u32, alpha, 1200, 1000, 100000,
	"a loss-based flow is detected when the current RTprop exceeds the first by this factor", "Cho & Cho 2023");
CC_GAIN(u32, cruise_gain, 1150, 100, 10000, "pacing gain of CRUISE while a loss-based flow is detected",
	"Cho & Cho 2023");
CC_TUNABLE(u32, rtprop_estimator, 0, 0, 1, "",
	   "current RTprop: 0 = min_rtt (10-s window), 1 = probe_rtt_min (5-s window)", "left open by the paper");
CC_TUNABLE(u32, rtprop_anchor, 0, 0, 1, "",
	   "first RTprop: 0 = the first sample, 1 = the lowest sample of the connection", "left open by the paper");
CC_TUNABLE(u32, reanchor_min, 0, 0, 100000, "min", "take the current RTprop as the first one after so long; 0 = never",
	   "left open by the paper");
CC_TUNABLE(u32, detect_rounds, 0, 0, 255, "rounds",
	   "whole rounds for which the test must hold before the gain is raised", "left open by the paper");
CC_TUNABLE(u32, drop_headroom, 0, 0, 1, "",
	   "1 = no headroom below inflight_hi in CRUISE while a loss-based flow is detected", "left open by the paper");

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
#include "bbr2_no_window.bpf.h"

CC_TRACE_V0("rtprop_first_us", "the delay that the detector compares with; -1 = none yet");
CC_TRACE_V1("bounds_bits",
	    "sum of: 1 cwnd cut to inflight_hi, 2 to inflight_hi less headroom, 4 to inflight_lo, 8 rate follows "
	    "bw_lo, 16 cwnd used up, 32 loss-based flow detected, 64 cruise gain raised (with 16: masked by cwnd)");

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
	return BBR2_BOUND_DETECTED | (b->phase == BBR2_PROBE_BW_CRUISE ? BBR2_BOUND_RAISED : 0);
}

/* v0 of the trace: RTprop. */
static __always_inline s64 bbr2_variant_v0(const struct bbr2 *b, const struct bbr2_sample *s)
{
	return b->variant.rtprop_first_us == BBR_NO_RTT ? -1 : (s64)b->variant.rtprop_first_us;
}

#endif /* CCACTL_BBR2_FRIENDLY_BPF_H */
