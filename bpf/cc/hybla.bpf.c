// SPDX-License-Identifier: GPL-2.0
/*
 * Hybla: Caini, Firrincieli, "TCP Hybla: a TCP Enhancement for Heterogeneous Networks", Int. J. Satellite
 * Communications and Networking 22(5), 2004.
 *
 * In a nutshell: a flow with a long RTT is to send per second what a Reno flow with RTT0 = 25 ms would. With
 * rho = max(RTT / RTT0, 1):
 *
 *   slow start   cwnd += 2^rho - 1          per ACK
 *   avoidance    cwnd += rho^2 / cwnd       per ACK
 *   loss         ssthresh = max(cwnd / 2, 2)
 *
 *                cwnd >= ssthresh
 *   SLOW_START -------------------> AVOIDANCE
 *              <-------------------
 *                idle time: cwnd below ssthresh
 *
 *                               state no longer open
 *   SLOW_START or AVOIDANCE --------------------------> RENO
 *            (by ssthresh)  <--------------------------
 *                               state open again
 *
 * As native hybla, step by step:
 *   - rho in eighths from srtt, computed anew only when srtt falls below its minimum;
 *   - the window starts at rho packets, so at a single one on a path below 50 ms;
 *   - growth per call, whatever the ACK covers (delayed ACKs halve it);
 *   - Reno's growth while the state is not Open;
 *   - 2^rho by table for the eighths, with rho cut to 16;
 *   - a packet per window when the increase rounds to nothing.
 *
 * What differs:
 *   - A connection that is underway keeps its window when it changes to Hybla. The module would set it to rho
 *     packets.
 *   - The module sets snd_cwnd_clamp to 65535 packets, which BPF may not write. The window is cut to that
 *     after each call instead.
 *
 * The paper's pacing and initial bandwidth estimate are not part of it. Without pacing (fq, or another qdisc)
 * a large rho sends large bursts.
 */
#include "cc.bpf.h"
#include "cc_handover.bpf.h"

CC_ALGORITHM("hybla", "loss", "Reno made as fast on a long path, such as a satellite's, as it is on one of 25 ms.",
	     "Caini, Firrincieli 2004; net/ipv4/tcp_hybla.c");
CC_COLOR("#AA4499");
CC_TRACE_V0("rho_milli", "rho: smallest smoothed RTT over RTT0, in thousandths");
CC_TRACE_V1("rho2_milli", "rho squared: packets per round trip that the window grows, in thousandths");

#define HYBLA_RHO_SHIFT   3   /* rho in eighths */
#define HYBLA_RHO_ONE     8U  /* rho = 1 */
#define HYBLA_RHO_MAX_EXP 16U /* largest exponent: the window is at its limit long before */
#define HYBLA_STEP_SHIFT  7   /* increments in 1/128 of a packet */
#define HYBLA_STEP        128U

CC_TUNABLE(u32, rtt0_ms, 25, 1, 1000, "ms", "RTT of the Reno flow whose rate is the model",
	   "Caini, Firrincieli 2004; net/ipv4/tcp_hybla.c");
CC_TUNABLE(u32, max_cwnd_pkts, 65535, 2, 2147483647, "packets", "largest window",
	   "Caini, Firrincieli 2004; net/ipv4/tcp_hybla.c");

/* reno: not in the Open state */
CC_MODES(hybla_mode, HYBLA_SLOW_START, HYBLA_AVOIDANCE, HYBLA_RENO);

struct hybla {
	u32 rho;      /* eighths; 0 = not computed */
	u32 min_srtt; /* us << 3, as tp->srtt_us */
	u32 part;     /* of a packet, by which cwnd has grown; 1/128 */
	u32 open;     /* the state is Open */
};
CC_PRIV_FITS(struct hybla);

/* Byte i: 2^(i / 8) in 1/128, that is 128, 139, 152, 165, 181, 197, 215, 234. An array of that size would become a
 * mergeable section of its own, which BTF cannot describe. */
#define HYBLA_POW2 0xead7c5b5a5988b80ULL

static __always_inline void hybla_update_rho(struct sock *sk)
{
	struct hybla *ca = inet_csk_ca(sk);
	u32 rho = tcp_sk(sk)->srtt_us / max(rtt0_ms * (u32)USEC_PER_MSEC, 1U);

	ca->rho = max(rho, HYBLA_RHO_ONE);
}

/* rho^2 in 1/128, of 32 bits as in the module. */
static __always_inline u32 hybla_rho_squared(const struct hybla *ca)
{
	return ca->rho * ca->rho << (HYBLA_STEP_SHIFT - 2 * HYBLA_RHO_SHIFT);
}

