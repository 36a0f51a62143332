// SPDX-License-Identifier: GPL-2.0
/*
 * BBR version 1: Cardwell, Cheng, Gunn, Yeganeh, Jacobson, "BBR: Congestion-Based Congestion Control", ACM
 * Queue 14(5), 2016.
 *
 * In a nutshell: the flow measures the path's bandwidth and its RTT without a queue, and sends what follows:
 *
 *   bw        = max delivery rate of the last 10 rounds
 *   min_rtt   = min RTT of the last 10 s
 *   pacing    = pacing_gain * bw * 0.99
 *   cwnd      = cwnd_gain * bw * min_rtt + room for bursts and ACK aggregation
 *
 *   init
 *    |
 *    v        no growth by 1/4           a BDP
 *  STARTUP --- in three rounds --> DRAIN -- in flight --> PROBE_BW
 *   ^  |                             |                     ^  |
 *   |  +-- min_rtt 10 s old --+------+---------------------|--+
 *   |                         v                            |
 *   +-- pipe not full --- PROBE_RTT --- pipe has been -----+
 *       yet                             full
 *
 *   STARTUP    gains 2.89 (2 / ln 2: doubles per round) until bw has not grown by a quarter in three rounds
 *   DRAIN      gain 1 / 2.89 until what is in flight fits bw * min_rtt
 *   PROBE_BW   eight phases of about a min_rtt each, gains 5/4, 3/4, 1, 1, 1, 1, 1, 1; any but the second
 *              comes first
 *   PROBE_RTT  when min_rtt is 10 s old: 4 packets in flight for 200 ms and a round
 *
 * Loss does not lower the model. When recovery begins, cwnd follows what is delivered for a round (packet
 * conservation); it is restored at the end. Two lossy intervals with about the same rate are taken for a
 * policer: its rate replaces bw for 48 rounds.
 *
 * As native bbr, step by step. What differs:
 *   - Callbacks before init do nothing. The native module computes on zeroes, which init then throws away.
 *   - Before 6.4 the kernel refuses to let BPF write tp->app_limited. There a private counter discounts the
 *     samples of PROBE_RTT and of the round after it.
 *   - A connection that leaves BBR is handed over (cc_handover.bpf.h). The native module has no release.
 *   - There is no min_tso_segs. The floor of a burst is net.ipv4.tcp_min_tso_segs, 2 packets; native bbr has
 *     1 below 1.2 Mbit/s and 2 above. The kernel calls the op for every transmission, and the result alone
 *     decides how large the burst may become. One kernel that was measured leaves the program out whenever
 *     process 1 happens to be the current one. It then takes whatever is on the stack for the result, and two
 *     full buffers, up to 90 packets, left at once.
 *
 * Read in this order: bbr_common.bpf.h (units, from a rate to packets, ACK aggregation), bbr1_state.bpf.h
 * (tunables, struct bbr), this file from bbr_cong_control() upwards, bbr_policer.bpf.h.
 */
#include "cc.bpf.h"
#include "bbr1_state.bpf.h"
#include "cc_handover.bpf.h"

CC_ALGORITHM(
    "bbr", "model",
    "Paces at the measured bottleneck bandwidth and keeps up to two bandwidth-delay products in flight (version 1).",
    "Cardwell et al., ACM Queue 14(5), 2016; net/ipv4/tcp_bbr.c");
CC_COLOR("#D55E00");
CC_PRESET("p0", "extra_acked_gain=0", "BBR of Linux 4.14, which has no allowance for ACK aggregation",
	  "net/ipv4/tcp_bbr.c of Linux 4.14");
CC_TRACE_V0("phase", "phase of the PROBE_BW cycle, 0 = up, 1 = down, 2 to 7 = steady");
CC_TRACE_V1("policed_bps", "rate of the policer that replaces the bandwidth, 0 = none");

