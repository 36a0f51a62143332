/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The core that version 2 of BBR and its successor share: the callbacks. bbrv2.bpf.c has the model and the
 * diagram. After it and the state, begin here with bbr2_cong_control(), which takes in one ACK.
 * bpf/README.md, "The way through BBRv2", says more about the order:
 *
 *   bbr2_version    defaults of each version            bbr2_cycle       entering a phase
 *   bbr2_params     tunables and constants              bbr2_ecn         marks  -> bounds
 *   bbr2_state      the state, the sample               bbr2_bounds      losses -> bounds
 *   bbr2.bpf.h      the way of an ACK                   bbr2_phases      when a phase ends
 *   bbr2_ring       what was in flight at sending       bbr2_rules_vN    what the versions decide differently
 *   bbr2_path       BDP and targets                     bbr2_control     pacing rate and cwnd
 *                                                       bbr2_paper       v2 as a paper describes it
 *                                                       bbr2_no_variant  hooks of a variant; bbr2_friendly,
 *                                                       bbr2_compete: F-BBRv2, F-BBRv3
 *                                                       bbr2_fallback    no memory: reno
 *
 * A file that wants a difference defines BBR2_HAS_VARIANT and the hooks of bbr2_no_variant.bpf.h, includes
 * this, and registers the table. The version is chosen before anything is included (bbr2_version.bpf.h).
 */
#ifndef CCACTL_BBR2_BPF_H
#define CCACTL_BBR2_BPF_H

#ifndef BBR2_HAS_VARIANT
#include "bbr2_no_variant.bpf.h"
#endif

#include "cc_handover.bpf.h"
#include "bbr2_ring.bpf.h"
#include "bbr2_phases.bpf.h"
#include "bbr2_control.bpf.h"
#include "bbr2_fallback.bpf.h"

/* Taking in an ACK --------------------------------------- */

#define BBR2_FLAG_ECE 0x40 /* net/ipv4/tcp_input.c; in cong_control's flag from 6.10 on */

static __always_inline void bbr2_look(const struct sock *sk, const struct bbr2 *b, struct bbr2_now *now)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 clock_ns = tp->tcp_clock_cache;
	u64 departure_ns = max(tp->tcp_wstamp_ns, clock_ns);

	now->us = tp->tcp_mstamp;
	now->departure_us = (departure_ns - clock_ns) / NSEC_PER_USEC;
	now->delivered = tp->delivered;
	now->delivered_ce = tp->delivered_ce;
	now->lost = tp->lost;
	now->in_flight = tcp_packets_in_flight(tp);
	now->cwnd = tp->snd_cwnd;
	now->ssthresh = tp->snd_ssthresh;
	now->cwnd_clamp = tp->snd_cwnd_clamp;
	now->tso_goal = bbr2_tso_goal(sk, b->min_rtt_us);
	now->ca_state = cc_ca_state(sk);
	now->cwnd_limited = cc_bitfield(tp, is_cwnd_limited);
	now->app_limited = tp->app_limited != 0;
	now->pad = 0;
}

static __always_inline void bbr2_take_sample(struct bbr2 *b, const struct bbr2_now *now, const struct rate_sample *rs,
					     int flag, struct bbr2_sample *s)
{
	s32 delivered = rs->delivered;
	s32 delivered_ce = rs->delivered_ce;
	s64 interval_us = rs->interval_us;
	s64 rtt_us = rs->rtt_us;
	s32 losses = rs->losses;
	struct bbr2_burst *burst = NULL;
	u64 bw = 0;

	s->valid = delivered >= 0 && interval_us > 0;
	if (s->valid)
		bw = DIV_ROUND_UP((u64)delivered << BW_SCALE, (u64)interval_us);
	s->bw = min(bw, (u64)BBR2_UNBOUNDED - 1);
	s->delivered = s->valid ? delivered : 0;
	s->delivered_ce = max(delivered_ce, 0);
	s->acked = rs->acked_sacked;
	s->losses = max(losses, 0);
	s->prior_delivered = rs->prior_delivered;
	s->prior_in_flight = rs->prior_in_flight;
	s->rtt_us = rtt_us >= 0 && rtt_us < BBR_NO_RTT ? rtt_us : BBR_NO_RTT;
	s->app_limited = rs->is_app_limited;
	s->ack_delayed = rs->is_ack_delayed;
	s->ece = flag & BBR2_FLAG_ECE;

	/* prior_mstamp is 0 when the ACK acknowledged nothing new: then there is no packet to look up. */
	if (rs->prior_mstamp)
		burst = bbr2_ring_find(b, s->prior_delivered);
	s->ring_hit = burst != NULL;
	s->tx_in_flight = burst ? burst->in_flight : b->inflight_latest;
	s->lost = burst ? now->lost - burst->lost : 0;
	if (burst && burst->limited)
		s->app_limited = 1;
}

