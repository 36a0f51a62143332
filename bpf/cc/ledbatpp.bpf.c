// SPDX-License-Identifier: GPL-2.0
/*
 * LEDBAT++, for traffic that gives way to all other: Balasubramanian, Ertugay, Havey, Bagnulo, "LEDBAT++:
 * Congestion Control for Background Traffic", draft-irtf-iccrg-ledbat-plus-plus; its parent is LEDBAT, RFC
 * 6817.
 *
 * In a nutshell: the flow adds at most TARGET to the queueing delay, and drains the queue from time to time.
 *
 *   base                    lowest RTT of ten minutes, kept as ten one-minute minima
 *   queueing delay          q = min(last 4 RTT) - base
 *   gain                    GAIN = 1 / min(16, ceil(2 TARGET / base))
 *   per RTT, q < TARGET     W += GAIN
 *   per RTT, q >= TARGET    W += max(GAIN - C W (q / TARGET - 1), -W / 2)
 *   slow start              W += GAIN per packet acknowledged; the first one ends when q exceeds 3/4 TARGET
 *   slowdown                ssthresh = W
 *                           W = 2 for two RTT, then slow start back to ssthresh
 *   loss                    W / 2
 *
 *           q > 3/4 TARGET                slowdown due, state open
 *   START ------------------> AVOIDANCE -------------------------> SLOWDOWN
 *           or a loss             ^                                   |
 *                                 | W is back at ssthresh             | two RTT over,
 *                                 |                                   v or timeout
 *                                 +--------------------------------- RAMP
 *
 * During a slowdown the queue drains, and base is measured anew. Flows that came later and measured a queue
 * as base find out. The first slowdown comes 2 RTT after the first slow start; the next ones after 9 times
 * the length of the last one.
 *
 * What differs from the draft:
 *   - Slowdowns are at least slowdown_min_interval_ms apart. On a LAN, nine times the few round trips of a
 *     slowdown would mean hundreds of slowdowns per second.
 *   - The law per RTT is applied per packet acknowledged, each taking its share of a window.
 *   - There are no timers in struct_ops. A slowdown starts with the first ACK after it is due, in the open
 *     state and while the window is in use. Two RTT without sending count as a slowdown, since they drain the
 *     queue as well.
 *   - Minutes of the history are counted from the first sample, and pass while the flow is idle.
 *
 * Read cc_fraction.bpf.h first, the unit of the window, and ledbat_delay.bpf.h, the delay.
 */
#include "cc.bpf.h"
#include "cc_fraction.bpf.h"
#include "cc_handover.bpf.h"
#include "ledbat_delay.bpf.h"

CC_ALGORITHM(
    "ledbatpp", "delay",
    "LEDBAT++: adds at most 60 ms of queue, gives way to all other traffic, drains the queue at regular intervals.",
    "draft-irtf-iccrg-ledbat-plus-plus; RFC 6817");
CC_COLOR("#33BBEE");
CC_TRACE_V0("queue_us", "queueing delay: smallest of the last four RTTs less base");
CC_TRACE_V1("gain_divisor", "1 / GAIN");

#define LEDBATPP_GAIN_UNIT       1000U         /* tunables in thousandths */
#define LEDBATPP_MAX_INTERVAL_US 0x7fffffffULL /* 36 minutes: fits into 32 bits */

CC_TUNABLE(u32, target_ms, 60, 1, 10000, "ms", "TARGET: queueing delay that the flow may cause",
	   "draft-irtf-iccrg-ledbat-plus-plus");
CC_TUNABLE(u32, max_gain_divisor, 16, 1, 1024, "", "GAIN is 1 / min(this, ceil(2 TARGET / base))",
	   "draft-irtf-iccrg-ledbat-plus-plus");
CC_GAIN(u32, decrease_gain, 1000, 0, 10000, "C of the decrease C W (q / TARGET - 1) per RTT",
	"draft-irtf-iccrg-ledbat-plus-plus");
CC_GAIN(u32, ss_exit_share, 750, 0, 10000, "share of TARGET that ends the first slow start",
	"draft-irtf-iccrg-ledbat-plus-plus");
CC_TUNABLE(u32, init_cwnd, 2, 0, 10000, "packets",
	   "window at the start, unless the kernel's is smaller; 0 = the kernel's", "INIT_CWND of RFC 6817");