static __always_inline void bbr_publish(struct sock *sk)
{
	struct cca_trace *trace = cc_trace(sk);
	const struct bbr *bbr = inet_csk_ca(sk);
	u32 mss = tcp_sk(sk)->mss_cache;

	if (!trace)
		return;
	trace->mode = bbr->mode;
	trace->bw_bps = bbr_bw_to_bps(bbr_bw(bbr), mss);
	trace->min_rtt_us = bbr->min_rtt_us == BBR_NO_RTT ? 0 : bbr->min_rtt_us;
	trace->pacing_gain_milli = bbr_gain_milli(bbr->pacing_gain);
	trace->cwnd_gain_milli = bbr_gain_milli(bbr->cwnd_gain);
	trace->v0 = bbr->phase;
	trace->v1 = bbr->policer.in_use ? bbr_bw_to_bps(bbr->policer.bw, mss) : 0;
	cc_trace_done(trace);
}

/* ---- pacing ---- */

static __always_inline void bbr_pace_from_rtt(struct sock *sk)
{
	struct bbr *bbr = inet_csk_ca(sk);

	if (tcp_sk(sk)->srtt_us)
		bbr->has_seen_rtt = 1;
	sk->sk_pacing_rate = bbr_pacing_rate(sk, bbr_initial_bw(tcp_sk(sk)), bbr_startup_gain(), pacing_margin);
}

/* The rate does not fall before the pipe has been full once: early samples are small because the window is. */
static __always_inline void bbr_pace(struct sock *sk, u32 bw, u32 gain)
{
	struct bbr *bbr = inet_csk_ca(sk);
	u64 rate = bbr_pacing_rate(sk, bw, gain, pacing_margin);

	if (!bbr->has_seen_rtt && tcp_sk(sk)->srtt_us)
		bbr_pace_from_rtt(sk);
	if (bbr->full_bw_reached || rate > sk->sk_pacing_rate)
		sk->sk_pacing_rate = rate;
}

/* ---- flight ---- */

/* Room for the bursts; the probing phase gets two more so that it exceeds even a small BDP. */
static __always_inline u32 bbr_budget_pkts(const struct sock *sk, u32 pkts)
{
	const struct bbr *bbr = inet_csk_ca(sk);

	pkts = bbr_quantize_pkts(sk, pkts);
	if (bbr->mode == BBR_PROBE_BW && bbr->phase == BBR_PHASE_UP)
		pkts += 2;
	return pkts;
}

static __always_inline u32 bbr_target_pkts(const struct sock *sk, u32 bw, u32 gain)
{
	const struct bbr *bbr = inet_csk_ca(sk);

	return bbr_budget_pkts(sk, bbr_bdp_pkts(bw, bbr->min_rtt_us, gain));
}

/* While the flight is to rise, the burst that is about to leave counts as well. */
static __always_inline u32 bbr_in_net_pkts(const struct sock *sk, u32 inflight_pkts)
{
	const struct bbr *bbr = inet_csk_ca(sk);
	u32 to_send_pkts = bbr->pacing_gain > BBR_UNIT ? bbr_burst_pkts(sk) : 0;

	return bbr_in_net_at_departure_pkts(tcp_sk(sk), inflight_pkts, to_send_pkts, bbr_bw(bbr));
}

/* ---- modes ---- */

static __always_inline void bbr_next_phase(struct sock *sk)
{
	struct bbr *bbr = inet_csk_ca(sk);

	bbr->phase = (bbr->phase + 1) % BBR_CYCLE_LEN;
	bbr->phase_us = tcp_sk(sk)->delivered_mstamp;
}

static __always_inline void bbr_enter_probe_bw(struct sock *sk)
{
	struct bbr *bbr = inet_csk_ca(sk);

	bbr->mode = BBR_PROBE_BW;
	bbr->phase = BBR_CYCLE_LEN - 1 - cc_random() % BBR_CYCLE_RAND;
	bbr_next_phase(sk);
}

static __always_inline void bbr_leave_probe_rtt(struct sock *sk)
{
	struct bbr *bbr = inet_csk_ca(sk);

	if (bbr->full_bw_reached)
		bbr_enter_probe_bw(sk);
	else
		bbr->mode = BBR_STARTUP;
}

