// SPDX-License-Identifier: GPL-2.0
/*
 * BALIA, the Balanced Linked Adaptation of MPTCP: Peng, Walid, Hwang, Low, "Multipath TCP: Analysis, Design, and
 * Implementation", IEEE/ACM ToN 24(1), 2016; draft-walid-mptcp-congestion-control-04.
 *
 * In a nutshell: between LIA, which is friendly but slow to answer, and OLIA, which is quick but can starve a path. Both
 * the increase and the decrease depend on how this subflow's rate compares with that of the fastest. With the rates
 * x_k = cwnd_k / rtt_k of every subflow k, and alpha = max(x_k) / x >= 1:
 *
 *   slow start   cwnd += packets acked                                      while cwnd < ssthresh
 *   avoidance    cwnd += packets acked * (x / rtt) / (sum x_k)^2 * (1 + alpha) / 2 * (4 + alpha) / 5
 *   loss         ssthresh = max(cwnd - cwnd / 2 * min(alpha, 1.5), 1); with one path max(cwnd / 2, 2)
 *
 *                cwnd >= ssthresh
 *   SLOW_START -------------------> AVOIDANCE
 *              <-------------------
 *                timeout, idle time: the kernel sets cwnd below ssthresh
 *
 * With one path alpha is 1, the increase 1 / cwnd and the decrease one half: Reno. That case is left to the kernel's own
 * Reno. With several paths the increase is never larger than Reno's, because the sum of the rates is at least
 * max(x_k) + x unless x is itself the largest.
 *
 * In windows: a packet per cwnd * 10 s^2 / ((1 + alpha) (4 + alpha)) packets acked, with s = sum x_k / x.
 *
 * Unlike the module of the kernels of multipath-tcp.org, alpha is not rounded down to a whole number, increase and
 * decrease are computed when they are due, and growth counts packets rather than ACKs (reno.bpf.c). A subflow that is
 * reducing its window counts with what it is going to have.
 *
 * Read mptcp_coupling.bpf.h first.
 */
#include "cc.bpf.h"
#include "cc_handover.bpf.h"
#include "mptcp_coupling.bpf.h"

CC_ALGORITHM("balia", "loss", "MPTCP: linked growth and decrease by a subflow's rate beside that of the fastest.",
	     "Peng et al. 2016; draft-walid-mptcp-congestion-control-04");
CC_COLOR("#FB6A4A");
CC_TRACE_V0("coupled_paths", "subflows that grow together, this one included; 0 = it shares nothing");
CC_TRACE_V1("mptcp_token", "token of the MPTCP connection, 0 = none");

#define BALIA_ONE               1024U        /* ratios of rates in 2^-10 */
#define BALIA_MAX_RATIO         (1ULL << 22) /* 4096: s^2 with all paths fits into 64 bits with what it is scaled by */
#define BALIA_MAX_DECREASE      1536U        /* 1.5, draft */
#define BALIA_MIN_SSTHRESH_PKTS 1U           /* with several paths, draft */

CC_MODES(balia_mode, BALIA_SLOW_START, BALIA_AVOIDANCE);

struct balia {
	struct cc_path_ref ref;
};
CC_PRIV_FITS(struct balia);

/* In 2^-10. */
struct balia_ratios {
	u64 alpha; /* the largest rate over this subflow's */
	u64 total; /* s: the sum of the rates over this subflow's */
};

static __always_inline void balia_publish(struct sock *sk, const struct balia *balia)
{
	struct cca_trace *trace = cc_trace(sk);

	if (!trace)
		return;
	trace->mode = tcp_in_slow_start(tcp_sk(sk)) ? BALIA_SLOW_START : BALIA_AVOIDANCE;
	trace->v0 = balia->ref.paths;
	trace->v1 = balia->ref.token;
	cc_trace_done(trace);
}