CC_TUNABLE(u32, min_cwnd, 2, 1, 10000, "packets", "no delay takes the window below", "MIN_CWND of RFC 6817");
CC_SWITCH(u32, slowdown, 1, "periodic slowdowns", "draft-irtf-iccrg-ledbat-plus-plus");
CC_TUNABLE(u32, slowdown_cwnd, 2, 1, 10000, "packets", "window during a slowdown", "draft-irtf-iccrg-ledbat-plus-plus");
CC_TUNABLE(u32, slowdown_rtts, 2, 0, 1000, "RTT",
	   "round trips for which a slowdown holds, and from the end of the first slow start to the first slowdown",
	   "draft-irtf-iccrg-ledbat-plus-plus");
CC_TUNABLE(u32, slowdown_factor, 9, 0, 1000, "", "wait for the next slowdown, in lengths of the last one",
	   "draft-irtf-iccrg-ledbat-plus-plus");
CC_TUNABLE(u32, slowdown_min_interval_ms, 1000, 0, 1000000, "ms",
	   "but wait at least so long; 0 = the draft to the letter",
	   "deviation: LAN round trips would give hundreds per second");
CC_SWITCH(u32, ramp_exit, 0,
	  "the way back from a slowdown ends when the queueing delay exceeds TARGET; 0 = only at the old window",
	  "left open by the draft; Apple's tcp_ledbat.c does it");

/*
 *   start       first slow start
 *   avoidance   the law per RTT; slow start after a timeout
 *   slowdown    slowdown: the window is small
 *   ramp        slowdown: slow start back to where it was
 */
CC_MODES(ledbatpp_phase, LEDBATPP_START, LEDBATPP_AVOIDANCE, LEDBATPP_SLOWDOWN, LEDBATPP_RAMP);

/* All zero is a valid state, as before init: no sample, first slow start. */
struct ledbatpp {
	u64 deadline_us;           /* AVOIDANCE: the next slowdown; SLOWDOWN: its end */
	u64 slowdown_us;           /* start of the last slowdown */
	struct ledbat_delay delay; /* what it judges by */
	u32 cwnd_fraction;         /* part of the window beyond whole packets, 2^-32 packets */
	u32 ramp_pkts;             /* SLOWDOWN, RAMP: window before the slowdown */
	u32 undo_ramp_pkts;        /* and before the last loss */
	u32 interval_us;           /* from the last slowdown to the next, 0 = there was none */
	u8 phase;                  /* enum ledbatpp_phase */
	u8 left_by_loss;           /* the first slow start ended at an ssthresh, which a loss has set */
	u8 pad[2];
};
CC_PRIV_FITS(struct ledbatpp);

static __always_inline u32 ledbatpp_target_us(void)
{
	return target_ms * USEC_PER_MSEC;
}

/* 1 / GAIN */
static __always_inline u32 ledbatpp_gain_divisor(const struct ledbatpp *ca)
{
	return ledbat_gain_divisor(&ca->delay, ledbatpp_target_us(), max_gain_divisor);
}

static __always_inline u64 ledbatpp_srtt_us(const struct sock *sk)
{
	return tcp_sk(sk)->srtt_us >> 3;
}

static __always_inline void ledbatpp_publish(struct sock *sk)
{
	struct cca_trace *trace = cc_trace(sk);
	const struct ledbatpp *ca = inet_csk_ca(sk);

	if (!trace)
		return;
	trace->mode = ca->phase;
	if (ca->phase == LEDBATPP_AVOIDANCE && tcp_in_slow_start(tcp_sk(sk)))
		trace->mode = LEDBATPP_RAMP;
	trace->min_rtt_us = ca->delay.base_us;
	trace->v0 = ledbat_queue_us(&ca->delay);
	trace->v1 = ledbatpp_gain_divisor(ca);
	cc_trace_done(trace);
}

/* Window ------------------------------------------------- */

static __always_inline void ledbatpp_set_window(struct tcp_sock *tp, struct ledbatpp *ca, u64 fine_pkts)
{
	ca->cwnd_fraction = cc_set_fine_cwnd(tp, fine_pkts, min_cwnd);
}

/* GAIN per packet acknowledged, up to ssthresh. */
static __always_inline void ledbatpp_slow_start(struct tcp_sock *tp, struct ledbatpp *ca, u32 acked)
{
	u64 window = cc_fine_cwnd(tp, ca->cwnd_fraction) + acked * CC_ONE_PACKET / ledbatpp_gain_divisor(ca);

	ledbatpp_set_window(tp, ca, min(window, tp->snd_ssthresh * CC_ONE_PACKET));
}

/* C (q / TARGET - 1) for q >= TARGET, 1.0 = 2^32; no more than 1.0 matters. */
static __always_inline u64 ledbatpp_excess(u32 queue_us)
{
	u32 target_us = ledbatpp_target_us();
	u64 excess = CC_ONE_PACKET;

	if (queue_us - target_us < target_us)
		excess = (queue_us - target_us) * CC_ONE_PACKET / max(target_us, 1U);
	return excess * decrease_gain / LEDBATPP_GAIN_UNIT;
}

