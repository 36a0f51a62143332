/* SPDX-License-Identifier: GPL-2.0 */
/*
 * BBRv2: how losses move the bounds.
 *
 *   long-term   inflight_hi: the largest flight known to be safe, found by probing
 *   short-term  bw_lo, inflight_lo: cut by beta in each lossy round between probes, forgotten at the next probe
 */
#ifndef CCACTL_BBR2_BOUNDS_BPF_H
#define CCACTL_BBR2_BOUNDS_BPF_H

#include "bbr2_cycle.bpf.h"

static __always_inline int bbr2_loss_too_high(u32 lost, u32 tx_in_flight)
{
	return lost && tx_in_flight && (u64)lost * BBR2_UNIT > (u64)tx_in_flight * loss_thresh;
}

/* Did the flight from which this sample comes exceed what the path takes? */
static __always_inline int bbr2_inflight_too_high(const struct bbr2 *b, const struct bbr2_sample *s)
{
	if (bbr2_loss_too_high(s->lost, s->tx_in_flight))
		return 1;
	return b->ecn_eligible && s->delivered_ce && ecn_thresh && bbr2_ecn_exceeds(s->delivered_ce, s->delivered);
}

/*
 * A burst of n packets was lost at the end of a flight. At which packet of the burst did the loss rate of the flight
 * reach the threshold t? With p packets of the burst in the flight: lost_prev + p = t (inflight_prev + p), so
 *
 *   p = (t inflight_prev - lost_prev) / (1 - t),  and the flight was safe up to inflight_prev + p
 */
static __always_inline u32 bbr2_cut_point(u32 tx_in_flight, u32 lost, u32 n)
{
	u32 inflight_prev = tx_in_flight > n ? tx_in_flight - n : 0;
	u32 lost_prev = lost > n ? lost - n : 0;
	u64 budget = (u64)inflight_prev * loss_thresh;
	u64 spent = (u64)lost_prev * BBR2_UNIT;

	if (spent >= budget || loss_thresh >= BBR2_UNIT)
		return inflight_prev;
	return inflight_prev + (budget - spent) / (BBR2_UNIT - loss_thresh);
}

/* A probe has found the limit. cwnd is that of before any cut. */
static __always_inline void bbr2_handle_too_high(struct bbr2 *b, struct bbr2_now *now, u32 safe_inflight,
						 int app_limited, u32 cwnd)
{
	b->probe_too_high = 1;
	b->probe_samples = 0; /* once per probe */
	/* A flow without enough data has not really tried how much fits. */
	if (!app_limited) {
		u32 kept = bbr2_scale(bbr2_target_inflight(b, now, cwnd), BBR2_UNIT - beta);

		b->inflight_hi = max(safe_inflight, kept);
	}
	if (b->phase == BBR2_PROBE_BW_UP)
		bbr2_start_down(b, now);
}

/* From the first loss on, observe a whole round before judging. */
static __always_inline void bbr2_mark_lossy_round(struct bbr2 *b, const struct bbr2_now *now)
{
	if (!b->loss_in_round)
		b->loss_round_delivered = now->delivered;
	b->loss_in_round = 1;
	b->loss_in_cycle = 1;
}

/* n packets were marked lost; the flight they belong to had tx_in_flight packets, of which lost are lost by now. */
static __always_inline void bbr2_note_loss(struct bbr2 *b, struct bbr2_now *now, u32 n, u32 lost, u32 tx_in_flight,
					   int app_limited, u32 cwnd)
{
	bbr2_mark_lossy_round(b, now);
	if (b->probe_samples && bbr2_loss_too_high(lost, tx_in_flight))
		bbr2_handle_too_high(b, now, bbr2_cut_point(tx_in_flight, lost, n), app_limited, cwnd);
}

/* The kernel has repaired a loss with a tail-loss probe, without marking it: the last packet of what had arrived. */
static __always_inline void bbr2_note_tail_loss(struct bbr2 *b, struct bbr2_now *now, const struct bbr2_sample *s)
{
	u32 tx_in_flight = b->inflight_latest + 1;
	u32 lost = bbr2_tlp_lost(s);
	u32 safe = BBR2_TLP_CUTS_AT_THRESHOLD ? bbr2_cut_point(tx_in_flight, lost, 1) : tx_in_flight;

	bbr2_mark_lossy_round(b, now);
	if (b->probe_samples && bbr2_loss_too_high(lost, tx_in_flight))
		bbr2_handle_too_high(b, now, safe, s->app_limited, now->cwnd);
}

/*
 * Losses found by this ACK. Mainline has no hook per lost packet; the packets that SACK or RACK gives up were sent just
 * before the newest acknowledged one, so its burst stands for theirs.
 */
static __always_inline void bbr2_note_ack_losses(struct bbr2 *b, struct bbr2_now *now, const struct bbr2_sample *s)
{
	u32 n = now->lost - b->seen_lost;

	b->seen_lost = now->lost;
	if (b->tlp_pending) {
		bbr2_note_tail_loss(b, now, s);
	} else if (n && s->ring_hit) {
		bbr2_note_loss(b, now, n, s->lost, s->tx_in_flight, s->app_limited, now->cwnd);
	} else if (n) {
		bbr2_note_loss(b, now, n, n, s->prior_in_flight, s->app_limited, now->cwnd);
	}
}

