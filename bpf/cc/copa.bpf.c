// SPDX-License-Identifier: GPL-2.0
/*
 * Copa: Arun, Balakrishnan, "Copa: Practical Delay-Based Congestion Control for the Internet", NSDI 2018.
 *
 * In a nutshell: the flow steers its rate to 1 / (delta d_q), so that it has about 1 / delta packets in the
 * queue.
 *
 *   d_q = RTTstanding - RTTmin
 *   RTTstanding   lowest RTT of the last srtt / 2
 *   RTTmin        lowest RTT of the last 10 s
 *
 *   target rate   1 / (delta d_q)                                                          (section 2.1)
 *   rate          cwnd / RTTstanding
 *   per ACK       cwnd += v / (delta cwnd)     while the rate is not above the target
 *                 cwnd -= v / (delta cwnd)     else
 *   velocity v    1; once per round trip the window is compared with that of one round trip ago. After three
 *                 times the same direction v doubles with every further one; another direction makes it 1
 *   slow start    cwnd doubles per round trip until the rate exceeds the target, once per connection
 *   pacing        2 cwnd / RTTstanding
 *
 *   delta = 0.5   while the queue has been nearly empty in the last 5 round trips:         (section 2.2)
 *                 d_q < 0.1 (RTTmax - RTTmin), RTTmax = highest RTT of the last four round trips
 *   otherwise     there is a flow that fills buffers: 1 / delta += 1 per round trip, halved by a loss, and delta
 *                 stays at or below 0.5
 *
 *                rate above the                 queue not nearly empty
 *                target, or timeout             for 5 round trips
 *   SLOW_START ---------------------> DEFAULT ------------------------> COMPETITIVE
 *                                       ^                                   |
 *                                       +------- queue nearly empty --------+
 *
 * In equilibrium the queue swings between 0 and 2.5 / delta packets, about 1 / delta on average (section 3).
 *
 * Losses: in the default mode none is a signal, so recovery goes on with the window as it is and the law
 * above. The kernel does nothing to the window in recovery when an algorithm has cong_control. A timeout sets
 * the window to rto_cwnd packets and v to 1, without a new slow start.
 *
 * Beyond the paper:
 *   - A large v falls to 1 as soon as the law turns, as in mvfst (Copa.cpp), and not only when the round trip
 *     is over. To the letter of the paper the window goes on at full v in the new direction and undershoots
 *     by as much as it has overshot. The flow may never settle (a third of the link used,
 *     crates/native/tests/copa.rs). In equilibrium, where v is 1, there is no difference.
 *   - An increase, but not a decrease, needs a window that is in use.
 *   - v is at most delta cwnd, so that no round trip more than doubles the window.
 *   - A queue of exactly 0 is nearly empty even where RTTmax = RTTmin.
 *   - Round trips are counted by packets for v and 1 / delta, and by srtt for the windows of time.
 *   - mvfst's other choices are tunables: delta 0.05, delay_source 1, mode_switch 0.
 *
 * Read in this order: cc_fraction.bpf.h (the unit of the window), this file from copa_cong_control() upwards,
 * fixed.bpf.h (windowed maximum), cc_fallback.bpf.h (a connection without memory for the state).
 */
#include "cc.bpf.h"
#include "cc_fallback.bpf.h"
#include "cc_fraction.bpf.h"
#include "cc_handover.bpf.h"
#include "fixed.bpf.h"

CC_ALGORITHM("copa", "delay",
	     "Steers the rate to 1 / (0.5 x queueing delay): about two packets of queue per flow; competes when others "
	     "fill the buffer.",
	     "Arun, Balakrishnan, NSDI 2018; Copa.cpp of mvfst for the alternatives");
CC_COLOR("#EE7733");
CC_TRACE_V0("velocity", "v, negative while the window of the last round trip shrank");
CC_TRACE_V1("inv_delta_milli", "1 / delta in thousandths: 2000 in the default mode");

#define COPA_UNIT          1000U       /* tunables in thousandths */
#define COPA_MAX_RTT_US    (1U << 27)  /* no RTT counts as longer than 134 s: bounds the products */
#define COPA_MAX_INV_DELTA 1000000000U /* 1 / delta of 10^6 packets, in thousandths */
#define COPA_MAX_VELOCITY  (1U << 16)
#define COPA_COARSE_SHIFT  10 /* RTTmin's window is kept in units of 1.024 ms */
#define COPA_MAX_STEPS     (1ULL << 31)

