/* SPDX-License-Identifier: GPL-2.0 */
/* e^-x in integers. */
#ifndef CCACTL_EXP_BPF_H
#define CCACTL_EXP_BPF_H

#include "cc.bpf.h"

#define CC_EXP_LINEAR_BITS 8  /* so many low bits of x are small enough for 1 - x */
#define CC_EXP_FACTORS     16 /* and a factor each for those above */
/* 2^32 * 10^-6, rounded down: what 1 - x loses per unit of x. */
#define CC_EXP_LINEAR_STEP 4294U

/*
 * 2^16 * e^-y - 1: first for y = 0, a bit that is not set, then for y = 0.000256 * 2^i, bit i + 8 of x. The numbers are
 * data of net/ipv4/tcp_cdg.c, without which the probabilities would differ from the native module's. (An array of 32
 * bytes, as without the first one, becomes a section that libbpf cannot describe.)
 */
static const u16 cc_exp_factor[CC_EXP_FACTORS + 1] = {
    65535, 65518, 65501, 65468, 65401, 65267, 65001, 64470, 63422, 61378, 57484, 50423, 38795, 22965, 8047, 987, 14,
};

/* e^(-x / 10^6) * (2^32 - 1): the product of one factor per bit that is set. 0 for x >= 2^24. */
static __always_inline u32 cc_exp_neg(u32 x_micro)
{
	u32 bits = x_micro >> CC_EXP_LINEAR_BITS;
	u64 result = 0xffffffffU - (x_micro & ((1U << CC_EXP_LINEAR_BITS) - 1)) * CC_EXP_LINEAR_STEP;
	u32 i;

	if (bits >> CC_EXP_FACTORS)
		return 0;
	for (i = 0; i < CC_EXP_FACTORS; i++)
		result = result * (cc_exp_factor[bits >> i & 1 ? i + 1 : 0] + 1U) >> 16;
	return result;
}

#endif /* CCACTL_EXP_BPF_H */
