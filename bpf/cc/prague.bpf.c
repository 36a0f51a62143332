// SPDX-License-Identifier: GPL-2.0
/*
 * TCP Prague: De Schepper, Tilmans, Briscoe, "Prague Congestion Control",
 * draft-briscoe-iccrg-prague-congestion-control; requirements of RFC 9331. Reference: net/ipv4/tcp_prague.c
 * 0.7 of the L4S tree.
 *
 * In a nutshell: paced DCTCP whose growth does not depend on the RTT, with a window in fractions of a packet.
 *
 *   alpha     alpha += (F - alpha) / 16            per round, from the first mark on; F = share of marks
 *   marks     window -= window * alpha / 2         once per round; the first mark halves
 *   loss      window -= window / 2                 then nothing grows until the loss is repaired
 *   growth    window += unmarked packets / window * min(1, srtt / 25 ms)^2
 *   pacing    rate = window / srtt                 twice that in slow start, below ssthresh / 2
 *
 * The last factor of growth makes a flow grow as if its round trip took 25 ms. It counts from the fourth
 * round after slow start on. At small windows the flow keeps its rate in place of its window (RATE). With a
 * virtual round trip of max(25 ms, srtt):
 *
 *   rate      rate += one packet per virtual round trip
 *   pacing    3 % faster in the first half of each virtual round trip, 3 % slower in the second
 *
 *                window reduced, or            marks seen, 4 rounds over,
 *                ssthresh reached              cwnd <= 4 packets of 1500 bytes
 *   SLOW_START -------------------> WINDOW -----------------------------> RATE
 *                                          <-----------------------------
 *                                              larger cwnd
 *   WINDOW, RATE -- timeout --> SLOW_START up to the reduced window
 *   WINDOW, RATE <-- RTTs as in a queue of L4S, or of a classic one --> CLASSIC: marks cut as in CUBIC
 *   any -- an ACK finds no Accurate ECN --> NO_ECN: to the kernel's reno, or as Reno here if that is refused
 *
 * The window is kept in 2^-20 packets. snd_cwnd follows it by one packet per ACK, in recovery too. Products that
 * need 128 bits in the reference are split at the binary point, with the same result (4 s of RTT, 2 Tbit/s at most).
 *
 * The identifier is ECT(1), and the feedback Accurate ECN (RFC 9768). Linux negotiates both for an algorithm
 * from 7.0 on, but sends what follows the handshake as ECT(0); the loader turns that into ECT(1) on its way out
 * (ect1.bpf.c). Where the peer has no Accurate ECN, the connection has no ECN.
 *
 * classic_ecn=1 is for kernels and paths without: ECT(0), for queues with a step or ramp at a shallow threshold.
 * Marks are then echoed as in DCTCP. A plain RFC 3168 peer repeats each mark for a round: Prague is too slow.
 *
 * Missing, as a mainline kernel has no hook for it: an upper bound of TSO bursts (250 us; they last up to 1 ms,
 * sk_pacing_shift), and segments below the MSS at very small windows.
 *
 * Different on purpose:
 *   - The pacing rate counts the fractional window as whole packets rounded up, not down: see prague_pace().
 *   - A loss sets ssthresh to the reduced window. The reference keeps it infinite at a timeout in slow start.
 *   - Marks are taken from tp->delivered_ce.
 *
 * Read ecn_echo.bpf.h first, the receiver's half, shared with DCTCP; then prague_aqm.bpf.h, which knows the queue.
 */
#include "cc.bpf.h"
#include "cc_handover.bpf.h"
#include "cc_mtu.bpf.h"
#include "ecn_echo.bpf.h"
#include "prague_aqm.bpf.h"

CC_ALGORITHM("prague", "ecn",
	     "DCTCP made fit for unequal round trips: fractional window, growth as if every path took 25 ms, paced.",
	     "draft-briscoe-iccrg-prague-congestion-control; RFC 9331; tcp_prague.c 0.7 of the L4S tree");
