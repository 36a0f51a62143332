// SPDX-License-Identifier: GPL-2.0
/*
 * OLIA, the Opportunistic Linked Increases Algorithm of MPTCP: Khalili, Gast, Popovic, Le Boudec, "MPTCP is not
 * Pareto-optimal: performance issues and a possible solution", IEEE/ACM ToN 21(5), 2013;
 * draft-khalili-mptcp-congestion-control-05.
 *
 * In a nutshell: LIA's increase balances the load of the network optimally only on equal RTTs. OLIA takes the optimal one,
 * and a second term moves windows from the widest paths to paths that seem to have less loss. With cwnd_k and rtt_k of
 * every subflow k, n of them:
 *
 *   slow start   cwnd += packets acked                                      while cwnd < ssthresh
 *   avoidance    cwnd += packets acked * ((cwnd / rtt^2) / (sum cwnd_k / rtt_k)^2 + alpha / cwnd)
 *   loss         ssthresh = max(cwnd / 2, 1), of this subflow alone; with one path max(cwnd / 2, 2)
 *
 *   l_k          bytes acknowledged since the last loss, or between the last two if that is more
 *   best         paths with the largest l_k / rtt_k^2: what one Reno flow would get there, squared
 *   widest       paths with the largest window
 *   alpha        if a best path is not among the widest:  1 / n / (number of such paths) on these
 *                                                        -1 / n / (number of widest)     on the widest
 *                otherwise, and on all other paths:      0
 *
 *                cwnd >= ssthresh
 *   SLOW_START -------------------> AVOIDANCE
 *              <-------------------
 *                timeout, idle time: the kernel sets cwnd below ssthresh
 *
 * With one path the first term is 1 / cwnd and alpha is 0: Reno. That case is left to the kernel's own Reno.
 *
 * The second term makes a window shrink while nothing is lost, so the window is kept in fractions of a packet.
 *
 * Unlike the module of the kernels of multipath-tcp.org: l_k counts in 64 bits rather than by sequence numbers, which wrap;
 * the fraction of a packet is kept when a whole one is reached; and growth counts packets rather than ACKs (reno.bpf.c). A
 * subflow that is reducing its window counts with what it is going to have.
 *
 * Read mptcp_coupling.bpf.h first, then cc_fraction.bpf.h.
 */
#include "cc.bpf.h"
#include "cc_fraction.bpf.h"
#include "cc_handover.bpf.h"
#include "mptcp_coupling.bpf.h"

CC_ALGORITHM("olia", "loss", "MPTCP: as LIA, with the balance of an optimum and a shift to paths with less loss.",
	     "Khalili et al. 2013; draft-khalili-mptcp-congestion-control-05");
CC_COLOR("#B15928");
CC_TRACE_V0("coupled_paths", "subflows that grow together, this one included; 0 = it shares nothing");
CC_TRACE_V1("mptcp_token", "token of the MPTCP connection, 0 = none");

#define OLIA_MIN_SSTHRESH_PKTS                                                                                         \
	1U /* with several paths, so that a lossy one carries next to nothing: draft, section 3 */

CC_MODES(olia_mode, OLIA_SLOW_START, OLIA_AVOIDANCE);

struct olia {
	u64 loss_bytes;     /* acknowledged when the last loss was found */
	u64 interval_bytes; /* between the last two losses */
	struct cc_path_ref ref;
	u32 fraction; /* of a packet, above cwnd: 2^-32 */
};
CC_PRIV_FITS(struct olia);

/* The two sets that alpha depends on, and where this path is. */
struct olia_sets {
	u32 best_only; /* how many are best and not widest */
	u32 widest;
	int is_best_only;
	int is_widest;
};

static __always_inline void olia_publish(struct sock *sk, const struct olia *olia)
{
	struct cca_trace *trace = cc_trace(sk);

	if (!trace)
		return;
	trace->mode = tcp_in_slow_start(tcp_sk(sk)) ? OLIA_SLOW_START : OLIA_AVOIDANCE;
	trace->v0 = olia->ref.paths;
	trace->v1 = olia->ref.token;
	cc_trace_done(trace);
}

/* l of this path, bytes. */
static __always_inline u64 olia_loss_distance(const struct tcp_sock *tp, const struct olia *olia)
{
	return max(tp->bytes_acked - olia->loss_bytes, olia->interval_bytes);
}

/* How far to shift all l so that they fit into CC_PATH_CWND_BITS: only their ratios count. */
static __always_inline u32 olia_distance_shift(const struct cc_paths *paths)
{
	u64 longest = 0;

	for (u32 number = 0; number < CC_PATHS; number++)
		longest = max(longest, paths->path[number].value);
	return cc_fls64(longest >> CC_PATH_CWND_BITS);
}

/* What makes a path one of the best. */
struct olia_best {
	u32 l;
	u32 rtt;
	u32 max_cwnd_pkts;
	u32 shift;
};

static __always_inline u32 olia_is_widest(const struct olia_best *best, const struct cc_path_view *path)
{
	return path->cwnd_pkts == best->max_cwnd_pkts;
}

static __always_inline u32 olia_is_best_only(const struct olia_best *best, const struct cc_path_view *path)
{
	u32 l = path->value >> best->shift;

	return path->cwnd_pkts && path->cwnd_pkts < best->max_cwnd_pkts &&
	       !cc_exceeds_per_rtt2(best->l, best->rtt, l, path->rtt);
}

