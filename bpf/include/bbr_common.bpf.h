/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the versions of BBR share: units, the way from a bandwidth to a pacing rate and to a number of packets, burst
 * sizes, ACK aggregation. No state of its own: each version keeps its state and passes what is needed.
 */
#ifndef CCACTL_BBR_COMMON_BPF_H
#define CCACTL_BBR_COMMON_BPF_H

#include "cc.bpf.h"

/* Bandwidth: packets per us << 24. 2^-24 packets/us is 0.7 kbit/s at 1500 bytes; u32 ends at 3 Tbit/s. */
#define BW_SCALE 24
#define BW_UNIT  (1ULL << BW_SCALE)

/* Gains: 1.0 = 256. */
#define BBR_SCALE 8
#define BBR_UNIT  (1U << BBR_SCALE)

#define BBR_MIN_TSO_RATE_BPS 1200000U /* below this a burst is one packet rather than two */
#define BBR_INIT_CWND_PKTS   10       /* TCP_INIT_CWND: used as BDP while there is no RTT sample */
#define BBR_MAX_BURST_PKTS   0x7fU    /* upper limit of a burst in the flight budget */
#define BBR_NO_RTT           (~0U)    /* min_rtt_us before the first sample */
/* GSO_LEGACY_MAX_SIZE - 1 - MAX_TCP_HEADER, the largest burst of tcp_bbr.c in bytes */
#define BBR_MAX_BURST_BYTES (65536U - 1 - 320)

/* bw * gain in bytes/s of payload, less the margin in thousandths. The order of the steps decides about overflow: keep
 * it. */
static __always_inline u64 bbr_bytes_per_s(const struct tcp_sock *tp, u64 bw, u32 gain, u32 margin)
{
	u64 rate = bw * tp->mss_cache * gain >> BBR_SCALE;

	return rate * (USEC_PER_SEC / 1000 * (1000 - margin)) >> BW_SCALE;
}

/* The same for the trace: bit/s of payload without gain and margin. */
static __always_inline u64 bbr_bw_to_bps(u64 bw, u32 mss_bytes)
{
	return (bw * mss_bytes * 8 >> 8) * USEC_PER_SEC >> (BW_SCALE - 8);
}

static __always_inline u32 bbr_gain_milli(u32 gain)
{
	return gain * 1000 >> BBR_SCALE;
}

/* The pacing rate for bw * gain, within what the application allows (SO_MAX_PACING_RATE). */
static __always_inline u64 bbr_pacing_rate(struct sock *sk, u64 bw, u32 gain, u32 margin)
{
	u64 rate = bbr_bytes_per_s(tcp_sk(sk), bw, gain, margin);

	return min(rate, (u64)sk->sk_max_pacing_rate);
}

/* First guess of the bandwidth: cwnd per RTT, with 1 ms while there is no RTT sample. */
static __always_inline u64 bbr_initial_bw(const struct tcp_sock *tp)
{
	u32 rtt_us = tp->srtt_us ? max(tp->srtt_us >> 3, 1U) : USEC_PER_MSEC;

	return tp->snd_cwnd * BW_UNIT / rtt_us;
}

/* Floor of a burst. */
static __always_inline u32 bbr_min_burst_pkts(const struct sock *sk)
{
	return sk->sk_pacing_rate < BBR_MIN_TSO_RATE_BPS / 8 ? 1 : 2;
}

/* The burst that the stack will send at the present pacing rate. */
static __always_inline u32 bbr_burst_pkts(const struct sock *sk)
{
	u64 bytes = min((u64)(sk->sk_pacing_rate >> sk->sk_pacing_shift), (u64)BBR_MAX_BURST_BYTES);
	u32 mss = tcp_sk(sk)->mss_cache;
	u32 pkts = mss ? (u32)bytes / mss : 0;

	pkts = max(pkts, bbr_min_burst_pkts(sk));
	return min(pkts, BBR_MAX_BURST_PKTS);
}

/* gain * bw * min_rtt in packets, rounded up: rounding down would feed back into ever smaller estimates. */
static __always_inline u32 bbr_bdp_pkts(u64 bw, u32 min_rtt_us, u32 gain)
{
	if (min_rtt_us == BBR_NO_RTT)
		return BBR_INIT_CWND_PKTS;
	return ((bw * min_rtt_us * gain >> BBR_SCALE) + BW_UNIT - 1) >> BW_SCALE;
}

/* Room for three bursts (one in the qdisc, one in the sender's stack, one at the receiver), and an even number. */
static __always_inline u32 bbr_quantize_pkts(const struct sock *sk, u32 pkts)
{
	pkts += 3 * bbr_burst_pkts(sk);
	return (pkts + 1) & ~1U;
}