CC_COLOR("#4477AA");
CC_TRACE_V0("alpha_ppm", "smoothed share of marked packets, in millionths");
CC_TRACE_V1("window_milli", "fractional window, in thousandths of a packet");

#define PRAGUE_ALPHA_BITS     24 /* alpha = 1.0 is 2^24 */
#define PRAGUE_MAX_ALPHA      (1U << PRAGUE_ALPHA_BITS)
#define PRAGUE_SHIFT_G        4 /* g = 1/16; alpha is stored times 16, so that no remainder is lost */
#define PRAGUE_WINDOW_BITS    20
#define PRAGUE_ONE            (1ULL << PRAGUE_WINDOW_BITS) /* one packet of the fractional window */
#define PRAGUE_MIN_CWND       2U
#define PRAGUE_MIN_RATE       12500ULL       /* bytes/s: 100 kbit/s */
#define PRAGUE_MTU            1500ULL        /* growth is that of packets of this size */
#define PRAGUE_MAX_SCALED_RTT (100000U << 3) /* us << 3: no RTT independence above */
#define PRAGUE_TARGET_RTT     (rtt_target_us << 3)
#define PRAGUE_OFFSET         4ULL /* pacing offset, 1/128: 3 % */
#define PRAGUE_OFFSET_BITS    7
#define PRAGUE_HSRTT_SHIFT    7  /* smoothing of the slow RTT average */
#define PRAGUE_SECOND_BITS    23 /* the reference takes 2^23 for a second of us << 3 where a rate is multiplied */

/* Bounds of operands, so that products stay within 64 bits. */
#define PRAGUE_MAX_RATE  (1ULL << 38) /* bytes/s */
#define PRAGUE_MAX_RTT   (1U << 25)   /* us << 3 */
#define PRAGUE_MAX_PKTS  (1U << 24)
#define PRAGUE_MAX_ACKED (1U << 20)

CC_TUNABLE(u32, rtt_target_us, 25000, 0, 100000, "us", "RTT below which all flows grow alike, 0 = off",
	   "net/ipv4/tcp_prague.c 0.7 (L4S tree)");
CC_TUNABLE(u32, rtt_transition_rounds, 4, 0, 1000000, "rounds",
	   "rounds after slow start before growth becomes independent of the RTT",
	   "net/ipv4/tcp_prague.c 0.7 (L4S tree)");
CC_SWITCH(u32, alpha_from_one, 0, "alpha starts at 1; otherwise at 0, and the first mark halves",
	  "net/ipv4/tcp_prague.c 0.7 (L4S tree)");
CC_TUNABLE(u32, cwnd_mode, 2, 0, 2, "", "0 = keep the window, 1 = keep the rate, 2 = the rate at small windows",
	   "net/ipv4/tcp_prague.c 0.7 (L4S tree)");
CC_TUNABLE(u32, cwnd_transit_pkts, 4, 1, 1000, "packets", "largest small window, in packets of 1500 bytes",
	   "net/ipv4/tcp_prague.c 0.7 (L4S tree)");
CC_TUNABLE(u32, burst_shift, 12, 0, 20, "", "bursts of 2^-burst_shift s at the least, or one packet",
	   "net/ipv4/tcp_prague.c 0.7 (L4S tree)");

CC_SWITCH(u32, classic_ecn, 0, "ECT(0) and classic ECN: for kernels before 7.0, and for queues that are not of L4S",
	  "RFC 9331 section 4.1 forbids it where others share the queue");
CC_SWITCH(u32, classic_fallback, 1, "cut as CUBIC does where a classic queue seems to give the marks",
	  "RFC 9331 section 4.3; arXiv 1911.00710");

CC_MODES(prague_mode, PRAGUE_SLOW_START, PRAGUE_WINDOW, PRAGUE_RATE, PRAGUE_NO_ECN, PRAGUE_CLASSIC);

