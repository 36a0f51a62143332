// SPDX-License-Identifier: GPL-2.0
/*
 * Westwood+: Mascolo, Casetti, Gerla, Sanadidi, Wang, "TCP Westwood: Bandwidth Estimation for Enhanced
 * Transport over Wireless Links", MobiCom 2001; Grieco, Mascolo, "Performance Evaluation and Comparison of
 * Westwood+, New Reno and Vegas TCP Congestion Control", ACM CCR 34(2), 2004.
 *
 * In a nutshell: Reno that goes, after a loss, to the window that fits the path without a queue, instead of
 * to a half.
 *
 *   growth         as Reno
 *   sample         b = bytes acknowledged in a window / its length; a window is an RTT, at least 50 ms
 *   estimate       bw' = 7/8 bw' + 1/8 b
 *                  bw = 7/8 bw + 1/8 bw'
 *   after a loss   cwnd = ssthresh = max(bw * RTTmin / MSS, 2)
 *   timeout        ssthresh likewise, and RTTmin starts anew with the next sample
 *
 *                cwnd >= ssthresh
 *   SLOW_START -------------------> AVOIDANCE ---+
 *              <-------------------     ^        | recovery over: cwnd = ssthresh = bw * RTTmin / MSS
 *                timeout, idle time     +--------+
 *
 * As native westwood, step by step: bytes per jiffy and RTTs in jiffies, 32-bit products. A window is an RTT
 * rounded up to jiffies; 50 ms are HZ / 20. A duplicate ACK is counted as one MSS that the next cumulative
 * ACK does not count again. During recovery the kernel's PRR goes to half the window; the estimate replaces
 * that when recovery ends, and may lie above it. Before the first window has passed the estimate is 0, so a
 * loss leaves 2 packets.
 *
 * Linux moved in_ack_event behind the clean-up of the retransmission queue in 2025 (about 6.15). There the
 * window's length is judged with the RTT of this ACK, before with that of the one before. The native module
 * changes with it.
 */
#include "cc.bpf.h"
#include "cc_handover.bpf.h"

CC_ALGORITHM("westwood", "loss",
	     "Reno that goes to the measured bandwidth times the smallest RTT after a loss, not to a half (Westwood+).",
	     "Mascolo et al. 2001; Grieco, Mascolo 2004; net/ipv4/tcp_westwood.c");
CC_COLOR("#999933");
CC_TRACE_V0("fitting_pkts", "bandwidth times smallest RTT: the window that a loss would leave");
CC_TRACE_V1("bw_once_bps", "bandwidth behind the first of the two filters");

#define WESTWOOD_NO_RTT_S 20 /* RTT and RTTmin before the first sample, seconds: longer than any */
#define WESTWOOD_MIN_CWND 2U /* packets */
#define WESTWOOD_FILTER   8U /* weights are eighths */
#define MSEC_PER_S        1000U

CC_TUNABLE(u32, window_min_ms, 50, 1, 10000, "ms", "shortest time over which the bandwidth is measured",
	   "net/ipv4/tcp_westwood.c");
CC_TUNABLE(u32, filter_old, 7, 0, 7, "1/8", "weight of the old estimate in each of the two filters",
	   "net/ipv4/tcp_westwood.c");

CC_MODES(westwood_mode, WESTWOOD_SLOW_START, WESTWOOD_AVOIDANCE);

/* Times in jiffies, bandwidths in bytes per jiffy. */
struct westwood {
	u32 bw_once;      /* samples through one filter */
	u32 bw;           /* and through the second */
	u32 window_start; /* of the running sample */
	u32 window_bytes; /* acknowledged in it */
	u32 snd_una;      /* up to which bytes have been counted */
	u32 dup_bytes;    /* counted for duplicate ACKs, not yet taken off a cumulative one */
	u32 rtt;          /* last sample */
	u32 rtt_min;
	u8 counting;     /* snd_una is set */
	u8 rtt_min_anew; /* the next RTT is the minimum */
	u16 pad;
};
CC_PRIV_FITS(struct westwood);

static __always_inline u32 westwood_filter(u32 old, u32 sample)
{
	return (filter_old * old + (WESTWOOD_FILTER - filter_old) * sample) / WESTWOOD_FILTER;
}

/* Takes the running sample in and starts the next, when it has lasted long enough. */
static __always_inline void westwood_close_window(struct westwood *ca)
{
	u32 now = cc_jiffies();
	u32 length = now - ca->window_start;
	u32 sample;

	if (!ca->rtt || length <= max(ca->rtt, window_min_ms * HZ / MSEC_PER_S))
		return;
	sample = ca->window_bytes / length;
	if (ca->bw_once || ca->bw) {
		ca->bw_once = westwood_filter(ca->bw_once, sample);
		ca->bw = westwood_filter(ca->bw, ca->bw_once);
	} else {
		ca->bw_once = ca->bw = sample;
	}
	ca->window_bytes = 0;
	ca->window_start = now;
}

