// SPDX-License-Identifier: GPL-2.0
/*
 * BIC: Xu, Harfoush, Rhee, "Binary Increase Congestion Control (BIC) for Fast Long-Distance Networks",
 * INFOCOM 2004.
 *
 * In a nutshell: the window searches for the Wmax of the last loss in steps that shrink as it comes near, and
 * looks for more beyond it in steps that grow. With B = 4, the growth of cwnd per RTT:
 *
 *   reno        cwnd <= 14                             1
 *   linear      more than 4 * 16 below Wmax            16 (Smax)
 *   search      nearer                                 (Wmax - cwnd) / 4: a quarter of what is missing
 *   plateau     less than 8 below, less than 4 above   4/20
 *   probe       up to 3 * 16 above                     (cwnd - Wmax) / 3
 *   linear      beyond                                 16
 *
 *   before the first loss, at least cwnd / 20 per RTT
 *   loss        Wmax = cwnd
 *               Wmax = cwnd * (1 + beta) / 2 if cwnd has not come back to the last Wmax (fast convergence)
 *               ssthresh = beta * cwnd with beta = 0.8, half of it up to 14 packets
 *
 *                cwnd >= ssthresh
 *   SLOW_START -------------------> LINEAR --> SEARCH --> PLATEAU --> PROBE --> LINEAR
 *                                     ^  below Wmax       around it    above       |
 *                                     |                                            |
 *                                     +--- from any: a loss moves Wmax to cwnd ----+
 *
 *   RENO in place of any of them       while cwnd <= low_window (14)
 *   any -- timeout: Wmax is forgotten --> SLOW_START; without a Wmax cwnd counts as above one of 0
 *
 * A loss and the end of SLOW_START lead to the law that the distance to Wmax calls for: to SEARCH or PLATEAU
 * where Wmax is small, to PROBE or LINEAR where there is none. An idle time that lowers cwnd below ssthresh
 * leads to SLOW_START too, and keeps Wmax.
 *
 * As native bic, step by step. The growth is kept as cnt, packets acknowledged per packet of growth,
 * recomputed when cwnd changes or every 1/32 s (jiffies). The widths of its products are the module's (they
 * wrap above 2.3 million packets).
 *
 * Unlike the paper, as the module:
 *   - The search goes a quarter of the way, not half. The plateau replaces Smin.
 *   - cnt is divided by the measured packets per ACK although growth counts packets. So the growth above is
 *     multiplied by them: by 2 with delayed ACKs, by more with GRO. With an ACK per packet it is 31/16, where
 *     the integer average settles.
 * A divisor of zero, which the module excludes by its initial value, is excluded by a test here: a callback
 * may run before init.
 */
#include "cc.bpf.h"
#include "cc_handover.bpf.h"

CC_ALGORITHM("bic", "loss",
	     "Searches for the window between the reduced one and that of the last loss: CUBIC's predecessor.",
	     "Xu, Harfoush, Rhee 2004; net/ipv4/tcp_bic.c");
CC_COLOR("#56B4E9");
CC_TRACE_V0("last_max_pkts", "Wmax, which the search aims at; 0 = no loss yet");
CC_TRACE_V1("cnt_pkts", "packets acknowledged per packet that the window grows");

#define BIC_BETA_UNIT       1024U /* beta = 1.0 */
#define BIC_B               4U    /* the search aims at a B-th of the distance; width of the plateau above Wmax */
#define BIC_FIRST_CNT       20U   /* at least 5 % per RTT before the first loss: bandwidth is unknown */
#define BIC_ACK_RATIO_SHIFT 4     /* packets per ACK in sixteenths; also the weight of a sample */
#define BIC_ACK_RATIO_INIT  (2U << BIC_ACK_RATIO_SHIFT) /* a receiver that delays its ACKs */
#define BIC_MIN_CWND        2U                          /* packets, RFC 5681 section 3.1 */

CC_TUNABLE(u32, beta, 819, 1, 1023, "1/1024", "window after a loss as share of the window before",
	   "net/ipv4/tcp_bic.c");
CC_SWITCH(u32, fast_convergence, 1, "give bandwidth up for newcomers when the last maximum was not reached",
	  "net/ipv4/tcp_bic.c");
CC_TUNABLE(u32, max_increment, 16, 1, 10000, "packets", "largest growth per round trip", "net/ipv4/tcp_bic.c");
CC_TUNABLE(u32, low_window, 14, 0, 65535, "packets", "window up to which Reno's law holds", "net/ipv4/tcp_bic.c");
CC_TUNABLE(u32, smooth_part, 20, 1, 1000, "rounds", "round trips for the four packets around the maximum",
	   "net/ipv4/tcp_bic.c");
CC_TUNABLE(u32, initial_ssthresh, 0, 0, 2147483647, "packets", "end of the first slow start, 0 = none",
	   "net/ipv4/tcp_bic.c");

CC_MODES(bic_mode, BIC_SLOW_START, BIC_RENO, BIC_LINEAR, BIC_SEARCH, BIC_PLATEAU, BIC_PROBE);

struct bic {
	u32 cnt;           /* acknowledged packets per packet that cwnd grows */
	u32 last_max_pkts; /* Wmax, 0 = no loss yet */
	u32 last_cwnd;     /* cwnd at the last computation of cnt */
	u32 last_jiffies;  /* time of it */
	u32 ack_ratio;     /* packets per ACK, smoothed, in sixteenths */
};
CC_PRIV_FITS(struct bic);