/* The law per RTT, of which each acknowledged packet takes 1 / W. */
static __always_inline void ledbatpp_avoid(struct tcp_sock *tp, struct ledbatpp *ca, u32 queue_us, u32 acked)
{
	u64 window = cc_fine_cwnd(tp, ca->cwnd_fraction);
	u64 gain = CC_ONE_PACKET / ((u64)max(tp->snd_cwnd, 1U) * ledbatpp_gain_divisor(ca));
	u64 excess = queue_us > ledbatpp_target_us() ? ledbatpp_excess(queue_us) : 0;

	if (excess <= gain) {
		ledbatpp_set_window(tp, ca, window + acked * (gain - excess));
		return;
	}
	ledbatpp_set_window(tp, ca, window - acked * min(excess - gain, CC_ONE_PACKET / 2));
	/* What delay has taken is not for slow start to bring back. */
	tp->snd_ssthresh = min(tp->snd_ssthresh, tp->snd_cwnd);
}

/* Slowdowns ---------------------------------------------- */

static __always_inline void ledbatpp_leave_start(struct sock *sk, struct ledbatpp *ca, u64 now_us)
{
	struct tcp_sock *tp = tcp_sk(sk);

	ca->left_by_loss = !tcp_in_slow_start(tp);
	tp->snd_ssthresh = min(tp->snd_ssthresh, tp->snd_cwnd);
	ca->phase = LEDBATPP_AVOIDANCE;
	ca->deadline_us = now_us + slowdown_rtts * ledbatpp_srtt_us(sk);
}

static __always_inline void ledbatpp_start_slowdown(struct sock *sk, struct ledbatpp *ca, u64 now_us)
{
	struct tcp_sock *tp = tcp_sk(sk);

	ca->left_by_loss = 0;
	ca->ramp_pkts = tp->snd_cwnd;
	ca->undo_ramp_pkts = ca->ramp_pkts;
	ca->slowdown_us = now_us;
	ca->deadline_us = now_us + slowdown_rtts * ledbatpp_srtt_us(sk);
	ca->phase = LEDBATPP_SLOWDOWN;
	ca->cwnd_fraction = 0;
	tp->snd_ssthresh = tp->snd_cwnd;
	tp->snd_cwnd = min(tp->snd_cwnd, max(slowdown_cwnd, 1U));
}

static __always_inline void ledbatpp_end_slowdown(struct ledbatpp *ca, u64 now_us)
{
	u64 interval_us = slowdown_factor * min(now_us - ca->slowdown_us, LEDBATPP_MAX_INTERVAL_US);

	interval_us = max(interval_us, (u64)slowdown_min_interval_ms * USEC_PER_MSEC);
	ca->interval_us = min(interval_us, LEDBATPP_MAX_INTERVAL_US);
	ca->deadline_us = now_us + ca->interval_us;
	ca->phase = LEDBATPP_AVOIDANCE;
}

/* A slowdown is due, and there is a window to give up. */
static __always_inline int ledbatpp_slowdown_due(const struct sock *sk, const struct ledbatpp *ca, u64 now_us)
{
	return slowdown && ca->phase == LEDBATPP_AVOIDANCE && now_us >= ca->deadline_us &&
	       !tcp_in_slow_start(tcp_sk(sk)) && tcp_sk(sk)->snd_cwnd > slowdown_cwnd && cc_ca_state(sk) == TCP_CA_Open;
}

/* On the way back to the window before the slowdown: over when it is reached, or, if so chosen, when q is too high. */
static __always_inline void ledbatpp_check_ramp(struct tcp_sock *tp, struct ledbatpp *ca, u32 queue_us, u64 now_us)
{
	if (ramp_exit && queue_us > ledbatpp_target_us())
		ca->ramp_pkts = min(ca->ramp_pkts, tp->snd_cwnd);
	/* A loss has written its own. */
	tp->snd_ssthresh = ca->ramp_pkts;
	if (tp->snd_cwnd >= ca->ramp_pkts)
		ledbatpp_end_slowdown(ca, now_us);
}

