/* SPDX-License-Identifier: GPL-2.0 */
/* Highest bit and square root of integers: what needs no socket. */
#ifndef CCACTL_ROOTS_BPF_H
#define CCACTL_ROOTS_BPF_H

#include "kernel_types.h"
#ifndef CCA_HOST
#include <bpf/bpf_helpers.h>
#endif

/* Number of the highest bit set, counted from 1; 0 for 0. By halving: six steps, no loop for the verifier to follow. */
static __always_inline u32 cc_fls64(u64 x)
{
	u32 bits = 0;

	if (x >> 32) {
		bits += 32;
		x >>= 32;
	}
	if (x >> 16) {
		bits += 16;
		x >>= 16;
	}
	if (x >> 8) {
		bits += 8;
		x >>= 8;
	}
	if (x >> 4) {
		bits += 4;
		x >>= 4;
	}
	if (x >> 2) {
		bits += 2;
		x >>= 2;
	}
	if (x >> 1) {
		bits += 1;
		x >>= 1;
	}
	return bits + (u32)x;
}

/*
 * Square root, rounded down. Newton's x' = (x + a / x) / 2 from the power of two above it: after five steps less than
 * one too large. No comparison in a loop, which would multiply the paths that the verifier follows.
 */
static __always_inline u32 cc_sqrt64(u64 a)
{
	u64 x = 1ULL << ((cc_fls64(a) + 1) / 2);

	if (!a)
		return 0;
	x = (x + a / x) >> 1;
	x = (x + a / x) >> 1;
	x = (x + a / x) >> 1;
	x = (x + a / x) >> 1;
	x = (x + a / x) >> 1;
	return x > a / x ? x - 1 : x;
}

#endif