/* Which law holds at this window. */
static __always_inline enum bic_mode bic_law(const struct bic *ca, u32 cwnd)
{
	u32 above;

	if (cwnd <= low_window)
		return BIC_RENO;
	if (cwnd < ca->last_max_pkts) {
		u32 step = (ca->last_max_pkts - cwnd) / BIC_B;

		if (step > max_increment)
			return BIC_LINEAR;
		return step > 1 ? BIC_SEARCH : BIC_PLATEAU;
	}
	above = cwnd - ca->last_max_pkts;
	if (above < BIC_B)
		return BIC_PLATEAU;
	return above < max_increment * (BIC_B - 1) ? BIC_PROBE : BIC_LINEAR;
}

/* Packets to be acknowledged for one packet of growth, by that law. Each divisor is at least 1 where its law holds. */
static __always_inline u32 bic_law_cnt(const struct bic *ca, enum bic_mode law, u32 cwnd)
{
	switch (law) {
	case BIC_SEARCH:
		return cwnd / ((ca->last_max_pkts - cwnd) / BIC_B);
	case BIC_PLATEAU:
		return cwnd * smooth_part / BIC_B;
	case BIC_PROBE:
		return cwnd * (BIC_B - 1) / (cwnd - ca->last_max_pkts);
	case BIC_LINEAR:
		return cwnd / max_increment;
	default:
		return cwnd;
	}
}

static __always_inline void bic_update(struct bic *ca, u32 cwnd)
{
	u32 now = cc_jiffies();
	enum bic_mode law;

	if (ca->last_cwnd == cwnd && (s32)(now - ca->last_jiffies) <= (s32)(HZ / 32))
		return;
	ca->last_cwnd = cwnd;
	ca->last_jiffies = now;

	law = bic_law(ca, cwnd);
	ca->cnt = bic_law_cnt(ca, law, cwnd);
	if (law == BIC_RENO)
		return;
	if (!ca->last_max_pkts)
		ca->cnt = min(ca->cnt, BIC_FIRST_CNT);
	ca->cnt = (ca->cnt << BIC_ACK_RATIO_SHIFT) / max(ca->ack_ratio, 1U);
	ca->cnt = max(ca->cnt, 1U);
}

static __always_inline void bic_grow(struct sock *sk, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct bic *ca = inet_csk_ca(sk);

	if (!tcp_is_cwnd_limited(tp))
		return;
	if (cc_slow_start(tp, &acked))
		return;
	bic_update(ca, tp->snd_cwnd);
	tcp_cong_avoid_ai(tp, ca->cnt, acked);
}

static __always_inline void bic_publish(struct sock *sk)
{
	struct cca_trace *trace = cc_trace(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct bic *ca = inet_csk_ca(sk);

	if (!trace)
		return;
	trace->mode = tcp_in_slow_start(tp) ? BIC_SLOW_START : bic_law(ca, tp->snd_cwnd);
	trace->v0 = ca->last_max_pkts;
	trace->v1 = ca->cnt;
	cc_trace_done(trace);
}

static __always_inline void bic_reset(struct sock *sk)
{
	struct bic *ca = inet_csk_ca(sk);

	*ca = (struct bic){.ack_ratio = BIC_ACK_RATIO_INIT};
}

CC_OP(void, bic_init, struct sock *sk)
{
	cc_take_over(sk);
	bic_reset(sk);
	if (initial_ssthresh)
		tcp_sk(sk)->snd_ssthresh = initial_ssthresh;
}

CC_OP(u32, bic_ssthresh, struct sock *sk)
{
	u32 cwnd = tcp_sk(sk)->snd_cwnd;
	struct bic *ca = inet_csk_ca(sk);
	u32 reduced;

	if (cwnd < ca->last_max_pkts && fast_convergence)
		ca->last_max_pkts = cwnd * (BIC_BETA_UNIT + beta) / (2 * BIC_BETA_UNIT);
	else
		ca->last_max_pkts = cwnd;
	reduced = cwnd <= low_window ? cwnd / 2 : cwnd * beta / BIC_BETA_UNIT;
	return max(reduced, BIC_MIN_CWND);
}

CC_OP(void, bic_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	bic_grow(sk, acked);
	bic_publish(sk);
}

CC_OP(void, bic_set_state, struct sock *sk, u8 new_state)
{
	if (new_state == TCP_CA_Loss)
		bic_reset(sk);
}

CC_OP(void, bic_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct bic *ca = inet_csk_ca(sk);

	if (cc_ca_state(sk) == TCP_CA_Open)
		ca->ack_ratio += sample->pkts_acked - (ca->ack_ratio >> BIC_ACK_RATIO_SHIFT);
}

CC_OP(u32, bic_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

CC_OPS(bpf_bic) = {
    .init = (void *)bic_init,
    .ssthresh = (void *)bic_ssthresh,
    .cong_avoid = (void *)bic_cong_avoid,
    .set_state = (void *)bic_set_state,
    .pkts_acked = (void *)bic_pkts_acked,
    .undo_cwnd = (void *)bic_undo_cwnd,
    .name = "bpf_bic",
};
