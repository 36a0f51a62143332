// SPDX-License-Identifier: GPL-2.0
/*
 * Compound TCP: Tan, Song, Zhang, Sridharan, "A Compound TCP Approach for High-Speed and Long Distance
 * Networks", INFOCOM 2006; draft-sridharan-tcpm-ctcp-02.
 *
 * In a nutshell: Reno with a second window beside its own, which grows fast while the queue is short.
 *
 *   win = cwnd + dwnd       cwnd: Reno's part, + 1 / win per packet acknowledged; dwnd: driven by delay
 *   once per round          diff = win * (1 - base RTT / min RTT)                       packets queued
 *     diff < gamma          dwnd += max(alpha * win^k - 1, 0), k = 3/4
 *     diff >= gamma         dwnd -= eta * diff, at least 0
 *   loss                    win' = win * (1 - beta)
 *                           cwnd' = cwnd / 2
 *                           dwnd' = win' - cwnd', at least 0
 *   timeout                 dwnd = 0
 *   gamma tuning, optional  gamma = (1 - lambda) * gamma + lambda * 3/4 * queue of Reno's part
 *                           at a loss, within bounds
 *
 *                ssthresh reached           diff >= gamma
 *   SLOW_START -------------------> GROW ------------------> SHRINK
 *                                    ^                         |
 *                                    +----- diff < gamma ------+
 *   RENO    below low_window, where dwnd is 0; and until the state is open again, when dwnd stays
 *
 * dwnd is 0 in slow start and below low_window, where Reno is good enough. snd_cwnd is win: what is kept here
 * is dwnd, and cwnd is the rest. When the kernel has lowered snd_cwnd by itself (after an idle or
 * application-limited time), both parts shrink in proportion.
 *
 * There is no native module; net/ipv4/tcp_compound.c was in Linux for a short time in 2006. Unlike that file:
 *   - dwnd has 8 fraction bits, for 1 packet per round is lost to rounding otherwise;
 *   - the window that counts is snd_cwnd when the flow has used it, not the data sent in the round;
 *   - a loss reduces both parts, as in the paper; the file leaves dwnd to whatever the kernel's window is;
 *   - the base RTT survives an idle time, as in the draft.
 *
 * Read vegas.bpf.h first: RTT samples and rounds are those of Vegas. fixed.bpf.h has the root for win^k.
 */
#include "cc.bpf.h"
#include "cc_handover.bpf.h"
#include "fixed.bpf.h"
#include "vegas.bpf.h"

CC_ALGORITHM("compound", "hybrid",
	     "Reno with a second window that grows fast while the queue is short and vanishes when it is not (CTCP).",
	     "Tan, Song, Zhang, Sridharan 2006; draft-sridharan-tcpm-ctcp-02");
CC_COLOR("#6699CC");
CC_TRACE_V0("dwnd_pkts", "delay-driven part of the window; the rest is the Reno part");
CC_TRACE_V1("diff_pkts", "packets queued, as of the last round; gamma or more: shrink");

#define COMPOUND_SHIFT 8 /* fraction bits of dwnd */
#define COMPOUND_ONE   (1U << COMPOUND_SHIFT)
#define COMPOUND_MILLI 1000U

#define COMPOUND_POWER_MAX_PKTS (1U << 30) /* a window whose power fits an int */

CC_GAIN(u32, alpha, 125, 0, 1000, "growth of dwnd per round as part of window^0.75", "draft-sridharan-tcpm-ctcp-02");
CC_GAIN(u32, beta, 500, 100, 900, "part of the window that a loss takes", "draft-sridharan-tcpm-ctcp-02");
CC_GAIN(u32, eta, 1000, 0, 10000, "dwnd gives back what is queued, times this", "draft-sridharan-tcpm-ctcp-02");
CC_TUNABLE(u32, gamma, 30, 0, 1000000, "packets", "with so many packets queued dwnd shrinks",
	   "draft-sridharan-tcpm-ctcp-02");
CC_TUNABLE(u32, low_window, 41, 2, 1000000, "packets", "below this window dwnd is 0; the paper has 38",
	   "draft-sridharan-tcpm-ctcp-02");
CC_SWITCH(u32, gamma_tuning, 0, "gamma follows 3/4 of the queue that the Reno part had at losses",
	  "draft-sridharan-tcpm-ctcp-02");
CC_TUNABLE(u32, gamma_low, 5, 0, 1000000, "packets", "lower bound of the tuned gamma", "draft-sridharan-tcpm-ctcp-02");
CC_TUNABLE(u32, gamma_high, 30, 0, 1000000, "packets", "upper bound of the tuned gamma",
	   "draft-sridharan-tcpm-ctcp-02");
CC_GAIN(u32, gamma_lambda, 800, 0, 1000, "weight of the newest loss in the tuned gamma",
	"draft-sridharan-tcpm-ctcp-02");
CC_SWITCH(u32, rto_forgets_base, 1, "a timeout starts the base RTT anew", "draft-sridharan-tcpm-ctcp-02");
CC_SWITCH(u32, idle_forgets_base, 0, "a restart from idle does so, too", "net/ipv4/tcp_compound.c of 2006");

