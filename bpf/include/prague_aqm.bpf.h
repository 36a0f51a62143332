/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Prague: which kind of queue gives the marks. RFC 9331 section 4.3 wants a sender to notice a classic one, where Reno
 * and CUBIC starve beside what takes half of a small alpha off. Briscoe, Ahmed, "TCP Prague Fall-back on Detection of a
 * Classic ECN AQM", arXiv 1911.00710, section 3, with the values of the L4S tree.
 *
 * A queue of L4S marks at about a millisecond, so the RTT hardly varies and stays near its minimum. In a classic queue
 * it does neither. Per round, once something has marked:
 *
 *   score += lg(mean deviation / 750 us) / 2 + max(lg((mean - least RTT) / 2 ms), 0) / 2        within 0 and 17
 *
 * Up to 8 nothing happens; from 9 on a mark takes at least 0.625 / 2 of the window, about what CUBIC gives. Between them
 * the floor rises. A queue of tens of milliseconds takes three rounds to it.
 *
 * Mean and deviation have to outlast the saw of the window, so they are the slower the larger ssthresh is.
 */
#ifndef CCACTL_PRAGUE_AQM_BPF_H
#define CCACTL_PRAGUE_AQM_BPF_H

#include "cc.bpf.h"
#include "fixed.bpf.h"

#define PRAGUE_AQM_ONE     (1 << 16) /* scores and logarithms are in 2^-16 */
#define PRAGUE_AQM_STICKY  (8 * PRAGUE_AQM_ONE)
#define PRAGUE_AQM_CLASSIC (PRAGUE_AQM_STICKY + PRAGUE_AQM_ONE)
#define PRAGUE_AQM_HIGHEST (PRAGUE_AQM_CLASSIC + PRAGUE_AQM_STICKY)
#define PRAGUE_AQM_LG_750  625918 /* lg 750 */
#define PRAGUE_AQM_LG_2000 718654 /* lg 2000 */
#define PRAGUE_AQM_SLOWEST 18
#define PRAGUE_AQM_MAX_RTT (1 << 22) /* us: 4 s */

struct prague_aqm {
	u64 mean;      /* RTT in us, times 2^slowness */
	u64 deviation; /* us, times 2^(slowness + 1) */
	s32 score;
	u32 slowness;
};
CC_STORAGE(prague_aqms, struct prague_aqm);

/* The logarithm to base 2 of 1 and more, 0.008 off at the most. */
static __always_inline s32 prague_aqm_lg(u64 x)
{
	u32 bits = cc_fls64(x | 1);
	u64 fraction = ((x | 1) << (64 - bits)) << 1 >> 48;
	u64 bend = fraction * (PRAGUE_AQM_ONE - fraction) >> 16;

	return ((bits - 1) << 16) + fraction + (bend * 22 >> 6);
}

/* A larger window saws more slowly. */
static __always_inline void prague_aqm_adapt(struct prague_aqm *aqm, u32 ssthresh)
{
	u32 lg = cc_fls64(ssthresh | 1) - 1;
	u32 slowness = min(lg + lg / 2 + 1, (u32)PRAGUE_AQM_SLOWEST);

	if (slowness > aqm->slowness) {
		aqm->mean <<= (slowness - aqm->slowness) & 31;
		aqm->deviation <<= (slowness - aqm->slowness) & 31;
	} else {
		aqm->mean >>= (aqm->slowness - slowness) & 31;
		aqm->deviation >>= (aqm->slowness - slowness) & 31;
	}
	aqm->slowness = slowness;
}

/* Each ACK has the RTT of the packet that it acknowledged last; below 1 it has none. */
static __always_inline void prague_aqm_sample(struct sock *sk, s64 rtt_us)
{
	struct prague_aqm *aqm = cc_storage_get(prague_aqms, sk);
	s64 error;

	if (!aqm || rtt_us <= 0)
		return;
	rtt_us = min(rtt_us, (s64)PRAGUE_AQM_MAX_RTT);
	if (!aqm->mean) {
		prague_aqm_adapt(aqm, tcp_sk(sk)->snd_ssthresh);
		aqm->mean = (u64)rtt_us << (aqm->slowness & 31);
		aqm->deviation = 2ULL << (aqm->slowness & 31);
		return;
	}
	error = rtt_us - (s64)(aqm->mean >> (aqm->slowness & 31));
	aqm->mean += error;
	error = error < 0 ? -error : error;
	aqm->deviation += error - (s64)(aqm->deviation >> ((aqm->slowness + 1) & 31));
}

/* At the end of a round on a path where something marks. */
static __always_inline void prague_aqm_judge(struct sock *sk)
{
	struct prague_aqm *aqm = cc_storage_get(prague_aqms, sk);
	u32 least_us = tcp_sk(sk)->rtt_min.s[0].v;
	s32 deviation, score;
	u64 mean_us;

	if (!aqm || !aqm->mean)
		return;
	mean_us = aqm->mean >> (aqm->slowness & 31);
	deviation = prague_aqm_lg(aqm->deviation) - (s32)((aqm->slowness + 1) << 16);
	score = aqm->score + ((max(deviation, 0) - PRAGUE_AQM_LG_750) >> 1); /* BPF divides no signed numbers */
	if (mean_us > least_us) {
		s32 depth = prague_aqm_lg(mean_us - least_us);

		/* A short queue is no sign of L4S, as a classic one is short at times. */
		score += max(depth - PRAGUE_AQM_LG_2000, 0) >> 1;
	}
	aqm->score = clamp(score, 0, PRAGUE_AQM_HIGHEST);
	prague_aqm_adapt(aqm, tcp_sk(sk)->snd_ssthresh);
}

/* What alpha is at least when a mark takes half of it off, in 2^-24. */
static __always_inline u64 prague_aqm_floor(struct sock *sk)
{
	const struct prague_aqm *aqm = cc_storage_get(prague_aqms, sk);

	if (!aqm || aqm->score <= PRAGUE_AQM_STICKY)
		return 0;
	return (u64)(min(aqm->score, PRAGUE_AQM_CLASSIC) - PRAGUE_AQM_STICKY) * 5 << (24 - 16) >> 3;
}

#endif
