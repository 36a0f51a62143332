// SPDX-License-Identifier: GPL-2.0
/*
 * TCP-NV ("New Vegas" by its author): Brakmo, "TCP-NV: An Update to TCP-Vegas" (2010, 2016);
 * net/ipv4/tcp_nv.c. Meant for data centres in which all flows use it. It has nothing to do with Sing and
 * Soh's algorithm of the same name.
 *
 * In a nutshell: the flow computes the window that its rate needs at the minimum RTT, and allows pad packets
 * of queue.
 *
 *   rate                           bytes in flight with the acknowledged packet / smoothed RTT, largest in a round
 *   max_win                        rate * min RTT / MSS + pad
 *   cwnd > max_win                 congestion: ssthresh = max_win
 *                                  cwnd -= 30 % of what is above max_win, at least 2
 *   cwnd <= max_win - pad_buffer   no congestion: cwnd may grow
 *   growth                         slow start; then one packet per cwnd * 2^-f acknowledged. f falls with each
 *                                  timeout (to -8) and rises again after 8 decisions without congestion
 *   loss                           ssthresh = 0.8 cwnd
 *
 *                          congestion, a loss or a mark
 *   SLOW_START or GROW --------------------------------> HOLD
 *       (by ssthresh)  <--------------------------------
 *                          a decision finds no congestion
 *
 * A decision needs RTT samples: 30 to leave the first slow start, 60 to shrink, 20 to grow. So none is taken
 * over few packets or right after a change of the window. Where TSO or GRO merge a round into one ACK, the
 * window grows regardless, by raising the least window at which decisions are made. min RTT is the minimum of
 * the last 5 to 10 s: every 3.75 to 6.25 s, at random, the minimum since the last such moment replaces it.
 *
 * As native nv, step by step: rate in 100 bit/s, average of the RTT in whole us, jiffies for the reset of min
 * RTT.
 *
 * What differs:
 *   - The base RTT, an upper bound of min RTT that there comes from a sock_ops program
 *     (BPF_SOCK_OPS_BASE_RTT), is a tunable.
 *   - A rate beyond 2^32 * 100 bit/s and a window or increment beyond 32 bits stay at the limit instead of
 *     wrapping. ssthresh is at least 2.
 *   - The "catch-up" of the native module is left out: nothing there ever starts it.
 */
#include "cc.bpf.h"
#include "cc_handover.bpf.h"

CC_ALGORITHM(
    "nv", "delay",
    "Window that the measured rate needs at the minimum RTT, and ten packets of queue: Vegas for data centres.",
    "Brakmo 2010, TCP-NV; net/ipv4/tcp_nv.c");
CC_COLOR("#CCBB44");
CC_TRACE_V0("max_win_pkts", "window beyond which there is congestion, at the last evaluation");
CC_TRACE_V1("growth", "growth per RTT is 2 to this power, in packets; below 0 after timeouts");

#define NV_NO_RTT         0xffffffffU
#define NV_RATE_UNIT      80000ULL /* one byte per us in units of 100 bit/s */
#define NV_DECISION_CWND  4U       /* no decision on the word of a round's single ACK for less, packets */
#define NV_DECISION_STEP  2U       /* growth of it when a round has but one ACK */
#define NV_DECISION_BOUND 81U      /* and its limit: a TSO burst of 64 kB and more */
#define NV_FIRST_RESET_S  2U       /* time after which min RTT is replaced for the first time */
#define NV_MIN_GROWTH_CNT 4U       /* at most one packet more per four acknowledged */
#define NV_SLOWEST_GROWTH (-8)     /* f: one packet per 256 windows */
#define NV_FASTEST_GROWTH 31       /* f: a shift that a window has bits for */
#define NV_MIN_SSTHRESH   2U       /* packets, RFC 5681 section 3.1 */
#define NV_MAX_WIN        (1U << 30)

CC_TUNABLE(u32, pad, 10, 0, 100000, "packets", "packets in the queue that are no congestion", "net/ipv4/tcp_nv.c");
CC_TUNABLE(u32, pad_buffer, 2, 0, 100000, "packets", "packets below that limit at which growth stops",
	   "net/ipv4/tcp_nv.c");
CC_TUNABLE(u32, reset_period_s, 5, 1, 3600, "s", "mean time between two replacements of the minimum RTT",
	   "net/ipv4/tcp_nv.c");
CC_TUNABLE(u32, min_cwnd, 2, 1, 100000, "packets", "congestion does not take the window below this",
	   "net/ipv4/tcp_nv.c");
CC_TUNABLE(u32, cong_dec_mult, 38, 0, 128, "1/128", "share of the excess over max_win given up per decision",
	   "net/ipv4/tcp_nv.c");
