/* SPDX-License-Identifier: GPL-2.0 */
/*
 * HyStart: Ha, Rhee, "Taming the Elephants: New TCP Slow Start", 2011, as in net/ipv4/tcp_cubic.c; HyStart++:
 * RFC 9406. CUBIC's early end of slow start.
 *
 *   HyStart      hystart = 1. Slow start ends at once, with ssthresh = cwnd, by one of two signs:
 *     train      a train of ACKs is longer than about half the min RTT (the whole of it when paced)
 *     delay      the RTT of a round exceeds the minimum by an eighth, at least 4 and at most 16 ms
 *
 *   HyStart++    hystart = 2, in the first slow start only. A delay leads to conservative slow start (CSS):
 *
 *                 RTT of a round >= that of the round before + an eighth of it (4 to 16 ms)
 *     slow start ---------------------------------------------------------------------------> CSS: a quarter of
 *                <---------------------------------------------------------------------------      the growth
 *                 RTT of a round < that which led to CSS                                            |
 *                                                                               5 rounds of it      v
 *                                                                     avoidance, with ssthresh = cwnd
 */
#ifndef CCACTL_HYSTART_BPF_H
#define CCACTL_HYSTART_BPF_H

#include "cc.bpf.h"

#define HYSTART_ACK_TRAIN    1U
#define HYSTART_DELAY        2U
#define HYSTART_MIN_SAMPLES  8     /* RTT samples of a round before its minimum counts */
#define HYSTART_DELAY_MIN_US 4000U /* bounds of the tolerated rise of the RTT */
#define HYSTART_DELAY_MAX_US 16000U
#define HYSTART_TSO_DELAY_US 1000U /* most that TSO bursts may stretch a train */

/* Values of `hystart`; 0 is none. */
#define HYSTART_CLASSIC   1U
#define HYSTART_PLUS_PLUS 2U

CC_TUNABLE(u32, hystart, 1, 0, 2, "",
	   "leave slow start before the first loss: 0 = no, 1 = by HyStart, 2 = by HyStart++",
	   "net/ipv4/tcp_cubic.c; RFC 9406");
CC_TUNABLE(u32, hystart_detect, 3, 1, 3, "", "1 = length of the ACK train, 2 = rise of the RTT, 3 = both",
	   "net/ipv4/tcp_cubic.c");
CC_TUNABLE(u32, hystart_low_window, 16, 2, 65535, "packets", "window below which HyStart is idle",
	   "net/ipv4/tcp_cubic.c");
CC_TUNABLE(u32, hystart_ack_delta_us, 2000, 1, 1000000, "us", "largest gap between the ACKs of a train",
	   "net/ipv4/tcp_cubic.c");

/* Of HyStart++, RFC 9406 section 4.3. */
CC_TUNABLE(u32, hspp_rtt_thresh_min_us, 4000, 1, 1000000, "us", "HyStart++: smallest rise of the RTT that counts",
	   "RFC 9406, section 4.3");
CC_TUNABLE(u32, hspp_rtt_thresh_max_us, 16000, 1, 1000000, "us", "HyStart++: largest rise that is waited for",
	   "RFC 9406, section 4.3");
CC_TUNABLE(u32, hspp_rtt_divisor, 8, 1, 1000, "", "HyStart++: part of the RTT by which it may rise",
	   "RFC 9406, section 4.3");
CC_TUNABLE(u32, hspp_rtt_samples, 8, 1, 255, "", "HyStart++: samples of a round before its minimum counts",
	   "RFC 9406, section 4.3");
CC_TUNABLE(u32, hspp_ack_limit, 8, 1, 1000000, "packets",
	   "HyStart++: L, packets of an ACK that count in an unpaced flow", "RFC 9406, section 4.3");
CC_TUNABLE(u32, css_growth_divisor, 4, 1, 255, "",
	   "HyStart++: conservative slow start grows by this part of slow start", "RFC 9406, section 4.3");
CC_TUNABLE(u32, css_rounds, 5, 1, 255, "rounds", "HyStart++: rounds of it before avoidance", "RFC 9406, section 4.3");

struct hystart {
	u32 round_us;    /* start of the round */
	u32 end_seq;     /* the round ends when this is acknowledged */
	u32 last_ack_us; /* last ACK of the train */
	u32 rtt_us;      /* minimum of the round */
	u8 samples;
	u8 found; /* the exit has been found: nothing more to do until a timeout */
	/* HyStart++ */
	u8 css_rounds_done;
	u8 css_credit;   /* packets acknowledged in CSS that have not made the window grow yet */
	u32 last_rtt_us; /* minimum of the round before, 0 = none */
	u32 css_rtt_us;  /* the minimum that led to CSS, 0 = not in CSS */
};

static __always_inline u32 hystart_now_us(const struct sock *sk)
{
	return (u32)tcp_sk(sk)->tcp_mstamp;
}

static __always_inline void hystart_start_round(const struct sock *sk, struct hystart *hy)
{
	hy->round_us = hystart_now_us(sk);
	hy->last_ack_us = hy->round_us;
	hy->end_seq = tcp_sk(sk)->snd_nxt;
	hy->rtt_us = ~0U;
	hy->samples = 0;
}

static __always_inline void hystart_leave_slow_start(struct sock *sk, struct hystart *hy)
{
	hy->found = 1;
	tcp_sk(sk)->snd_ssthresh = tcp_sk(sk)->snd_cwnd;
}

/*
 * How much TSO and GRO may stretch the ACKs of a round: four full bursts at the pacing rate, which is twice the rate of
 * delivery in slow start.
 */