static __always_inline void ledbatpp_step(struct sock *sk, struct ledbatpp *ca, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u64 now_us = tp->tcp_mstamp;
	u32 queue_us = ledbat_queue_us(&ca->delay);
	u64 exit_us = (u64)ledbatpp_target_us() * ss_exit_share / LEDBATPP_GAIN_UNIT;

	if (!tcp_is_cwnd_limited(tp))
		return;
	if (ca->phase == LEDBATPP_SLOWDOWN) {
		if (now_us < ca->deadline_us)
			return;
		ca->phase = LEDBATPP_RAMP;
	}
	if (ca->phase == LEDBATPP_RAMP)
		ledbatpp_check_ramp(tp, ca, queue_us, now_us);
	else if (ca->phase == LEDBATPP_START && (queue_us > exit_us || !tcp_in_slow_start(tp)))
		ledbatpp_leave_start(sk, ca, now_us);

	if (ledbatpp_slowdown_due(sk, ca, now_us)) {
		ledbatpp_start_slowdown(sk, ca, now_us);
		return;
	}
	/* No ACK moves the window by more than the share of one round trip. */
	acked = min(acked, tp->snd_cwnd);
	if (tcp_in_slow_start(tp))
		ledbatpp_slow_start(tp, ca, acked);
	else
		ledbatpp_avoid(tp, ca, queue_us, acked);
}

/* Callbacks ---------------------------------------------- */

CC_OP(void, ledbatpp_init, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct ledbatpp *ca = inet_csk_ca(sk);

	cc_take_over(sk);
	*ca = (struct ledbatpp){
	    .delay.minute_us = tp->tcp_mstamp,
	    .delay.minute_min_us[0] = cc_inherited_min_rtt_us(tp),
	    .delay.base_us = cc_inherited_min_rtt_us(tp),
	};
	if (init_cwnd && !cc_is_underway(tp))
		tp->snd_cwnd = min(tp->snd_cwnd, init_cwnd);
}

/* Half of the window; during a slowdown, half of the one to return to as well. */
CC_OP(u32, ledbatpp_ssthresh, struct sock *sk)
{
	struct ledbatpp *ca = inet_csk_ca(sk);

	ca->undo_ramp_pkts = ca->ramp_pkts;
	ca->ramp_pkts = max(ca->ramp_pkts / 2, 2U);
	return tcp_reno_ssthresh(sk);
}

CC_OP(void, ledbatpp_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct ledbatpp *ca = inet_csk_ca(sk);

	if (sample->rtt_us >= 0)
		ledbat_take_rtt(&ca->delay, max(sample->rtt_us, 1), tcp_sk(sk)->tcp_mstamp);
}

CC_OP(void, ledbatpp_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct ledbatpp *ca = inet_csk_ca(sk);

	if (ca->delay.base_us)
		ledbatpp_step(sk, ca, acked);
	else
		tcp_reno_cong_avoid(sk, ack, acked);
	ledbatpp_publish(sk);
}

CC_OP(void, ledbatpp_set_state, struct sock *sk, u8 new_state)
{
	struct ledbatpp *ca = inet_csk_ca(sk);

	if (new_state != TCP_CA_Loss)
		return;
	ca->cwnd_fraction = 0;
	/* The timeout has drained the pipe. */
	if (ca->phase == LEDBATPP_SLOWDOWN)
		ca->phase = LEDBATPP_RAMP;
}

CC_OP(void, ledbatpp_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct ledbatpp *ca = inet_csk_ca(sk);
	s32 idle = cc_jiffies() - tp->lsndtime;

	if (event != CA_EVENT_TX_START || ca->phase != LEDBATPP_AVOIDANCE || !ca->interval_us || idle <= 0)
		return;
	if ((u64)idle * (USEC_PER_SEC / HZ) >= slowdown_rtts * ledbatpp_srtt_us(sk))
		ca->deadline_us = tp->tcp_mstamp + ca->interval_us;
}

CC_OP(u32, ledbatpp_undo_cwnd, struct sock *sk)
{
	struct ledbatpp *ca = inet_csk_ca(sk);

	ca->ramp_pkts = max(ca->ramp_pkts, ca->undo_ramp_pkts);
	/* Without the loss the first slow start would not have ended, and the first slowdown would not be due. */
	if (ca->left_by_loss) {
		ca->left_by_loss = 0;
		ca->phase = LEDBATPP_START;
	}
	return tcp_reno_undo_cwnd(sk);
}

CC_OPS(ledbatpp) = {
    .init = (void *)ledbatpp_init,
    .ssthresh = (void *)ledbatpp_ssthresh,
    .cong_avoid = (void *)ledbatpp_cong_avoid,
    .set_state = (void *)ledbatpp_set_state,
    .cwnd_event = (void *)ledbatpp_cwnd_event,
    .pkts_acked = (void *)ledbatpp_pkts_acked,
    .undo_cwnd = (void *)ledbatpp_undo_cwnd,
    .name = "ledbatpp",
};