CC_GAIN(u32, delta, 500, 1, 10000, "1 / delta is the queue aimed at, in packets; mvfst: 0.05",
	"NSDI 2018, section 2.1");
CC_TUNABLE(u32, min_rtt_window_ms, 10000, 100, 1000000, "ms", "window of RTTmin", "NSDI 2018, section 2.1");
CC_GAIN(u32, standing_share, 500, 0, 10000, "window of RTTstanding, in srtt", "NSDI 2018, section 2.1");
CC_SWITCH(u32, delay_source, 0, "queueing delay from 0 = RTTstanding, 1 = the latest RTT (mvfst)",
	  "NSDI 2018, section 2.1");
CC_TUNABLE(u32, velocity_rtts, 3, 0, 1000, "RTT", "round trips in one direction until v doubles; 0 = never",
	   "NSDI 2018, section 2.1");
CC_SWITCH(u32, reset_on_reversal, 1,
	  "v is 1 again as soon as the law turns; 0 = only at the end of the round trip, as in the paper",
	  "Copa.cpp of mvfst");
CC_GAIN(u32, pacing_gain, 2000, 100, 10000, "pacing rate in cwnd / RTTstanding", "NSDI 2018, section 2.1");
CC_SWITCH(u32, mode_switch, 1, "compete when others fill the buffer; 0 as mvfst", "NSDI 2018, section 2.1");
CC_GAIN(u32, empty_share, 100, 0, 1000, "the queue is nearly empty below this share of RTTmax - RTTmin",
	"NSDI 2018, section 2.2");
CC_TUNABLE(u32, empty_rtts, 5, 1, 1000, "RTT", "round trips without a nearly empty queue that end the default mode",
	   "NSDI 2018, section 2.2");
CC_TUNABLE(u32, min_cwnd, 2, 1, 10000, "packets", "smallest window", "not in the paper");
CC_TUNABLE(u32, rto_cwnd, 4, 1, 10000, "packets", "window after a timeout", "not in the paper");

CC_MODES(copa_mode, COPA_SLOW_START, COPA_DEFAULT, COPA_COMPETITIVE);

enum copa_direction {
	COPA_STILL,
	COPA_UP,
	COPA_DOWN,
};

struct copa {
	/* Windows of cc_window_max(): minima are kept as maxima of ~RTT. */
	struct cc_window min_rtt;
	struct cc_window standing;
	struct cc_window max_rtt;
	u64 round_window;   /* cwnd with its fraction one round trip ago */
	u64 empty_us;       /* when the queue was last seen nearly empty */
	u32 cwnd_fraction;  /* part of the window beyond whole packets, 2^-32 packets */
	u32 next_round;     /* tp->delivered that ends the round trip */
	u32 inv_delta;      /* 1 / delta, thousandths */
	u32 undo_inv_delta; /* before the last loss */
	u32 undo_cwnd;      /* likewise */
	u32 latest_us;      /* latest RTT */
	u32 inherited_us;   /* RTTmin of the connection before it changed to Copa, 0 = none */
	u32 velocity;
	u32 same_rtts;       /* round trips in this direction, up to velocity_rtts */
	u8 mode;             /* enum copa_mode */
	u8 direction;        /* enum copa_direction of the last round trip */
	u8 has_rtt;          /* there has been a sample */
	u8 loss_in_round;    /* 1 / delta does not grow this round trip */
	u8 limited_in_round; /* cwnd has been used up in this round trip */
	u8 timed_out;        /* the last episode of loss has cut the window */
	u8 pad[2];
};

enum copa_presence {
	COPA_BEFORE_INIT,
	COPA_RUNNING,
	COPA_NO_MEMORY,
};

struct copa_priv {
	u32 presence; /* enum copa_presence */
};
CC_PRIV_FITS(struct copa_priv);

CC_STORAGE(copa_storage, struct copa);

static __always_inline struct copa *copa_get(struct sock *sk)
{
	const struct copa_priv *priv = inet_csk_ca(sk);

	return priv->presence == COPA_RUNNING ? cc_storage_get(copa_storage, sk) : NULL;
}

/* There was no memory, or it is gone: reno. */
static __always_inline int copa_fell_back(const struct sock *sk)
{
	const struct copa_priv *priv = inet_csk_ca(sk);

	return priv->presence != COPA_BEFORE_INIT;
}

static __always_inline u32 copa_default_inv_delta(void)
{
	return COPA_UNIT * COPA_UNIT / max(delta, 1U);
}

static __always_inline u32 copa_min_rtt_us(const struct copa *c)
{
	return ~cc_window_get(&c->min_rtt);
}