CC_TUNABLE(u32, ssthresh_factor, 8, 1, 64, "1/8", "share of max_win that becomes ssthresh on congestion",
	   "net/ipv4/tcp_nv.c");
CC_TUNABLE(u32, rtt_factor, 128, 0, 256, "1/256", "weight of a new RTT sample in the average; 0 = no averaging",
	   "net/ipv4/tcp_nv.c");
CC_TUNABLE(u32, loss_dec_factor, 819, 1, 1024, "1/1024", "window after a loss as share of the window before",
	   "net/ipv4/tcp_nv.c");
CC_PRESET("p0", "loss_dec_factor=512", "NV of Linux 4.14, which halves on a loss", "net/ipv4/tcp_nv.c of Linux 4.14");
CC_TUNABLE(u32, growth_rate_neg, 8, 0, 100000, "decisions", "until growth slowed by timeouts doubles; 0 = never slowed",
	   "net/ipv4/tcp_nv.c");
CC_TUNABLE(u32, growth_rate_pos, 0, 0, 100000, "decisions", "until normal growth doubles; 0 = never",
	   "net/ipv4/tcp_nv.c");
CC_TUNABLE(u32, dec_eval_min_calls, 60, 1, 255, "samples", "RTT samples before the window shrinks",
	   "net/ipv4/tcp_nv.c");
CC_TUNABLE(u32, inc_eval_min_calls, 20, 1, 255, "samples", "RTT samples before growth is allowed", "net/ipv4/tcp_nv.c");
CC_TUNABLE(u32, ssthresh_eval_min_calls, 30, 1, 255, "samples", "RTT samples before the first slow start ends",
	   "net/ipv4/tcp_nv.c");
CC_TUNABLE(u32, stop_rtt_cnt, 10, 0, 254, "rounds", "rounds above max_win with too few samples that stop growth",
	   "net/ipv4/tcp_nv.c");
CC_TUNABLE(u32, rtt_min_cnt, 2, 0, 255, "rounds", "rounds between two decisions to shrink", "net/ipv4/tcp_nv.c");
CC_TUNABLE(u32, base_rtt_us, 0, 0, 10000000, "us",
	   "bound of the minimum RTT: at most this, at least 80 % of it; 0 = none",
	   "net/ipv4/tcp_nv.c, BPF_SOCK_OPS_BASE_RTT");

/*
 *   grow   no congestion at the last decision
 *   hold   congestion, or a loss since
 */
CC_MODES(nv_mode, NV_SLOW_START, NV_GROW, NV_HOLD);

/* All zero is a valid state, in which nothing grows: the callbacks may run before init. */
struct nv {
	u64 decided_rate;  /* of the last round that was evaluated, 100 bit/s: for the trace */
	u32 reset_jiffies; /* when min_rtt_new_us replaces min_rtt_us */
	u32 avg_rtt_us;    /* 0 = no sample */
	u32 min_rtt_us;
	u32 min_rtt_new_us; /* since the last replacement */
	u32 max_rate;       /* of the running evaluation, 100 bit/s */
	u32 round_seq;      /* the round ends when more than this is acknowledged */
	u32 last_snd_una;
	u32 calm_decisions; /* in a row without congestion */
	u32 max_win_pkts;   /* at the last evaluation: for the trace */
	u8 samples;         /* RTT samples since the last decision */
	u8 rounds;          /* rounds since then */
	u8 decision_cwnd_pkts;
	s8 growth; /* f */
	u8 may_grow;
	u8 reset_due; /* on return to the open state */
	u8 pad[6];
};
CC_PRIV_FITS(struct nv);

