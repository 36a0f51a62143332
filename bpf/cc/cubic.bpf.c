// SPDX-License-Identifier: GPL-2.0
/*
 * CUBIC with HyStart: Ha, Rhee, Xu, "CUBIC: A New TCP-Friendly High-Speed TCP Variant" (2008); RFC 9438;
 * HyStart: Ha, Rhee, "Taming the Elephants" (2011).
 *
 * In a nutshell: after a loss the window follows a cubic of the time since then, flat around the window of
 * the loss.
 *
 *   avoidance     W(t) = C (t - K)^3 + origin      t = time since the epoch began + min RTT (one RTT ahead)
 *   after a loss  origin = Wmax
 *                 K = cbrt((Wmax - cwnd) / C)
 *                 ssthresh = beta * cwnd
 *                 Wmax = cwnd
 *                 Wmax = cwnd * (1 + beta) / 2 if cwnd has not come back to the last Wmax (fast convergence)
 *   friendliness  W_est grows by one packet per cwnd * 8 (1 + beta) / 3 (1 - beta) / 8 acknowledged ones, as
 *                 Reno with this beta would; cwnd does not grow more slowly than W_est
 *   slow start    ends early by HyStart, or by HyStart++ (RFC 9406) with hystart = 2: hystart.bpf.h
 *
 *     window
 *       ^                                                        /
 *       |                                                    _.-'   CONVEX: looks for more
 *   Wmax|- - - - - - - - - -  _____---------------------'''''
 *       |                _.--'              |
 *       |            _.-'                   |
 *       |         .-'   CONCAVE: back to Wmax
 *   beta|       .'                          |
 *   Wmax|      |                            |
 *       +------+----------------------------+---------------------> time
 *            loss                      K after it
 *
 *                HyStart or loss
 *   SLOW_START ------------------> CONCAVE, then CONVEX; FRIENDLY whenever W_est is above this curve
 *              <------------------
 *                timeout: all of it is forgotten
 *
 * As native cubic, step by step: time in jiffies, the cube root's integers, one recomputation per jiffy.
 *
 * Unlike RFC 9438: cwnd rather than FlightSize; a fixed slope of W_est; no clamp of the target to 1.5 cwnd
 * (at most one packet per two acknowledged gives the same bound).
 *
 * Written differently from the native module: the loop that advances W_est is a division. beta and C may be
 * set per loaded copy, and the derived factors are computed from them where they are used.
 *
 * Read this file from cubic_cong_avoid() upwards; then cubic_curve.bpf.h, the curve and a loss;
 * hystart.bpf.h, the early end of slow start and its phase CSS.
 */
#include "cc.bpf.h"
#include "cc_handover.bpf.h"
#include "cubic_curve.bpf.h"
#include "hystart.bpf.h"

CC_ALGORITHM("cubic", "loss",
	     "Window along a cubic of the time since the last loss, slow start cut short by HyStart: Linux's default.",
	     "Ha, Rhee, Xu 2008; RFC 9438; RFC 9406; net/ipv4/tcp_cubic.c");
CC_COLOR("#0072B2");
CC_TRACE_V0("origin_pkts", "plateau of the cubic: the window of the last loss");
CC_TRACE_V1("k_ms", "K, time from the start of the epoch to the plateau");

CC_TUNABLE(u32, beta, CUBIC_BETA, 1, 1023, "1/1024", "window after a loss as share of the window before",
	   "net/ipv4/tcp_cubic.c");
CC_TUNABLE(u32, bic_scale, CUBIC_SCALE, 1, 4096, "1/1024", "C, the steepness of the cubic", "net/ipv4/tcp_cubic.c");
CC_SWITCH(u32, fast_convergence, 1, "give bandwidth up for newcomers when the last maximum was not reached",
	  "net/ipv4/tcp_cubic.c");
CC_SWITCH(u32, tcp_friendliness, 1, "grow at least as fast as Reno with the same beta would", "net/ipv4/tcp_cubic.c");
CC_TUNABLE(u32, initial_ssthresh, 0, 0, 2147483647, "packets", "end of slow start without HyStart, 0 = none",
	   "net/ipv4/tcp_cubic.c");

/*
 *   concave    the cubic is below its origin
 *   convex     at or above it
 *   friendly   W_est is above the cubic
 *   css        HyStart++'s conservative slow start
 */
CC_MODES(cubic_mode, CUBIC_SLOW_START, CUBIC_CONCAVE, CUBIC_CONVEX, CUBIC_FRIENDLY, CUBIC_CSS);

