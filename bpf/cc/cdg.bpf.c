// SPDX-License-Identifier: GPL-2.0
/*
 * CDG: Hayes, Armitage, "Revisiting TCP Congestion Control Using Delay Gradients", IFIP Networking 2011;
 * net/ipv4/tcp_cdg.c.
 *
 * In a nutshell: the flow backs off because the delay rises, not because it is high. It does so at random, so
 * that flows do not do it together.
 *
 *   per RTT       g_min, g_max: change of the smallest and the largest RTT against the round before,
 *                 summed over window rounds
 *                 g = g_min > 0 ? g_min : g_max
 *   g > 0         back off with probability 1 - e^(-g * backoff_factor / 10^6): ssthresh = 0.7071 cwnd
 *   ineffectual   more than use_ineff back-offs without a fall of the delay: someone else fills the queue, stay
 *   loss          ssthresh = max(cwnd / 2, half the shadow window), at most cwnd. The shadow window is what Reno
 *                 would have: back-offs for delay do not shrink it
 *   slow start    HyStart: ends by an ACK train of half the RTT, or by an RTT an eighth above the minimum
 *   growth        Reno's
 *
 *                HyStart, or ssthresh reached
 *   SLOW_START ------------------------------> AVOIDANCE
 *
 *                               g > 0, by chance
 *   SLOW_START or AVOIDANCE ------------------------> BACK_OFF
 *                 AVOIDANCE <------------------------
 *                               what had been sent is acknowledged, or the kernel begins a reduction
 *
 * As native cdg, step by step, but for one thing: the native back-off calls tcp_enter_cwr(), which no BPF
 * program may. Here the algorithm itself reduces the window for as long: until what had been sent by then is
 * acknowledged, by the kernel's proportional rate reduction (RFC 6937, tcp_cwnd_reduction()) applied in
 * cong_avoid. Cwnd follows the same numbers, but
 *   - the connection stays in the open state, as ss and recordings show;
 *   - ACKs that acknowledge no data do not count until one does;
 *   - no CWR flag is sent to an ECN receiver;
 *   - a loss in that RTT is a recovery of its own to the kernel. It keeps the ssthresh of the back-off as
 *     natively, while its undo returns to the window at the loss, not to that before the back-off.
 *
 * Also different: sums of gradients have 64 bits and the exponent stays at its limit instead of wrapping;
 * ssthresh is at least 2 with use_tolerance too. Gradients lie in socket storage. Without it every gradient
 * stands for window of them, as natively.
 *
 * Read this file from cdg_cong_avoid() upwards; exp.bpf.h gives the probability of a back-off.
 */
#include "cc.bpf.h"
#include "cc_handover.bpf.h"
#include "exp.bpf.h"

CC_ALGORITHM("cdg", "delay",
	     "Backs off, with a probability, when the delay rises from round to round, whatever its level.",
	     "Hayes, Armitage 2011; net/ipv4/tcp_cdg.c");
CC_COLOR("#004488");
CC_TRACE_V0("gradient_us", "sum of the gradients of the delay at the end of the last round");
CC_TRACE_V1("shadow_pkts", "shadow window: what Reno would have without back-offs");

#define CDG_MAX_WINDOW   256        /* rounds */
#define CDG_EFFECT_US    32         /* a gradient of so much below 0 says that a back-off has had effect */
#define CDG_NOISE_US     32         /* use_tolerance: smaller gradients are none */
#define CDG_DELACK_MAX   5          /* delayed ACKs in a row that are believed in */
#define CDG_EXPONENT_MAX (1U << 24) /* 10^-6; e^-16.8 is 0 */
#define CDG_MIN_SSTHRESH 2U         /* packets, RFC 5681 section 3.1 */

#define HYSTART_ACK_TRAIN   1U
#define HYSTART_DELAY       2U
#define HYSTART_GAP_US      3000U /* ACKs that far apart are not one train */
#define HYSTART_MIN_US      125U  /* least length of a train, and least RTT, that ends slow start */
#define HYSTART_MIN_SAMPLES 8

CC_TUNABLE(u32, window, 8, 1, 256, "rounds", "rounds over which gradients are summed; 1 = no sum",
	   "net/ipv4/tcp_cdg.c");
CC_TUNABLE(u32, backoff_beta, 724, 1, 1024, "1/1024", "window after a back-off as share of the one before",
	   "net/ipv4/tcp_cdg.c");
