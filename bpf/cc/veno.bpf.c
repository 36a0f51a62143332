// SPDX-License-Identifier: GPL-2.0
/*
 * Veno: Fu, Liew, "TCP Veno: TCP Enhancement for Transmission over Wireless Access Networks", IEEE JSAC
 * 21(2), 2003.
 *
 * In a nutshell: Reno that takes a loss without a queue for one of the radio link, and gives up less for it.
 *
 *   each ACK     N = cwnd - cwnd * base RTT / RTT         packets queued, in halves of a packet
 *   avoidance    N < beta     cwnd + 1 per round, as Reno      the path is not congested
 *                otherwise    cwnd + 1 every second round
 *   loss         N < beta     ssthresh = 4/5 cwnd              most likely not from congestion
 *                otherwise    ssthresh = 1/2 cwnd
 *
 *                cwnd >= ssthresh                    N >= beta
 *   SLOW_START -------------------> NON_CONGESTIVE -----------> CONGESTIVE
 *              <-------------------                <-----------
 *                idle time                           N < beta
 *
 *                state no longer open
 *   any of them ----------------------> RENO, which is also what precedes the third RTT sample
 *               <----------------------
 *                state open again
 *
 * SLOW_START leads to CONGESTIVE when N >= beta by then, and CONGESTIVE to SLOW_START after an idle time.
 *
 * As native veno, step by step, with two of its properties that the paper does not have:
 *   - The RTT is the smallest sample since the previous ACK that reached cong_avoid, not of a round.
 *   - The count of samples is never reset. So the test for three of them holds from the third ACK of the
 *     connection on (and again for three ACKs whenever its 16 bits have wrapped).
 * A timeout uses the same threshold as a loss; the paper halves. Two switches read the paper instead:
 * timeout_halves, and rtt_of_round for the RTT of a whole round.
 *
 * Of vegas.bpf.h, which is to be read first, Veno takes the two minima and no rounds.
 */
#include "cc.bpf.h"
#include "cc_handover.bpf.h"
#include "vegas.bpf.h"

CC_ALGORITHM("veno", "hybrid",
	     "Reno that gives up a fifth instead of half when a loss comes without a queue, as on wireless links.",
	     "Fu, Liew 2003; net/ipv4/tcp_veno.c");
CC_COLOR("#332288");
CC_TRACE_V0("diff_half_pkts", "N, packets queued as of the last ACK, in halves of a packet");
CC_TRACE_V1("rtt_us", "RTT that N was computed from; 2147483647 = the ACK brought none");

#define VENO_UNIT 2U /* N and diff count halves of a packet */

CC_TUNABLE(u32, beta, 3, 0, 1000000, "packets", "with fewer packets queued the path is not congested",
	   "net/ipv4/tcp_veno.c");
CC_GAIN(u32, noncongestive_beta, 800, 100, 1000, "window after a loss on a path that is not congested",
	"net/ipv4/tcp_veno.c");

CC_SWITCH(u32, timeout_halves, 0, "a timeout halves, whatever is queued", "Fu, Liew 2003, algorithm 2 of P0");
CC_SWITCH(u32, rtt_of_round, 0,
	  "N follows from the smallest RTT of the last round, as in Vegas, not since the last ACK", "Fu, Liew 2003");

CC_SWITCH(u32, count_packets, 1, "grow by the packets that an ACK covers; 0 = by one packet per ACK, as Linux 4.14",
	  "net/ipv4/tcp_veno.c");
CC_PRESET("p0", "count_packets=0", "Veno of Linux 4.14, which counts ACKs", "net/ipv4/tcp_veno.c of Linux 4.14");

/* reno: until the state is open again, or too few samples */
CC_MODES(veno_mode, VENO_SLOW_START, VENO_NON_CONGESTIVE, VENO_CONGESTIVE, VENO_RENO);

/* All zero is a valid state: switched off. The end of the round counts with rtt_of_round only. */
struct veno {
	struct vegas_rtt rtt;
	u32 diff_halves;
	u32 rtt_us;   /* of the last N, for the trace */
	u8 grow_next; /* congested: the round that ends next grows, the one after it does not */
	u8 pad[3];
};
CC_PRIV_FITS(struct veno);

static __always_inline int veno_is_congested(const struct veno *veno)
{
	return veno->diff_halves >= beta * VENO_UNIT;
}

static __always_inline int veno_is_reno(const struct veno *veno)
{
	return !veno->rtt.enabled || veno->rtt.samples < VEGAS_MIN_SAMPLES;
}

static __always_inline enum veno_mode veno_mode(const struct tcp_sock *tp, const struct veno *veno)
{
	if (veno_is_reno(veno))
		return VENO_RENO;
	if (tcp_in_slow_start(tp))
		return VENO_SLOW_START;
	return veno_is_congested(veno) ? VENO_CONGESTIVE : VENO_NON_CONGESTIVE;
}

static __always_inline void veno_publish(struct sock *sk)
{
	struct cca_trace *trace = cc_trace(sk);
	const struct veno *veno = inet_csk_ca(sk);

	if (!trace)
		return;
	trace->mode = veno_mode(tcp_sk(sk), veno);
	trace->min_rtt_us = vegas_published_base_us(&veno->rtt);
	trace->v0 = veno->diff_halves;
	trace->v1 = veno->rtt_us;
	cc_trace_done(trace);
}