static __always_inline u32 copa_standing_us(const struct copa *c)
{
	return ~cc_window_get(&c->standing);
}

/* d_q */
static __always_inline u32 copa_queue_us(const struct copa *c)
{
	u32 rtt_us = delay_source ? c->latest_us : copa_standing_us(c);
	u32 min_us = copa_min_rtt_us(c);

	return rtt_us > min_us ? rtt_us - min_us : 0;
}

static __always_inline void copa_publish(struct sock *sk, const struct copa *c)
{
	struct cca_trace *trace = cc_trace(sk);

	if (!trace)
		return;
	trace->mode = c->mode;
	trace->min_rtt_us = c->has_rtt ? copa_min_rtt_us(c) : 0;
	trace->pacing_gain_milli = pacing_gain;
	trace->v0 = c->direction == COPA_DOWN ? -(s64)c->velocity : (s64)c->velocity;
	trace->v1 = c->inv_delta;
	cc_trace_done(trace);
}

/* Delay -------------------------------------------------- */

static __always_inline void copa_take_rtt(const struct tcp_sock *tp, struct copa *c, const struct rate_sample *rs)
{
	u32 now_us = (u32)tp->tcp_mstamp;
	u32 coarse = (u32)(tp->tcp_mstamp >> COPA_COARSE_SHIFT);
	u32 coarse_window = (u64)min_rtt_window_ms * USEC_PER_MSEC >> COPA_COARSE_SHIFT;
	u32 srtt_us = min(tp->srtt_us >> 3, COPA_MAX_RTT_US);
	u32 standing_window = (u64)srtt_us * standing_share / COPA_UNIT;
	u32 rtt_us;

	if (rs->rtt_us < 0)
		return;
	rtt_us = clamp((u64)rs->rtt_us, 1ULL, (u64)COPA_MAX_RTT_US);
	c->latest_us = rtt_us;
	if (!c->has_rtt) {
		c->has_rtt = 1;
		cc_window_reset(&c->min_rtt, coarse, ~(c->inherited_us ? min(c->inherited_us, rtt_us) : rtt_us));
		cc_window_reset(&c->standing, now_us, ~rtt_us);
		cc_window_reset(&c->max_rtt, now_us, rtt_us);
		return;
	}
	cc_window_max(&c->min_rtt, coarse_window, coarse, ~rtt_us);
	cc_window_max(&c->standing, standing_window, now_us, ~rtt_us);
	cc_window_max(&c->max_rtt, 4 * srtt_us, now_us, rtt_us);
}

/* Velocity ----------------------------------------------- */

static __always_inline u64 copa_window(const struct tcp_sock *tp, const struct copa *c)
{
	return cc_fine_cwnd(tp, c->cwnd_fraction);
}

static __always_inline void copa_start_round(const struct tcp_sock *tp, struct copa *c)
{
	c->next_round = tp->delivered;
	c->round_window = copa_window(tp, c);
	c->loss_in_round = 0;
	c->limited_in_round = 0;
}

static __always_inline void copa_stand_still(const struct tcp_sock *tp, struct copa *c)
{
	c->velocity = 1;
	c->direction = COPA_STILL;
	c->same_rtts = 0;
	copa_start_round(tp, c);
}

static __always_inline void copa_update_velocity(const struct tcp_sock *tp, struct copa *c)
{
	u64 window = copa_window(tp, c);
	u8 direction = COPA_STILL;

	if (window > c->round_window)
		direction = COPA_UP;
	else if (window < c->round_window)
		direction = COPA_DOWN;

	if (direction == COPA_STILL || direction != c->direction) {
		c->velocity = 1;
		c->same_rtts = 1;
	} else if (c->same_rtts < velocity_rtts) {
		c->same_rtts++;
	}
	c->direction = direction;
	if (direction != COPA_STILL && velocity_rtts && c->same_rtts >= velocity_rtts)
		c->velocity = min(c->velocity * 2, COPA_MAX_VELOCITY);
}

/* Once per round trip: v and, in competition, 1 / delta. */
static __always_inline void copa_update_round(const struct tcp_sock *tp, struct copa *c, const struct rate_sample *rs)
{
	if (rs->delivered < 0 || before(rs->prior_delivered, c->next_round))
		return;
	if (c->mode == COPA_SLOW_START) {
		copa_start_round(tp, c);
		return;
	}
	/* What an application leaves unused has no direction. */
	if (!c->limited_in_round) {
		copa_stand_still(tp, c);
		return;
	}
	copa_update_velocity(tp, c);
	if (c->mode == COPA_COMPETITIVE && !c->loss_in_round)
		c->inv_delta = min(c->inv_delta + COPA_UNIT, COPA_MAX_INV_DELTA);
	copa_start_round(tp, c);
}

