// SPDX-License-Identifier: GPL-2.0
/*
 * wVegas, weighted Vegas of MPTCP: Cao, Xu, Fu, "Delay-based Congestion Control for Multipath TCP", ICNP 2012;
 * draft-xu-mptcp-congestion-control-05.
 *
 * In a nutshell: all subflows together keep as many packets queued as one Vegas flow would, shared out by their rates.
 * Paths with the same queueing delay then have the same price, and traffic moves to those with less.
 *
 *   once per round   rtt = mean of the round's samples; q = rtt - base RTT, of propagation alone
 *                    diff = cwnd * q / rtt                                  packets queued
 *   slow start       as Reno while diff <= gamma
 *                    then cwnd = cwnd * base RTT / rtt + 1, and avoidance
 *   avoidance        diff >= alpha   x = cwnd / rtt; alpha = max(total_alpha * x / sum x_k, initial_alpha)
 *                    diff < alpha    cwnd + 1
 *                    diff > alpha    cwnd - 1
 *                    q >= 2 * lowest q since the last drain: cwnd * base RTT / rtt / 2, so that the queue drains and the
 *                    base RTT can be seen
 *   loss             as Reno; what happens until the state is open again, too
 *
 * x_k is the rate at which subflow k last had its alpha set, 0 after a timeout.
 *
 *                diff > gamma, or ssthresh reached
 *   SLOW_START -----------------------------------> AVOIDANCE
 *
 *                               state no longer open
 *   SLOW_START or AVOIDANCE --------------------------> RENO
 *            (by ssthresh)  <--------------------------
 *                               state open again: alpha = initial_alpha
 *
 * With one path the share is 1: Vegas with both thresholds at total_alpha, once initial_alpha has been reached. An idle
 * time forgets the base RTT and begins a new round.
 *
 * As the module of the kernels of multipath-tcp.org, step by step, but:
 *   - q = 0 drains nothing. The module takes it for twice the lowest q, which is 0 as well, and halves the window of a
 *     path without a queue.
 *   - The sums of a round do not wrap.
 *   - Slow start ends when cwnd reaches ssthresh, as elsewhere here, not when it exceeds it.
 *
 * As published, the lowest q may be that of a fraction of a packet. On a path without other traffic twice that is reached
 * long before alpha, so the window saws between a half and the whole of the path.
 *
 * Read vegas.bpf.h first, then mptcp_coupling.bpf.h.
 */
#include "cc.bpf.h"
#include "cc_handover.bpf.h"
#include "mptcp_coupling.bpf.h"
#include "vegas.bpf.h"

CC_ALGORITHM("wvegas", "delay", "MPTCP: Vegas whose packets in queues are shared out among the subflows.",
	     "Cao, Xu, Fu 2012; draft-xu-mptcp-congestion-control-05");
CC_COLOR("#33A02C");
CC_TRACE_V0("alpha_pkts", "packets that this subflow keeps queued");
CC_TRACE_V1("mptcp_token", "token of the MPTCP connection, 0 = none");

CC_TUNABLE(u32, initial_alpha, 2, 1, 1000000, "packets", "queued before the first measurement, and at least",
	   "draft-xu-mptcp-congestion-control-05");
CC_TUNABLE(u32, total_alpha, 10, 1, 1000000, "packets", "queued by all subflows together",
	   "draft-xu-mptcp-congestion-control-05");
CC_TUNABLE(u32, gamma, 1, 0, 1000000, "packets", "with more packets queued slow start ends",
	   "draft-xu-mptcp-congestion-control-05");

#define WVEGAS_RATE_SHIFT  32           /* rates in 2^-32 packets per us */
#define WVEGAS_MAX_RATE    (1ULL << 44) /* 4096 packets per us: beyond every link, and a sum of them fits */
#define WVEGAS_SHARE_SHIFT 16           /* shares in 2^-16 */

/* reno: until the state is open again */
CC_MODES(wvegas_mode, WVEGAS_SLOW_START, WVEGAS_AVOIDANCE, WVEGAS_RENO);

