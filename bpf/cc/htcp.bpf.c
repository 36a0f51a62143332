// SPDX-License-Identifier: GPL-2.0
/*
 * H-TCP: Leith, Shorten, "H-TCP: TCP for High-Speed and Long-Distance Networks", PFLDnet 2004;
 * draft-leith-tcp-htcp.
 *
 * In a nutshell: growth rises with the square of the time since the last congestion event; a loss takes what
 * the queue holds and no more.
 *
 *   avoidance   alpha packets per RTT; D = seconds since the last congestion event, D_L = 1 s
 *                 f(D) = 1                                              D <= D_L      (low-speed)
 *                 f(D) = 1 + 10 (D - D_L) + ((D - D_L) / 2)^2           beyond        (high-speed)
 *                 alpha = 2 (1 - beta) f(D) RTTmin / 100 ms,            the last factor between 1/10 and 2
 *   loss        ssthresh = beta * cwnd
 *                 beta = RTTmin / RTTmax in 0.5 .. 0.8: the queue drains, no more
 *                 beta = 0.5 if RTTmin <= 10 ms, or the bandwidth has changed by a fifth since the last loss
 *   bandwidth   B = 3/4 B + 1/4 b
 *                 b = packets of about a window / its time; compared are the maxima between losses
 *
 *                cwnd >= ssthresh              D > D_L
 *   SLOW_START -------------------> LOW_SPEED ---------> HIGH_SPEED
 *                                             <---------
 *                                              congestion event: D = 0
 *   SLOW_START -- cwnd >= ssthresh, D > D_L already --> HIGH_SPEED
 *   LOW_SPEED, HIGH_SPEED -- timeout, idle time: cwnd below ssthresh --> SLOW_START
 *
 * As native htcp, step by step: all times in jiffies (RTTs rounded up: on a LAN RTTmin is one jiffy), alpha
 * and beta in 1/128, 32-bit products. They wrap as the module's do: f after 2^17 jiffies without a congestion
 * event (524 s at HZ 250). Growth is counted per call by what the last ACK acknowledged. RTTmax fades by a
 * twentieth of the queue's part per loss. An undone loss restores D. RTTmax and the bandwidth to compare with
 * stay as the loss left them, because the kernel asks for ssthresh before it announces the state in which the
 * copies are made.
 */
#include "cc.bpf.h"
#include "cc_handover.bpf.h"

CC_ALGORITHM("htcp", "loss",
	     "Grows with the square of the time since the last loss, and backs off to what empties the queue.",
	     "Leith, Shorten 2004; net/ipv4/tcp_htcp.c");
CC_COLOR("#44AA99");
CC_TRACE_V0("alpha_milli", "packets per round trip that the window grows, in thousandths");
CC_TRACE_V1("beta_milli", "share of the window that the last loss left, in thousandths");

#define HTCP_UNIT         128U /* alpha, beta = 1.0 */
#define HTCP_SHIFT        7
#define HTCP_MIN_CWND     2U /* packets */
#define HTCP_MSEC_PER_S   1000U
#define HTCP_RTT_RISE_MS  20U        /* an RTT that exceeds RTTmax by more is not believed */
#define HTCP_RTT_FLOOR_MS 10U        /* no adaptive beta up to here: too short for a clock of jiffies */
#define HTCP_FADE_PERCENT 95U        /* of RTTmax - RTTmin survive a loss */
#define HTCP_FRESH_ROUNDS 3U         /* rounds after a loss in which the bandwidth is measured anew */
#define HTCP_SCALE_SHIFT  3          /* RTT scaling in eighths */
#define HTCP_SCALE_PER_S  10U        /* reference RTT: 1/10 s */
#define HTCP_SCALE_MIN    (1U << 2)  /* half the reference rate */
#define HTCP_SCALE_MAX    (10U << 3) /* ten times */