struct prague {
	u64 cwr_us;        /* last reduction by marks */
	u64 alpha_us;      /* last update of alpha */
	u64 window;        /* 2^-20 packets */
	u64 rate_Bps;      /* bytes/s, headers included */
	u64 loss_rate_Bps; /* before the last loss, for undo */
	u64 hsrtt;         /* slow average of srtt_us << 3, times 2^7 */
	u32 alpha16;       /* alpha times 16 */
	u32 growth;        /* per window and round, 2^-20 packets */
	u32 loss_cwnd;
	u32 seen_ce;         /* tp->delivered_ce at the last ACK */
	u32 round_delivered; /* counters at the start of the round */
	u32 round_ce;
	u32 round_end_seq;
	u32 rounds; /* since the end of slow start */
	struct ecn_echo echo;
	u8 initialized;
	u8 in_round; /* the members above are of this connection */
	u8 saw_ce;   /* something marks on this path */
	u8 keep_rate : 1, in_loss : 1;
};
CC_PRIV_FITS(struct prague);

/* ---- units ---- */

/* us << 3, as srtt_us is; 0 = no sample yet */
static __always_inline u32 prague_srtt(const struct tcp_sock *tp)
{
	return min(tp->srtt_us, PRAGUE_MAX_RTT);
}

static __always_inline u32 prague_virtual_rtt(const struct tcp_sock *tp)
{
	u32 srtt = prague_srtt(tp);
	u32 rtt = max(PRAGUE_TARGET_RTT, srtt);

	return max(rtt, 1U);
}

static __always_inline u64 prague_since_us(const struct tcp_sock *tp, u64 then_us)
{
	u64 now_us = tp->tcp_mstamp;

	return (s64)(now_us - then_us) > 0 ? now_us - then_us : 0;
}

/* Rate of one packet per srtt, bytes/s. */
static __always_inline u64 prague_packet_rate(const struct sock *sk)
{
	u32 srtt = prague_srtt(tcp_sk(sk));
	u64 rate = (u64)(USEC_PER_SEC << 3) * cc_mtu(sk);

	return srtt ? rate / srtt : rate;
}

static __always_inline u64 prague_bounded_rate(u64 rate_Bps)
{
	return clamp(rate_Bps, PRAGUE_MIN_RATE, PRAGUE_MAX_RATE);
}

static __always_inline u64 prague_rate_of_window(const struct sock *sk, u64 window)
{
	u64 rate = prague_packet_rate(sk);
	u64 pkts = min(window >> PRAGUE_WINDOW_BITS, (u64)PRAGUE_MAX_PKTS);

	return prague_bounded_rate(rate * pkts + (rate * (window & (PRAGUE_ONE - 1)) >> PRAGUE_WINDOW_BITS));
}

/* By the slow average of the RTT: a window that follows each queue would move the queue. */
static __always_inline u64 prague_window_of_rate(const struct sock *sk)
{
	const struct prague *ca = inet_csk_ca(sk);
	u64 rtt = ca->hsrtt >> PRAGUE_HSRTT_SHIFT;
	u32 mtu = max(cc_mtu(sk), 1U);

	if (!rtt)
		rtt = tcp_sk(sk)->srtt_us;
	rtt = min(rtt, (u64)PRAGUE_MAX_RTT);
	return DIV_ROUND_UP(ca->rate_Bps * rtt >> (PRAGUE_SECOND_BITS - PRAGUE_WINDOW_BITS), mtu);
}

static __always_inline u32 prague_cwnd_of_window(const struct tcp_sock *tp, u64 window)
{
	u64 cwnd = (window + PRAGUE_ONE - 1) >> PRAGUE_WINDOW_BITS;

	cwnd = min(max(cwnd, (u64)PRAGUE_MIN_CWND), (u64)PRAGUE_MAX_PKTS);
	return max(min((u32)cwnd, tp->snd_cwnd_clamp), 1U);
}

/* ---- state ---- */

/* Whether marks are told in a way that we may rely on. */
static __always_inline int prague_has_feedback(const struct sock *sk)
{
	return classic_ecn ? ecn_negotiated(sk) : ecn_is_accurate(sk);
}

static __always_inline int prague_is_rtt_independent(const struct sock *sk)
{
	const struct prague *ca = inet_csk_ca(sk);

	return prague_has_feedback(sk) && !tcp_in_slow_start(tcp_sk(sk)) && ca->rounds >= rtt_transition_rounds;
}

