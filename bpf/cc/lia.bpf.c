// SPDX-License-Identifier: GPL-2.0
/*
 * LIA, the Linked Increases Algorithm of MPTCP: RFC 6356.
 *
 * In a nutshell: each subflow is Reno, but together they grow no faster than one TCP would on the best of their paths.
 * With cwnd_k and rtt_k of every subflow k:
 *
 *   slow start   cwnd += packets acked                                      while cwnd < ssthresh
 *   avoidance    cwnd += packets acked * min(alpha / sum cwnd_k, 1 / cwnd)
 *                alpha = sum cwnd_k * max(cwnd_k / rtt_k^2) / (sum cwnd_k / rtt_k)^2
 *   loss         ssthresh = max(cwnd / 2, 2), of this subflow alone
 *
 * A lossy path is halved more often, while all grow alike: traffic moves away from it. The minimum makes no subflow more
 * aggressive than Reno would be on its path.
 *
 *                cwnd >= ssthresh
 *   SLOW_START -------------------> AVOIDANCE
 *              <-------------------
 *                timeout, idle time: the kernel sets cwnd below ssthresh
 *
 * With one path alpha is 1, and the increase is Reno's. That case is left to the kernel's own Reno, so it is exact.
 *
 * In packets (section 4.3): with b the path of the maximum, alpha / sum cwnd_k is one packet per
 * (sum cwnd_k * rtt_b / rtt_k)^2 / cwnd_b packets acked, rounded down. alpha depends on no MSS (section 4.1), so paths
 * with different MSS count alike in packets/s.
 *
 * Unlike the module of the kernels of multipath-tcp.org ("coupled" or "lia"), alpha is computed at every ACK, not when a
 * window changes, and growth counts packets rather than ACKs (reno.bpf.c). A subflow that is reducing its window counts
 * with what it is going to have.
 *
 * Read mptcp_coupling.bpf.h first: how subflows see each other, and when they do not.
 */
#include "cc.bpf.h"
#include "cc_handover.bpf.h"
#include "mptcp_coupling.bpf.h"

CC_ALGORITHM("lia", "loss", "MPTCP: all subflows together grow like one Reno flow on the best path.", "RFC 6356");
CC_COLOR("#6A3D9A");
CC_TRACE_V0("coupled_paths", "subflows that grow together, this one included; 0 = it shares nothing");
CC_TRACE_V1("mptcp_token", "token of the MPTCP connection, 0 = none");

CC_MODES(lia_mode, LIA_SLOW_START, LIA_AVOIDANCE);

struct lia {
	struct cc_path_ref ref;
};
CC_PRIV_FITS(struct lia);

static __always_inline void lia_publish(struct sock *sk, const struct lia *lia)
{
	struct cca_trace *trace = cc_trace(sk);

	if (!trace)
		return;
	trace->mode = tcp_in_slow_start(tcp_sk(sk)) ? LIA_SLOW_START : LIA_AVOIDANCE;
	trace->v0 = lia->ref.paths;
	trace->v1 = lia->ref.token;
	cc_trace_done(trace);
}

/* Packets that all subflows have to see acknowledged for each packet of growth: sum cwnd_k / alpha. */
static __always_inline u32 lia_pkts_per_step(const struct cc_paths *paths)
{
	u32 best_cwnd = 0, best_rtt = 1;
	u64 total, step_pkts;

	for (u32 number = 0; number < CC_PATHS; number++) {
		const struct cc_path_view *path = &paths->path[number];

		if (cc_exceeds_per_rtt2(path->cwnd_pkts, path->rtt, best_cwnd, best_rtt)) {
			best_cwnd = path->cwnd_pkts;
			best_rtt = path->rtt;
		}
	}
	total = cc_total_per_rtt(paths, best_rtt);
	step_pkts = (total * total >> 16) / max(best_cwnd, 1U);
	return min(step_pkts, (u64)(u32)~0U);
}

static __always_inline void lia_avoid(struct tcp_sock *tp, const struct cc_paths *paths, u32 acked)
{
	u32 step_pkts;

	if (!tcp_is_cwnd_limited(tp) || cc_slow_start(tp, &acked))
		return;
	step_pkts = lia_pkts_per_step(paths);
	tcp_cong_avoid_ai(tp, max(step_pkts, tp->snd_cwnd), acked);
}

CC_OP(void, lia_init, struct sock *sk)
{
	struct lia *lia = inet_csk_ca(sk);

	*lia = (struct lia){};
	cc_begin_path(&lia->ref);
	cc_take_over(sk);
}

CC_OP(void, lia_release, struct sock *sk)
{
	struct lia *lia = inet_csk_ca(sk);

	cc_leave_paths(sk, &lia->ref);
}

CC_OP(u32, lia_ssthresh, struct sock *sk)
{
	return tcp_reno_ssthresh(sk);
}

CC_OP(void, lia_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct lia *lia = inet_csk_ca(sk);
	struct cc_paths paths;

	if (cc_couple(sk, &lia->ref, 0, &paths) < 2)
		tcp_reno_cong_avoid(sk, ack, acked);
	else
		lia_avoid(tcp_sk(sk), &paths, acked);
	lia_publish(sk, lia);
}

CC_OP(void, lia_set_state, struct sock *sk, u8 new_state)
{
	struct lia *lia = inet_csk_ca(sk);

	cc_show_path(sk, &lia->ref, new_state, 0);
}

CC_OP(u32, lia_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

CC_OPS(lia) = {
    .init = (void *)lia_init,
    .release = (void *)lia_release,
    .ssthresh = (void *)lia_ssthresh,
    .cong_avoid = (void *)lia_cong_avoid,
    .set_state = (void *)lia_set_state,
    .undo_cwnd = (void *)lia_undo_cwnd,
    .name = "lia",
};