struct wvegas {
	struct vegas_rtt rtt;
	struct cc_path_ref ref;
	u64 rtt_sum_us; /* of the round's samples */
	u64 rate;       /* x, 0 = none yet */
	u32 rtt_samples;
	u32 alpha_pkts;
	u32 min_queue_us; /* lowest q since the last drain, 0 = none */
	u32 pad;
};
CC_PRIV_FITS(struct wvegas);

/* What a round has found. */
struct wvegas_round {
	struct vegas_rtt mean; /* its RTT of the round is the mean */
	u32 queue_us;
	u32 diff_pkts;
};

static __always_inline void wvegas_publish(struct sock *sk)
{
	struct cca_trace *trace = cc_trace(sk);
	const struct wvegas *w = inet_csk_ca(sk);

	if (!trace)
		return;
	if (!w->rtt.enabled)
		trace->mode = WVEGAS_RENO;
	else
		trace->mode = tcp_in_slow_start(tcp_sk(sk)) ? WVEGAS_SLOW_START : WVEGAS_AVOIDANCE;
	trace->min_rtt_us = vegas_published_base_us(&w->rtt);
	trace->v0 = w->alpha_pkts;
	trace->v1 = w->ref.token;
	cc_trace_done(trace);
}

static __always_inline void wvegas_new_round(struct wvegas *w)
{
	w->rtt_sum_us = 0;
	w->rtt_samples = 0;
}

/* Nothing is known of queues, as after a loss. */
static __always_inline void wvegas_begin_anew(struct wvegas *w)
{
	w->rate = 0;
	w->alpha_pkts = initial_alpha;
	w->min_queue_us = 0;
	wvegas_new_round(w);
}

/* Packets queued, and the RTT that says so. Only of a round with samples. */
static __always_inline struct wvegas_round wvegas_measure(const struct wvegas *w, u32 cwnd_pkts)
{
	struct wvegas_round round = {.mean = w->rtt};
	u32 base_us = w->rtt.base_rtt_us;
	u32 mean_us = w->rtt_samples ? w->rtt_sum_us / w->rtt_samples : base_us;

	mean_us = max(mean_us, base_us);
	round.mean.min_rtt_us = mean_us;
	round.queue_us = mean_us - base_us;
	round.diff_pkts = (u64)cwnd_pkts * round.queue_us / max(mean_us, 1U);
	return round;
}

/* The share of this subflow in the rates of all; 1 while it is the only one. */
static __always_inline u64 wvegas_share(struct sock *sk, struct wvegas *w)
{
	struct cc_paths paths;
	u64 total = 0;

	if (cc_couple(sk, &w->ref, w->rate, &paths) < 2)
		return 1ULL << WVEGAS_SHARE_SHIFT;
	for (u32 number = 0; number < CC_PATHS; number++)
		total += paths.path[number].value;
	return total && w->rate ? (w->rate << WVEGAS_SHARE_SHIFT) / max(total, w->rate) : 1ULL << WVEGAS_SHARE_SHIFT;
}

static __always_inline void wvegas_set_alpha(struct sock *sk, struct wvegas *w, const struct wvegas_round *round)
{
	u64 rate = ((u64)tcp_sk(sk)->snd_cwnd << WVEGAS_RATE_SHIFT) / max(round->mean.min_rtt_us, 1U);
	u64 alpha_pkts;

	w->rate = min(rate, WVEGAS_MAX_RATE);
	alpha_pkts = wvegas_share(sk, w) * total_alpha >> WVEGAS_SHARE_SHIFT;
	w->alpha_pkts = max(alpha_pkts, (u64)initial_alpha);
}

/* The window that drains the queue, or `cwnd`. */
static __always_inline u32 wvegas_drain(struct wvegas *w, const struct wvegas_round *round, u32 cwnd)
{
	u32 queue_us = round->queue_us;

	if (!w->min_queue_us || w->min_queue_us > queue_us)
		w->min_queue_us = queue_us;
	if (!queue_us || queue_us / 2 < w->min_queue_us)
		return cwnd;
	w->min_queue_us = 0;
	return vegas_target_pkts(&round->mean, cwnd) / 2;
}