CC_TUNABLE(u32, backoff_factor, 42, 0, 100000, "", "scale of the probability: 1000 / (G * window), G of the paper",
	   "net/ipv4/tcp_cdg.c");
CC_TUNABLE(u32, hystart_detect, 3, 0, 3, "", "0 = off, 1 = length of the ACK train, 2 = rise of the RTT, 3 = both",
	   "net/ipv4/tcp_cdg.c");
CC_TUNABLE(u32, use_ineff, 5, 0, 60000, "", "back-offs without a fall of the delay until they stop; 0 = never",
	   "net/ipv4/tcp_cdg.c");
CC_SWITCH(u32, use_shadow, 1, "a loss cuts to half of what Reno would have, not of cwnd", "net/ipv4/tcp_cdg.c");
CC_SWITCH(u32, use_tolerance, 0, "a loss while the gradients say that the queue is not full cuts nothing",
	  "net/ipv4/tcp_cdg.c");

CC_MODES(cdg_mode, CDG_SLOW_START, CDG_AVOIDANCE, CDG_BACK_OFF);

/* What the gradients say of the queue; BACKED_OFF until the reduction is complete. */
enum cdg_queue {
	CDG_UNKNOWN,
	CDG_NONFULL,
	CDG_FULL,
	CDG_BACKED_OFF,
};

struct cdg_pair {
	s32 min_us;
	s32 max_us;
};

struct cdg_gradients {
	struct cdg_pair of_round[CDG_MAX_WINDOW];
};
CC_STORAGE(cdg_gradients, struct cdg_gradients);

/* All zero is a valid state: the callbacks may run before init. */
struct cdg {
	s64 sum_min_us; /* of gradients */
	s64 sum_max_us;
	struct cdg_pair rtt;      /* of this round, 0 = no sample */
	struct cdg_pair rtt_prev; /* of the last one */
	u32 rtt_seq;              /* the round ends when more than this is acknowledged */
	u32 shadow_pkts;
	s32 gradient_us;    /* the last one: for the trace */
	u32 delay_min_us;   /* HyStart's, 0 = no sample */
	u32 last_ack_us;    /* 0 = no train */
	u32 train_us;       /* start of the train */
	u32 reduction_seq;  /* the back-off ends when more than this is acknowledged */
	u32 reduction_cwnd; /* before it */
	u32 reduction_delivered;
	u32 reduction_sent;
	u16 backoffs; /* in a row without effect */
	u8 samples;   /* of this round, HyStart */
	u8 delack;
	u8 next; /* gradient to be replaced */
	u8 filled;
	u8 queue; /* enum cdg_queue */
	u8 reducing;
};
CC_PRIV_FITS(struct cdg);

static __always_inline void cdg_publish(struct sock *sk)
{
	struct cca_trace *trace = cc_trace(sk);
	const struct cdg *ca = inet_csk_ca(sk);

	if (!trace)
		return;
	if (ca->reducing)
		trace->mode = CDG_BACK_OFF;
	else
		trace->mode = tcp_in_slow_start(tcp_sk(sk)) ? CDG_SLOW_START : CDG_AVOIDANCE;
	trace->min_rtt_us = ca->delay_min_us;
	trace->v0 = ca->gradient_us;
	trace->v1 = ca->shadow_pkts;
	cc_trace_done(trace);
}

static __always_inline int cdg_has_rtt(const struct cdg_pair *rtt)
{
	return rtt->min_us || rtt->max_us;
}

static __always_inline void cdg_new_round(const struct tcp_sock *tp, struct cdg *ca)
{
	ca->rtt_seq = tp->snd_nxt;
	ca->rtt_prev = ca->rtt;
	ca->rtt = (struct cdg_pair){0};
}

static __always_inline void cdg_reset(struct sock *sk)
{
	struct cdg *ca = inet_csk_ca(sk);

	*ca = (struct cdg){0};
	ca->rtt_seq = tcp_sk(sk)->snd_nxt;
	ca->shadow_pkts = tcp_sk(sk)->snd_cwnd;
}

static __always_inline void cdg_leave_slow_start(struct tcp_sock *tp)
{
	tp->snd_ssthresh = tp->snd_cwnd;
}

