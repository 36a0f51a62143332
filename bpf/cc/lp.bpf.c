// SPDX-License-Identifier: GPL-2.0
/*
 * TCP-LP: Kuzmanovic, Knightly, "TCP-LP: A Distributed Algorithm for Low Priority Data Transfer", INFOCOM
 * 2003; net/ipv4/tcp_lp.c.
 *
 * In a nutshell: the flow takes the bandwidth that others leave. It yields to a queue long before a loss.
 *
 *   owd                 one-way delay of the data, smoothed by 1/8: what the receiver's clock said when it sent
 *                       the ACK (timestamp value), less what ours had said when the data left (timestamp echo)
 *   early congestion    smoothed owd > owd_min + 15 % (owd_max - owd_min)
 *   reaction            cwnd / 2
 *                       cwnd = 1      within three RTTs of the last reaction (inference)
 *   growth              Reno's, but none during inference
 *   loss                Reno's
 *
 *                               early congestion: cwnd / 2
 *   SLOW_START or AVOIDANCE --------------------------------> INFERENCE ---+
 *            (by ssthresh)  <--------------------------------     ^        | early congestion: cwnd = 1
 *                               three RTTs without a reaction     +--------+
 *
 * owd_reading = 0, the default, is native lp step by step, with 1000 timestamps per second as all kernels
 * since 4.13 send. There
 *   - the remote clock's rate is estimated from every pair of ACKs, and an estimate above 1000 counts as 0;
 *   - the clocks' offset is part of the delay. Offsets are drawn at random per connection (tcp_timestamps =
 *     1). In seven of eight connections the smoothed value, kept times 8 in 32 bits, then overflows: it stays
 *     below owd_min, and the flow is plain Reno;
 *   - a reaction sets owd_min = owd and owd_max = 2 owd, offset included.
 *
 * owd_reading = 1 is the paper's delay. Both clocks tick in ms, the offset is taken away with the first
 * sample, owd_min and owd_max hold for the connection. The threshold is at least 1 ms, which is all that the
 * clocks resolve. Own readings there: ACKs for packets sent before a reaction give no second indication; the
 * least window is 2. The ACK of a lone packet is delayed by up to 40 ms, which would count as delay and keep
 * the window at 1 for good.
 *
 * Without timestamps both are plain Reno. Cwnd is cut in pkts_acked, as in the native module: in recovery as
 * well.
 */
#include "cc.bpf.h"
#include "cc_handover.bpf.h"

CC_ALGORITHM("lp", "delay",
	     "Takes the bandwidth that others leave: halves and pauses as soon as the one-way delay rises.",
	     "Kuzmanovic, Knightly 2003; net/ipv4/tcp_lp.c");
CC_COLOR("#AABBCC");
CC_TRACE_V0("owd_ms", "smoothed one-way delay with an unknown constant in it, 0 = no timestamps");
CC_TRACE_V1("limit_ms", "one-way delay at which early congestion begins");

#define LP_TS_HZ               1000U      /* timestamps and our units of delay: ms */
#define LP_OWD_SHIFT           3          /* smoothed owd in 1/8 ms */
#define LP_HZ_SHIFT            6          /* weight of a new estimate of the remote clock: 1/64 */
#define LP_OWD_ORIGIN          (1U << 20) /* ms, the first sample with owd_reading 1: later ones may be smaller */
#define LP_MIN_RISE_MS         1U         /* with owd_reading 1: resolution of the clocks */
#define LP_MAX_RISE_MS         (1U << 20)
#define LP_LEAST_ACKED_AT_ONCE 2U /* packets, with owd_reading 1 */
#define LP_NO_OWD              0xffffffffU

CC_TUNABLE(u32, threshold_pct, 15, 0, 100, "%",
	   "early congestion: so much of the range of the one-way delay above its minimum", "net/ipv4/tcp_lp.c");
CC_TUNABLE(u32, inference_rtts, 3, 0, 1000, "RTTs", "time without growth after a reaction", "net/ipv4/tcp_lp.c");
CC_TUNABLE(u32, owd_reading, 0, 0, 1, "",
	   "one-way delay: 0 = as the native module, with the clocks' offset, 1 = as the paper, without",
	   "Kuzmanovic, Knightly 2003");

