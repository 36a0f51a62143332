/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The variant of F-BBRv3: CUBIC's window while loss-based flows share the link. Include it before bbr2.bpf.h;
 * f-bbrv3.bpf.c has the description.
 */
#ifndef CCACTL_BBR2_COMPETE_BPF_H
#define CCACTL_BBR2_COMPETE_BPF_H

#include "cc.bpf.h"
#include "cc_handover.bpf.h"
#include "cubic_curve.bpf.h"

#define BBR2_COMPETE "this project"

CC_GAIN(u32, raised_gain, 1100, 1000, 100000, "the queue is raised when the RTT exceeds the lowest one by this factor",
	BBR2_COMPETE);
CC_TUNABLE(u32, compete_after, 2, 0, 255, "PROBE_RTTs",
	   "compete once so many of them in a row have found the queue raised; 0 = never, not after losses either",
	   BBR2_COMPETE);
CC_TUNABLE(u32, compete_intervals, 4, 1, 255, "", "PROBE_RTT comes after so many of its intervals while competing",
	   BBR2_COMPETE);

/*
 * Are losses of this path those of full queues? A loss from a raised queue adds 1, another takes 2; at COMPETE_BELIEF
 * and above they are. On a path with random loss most of them come without a queue, and the few during a probe say
 * nothing.
 */
#define COMPETE_BELIEF      3 /* at the beginning, too */
#define COMPETE_MOST_BELIEF 6
#define COMPETE_DOUBT       2

#define OWN_PKTS 2 /* the least burst (net.ipv4.tcp_min_tso_segs), and what a receiver acknowledges at once */

#define BBR2_HAS_VARIANT
struct bbr2_variant {
	struct cubic_curve curve;
	u32 low_us;       /* lowest RTT of the connection */
	u32 latest_us;    /* RTT of the last ACK that gave one */
	u32 probe_low_us; /* lowest RTT of this PROBE_RTT; BBR_NO_RTT: none yet */
	u32 window_pkts;  /* while competing */
	u32 undo_pkts;    /* window before the last cut */
	u8 raised_probes; /* PROBE_RTTs in a row that have found the queue raised */
	u8 competing;
	u8 belief; /* that losses are those of full queues */
	u8 pad;
};

#include "bbr2_path.bpf.h"
#include "bbr2_state.bpf.h"

CC_TRACE_V0("compete_pkts", "the window while competing; -1 = not competing");
CC_TRACE_V1("bounds_bits",
	    "sum of: 1 cwnd cut to inflight_hi, 2 to inflight_hi less headroom, 4 to inflight_lo, 8 rate follows "
	    "bw_lo, 16 cwnd used up, 32 the last PROBE_RTT found the queue raised, 64 competing");

enum bbr2_compete_bound {
	BBR2_BOUND_RAISED = BBR2_BOUND_VARIANT,
	BBR2_BOUND_COMPETING = BBR2_BOUND_VARIANT << 1,
};

static __always_inline void bbr2_variant_init(struct bbr2 *b, const struct bbr2_now *now)
{
	b->variant.low_us = b->min_rtt_us;
	b->variant.latest_us = b->min_rtt_us;
	b->variant.probe_low_us = BBR_NO_RTT;
	b->variant.belief = COMPETE_BELIEF;
}

/* Linux's CUBIC as it is. */
static __always_inline struct cubic_shape compete_shape(void)
{
	return (struct cubic_shape){.beta = CUBIC_BETA, .scale = CUBIC_SCALE, .fast_convergence = 1, .friendly = 1};
}

static __always_inline int compete_is_raised(const struct bbr2_variant *v, u32 rtt_us)
{
	return (u64)rtt_us * BBR2_UNIT > (u64)v->low_us * raised_gain;
}

static __always_inline void compete_start(struct bbr2_variant *v, u32 window_pkts)
{
	v->competing = 1;
	v->curve = (struct cubic_curve){0};
	v->window_pkts = window_pkts;
}

/* The model takes over, with what was in flight as the bound. */
static __always_inline void compete_stop(struct bbr2 *b)
{
	b->variant.competing = 0;
	b->inflight_hi = max(b->variant.window_pkts, min_cwnd);
}

/*
 * A PROBE_RTT is over. What is still in the queue is of others, but for the two packets of a burst: on a path that holds
 * a few packets they alone would raise the RTT.
 */
static __always_inline void compete_judge_probe(struct bbr2 *b, u32 cwnd)
{
	struct bbr2_variant *v = &b->variant;
	u32 own_us = OWN_PKTS * BW_UNIT / max(bbr2_max_bw(b), 1U);

	if (v->probe_low_us <= own_us || !compete_is_raised(v, v->probe_low_us - own_us)) {
		v->raised_probes = 0;
		if (v->competing)
			compete_stop(b);
		return;
	}
	if (v->raised_probes < 255)
		v->raised_probes++;
	if (!v->competing && compete_after && v->raised_probes >= compete_after && b->full_pipe)
		compete_start(v, cwnd);
}