/* Unlike Vegas': the count of samples stays. */
static __always_inline void veno_enable(struct veno *veno, const struct tcp_sock *tp)
{
	veno->rtt.enabled = 1;
	veno->rtt.round_end_seq = tp->snd_nxt;
	veno->rtt.min_rtt_us = VEGAS_NO_RTT;
}

static __always_inline void veno_restart(struct veno *veno, const struct tcp_sock *tp)
{
	veno->rtt.base_rtt_us = VEGAS_NO_RTT;
	veno->grow_next = 1;
	veno_enable(veno, tp);
}

/* An ACK that brought no sample has the RTT VEGAS_NO_RTT and so looks congested, as in the native module. */
static __always_inline void veno_measure(struct veno *veno, u32 cwnd)
{
	u64 target_halves = (u64)cwnd * veno->rtt.base_rtt_us * VENO_UNIT;

	veno->rtt_us = veno->rtt.min_rtt_us;
	if (!veno->rtt_us)
		return;
	veno->diff_halves = cwnd * VENO_UNIT - (u32)(target_halves / veno->rtt_us);
}

/* N of this ACK, or of the round that it ends; a round without a sample keeps the verdict of the one before. */
static __always_inline void veno_look(const struct tcp_sock *tp, struct veno *veno, u32 ack)
{
	if (!rtt_of_round) {
		veno_measure(veno, tp->snd_cwnd);
		return;
	}
	if (!vegas_round_over(&veno->rtt, ack))
		return;
	veno->rtt.round_end_seq = tp->snd_nxt;
	if (veno->rtt.min_rtt_us != VEGAS_NO_RTT)
		veno_measure(veno, tp->snd_cwnd);
	veno->rtt.min_rtt_us = VEGAS_NO_RTT;
}

/* One packet in every second round. A round is full when the next ACK after it comes. */
static __always_inline void veno_grow_slowly(struct tcp_sock *tp, struct veno *veno, u32 acked)
{
	if (tp->snd_cwnd_cnt < tp->snd_cwnd) {
		tp->snd_cwnd_cnt += acked;
		return;
	}
	tp->snd_cwnd_cnt = 0;
	if (veno->grow_next && tp->snd_cwnd < tp->snd_cwnd_clamp) {
		tp->snd_cwnd++;
		veno->grow_next = 0;
	} else {
		veno->grow_next = 1;
	}
}

static __always_inline void veno_grow(struct tcp_sock *tp, struct veno *veno, u32 ack, u32 acked)
{
	veno_look(tp, veno, ack);
	if (count_packets) {
		if (cc_slow_start(tp, &acked))
			return;
	} else if (tcp_in_slow_start(tp)) {
		/* What slow start leaves of an ACK was lost. */
		tcp_slow_start(tp, acked);
		return;
	} else {
		acked = 1;
	}
	if (veno_is_congested(veno))
		veno_grow_slowly(tp, veno, acked);
	else
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked);
}

CC_OP(void, veno_init, struct sock *sk)
{
	struct veno *veno = inet_csk_ca(sk);

	cc_take_over(sk);
	*veno = (struct veno){0};
	veno_restart(veno, tcp_sk(sk));
}

CC_OP(u32, veno_ssthresh, struct sock *sk)
{
	const struct veno *veno = inet_csk_ca(sk);
	u32 cwnd = tcp_sk(sk)->snd_cwnd;
	u32 reduced = cwnd / 2;

	if (!veno_is_congested(veno))
		reduced = (u64)cwnd * noncongestive_beta / 1000;
	return max(reduced, VEGAS_MIN_CWND);
}

CC_OP(void, veno_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct veno *veno = inet_csk_ca(sk);

	if (!veno->rtt.enabled) {
		tcp_reno_cong_avoid(sk, ack, acked);
	} else if (tcp_is_cwnd_limited(tp)) {
		if (veno_is_reno(veno)) {
			tcp_reno_cong_avoid(sk, ack, acked);
		} else {
			veno_grow(tp, veno, ack, acked);
			tp->snd_cwnd = vegas_bounded_cwnd(tp, tp->snd_cwnd);
		}
		if (!rtt_of_round)
			veno->rtt.min_rtt_us = VEGAS_NO_RTT;
	}
	veno_publish(sk);
}

CC_OP(void, veno_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct veno *veno = inet_csk_ca(sk);

	vegas_rtt_sample(&veno->rtt, sample->rtt_us);
}

CC_OP(void, veno_set_state, struct sock *sk, u8 new_state)
{
	struct veno *veno = inet_csk_ca(sk);

	if (new_state == TCP_CA_Open)
		veno_enable(veno, tcp_sk(sk));
	else
		veno->rtt.enabled = 0;
}

CC_OP(void, veno_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct veno *veno = inet_csk_ca(sk);

	if (vegas_is_restart(event))
		veno_restart(veno, tcp_sk(sk));
	/* Right after ssthresh(), with the window as it was. */
	if (event == CA_EVENT_LOSS && timeout_halves)
		tcp_sk(sk)->snd_ssthresh = max(tcp_sk(sk)->snd_cwnd / 2, VEGAS_MIN_CWND);
}

CC_OP(u32, veno_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

CC_OPS(bpf_veno) = {
    .init = (void *)veno_init,
    .ssthresh = (void *)veno_ssthresh,
    .cong_avoid = (void *)veno_cong_avoid,
    .pkts_acked = (void *)veno_pkts_acked,
    .set_state = (void *)veno_set_state,
    .cwnd_event = (void *)veno_cwnd_event,
    .undo_cwnd = (void *)veno_undo_cwnd,
    .name = "bpf_veno",
};
