/* SPDX-License-Identifier: GPL-2.0 */
/* BBRv2 with the window of its model: the hooks of a variant that has another one at times, all empty. */
#ifndef CCACTL_BBR2_NO_WINDOW_BPF_H
#define CCACTL_BBR2_NO_WINDOW_BPF_H

#include "bbr2_state.bpf.h"

/* An episode of loss begins. */
static __always_inline void bbr2_variant_cut(struct bbr2 *b, const struct tcp_sock *tp)
{
}

/* The losses were none. */
static __always_inline void bbr2_variant_undo(struct bbr2 *b)
{
}

/* Last on each ACK: cwnd and pacing rate are those of the model. */
static __always_inline void bbr2_variant_control(struct sock *sk, struct bbr2 *b, const struct bbr2_now *now,
						 const struct bbr2_sample *s)
{
}

/* PROBE_RTT comes after so many of its intervals. */
static __always_inline u32 bbr2_variant_probe_rtt_intervals(const struct bbr2 *b)
{
	return 1;
}

#endif /* CCACTL_BBR2_NO_WINDOW_BPF_H */