static __always_inline void bbr2_variant_update(struct bbr2 *b, const struct bbr2_now *now, const struct bbr2_sample *s)
{
	struct bbr2_variant *v = &b->variant;

	if (s->rtt_us != BBR_NO_RTT) {
		v->latest_us = s->rtt_us;
		v->low_us = min(v->low_us, s->rtt_us);
	}
	if (b->phase == BBR2_PROBE_RTT) {
		v->probe_low_us = min(v->probe_low_us, s->rtt_us);
	} else if (v->probe_low_us != BBR_NO_RTT) {
		compete_judge_probe(b, now->cwnd);
		v->probe_low_us = BBR_NO_RTT;
	}
	/* The queue of others is no part of the path: PROBE_RTT has to leave it alone to see it. */
	if (v->competing) {
		b->min_rtt_us = v->low_us;
		b->min_rtt_stamp_us = now->us;
	}
}

static __always_inline u32 bbr2_variant_cruise_gain(const struct bbr2 *b)
{
	return BBR2_UNIT;
}

static __always_inline int bbr2_variant_drops_headroom(const struct bbr2 *b)
{
	return 0;
}

static __always_inline u32 bbr2_variant_bounds(const struct bbr2 *b)
{
	return (b->variant.raised_probes ? BBR2_BOUND_RAISED : 0) | (b->variant.competing ? BBR2_BOUND_COMPETING : 0);
}

static __always_inline s64 bbr2_variant_v0(const struct bbr2 *b, const struct bbr2_sample *s)
{
	return b->variant.competing ? (s64)b->variant.window_pkts : -1;
}

/* True: the losses of now are those of a full queue. */
static __always_inline int compete_believes_loss(struct bbr2_variant *v)
{
	if (!compete_is_raised(v, v->latest_us)) {
		v->belief = v->belief > COMPETE_DOUBT ? v->belief - COMPETE_DOUBT : 0;
		return 0;
	}
	if (v->belief < COMPETE_MOST_BELIEF)
		v->belief++;
	return v->belief >= COMPETE_BELIEF;
}

/* Losses of a full queue: CUBIC's cut. Others say nothing about rivals, and the model ignores them. */
static __always_inline void bbr2_variant_cut(struct bbr2 *b, const struct tcp_sock *tp)
{
	struct bbr2_variant *v = &b->variant;

	if (!compete_after)
		return;
	/* An undo takes back the cut of this episode, if there is one. */
	v->undo_pkts = v->window_pkts;
	if (!compete_believes_loss(v)) {
		if (v->belief < COMPETE_BELIEF)
			v->competing = 0;
		return;
	}
	if (!v->competing) {
		u32 in_use_pkts = min(tp->snd_cwnd, tp->packets_out);

		if (!bbr2_in_probe_bw(b))
			return;
		/* What is out just after DRAIN or PROBE_RTT is less than what has filled the queue. */
		compete_start(v, max(in_use_pkts, bbr2_bdp(b, bbr2_bw(b), BBR2_UNIT)));
		v->undo_pkts = v->window_pkts;
	}
	v->window_pkts = cubic_cut(&v->curve, compete_shape(), v->window_pkts);
}

static __always_inline void bbr2_variant_undo(struct bbr2 *b)
{
	b->variant.window_pkts = max(b->variant.window_pkts, b->variant.undo_pkts);
}

/*
 * As the kernel has it for CUBIC: a paced flow loses less than an unpaced one, which makes it more than fair. What
 * PROBE_RTT has left of the window is filled with pacing first.
 */
static __always_inline void compete_pace(struct sock *sk, u32 window_pkts, u32 acked_pkts)
{
	if (tcp_packets_in_flight(tcp_sk(sk)) + acked_pkts >= window_pkts)
		cc_give_pacing_back(sk);
	else
		sk->sk_pacing_rate = cc_kernel_pacing_rate(sk);
}

static __always_inline void bbr2_variant_control(struct sock *sk, struct bbr2 *b, const struct bbr2_now *now,
						 const struct bbr2_sample *s)
{
	struct bbr2_variant *v = &b->variant;
	struct tcp_sock *tp = tcp_sk(sk);
	u32 window_pkts = v->window_pkts;

	if (!v->competing || b->phase == BBR2_PROBE_RTT) {
		cc_need_pacing(sk);
		return;
	}
	/* After a timeout the window comes back with the ACKs. */
	if (now->ca_state == TCP_CA_Loss) {
		tp->snd_cwnd = min(tp->snd_cwnd, window_pkts);
		return;
	}
	tp->snd_cwnd = window_pkts;
	if (now->ca_state <= TCP_CA_Disorder && now->cwnd_limited && s->acked) {
		cubic_update(&v->curve, compete_shape(), window_pkts, s->acked, v->low_us);
		tcp_cong_avoid_ai(tp, v->curve.cnt, s->acked);
		v->window_pkts = tp->snd_cwnd;
	}
	compete_pace(sk, window_pkts, s->acked);
}

static __always_inline u32 bbr2_variant_probe_rtt_intervals(const struct bbr2 *b)
{
	return b->variant.competing ? compete_intervals : 1;
}

#endif /* CCACTL_BBR2_COMPETE_BPF_H */