/* Modes -------------------------------------------------- */

static __always_inline int copa_nearly_empty(const struct copa *c)
{
	u32 min_us = copa_min_rtt_us(c);
	u32 max_us = max(cc_window_get(&c->max_rtt), min_us);
	u32 standing_us = copa_standing_us(c);
	u64 queue_us = standing_us > min_us ? standing_us - min_us : 0;

	return !queue_us || queue_us * COPA_UNIT < (u64)(max_us - min_us) * empty_share;
}

static __always_inline void copa_update_mode(const struct tcp_sock *tp, struct copa *c)
{
	u64 patience_us = (u64)empty_rtts * (tp->srtt_us >> 3);

	if (copa_nearly_empty(c))
		c->empty_us = tp->tcp_mstamp;
	if (c->mode == COPA_SLOW_START)
		return;
	if (mode_switch && tp->tcp_mstamp - c->empty_us > patience_us) {
		c->mode = COPA_COMPETITIVE;
	} else {
		c->mode = COPA_DEFAULT;
		c->inv_delta = copa_default_inv_delta();
	}
}

/* Window ------------------------------------------------- */

/* The rate is not above the target: cwnd / RTTstanding <= 1 / (delta d_q), without the divisions. */
static __always_inline int copa_below_target(const struct tcp_sock *tp, const struct copa *c)
{
	u64 aim = (u64)copa_standing_us(c) * c->inv_delta / COPA_UNIT;

	return (u64)tp->snd_cwnd * copa_queue_us(c) <= aim;
}

static __always_inline void copa_set_window(struct tcp_sock *tp, struct copa *c, u64 fine_pkts)
{
	c->cwnd_fraction = cc_set_fine_cwnd(tp, fine_pkts, min_cwnd);
}

/* v / (delta cwnd) per packet acknowledged, with v / delta of at most the window. */
static __always_inline u64 copa_step(const struct tcp_sock *tp, const struct copa *c, u32 acked)
{
	u64 limit = min((u64)tp->snd_cwnd * COPA_UNIT, COPA_MAX_STEPS);
	u64 per_rtt = min((u64)c->velocity * c->inv_delta, limit);

	return acked * (per_rtt * CC_ONE_PACKET / ((u64)max(tp->snd_cwnd, 1U) * COPA_UNIT));
}

/* tcp_is_cwnd_limited(), by our own notion of slow start. */
static __always_inline int copa_limited(const struct tcp_sock *tp, const struct copa *c)
{
	return cc_bitfield(tp, is_cwnd_limited) ||
	       (c->mode == COPA_SLOW_START && tp->snd_cwnd < 2 * tp->max_packets_out);
}

static __always_inline void copa_leave_slow_start(struct tcp_sock *tp, struct copa *c)
{
	c->mode = COPA_DEFAULT;
	c->empty_us = tp->tcp_mstamp;
	tp->snd_ssthresh = tp->snd_cwnd;
	copa_stand_still(tp, c);
}

/* The law says up while v still says down, or the other way round. */
static __always_inline void copa_check_reversal(const struct tcp_sock *tp, struct copa *c, int up)
{
	u8 against = up ? COPA_DOWN : COPA_UP;

	if (reset_on_reversal && c->velocity > 1 && c->direction == against)
		copa_stand_still(tp, c);
}

static __always_inline void copa_move_window(struct tcp_sock *tp, struct copa *c, u32 acked)
{
	int up = copa_below_target(tp, c);
	int limited = copa_limited(tp, c);

	c->limited_in_round |= limited;
	acked = min(acked, tp->snd_cwnd);
	if (c->mode == COPA_SLOW_START) {
		if (!up)
			copa_leave_slow_start(tp, c);
		else if (limited)
			copa_set_window(tp, c, copa_window(tp, c) + acked * CC_ONE_PACKET);
		return;
	}
	copa_check_reversal(tp, c, up);
	if (!up)
		copa_set_window(tp, c, copa_window(tp, c) - copa_step(tp, c, acked));
	else if (limited)
		copa_set_window(tp, c, copa_window(tp, c) + copa_step(tp, c, acked));
}