static __always_inline int prague_keeps_rate(const struct sock *sk)
{
	const struct prague *ca = inet_csk_ca(sk);

	return ca->keep_rate && prague_is_rtt_independent(sk);
}

static __always_inline void prague_publish(struct sock *sk)
{
	struct cca_trace *trace = cc_trace(sk);
	const struct prague *ca = inet_csk_ca(sk);

	if (!trace)
		return;
	if (!prague_has_feedback(sk))
		trace->mode = PRAGUE_NO_ECN;
	else if (tcp_in_slow_start(tcp_sk(sk)))
		trace->mode = PRAGUE_SLOW_START;
	else if (prague_aqm_floor(sk))
		trace->mode = PRAGUE_CLASSIC;
	else
		trace->mode = prague_keeps_rate(sk) ? PRAGUE_RATE : PRAGUE_WINDOW;
	trace->v0 = (u64)ca->alpha16 * 1000000 >> (PRAGUE_ALPHA_BITS + PRAGUE_SHIFT_G);
	trace->v1 = ca->window * 1000 >> PRAGUE_WINDOW_BITS;
	cc_trace_done(trace);
}

/* One packet per round trip, or the share of it with which bytes/s^2 are those of a flow with the target RTT. */
static __always_inline void prague_update_growth(struct sock *sk)
{
	struct prague *ca = inet_csk_ca(sk);
	u64 rtt = prague_srtt(tcp_sk(sk));
	u64 target = PRAGUE_TARGET_RTT;
	u64 square = target * target;

	ca->growth = PRAGUE_ONE;
	if (!prague_has_feedback(sk) || ca->rounds < rtt_transition_rounds || !rtt || rtt > PRAGUE_MAX_SCALED_RTT ||
	    rtt >= target)
		return;
	ca->growth = ((rtt << PRAGUE_WINDOW_BITS) * rtt + square / 2) / square;
}

static __always_inline void prague_start_round(struct sock *sk)
{
	struct prague *ca = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);

	ca->round_end_seq = tp->snd_nxt;
	ca->round_ce = tp->delivered_ce;
	ca->round_delivered = tp->delivered;
	ca->in_round = 1;
	if (!tcp_in_slow_start(tp) && ca->rounds != ~0U)
		ca->rounds++;
	prague_update_growth(sk);
}

/* The first ACK that init was not too early for: window, RTT and sequence numbers are now the connection's. */
static __always_inline void prague_begin(struct sock *sk)
{
	struct prague *ca = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);

	ca->window = (u64)min(tp->snd_cwnd, PRAGUE_MAX_PKTS) << PRAGUE_WINDOW_BITS;
	ca->hsrtt = (u64)max(prague_srtt(tp), 1U << 3) << PRAGUE_HSRTT_SHIFT;
	ca->rate_Bps = prague_rate_of_window(sk, ca->window);
	ca->alpha_us = tp->tcp_mstamp;
	ca->seen_ce = tp->delivered_ce;
	ca->saw_ce = tp->delivered_ce != 0;
	if (!ca->echo.listening)
		ecn_echo_start(&ca->echo, sk);
	prague_start_round(sk);
}

/* ---- alpha ---- */

static __always_inline void prague_end_round(struct sock *sk)
{
	struct prague *ca = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 delivered = tp->delivered - ca->round_delivered;
	u32 marked = tp->delivered_ce - ca->round_ce;

	if (before(tp->snd_una, ca->round_end_seq))
		return;
	/* Flows that share a queue see the same marks; with the same clock they get to the same alpha. */
	if (prague_is_rtt_independent(sk) && prague_since_us(tp, ca->alpha_us) < rtt_target_us)
		return;
	if (ca->saw_ce) {
		u64 share = ((u64)marked << PRAGUE_ALPHA_BITS) / max(delivered, 1U);
		u64 alpha16 = ca->alpha16 - (ca->alpha16 >> PRAGUE_SHIFT_G) + share;

		ca->alpha16 = min(alpha16, (u64)PRAGUE_MAX_ALPHA << PRAGUE_SHIFT_G);
		ca->alpha_us = tp->tcp_mstamp;
		prague_aqm_judge(sk);
	}
	ca->hsrtt += prague_srtt(tp) - (ca->hsrtt >> PRAGUE_HSRTT_SHIFT);
	prague_start_round(sk);
}

