// SPDX-License-Identifier: GPL-2.0
/*
 * A static limit of the offered window, in bytes or in bandwidth-delay products: the receiver's remedy that P4 finds in
 * phones (its section III; figure 6: 400 to 800 KB on LTE, at most 200 KB on Wi-Fi).
 *
 * In a nutshell: the window is a number, or a number of BDPs that the receiver measures itself.
 *
 *   bytes > 0       window = bytes
 *   bytes = 0       window = bdp max over ten rounds of (bytes received / time) RTT_min
 *
 * A window of less than one BDP would lower what is measured, round by round; hence bdp >= 1. Where the peer has no
 * timestamps there is no RTT_min, and the window stays the kernel's unless bytes are given.
 *
 * Read in this order: rcv.bpf.h, rcv_core.bpf.h.
 */
#include "rcv.bpf.h"

CC_ALGORITHM("fixed-clamp", "model", "Offers a fixed window, in bytes or in bandwidth-delay products.",
	     "P4, section III; tcp(7), TCP_WINDOW_CLAMP");
CC_COLOR("#775511");

CC_TUNABLE(u32, bytes, 0, 0, 1073741824, "bytes", "the window; 0 = bdp decides", "P4, figure 6");
CC_GAIN(u32, bdp, 2000, 1000, 100000, "the window in bandwidth-delay products", "P4, figure 6");

#define FIXED_CLAMP_ROUNDS    10U
#define FIXED_CLAMP_GAIN_UNIT 1000U

struct fixed_clamp {
	u32 bdp_bytes;  /* the most of the rounds that count, 0 = none has ended */
	u32 next_bytes; /* the most of those since that one */
	u32 age;        /* of bdp_bytes, rounds */
	u32 pad;
};

/* Windowed maximum: when the best is too old, the best of those after it takes its place. */
static __always_inline void fixed_clamp_end_round(struct fixed_clamp *s, const struct rcv_now *now)
{
	u64 bdp_bytes = (u64)now->round_bytes * now->min_rtt_us / max(now->round_us, 1U);
	u32 found = max(min(bdp_bytes, (u64)RCV_MAX_ROUND_BYTES), 1ULL);

	if (found >= s->bdp_bytes) {
		*s = (struct fixed_clamp){.bdp_bytes = found};
		return;
	}
	s->next_bytes = max(s->next_bytes, found);
	if (++s->age < FIXED_CLAMP_ROUNDS)
		return;
	*s = (struct fixed_clamp){.bdp_bytes = s->next_bytes};
}

RCV_WINDOW(fixed_clamp, s, now)
{
	u64 window;

	if (bytes)
		return bytes;
	if (now->round_bytes && now->min_rtt_us)
		fixed_clamp_end_round(s, now);
	window = (u64)s->bdp_bytes * bdp / FIXED_CLAMP_GAIN_UNIT;
	return min(window, (u64)RCV_MAX_ROUND_BYTES);
}