CC_MODES(lp_mode, LP_SLOW_START, LP_AVOIDANCE, LP_INFERENCE);

struct lp {
	u32 sowd; /* smoothed, 1/8 ms; 0 = no sample */
	u32 owd_min_ms;
	u32 owd_max_ms;     /* with owd_reading 0 the second largest after the largest */
	u32 owd_largest_ms; /* owd_reading 0 only */
	u32 remote_hz;
	u32 remote_ref;  /* timestamp value of the last sample, 0 = none */
	u32 local_ref;   /* its timestamp echo */
	u32 last_cut;    /* our clock at the last reaction, 0 = none */
	u32 inference;   /* its length in units of that clock */
	u32 owd_base_ms; /* owd_reading 1: subtracted */
	u8 inferring;
	u8 ready; /* init has run: the zeros before would be early congestion */
	u8 has_base;
	u8 pad;
};
CC_PRIV_FITS(struct lp);

/* The delay at which congestion begins. Wraps with owd_reading 0, as natively. */
static __always_inline u32 lp_limit_ms(const struct lp *lp)
{
	u32 rise_ms = threshold_pct * (lp->owd_max_ms - lp->owd_min_ms) / 100;

	if (owd_reading)
		rise_ms = max(rise_ms, LP_MIN_RISE_MS);
	return lp->owd_min_ms + rise_ms;
}

static __always_inline void lp_publish(struct sock *sk)
{
	struct cca_trace *trace = cc_trace(sk);
	const struct lp *lp = inet_csk_ca(sk);

	if (!trace)
		return;
	if (lp->inferring)
		trace->mode = LP_INFERENCE;
	else
		trace->mode = tcp_in_slow_start(tcp_sk(sk)) ? LP_SLOW_START : LP_AVOIDANCE;
	trace->v0 = lp->sowd >> LP_OWD_SHIFT;
	trace->v1 = lp->sowd ? lp_limit_ms(lp) : 0;
	cc_trace_done(trace);
}

/* Our clock in the unit of the timestamps that we send: ms, or us where the route says so (6.7+). */
static __always_inline u32 lp_now(const struct tcp_sock *tp)
{
	if (bpf_core_field_exists(tp->tcp_usec_ts) && cc_bitfield(tp, tcp_usec_ts))
		return (u32)tp->tcp_mstamp;
	return (u32)(tp->tcp_mstamp / (USEC_PER_SEC / LP_TS_HZ));
}

/*
 * The remote clock's rate: 63/64 of the old value and 1/64 of the ratio of the progress of the two clocks since the
 * last sample, fractions lost each time. 0 = not known yet.
 */
static __always_inline u32 lp_estimate_remote_hz(const struct lp *lp, u32 tsval, u32 tsecr)
{
	u64 estimate = lp->remote_hz << LP_HZ_SHIFT;

	if (lp->remote_ref && lp->local_ref && tsval != lp->remote_ref && tsecr != lp->local_ref) {
		u32 ratio = LP_TS_HZ * (tsval - lp->remote_ref) / (tsecr - lp->local_ref);

		if (estimate)
			estimate += ratio - (estimate >> LP_HZ_SHIFT);
		else
			estimate = (u64)ratio << LP_HZ_SHIFT;
	}
	return estimate >> LP_HZ_SHIFT;
}

/* The delay as the native module has it: modulo 2^32, with the clocks' offset. 0 = none. */
static __always_inline u32 lp_native_owd(struct lp *lp, u32 tsval, u32 tsecr)
{
	lp->remote_hz = lp_estimate_remote_hz(lp, tsval, tsecr);
	lp->remote_ref = tsval;
	lp->local_ref = tsecr;
	if (!lp->remote_hz)
		return 0;
	return tsval * (LP_TS_HZ / lp->remote_hz) - tsecr;
}

/* The delay relative to the first one. 0 = so far from it that a clock must have been set. */
static __always_inline u32 lp_relative_owd(struct lp *lp, u32 tsval, u32 tsecr)
{
	u32 owd_ms;

	if (!lp->has_base) {
		lp->owd_base_ms = tsval - tsecr - LP_OWD_ORIGIN;
		lp->has_base = 1;
	}
	owd_ms = tsval - tsecr - lp->owd_base_ms;
	return owd_ms < LP_OWD_ORIGIN + LP_MAX_RISE_MS ? owd_ms : 0;
}

