/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A window in fractions of a packet, for laws that move it by less than one packet per ACK in either direction: whole
 * packets in the upper 32 bits, which are tp->snd_cwnd, and 2^-32 packets in the lower, which the algorithm keeps.
 */
#ifndef CCACTL_CC_FRACTION_BPF_H
#define CCACTL_CC_FRACTION_BPF_H

#include "cc.bpf.h"

#define CC_ONE_PACKET (1ULL << 32)

static __always_inline u64 cc_fine_cwnd(const struct tcp_sock *tp, u32 fraction)
{
	return tp->snd_cwnd * CC_ONE_PACKET | fraction;
}

/* Sets cwnd to the whole packets, at least floor_pkts and never 0; returns the fraction, to be kept. */
static __always_inline u32 cc_set_fine_cwnd(struct tcp_sock *tp, u64 fine_pkts, u32 floor_pkts)
{
	fine_pkts = max(fine_pkts, max(floor_pkts, 1U) * CC_ONE_PACKET);
	tp->snd_cwnd = clamp((u32)(fine_pkts >> 32), 1U, tp->snd_cwnd_clamp);
	return (u32)fine_pkts;
}

#endif /* CCACTL_CC_FRACTION_BPF_H */