static __always_inline u32 hystart_tso_delay_us(const struct sock *sk)
{
	u64 rate = sk->sk_pacing_rate;
	u64 delay_us;

	if (!rate)
		return 0;
	delay_us = (u64)sk->sk_gso_max_size * 4 * USEC_PER_SEC / rate;
	return min(delay_us, (u64)HYSTART_TSO_DELAY_US);
}

/* A train of closely spaced ACKs that lasts as long as the path is long means that the path is full. */
static __always_inline void hystart_train(struct sock *sk, struct hystart *hy, u32 min_rtt_us)
{
	u32 now_us = hystart_now_us(sk);
	u32 limit_us;

	if ((s32)(now_us - hy->last_ack_us) > (s32)hystart_ack_delta_us)
		return;
	hy->last_ack_us = now_us;
	limit_us = min_rtt_us + hystart_tso_delay_us(sk);
	/* Pacing spreads slow start over half an RTT by itself. */
	if (sk->sk_pacing_status == SK_PACING_NONE)
		limit_us >>= 1;
	if (now_us - hy->round_us > limit_us)
		hystart_leave_slow_start(sk, hy);
}

/* So does a rise of the smallest RTT of a round. */
static __always_inline void hystart_delay(struct sock *sk, struct hystart *hy, u32 min_rtt_us, u32 rtt_us)
{
	u32 tolerated_us = min_rtt_us >> 3;

	hy->rtt_us = min(hy->rtt_us, rtt_us);
	if (hy->samples < HYSTART_MIN_SAMPLES) {
		hy->samples++;
		return;
	}
	tolerated_us = clamp(tolerated_us, HYSTART_DELAY_MIN_US, HYSTART_DELAY_MAX_US);
	if (hy->rtt_us > min_rtt_us + tolerated_us)
		hystart_leave_slow_start(sk, hy);
}

static __always_inline void hystart_classic(struct sock *sk, struct hystart *hy, u32 min_rtt_us, u32 rtt_us)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if (hy->found || !tcp_in_slow_start(tp))
		return;
	/* Below the low window as well: a round that began late would make its train look short. */
	if (after(tp->snd_una, hy->end_seq))
		hystart_start_round(sk, hy);
	if (tp->snd_cwnd < hystart_low_window)
		return;
	if (hystart_detect & HYSTART_ACK_TRAIN)
		hystart_train(sk, hy, min_rtt_us);
	if (hystart_detect & HYSTART_DELAY)
		hystart_delay(sk, hy, min_rtt_us, rtt_us);
}

/* ---- HyStart++ ---- */

static __always_inline int hspp_is_active(const struct tcp_sock *tp)
{
	return hystart == HYSTART_PLUS_PLUS && tp->snd_ssthresh >= TCP_INFINITE_SSTHRESH;
}

/* Conservative slow start. */
static __always_inline int hspp_in_css(const struct tcp_sock *tp, const struct hystart *hy)
{
	return hspp_is_active(tp) && hy->css_rtt_us;
}

static __always_inline void hspp_next_round(struct sock *sk, struct hystart *hy)
{
	hy->last_rtt_us = hy->rtt_us == ~0U ? 0 : hy->rtt_us;
	hystart_start_round(sk, hy);
	if (!hy->css_rtt_us)
		return;
	hy->css_rounds_done++;
	if (hy->css_rounds_done >= css_rounds)
		hystart_leave_slow_start(sk, hy);
}

static __always_inline void hspp_resume_slow_start(struct hystart *hy)
{
	hy->css_rtt_us = 0;
	hy->css_rounds_done = 0;
	hy->css_credit = 0;
}

static __always_inline void hspp_sample(struct sock *sk, struct hystart *hy, u32 rtt_us)
{
	u32 thresh_us;

	if (after(tcp_sk(sk)->snd_una, hy->end_seq))
		hspp_next_round(sk, hy);
	hy->rtt_us = min(hy->rtt_us, rtt_us);
	if (hy->samples < 255)
		hy->samples++;
	if (hy->samples < hspp_rtt_samples)
		return;
	if (hy->css_rtt_us) {
		if (hy->rtt_us < hy->css_rtt_us)
			hspp_resume_slow_start(hy);
		return;
	}
	thresh_us = hy->last_rtt_us / max(hspp_rtt_divisor, 1U);
	thresh_us = max(hspp_rtt_thresh_min_us, min(thresh_us, hspp_rtt_thresh_max_us));
	if (hy->last_rtt_us && hy->rtt_us >= hy->last_rtt_us + thresh_us)
		hy->css_rtt_us = hy->rtt_us;
}

/* ---- for the algorithm ---- */

/* Takes the RTT sample of an ACK; min_rtt_us is the minimum that includes it. */
static __always_inline void hystart_sample(struct sock *sk, struct hystart *hy, u32 min_rtt_us, u32 rtt_us)
{
	if (hystart == HYSTART_CLASSIC)
		hystart_classic(sk, hy, min_rtt_us, rtt_us);
	else if (hspp_is_active(tcp_sk(sk)))
		hspp_sample(sk, hy, rtt_us);
}

/* By how many packets slow start is to grow for these acknowledged ones. */
static __always_inline u32 hystart_growth_pkts(const struct sock *sk, struct hystart *hy, u32 acked)
{
	u32 divisor = max(css_growth_divisor, 1U);
	u32 credit;

	if (!hspp_is_active(tcp_sk(sk)))
		return acked;
	if (sk->sk_pacing_status == SK_PACING_NONE)
		acked = min(acked, hspp_ack_limit);
	if (!hy->css_rtt_us)
		return acked;
	credit = hy->css_credit + acked;
	hy->css_credit = credit % divisor;
	return credit / divisor;
}

#endif /* CCACTL_HYSTART_BPF_H */
