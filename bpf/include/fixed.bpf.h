/* SPDX-License-Identifier: GPL-2.0 */
/* Integer arithmetic that several algorithms need: cube root, logarithm, windowed maximum; the square root is in roots.bpf.h. */
#ifndef CCACTL_FIXED_BPF_H
#define CCACTL_FIXED_BPF_H

#include "cc.bpf.h"
#include "roots.bpf.h"

/*
 * 64 * cbrt(i) - 10 for the six highest bits i of a number, with the small corrections that native cubic carries: the
 * table and the constants below are data of net/ipv4/tcp_cubic.c, without which K would differ by a few units from the
 * native module's.
 */
static const u8 cc_cbrt_start[64] = {
    0,   54,  54,  54,  118, 118, 118, 118, 123, 129, 134, 138, 143, 147, 151, 156, 157, 161, 164, 168, 170, 173,
    176, 179, 181, 185, 187, 190, 192, 194, 197, 199, 200, 202, 204, 206, 209, 211, 213, 215, 217, 219, 221, 222,
    224, 225, 227, 229, 231, 232, 234, 236, 237, 239, 240, 242, 244, 245, 246, 248, 250, 251, 252, 254,
};

/* Cube root, about 0.2 % off on average: a start from the table and one Newton step x' = (2x + a / x^2) / 3. */
static __always_inline u32 cc_cube_root(u64 a)
{
	u32 bits = cc_fls64(a);
	u32 group, x;

	if (bits < 7)
		return (cc_cbrt_start[a & 63] + 35U) >> 6;
	/* 84 / 256 is a third of the bits; what remains above 3 * group bits are the six highest. */
	group = ((bits * 84) >> 8) - 1;
	x = ((cc_cbrt_start[(a >> (group * 3)) & 63] + 10U) << group) >> 6;
	x = 2 * x + (u32)(a / ((u64)x * (x - 1)));
	return (x * 341) >> 10;
}

/*
 * Maximum over a sliding window in constant space, by Kathleen Nichols' method as in lib/win_minmax.c: the best sample,
 * the best after it, and the best after that, so that a successor is at hand when the best one leaves the window. Time
 * is any counter that the caller likes (rounds for BBR).
 */
struct cc_window_sample {
	u32 at;
	u32 value;
};

struct cc_window {
	struct cc_window_sample best[3];
};

static __always_inline u32 cc_window_get(const struct cc_window *window)
{
	return window->best[0].value;
}

static __always_inline u32 cc_window_reset(struct cc_window *window, u32 at, u32 value)
{
	struct cc_window_sample sample = {.at = at, .value = value};

	window->best[0] = window->best[1] = window->best[2] = sample;
	return value;
}

/* Takes a sample in and returns the maximum over the last `length` units of time. */
static __always_inline u32 cc_window_max(struct cc_window *window, u32 length, u32 at, u32 value)
{
	struct cc_window_sample sample = {.at = at, .value = value};
	u32 age;

	if (value >= window->best[0].value || at - window->best[2].at > length)
		return cc_window_reset(window, at, value);
	if (value >= window->best[1].value)
		window->best[1] = window->best[2] = sample;
	else if (value >= window->best[2].value)
		window->best[2] = sample;

	age = at - window->best[0].at;
	if (age > length) {
		/* The best one is too old; its successor may be, too. */
		window->best[0] = window->best[1];
		window->best[1] = window->best[2];
		window->best[2] = sample;
		if (at - window->best[0].at > length) {
			window->best[0] = window->best[1];
			window->best[1] = window->best[2];
			window->best[2] = sample;
		}
	} else if (window->best[1].at == window->best[0].at && age > length / 4) {
		/* No second choice in the first quarter: take one from the second. */
		window->best[1] = window->best[2] = sample;
	} else if (window->best[2].at == window->best[1].at && age > length / 2) {
		/* Likewise a third choice from the second half. */
		window->best[2] = sample;
	}
	return cc_window_get(window);
}

#endif /* CCACTL_FIXED_BPF_H */
