// SPDX-License-Identifier: GPL-2.0
/*
 * Tahoe: slow start, congestion avoidance and fast retransmit, without fast recovery (Jacobson 1988).
 *
 * In a nutshell: whatever tells of a loss, the window begins anew at one packet and slow start leads back to half of
 * what it was.
 *
 *   slow start      cwnd += packets acked                     while cwnd < ssthresh
 *   avoidance       cwnd += packets acked / cwnd              (+1 per RTT)
 *   loss            ssthresh = max(cwnd / 2, 2)
 *                   cwnd = 1                                   once the first retransmission has left
 *   ECN, tail probe ssthresh = max(cwnd / 2, 2), cwnd to ssthresh: as Reno (RFC 3168, section 6.1.2)
 *
 *                   cwnd >= ssthresh
 *    SLOW_START ----------------------> AVOIDANCE
 *      ^     ^                              |
 *      |     +---- timeout: the kernel -----+ loss
 *      |                                    v
 *      +---------------------------- FAST_RETRANSMIT
 *          the first retransmission
 *
 * Which packets are lost is the kernel's to find, by SACK and RACK, and only these are sent again. Tahoe of BSD had
 * neither: it waited for the third duplicate ACK and went back to the first hole. Both lower the window in the same
 * way; with several losses in a window this one needs fewer round trips. Growth counts packets, as reno.bpf.c.
 *
 * Read cc_reduction.bpf.h first: what the kernel leaves to an algorithm with cong_control.
 */
#include "cc.bpf.h"
#include "cc_handover.bpf.h"
#include "cc_reduction.bpf.h"

CC_ALGORITHM("tahoe", "loss", "Back to one packet and slow start after every loss: the first, kept for comparison.",
	     "Jacobson, SIGCOMM 1988; RFC 5681 without section 3.2's fast recovery");
CC_COLOR("#882211");

#define TAHOE_LOSS_CWND_PKTS 1U /* the loss window, RFC 5681, section 3.1 */

CC_MODES(tahoe_mode, TAHOE_SLOW_START, TAHOE_AVOIDANCE, TAHOE_FAST_RETRANSMIT);

struct tahoe {
	u32 delivered_pkts; /* of the reduction after ECN, for cc_reduced_cwnd() */
	u32 una;            /* snd_una at the last ACK: what advances it lets the window grow */
	u8 retransmit;      /* the episode's first retransmission has not left yet */
};
CC_PRIV_FITS(struct tahoe);

static __always_inline void tahoe_publish(struct sock *sk, const struct tahoe *t)
{
	struct cca_trace *trace = cc_trace(sk);

	if (!trace)
		return;
	if (t->retransmit)
		trace->mode = TAHOE_FAST_RETRANSMIT;
	else
		trace->mode = tcp_in_slow_start(tcp_sk(sk)) ? TAHOE_SLOW_START : TAHOE_AVOIDANCE;
	cc_trace_done(trace);
}

CC_OP(void, tahoe_init, struct sock *sk)
{
	struct tahoe *t = inet_csk_ca(sk);

	__builtin_memset(t, 0, sizeof(*t));
	t->una = tcp_sk(sk)->snd_una;
	cc_take_over(sk);
}

CC_OP(u32, tahoe_ssthresh, struct sock *sk)
{
	struct tahoe *t = inet_csk_ca(sk);

	t->delivered_pkts = 0;
	return tcp_reno_ssthresh(sk);
}

/*
 * Until the first retransmission has left, room for one packet, however many are in flight; then the loss window. The
 * kernel counts in prr_out what an episode has sent.
 */
static __always_inline void tahoe_begin_anew(struct sock *sk, struct tahoe *t)
{
	struct tcp_sock *tp = tcp_sk(sk);

	t->retransmit = !tp->prr_out;
	tp->snd_cwnd = t->retransmit ? min(tcp_packets_in_flight(tp) + 1, tp->snd_cwnd_clamp) : TAHOE_LOSS_CWND_PKTS;
}

/* The episode is over, or a timeout has taken its place, before an ACK came that followed the retransmission. */
static __always_inline void tahoe_give_up_retransmit(struct sock *sk, struct tahoe *t)
{
	t->retransmit = 0;
	if (tcp_sk(sk)->undo_marker)
		tcp_sk(sk)->snd_cwnd = TAHOE_LOSS_CWND_PKTS;
}

static __always_inline void tahoe_reduce(struct sock *sk, struct tahoe *t, const struct rate_sample *rs,
					 int una_advanced)
{
	t->delivered_pkts += rs->acked_sacked;
	tcp_sk(sk)->snd_cwnd = cc_reduced_cwnd(tcp_sk(sk), rs, t->delivered_pkts, una_advanced);
}

CC_CONG_CONTROL(tahoe_cong_control, sk, ack, flag, rs)
{
	struct tahoe *t = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	int una_advanced = tp->snd_una != t->una;

	t->una = tp->snd_una;
	if (t->retransmit)
		tahoe_begin_anew(sk, t);
	else if (cc_ca_state(sk) == TCP_CA_CWR)
		tahoe_reduce(sk, t, rs, una_advanced);
	else if (una_advanced)
		tcp_reno_cong_avoid(sk, ack, rs->acked_sacked);
	sk->sk_pacing_rate = cc_kernel_pacing_rate(sk);
	tahoe_publish(sk, t);
}

/* RACK's timer begins an episode without an ACK and retransmits at once, so the window is set here already. */
CC_OP(void, tahoe_set_state, struct sock *sk, u8 new_state)
{
	struct tahoe *t = inet_csk_ca(sk);

	if (cc_ca_state(sk) == TCP_CA_CWR)
		cc_end_reduction(sk, new_state);
	if (new_state == TCP_CA_Recovery)
		tahoe_begin_anew(sk, t);
	else if (t->retransmit)
		tahoe_give_up_retransmit(sk, t);
}

CC_OP(u32, tahoe_undo_cwnd, struct sock *sk)
{
	struct tahoe *t = inet_csk_ca(sk);

	t->retransmit = 0;
	return tcp_reno_undo_cwnd(sk);
}

CC_OPS(tahoe) = {
    .init = (void *)tahoe_init,
    .cong_control = (void *)tahoe_cong_control,
    .ssthresh = (void *)tahoe_ssthresh,
    .undo_cwnd = (void *)tahoe_undo_cwnd,
    .set_state = (void *)tahoe_set_state,
    .name = "tahoe",
};