CC_SWITCH(u32, use_rtt_scaling, 1, "scale growth by the RTT: flows of any RTT grow alike per second",
	  "Leith, Shorten 2004; net/ipv4/tcp_htcp.c");
CC_SWITCH(u32, use_bandwidth_switch, 1, "back off to the least share when the bandwidth has changed",
	  "Leith, Shorten 2004; net/ipv4/tcp_htcp.c");
CC_TUNABLE(u32, beta_min, 64, 1, 127, "1/128", "least share of the window that a loss leaves",
	   "Leith, Shorten 2004; net/ipv4/tcp_htcp.c");
CC_TUNABLE(u32, beta_max, 102, 1, 127, "1/128", "largest share; it wins over beta_min",
	   "Leith, Shorten 2004; net/ipv4/tcp_htcp.c");
CC_TUNABLE(u32, delta_l_ms, 1000, 0, 60000, "ms", "time of Reno's growth after a loss",
	   "Leith, Shorten 2004; net/ipv4/tcp_htcp.c");

/*
 *   low-speed    D <= D_L
 *   high-speed   beyond
 */
CC_MODES(htcp_mode, HTCP_SLOW_START, HTCP_LOW_SPEED, HTCP_HIGH_SPEED);

/* Times in jiffies, bandwidths in packets per second. */
struct htcp {
	u32 alpha;
	u8 beta;
	u8 adaptive; /* the last loss found a stable bandwidth: the next may use the RTTs */
	u16 last_acked_pkts;
	u32 rtt_min; /* 0 = no sample */
	u32 rtt_max;
	u32 congested; /* time of the last congestion event, or of its end */
	u32 sample_pkts;
	u32 sample_start;
	u32 bw;     /* B */
	u32 bw_max; /* its maximum since the last loss */
	u32 bw_max_before;
	/* As they were before the present episode; undo_congested = 0: there is none. */
	u32 undo_congested;
	u32 undo_rtt_max;
	u32 undo_bw_max_before;
};
CC_PRIV_FITS(struct htcp);

static __always_inline u32 htcp_ms_to_jiffies(u32 ms)
{
	return DIV_ROUND_UP(ms * HZ, HTCP_MSEC_PER_S);
}

/* D, in jiffies. */
static __always_inline u32 htcp_elapsed(const struct htcp *ca)
{
	return cc_jiffies() - ca->congested;
}

static __always_inline u32 htcp_low_speed_jiffies(void)
{
	return delta_l_ms * HZ / HTCP_MSEC_PER_S;
}

/* ---- increase ---- */

static __always_inline void htcp_update_alpha(struct htcp *ca)
{
	u32 elapsed = htcp_elapsed(ca);
	u32 low_speed = htcp_low_speed_jiffies();
	u32 factor = 1;

	if (elapsed > low_speed) {
		u32 fast = elapsed - low_speed;

		factor += (10 * fast + fast / 2 * (fast / 2) / HZ) / HZ;
	}
	if (use_rtt_scaling && ca->rtt_min) {
		u32 scale = (HZ << HTCP_SCALE_SHIFT) / (HTCP_SCALE_PER_S * ca->rtt_min);

		scale = clamp(scale, HTCP_SCALE_MIN, HTCP_SCALE_MAX);
		factor = (factor << HTCP_SCALE_SHIFT) / scale;
		factor = max(factor, 1U);
	}
	ca->alpha = 2 * factor * (HTCP_UNIT - ca->beta);
	if (!ca->alpha)
		ca->alpha = HTCP_UNIT;
}

static __always_inline void htcp_grow(struct sock *sk, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct htcp *ca = inet_csk_ca(sk);

	if (!tcp_is_cwnd_limited(tp))
		return;
	if (tcp_in_slow_start(tp)) {
		tcp_slow_start(tp, acked);
		return;
	}
	if (tp->snd_cwnd_cnt * ca->alpha >> HTCP_SHIFT >= tp->snd_cwnd) {
		if (tp->snd_cwnd < tp->snd_cwnd_clamp)
			tp->snd_cwnd++;
		tp->snd_cwnd_cnt = 0;
		htcp_update_alpha(ca);
	} else {
		tp->snd_cwnd_cnt += ca->last_acked_pkts;
	}
	ca->last_acked_pkts = 1;
}