/*
 *   reno     below low_window, or until the state is open again
 *   grow     fewer than gamma packets queued
 *   shrink   gamma or more
 */
CC_MODES(compound_mode, COMPOUND_SLOW_START, COMPOUND_RENO, COMPOUND_GROW, COMPOUND_SHRINK);

/* All zero is a valid state: the callbacks may run before init. */
struct compound {
	u64 dwnd;       /* packets << COMPOUND_SHIFT */
	u64 prior_dwnd; /* before the loss, should it be undone */
	u64 next_dwnd;  /* after the reduction that is under way */
	struct vegas_rtt rtt;
	u32 window;          /* snd_cwnd as it was left here; 0 = never */
	u32 diff_pkts;       /* of the last round */
	u32 diff_reno_pkts;  /* of it Reno's part */
	u32 gamma_milli;     /* thousandths of a packet */
	u32 prior_base_us;   /* base RTT before the timeout, should it be undone */
	u8 reducing;         /* next_dwnd counts when the kernel ends the reduction */
	u8 diff_reno_is_new; /* since the last loss */
	u8 pad[2];
};
CC_PRIV_FITS(struct compound);

static __always_inline u32 compound_dwnd_pkts(const struct compound *c)
{
	return c->dwnd >> COMPOUND_SHIFT;
}

static __always_inline int compound_is_off(const struct tcp_sock *tp)
{
	return tcp_in_slow_start(tp) || tp->snd_cwnd < low_window;
}

static __always_inline int compound_is_queueing(const struct compound *c)
{
	return (u64)c->diff_pkts * COMPOUND_MILLI >= c->gamma_milli;
}

static __always_inline enum compound_mode compound_mode(const struct tcp_sock *tp, const struct compound *c)
{
	if (tcp_in_slow_start(tp))
		return COMPOUND_SLOW_START;
	if (!c->rtt.enabled || tp->snd_cwnd < low_window)
		return COMPOUND_RENO;
	return compound_is_queueing(c) ? COMPOUND_SHRINK : COMPOUND_GROW;
}

static __always_inline void compound_publish(struct sock *sk)
{
	struct cca_trace *trace = cc_trace(sk);
	const struct compound *c = inet_csk_ca(sk);

	if (!trace)
		return;
	trace->mode = compound_mode(tcp_sk(sk), c);
	trace->min_rtt_us = vegas_published_base_us(&c->rtt);
	trace->v0 = compound_dwnd_pkts(c);
	trace->v1 = c->diff_pkts;
	cc_trace_done(trace);
}

/* At least one packet is Reno's. */
static __always_inline void compound_set_dwnd(struct compound *c, u64 dwnd, u32 window)
{
	u64 most = (u64)(max(window, 1U) - 1) << COMPOUND_SHIFT;

	c->dwnd = min(dwnd, most);
}

/* The split of a window that the kernel may have lowered since; what it has added is Reno's. */
static __always_inline void compound_split(struct compound *c, u32 window)
{
	u64 dwnd = c->dwnd;

	if (window < c->window)
		dwnd = dwnd * window / c->window;
	compound_set_dwnd(c, dwnd, window);
	c->window = window;
}

static __always_inline void compound_drop_dwnd(struct compound *c)
{
	c->dwnd = 0;
	c->reducing = 0;
}

/* win^0.75 with COMPOUND_SHIFT fraction bits: the square root times the root of that, each with 16 fraction bits. */
CC_GLOBAL int compound_power(u32 window)
{
	u64 root = cc_sqrt64((u64)min(window, COMPOUND_POWER_MAX_PKTS) << 32);
	u64 fourth_root = cc_sqrt64(root << 16);

	return root * fourth_root >> (32 - COMPOUND_SHIFT);
}

static __always_inline u32 compound_queue_pkts(const struct vegas_rtt *v, u32 window)
{
	return (u64)window * (v->min_rtt_us - v->base_rtt_us) / v->min_rtt_us;
}

/* The decision of a round with enough samples. */
static __always_inline void compound_decide(struct tcp_sock *tp, struct compound *c)
{
	u32 reno_pkts = tp->snd_cwnd - compound_dwnd_pkts(c);
	u64 dwnd = c->dwnd;
	u64 step, window;

	c->diff_pkts = compound_queue_pkts(&c->rtt, tp->snd_cwnd);
	c->diff_reno_pkts = compound_queue_pkts(&c->rtt, reno_pkts);
	c->diff_reno_is_new = 1;
	if (compound_is_off(tp))
		return;

	if (compound_is_queueing(c)) {
		step = (u64)c->diff_pkts * eta * COMPOUND_ONE / COMPOUND_MILLI;
		dwnd = dwnd > step ? dwnd - step : 0;
	} else {
		step = (u64)compound_power(tp->snd_cwnd) * alpha / COMPOUND_MILLI;
		dwnd += step > COMPOUND_ONE ? step - COMPOUND_ONE : 0;
	}
	window = reno_pkts + (dwnd >> COMPOUND_SHIFT);
	tp->snd_cwnd = vegas_bounded_cwnd(tp, min(window, (u64)tp->snd_cwnd_clamp));
	compound_set_dwnd(c, dwnd, tp->snd_cwnd);
}

