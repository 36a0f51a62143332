/* SPDX-License-Identifier: GPL-2.0 */
/* BBRv2: what the model says about the path. Reads the state, changes nothing. */
#ifndef CCACTL_BBR2_PATH_BPF_H
#define CCACTL_BBR2_PATH_BPF_H

#include "bbr2_state.bpf.h"

/* Highest delivery rate of the last two probing cycles. */
static __always_inline u32 bbr2_max_bw(const struct bbr2 *b)
{
	return max(b->bw_max[0], b->bw_max[1]);
}

/* The rate that the flow uses. v2's long-term bound bw_hi is the maximum itself, so only bw_lo can be lower. */
static __always_inline u32 bbr2_bw(const struct bbr2 *b)
{
	return min(bbr2_max_bw(b), b->bw_lo);
}

/* gain x bw x min_rtt in packets, rounded up. */
static __always_inline u32 bbr2_bdp(const struct bbr2 *b, u32 bw, u32 gain)
{
	u64 bdp;

	if (b->min_rtt_us == BBR_NO_RTT)
		return b->init_cwnd;
	bdp = (bbr2_scale((u64)bw * b->min_rtt_us, gain) + BW_UNIT - 1) >> BW_SCALE;
	return min(bdp, (u64)BBR2_UNBOUNDED - 1);
}

/* Packets of one burst: as tcp_tso_autosize(), so that the window leaves room for what the kernel sends at once. */
static __always_inline u32 bbr2_tso_goal(const struct sock *sk, const struct bbr2 *b)
{
	u64 rate = sk->sk_pacing_rate;
	u64 bytes = rate >> (sk->sk_pacing_shift & 63);
	u32 halvings = b->min_rtt_us >> BBR2_TSO_RTT_SHIFT;
	u32 mss = max(tcp_sk(sk)->mss_cache, 1U);
	u32 segments;

	if (halvings < 32)
		bytes += sk->sk_gso_max_size >> halvings;
	segments = (u32)min(bytes, (u64)sk->sk_gso_max_size) / mss;
	return max(segments, bbr_min_burst_pkts(sk));
}

/* The least window with which a target in packets can be kept up. */
static __always_inline u32 bbr2_quantize(const struct sock *sk, const struct bbr2 *b, u32 cwnd)
{
	cwnd = max(cwnd, BBR2_CWND_TSO_BUDGET * bbr2_tso_goal(sk, b));
	cwnd = max(cwnd, min_cwnd);
	/* A gain of 5/4 on a BDP of a few packets must still add some. */
	if (b->phase == BBR2_UP && cwnd < BBR2_UNBOUNDED - 2)
		cwnd += 2;
	return cwnd;
}

/* Packets in flight that correspond to a rate and a gain. */
static __always_inline u32 bbr2_inflight(const struct sock *sk, const struct bbr2 *b, u32 bw, u32 gain)
{
	return bbr2_quantize(sk, b, bbr2_bdp(b, bw, gain));
}

/* What the flow would like to have in flight: the BDP, as far as cwnd allows it. */
static __always_inline u32 bbr2_target_inflight(const struct sock *sk, const struct bbr2 *b, u32 cwnd)
{
	return min(bbr2_inflight(sk, b, bbr2_bw(b), BBR2_UNIT), cwnd);
}

/* inflight_hi less the share that is left to others. */
static __always_inline u32 bbr2_inflight_with_headroom(const struct bbr2 *b)
{
	u32 left;

	if (b->inflight_hi == BBR2_UNBOUNDED)
		return BBR2_UNBOUNDED;
	left = max((u32)bbr2_scale(b->inflight_hi, headroom), 1U);
	left = b->inflight_hi > left ? b->inflight_hi - left : 0;
	return max(left, min_cwnd);
}

static __always_inline u32 bbr2_probe_rtt_cwnd(const struct bbr2 *b)
{
	return max(bbr2_bdp(b, bbr2_bw(b), probe_rtt_cwnd_gain), min_cwnd);
}

/* Packets in the network at the moment when the next one may leave. */
static __always_inline u32 bbr2_in_net_at_departure(const struct sock *sk, const struct bbr2 *b, u32 inflight)
{
	/* While probing, the burst about to leave counts: it decides whether the aim is reached. */
	u32 to_send = b->pacing_gain > BBR2_UNIT ? bbr2_tso_goal(sk, b) : 0;

	return bbr_in_net_at_departure_pkts(tcp_sk(sk), inflight, to_send, bbr2_bw(b));
}

#endif /* CCACTL_BBR2_PATH_BPF_H */