static __always_inline void copa_set_pacing_rate(struct sock *sk, const struct copa *c)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 bytes = (u64)tp->snd_cwnd * tp->mss_cache * pacing_gain / COPA_UNIT;
	u64 rate;

	if (!c->has_rtt)
		return;
	/* Beyond 2^43 bytes per round trip the product with 10^6 would not fit. */
	rate = min(bytes, 1ULL << 43) * USEC_PER_SEC / max(copa_standing_us(c), 1U);
	sk->sk_pacing_rate = min(rate, (u64)sk->sk_max_pacing_rate);
}

/* Callbacks ---------------------------------------------- */

CC_OP(void, copa_init, struct sock *sk)
{
	struct copa_priv *priv = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	struct copa *c = cc_storage_create(copa_storage, sk);

	cc_take_over_paced(sk);
	if (!c) {
		priv->presence = COPA_NO_MEMORY;
		return;
	}
	priv->presence = COPA_RUNNING;
	*c = (struct copa){
	    .empty_us = tp->tcp_mstamp,
	    .inv_delta = copa_default_inv_delta(),
	    .undo_inv_delta = copa_default_inv_delta(),
	    .undo_cwnd = tp->snd_cwnd,
	    .inherited_us = cc_inherited_min_rtt_us(tp),
	};
	copa_stand_still(tp, c);
	tp->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	cc_need_pacing(sk);
}

CC_OP(void, copa_release, struct sock *sk)
{
	struct copa_priv *priv = inet_csk_ca(sk);
	const struct copa *c = copa_get(sk);

	if (c)
		cc_hand_over_window(sk, c->mode != COPA_SLOW_START);
	priv->presence = COPA_BEFORE_INIT;
	cc_storage_delete(copa_storage, sk);
}

CC_CONG_CONTROL(copa_cong_control, sk, ack, flag, rs)
{
	struct copa *c = copa_get(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (!c) {
		if (copa_fell_back(sk))
			cc_fallback_cong_control(sk, ack, rs);
		return;
	}
	copa_take_rtt(tp, c, rs);
	if (c->has_rtt) {
		copa_update_round(tp, c, rs);
		copa_update_mode(tp, c);
		copa_move_window(tp, c, rs->acked_sacked);
	}
	copa_set_pacing_rate(sk, c);
	copa_publish(sk, c);
}

/* Once per episode of loss, which is once per round trip at most: the signal of the competitive mode. */
CC_OP(u32, copa_ssthresh, struct sock *sk)
{
	struct copa *c = copa_get(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 half;

	if (!c)
		return copa_fell_back(sk) ? tcp_reno_ssthresh(sk) : max(tp->snd_ssthresh, 2U);
	c->undo_cwnd = tp->snd_cwnd;
	c->undo_inv_delta = c->inv_delta;
	c->timed_out = 0;
	c->loss_in_round = 1;
	half = c->inv_delta / 2;
	c->inv_delta = max(half, copa_default_inv_delta());
	return max(tp->snd_ssthresh, 2U);
}

CC_OP(u32, copa_undo_cwnd, struct sock *sk)
{
	struct copa *c = copa_get(sk);
	u32 cwnd = tcp_sk(sk)->snd_cwnd;

	if (!c)
		return tcp_reno_undo_cwnd(sk);
	if (c->mode == COPA_COMPETITIVE)
		c->inv_delta = max(c->inv_delta, c->undo_inv_delta);
	/* Only a timeout has taken anything from the window. */
	return c->timed_out ? max(cwnd, c->undo_cwnd) : max(cwnd, 1U);
}

CC_OP(void, copa_set_state, struct sock *sk, u8 new_state)
{
	struct copa *c = copa_get(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (!c || new_state != TCP_CA_Loss)
		return;
	tp->snd_cwnd = max(rto_cwnd, 1U);
	c->cwnd_fraction = 0;
	c->timed_out = 1;
	if (c->mode == COPA_SLOW_START)
		copa_leave_slow_start(tp, c);
	else
		copa_stand_still(tp, c);
}

/* The path has been idle: nothing of the queue seen before it holds. */
CC_OP(void, copa_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct copa *c = copa_get(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (!c || event != CA_EVENT_TX_START)
		return;
	c->empty_us = tp->tcp_mstamp;
	copa_stand_still(tp, c);
}

CC_OPS(copa) = {
    .init = (void *)copa_init,
    .release = (void *)copa_release,
    .cong_control = (void *)copa_cong_control,
    .ssthresh = (void *)copa_ssthresh,
    .undo_cwnd = (void *)copa_undo_cwnd,
    .set_state = (void *)copa_set_state,
    .cwnd_event = (void *)copa_cwnd_event,
    .name = "copa",
};
