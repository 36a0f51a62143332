/* SPDX-License-Identifier: GPL-2.0 */
/* BBRv2: from the model to what the kernel obeys: pacing rate and cwnd. */
#ifndef CCACTL_BBR2_CONTROL_BPF_H
#define CCACTL_BBR2_CONTROL_BPF_H

#include "bbr2_rules.bpf.h"

static __always_inline void bbr2_update_gains(struct bbr2 *b)
{
	b->cwnd_gain = cwnd_gain;
	switch (b->phase) {
	case BBR2_STARTUP:
		b->pacing_gain = startup_pacing_gain;
		b->cwnd_gain = startup_cwnd_gain;
		break;
	case BBR2_DRAIN:
		b->pacing_gain = drain_gain;
		b->cwnd_gain = startup_cwnd_gain; /* the window stays, the rate falls */
		break;
	case BBR2_PROBE_BW_DOWN:
		b->pacing_gain = down_gain;
		break;
	case BBR2_PROBE_BW_CRUISE:
		b->pacing_gain = bbr2_variant_cruise_gain(b);
		break;
	case BBR2_PROBE_BW_UP:
		b->pacing_gain = up_gain;
		b->cwnd_gain = bbr2_up_cwnd_gain();
		break;
	case BBR2_PROBE_RTT:
		b->pacing_gain = BBR2_UNIT;
		b->cwnd_gain = BBR2_UNIT;
		break;
	default: /* REFILL */
		b->pacing_gain = BBR2_UNIT;
		break;
	}
}

/* Packets that leave in one burst: as tcp_tso_autosize(). */
static __always_inline u32 bbr2_tso_goal(const struct sock *sk, u32 min_rtt_us)
{
	u64 bytes = sk->sk_pacing_rate >> (sk->sk_pacing_shift & 63);
	u32 halvings = min_rtt_us >> BBR2_TSO_RTT_SHIFT;
	u32 mss = max(tcp_sk(sk)->mss_cache, 1U);
	u32 segments;

	if (halvings < 32)
		bytes += sk->sk_gso_max_size >> halvings;
	segments = (u32)min(bytes, (u64)sk->sk_gso_max_size) / mss;
	return max(segments, bbr_min_burst_pkts(sk));
}

/* bytes/s of payload, less the margin. Whole packets per us and the rest apart: their product with 10^6 would overflow.
 */
static __always_inline u64 bbr2_pacing_rate(const struct sock *sk, u64 bw, u32 gain)
{
	u64 rate = bbr2_scale(bw * tcp_sk(sk)->mss_cache, gain);

	rate = (rate >> BW_SCALE) * USEC_PER_SEC + ((rate & (BW_UNIT - 1)) * USEC_PER_SEC >> BW_SCALE);
	rate = bbr2_scale(rate, BBR2_UNIT - pacing_margin);
	return min(rate, (u64)sk->sk_max_pacing_rate);
}

/* Before there is a rate sample. */
static __always_inline void bbr2_init_pacing_rate(struct sock *sk, struct bbr2 *b)
{
	u64 rate = bbr2_pacing_rate(sk, bbr_initial_bw(tcp_sk(sk)), startup_pacing_gain);

	b->has_rtt = tcp_sk(sk)->srtt_us != 0;
	if (rate)
		sk->sk_pacing_rate = rate;
}

static __always_inline void bbr2_set_pacing_rate(struct sock *sk, struct bbr2 *b, u32 gain)
{
	u64 rate = bbr2_pacing_rate(sk, bbr2_bw(b), gain);

	if (!b->has_rtt && tcp_sk(sk)->srtt_us)
		bbr2_init_pacing_rate(sk, b);
	/* Until the pipe is full the samples are too low more often than too high: only upwards. */
	if (rate && (b->full_pipe || rate > sk->sk_pacing_rate))
		sk->sk_pacing_rate = rate;
}

/* Where the ACKs alone would take the window. */
static __always_inline u32 bbr2_grow_cwnd(const struct bbr2 *b, const struct bbr2_now *now, u32 acked)
{
	u32 cwnd = now->cwnd;
	u32 target, extra;

	if (!acked)
		return cwnd;
	target = bbr2_bdp(b, bbr2_bw(b), b->cwnd_gain);
	extra = bbr_aggregation_pkts(&b->aggregation, bbr2_bw(b), BBR_UNIT);
	target = bbr2_quantize(b, now, min((u64)target + extra, (u64)BBR2_UNBOUNDED - 1));
	if (b->full_pipe)
		cwnd = min(cwnd + acked, target);
	else if (cwnd < target || cwnd < 2 * b->init_cwnd)
		cwnd += acked;
	return max(cwnd, min_cwnd);
}

/* The cap of the inflight bounds, and which of them it is. */
static __always_inline u32 bbr2_inflight_cap(const struct bbr2 *b, u32 *bound)
{
	u32 cap = BBR2_UNBOUNDED;

	if (b->phase == BBR2_PROBE_RTT || (b->phase == BBR2_PROBE_BW_CRUISE && !bbr2_variant_drops_headroom(b))) {
		cap = bbr2_inflight_with_headroom(b);
		*bound = BBR2_BOUND_HEADROOM;
	} else if (bbr2_in_probe_bw(b)) {
		cap = b->inflight_hi;
		*bound = BBR2_BOUND_INFLIGHT_HI;
	}
	if (b->inflight_lo < cap) {
		cap = b->inflight_lo;
		*bound = BBR2_BOUND_INFLIGHT_LO;
	}
	return max(cap, min_cwnd);
}

static __always_inline void bbr2_set_cwnd(struct bbr2 *b, struct bbr2_now *now, u32 acked)
{
	u32 cwnd = min(bbr2_grow_cwnd(b, now, acked), now->cwnd_clamp);
	u32 bound = 0;
	u32 cap = bbr2_inflight_cap(b, &bound);

	if (b->phase == BBR2_PROBE_RTT)
		cwnd = min(cwnd, bbr2_probe_rtt_cwnd(b));
	b->bounds = 0;
	if (cap < cwnd) {
		cwnd = cap;
		b->bounds = bound;
	}
	if (b->bw_lo < bbr2_max_bw(b))
		b->bounds |= BBR2_BOUND_BW_LO;
	if (now->cwnd_limited)
		b->bounds |= BBR2_BOUND_CWND_LIMITED;
	now->cwnd = max(cwnd, 1U);
}

#endif /* CCACTL_BBR2_CONTROL_BPF_H */
