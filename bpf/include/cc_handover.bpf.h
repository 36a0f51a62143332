/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What one algorithm hands to the next when a live connection changes it (bpf/README.md, "What a swap hands over").
 *
 * The kernel calls release() of the old one, zeroes icsk_ca_priv and calls init() of the new one. It leaves alone cwnd,
 * ssthresh, the credit of congestion avoidance, the pacing status and rate, and socket storage. For two algorithms of
 * the same kind that is right; from one that paces to one that does not, it is not:
 *
 *   pacing status   stays on for good: nothing in the kernel takes it back
 *   pacing rate     is the old gain's until the next ACK, which an idle flow does not get
 *   cwnd            of BBR is a bound, twice what pacing lets out: without pacing, a burst
 *   ssthresh        of BBR is that of its first DRAIN: if it is large, slow start at full load
 *
 * So an algorithm that paces gives these back in its release(). Native bbr has no release(); what it has left is
 * recognised by pacing that nobody has asked for, and put right by our next init().
 */
#ifndef CCACTL_CC_HANDOVER_BPF_H
#define CCACTL_CC_HANDOVER_BPF_H

#include "cc.bpf.h"

#define CC_NO_PACING_LIMIT   (~0UL) /* sk_max_pacing_rate without SO_MAX_PACING_RATE */
#define CC_INIT_CWND_PKTS    10U    /* TCP_INIT_CWND: every connection may begin with that many at once */
#define CC_MIN_SSTHRESH_PKTS 2U     /* RFC 5681, section 3.1 */

/* False at the start of a connection, whose init() must find everything as the kernel makes it. */
static __always_inline int cc_is_underway(const struct tcp_sock *tp)
{
	return tp->data_segs_out != 0;
}

/* The kernel's minimum of the RTT, us; 0 = none, or the connection has only begun. */
static __always_inline u32 cc_inherited_min_rtt_us(const struct tcp_sock *tp)
{
	u32 min_rtt_us = tcp_min_rtt(tp);

	return cc_is_underway(tp) && min_rtt_us != ~0U ? min_rtt_us : 0;
}

/* Packets that the path holds by the kernel's own measurements: its last rate sample over min RTT; 0 = unknown. */
static __always_inline u32 cc_measured_bdp_pkts(const struct tcp_sock *tp)
{
	u32 min_rtt_us = tcp_min_rtt(tp);
	u64 bdp_pkts;

	if (!tp->rate_interval_us || min_rtt_us == ~0U)
		return 0;
	bdp_pkts = (u64)tp->rate_delivered * min_rtt_us / tp->rate_interval_us;
	return min(bdp_pkts, (u64)TCP_INFINITE_SSTHRESH - 1);
}

/* tcp_update_pacing_rate(): what the kernel sets at every ACK for an algorithm without cong_control. */
static __always_inline u64 cc_kernel_pacing_rate(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	/* mss / srtt per packet; srtt_us counts eighths, the ratios percent. */
	u64 rate = (u64)tp->mss_cache * ((USEC_PER_SEC / 100) << 3);

	rate *= tp->snd_cwnd < tp->snd_ssthresh / 2 ? cc_pacing_ss_percent(sk) : cc_pacing_ca_percent(sk);
	rate *= max(tp->snd_cwnd, tp->packets_out);
	if (tp->srtt_us)
		rate /= tp->srtt_us;
	return min(rate, (u64)sk->sk_max_pacing_rate);
}

/* Pacing that neither a qdisc nor the application has asked for. */
static __always_inline int cc_paced_by_algorithm(const struct sock *sk)
{
	return sk->sk_pacing_status == SK_PACING_NEEDED && sk->sk_max_pacing_rate == CC_NO_PACING_LIMIT;
}

/* Leaves pacing as the kernel has it for an algorithm that does not care; after the window, which the rate is of. */
static __always_inline void cc_give_pacing_back(struct sock *sk)
{
	if (cc_paced_by_algorithm(sk))
		sk->sk_pacing_status = SK_PACING_NONE;
	sk->sk_pacing_rate = cc_kernel_pacing_rate(sk);
}

/*
 * Lets go of the part of cwnd that is neither in flight nor needed to fill the path: an unpaced successor would send it
 * at once. Never raises cwnd.
 */
static __always_inline void cc_trim_cwnd(struct sock *sk, u32 bdp_pkts)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 in_use_pkts = max(tcp_packets_in_flight(tp), CC_INIT_CWND_PKTS);

	tp->snd_cwnd = min(tp->snd_cwnd, max(bdp_pkts, in_use_pkts));
}

/* A reduction or a timeout is being worked off: a successor without ssthresh would ignore the loss. */
static __always_inline int cc_is_reducing(const struct sock *sk)
{
	return cc_ca_state(sk) >= TCP_CA_CWR;
}

/*
 * release() of an algorithm with a model of the path. Once it has found what the path holds, its successor goes on from
 * there in congestion avoidance; before, slow start goes on, unless there has been a loss.
 */
static __always_inline void cc_hand_over_model(struct sock *sk, u32 bdp_pkts, int full_pipe)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (cc_is_underway(tp) && (full_pipe || cc_is_reducing(sk))) {
		cc_trim_cwnd(sk, bdp_pkts);
		tp->snd_ssthresh = clamp(bdp_pkts, CC_MIN_SSTHRESH_PKTS, TCP_INFINITE_SSTHRESH - 1U);
	}
	cc_give_pacing_back(sk);
}

/*
 * release() of an algorithm whose window is what it lets into the network. It may have shrunk since slow start ended,
 * which must not begin again up to where it ended then. After a timeout ssthresh is the way back.
 */
static __always_inline void cc_hand_over_window(struct sock *sk, int slow_start_over)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u8 state = cc_ca_state(sk);

	if (cc_is_underway(tp) && state != TCP_CA_Loss && (slow_start_over || cc_is_reducing(sk))) {
		u32 ssthresh = max(tp->snd_cwnd, CC_MIN_SSTHRESH_PKTS);

		tp->snd_ssthresh = min(tp->snd_ssthresh, ssthresh);
	}
	cc_give_pacing_back(sk);
}

/* What a predecessor without release() has left on. Infinite means that it was still looking, as slow start does. */
static __always_inline void cc_settle_native_bbr(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 bdp_pkts = cc_measured_bdp_pkts(tp);

	if (cc_is_underway(tp)) {
		cc_trim_cwnd(sk, bdp_pkts);
		if (tp->snd_ssthresh < TCP_INFINITE_SSTHRESH || cc_is_reducing(sk)) {
			u32 ssthresh = max(bdp_pkts, tp->snd_cwnd);

			ssthresh = max(ssthresh, CC_MIN_SSTHRESH_PKTS);
			tp->snd_ssthresh = min(tp->snd_ssthresh, ssthresh);
		}
	}
	cc_give_pacing_back(sk);
}

/* First line of the init() of an algorithm that paces. Trace and credit are in the predecessor's terms. */
static __always_inline void cc_take_over_paced(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct cca_trace *trace = cc_trace_storage(sk);

	if (trace)
		__builtin_memset(trace, 0, sizeof(*trace));
	if (cc_is_underway(tp))
		tp->snd_cwnd_cnt = 0;
}

/* First line of the init() of an algorithm that leaves pacing to the kernel. */
static __always_inline void cc_take_over(struct sock *sk)
{
	cc_take_over_paced(sk);
	if (cc_paced_by_algorithm(sk))
		cc_settle_native_bbr(sk);
}

#endif /* CCACTL_CC_HANDOVER_BPF_H */