/* A window cut by recovery or PROBE_RTT is not worth to be remembered. */
static __always_inline void bbr_save_cwnd(struct sock *sk)
{
	struct bbr *bbr = inet_csk_ca(sk);
	u32 cwnd = tcp_sk(sk)->snd_cwnd;

	if (bbr->prev_ca_state < TCP_CA_Recovery && bbr->mode != BBR_PROBE_RTT)
		bbr->prior_cwnd = cwnd;
	else
		bbr->prior_cwnd = max(bbr->prior_cwnd, cwnd);
}

static __always_inline int bbr_phase_is_over(const struct sock *sk, const struct rate_sample *rs)
{
	const struct bbr *bbr = inet_csk_ca(sk);
	int min_rtt_passed = bbr_elapsed_us(tcp_sk(sk)->delivered_mstamp, bbr->phase_us) > bbr->min_rtt_us;
	u32 in_net_pkts, bw;

	if (bbr->pacing_gain == BBR_UNIT)
		return min_rtt_passed;

	in_net_pkts = bbr_in_net_pkts(sk, rs->prior_in_flight);
	bw = cc_window_get(&bbr->bw);
	/* Up: until the flight has really reached gain * BDP, unless the buffer has no room for it. */
	if (bbr->pacing_gain > BBR_UNIT)
		return min_rtt_passed && (rs->losses || in_net_pkts >= bbr_target_pkts(sk, bw, bbr->pacing_gain));
	/* Down: no longer than the queue lasts. */
	return min_rtt_passed || in_net_pkts <= bbr_target_pkts(sk, bw, BBR_UNIT);
}

/* ---- policer ---- */

static __always_inline void bbr_update_policer(struct sock *sk, int losses, int is_app_limited)
{
	struct bbr *bbr = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);

	if (!policer_detection)
		return;
	if (bbr->policer.in_use) {
		if (bbr->mode == BBR_PROBE_BW && bbr_policer_expire(&bbr->policer, tp, bbr->round_start))
			bbr_enter_probe_bw(sk);
	} else if (bbr_policer_sample(&bbr->policer, tp, bbr->round_start, losses, is_app_limited)) {
		bbr->pacing_gain = BBR_UNIT;
	}
}

/* ---- model ---- */

static __always_inline int bbr_is_app_limited(const struct bbr *bbr, const struct rate_sample *rs)
{
	return rs->is_app_limited || bbr->stale_rounds;
}

static __always_inline void bbr_update_round(struct sock *sk, const struct rate_sample *rs)
{
	struct bbr *bbr = inet_csk_ca(sk);

	if (before(rs->prior_delivered, bbr->next_round_delivered))
		return;
	bbr->next_round_delivered = tcp_sk(sk)->delivered;
	bbr->rounds++;
	bbr->round_start = 1;
	bbr->packet_conservation = 0;
	if (bbr->stale_rounds && bbr->mode != BBR_PROBE_RTT)
		bbr->stale_rounds--;
}

static __always_inline void bbr_update_bw(struct sock *sk, const struct rate_sample *rs)
{
	struct bbr *bbr = inet_csk_ca(sk);
	int is_app_limited;
	u64 bw;

	bbr->round_start = 0;
	if (rs->delivered < 0 || rs->interval_us <= 0)
		return;
	bbr_update_round(sk, rs);
	is_app_limited = bbr_is_app_limited(bbr, rs);
	bbr_update_policer(sk, rs->losses, is_app_limited);

	bw = rs->delivered * BW_UNIT / (u64)rs->interval_us;
	/* A sample that the application held down says something only when it is large all the same. */
	if (!is_app_limited || bw >= cc_window_get(&bbr->bw))
		cc_window_max(&bbr->bw, bw_window_rounds, bbr->rounds, bw);
}

static __always_inline void bbr_check_full_pipe(struct sock *sk, const struct rate_sample *rs)
{
	struct bbr *bbr = inet_csk_ca(sk);
	u32 bw = cc_window_get(&bbr->bw);

	if (bbr->full_bw_reached || !bbr->round_start || bbr_is_app_limited(bbr, rs))
		return;
	if (bw >= (u64)bbr->full_bw * bbr_gain(full_bw_gain) >> BBR_SCALE) {
		bbr->full_bw = bw;
		bbr->full_bw_count = 0;
		return;
	}
	bbr->full_bw_count++;
	bbr->full_bw_reached = bbr->full_bw_count >= full_bw_rounds;
}

