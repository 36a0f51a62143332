/* SPDX-License-Identifier: GPL-2.0 */
/* BBRv2: when one phase ends and the next begins. */
#ifndef CCACTL_BBR2_PHASES_BPF_H
#define CCACTL_BBR2_PHASES_BPF_H

#include "bbr2_bounds.bpf.h"
#include "bbr2_ecn.bpf.h"
#include "fixed.bpf.h"

/* Startup ------------------------------------------------ */

/* Losses in many ACKs of one round, and too many in total: the pipe is full, whatever the rate says. */
static __always_inline void bbr2_check_startup_loss(struct bbr2 *b, struct bbr2_now *now, const struct bbr2_sample *s)
{
	if (b->full_pipe)
		return;
	if (bbr2_startup_ends_at_once() && bbr2_inflight_too_high(b, s)) {
		b->full_pipe = 1;
		b->inflight_hi = max(s->tx_in_flight, min_cwnd);
		return;
	}
	if (s->losses && b->loss_events_in_round < BBR2_LOSS_EVENTS_CAP)
		b->loss_events_in_round++;
	if (!b->loss_round_start)
		return;
	if (full_loss_count && now->ca_state == TCP_CA_Recovery && b->loss_events_in_round >= full_loss_count &&
	    bbr2_inflight_too_high(b, s))
		bbr2_startup_too_high(b, now);
	else
		b->loss_events_in_round = 0;
}

static __always_inline void bbr2_check_drain(struct bbr2 *b, struct bbr2_now *now)
{
	int entered = b->phase == BBR2_STARTUP && b->full_pipe;
	u32 bdp;

	if (entered) {
		b->phase = BBR2_DRAIN;
		now->ssthresh = bbr2_inflight(b, now, bbr2_max_bw(b), BBR2_UNIT);
		bbr2_bound_by_startup(b, now->ssthresh);
		bbr2_reset_congestion_signals(b);
	}
	if (b->phase != BBR2_DRAIN)
		return;
	bdp = bbr2_inflight(b, now, bbr2_max_bw(b), BBR2_UNIT);
	if (bbr2_in_net_at_departure(b, now, now->in_flight) <= bdp || bbr2_drain_has_lasted(b, entered))
		bbr2_start_down(b, now);
}

/* Probing for bandwidth ---------------------------------- */

/* The marks of this cycle did not come with losses: what caused them may be gone. */
static __always_inline int bbr2_time_to_reprobe(const struct bbr2 *b, const struct bbr2_now *now)
{
	return ecn_reprobe_gain && b->ecn_eligible && b->ecn_in_cycle && !b->loss_in_cycle &&
	       now->ca_state == TCP_CA_Open;
}

/* The clock says so; or so many rounds are over that a reno flow would have grown by what we share with it. */
static __always_inline int bbr2_time_to_probe(const struct bbr2 *b, const struct bbr2_now *now)
{
	u32 rounds;

	if (bbr2_elapsed(now, b->cycle_stamp_us, b->probe_wait_us))
		return 1;
	rounds = min(bbr2_target_inflight(b, now, now->cwnd), probe_max_rounds);
	return b->rounds_since_probe >= rounds;
}

/* True: the next probe has begun. */
static __always_inline int bbr2_check_next_probe(struct bbr2 *b, const struct bbr2_now *now)
{
	if (bbr2_time_to_reprobe(b, now)) {
		u32 bits = cc_fls64(bbr2_scale(b->inflight_hi, ecn_reprobe_gain));

		/* The first round of UP grows by 2^shift packets. */
		bbr2_start_refill(b, now, bits ? bits - 1 : 0);
		return 1;
	}
	if (bbr2_time_to_probe(b, now)) {
		bbr2_start_refill(b, now, 0);
		return 1;
	}
	return 0;
}

/* The queue of the probe is gone, and headroom is left; or so many rounds of DOWN are over. */
static __always_inline int bbr2_time_to_cruise(struct bbr2 *b, const struct bbr2_now *now, u32 inflight)
{
	/* The round whose end began DOWN is not one of them. */
	if (b->round_start && now->us > b->cycle_stamp_us && b->rounds_in_down < BBR2_ROUNDS_CAP)
		b->rounds_in_down++;
	if (bbr2_down_rounds())
		return b->rounds_in_down >= bbr2_down_rounds();
	return inflight <= bbr2_inflight_with_headroom(b) &&
	       inflight <= bbr2_inflight(b, now, bbr2_max_bw(b), BBR2_UNIT);
}

static __always_inline void bbr2_check_up_done(struct bbr2 *b, const struct bbr2_now *now, const struct bbr2_sample *s,
					       u32 inflight)
{
	if (b->probe_too_high && inflight >= b->inflight_hi) {
		/* The probe before this one ended in loss at about this flight. */
		b->stopped_risky_probe = 1;
	} else if (bbr2_up_is_done(b, now, s, inflight)) {
		bbr2_bound_by_clean_up(b, inflight);
	} else {
		return;
	}
	b->probe_too_high = 0;
	bbr2_start_down(b, now);
}

