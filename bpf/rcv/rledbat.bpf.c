// SPDX-License-Identifier: GPL-2.0
/*
 * rLEDBAT: background downloads that give way, decided by the receiver. RFC 9840 with the controller of LEDBAT++,
 * draft-irtf-iccrg-ledbat-plus-plus.
 *
 * In a nutshell: the rules of ledbatpp.bpf.c for RLWND, a window in bytes that the receiver offers. The sender, whatever
 * its algorithm, never has more in flight.
 *
 *   queueing delay          q = min(last 4 RTT) - base                    of timestamps, at the receiver
 *   gain                    GAIN = 1 / min(16, ceil(2 TARGET / base))
 *   slow start              W += GAIN (bytes received)                    until q > 3/4 TARGET, first time
 *   per RTT, q < TARGET     W += GAIN MSS
 *   per RTT, q >= TARGET    W += max(GAIN MSS - C W (q / TARGET - 1), -W / 2)
 *   loss                    W / 2, at most once per RTT
 *   slowdown                W = 2 MSS until two RTT after it has drained, then slow start back
 *
 *           q > 3/4 TARGET                slowdown due
 *   START ------------------> AVOIDANCE ---------------> SLOWDOWN
 *           or a loss             ^                         |
 *                                 | W is back               | over
 *                                 |                         v
 *                                 +----------------------- RAMP
 *
 * The window that is offered never moves its right edge left, so a smaller RLWND drains with arriving data: one RTT
 * longer than at a sender, which a slowdown allows for.
 *
 * What differs from the RFC:
 *   - A loss is a hole that was filled after a round trip or more (rcv_core.bpf.h). The RFC compares the TSval of what
 *     fills it with that of later data; the program sees acknowledgements, not segments.
 *   - W grows only while a round trip brings at least half of it: what limits the flow is elsewhere otherwise.
 *   - Slowdowns are at least slowdown_min_interval_ms apart, as in ledbatpp.bpf.c.
 *   - Without timestamps the window stays the kernel's.
 *
 * Read in this order: ledbatpp.bpf.c for the rules, rcv.bpf.h, rcv_core.bpf.h, ledbat_delay.bpf.h.
 */
#include "rcv.bpf.h"
#include "ledbat_delay.bpf.h"

CC_ALGORITHM("rledbat", "delay",
	     "Background downloads: the offered window adds at most 60 ms of queue and gives way to all other traffic.",
	     "RFC 9840; draft-irtf-iccrg-ledbat-plus-plus");
CC_COLOR("#115577");

CC_TUNABLE(u32, target_ms, 60, 1, 10000, "ms", "TARGET: queueing delay that the flow may cause",
	   "RFC 9840, section 4.1");
CC_TUNABLE(u32, max_gain_divisor, 16, 1, 1024, "", "GAIN is 1 / min(this, ceil(2 TARGET / base))",
	   "draft-irtf-iccrg-ledbat-plus-plus");
CC_GAIN(u32, decrease_gain, 1000, 0, 10000, "C of the decrease C W (q / TARGET - 1) per RTT",
	"draft-irtf-iccrg-ledbat-plus-plus");
CC_GAIN(u32, ss_exit_share, 750, 0, 10000, "share of TARGET that ends the first slow start",
	"draft-irtf-iccrg-ledbat-plus-plus");
CC_TUNABLE(u32, init_window, 10, 2, 10000, "segments", "RLWND at the start", "RFC 6928: as much as a sender may send");
CC_TUNABLE(u32, min_window, 2, 2, 10000, "segments", "RLWND is never less", "MIN_CWND of RFC 6817");
CC_SWITCH(u32, slowdown, 1, "periodic slowdowns", "draft-irtf-iccrg-ledbat-plus-plus");
CC_TUNABLE(u32, slowdown_rtts, 2, 0, 1000, "RTT",
	   "round trips for which a slowdown holds, and from the end of the first slow start to the first slowdown",
	   "draft-irtf-iccrg-ledbat-plus-plus");
CC_TUNABLE(u32, slowdown_factor, 9, 0, 1000, "", "wait for the next slowdown, in lengths of the last one",
	   "draft-irtf-iccrg-ledbat-plus-plus");
CC_TUNABLE(u32, slowdown_min_interval_ms, 1000, 0, 1000000, "ms", "but wait at least so long",
	   "deviation: LAN round trips would give hundreds per second");

#define RLEDBAT_SHIFT           10 /* the window has 2^-10 bytes, or GAIN MSS / W would be lost */
#define RLEDBAT_GAIN_UNIT       1000U
#define RLEDBAT_ONE             1024ULL /* of the excess */
#define RLEDBAT_MAX_INTERVAL_US 0x7fffffffULL

CC_MODES(rledbat_phase, RLEDBAT_START, RLEDBAT_AVOIDANCE, RLEDBAT_SLOWDOWN, RLEDBAT_RAMP);

struct rledbat {
	u64 window;      /* RLWND, 2^-10 bytes; 0 = not begun */
	u64 ramp_window; /* SLOWDOWN, RAMP: before the slowdown */
	u64 deadline_us; /* AVOIDANCE: the next slowdown; SLOWDOWN: its end */
	u64 slowdown_us; /* start of the last slowdown */
	u64 no_loss_us;  /* until then a loss is of the reduction that has been made */
	u32 round_bytes; /* of the last round that has ended */
	u32 phase;       /* enum rledbat_phase */
	struct ledbat_delay delay;
	u32 pad;
};

static __always_inline u32 rledbat_target_us(void)
{
	return target_ms * USEC_PER_MSEC;
}

static __always_inline u64 rledbat_segments(const struct rcv_now *now, u32 count)
{
	return ((u64)now->mss * count) << RLEDBAT_SHIFT;
}