/* Returns whether the train has ended slow start. */
static __always_inline int cdg_hystart_train(struct tcp_sock *tp, struct cdg *ca)
{
	u32 now_us = (u32)tp->tcp_mstamp;
	u32 limit_us = max(ca->delay_min_us / 2, HYSTART_MIN_US);

	if (!ca->last_ack_us || !tcp_is_cwnd_limited(tp)) {
		ca->last_ack_us = now_us;
		ca->train_us = now_us;
		return 0;
	}
	if (!before(now_us, ca->last_ack_us + HYSTART_GAP_US))
		return 0;
	ca->last_ack_us = now_us;
	if (!after(now_us, ca->train_us + limit_us))
		return 0;
	cdg_leave_slow_start(tp);
	return 1;
}

static __always_inline void cdg_hystart_delay(struct tcp_sock *tp, struct cdg *ca)
{
	u32 limit_us = max(ca->delay_min_us + ca->delay_min_us / 8, HYSTART_MIN_US);

	if (ca->samples < HYSTART_MIN_SAMPLES)
		ca->samples++;
	else if ((u32)ca->rtt.min_us > limit_us)
		cdg_leave_slow_start(tp);
}

static __always_inline void cdg_hystart(struct tcp_sock *tp, struct cdg *ca)
{
	u32 rtt_us = ca->rtt.min_us;

	if (!ca->delay_min_us || (rtt_us && rtt_us < ca->delay_min_us))
		ca->delay_min_us = rtt_us;
	if (!ca->delay_min_us)
		return;
	if ((hystart_detect & HYSTART_ACK_TRAIN) && cdg_hystart_train(tp, ca))
		return;
	if (hystart_detect & HYSTART_DELAY)
		cdg_hystart_delay(tp, ca);
}

/* Replaces the oldest gradient of the sums. A place that has not been filled since the last reset counts as 0. */
static __always_inline void cdg_sum(struct cdg *ca, struct cdg_gradients *gradients, struct cdg_pair gradient)
{
	struct cdg_pair *oldest = &gradients->of_round[ca->next & (CDG_MAX_WINDOW - 1)];

	ca->sum_min_us += gradient.min_us;
	ca->sum_max_us += gradient.max_us;
	if (ca->filled) {
		ca->sum_min_us -= oldest->min_us;
		ca->sum_max_us -= oldest->max_us;
	}
	*oldest = gradient;
	ca->next = ca->next + 1U < window ? ca->next + 1 : 0;
}

/* While gradients are missing, those that are there stand for all. Only a positive one is of interest. */
static __always_inline s64 cdg_extrapolate(struct cdg *ca, int has_gradients, s64 gradient_us)
{
	if (ca->filled)
		return gradient_us;
	if (!has_gradients && window > 1)
		return gradient_us * window;
	if (!ca->next) {
		ca->filled = 1;
		return gradient_us;
	}
	return gradient_us > 0 ? (s64)((u64)gradient_us * window / ca->next) : gradient_us;
}

static __always_inline void cdg_judge_queue(struct cdg *ca, s64 min_us, s64 max_us)
{
	if (min_us >= CDG_NOISE_US && max_us < CDG_NOISE_US)
		ca->queue = CDG_FULL;
	else if ((min_us >= CDG_NOISE_US && max_us >= CDG_NOISE_US) || max_us <= -CDG_NOISE_US)
		ca->queue = CDG_NONFULL;
}

/* The sum of the gradients, or 0 without a round before. */
static __always_inline s64 cdg_gradient(struct sock *sk)
{
	struct cdg *ca = inet_csk_ca(sk);
	struct cdg_gradients *gradients = window > 1 ? cc_storage_get(cdg_gradients, sk) : NULL;
	struct cdg_pair gradient;
	s64 min_us, max_us, sum_us;

	if (!cdg_has_rtt(&ca->rtt_prev))
		return 0;
	gradient.min_us = ca->rtt.min_us - ca->rtt_prev.min_us;
	gradient.max_us = ca->rtt.max_us - ca->rtt_prev.max_us;
	min_us = gradient.min_us;
	max_us = gradient.max_us;
	if (gradients) {
		cdg_sum(ca, gradients, gradient);
		min_us = ca->sum_min_us;
		max_us = ca->sum_max_us;
	}
	sum_us = cdg_extrapolate(ca, gradients != NULL, min_us > 0 ? min_us : max_us);
	if (min_us <= -CDG_EFFECT_US || max_us <= -CDG_EFFECT_US)
		ca->backoffs = 0;
	if (use_tolerance)
		cdg_judge_queue(ca, min_us, max_us);
	return sum_us;
}