static __always_inline void nv_publish(struct sock *sk)
{
	struct cca_trace *trace = cc_trace(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct nv *ca = inet_csk_ca(sk);

	if (!trace)
		return;
	if (!ca->may_grow)
		trace->mode = NV_HOLD;
	else
		trace->mode = tcp_in_slow_start(tp) ? NV_SLOW_START : NV_GROW;
	trace->min_rtt_us = ca->min_rtt_us == NV_NO_RTT ? 0 : ca->min_rtt_us;
	trace->bw_bps = ca->decided_rate * 100;
	trace->v0 = ca->max_win_pkts;
	trace->v1 = ca->growth;
	cc_trace_done(trace);
}

/* A new evaluation from nothing: at the start and after a loss. */
static __always_inline void nv_restart(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct nv *ca = inet_csk_ca(sk);

	ca->reset_due = 0;
	ca->calm_decisions = 0;
	ca->rounds = 0;
	ca->avg_rtt_us = 0;
	ca->max_rate = 0;
	ca->round_seq = tp->snd_una;
	ca->samples = 0;
	ca->last_snd_una = tp->snd_una;
}

/* Takes the sample into the average, which the first one founds. */
static __always_inline u32 nv_average_rtt(struct nv *ca, u32 rtt_us)
{
	u32 avg_us = rtt_us;

	if (!rtt_factor)
		return rtt_us;
	if (ca->avg_rtt_us)
		avg_us = ((u64)rtt_us * rtt_factor + (u64)ca->avg_rtt_us * (256 - rtt_factor)) >> 8;
	else
		ca->min_rtt_us = rtt_us << 1;
	ca->avg_rtt_us = avg_us;
	return avg_us;
}

static __always_inline u32 nv_rate(u32 in_flight_bytes, u32 rtt_us)
{
	u64 rate = in_flight_bytes * NV_RATE_UNIT / max(rtt_us, 1U);

	return min(rate, (u64)0xffffffff);
}

static __always_inline u32 nv_bounded_rtt(u32 rtt_us)
{
	u32 lower_us = (u64)base_rtt_us * 205 >> 8;

	if (!base_rtt_us)
		return rtt_us;
	return clamp(rtt_us, lower_us, base_rtt_us);
}

static __always_inline void nv_follow_min_rtt(struct nv *ca, u32 rtt_us)
{
	u32 now = cc_jiffies();

	rtt_us = nv_bounded_rtt(rtt_us);
	ca->min_rtt_us = min(ca->min_rtt_us, rtt_us);
	ca->min_rtt_new_us = min(ca->min_rtt_new_us, rtt_us);
	if (before(now, ca->reset_jiffies))
		return;
	ca->min_rtt_us = ca->min_rtt_new_us;
	ca->min_rtt_new_us = NV_NO_RTT;
	/* Between 3/4 and 5/4 of the period, so that flows do not fall into step. */
	ca->reset_jiffies = now + (u32)(((u64)reset_period_s * (384 + (cc_random() & 0xff)) * HZ) >> 9);
	ca->decision_cwnd_pkts = max(ca->decision_cwnd_pkts / 2U, NV_DECISION_CWND);
}

/*
 * A round with a single ACK that covers a whole small window: the window is too small for the bursts that the host
 * sends. Let it grow, and lengthen the round.
 */
static __always_inline int nv_too_small_to_decide(struct sock *sk, u32 bytes_acked)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct nv *ca = inet_csk_ca(sk);

	if (ca->samples != 1 || ca->decision_cwnd_pkts >= NV_DECISION_BOUND)
		return 0;
	if (bytes_acked < (ca->decision_cwnd_pkts - 1U) * tp->mss_cache)
		return 0;
	ca->decision_cwnd_pkts = min(ca->decision_cwnd_pkts + NV_DECISION_STEP, NV_DECISION_BOUND);
	ca->round_seq = tp->snd_nxt + ca->decision_cwnd_pkts * tp->mss_cache;
	ca->samples = 0;
	ca->may_grow = 1;
	return 1;
}

static __always_inline u32 nv_max_win(const struct tcp_sock *tp, const struct nv *ca)
{
	u64 pkts = (u64)ca->max_rate * ca->min_rtt_us / (NV_RATE_UNIT * max(tp->mss_cache, 1U)) + pad;

	return min(pkts, (u64)NV_MAX_WIN);
}

/* Too many packets for the rate. Returns whether there was enough evidence to act. */
static __always_inline int nv_shrink(struct tcp_sock *tp, struct nv *ca, u32 max_win_pkts)
{
	u32 excess_pkts = tp->snd_cwnd - max_win_pkts;
	u32 cwnd = tp->snd_cwnd;
	u32 ssthresh;

	if (ca->rounds < rtt_min_cnt)
		return 0;
	if (tp->snd_ssthresh == TCP_INFINITE_SSTHRESH) {
		if (ca->samples < ssthresh_eval_min_calls)
			return 0;
	} else if (ca->samples < dec_eval_min_calls) {
		if (ca->rounds > stop_rtt_cnt)
			ca->may_grow = 0;
		return 0;
	}

	ca->may_grow = 0;
	ssthresh = (u64)ssthresh_factor * max_win_pkts >> 3;
	tp->snd_ssthresh = max(ssthresh, NV_MIN_SSTHRESH);
	if (excess_pkts > 2) {
		u32 cut_pkts = (u64)excess_pkts * cong_dec_mult >> 7;

		cwnd -= max(cut_pkts, 2U);
	} else if (cong_dec_mult) {
		cwnd = max_win_pkts;
	}
	tp->snd_cwnd = max(cwnd, min_cwnd);
	ca->growth = min(ca->growth, 0);
	ca->calm_decisions = 0;
	return 1;
}

/* Room for more. */
static __always_inline int nv_allow_growth(struct tcp_sock *tp, struct nv *ca)
{
	u32 patience = ca->growth < 0 ? growth_rate_neg : growth_rate_pos;

	if (ca->samples < inc_eval_min_calls)
		return 0;
	ca->may_grow = 1;
	ca->calm_decisions++;
	if (patience && ca->calm_decisions > patience) {
		ca->growth = min(ca->growth + 1, NV_FASTEST_GROWTH);
		ca->calm_decisions = 0;
	}
	tp->snd_cwnd = max(tp->snd_cwnd, min_cwnd);
	return 1;
}