static __always_inline void bbr_check_drain(struct sock *sk)
{
	struct bbr *bbr = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 bw = cc_window_get(&bbr->bw);

	if (bbr->mode == BBR_STARTUP && bbr->full_bw_reached) {
		bbr->mode = BBR_DRAIN;
		tp->snd_ssthresh = bbr_target_pkts(sk, bw, BBR_UNIT);
	}
	if (bbr->mode == BBR_DRAIN &&
	    bbr_in_net_pkts(sk, tcp_packets_in_flight(tp)) <= bbr_target_pkts(sk, bw, BBR_UNIT))
		bbr_enter_probe_bw(sk);
}

static __always_inline void bbr_check_probe_rtt_done(struct sock *sk)
{
	struct bbr *bbr = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 now = cc_jiffies();

	if (!bbr->probe_rtt_done_stamp || !after(now, bbr->probe_rtt_done_stamp))
		return;
	bbr->min_rtt_stamp = now;
	tp->snd_cwnd = max(tp->snd_cwnd, bbr->prior_cwnd);
	bbr_leave_probe_rtt(sk);
}

static __always_inline void bbr_run_probe_rtt(struct sock *sk)
{
	struct bbr *bbr = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 inflight_pkts = tcp_packets_in_flight(tp);
	u32 mark = tp->delivered + inflight_pkts;

	/* The small window must not lower the bandwidth estimate. */
	if (!cc_set_app_limited(tp, mark ? mark : 1))
		bbr->stale_rounds = BBR_STALE_ROUNDS;

	if (!bbr->probe_rtt_done_stamp) {
		if (inflight_pkts > min_cwnd_pkts)
			return;
		bbr->probe_rtt_done_stamp = cc_jiffies() + DIV_ROUND_UP(probe_rtt_ms * HZ, 1000);
		bbr->probe_rtt_round_done = 0;
		bbr->next_round_delivered = tp->delivered;
		return;
	}
	if (bbr->round_start)
		bbr->probe_rtt_round_done = 1;
	if (bbr->probe_rtt_round_done)
		bbr_check_probe_rtt_done(sk);
}

static __always_inline void bbr_update_min_rtt(struct sock *sk, const struct rate_sample *rs)
{
	struct bbr *bbr = inet_csk_ca(sk);
	int expired = after(cc_jiffies(), bbr->min_rtt_stamp + min_rtt_window_s * HZ);

	if (rs->rtt_us >= 0 && (rs->rtt_us < bbr->min_rtt_us || (expired && !rs->is_ack_delayed))) {
		bbr->min_rtt_us = rs->rtt_us;
		bbr->min_rtt_stamp = cc_jiffies();
	}
	if (probe_rtt_ms && expired && !bbr->idle_restart && bbr->mode != BBR_PROBE_RTT) {
		bbr->mode = BBR_PROBE_RTT;
		bbr_save_cwnd(sk);
		bbr->probe_rtt_done_stamp = 0;
	}
	if (bbr->mode == BBR_PROBE_RTT)
		bbr_run_probe_rtt(sk);
	/* The restart is over once data has been acknowledged. */
	if (rs->delivered > 0)
		bbr->idle_restart = 0;
}