static __always_inline void rledbat_set(struct rledbat *s, const struct rcv_now *now, u64 window)
{
	s->window = clamp(window, rledbat_segments(now, min_window), (u64)RCV_MAX_ROUND_BYTES << RLEDBAT_SHIFT);
}

/* Whether RLWND is what limits the flow; the window of the round before may have been half of this one. */
static __always_inline int rledbat_is_limit(const struct rledbat *s)
{
	return ((u64)s->round_bytes << (RLEDBAT_SHIFT + 1)) >= s->window;
}

static __always_inline void rledbat_enter_avoidance(struct rledbat *s, u64 deadline_us)
{
	s->phase = RLEDBAT_AVOIDANCE;
	s->deadline_us = deadline_us;
}

static __always_inline void rledbat_lose(struct rledbat *s, const struct rcv_now *now)
{
	if (now->now_us < s->no_loss_us)
		return;
	s->no_loss_us = now->now_us + now->srtt_us;
	s->ramp_window /= 2;
	rledbat_set(s, now, s->window / 2);
	if (s->phase == RLEDBAT_START)
		rledbat_enter_avoidance(s, now->now_us + (u64)slowdown_rtts * now->srtt_us);
}

/* C (q / TARGET - 1) for q >= TARGET, 1.0 = RLEDBAT_ONE; no more than 1.0 matters. */
static __always_inline u64 rledbat_excess(u32 queue_us)
{
	u64 over_us = queue_us - rledbat_target_us();

	over_us = min(over_us, (u64)rledbat_target_us());
	return over_us * RLEDBAT_ONE / rledbat_target_us() * decrease_gain / RLEDBAT_GAIN_UNIT;
}

/* The law per RTT; what has arrived takes its share bytes / W of it. */
static __always_inline void rledbat_avoid(struct rledbat *s, const struct rcv_now *now, u32 queue_us, u32 divisor)
{
	u64 whole = max(s->window >> RLEDBAT_SHIFT, 1ULL);
	u64 bytes = min((u64)now->bytes, whole);
	u64 gain = (rledbat_segments(now, 1) / divisor) * bytes / whole;
	u64 less = 0;

	if (queue_us > rledbat_target_us())
		less = min(rledbat_excess(queue_us), RLEDBAT_ONE / 2) * (bytes << RLEDBAT_SHIFT) / RLEDBAT_ONE;
	if (!less && !rledbat_is_limit(s))
		return;
	rledbat_set(s, now, s->window + gain > less ? s->window + gain - less : 0);
}

static __always_inline void rledbat_begin_slowdown(struct rledbat *s, const struct rcv_now *now)
{
	s->ramp_window = s->window;
	s->slowdown_us = now->now_us;
	/* One RTT more than at a sender: until then the old window drains. */
	s->deadline_us = now->now_us + ((u64)slowdown_rtts + 1) * now->srtt_us;
	s->phase = RLEDBAT_SLOWDOWN;
	rledbat_set(s, now, 0);
}

static __always_inline void rledbat_end_slowdown(struct rledbat *s, const struct rcv_now *now)
{
	u64 length_us = min(now->now_us - s->slowdown_us, RLEDBAT_MAX_INTERVAL_US);
	u64 interval_us = max(slowdown_factor * length_us, (u64)slowdown_min_interval_ms * USEC_PER_MSEC);

	rledbat_enter_avoidance(s, now->now_us + interval_us);
}

static __always_inline void rledbat_turn_phase(struct rledbat *s, const struct rcv_now *now, u32 queue_us)
{
	u64 exit_us = (u64)rledbat_target_us() * ss_exit_share / RLEDBAT_GAIN_UNIT;

	if (s->phase == RLEDBAT_START && queue_us > exit_us)
		rledbat_enter_avoidance(s, now->now_us + (u64)slowdown_rtts * now->srtt_us);
	else if (s->phase == RLEDBAT_SLOWDOWN && now->now_us >= s->deadline_us)
		s->phase = RLEDBAT_RAMP;
	else if (s->phase == RLEDBAT_RAMP && s->window >= s->ramp_window)
		rledbat_end_slowdown(s, now);
	else if (s->phase == RLEDBAT_AVOIDANCE && slowdown && now->now_us >= s->deadline_us &&
		 s->window > rledbat_segments(now, min_window))
		rledbat_begin_slowdown(s, now);
}

static __always_inline void rledbat_move(struct rledbat *s, const struct rcv_now *now)
{
	u32 divisor = ledbat_gain_divisor(&s->delay, rledbat_target_us(), max_gain_divisor);
	u32 queue_us = ledbat_queue_us(&s->delay);

	if (now->repaired)
		rledbat_lose(s, now);
	rledbat_turn_phase(s, now, queue_us);
	if (s->phase == RLEDBAT_AVOIDANCE)
		rledbat_avoid(s, now, queue_us, divisor);
	else if (s->phase != RLEDBAT_SLOWDOWN && rledbat_is_limit(s))
		rledbat_set(s, now, s->window + ((u64)now->bytes << RLEDBAT_SHIFT) / divisor);
}

RCV_WINDOW(rledbat, s, now)
{
	if (!s->window)
		rledbat_set(s, now, rledbat_segments(now, init_window));
	if (now->rtt_us)
		ledbat_take_rtt(&s->delay, now->rtt_us, now->now_us);
	if (now->round_bytes)
		s->round_bytes = now->round_bytes;
	if (!s->delay.base_us)
		return RCV_UNLIMITED;
	rledbat_move(s, now);
	return max(s->window >> RLEDBAT_SHIFT, 1ULL);
}