static __always_inline void bbr2_update_round(struct bbr2 *b, struct bbr2_now *now, const struct bbr2_sample *s)
{
	b->round_start = s->valid && !before(s->prior_delivered, b->next_round_delivered);
	if (b->round_start) {
		bbr2_start_round(b, now);
		if (b->rounds_since_probe < BBR2_ROUNDS_CAP)
			b->rounds_since_probe++;
		bbr2_update_ecn_alpha(b, now);
	}
	bbr2_note_ecn(b, now, s);
}

/* A loss round is over: the next one starts with this sample. */
static __always_inline void bbr2_restart_latest(struct bbr2 *b, const struct bbr2_sample *s)
{
	b->bw_latest = s->bw;
	b->inflight_latest = s->delivered;
}

/* Bandwidth and inflight of this round trip; at the end of it, the short-term bounds. */
static __always_inline void bbr2_update_signals(struct bbr2 *b, const struct bbr2_now *now, const struct bbr2_sample *s)
{
	b->loss_round_start = 0;
	if (!s->valid || !s->acked)
		return;
	if (!s->app_limited || s->bw >= bbr2_max_bw(b))
		b->bw_max[1] = max(b->bw_max[1], s->bw);
	if (s->losses)
		b->loss_in_round = 1;
	b->bw_latest = max(b->bw_latest, s->bw);
	b->inflight_latest = max(b->inflight_latest, s->delivered);
	if ((b->tlp_pending && !BBR2_TLP_ACK_ENDS_ROUND) || before(s->prior_delivered, b->loss_round_delivered))
		return;
	b->loss_round_delivered = now->delivered;
	b->loss_round_start = 1;
	bbr2_adapt_lower_bounds(b, now);
	b->loss_in_round = 0;
	b->ecn_in_round = 0;
	if (!BBR2_LATEST_KEPT_TO_END_OF_ACK)
		bbr2_restart_latest(b, s);
}

/* The two halves of the model. Global functions return int and must look for NULL themselves. */
CC_GLOBAL int bbr2_update_estimates(struct bbr2 *b, struct bbr2_now *now, struct bbr2_sample *s)
{
	if (!b || !now || !s)
		return 0;
	bbr2_note_ack_losses(b, now, s);
	bbr2_update_round(b, now, s);
	bbr2_update_signals(b, now, s);
	bbr2_check_startup_loss(b, now, s);
	bbr2_check_full_bw(b, s);
	return 0;
}

CC_GLOBAL int bbr2_update_phase(struct bbr2 *b, struct bbr2_now *now, struct bbr2_sample *s)
{
	if (!b || !now || !s)
		return 0;
	bbr2_check_drain(b, now);
	bbr2_update_cycle(b, now, s);
	bbr2_update_min_rtt(b, now, s);
	bbr2_variant_update(b, now, s);
	bbr2_update_gains(b);
	return 0;
}

/* ACK aggregation: until the pipe is full the window is one round, because the rate still doubles. */
static __always_inline void bbr2_update_aggregation(struct bbr2 *b, const struct tcp_sock *tp,
						    const struct rate_sample *rs)
{
	u32 rounds = b->full_pipe ? BBR_EXTRA_ACKED_WIN_ROUNDS : 1;

	bbr_aggregation_update(&b->aggregation, tp, rs, bbr2_bw(b), b->round_start, rounds);
}

