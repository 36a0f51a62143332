/* SPDX-License-Identifier: GPL-2.0 */
/*
 * HyStart: Ha, Rhee, "Taming the Elephants: New TCP Slow Start", 2011, as in net/ipv4/tcp_cubic.c. Slow start ends
 * early when a train of ACKs is longer than about half the min RTT (whole when paced), or when the RTT of a round
 * exceeds the minimum by an eighth, at least 4 and at most 16 ms.
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

CC_TUNABLE(u32, hystart, 1);                 /* 1: leave slow start before the first loss */
CC_TUNABLE(u32, hystart_detect, 3);          /* 1: ACK train, 2: delay, 3: both */
CC_TUNABLE(u32, hystart_low_window, 16);     /* packets: HyStart is idle below */
CC_TUNABLE(u32, hystart_ack_delta_us, 2000); /* ACKs that far apart are still one train */

struct hystart {
	u32 round_us;    /* start of the round */
	u32 end_seq;     /* the round ends when this is acknowledged */
	u32 last_ack_us; /* last ACK of the train */
	u32 rtt_us;      /* minimum of the round */
	u8 samples;
	u8 found; /* the exit has been found: nothing more to do until a timeout */
	u16 pad;
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

/* Takes the RTT sample of an ACK; min_rtt_us is the minimum that includes it. */
static __always_inline void hystart_sample(struct sock *sk, struct hystart *hy, u32 min_rtt_us, u32 rtt_us)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if (!hystart || hy->found || !tcp_in_slow_start(tp) || tp->snd_cwnd < hystart_low_window)
		return;
	if (after(tp->snd_una, hy->end_seq))
		hystart_start_round(sk, hy);
	if (hystart_detect & HYSTART_ACK_TRAIN)
		hystart_train(sk, hy, min_rtt_us);
	if (hystart_detect & HYSTART_DELAY)
		hystart_delay(sk, hy, min_rtt_us, rtt_us);
}

#endif /* CCACTL_HYSTART_BPF_H */