static __always_inline void bbr_update_gains(struct bbr *bbr)
{
	switch (bbr->mode) {
	case BBR_STARTUP:
		bbr->pacing_gain = bbr_startup_gain();
		bbr->cwnd_gain = bbr_startup_gain();
		break;
	case BBR_DRAIN:
		bbr->pacing_gain = bbr_drain_gain();
		bbr->cwnd_gain = bbr_startup_gain();
		break;
	case BBR_PROBE_BW:
		bbr->pacing_gain = BBR_UNIT;
		if (!bbr->policer.in_use && bbr->phase == BBR_PHASE_UP)
			bbr->pacing_gain = bbr_gain(probe_up_gain);
		else if (!bbr->policer.in_use && bbr->phase == BBR_PHASE_DOWN)
			bbr->pacing_gain = bbr_gain(probe_down_gain);
		bbr->cwnd_gain = bbr_gain(cwnd_gain);
		break;
	case BBR_PROBE_RTT:
		bbr->pacing_gain = BBR_UNIT;
		bbr->cwnd_gain = BBR_UNIT;
		break;
	}
}

/* ---- window ---- */

/* The window that recovery leaves: *conserve says that it is final for this ACK. */
static __always_inline u32 bbr_recovery_cwnd(struct sock *sk, const struct rate_sample *rs, int *conserve)
{
	struct bbr *bbr = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 in_flight_and_acked = tcp_packets_in_flight(tp) + rs->acked_sacked;
	u32 cwnd = tp->snd_cwnd;
	u8 state = cc_ca_state(sk);
	u8 prev_state = bbr->prev_ca_state;

	/* What was lost is not to be sent at once: at most two packets leave per delivered one. */
	if (rs->losses > 0)
		cwnd = (s32)(cwnd - rs->losses) > 1 ? cwnd - rs->losses : 1;

	if (state == TCP_CA_Recovery && prev_state != TCP_CA_Recovery) {
		bbr->packet_conservation = 1;
		bbr->next_round_delivered = tp->delivered;
		cwnd = in_flight_and_acked;
	} else if (prev_state >= TCP_CA_Recovery && state < TCP_CA_Recovery) {
		cwnd = max(cwnd, bbr->prior_cwnd);
		bbr->packet_conservation = 0;
	}
	bbr->prev_ca_state = state;

	*conserve = bbr->packet_conservation;
	return *conserve ? max(cwnd, in_flight_and_acked) : cwnd;
}

static __always_inline u32 bbr_cwnd_for_ack(struct sock *sk, const struct rate_sample *rs, u32 bw)
{
	struct bbr *bbr = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd, target_pkts;
	int conserve;

	if (!rs->acked_sacked)
		return tp->snd_cwnd;
	cwnd = bbr_recovery_cwnd(sk, rs, &conserve);
	if (conserve)
		return cwnd;

	target_pkts = bbr_bdp_pkts(bw, bbr->min_rtt_us, bbr->cwnd_gain);
	if (bbr->full_bw_reached)
		target_pkts += bbr_aggregation_pkts(&bbr->agg, bw, bbr_gain(extra_acked_gain));
	target_pkts = bbr_budget_pkts(sk, target_pkts);
	if (bbr->full_bw_reached)
		cwnd = min(cwnd + rs->acked_sacked, target_pkts);
	else if (cwnd < target_pkts || tp->delivered < BBR_INIT_CWND_PKTS)
		cwnd += rs->acked_sacked;
	return max(cwnd, min_cwnd_pkts);
}

static __always_inline void bbr_set_cwnd(struct sock *sk, const struct rate_sample *rs, u32 bw)
{
	struct bbr *bbr = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd = bbr_cwnd_for_ack(sk, rs, bw);

	cwnd = min(cwnd, tp->snd_cwnd_clamp);
	if (bbr->mode == BBR_PROBE_RTT)
		cwnd = min(cwnd, min_cwnd_pkts);
	tp->snd_cwnd = max(cwnd, 1U);
}

/* ---- callbacks ---- */

CC_OP(void, bbr_init, struct sock *sk)
{
	struct bbr *bbr = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	cc_take_over_paced(sk);
	*bbr = (struct bbr){
	    .min_rtt_us = tp->rtt_min.s[0].v,
	    .min_rtt_stamp = cc_jiffies(),
	    .next_round_delivered = tp->delivered,
	    .mode = BBR_STARTUP,
	    .prev_ca_state = TCP_CA_Open,
	    .initialized = 1,
	};
	tp->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	bbr_pace_from_rtt(sk);
	bbr_policer_reset(&bbr->policer, tp);
	bbr_aggregation_init(&bbr->agg, tp->tcp_mstamp);
	cc_need_pacing(sk);
}