/* The dice, and whether back-offs still help. */
static __always_inline int cdg_wants_backoff(struct cdg *ca, s64 gradient_us)
{
	u64 exponent;

	if (gradient_us <= 0)
		return 0;
	exponent = min((u64)gradient_us, (u64)CDG_EXPONENT_MAX) * backoff_factor;
	if (cc_random() <= cc_exp_neg(min(exponent, (u64)CDG_EXPONENT_MAX)))
		return 0;
	if (!use_ineff)
		return 1;
	ca->backoffs++;
	return ca->backoffs <= use_ineff;
}

static __always_inline u32 cdg_backoff_ssthresh(u32 cwnd)
{
	u32 reduced = (u64)cwnd * min(backoff_beta, 1024U) >> 10;

	return max(reduced, CDG_MIN_SSTHRESH);
}

/* tcp_enter_cwr(), as far as it can be had. */
static __always_inline void cdg_start_backoff(struct tcp_sock *tp, struct cdg *ca)
{
	ca->shadow_pkts = max(ca->shadow_pkts, tp->snd_cwnd);
	ca->queue = CDG_BACKED_OFF;
	ca->reducing = 1;
	ca->reduction_seq = tp->snd_nxt;
	ca->reduction_cwnd = tp->snd_cwnd;
	ca->reduction_delivered = tp->delivered;
	ca->reduction_sent = tp->data_segs_out;
	tp->snd_cwnd_cnt = 0;
	tp->snd_ssthresh = cdg_backoff_ssthresh(tp->snd_cwnd);
}

/* tcp_cwnd_reduction(): sends in proportion to what arrives, so that the window is at ssthresh after one RTT. */
static __always_inline void cdg_reduce(struct tcp_sock *tp, const struct cdg *ca, u32 acked)
{
	u32 delivered = tp->delivered - ca->reduction_delivered;
	u32 sent = tp->data_segs_out - ca->reduction_sent;
	u32 in_flight = tcp_packets_in_flight(tp);
	u64 allowed, cwnd;
	u32 send = 0;

	if (in_flight > tp->snd_ssthresh) {
		allowed = ((u64)tp->snd_ssthresh * delivered + ca->reduction_cwnd - 1) / max(ca->reduction_cwnd, 1U);
		if (allowed > sent)
			send = min(allowed - sent, 0xffffffffULL);
	} else {
		u32 owed = delivered > sent ? delivered - sent : 0;
		u64 with_slow_start = (u64)max(owed, acked) + 1;

		send = min(with_slow_start, (u64)(tp->snd_ssthresh - in_flight));
	}
	if (!sent)
		send = max(send, 1U);
	cwnd = (u64)in_flight + send;
	tp->snd_cwnd = clamp(cwnd, 1ULL, (u64)max(tp->snd_cwnd_clamp, 1U));
}

/* COMPLETE_CWR: the delay of the time after the reduction starts a new comparison. */
static __always_inline void cdg_complete(const struct tcp_sock *tp, struct cdg *ca)
{
	ca->queue = CDG_UNKNOWN;
	cdg_new_round(tp, ca);
}

/* Returns whether the window is still being reduced after this ACK. */
static __always_inline int cdg_still_reducing(struct tcp_sock *tp, struct cdg *ca, u32 ack, u32 acked)
{
	if (!ca->reducing)
		return 0;
	if (after(ack, ca->reduction_seq)) {
		tp->snd_cwnd = max(tp->snd_ssthresh, CDG_MIN_SSTHRESH);
		ca->reducing = 0;
		cdg_complete(tp, ca);
		return 0;
	}
	cdg_reduce(tp, ca, acked);
	return 1;
}

/* Returns whether this round ends with a back-off. */
static __always_inline int cdg_end_round(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct cdg *ca = inet_csk_ca(sk);
	s64 gradient_us = cdg_gradient(sk);

	ca->gradient_us = clamp(gradient_us, -0x7fffffffLL, 0x7fffffffLL);
	cdg_new_round(tp, ca);
	ca->last_ack_us = 0;
	ca->samples = 0;
	if (!cdg_wants_backoff(ca, gradient_us))
		return 0;
	cdg_start_backoff(tp, ca);
	return 1;
}