/* ---- window ---- */

/* a / b, rounded to the nearest */
static __always_inline u64 prague_nearest(u64 a, u64 b)
{
	return (a + b / 2) / b;
}

static __always_inline void prague_grow_rate(struct sock *sk, u32 acked)
{
	struct prague *ca = inet_csk_ca(sk);
	u64 rtt = prague_virtual_rtt(tcp_sk(sk));
	u64 step_Bps = ((acked * PRAGUE_MTU) << PRAGUE_SECOND_BITS) / rtt;
	u64 packet = (u64)max(cc_mtu(sk), 1U) << PRAGUE_SECOND_BITS;
	u64 pkts = (ca->rate_Bps * rtt + packet - 1) / packet;
	u64 window;

	ca->rate_Bps = prague_bounded_rate(ca->rate_Bps + prague_nearest(step_Bps, max(pkts, 1ULL)));
	window = prague_window_of_rate(sk);
	ca->window = max(ca->window + acked, window);
}

static __always_inline void prague_grow_window(struct sock *sk, u32 acked)
{
	struct prague *ca = inet_csk_ca(sk);
	u64 step = prague_nearest(((u64)acked * ca->growth) << PRAGUE_WINDOW_BITS, max(ca->window, PRAGUE_ONE));

	step = step * PRAGUE_MTU / max(cc_mtu(sk), 1U);
	ca->window += max(step, (u64)acked);
	ca->window = min(ca->window, (u64)PRAGUE_MAX_PKTS << PRAGUE_WINDOW_BITS);
}

/* Returns whether snd_cwnd is final for this ACK: slow start used it up. */
static __always_inline int prague_grow(struct sock *sk, u32 acked)
{
	struct prague *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	/* Not "limited by cwnd": below two packets per round trip pacing is what limits, and the flow would not grow
	 * again. */
	if (!acked || ca->in_loss || tp->app_limited)
		return 0;
	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		ca->window = (u64)min(tp->snd_cwnd, PRAGUE_MAX_PKTS) << PRAGUE_WINDOW_BITS;
		if (!acked) {
			prague_update_growth(sk);
			return 1;
		}
	}
	if (prague_keeps_rate(sk))
		prague_grow_rate(sk, acked);
	else
		prague_grow_window(sk, acked);
	return 0;
}

/* Marked packets of this ACK do not make the window grow; the very first one tells that slow start went too far. */
static __always_inline u32 prague_unmarked(struct sock *sk, u32 acked)
{
	struct prague *ca = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 marked = tp->delivered_ce - ca->seen_ce;

	ca->seen_ce = tp->delivered_ce;
	acked = min(acked, PRAGUE_MAX_ACKED);
	if (!marked)
		return acked;
	if (!ca->saw_ce && !alpha_from_one)
		ca->window = (ca->window + 1) / 2;
	ca->saw_ce = 1;
	return acked > marked ? acked - marked : 0;
}

static __always_inline void prague_follow_window(struct sock *sk)
{
	struct prague *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 target = prague_cwnd_of_window(tp, ca->window);

	if (tp->snd_cwnd == target)
		return;
	if (tp->snd_cwnd > target) {
		tp->snd_cwnd--;
		tp->snd_ssthresh = tp->snd_cwnd;
	} else {
		tp->snd_cwnd++;
	}
	prague_update_growth(sk);
}