CC_OP(void, bbr_release, struct sock *sk)
{
	const struct bbr *bbr = inet_csk_ca(sk);

	if (bbr->initialized)
		cc_hand_over_model(sk, bbr_bdp_pkts(bbr_bw(bbr), bbr->min_rtt_us, BBR_UNIT), bbr->full_bw_reached);
}

CC_CONG_CONTROL(bbr_cong_control, sk, ack, flag, rs)
{
	struct bbr *bbr = inet_csk_ca(sk);
	u32 bw;

	if (!bbr->initialized)
		return;
	bbr_update_bw(sk, rs);
	if (extra_acked_gain)
		bbr_aggregation_update(&bbr->agg, tcp_sk(sk), rs, bbr_bw(bbr), bbr->round_start,
				       BBR_EXTRA_ACKED_WIN_ROUNDS);
	if (bbr->mode == BBR_PROBE_BW && bbr_phase_is_over(sk, rs))
		bbr_next_phase(sk);
	bbr_check_full_pipe(sk, rs);
	bbr_check_drain(sk);
	bbr_update_min_rtt(sk, rs);
	bbr_update_gains(bbr);

	bw = bbr_bw(bbr);
	bbr_pace(sk, bw, bbr->pacing_gain);
	bbr_set_cwnd(sk, rs, bw);
	bbr_publish(sk);
}

/* Loss changes no threshold here; the call marks the last window before the kernel or recovery touches it. */
CC_OP(u32, bbr_ssthresh, struct sock *sk)
{
	struct bbr *bbr = inet_csk_ca(sk);

	if (bbr->initialized)
		bbr_save_cwnd(sk);
	return tcp_sk(sk)->snd_ssthresh;
}

/* The losses were none: forget what they may have made of the full-pipe and policer tests. */
CC_OP(u32, bbr_undo_cwnd, struct sock *sk)
{
	struct bbr *bbr = inet_csk_ca(sk);

	if (bbr->initialized) {
		bbr->full_bw = 0;
		bbr->full_bw_count = 0;
		bbr_policer_reset(&bbr->policer, tcp_sk(sk));
	}
	return tcp_sk(sk)->snd_cwnd;
}

CC_OP(void, bbr_set_state, struct sock *sk, u8 new_state)
{
	struct bbr *bbr = inet_csk_ca(sk);

	if (!bbr->initialized || new_state != TCP_CA_Loss)
		return;
	bbr->prev_ca_state = TCP_CA_Loss;
	bbr->full_bw = 0;
	bbr->round_start = 1;
	bbr_update_policer(sk, 1, 0);
}

/* Back from idle, the queue is empty: pace at bw rather than at the gain of whatever phase it was. */
CC_OP(void, bbr_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct bbr *bbr = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);

	if (!bbr->initialized || event != CA_EVENT_TX_START || !tp->app_limited)
		return;
	bbr->idle_restart = 1;
	bbr_aggregation_restart_epoch(&bbr->agg, tp->tcp_mstamp);
	if (bbr->mode == BBR_PROBE_BW)
		bbr_pace(sk, bbr_bw(bbr), BBR_UNIT);
	else if (bbr->mode == BBR_PROBE_RTT)
		bbr_check_probe_rtt_done(sk);
}

/* Recovery can need twice cwnd beyond what is in flight. */
CC_OP(u32, bbr_sndbuf_expand, struct sock *sk)
{
	return 3;
}

CC_OPS(bpf_bbr) = {
    .init = (void *)bbr_init,
    .release = (void *)bbr_release,
    .cong_control = (void *)bbr_cong_control,
    .ssthresh = (void *)bbr_ssthresh,
    .undo_cwnd = (void *)bbr_undo_cwnd,
    .set_state = (void *)bbr_set_state,
    .cwnd_event = (void *)bbr_cwnd_event,
    .sndbuf_expand = (void *)bbr_sndbuf_expand,
    .name = "bpf_bbr",
};