/* ---- measurements ---- */

static __always_inline void htcp_take_rtt(struct htcp *ca, u32 rtt, u8 state)
{
	if (!ca->rtt_min || rtt < ca->rtt_min)
		ca->rtt_min = rtt;
	if (state != TCP_CA_Open)
		return;
	ca->rtt_max = max(ca->rtt_max, ca->rtt_min);
	if (rtt > ca->rtt_max && rtt <= ca->rtt_max + htcp_ms_to_jiffies(HTCP_RTT_RISE_MS))
		ca->rtt_max = rtt;
}

/* A sample is about a window: as many packets as cwnd less the growth of one RTT, over at least RTTmin. */
static __always_inline int htcp_sample_is_full(const struct htcp *ca, u32 cwnd, u32 length)
{
	u32 growth_pkts = ca->alpha >> HTCP_SHIFT;

	return ca->rtt_min && length >= ca->rtt_min && ca->sample_pkts >= cwnd - max(growth_pkts, 1U);
}

static __always_inline void htcp_take_bandwidth(struct htcp *ca, u32 length)
{
	u32 sample = ca->sample_pkts * HZ / length;

	/* The first rounds after a loss tell the bandwidth without a queue, and begin a new maximum. */
	if (htcp_elapsed(ca) / ca->rtt_min <= HTCP_FRESH_ROUNDS) {
		ca->bw = ca->bw_max = sample;
		return;
	}
	ca->bw = (3 * ca->bw + sample) / 4;
	ca->bw_max = max(ca->bw_max, ca->bw);
}

static __always_inline void htcp_measure_bandwidth(struct sock *sk, u32 acked_pkts, u8 state)
{
	struct htcp *ca = inet_csk_ca(sk);
	u32 now = cc_jiffies();
	u32 length = now - ca->sample_start;

	if (state == TCP_CA_Open || state == TCP_CA_Disorder) {
		ca->sample_pkts += acked_pkts;
		if (!htcp_sample_is_full(ca, tcp_sk(sk)->snd_cwnd, length))
			return;
		htcp_take_bandwidth(ca, length);
	}
	ca->sample_pkts = 0;
	ca->sample_start = now;
}

/* ---- decrease ---- */

/* Has the bandwidth stayed within a fifth of that of the last loss? In sequence arithmetic, as the module's. */
static __always_inline int htcp_bandwidth_is_stable(u32 bw, u32 before)
{
	return 6 * before - 4 * before >= 5 * bw - 4 * before;
}

static __always_inline void htcp_update_beta(struct htcp *ca)
{
	u32 before = ca->bw_max_before;
	u8 ratio;

	if (use_bandwidth_switch) {
		ca->bw_max_before = ca->bw_max;
		if (!htcp_bandwidth_is_stable(ca->bw_max, before)) {
			ca->beta = beta_min;
			ca->adaptive = 0;
			return;
		}
	}
	if (!ca->adaptive || ca->rtt_min <= htcp_ms_to_jiffies(HTCP_RTT_FLOOR_MS) || !ca->rtt_max) {
		ca->beta = beta_min;
		ca->adaptive = 1;
		return;
	}
	ratio = (ca->rtt_min << HTCP_SHIFT) / ca->rtt_max;
	ca->beta = clamp(ratio, beta_min, beta_max);
}

/* ---- trace ---- */

static __always_inline enum htcp_mode htcp_mode(const struct tcp_sock *tp, const struct htcp *ca)
{
	if (tcp_in_slow_start(tp))
		return HTCP_SLOW_START;
	return htcp_elapsed(ca) > htcp_low_speed_jiffies() ? HTCP_HIGH_SPEED : HTCP_LOW_SPEED;
}