/* All zero is a valid state: the callbacks may run before init. */
struct cubic {
	struct cubic_curve curve;
	u32 delay_min_us; /* 0 = no sample */
	struct hystart hystart;
};
CC_PRIV_FITS(struct cubic);

static __always_inline enum cubic_mode cubic_mode(const struct tcp_sock *tp, const struct cubic *ca)
{
	if (tcp_in_slow_start(tp))
		return hspp_in_css(tp, &ca->hystart) ? CUBIC_CSS : CUBIC_SLOW_START;
	if (tcp_friendliness && ca->curve.reno_pkts > ca->curve.target_pkts)
		return CUBIC_FRIENDLY;
	return ca->curve.target_pkts < ca->curve.origin_pkts ? CUBIC_CONCAVE : CUBIC_CONVEX;
}

static __always_inline void cubic_publish(struct sock *sk)
{
	struct cca_trace *trace = cc_trace(sk);
	const struct cubic *ca = inet_csk_ca(sk);

	if (!trace)
		return;
	trace->mode = cubic_mode(tcp_sk(sk), ca);
	trace->min_rtt_us = ca->delay_min_us;
	trace->v0 = ca->curve.origin_pkts;
	trace->v1 = (u64)ca->curve.k * 1000 >> CUBIC_TIME_SHIFT;
	cc_trace_done(trace);
}

static __always_inline void cubic_reset(struct sock *sk)
{
	struct cubic *ca = inet_csk_ca(sk);

	*ca = (struct cubic){0};
	hystart_start_round(sk, &ca->hystart);
}

static __always_inline struct cubic_shape cubic_shape(void)
{
	return (struct cubic_shape){
	    .beta = beta,
	    .scale = bic_scale,
	    .fast_convergence = fast_convergence,
	    .friendly = tcp_friendliness,
	};
}

static __always_inline void cubic_grow(struct sock *sk, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct cubic *ca = inet_csk_ca(sk);

	if (!tcp_is_cwnd_limited(tp))
		return;
	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, hystart_growth_pkts(sk, &ca->hystart, acked));
		if (!acked)
			return;
	}
	cubic_update(&ca->curve, cubic_shape(), tp->snd_cwnd, acked, ca->delay_min_us);
	tcp_cong_avoid_ai(tp, ca->curve.cnt, acked);
}

CC_OP(void, cubic_init, struct sock *sk)
{
	cc_take_over(sk);
	cubic_reset(sk);
	if (!hystart && initial_ssthresh)
		tcp_sk(sk)->snd_ssthresh = initial_ssthresh;
}

CC_OP(u32, cubic_ssthresh, struct sock *sk)
{
	struct cubic *ca = inet_csk_ca(sk);

	return cubic_cut(&ca->curve, cubic_shape(), tcp_sk(sk)->snd_cwnd);
}

CC_OP(void, cubic_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	cubic_grow(sk, acked);
	cubic_publish(sk);
}

CC_OP(void, cubic_set_state, struct sock *sk, u8 new_state)
{
	if (new_state == TCP_CA_Loss)
		cubic_reset(sk);
}

/* An idle period is not part of the epoch: cwnd would jump along the cubic otherwise. */
CC_OP(void, cubic_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct cubic *ca = inet_csk_ca(sk);
	u32 now = cc_jiffies();
	s32 idle = now - tcp_sk(sk)->lsndtime;

	if (event != CA_EVENT_TX_START || !ca->curve.epoch_start || idle <= 0)
		return;
	ca->curve.epoch_start += idle;
	if (after(ca->curve.epoch_start, now))
		ca->curve.epoch_start = now;
}

CC_OP(void, cubic_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct cubic *ca = inet_csk_ca(sk);
	u32 rtt_us;

	if (sample->rtt_us < 0)
		return;
	/* Right after a recovery the queue is not what it was. */
	if (ca->curve.epoch_start && (s32)(cc_jiffies() - ca->curve.epoch_start) < (s32)HZ)
		return;
	rtt_us = max(sample->rtt_us, 1);
	if (!ca->delay_min_us || ca->delay_min_us > rtt_us)
		ca->delay_min_us = rtt_us;

	hystart_sample(sk, &ca->hystart, ca->delay_min_us, rtt_us);
}

CC_OP(u32, cubic_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

CC_OPS(bpf_cubic) = {
    .init = (void *)cubic_init,
    .ssthresh = (void *)cubic_ssthresh,
    .cong_avoid = (void *)cubic_cong_avoid,
    .set_state = (void *)cubic_set_state,
    .cwnd_event = (void *)cubic_cwnd_event,
    .pkts_acked = (void *)cubic_pkts_acked,
    .undo_cwnd = (void *)cubic_undo_cwnd,
    .name = "bpf_cubic",
};