/* Bytes that this ACK of the slow path says have arrived: SACKed ones have been counted when their duplicate ACK came.
 */
static __always_inline u32 westwood_arrived_bytes(struct westwood *ca, u32 acked_bytes, u32 mss)
{
	if (!acked_bytes) {
		ca->dup_bytes += mss;
		return mss;
	}
	if (acked_bytes <= mss)
		return acked_bytes;
	if (ca->dup_bytes >= acked_bytes) {
		ca->dup_bytes -= acked_bytes;
		return mss;
	}
	acked_bytes -= ca->dup_bytes;
	ca->dup_bytes = 0;
	return acked_bytes;
}

/* Packets that fit the path without a queue. */
static __always_inline u32 westwood_fitting_pkts(const struct sock *sk)
{
	const struct westwood *ca = inet_csk_ca(sk);
	u32 mss = tcp_sk(sk)->mss_cache;
	u32 pkts = ca->bw * ca->rtt_min / max(mss, 1U);

	return max(pkts, WESTWOOD_MIN_CWND);
}

static __always_inline u64 westwood_bps(u32 bytes_per_jiffy)
{
	return (u64)bytes_per_jiffy * 8 * HZ;
}

static __always_inline void westwood_publish(struct sock *sk)
{
	struct cca_trace *trace = cc_trace(sk);
	const struct westwood *ca = inet_csk_ca(sk);

	if (!trace)
		return;
	trace->mode = tcp_in_slow_start(tcp_sk(sk)) ? WESTWOOD_SLOW_START : WESTWOOD_AVOIDANCE;
	trace->bw_bps = westwood_bps(ca->bw);
	trace->min_rtt_us = ca->rtt_min < WESTWOOD_NO_RTT_S * HZ ? ca->rtt_min * (USEC_PER_SEC / HZ) : 0;
	trace->v0 = westwood_fitting_pkts(sk);
	trace->v1 = westwood_bps(ca->bw_once);
	cc_trace_done(trace);
}

CC_OP(void, westwood_init, struct sock *sk)
{
	struct westwood *ca = inet_csk_ca(sk);

	cc_take_over(sk);
	*ca = (struct westwood){
	    .window_start = cc_jiffies(),
	    .snd_una = tcp_sk(sk)->snd_una,
	    .rtt = WESTWOOD_NO_RTT_S * HZ,
	    .rtt_min = WESTWOOD_NO_RTT_S * HZ,
	    .rtt_min_anew = 1,
	};
}

CC_OP(u32, westwood_ssthresh, struct sock *sk)
{
	return tcp_reno_ssthresh(sk);
}

CC_OP(void, westwood_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	tcp_reno_cong_avoid(sk, ack, acked);
}

CC_OP(void, westwood_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct westwood *ca = inet_csk_ca(sk);

	if (event == CA_EVENT_COMPLETE_CWR) {
		tp->snd_ssthresh = westwood_fitting_pkts(sk);
		tp->snd_cwnd = tp->snd_ssthresh;
	} else if (event == CA_EVENT_LOSS) {
		tp->snd_ssthresh = westwood_fitting_pkts(sk);
		ca->rtt_min_anew = 1;
	}
}

CC_OP(void, westwood_in_ack_event, struct sock *sk, u32 flags)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct westwood *ca = inet_csk_ca(sk);
	u32 acked_bytes;

	/* What was acknowledged before the first call is not part of a sample. */
	if (!ca->counting)
		ca->snd_una = tp->snd_una;
	ca->counting = 1;
	westwood_close_window(ca);

	acked_bytes = tp->snd_una - ca->snd_una;
	if (flags & CA_ACK_SLOWPATH)
		acked_bytes = westwood_arrived_bytes(ca, acked_bytes, tp->mss_cache);
	ca->window_bytes += acked_bytes;
	ca->snd_una = tp->snd_una;
	ca->rtt_min = ca->rtt_min_anew ? ca->rtt : min(ca->rtt, ca->rtt_min);
	ca->rtt_min_anew = 0;
	westwood_publish(sk);
}

CC_OP(void, westwood_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct westwood *ca = inet_csk_ca(sk);

	if (sample->rtt_us > 0)
		ca->rtt = cc_us_to_jiffies(sample->rtt_us);
}

CC_OP(u32, westwood_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

CC_OPS(bpf_westwood) = {
    .init = (void *)westwood_init,
    .ssthresh = (void *)westwood_ssthresh,
    .cong_avoid = (void *)westwood_cong_avoid,
    .cwnd_event = (void *)westwood_cwnd_event,
    .in_ack_event = (void *)westwood_in_ack_event,
    .pkts_acked = (void *)westwood_pkts_acked,
    .undo_cwnd = (void *)westwood_undo_cwnd,
    .name = "bpf_westwood",
};