static __always_inline void compound_grow(struct tcp_sock *tp, u32 acked)
{
	if (cc_slow_start(tp, &acked))
		return;
	tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked);
}

/* The queue of Reno's part alone is what a Reno flow would have had in place of this one. */
static __always_inline void compound_tune_gamma(struct compound *c)
{
	u64 sample_milli = (u64)c->diff_reno_pkts * COMPOUND_MILLI * 3 / 4;
	u64 tuned_milli;

	if (!gamma_tuning || !c->diff_reno_is_new)
		return;
	tuned_milli =
	    (c->gamma_milli * (u64)(COMPOUND_MILLI - gamma_lambda) + sample_milli * gamma_lambda) / COMPOUND_MILLI;
	tuned_milli = clamp(tuned_milli, (u64)gamma_low * COMPOUND_MILLI, (u64)gamma_high * COMPOUND_MILLI);
	c->gamma_milli = tuned_milli;
	c->diff_reno_is_new = 0;
}

CC_OP(void, compound_init, struct sock *sk)
{
	struct compound *c = inet_csk_ca(sk);

	cc_take_over(sk);
	*c = (struct compound){.gamma_milli = gamma * COMPOUND_MILLI, .prior_base_us = VEGAS_NO_RTT};
	vegas_rtt_init(&c->rtt, tcp_sk(sk));
	vegas_rtt_take_over(&c->rtt, tcp_sk(sk));
}

CC_OP(u32, compound_ssthresh, struct sock *sk)
{
	struct compound *c = inet_csk_ca(sk);
	u32 window = tcp_sk(sk)->snd_cwnd;
	u32 reno_pkts, reduced;

	compound_split(c, window);
	compound_tune_gamma(c);
	reno_pkts = (window - compound_dwnd_pkts(c)) / 2;
	reduced = (u64)window * (COMPOUND_MILLI - beta) / COMPOUND_MILLI;
	c->prior_dwnd = c->dwnd;
	c->prior_base_us = c->rtt.base_rtt_us;
	c->next_dwnd = reduced > reno_pkts ? (u64)(reduced - reno_pkts) << COMPOUND_SHIFT : 0;
	c->reducing = 1;
	reduced = max(reduced, reno_pkts);
	return max(reduced, VEGAS_MIN_CWND);
}

CC_OP(void, compound_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct compound *c = inet_csk_ca(sk);

	compound_split(c, tp->snd_cwnd);
	if (tcp_is_cwnd_limited(tp)) {
		compound_grow(tp, acked);
		if (c->rtt.enabled && vegas_round_over(&c->rtt, ack)) {
			if (vegas_has_samples(&c->rtt))
				compound_decide(tp, c);
			vegas_next_round(&c->rtt, tp);
		}
	}
	if (compound_is_off(tp))
		c->dwnd = 0;
	c->window = tp->snd_cwnd;
	compound_publish(sk);
}

CC_OP(void, compound_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct compound *c = inet_csk_ca(sk);

	vegas_rtt_sample(&c->rtt, sample->rtt_us);
}

CC_OP(void, compound_set_state, struct sock *sk, u8 new_state)
{
	struct compound *c = inet_csk_ca(sk);

	vegas_rtt_set_state(&c->rtt, tcp_sk(sk), new_state);
	if (new_state != TCP_CA_Loss)
		return;
	compound_drop_dwnd(c);
	if (rto_forgets_base)
		c->rtt.base_rtt_us = VEGAS_NO_RTT;
}

CC_OP(void, compound_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct compound *c = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);

	if (event == CA_EVENT_COMPLETE_CWR && c->reducing) {
		compound_set_dwnd(c, c->next_dwnd, tp->snd_cwnd);
		c->window = tp->snd_cwnd;
		c->reducing = 0;
	} else if (vegas_is_restart(event)) {
		if (idle_forgets_base)
			c->rtt.base_rtt_us = VEGAS_NO_RTT;
		vegas_enable(&c->rtt, tp);
	}
}

/* Both parts come back, and so does a base RTT that a timeout which was none has made forget. */
CC_OP(u32, compound_undo_cwnd, struct sock *sk)
{
	struct compound *c = inet_csk_ca(sk);
	u32 window = tcp_reno_undo_cwnd(sk);

	compound_set_dwnd(c, c->prior_dwnd, window);
	c->window = window;
	c->reducing = 0;
	if (c->rtt.base_rtt_us > c->prior_base_us)
		c->rtt.base_rtt_us = c->prior_base_us;
	return window;
}

CC_OPS(compound) = {
    .init = (void *)compound_init,
    .ssthresh = (void *)compound_ssthresh,
    .cong_avoid = (void *)compound_cong_avoid,
    .pkts_acked = (void *)compound_pkts_acked,
    .set_state = (void *)compound_set_state,
    .cwnd_event = (void *)compound_cwnd_event,
    .undo_cwnd = (void *)compound_undo_cwnd,
    .name = "compound",
};