static __always_inline void bbr2_update_cycle(struct bbr2 *b, struct bbr2_now *now, const struct bbr2_sample *s)
{
	u32 inflight;

	if (!b->full_pipe || bbr2_adapt_upper_bounds(b, now, s) || !bbr2_in_probe_bw(b))
		return;
	inflight = bbr2_in_net_at_departure(b, now, s->prior_in_flight);

	switch (b->phase) {
	case BBR2_PROBE_BW_DOWN:
		if (!bbr2_check_next_probe(b, now) && bbr2_time_to_cruise(b, now, inflight))
			bbr2_start_cruise(b);
		break;
	case BBR2_PROBE_BW_CRUISE:
		bbr2_check_next_probe(b, now);
		break;
	case BBR2_PROBE_BW_REFILL:
		if (b->round_start) {
			/* From now on the ACKs show what a full pipe does. */
			b->probe_samples = 1;
			bbr2_start_up(b, now, s->bw);
		}
		break;
	case BBR2_PROBE_BW_UP:
		bbr2_check_up_done(b, now, s, inflight);
		break;
	}
}

/* Probing for the propagation delay ---------------------- */

static __always_inline void bbr2_check_probe_rtt_done(struct bbr2 *b, struct bbr2_now *now)
{
	if (!b->probe_rtt_done_us || now->us <= b->probe_rtt_done_us)
		return;
	b->probe_rtt_min_stamp_us = now->us; /* the next one is due after another interval */
	now->cwnd = max(now->cwnd, b->prior_cwnd);
	bbr2_reset_lower_bounds(b);
	if (!b->full_pipe) {
		b->phase = BBR2_STARTUP;
		return;
	}
	/* A probe right after the dip could overflow a queue that others have filled: wait for a new random while. */
	bbr2_start_down(b, now);
	bbr2_start_cruise(b);
}

static __always_inline void bbr2_save_cwnd(struct bbr2 *b, u32 cwnd)
{
	if (b->prev_ca_state < TCP_CA_Recovery && b->phase != BBR2_PROBE_RTT)
		b->prior_cwnd = cwnd;
	else
		b->prior_cwnd = max(b->prior_cwnd, cwnd);
}

static __always_inline void bbr2_run_probe_rtt(struct bbr2 *b, struct bbr2_now *now)
{
	u32 inflight = now->in_flight;

	b->rate_limited = 1;
	b->limited_until = now->delivered + inflight;
	if (!b->probe_rtt_done_us) {
		if (inflight > bbr2_probe_rtt_cwnd(b))
			return;
		b->probe_rtt_done_us = now->us + probe_rtt_duration_ms * USEC_PER_MSEC;
		b->probe_rtt_round_done = 0;
		bbr2_start_round(b, now);
		return;
	}
	if (b->round_start)
		b->probe_rtt_round_done = 1;
	if (b->probe_rtt_round_done)
		bbr2_check_probe_rtt_done(b, now);
}

/*
 * Two windows: min_rtt, which forms the BDP, holds for 10 s; probe_rtt_min is renewed every 5 s by PROBE_RTT, so that
 * min_rtt always has a fresh value to fall back to.
 */
static __always_inline void bbr2_update_min_rtt(struct bbr2 *b, struct bbr2_now *now, const struct bbr2_sample *s)
{
	u64 interval_us = (u64)bbr2_variant_probe_rtt_intervals(b) * probe_rtt_interval_ms * USEC_PER_MSEC;
	int due = bbr2_elapsed(now, b->probe_rtt_min_stamp_us, interval_us);

	if (s->rtt_us != BBR_NO_RTT &&
	    (bbr2_renews_min_rtt(s->rtt_us, b->probe_rtt_min_us) || (due && !s->ack_delayed))) {
		b->probe_rtt_min_us = s->rtt_us;
		b->probe_rtt_min_stamp_us = now->us;
	}
	if (b->probe_rtt_min_us <= b->min_rtt_us ||
	    bbr2_elapsed(now, b->min_rtt_stamp_us, min_rtt_window_ms * USEC_PER_MSEC)) {
		b->min_rtt_us = b->probe_rtt_min_us;
		b->min_rtt_stamp_us = b->probe_rtt_min_stamp_us;
	}
	if (due && !b->idle_restart && b->phase != BBR2_PROBE_RTT) {
		bbr2_save_cwnd(b, now->cwnd);
		b->phase = BBR2_PROBE_RTT;
		b->probe_rtt_done_us = 0;
		b->ack_phase = BBR2_ACKS_PROBE_STOPPING;
		bbr2_start_round(b, now);
	}
	if (b->phase == BBR2_PROBE_RTT)
		bbr2_run_probe_rtt(b, now);
	else if (b->rate_limited && after(now->delivered, b->limited_until))
		b->rate_limited = 0;
	/* The idle time is over once data sent after it is acknowledged. */
	if (s->valid && s->delivered)
		b->idle_restart = 0;
}

#endif /* CCACTL_BBR2_PHASES_BPF_H */