static __always_inline void cdg_control(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct cdg *ca = inet_csk_ca(sk);
	u32 prior_cwnd;

	if (cdg_still_reducing(tp, ca, ack, acked))
		return;
	if (tcp_in_slow_start(tp) && hystart_detect)
		cdg_hystart(tp, ca);
	if (after(ack, ca->rtt_seq) && cdg_has_rtt(&ca->rtt) && cdg_end_round(sk))
		return;
	if (!tcp_is_cwnd_limited(tp)) {
		ca->shadow_pkts = min(ca->shadow_pkts, tp->snd_cwnd);
		return;
	}
	prior_cwnd = tp->snd_cwnd;
	tcp_reno_cong_avoid(sk, ack, acked);
	ca->shadow_pkts = max(ca->shadow_pkts, ca->shadow_pkts + (tp->snd_cwnd - prior_cwnd));
}

CC_OP(void, cdg_init, struct sock *sk)
{
	cc_take_over(sk);
	if (window > 1)
		cc_storage_create(cdg_gradients, sk);
	cdg_reset(sk);
}

/*
 * Delayed ACKs are recognised by one packet being acknowledged where it has been several: Hayes, "Timing Enhancements
 * to the FreeBSD Kernel", CAIA 2010. Their RTT counts for nothing but a lower minimum.
 */
CC_OP(void, cdg_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct cdg *ca = inet_csk_ca(sk);
	s32 rtt_us = sample->rtt_us;

	if (rtt_us <= 0)
		return;
	if (!tcp_sk(sk)->sacked_out) {
		if (sample->pkts_acked == 1 && ca->delack) {
			ca->rtt.min_us = min(ca->rtt.min_us, rtt_us);
			ca->delack--;
			return;
		}
		if (sample->pkts_acked > 1 && ca->delack < CDG_DELACK_MAX)
			ca->delack++;
	}
	if (!ca->rtt.min_us || rtt_us < ca->rtt.min_us)
		ca->rtt.min_us = rtt_us;
	ca->rtt.max_us = max(ca->rtt.max_us, rtt_us);
}

CC_OP(void, cdg_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	cdg_control(sk, ack, acked);
	cdg_publish(sk);
}

CC_OP(u32, cdg_ssthresh, struct sock *sk)
{
	struct cdg *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 halved = max(tp->snd_cwnd >> 1, CDG_MIN_SSTHRESH);

	/* A reduction is under way: natively the kernel would not ask. */
	if (ca->reducing)
		return max(tp->snd_ssthresh, CDG_MIN_SSTHRESH);
	if (ca->queue == CDG_BACKED_OFF)
		return cdg_backoff_ssthresh(tp->snd_cwnd);
	if (ca->queue == CDG_NONFULL && use_tolerance)
		return max(tp->snd_cwnd, CDG_MIN_SSTHRESH);
	ca->shadow_pkts = min(ca->shadow_pkts >> 1, tp->snd_cwnd);
	return use_shadow ? max(ca->shadow_pkts, halved) : halved;
}

/* The kernel reduces the window now; what remains of a back-off is its business. */
CC_OP(void, cdg_set_state, struct sock *sk, u8 new_state)
{
	struct cdg *ca = inet_csk_ca(sk);

	if (new_state >= TCP_CA_CWR)
		ca->reducing = 0;
}

CC_OP(void, cdg_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	if (event == CA_EVENT_CWND_RESTART)
		cdg_reset(sk);
	else if (event == CA_EVENT_COMPLETE_CWR)
		cdg_complete(tcp_sk(sk), inet_csk_ca(sk));
}

CC_OP(u32, cdg_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

CC_OP(void, cdg_release, struct sock *sk)
{
	cc_storage_delete(cdg_gradients, sk);
}

CC_OPS(bpf_cdg) = {
    .init = (void *)cdg_init,
    .release = (void *)cdg_release,
    .ssthresh = (void *)cdg_ssthresh,
    .cong_avoid = (void *)cdg_cong_avoid,
    .set_state = (void *)cdg_set_state,
    .cwnd_event = (void *)cdg_cwnd_event,
    .pkts_acked = (void *)cdg_pkts_acked,
    .undo_cwnd = (void *)cdg_undo_cwnd,
    .name = "bpf_cdg",
};