/*
 * Packets in the network at the time at which the next one may leave (earliest departure time): what is in flight now,
 * plus `to_send`, less what bw delivers until then.
 */
static __always_inline u32 bbr_in_net_at_departure_pkts(const struct tcp_sock *tp, u32 inflight_pkts, u32 to_send_pkts,
							u64 bw)
{
	u64 now_ns = tp->tcp_clock_cache;
	u64 departure_ns = max(tp->tcp_wstamp_ns, now_ns);
	u32 delivered_pkts = bw * ((departure_ns - now_ns) / NSEC_PER_USEC) >> BW_SCALE;
	u32 pkts = inflight_pkts + to_send_pkts;

	return delivered_pkts >= pkts ? 0 : pkts - delivered_pkts;
}

/* tcp_stamp_us_delta(): never negative. */
static __always_inline u64 bbr_elapsed_us(u64 now_us, u64 then_us)
{
	return (s64)(now_us - then_us) > 0 ? now_us - then_us : 0;
}

/*
 * ACK aggregation: how many packets arrive in excess of bw * time since the start of an epoch, as maximum over the
 * running window of some rounds and the one before. cwnd gets that much more, so that the pipe stays full between
 * bunches of ACKs.
 */
#define BBR_EXTRA_ACKED_MAX_US     100000  /* allowance: at most bw * 100 ms */
#define BBR_EXTRA_ACKED_EPOCH_PKTS 0xfffff /* an epoch that counts more is old: start a new one */
#define BBR_EXTRA_ACKED_WIN_ROUNDS 5       /* length of a window */

struct bbr_aggregation {
	u64 epoch_us;         /* start of the epoch, tp->delivered_mstamp */
	u16 extra_pkts;       /* maximum of the running window */
	u16 prior_extra_pkts; /* and of the one before; not an array: BPF may not index private state by a variable */
	u32 epoch_acked_pkts : 20;
	u32 win_rounds : 5;
	u32 unused : 7;
};

static __always_inline void bbr_aggregation_restart_epoch(struct bbr_aggregation *agg, u64 now_us)
{
	agg->epoch_us = now_us;
	agg->epoch_acked_pkts = 0;
}

static __always_inline void bbr_aggregation_init(struct bbr_aggregation *agg, u64 now_us)
{
	bbr_aggregation_restart_epoch(agg, now_us);
	agg->extra_pkts = 0;
	agg->prior_extra_pkts = 0;
	agg->win_rounds = 0;
	agg->unused = 0;
}

/* Accounts for one ACK with a valid sample; win_rounds_max is at most 31. */
static __always_inline void bbr_aggregation_update(struct bbr_aggregation *agg, const struct tcp_sock *tp,
						   const struct rate_sample *rs, u64 bw, int round_start,
						   u32 win_rounds_max)
{
	u64 expected_pkts;
	u32 acked_pkts, extra_pkts;

	if (!rs->acked_sacked || rs->delivered < 0 || rs->interval_us <= 0)
		return;

	if (round_start) {
		agg->win_rounds = min(agg->win_rounds + 1, 31);
		if (agg->win_rounds >= win_rounds_max) {
			agg->win_rounds = 0;
			agg->prior_extra_pkts = agg->extra_pkts;
			agg->extra_pkts = 0;
		}
	}

	expected_pkts = bw * bbr_elapsed_us(tp->delivered_mstamp, agg->epoch_us) >> BW_SCALE;
	if (agg->epoch_acked_pkts <= expected_pkts ||
	    agg->epoch_acked_pkts + rs->acked_sacked > BBR_EXTRA_ACKED_EPOCH_PKTS) {
		bbr_aggregation_restart_epoch(agg, tp->delivered_mstamp);
		expected_pkts = 0;
	}

	acked_pkts = min(agg->epoch_acked_pkts + rs->acked_sacked, (u32)BBR_EXTRA_ACKED_EPOCH_PKTS);
	agg->epoch_acked_pkts = acked_pkts;
	extra_pkts = min(acked_pkts - (u32)expected_pkts, tp->snd_cwnd);
	if (extra_pkts > agg->extra_pkts)
		agg->extra_pkts = extra_pkts;
}

/* The allowance on top of the flight: gain * the larger maximum. */
static __always_inline u32 bbr_aggregation_pkts(const struct bbr_aggregation *agg, u64 bw, u32 gain)
{
	u32 extra_pkts = max(agg->extra_pkts, agg->prior_extra_pkts);
	u32 limit_pkts = bw * BBR_EXTRA_ACKED_MAX_US >> BW_SCALE;

	extra_pkts = gain * extra_pkts >> BBR_SCALE;
	return min(extra_pkts, limit_pkts);
}

#endif /* CCACTL_BBR_COMMON_BPF_H */