/* Once per round, or later while the evidence does not suffice. */
static __always_inline void nv_evaluate(struct sock *sk, u32 bytes_acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct nv *ca = inet_csk_ca(sk);
	u32 max_win_pkts;
	int decided = 0;

	ca->round_seq = tp->snd_nxt;
	if (ca->rounds < 0xff)
		ca->rounds++;
	if (nv_too_small_to_decide(sk, bytes_acked))
		return;

	max_win_pkts = nv_max_win(tp, ca);
	ca->max_win_pkts = max_win_pkts;
	ca->decided_rate = ca->max_rate;
	if (tp->snd_cwnd > max_win_pkts)
		decided = nv_shrink(tp, ca, max_win_pkts);
	else if ((u64)tp->snd_cwnd + pad_buffer <= max_win_pkts)
		decided = nv_allow_growth(tp, ca);
	if (!decided)
		return;
	ca->samples = 0;
	ca->rounds = 0;
	ca->max_rate = 0;
}

CC_OP(void, nv_init, struct sock *sk)
{
	struct nv *ca = inet_csk_ca(sk);

	cc_take_over(sk);
	*ca = (struct nv){0};
	nv_restart(sk);
	ca->may_grow = 1;
	ca->reset_jiffies = cc_jiffies() + NV_FIRST_RESET_S * HZ;
	ca->min_rtt_us = NV_NO_RTT;
	ca->min_rtt_new_us = NV_NO_RTT;
	ca->decision_cwnd_pkts = NV_DECISION_CWND;
}

CC_OP(void, nv_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct nv *ca = inet_csk_ca(sk);
	u32 bytes_acked, rtt_us, rate;

	if (sample->rtt_us < 0 || cc_ca_state(sk) > TCP_CA_Disorder)
		return;
	bytes_acked = tp->snd_una - ca->last_snd_una;
	ca->last_snd_una = tp->snd_una;
	if (!sample->in_flight)
		return;

	rtt_us = nv_average_rtt(ca, sample->rtt_us);
	rate = nv_rate(sample->in_flight, rtt_us);
	ca->max_rate = max(ca->max_rate, rate);
	if (ca->samples < 0xff)
		ca->samples++;
	nv_follow_min_rtt(ca, rtt_us);
	if (before(ca->round_seq, tp->snd_una))
		nv_evaluate(sk, bytes_acked);
}

static __always_inline void nv_grow(struct sock *sk, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	const struct nv *ca = inet_csk_ca(sk);
	u64 cnt;

	if (!tcp_is_cwnd_limited(tp) || !ca->may_grow)
		return;
	if (cc_slow_start(tp, &acked))
		return;
	/* Slower growth may be cwnd * 2^8; a count of 0 would be a division by zero in the kernel's function. */
	if (ca->growth < 0)
		cnt = (u64)tp->snd_cwnd << (-ca->growth & 31);
	else
		cnt = max(tp->snd_cwnd >> (ca->growth & 31), NV_MIN_GROWTH_CNT);
	tcp_cong_avoid_ai(tp, clamp(cnt, 1ULL, 0xffffffffULL), acked);
}

CC_OP(void, nv_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	nv_grow(sk, acked);
	nv_publish(sk);
}

CC_OP(void, nv_set_state, struct sock *sk, u8 new_state)
{
	struct nv *ca = inet_csk_ca(sk);

	if (new_state == TCP_CA_Open && ca->reset_due) {
		nv_restart(sk);
		return;
	}
	if (new_state < TCP_CA_CWR)
		return;
	ca->reset_due = 1;
	ca->may_grow = 0;
	if (new_state != TCP_CA_Loss)
		return;
	ca->growth = min(ca->growth, 0);
	if (growth_rate_neg && ca->growth > NV_SLOWEST_GROWTH)
		ca->growth--;
}

CC_OP(u32, nv_ssthresh, struct sock *sk)
{
	u32 reduced = (u64)tcp_sk(sk)->snd_cwnd * loss_dec_factor >> 10;

	return max(reduced, NV_MIN_SSTHRESH);
}

CC_OP(u32, nv_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

CC_OPS(bpf_nv) = {
    .init = (void *)nv_init,
    .ssthresh = (void *)nv_ssthresh,
    .cong_avoid = (void *)nv_cong_avoid,
    .set_state = (void *)nv_set_state,
    .pkts_acked = (void *)nv_pkts_acked,
    .undo_cwnd = (void *)nv_undo_cwnd,
    .name = "bpf_nv",
};