CC_GLOBAL int olia_find_sets(const struct cc_paths *paths, struct olia_sets *sets, u32 own_number)
{
	struct olia_best best = {.rtt = 1};
	const struct cc_path_view *own;

	if (!paths || !sets)
		return 0;
	*sets = (struct olia_sets){};
	best.shift = olia_distance_shift(paths);
	/* Unrolled: as a loop it is entered in its middle, which Linux 6.1 does not take. */
#pragma GCC unroll 9 /* CC_PATHS */
	for (u32 number = 0; number < CC_PATHS; number++) {
		const struct cc_path_view *path = &paths->path[number];
		u32 l = path->value >> best.shift;

		best.max_cwnd_pkts = max(best.max_cwnd_pkts, path->cwnd_pkts);
		if (cc_exceeds_per_rtt2(l, path->rtt, best.l, best.rtt)) {
			best.l = l;
			best.rtt = path->rtt;
		}
	}
#pragma GCC unroll 9 /* CC_PATHS */
	for (u32 number = 0; number < CC_PATHS; number++) {
		/* Through memory: in registers the verifier would follow every count apart. */
		*(volatile u32 *)&sets->widest += olia_is_widest(&best, &paths->path[number]);
		*(volatile u32 *)&sets->best_only += olia_is_best_only(&best, &paths->path[number]);
	}
	own = &paths->path[cc_index(own_number, CC_PATHS)];
	sets->is_widest = olia_is_widest(&best, own);
	sets->is_best_only = olia_is_best_only(&best, own);
	return 0;
}

/* The first term, in 2^-32 packets per packet acknowledged: cwnd / (sum cwnd_k * rtt / rtt_k)^2. */
static __always_inline u64 olia_optimal_increase(const struct cc_paths *paths, const struct cc_path_view *own)
{
	u64 total = max(cc_total_per_rtt(paths, own->rtt), 1ULL << 8);
	/* 40 = 32 and the 8 bits of the total; the second division needs 8 more. */
	u64 share = ((u64)own->cwnd_pkts << 40) / total;

	return (share << 8) / total;
}

/* The second term, in the same unit, with its sign. */
static __always_inline s64 olia_shift_increase(const struct olia_sets *sets, u32 count, u32 cwnd_pkts)
{
	u32 cwnd = max(cwnd_pkts, 1U);

	if (!sets->best_only || !count)
		return 0;
	if (sets->is_best_only)
		return CC_ONE_PACKET / count / sets->best_only / cwnd;
	if (sets->is_widest && sets->widest)
		return -(s64)(CC_ONE_PACKET / count / sets->widest / cwnd);
	return 0;
}

static __always_inline void olia_avoid(struct tcp_sock *tp, struct olia *olia, const struct cc_paths *paths, u32 acked)
{
	struct cc_path_view own = cc_own_view(paths, &olia->ref);
	struct olia_sets sets = {};
	s64 per_pkt, growth;
	u64 fine_cwnd;

	if (!tcp_is_cwnd_limited(tp) || cc_slow_start(tp, &acked))
		return;
	olia_find_sets(paths, &sets, olia->ref.number);
	per_pkt = (s64)olia_optimal_increase(paths, &own) + olia_shift_increase(&sets, paths->count, own.cwnd_pkts);
	/* Of a window at a time, which changes by less than a packet and a half. */
	growth = per_pkt * (s64)min(acked, tp->snd_cwnd);
	fine_cwnd = cc_fine_cwnd(tp, olia->fraction) + growth;
	olia->fraction = cc_set_fine_cwnd(tp, fine_cwnd, 1);
}

CC_OP(void, olia_init, struct sock *sk)
{
	struct olia *olia = inet_csk_ca(sk);

	*olia = (struct olia){.loss_bytes = tcp_sk(sk)->bytes_acked};
	cc_begin_path(&olia->ref);
	cc_take_over(sk);
}

CC_OP(void, olia_release, struct sock *sk)
{
	struct olia *olia = inet_csk_ca(sk);

	cc_leave_paths(sk, &olia->ref);
}

CC_OP(u32, olia_ssthresh, struct sock *sk)
{
	const struct olia *olia = inet_csk_ca(sk);

	if (olia->ref.paths < 2)
		return tcp_reno_ssthresh(sk);
	return max(tcp_sk(sk)->snd_cwnd / 2, OLIA_MIN_SSTHRESH_PKTS);
}

CC_OP(void, olia_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct olia *olia = inet_csk_ca(sk);
	struct cc_paths paths;

	if (cc_couple(sk, &olia->ref, olia_loss_distance(tcp_sk(sk), olia), &paths) < 2) {
		olia->fraction = 0;
		tcp_reno_cong_avoid(sk, ack, acked);
	} else {
		olia_avoid(tcp_sk(sk), olia, &paths, acked);
	}
	olia_publish(sk, olia);
}

/* A loss has been found, unless it is one of an episode that had begun already. */
static __always_inline void olia_note_loss(struct tcp_sock *tp, struct olia *olia)
{
	if (tp->bytes_acked == olia->loss_bytes)
		return;
	olia->interval_bytes = tp->bytes_acked - olia->loss_bytes;
	olia->loss_bytes = tp->bytes_acked;
}

CC_OP(void, olia_set_state, struct sock *sk, u8 new_state)
{
	struct olia *olia = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (new_state >= TCP_CA_CWR && cc_ca_state(sk) < TCP_CA_CWR)
		olia_note_loss(tp, olia);
	if (new_state == TCP_CA_Loss)
		olia->fraction = 0;
	cc_show_path(sk, &olia->ref, new_state, olia_loss_distance(tp, olia));
}

CC_OP(u32, olia_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

CC_OPS(olia) = {
    .init = (void *)olia_init,
    .release = (void *)olia_release,
    .ssthresh = (void *)olia_ssthresh,
    .cong_avoid = (void *)olia_cong_avoid,
    .set_state = (void *)olia_set_state,
    .undo_cwnd = (void *)olia_undo_cwnd,
    .name = "olia",
};
