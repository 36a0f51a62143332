// SPDX-License-Identifier: GPL-2.0
/*
 * DRWA, dynamic receive window adjustment: Jiang, Wang, Lee, Rhee, "Tackling Bufferbloat in 3G/4G Networks", IMC 2012.
 *
 * In a nutshell: offer a multiple of what one round trip delivers, the smaller the longer the queue has made it.
 *
 *   once per RTT    cwnd_est = 7/8 cwnd_est + 1/8 (bytes received in that RTT)
 *   window          lambda (RTT_min / RTT) cwnd_est                              lambda = 3
 *
 * A window-limited sender fills each round trip with one window, so the RTT settles where RTT = lambda RTT_min. The
 * kernel's own window, twice what the application read per RTT, never falls.
 *
 * What differs from the paper: a round ends with the first acknowledgement after an RTT, so what it brought is scaled
 * to one RTT. The RTT is that of timestamps. Where the peer has none, the window stays the kernel's.
 *
 * Read in this order: rcv.bpf.h, rcv_core.bpf.h.
 */
#include "rcv.bpf.h"

CC_ALGORITHM("drwa", "delay", "Offers three times what a round trip delivers, less what the queue has stretched it by.",
	     "Jiang, Wang, Lee, Rhee, IMC 2012");
CC_COLOR("#117755");

CC_GAIN(u32, lambda, 3000, 1000, 100000, "RTT that a window-limited sender gets, in RTT_min",
	"Jiang et al. 2012; value from memory of the paper");
CC_TUNABLE(u32, weight_shift, 3, 0, 16, "", "a round counts 1 / 2^this in cwnd_est", "Jiang et al. 2012");

#define DRWA_GAIN_UNIT 1000U

struct drwa {
	u32 cwnd_est_bytes; /* 0 = no round has ended */
	u32 pad;
};

static __always_inline void drwa_end_round(struct drwa *s, const struct rcv_now *now)
{
	u64 per_rtt = (u64)now->round_bytes * now->srtt_us / max(now->round_us, 1U);
	u32 received = max(min(per_rtt, (u64)RCV_MAX_ROUND_BYTES), 1ULL);

	if (!s->cwnd_est_bytes)
		s->cwnd_est_bytes = received;
	else if (received > s->cwnd_est_bytes)
		s->cwnd_est_bytes += (received - s->cwnd_est_bytes) >> weight_shift;
	else
		s->cwnd_est_bytes -= (s->cwnd_est_bytes - received) >> weight_shift;
}

RCV_WINDOW(drwa, s, now)
{
	u64 bytes;

	if (now->round_bytes)
		drwa_end_round(s, now);
	if (!s->cwnd_est_bytes)
		return RCV_UNLIMITED;
	bytes = (u64)s->cwnd_est_bytes * lambda / DRWA_GAIN_UNIT;
	bytes = bytes * now->min_rtt_us / max(now->srtt_us, 1U);
	return clamp(bytes, 1ULL, (u64)RCV_MAX_ROUND_BYTES);
}