static __always_inline void htcp_publish(struct sock *sk)
{
	struct cca_trace *trace = cc_trace(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct htcp *ca = inet_csk_ca(sk);

	if (!trace)
		return;
	trace->mode = htcp_mode(tp, ca);
	trace->bw_bps = (u64)ca->bw * tp->mss_cache * 8;
	trace->min_rtt_us = ca->rtt_min * (USEC_PER_SEC / HZ);
	trace->v0 = (u64)ca->alpha * 1000 >> HTCP_SHIFT;
	trace->v1 = (u32)ca->beta * 1000 >> HTCP_SHIFT;
	cc_trace_done(trace);
}

/* ---- callbacks ---- */

CC_OP(void, htcp_init, struct sock *sk)
{
	struct htcp *ca = inet_csk_ca(sk);

	cc_take_over(sk);
	*ca = (struct htcp){
	    .alpha = HTCP_UNIT,
	    .beta = beta_min,
	    .last_acked_pkts = 1,
	    .congested = cc_jiffies(),
	};
}

CC_OP(u32, htcp_ssthresh, struct sock *sk)
{
	struct htcp *ca = inet_csk_ca(sk);
	u32 rtt_min = ca->rtt_min;
	u32 reduced;

	htcp_update_beta(ca);
	htcp_update_alpha(ca);
	if (rtt_min && ca->rtt_max > rtt_min)
		ca->rtt_max = rtt_min + (ca->rtt_max - rtt_min) * HTCP_FADE_PERCENT / 100;
	reduced = tcp_sk(sk)->snd_cwnd * ca->beta >> HTCP_SHIFT;
	return max(reduced, HTCP_MIN_CWND);
}

CC_OP(void, htcp_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	htcp_grow(sk, acked);
	htcp_publish(sk);
}

CC_OP(void, htcp_set_state, struct sock *sk, u8 new_state)
{
	struct htcp *ca = inet_csk_ca(sk);

	switch (new_state) {
	case TCP_CA_Open:
		if (ca->undo_congested)
			ca->congested = cc_jiffies();
		ca->undo_congested = 0;
		break;
	case TCP_CA_CWR:
	case TCP_CA_Recovery:
	case TCP_CA_Loss:
		ca->undo_congested = ca->congested;
		ca->undo_rtt_max = ca->rtt_max;
		ca->undo_bw_max_before = ca->bw_max_before;
		ca->congested = cc_jiffies();
		break;
	}
}

CC_OP(void, htcp_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct htcp *ca = inet_csk_ca(sk);
	u8 state = cc_ca_state(sk);

	if (state == TCP_CA_Open)
		ca->last_acked_pkts = sample->pkts_acked;
	if (sample->rtt_us > 0)
		htcp_take_rtt(ca, cc_us_to_jiffies(sample->rtt_us), state);
	if (use_bandwidth_switch)
		htcp_measure_bandwidth(sk, sample->pkts_acked, state);
}

CC_OP(u32, htcp_undo_cwnd, struct sock *sk)
{
	struct htcp *ca = inet_csk_ca(sk);

	if (ca->undo_congested) {
		ca->congested = ca->undo_congested;
		ca->rtt_max = ca->undo_rtt_max;
		ca->bw_max_before = ca->undo_bw_max_before;
		ca->undo_congested = 0;
	}
	return tcp_reno_undo_cwnd(sk);
}

CC_OPS(bpf_htcp) = {
    .init = (void *)htcp_init,
    .ssthresh = (void *)htcp_ssthresh,
    .cong_avoid = (void *)htcp_cong_avoid,
    .set_state = (void *)htcp_set_state,
    .pkts_acked = (void *)htcp_pkts_acked,
    .undo_cwnd = (void *)htcp_undo_cwnd,
    .name = "bpf_htcp",
};