static __always_inline void prague_choose_mode(struct sock *sk)
{
	struct prague *ca = inet_csk_ca(sk);
	u64 cwnd_bytes = (u64)tcp_sk(sk)->snd_cwnd * cc_mtu(sk);

	if (cwnd_mode > 1)
		ca->keep_rate = ca->saw_ce && cwnd_bytes <= cwnd_transit_pkts * PRAGUE_MTU;
	else
		ca->keep_rate = cwnd_mode;
	if (!prague_keeps_rate(sk))
		ca->rate_Bps = prague_rate_of_window(sk, ca->window);
	else if (cwnd_mode > 1)
		ca->window = prague_window_of_rate(sk);
}

/* ---- pacing ---- */

static __always_inline void prague_pace(struct sock *sk)
{
	struct prague *ca = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 inflight_pkts = tcp_packets_in_flight(tp);
	u64 rate = ca->rate_Bps;

	if (prague_keeps_rate(sk)) {
		u64 offset = rate * PRAGUE_OFFSET >> PRAGUE_OFFSET_BITS;
		int second_half = prague_virtual_rtt(tp) >> (3 + 1) <= prague_since_us(tp, ca->alpha_us);

		rate = second_half ? rate - offset : rate + offset;
	} else if (!tp->srtt_us) {
		return;
	} else {
		/* Whole packets, rounded up: at less than two per round trip the second one would wait for the ACK of
		 * the first, and the window would never be what limits. */
		u32 pkts = max(prague_cwnd_of_window(tp, ca->window), inflight_pkts);

		rate = prague_bounded_rate(prague_packet_rate(sk) * min(pkts, PRAGUE_MAX_PKTS));
	}
	if (tp->snd_cwnd < tp->snd_ssthresh / 2)
		rate <<= 1;
	sk->sk_pacing_rate = min(rate, (u64)sk->sk_max_pacing_rate);
}

/* ---- reductions ---- */

/* Half of alpha off the window, rounded to the nearest, or off the rate. */
static __always_inline void prague_reduce_by_marks(struct sock *sk)
{
	struct prague *ca = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 alpha = max((u64)ca->alpha16 >> PRAGUE_SHIFT_G, prague_aqm_floor(sk));
	u64 low, reduction;

	if (prague_is_rtt_independent(sk) && prague_since_us(tp, ca->cwr_us) < rtt_target_us)
		return;
	ca->cwr_us = tp->tcp_mstamp;
	if (prague_keeps_rate(sk)) {
		/* 38 bits of rate and 24 of alpha. */
		reduction = ca->rate_Bps * alpha >> (PRAGUE_ALPHA_BITS + 1);
		ca->rate_Bps = prague_bounded_rate(ca->rate_Bps - reduction);
		ca->window = prague_window_of_rate(sk);
		return;
	}
	low = alpha * (ca->window & (PRAGUE_ONE - 1)) + PRAGUE_MAX_ALPHA;
	reduction = alpha * (ca->window >> PRAGUE_WINDOW_BITS) + (low >> PRAGUE_WINDOW_BITS);
	ca->window -= min(reduction >> (PRAGUE_ALPHA_BITS + 1 - PRAGUE_WINDOW_BITS), ca->window);
	ca->rate_Bps = prague_rate_of_window(sk, ca->window);
}

static __always_inline void prague_reduce_by_loss(struct sock *sk)
{
	struct prague *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	ca->loss_cwnd = tp->snd_cwnd;
	ca->loss_rate_Bps = ca->rate_Bps;
	if (prague_keeps_rate(sk)) {
		ca->rate_Bps = prague_bounded_rate(ca->rate_Bps - ca->rate_Bps / 2);
		ca->window = prague_window_of_rate(sk);
	} else {
		ca->window -= ca->window / 2;
		ca->rate_Bps = prague_rate_of_window(sk, ca->window);
	}
	ca->in_loss = 1;
	tp->snd_ssthresh = max(prague_cwnd_of_window(tp, ca->window), PRAGUE_MIN_CWND);
}

/* ---- callbacks ---- */