/*
 * Losses found by the retransmission timer: all that was in flight. The kernel has cut cwnd already; ssthresh() has
 * saved it.
 */
static __always_inline void bbr2_note_timeout_losses(struct bbr2 *b, struct bbr2_now *now)
{
	u32 n = now->lost - b->seen_lost;

	b->seen_lost = now->lost;
	if (n)
		bbr2_note_loss(b, now, n, n, now->in_flight + n, now->app_limited, max(now->cwnd, b->prior_cwnd));
	bbr2_ring_skip_losses(b, now);
}

/* End of a round without probing: follow the losses and marks of it. */
static __always_inline void bbr2_adapt_lower_bounds(struct bbr2 *b, const struct bbr2_now *now)
{
	u32 ecn_inflight_lo = BBR2_UNBOUNDED;
	u32 ecn_bw_lo = BBR2_UNBOUNDED;

	if (bbr2_is_probing(b))
		return;
	if (b->ecn_in_round && b->ecn_eligible && ecn_factor) {
		u32 keep = BBR2_UNIT - bbr2_scale(b->ecn_alpha, ecn_factor);

		bbr2_ecn_lower_bounds(b, now->cwnd, keep, &ecn_bw_lo, &ecn_inflight_lo);
	}
	if (b->loss_in_round) {
		if (b->bw_lo == BBR2_UNBOUNDED)
			b->bw_lo = bbr2_max_bw(b);
		if (b->inflight_lo == BBR2_UNBOUNDED)
			b->inflight_lo = now->cwnd;
		/* What got through in the last round is possible. */
		b->bw_lo = max(b->bw_latest, (u32)bbr2_scale(b->bw_lo, BBR2_UNIT - beta));
		b->inflight_lo = max(b->inflight_latest, (u32)bbr2_scale(b->inflight_lo, BBR2_UNIT - beta));
	}
	b->inflight_lo = min(b->inflight_lo, ecn_inflight_lo);
	b->bw_lo = max(min(b->bw_lo, ecn_bw_lo), 1U);
}

/* UP, window used to the full: let inflight_hi grow, faster in each round. */
static __always_inline void bbr2_probe_inflight_hi_upward(struct bbr2 *b, const struct bbr2_now *now,
							  const struct bbr2_sample *s)
{
	u32 growth;

	if (!now->cwnd_limited || now->cwnd < b->inflight_hi) {
		bbr2_up_not_limited(b);
		return;
	}
	b->probe_up_acks += s->acked;
	if (b->probe_up_acks >= b->probe_up_count) {
		growth = b->probe_up_acks / b->probe_up_count;
		b->probe_up_acks -= growth * b->probe_up_count;
		b->inflight_hi =
		    growth < BBR2_UNBOUNDED - 1 - b->inflight_hi ? b->inflight_hi + growth : BBR2_UNBOUNDED - 1;
	}
	if (b->round_start)
		bbr2_raise_slope(b, now);
}

/* Follows a probe's ACKs. True: the phase has been decided. */
static __always_inline int bbr2_adapt_upper_bounds(struct bbr2 *b, struct bbr2_now *now, const struct bbr2_sample *s)
{
	if (b->ack_phase == BBR2_ACKS_PROBE_STARTING && b->round_start)
		b->ack_phase = BBR2_ACKS_PROBE_FEEDBACK;
	if (b->ack_phase == BBR2_ACKS_PROBE_STOPPING && b->round_start) {
		b->probe_samples = 0;
		b->ack_phase = BBR2_ACKS_NONE;
		/* The probe has just refreshed the current cycle's maximum: the time to forget the cycle before it. */
		if (bbr2_in_probe_bw(b) && !s->app_limited && b->bw_max[1]) {
			b->bw_max[0] = b->bw_max[1];
			b->bw_max[1] = 0;
		}
		/* Stopped at inflight_hi for fear of loss, and none came: go on from there. */
		if (bbr2_in_probe_bw(b) && b->stopped_risky_probe && !b->probe_too_high) {
			bbr2_start_refill(b, now, 0);
			return 1;
		}
	}
	if (bbr2_inflight_too_high(b, s)) {
		if (b->probe_samples)
			bbr2_handle_too_high(b, now, s->tx_in_flight, s->app_limited, now->cwnd);
		return 0;
	}
	if (b->inflight_hi == BBR2_UNBOUNDED)
		return 0;
	/* Whatever phase showed that a larger flight is safe: believe it, or random loss would shrink the bound for
	 * good. */
	if (s->ring_hit && s->tx_in_flight > b->inflight_hi)
		b->inflight_hi = s->tx_in_flight;
	if (b->phase == BBR2_PROBE_BW_UP)
		bbr2_probe_inflight_hi_upward(b, now, s);
	return 0;
}

#endif /* CCACTL_BBR2_BOUNDS_BPF_H */