static __always_inline u32 hybla_slow_start_step(const struct hybla *ca)
{
	u32 whole = ca->rho >> HYBLA_RHO_SHIFT;
	u32 eighths = ca->rho & (HYBLA_RHO_ONE - 1);
	u32 power = (u8)(HYBLA_POW2 >> (8 * eighths));

	whole = min(whole, HYBLA_RHO_MAX_EXP);
	return (power << whole) - HYBLA_STEP;
}

/* Adds 1/128ths of a packet; what is left of a packet waits in `part`. */
static __always_inline void hybla_add(struct tcp_sock *tp, struct hybla *ca, u32 step)
{
	tp->snd_cwnd += step >> HYBLA_STEP_SHIFT;
	ca->part += step % HYBLA_STEP;
	if (ca->part >= HYBLA_STEP) {
		ca->part -= HYBLA_STEP;
		tp->snd_cwnd++;
		tp->snd_cwnd_cnt = 0;
	}
	/* The step is nothing at windows above 128 rho^2: Reno's packet per window remains. */
	if (!step && tp->snd_cwnd_cnt >= tp->snd_cwnd) {
		tp->snd_cwnd++;
		tp->snd_cwnd_cnt = 0;
	}
}

static __always_inline void hybla_grow(struct tcp_sock *tp, struct hybla *ca)
{
	u32 step;

	if (tcp_in_slow_start(tp)) {
		hybla_add(tp, ca, hybla_slow_start_step(ca));
		tp->snd_cwnd = min(tp->snd_cwnd, tp->snd_ssthresh);
		return;
	}
	step = hybla_rho_squared(ca) / tp->snd_cwnd;
	if (step < HYBLA_STEP)
		tp->snd_cwnd_cnt++;
	hybla_add(tp, ca, step);
}

static __always_inline void hybla_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct hybla *ca = inet_csk_ca(sk);
	u32 limit;

	if (tp->srtt_us < ca->min_srtt) {
		hybla_update_rho(sk);
		ca->min_srtt = tp->srtt_us;
	}
	if (!tcp_is_cwnd_limited(tp))
		return;
	if (!ca->open) {
		tcp_reno_cong_avoid(sk, ack, acked);
	} else {
		if (!ca->rho)
			hybla_update_rho(sk);
		hybla_grow(tp, ca);
	}
	limit = min(max_cwnd_pkts, tp->snd_cwnd_clamp);
	tp->snd_cwnd = clamp(tp->snd_cwnd, 1U, max(limit, 1U));
}

static __always_inline enum hybla_mode hybla_mode(const struct tcp_sock *tp, const struct hybla *ca)
{
	if (!ca->open)
		return HYBLA_RENO;
	return tcp_in_slow_start(tp) ? HYBLA_SLOW_START : HYBLA_AVOIDANCE;
}

static __always_inline void hybla_publish(struct sock *sk)
{
	struct cca_trace *trace = cc_trace(sk);
	const struct hybla *ca = inet_csk_ca(sk);

	if (!trace)
		return;
	trace->mode = hybla_mode(tcp_sk(sk), ca);
	trace->min_rtt_us = ca->min_srtt >> 3;
	trace->v0 = (u64)ca->rho * 1000 >> HYBLA_RHO_SHIFT;
	trace->v1 = (u64)hybla_rho_squared(ca) * 1000 >> HYBLA_STEP_SHIFT;
	cc_trace_done(trace);
}

CC_OP(void, hybla_init, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct hybla *ca = inet_csk_ca(sk);

	cc_take_over(sk);
	*ca = (struct hybla){.min_srtt = tp->srtt_us, .open = 1};
	hybla_update_rho(sk);
	if (!cc_is_underway(tp))
		tp->snd_cwnd = ca->rho >> HYBLA_RHO_SHIFT;
}

CC_OP(u32, hybla_ssthresh, struct sock *sk)
{
	return tcp_reno_ssthresh(sk);
}

CC_OP(void, hybla_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	hybla_avoid(sk, ack, acked);
	hybla_publish(sk);
}

CC_OP(void, hybla_set_state, struct sock *sk, u8 new_state)
{
	struct hybla *ca = inet_csk_ca(sk);

	ca->open = new_state == TCP_CA_Open;
}

CC_OP(u32, hybla_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

CC_OPS(bpf_hybla) = {
    .init = (void *)hybla_init,
    .ssthresh = (void *)hybla_ssthresh,
    .cong_avoid = (void *)hybla_cong_avoid,
    .set_state = (void *)hybla_set_state,
    .undo_cwnd = (void *)hybla_undo_cwnd,
    .name = "bpf_hybla",
};