CC_OP(void, prague_init, struct sock *sk)
{
	struct prague *ca = inet_csk_ca(sk);

	cc_take_over_paced(sk);
	*ca = (struct prague){
	    .alpha16 = alpha_from_one ? PRAGUE_MAX_ALPHA << PRAGUE_SHIFT_G : 0,
	    .rate_Bps = PRAGUE_MIN_RATE,
	    .window = (u64)PRAGUE_MIN_CWND << PRAGUE_WINDOW_BITS,
	    .growth = PRAGUE_ONE,
	    .initialized = 1,
	};
	cc_need_pacing(sk);
	/* Without memory for it a classic queue is not noticed. */
	if (classic_fallback)
		cc_storage_create(prague_aqms, sk);
}

CC_OP(void, prague_release, struct sock *sk)
{
	const struct prague *ca = inet_csk_ca(sk);

	/* ssthresh follows each reduction; after a timeout slow start goes on up to it. */
	if (ca->initialized)
		cc_hand_over_window(sk, 0);
	cc_storage_delete(prague_aqms, sk);
}

CC_CONG_CONTROL(prague_main, sk, ack, flag, rs)
{
	struct prague *ca = inet_csk_ca(sk);

	if (!ca->initialized)
		return;
	if (!ca->in_round)
		prague_begin(sk);
	prague_aqm_sample(sk, rs->rtt_us);
	if (!prague_grow(sk, prague_unmarked(sk, rs->acked_sacked)))
		prague_follow_window(sk);
	prague_end_round(sk);
	prague_pace(sk);
	prague_choose_mode(sk);
	prague_publish(sk);
	ecn_leave_unless(prague_has_feedback(sk), &ca->echo, sk);
}

/* The reductions follow in set_state() and cwnd_event(), where the reason is known. */
CC_OP(u32, prague_ssthresh, struct sock *sk)
{
	u32 ssthresh = tcp_sk(sk)->snd_ssthresh;

	return max(ssthresh, PRAGUE_MIN_CWND);
}

CC_OP(void, prague_set_state, struct sock *sk, u8 new_state)
{
	struct prague *ca = inet_csk_ca(sk);

	if (!ca->in_round || new_state == cc_ca_state(sk))
		return;
	if (new_state == TCP_CA_Recovery)
		prague_reduce_by_loss(sk);
	else if (new_state == TCP_CA_CWR)
		prague_reduce_by_marks(sk);
	else if (new_state == TCP_CA_Open)
		ca->in_loss = 0;
}

CC_OP(void, prague_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct prague *ca = inet_csk_ca(sk);

	if (!ca->initialized)
		return;
	if (event == CA_EVENT_LOSS && ca->in_round)
		prague_reduce_by_loss(sk);
	else if ((event == CA_EVENT_ECN_IS_CE || event == CA_EVENT_ECN_NO_CE) && !ecn_is_accurate(sk))
		ecn_echo_received(&ca->echo, sk, event == CA_EVENT_ECN_IS_CE);
}

CC_OP(u32, prague_undo_cwnd, struct sock *sk)
{
	struct prague *ca = inet_csk_ca(sk);
	u32 cwnd = tcp_sk(sk)->snd_cwnd;

	if (!ca->in_round)
		return tcp_reno_undo_cwnd(sk);
	ca->in_loss = 0;
	ca->rate_Bps = max(ca->rate_Bps, ca->loss_rate_Bps);
	ca->window = prague_window_of_rate(sk);
	return max(ca->loss_cwnd, cwnd);
}

CC_OP(u32, prague_min_tso_segs, struct sock *sk)
{
	u64 pkts = (sk->sk_pacing_rate >> burst_shift) / max(cc_mtu(sk), 1U);

	return clamp(pkts, 1ULL, 127ULL);
}

CC_OPS(bpf_prague) = {
    .init = (void *)prague_init,
    .release = (void *)prague_release,
    .cong_control = (void *)prague_main,
    .ssthresh = (void *)prague_ssthresh,
    .set_state = (void *)prague_set_state,
    .cwnd_event = (void *)prague_cwnd_event,
    .undo_cwnd = (void *)prague_undo_cwnd,
    .min_tso_segs = (void *)prague_min_tso_segs,
    .flags = TCP_CONG_L4S, /* with classic_ecn the loader leaves TCP_CONG_NEEDS_ECN */
    .name = "bpf_prague",
};
