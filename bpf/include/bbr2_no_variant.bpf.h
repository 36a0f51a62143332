/* SPDX-License-Identifier: GPL-2.0 */
/* BBRv2 as it is: the hooks that a variant of it may take, all empty. See f-bbrv2.bpf.c for one that is not. */
#ifndef CCACTL_BBR2_NO_VARIANT_BPF_H
#define CCACTL_BBR2_NO_VARIANT_BPF_H

struct bbr2_variant {
};

#include "bbr2_state.bpf.h"
#include "bbr2_no_window.bpf.h"

static __always_inline void bbr2_variant_init(struct bbr2 *b, const struct bbr2_now *now)
{
}

/* After the model has taken in an ACK, before the gains are chosen. */
static __always_inline void bbr2_variant_update(struct bbr2 *b, const struct bbr2_now *now, const struct bbr2_sample *s)
{
}

/* Pacing gain of CRUISE. */
static __always_inline u32 bbr2_variant_cruise_gain(const struct bbr2 *b)
{
	return BBR2_UNIT;
}

/* True: CRUISE may use inflight_hi to the full. */
static __always_inline int bbr2_variant_drops_headroom(const struct bbr2 *b)
{
	return 0;
}

/* Bits to add to the trace's bounds. */
static __always_inline u32 bbr2_variant_bounds(const struct bbr2 *b)
{
	return 0;
}

/* v0 of the trace: losses of the flight from which the last sample comes, in thousandths; -1: its burst is not known.
 */
static __always_inline s64 bbr2_variant_v0(const struct bbr2 *b, const struct bbr2_sample *s)
{
	if (!s->ring_hit)
		return -1;
	return s->tx_in_flight ? (u64)s->lost * BBR2_UNIT / s->tx_in_flight : 0;
}

#endif /* CCACTL_BBR2_NO_VARIANT_BPF_H */
