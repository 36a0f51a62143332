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

/* The least window with which a target in packets can be kept up. */
static __always_inline u32 bbr2_quantize(const struct bbr2 *b, const struct bbr2_now *now, u32 cwnd)
{
	cwnd = max(cwnd, BBR2_CWND_TSO_BUDGET * now->tso_goal);
	cwnd = max(cwnd, min_cwnd);
	/* A gain of 5/4 on a BDP of a few packets must still add some. */
	if (b->phase == BBR2_PROBE_BW_UP && cwnd < BBR2_UNBOUNDED - 2)
		cwnd += 2;
	return cwnd;
}

/* Packets in flight that correspond to a rate and a gain. */
static __always_inline u32 bbr2_inflight(const struct bbr2 *b, const struct bbr2_now *now, u32 bw, u32 gain)
{
	return bbr2_quantize(b, now, bbr2_bdp(b, bw, gain));
}

/* What the flow would like to have in flight: the BDP, as far as cwnd allows it. */
static __always_inline u32 bbr2_target_inflight(const struct bbr2 *b, const struct bbr2_now *now, u32 cwnd)
{
	return min(bbr2_inflight(b, now, bbr2_bw(b), BBR2_UNIT), cwnd);
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

/* Packets in the network at the moment when the next one may leave: until then the network delivers at bw. */
static __always_inline u32 bbr2_in_net_at_departure(const struct bbr2 *b, const struct bbr2_now *now, u32 inflight)
{
	u64 delivered = (u64)bbr2_bw(b) * now->departure_us >> BW_SCALE;

	/* While probing, the burst about to leave counts: it decides whether the aim is reached. */
	if (b->pacing_gain > BBR2_UNIT)
		inflight += now->tso_goal;
	return delivered >= inflight ? 0 : inflight - (u32)delivered;
}

#endif /* CCACTL_BBR2_PATH_BPF_H */