static __always_inline struct balia_ratios balia_compare(const struct cc_paths *paths, const struct cc_path_ref *ref)
{
	struct balia_ratios ratios = {.alpha = BALIA_ONE};
	struct cc_path_view own = cc_own_view(paths, ref);

	for (u32 number = 0; number < CC_PATHS; number++) {
		const struct cc_path_view *path = &paths->path[number];
		u64 x = (u64)path->cwnd_pkts * own.rtt * BALIA_ONE;
		u64 ratio = x / max((u64)path->rtt * own.cwnd_pkts, 1ULL);

		ratio = min(ratio, BALIA_MAX_RATIO);
		ratios.alpha = max(ratios.alpha, ratio);
		ratios.total += ratio;
	}
	ratios.total = max(ratios.total, (u64)BALIA_ONE);
	return ratios;
}

/* Packets that have to be acknowledged for one of growth. */
static __always_inline u32 balia_pkts_per_step(const struct balia_ratios *ratios, u32 cwnd_pkts)
{
	u64 numerator = 10 * ratios->total * ratios->total << 10;
	u64 denominator = (BALIA_ONE + ratios->alpha) * (4 * BALIA_ONE + ratios->alpha);
	u64 step_pkts = cwnd_pkts * (numerator / denominator) >> 10;

	return min(step_pkts, (u64)(u32)~0U);
}

static __always_inline void balia_avoid(struct tcp_sock *tp, const struct balia *balia, const struct cc_paths *paths,
					u32 acked)
{
	struct balia_ratios ratios;
	u32 step_pkts;

	if (!tcp_is_cwnd_limited(tp) || cc_slow_start(tp, &acked))
		return;
	ratios = balia_compare(paths, &balia->ref);
	step_pkts = balia_pkts_per_step(&ratios, tp->snd_cwnd);
	tcp_cong_avoid_ai(tp, max(step_pkts, tp->snd_cwnd), acked);
}

CC_OP(void, balia_init, struct sock *sk)
{
	struct balia *balia = inet_csk_ca(sk);

	*balia = (struct balia){};
	cc_begin_path(&balia->ref);
	cc_take_over(sk);
}

CC_OP(void, balia_release, struct sock *sk)
{
	struct balia *balia = inet_csk_ca(sk);

	cc_leave_paths(sk, &balia->ref);
}

CC_OP(u32, balia_ssthresh, struct sock *sk)
{
	struct balia *balia = inet_csk_ca(sk);
	u32 cwnd = tcp_sk(sk)->snd_cwnd;
	struct balia_ratios ratios;
	struct cc_paths paths;
	u32 decrease, left_pkts;

	if (cc_couple(sk, &balia->ref, 0, &paths) < 2)
		return tcp_reno_ssthresh(sk);
	ratios = balia_compare(&paths, &balia->ref);
	decrease = min(ratios.alpha, (u64)BALIA_MAX_DECREASE);
	left_pkts = (u64)cwnd * (2 * BALIA_ONE - decrease) / (2 * BALIA_ONE);
	return max(left_pkts, BALIA_MIN_SSTHRESH_PKTS);
}

CC_OP(void, balia_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct balia *balia = inet_csk_ca(sk);
	struct cc_paths paths;

	if (cc_couple(sk, &balia->ref, 0, &paths) < 2)
		tcp_reno_cong_avoid(sk, ack, acked);
	else
		balia_avoid(tcp_sk(sk), balia, &paths, acked);
	balia_publish(sk, balia);
}

CC_OP(void, balia_set_state, struct sock *sk, u8 new_state)
{
	struct balia *balia = inet_csk_ca(sk);

	cc_show_path(sk, &balia->ref, new_state, 0);
}

CC_OP(u32, balia_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

CC_OPS(balia) = {
    .init = (void *)balia_init,
    .release = (void *)balia_release,
    .ssthresh = (void *)balia_ssthresh,
    .cong_avoid = (void *)balia_cong_avoid,
    .set_state = (void *)balia_set_state,
    .undo_cwnd = (void *)balia_undo_cwnd,
    .name = "balia",
};
