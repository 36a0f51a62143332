// SPDX-License-Identifier: GPL-2.0
/*
 * A static limit of the offered window, in bytes or in bandwidth-delay products: the receiver's remedy that P4 finds in
 * phones (its section III; figure 6: 400 to 800 KB on LTE, at most 200 KB on Wi-Fi).
 *
 * In a nutshell: the window is a number, or a number of BDPs that the receiver measures itself.
 *
 *   bytes > 0       window = bytes
 *   bytes = 0       window = bdp max over all rounds of (bytes received / time) RTT_min
 *
 * The maximum is that of the connection. One over the last rounds shrinks beside a rival: the share of the link makes
 * the window, and a smaller window makes a smaller share. bdp >= 1, since less would never fill the path. Where the peer
 * has no timestamps there is no RTT_min, and the window stays the kernel's unless bytes are given.
 *
 * Read in this order: rcv.bpf.h, rcv_core.bpf.h.
 */
#include "rcv.bpf.h"

CC_ALGORITHM("fixed-clamp", "model", "Offers a fixed window, in bytes or in bandwidth-delay products.",
	     "P4, section III; tcp(7), TCP_WINDOW_CLAMP");
CC_COLOR("#775511");

CC_TUNABLE(u32, bytes, 0, 0, 1073741824, "bytes", "the window; 0 = bdp decides", "P4, figure 6");
CC_GAIN(u32, bdp, 1250, 1000, 100000, "the window in bandwidth-delay products",
	"P4, figure 6: of 1 to 2 the one that fills both of its paths with the least queue (docs/notes/receive.md)");

#define FIXED_CLAMP_GAIN_UNIT       1000U
#define FIXED_CLAMP_MAX_BYTES_PER_S (1UL << 37) /* 1.1 Tbit/s; times the longest RTT it has 63 bits */

struct fixed_clamp {
	u64 max_bytes_per_s;
};

/* RTT_min may still fall, so the rate is kept and not its product with it. */
static __always_inline void fixed_clamp_end_round(struct fixed_clamp *s, const struct rcv_now *now)
{
	u64 found = (u64)now->round_bytes * USEC_PER_SEC / max(now->round_us, 1U);

	s->max_bytes_per_s = max(s->max_bytes_per_s, min(found, FIXED_CLAMP_MAX_BYTES_PER_S));
}

RCV_WINDOW(fixed_clamp, s, now)
{
	u64 window;

	if (bytes)
		return bytes;
	if (now->round_bytes)
		fixed_clamp_end_round(s, now);
	window = min(s->max_bytes_per_s * now->min_rtt_us / USEC_PER_SEC, (u64)RCV_MAX_ROUND_BYTES);
	return min(window * bdp / FIXED_CLAMP_GAIN_UNIT, (u64)RCV_MAX_ROUND_BYTES);
}