/* The largest delay ever is taken for an outlier: the one before it counts. */
static __always_inline void lp_note_max(struct lp *lp, u32 owd_ms)
{
	if (owd_ms <= lp->owd_max_ms)
		return;
	if (owd_reading || owd_ms <= lp->owd_largest_ms) {
		lp->owd_max_ms = owd_ms;
		return;
	}
	lp->owd_max_ms = lp->owd_largest_ms ? lp->owd_largest_ms : owd_ms;
	lp->owd_largest_ms = owd_ms;
}

static __always_inline void lp_sample(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct lp *lp = inet_csk_ca(sk);
	u32 tsval = tp->rx_opt.rcv_tsval;
	u32 tsecr = tp->rx_opt.rcv_tsecr;
	u32 owd_ms = owd_reading ? lp_relative_owd(lp, tsval, tsecr) : lp_native_owd(lp, tsval, tsecr);

	if (!owd_ms)
		return;
	lp->owd_min_ms = min(lp->owd_min_ms, owd_ms);
	lp_note_max(lp, owd_ms);
	if (lp->sowd)
		lp->sowd += owd_ms - (lp->sowd >> LP_OWD_SHIFT);
	else
		lp->sowd = owd_ms << LP_OWD_SHIFT;
}

static __always_inline int lp_congested(const struct lp *lp)
{
	u32 owd_ms = lp->sowd >> LP_OWD_SHIFT;

	if (!owd_reading)
		return owd_ms >= lp_limit_ms(lp);
	return lp->sowd && owd_ms > lp_limit_ms(lp);
}

static __always_inline void lp_yield(struct tcp_sock *tp, struct lp *lp, u32 now)
{
	u32 halved = tp->snd_cwnd >> 1;
	u32 least = owd_reading ? LP_LEAST_ACKED_AT_ONCE : 1;

	if (!owd_reading) {
		lp->owd_min_ms = lp->sowd >> LP_OWD_SHIFT;
		lp->owd_max_ms = lp->sowd >> (LP_OWD_SHIFT - 1);
		lp->owd_largest_ms = lp->owd_max_ms;
	}
	tp->snd_cwnd = lp->inferring ? least : max(halved, least);
	lp->last_cut = now;
}

CC_OP(void, lp_init, struct sock *sk)
{
	struct lp *lp = inet_csk_ca(sk);

	cc_take_over(sk);
	*lp = (struct lp){0};
	lp->owd_min_ms = LP_NO_OWD;
	lp->ready = 1;
}

CC_OP(void, lp_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct lp *lp = inet_csk_ca(sk);
	u32 now = lp_now(tp);
	u32 rtt;

	if (!lp->ready || !cc_bitfield(tp, rx_opt.saw_tstamp))
		return;
	if (sample->rtt_us > 0)
		lp_sample(sk);

	rtt = now - tp->rx_opt.rcv_tsecr;
	if ((s32)rtt > 0)
		lp->inference = inference_rtts * rtt;
	lp->inferring = lp->last_cut && now - lp->last_cut < lp->inference;
	if (owd_reading && lp->inferring && before(tp->rx_opt.rcv_tsecr, lp->last_cut + 1))
		return;
	if (lp_congested(lp))
		lp_yield(tp, lp, now);
}

CC_OP(void, lp_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	const struct lp *lp = inet_csk_ca(sk);

	if (!lp->inferring)
		tcp_reno_cong_avoid(sk, ack, acked);
	lp_publish(sk);
}

CC_OP(u32, lp_ssthresh, struct sock *sk)
{
	return tcp_reno_ssthresh(sk);
}

CC_OP(u32, lp_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

CC_OPS(bpf_lp) = {
    .init = (void *)lp_init,
    .ssthresh = (void *)lp_ssthresh,
    .cong_avoid = (void *)lp_cong_avoid,
    .pkts_acked = (void *)lp_pkts_acked,
    .undo_cwnd = (void *)lp_undo_cwnd,
    .name = "bpf_lp",
};