static __always_inline void bbr2_publish(struct sock *sk, const struct bbr2 *b, const struct bbr2_sample *s)
{
	struct cca_trace *trace = cc_trace(sk);
	u32 mss = tcp_sk(sk)->mss_cache;

	if (!trace)
		return;
	trace->mode = b->phase;
	trace->bw_bps = bbr_bw_to_bps(bbr2_bw(b), mss);
	trace->bw_hi_bps = bbr_bw_to_bps(bbr2_max_bw(b), mss);
	trace->bw_lo_bps = b->bw_lo == BBR2_UNBOUNDED ? CCA_UNBOUNDED_U64 : bbr_bw_to_bps(b->bw_lo, mss);
	trace->min_rtt_us = b->min_rtt_us == BBR_NO_RTT ? 0 : b->min_rtt_us;
	trace->inflight_lo_pkts = b->inflight_lo;
	trace->inflight_hi_pkts = b->inflight_hi;
	trace->pacing_gain_milli = b->pacing_gain;
	trace->cwnd_gain_milli = b->cwnd_gain;
	trace->v0 = bbr2_variant_v0(b, s);
	trace->v1 = b->bounds | bbr2_variant_bounds(b);
	cc_trace_done(trace);
}

CC_CONG_CONTROL(bbr2_cong_control, sk, ack, flag, rs)
{
	struct bbr2 *b = bbr2_get(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	struct bbr2_now now;
	struct bbr2_sample s;

	if (!b) {
		bbr2_fallback_cong_control(sk, ack, rs);
		return;
	}
	bbr2_ring_close(b, rs->prior_in_flight);
	bbr2_look(sk, b, &now);
	bbr2_take_sample(b, &now, rs, flag, &s);

	bbr2_update_estimates(b, &now, &s);
	bbr2_update_aggregation(b, tp, rs);
	bbr2_update_phase(b, &now, &s);

	bbr2_set_pacing_rate(sk, b, b->pacing_gain);
	bbr2_set_cwnd(b, &now, s.acked);
	tp->snd_cwnd = now.cwnd;
	tp->snd_ssthresh = now.ssthresh;
	bbr2_variant_control(sk, b, &now, &s);

	if (BBR2_LATEST_KEPT_TO_END_OF_ACK && b->loss_round_start && !b->tlp_pending)
		bbr2_restart_latest(b, &s);
	if (s.lost)
		b->loss_in_cycle = 1;
	b->prev_ca_state = now.ca_state;
	b->tlp_pending = 0;
	bbr2_ring_open(b, &now);
	bbr2_publish(sk, b, &s);
}

/* Other events ------------------------------------------- */

static __always_inline void bbr2_reset(struct bbr2 *b, const struct bbr2_now *now, u32 min_rtt_us)
{
	/* All but the ring: new storage is zeroed, and release() returns it. */
	__builtin_memset(b, 0, __builtin_offsetof(struct bbr2, ring));
	b->min_rtt_us = min_rtt_us;
	b->probe_rtt_min_us = min_rtt_us;
	b->min_rtt_stamp_us = now->us;
	b->probe_rtt_min_stamp_us = now->us;
	bbr_aggregation_init(&b->aggregation, now->us);
	b->next_round_delivered = now->delivered;
	b->loss_round_delivered = now->delivered + 1;
	b->round_delivered = now->delivered;
	b->round_delivered_ce = now->delivered_ce;
	b->seen_delivered_ce = now->delivered_ce;
	b->seen_lost = now->lost;
	b->inflight_hi = BBR2_UNBOUNDED;
	bbr2_reset_lower_bounds(b);
	b->probe_up_count = BBR2_UNBOUNDED;
	b->init_cwnd = min(now->cwnd, (u32)BBR2_MAX_INIT_CWND);
	b->ecn_alpha = BBR2_UNIT;
	bbr2_variant_init(b, now);
	bbr2_update_gains(b);
	bbr2_ring_open(b, now);
}

CC_OP(void, bbr2_init, struct sock *sk)
{
	struct bbr2_priv *priv = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	struct bbr2 *b = cc_storage_create(bbr2_storage, sk);
	u32 min_rtt_us = tp->rtt_min.s[0].v;
	struct bbr2_now now;

	cc_take_over_paced(sk);
	if (!b) {
		priv->presence = BBR2_NO_MEMORY;
		return;
	}
	priv->presence = BBR2_RUNNING;
	bbr2_look(sk, b, &now);
	bbr2_reset(b, &now, min_rtt_us ? min_rtt_us : BBR_NO_RTT);
	b->prior_cwnd = tp->prior_cwnd;
	tp->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	bbr2_init_pacing_rate(sk, b);
	cc_need_pacing(sk);
}

CC_OP(void, bbr2_release, struct sock *sk)
{
	struct bbr2_priv *priv = inet_csk_ca(sk);
	const struct bbr2 *b = bbr2_get(sk);

	if (b)
		cc_hand_over_model(sk, bbr2_bdp(b, bbr2_bw(b), BBR2_UNIT), b->full_pipe);
	priv->presence = BBR2_BEFORE_INIT;
	cc_storage_delete(bbr2_storage, sk);
}

/* Called once per episode of loss; a timeout changes cwnd right after it. BBR keeps ssthresh and remembers for undo. */
CC_OP(u32, bbr2_ssthresh, struct sock *sk)
{
	struct bbr2 *b = bbr2_get(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (!b)
		return bbr2_fell_back(sk) ? tcp_reno_ssthresh(sk) : tp->snd_ssthresh;
	bbr2_save_cwnd(b, tp->snd_cwnd);
	bbr2_variant_cut(b, tp);
	b->undo_bw_lo = b->bw_lo;
	b->undo_inflight_lo = b->inflight_lo;
	b->undo_inflight_hi = b->inflight_hi;
	return tp->snd_ssthresh;
}

/* The losses were none: take back what followed from them. */
CC_OP(u32, bbr2_undo_cwnd, struct sock *sk)
{
	struct bbr2 *b = bbr2_get(sk);

	if (!b)
		return bbr2_fell_back(sk) ? tcp_reno_undo_cwnd(sk) : tcp_sk(sk)->snd_cwnd;
	bbr2_full_bw_after_undo(b);
	b->loss_in_round = 0;
	b->bw_lo = max(b->bw_lo, b->undo_bw_lo);
	b->inflight_lo = max(b->inflight_lo, b->undo_inflight_lo);
	b->inflight_hi = max(b->inflight_hi, b->undo_inflight_hi);
	bbr2_variant_undo(b);
	return max(b->prior_cwnd, 1U);
}

static __always_inline void bbr2_enter_loss(struct sock *sk, struct bbr2 *b)
{
	struct bbr2_now now;

	bbr2_look(sk, b, &now);
	bbr2_note_timeout_losses(b, &now);
	b->prev_ca_state = TCP_CA_Loss;
	bbr2_full_bw_after_timeout(b);
	/* The end of the round lowers it from here; cwnd itself says nothing after a timeout. */
	if (!bbr2_is_probing(b) && b->inflight_lo == BBR2_UNBOUNDED)
		b->inflight_lo = max(now.cwnd, b->prior_cwnd);
}

CC_OP(void, bbr2_set_state, struct sock *sk, u8 new_state)
{
	struct bbr2 *b = bbr2_get(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (!b)
		return;
	if (new_state == TCP_CA_Loss)
		bbr2_enter_loss(sk, b);
	else if (b->prev_ca_state == TCP_CA_Loss)
		tp->snd_cwnd = max(tp->snd_cwnd, b->prior_cwnd);
	else if (new_state == TCP_CA_CWR && tlp_is_loss && !ecn_enable)
		/* Without ECN the kernel enters CWR within an ACK only when a tail-loss probe has repaired a loss. */
		b->tlp_pending = 1;
}

CC_OP(void, bbr2_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct bbr2 *b = bbr2_get(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	struct bbr2_now now;

	if (!b || event != CA_EVENT_TX_START || !tp->app_limited)
		return;
	b->idle_restart = 1;
	bbr_aggregation_restart_epoch(&b->aggregation, tp->tcp_mstamp);
	if (bbr2_in_probe_bw(b)) {
		/* The pipe is empty: the estimated rate fills it, more would only queue. */
		bbr2_set_pacing_rate(sk, b, BBR2_UNIT);
	} else if (b->phase == BBR2_PROBE_RTT) {
		bbr2_look(sk, b, &now);
		bbr2_check_probe_rtt_done(b, &now);
		tp->snd_cwnd = now.cwnd;
	}
}

/* A factor: the send buffer must hold the window, what is retransmitted, and what the application adds meanwhile. */
CC_OP(u32, bbr2_sndbuf_expand, struct sock *sk)
{
	return BBR2_SNDBUF_EXPAND;
}

#endif /* CCACTL_BBR2_BPF_H */