/* The decision of a round with enough samples. */
static __always_inline void wvegas_decide(struct sock *sk, struct wvegas *w, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct wvegas_round round = wvegas_measure(w, tp->snd_cwnd);
	u32 cwnd = tp->snd_cwnd;

	if (tcp_in_slow_start(tp)) {
		vegas_set_cwnd(sk, vegas_slow_start_cwnd(tp, &round.mean, round.diff_pkts, gamma, acked));
		return;
	}
	if (round.diff_pkts >= w->alpha_pkts)
		wvegas_set_alpha(sk, w, &round);
	if (round.diff_pkts > w->alpha_pkts) {
		cwnd--;
		tp->snd_ssthresh = min(tp->snd_ssthresh, cwnd);
	} else if (round.diff_pkts < w->alpha_pkts) {
		cwnd++;
	}
	vegas_set_cwnd(sk, wvegas_drain(w, &round, cwnd));
}

CC_OP(void, wvegas_init, struct sock *sk)
{
	struct wvegas *w = inet_csk_ca(sk);

	*w = (struct wvegas){};
	cc_begin_path(&w->ref);
	cc_take_over(sk);
	vegas_rtt_init(&w->rtt, tcp_sk(sk));
	vegas_rtt_take_over(&w->rtt, tcp_sk(sk));
	wvegas_begin_anew(w);
}

CC_OP(void, wvegas_release, struct sock *sk)
{
	struct wvegas *w = inet_csk_ca(sk);

	cc_leave_paths(sk, &w->ref);
}

CC_OP(u32, wvegas_ssthresh, struct sock *sk)
{
	return tcp_reno_ssthresh(sk);
}

CC_OP(void, wvegas_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct wvegas *w = inet_csk_ca(sk);
	enum vegas_round round = vegas_ack(sk, &w->rtt, ack, acked);

	if (round == VEGAS_ROUND_DECIDE) {
		wvegas_decide(sk, w, acked);
		vegas_next_round(&w->rtt, tcp_sk(sk));
	}
	if (round != VEGAS_ROUND_RUNS) {
		wvegas_new_round(w);
		cc_show_path(sk, &w->ref, TCP_CA_Open, w->rate);
	}
	wvegas_publish(sk);
}

CC_OP(void, wvegas_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct wvegas *w = inet_csk_ca(sk);
	s32 rtt_us = sample->rtt_us;

	if (rtt_us < 0)
		return;
	vegas_rtt_sample(&w->rtt, rtt_us);
	w->rtt_sum_us += (u32)rtt_us + 1;
	w->rtt_samples++;
}

CC_OP(void, wvegas_set_state, struct sock *sk, u8 new_state)
{
	struct wvegas *w = inet_csk_ca(sk);

	vegas_rtt_set_state(&w->rtt, tcp_sk(sk), new_state);
	if (new_state == TCP_CA_Open)
		wvegas_begin_anew(w);
	cc_show_path(sk, &w->ref, new_state, w->rate);
}

CC_OP(void, wvegas_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct wvegas *w = inet_csk_ca(sk);

	if (event == CA_EVENT_CWND_RESTART) {
		vegas_rtt_init(&w->rtt, tcp_sk(sk));
		wvegas_begin_anew(w);
	} else if (event == CA_EVENT_LOSS) {
		w->rate = 0;
	}
}

CC_OP(u32, wvegas_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

CC_OPS(wvegas) = {
    .init = (void *)wvegas_init,
    .release = (void *)wvegas_release,
    .ssthresh = (void *)wvegas_ssthresh,
    .cong_avoid = (void *)wvegas_cong_avoid,
    .pkts_acked = (void *)wvegas_pkts_acked,
    .set_state = (void *)wvegas_set_state,
    .cwnd_event = (void *)wvegas_cwnd_event,
    .undo_cwnd = (void *)wvegas_undo_cwnd,
    .name = "wvegas",
};
