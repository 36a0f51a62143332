// SPDX-License-Identifier: GPL-2.0
/*
 * DCTCP: Alizadeh, Greenberg, Maltz, Padhye, Patel, Prabhakar, Sengupta, Sridharan, "Data Center TCP
 * (DCTCP)", SIGCOMM 2010; RFC 8257.
 *
 * In a nutshell: Reno that reduces its window by half the share of packets that a switch has marked.
 *
 *   per window    alpha = (1 - g) alpha + g F          F = marked packets / delivered ones, g = 1/16
 *   marks         ssthresh = cwnd (1 - alpha / 2)      once per window, by the kernel's CWR state
 *   loss          ssthresh = cwnd / 2                  recovery and timeout alike
 *   growth        as Reno
 *   receiver      ECE on the ACKs of marked packets, and on those only: ecn_echo.bpf.h
 *
 *                cwnd >= ssthresh, a mark or a loss
 *   SLOW_START ------------------------------------> AVOIDANCE
 *              <------------------------------------
 *                timeout, idle time: cwnd below ssthresh
 *
 *   either -- an ACK finds no ECN negotiated --> NO_ECN: the socket goes to the kernel's reno
 *
 * As native dctcp, step by step: alpha in 1/1024, the decay of at least 1, the order of ssthresh() and
 * set_state().
 *
 * What differs:
 *   - Whether ECN was negotiated is asked at the ACKs rather than in init, because a swap may set the
 *     algorithm before the SYN-ACK.
 *   - Without ECN the socket goes to the kernel's reno, which also takes ECT off its packets. The last mode
 *     that was published says no-ecn. If the kernel refuses (a route that fixes the algorithm), the flow
 *     follows Reno here.
 *   - PLB (net/ipv4/tcp_plb.c) is not here: BPF cannot make the kernel choose another flow label.
 *
 * Read ecn_echo.bpf.h after the callbacks of the sender: it is the receiver's half, shared with Prague.
 */
#include "cc.bpf.h"
#include "cc_handover.bpf.h"
#include "ecn_echo.bpf.h"

CC_ALGORITHM("dctcp", "ecn",
	     "Reduces the window by half the share of packets that a switch has marked; for data centres.",
	     "Alizadeh et al., SIGCOMM 2010; RFC 8257; net/ipv4/tcp_dctcp.c");
CC_COLOR("#661100");
CC_TRACE_V0("alpha_1024", "smoothed share of marked packets, in 1/1024");
CC_TRACE_V1("marked_1024", "share of marked packets in the last window, in 1/1024");

#define DCTCP_ALPHA_SHIFT  10 /* alpha = 1.0 is 1024 */
#define DCTCP_MAX_ALPHA    (1U << DCTCP_ALPHA_SHIFT)
#define DCTCP_MIN_CWND     2U     /* packets, RFC 5681 section 3.1 */
#define DCTCP_REPUBLISH_US 10000U /* a late recorder waits at most so long, or one window; our choice */

CC_TUNABLE(u32, shift_g, 4, 0, 10, "", "weight of the last window in alpha is 2^-shift_g", "net/ipv4/tcp_dctcp.c");
CC_TUNABLE(u32, alpha_on_init, 1024, 0, 1024, "1/1024", "alpha before the first window has passed",
	   "net/ipv4/tcp_dctcp.c");

/* no-ecn: the peer does not do ECN: Reno */
CC_MODES(dctcp_mode, DCTCP_SLOW_START, DCTCP_AVOIDANCE, DCTCP_NO_ECN);

struct dctcp {
	u32 window_delivered;    /* tp->delivered at the start of the window */
	u32 window_delivered_ce; /* and tp->delivered_ce */
	u32 window_end_seq;      /* the window ends when this is acknowledged */
	u32 alpha;
	u32 loss_cwnd;    /* before the last reduction, for undo */
	u32 share;        /* F of the last window, 1/1024 */
	u32 published_us; /* tp->tcp_mstamp when the trace was last looked up, whether or not there was one */
	struct ecn_echo echo;
	u8 initialized;
	u8 published; /* mode, plus 1 */
	u16 pad;
};
CC_PRIV_FITS(struct dctcp);

static __always_inline int dctcp_active(const struct sock *sk)
{
	const struct dctcp *ca = inet_csk_ca(sk);

	return ca->initialized && ecn_negotiated(sk);
}

static __always_inline enum dctcp_mode dctcp_mode(const struct sock *sk)
{
	if (!dctcp_active(sk))
		return DCTCP_NO_ECN;
	return tcp_in_slow_start(tcp_sk(sk)) ? DCTCP_SLOW_START : DCTCP_AVOIDANCE;
}

static __always_inline void dctcp_publish(struct sock *sk, enum dctcp_mode mode)
{
	struct cca_trace *trace = cc_trace(sk);
	struct dctcp *ca = inet_csk_ca(sk);

	ca->published = mode + 1;
	ca->published_us = (u32)tcp_sk(sk)->tcp_mstamp;
	if (!trace)
		return;
	trace->mode = mode;
	trace->v0 = ca->alpha;
	trace->v1 = ca->share;
	cc_trace_done(trace);
}

static __always_inline void dctcp_open_window(const struct tcp_sock *tp, struct dctcp *ca)
{
	ca->window_end_seq = tp->snd_nxt;
	ca->window_delivered = tp->delivered;
	ca->window_delivered_ce = tp->delivered_ce;
}

/* Marked packets of the delivered ones, times 2^bits. */
static __always_inline u32 dctcp_share(u32 marked, u32 delivered, u32 bits)
{
	return min(((u64)marked << bits) / max(delivered, 1U), (u64)DCTCP_MAX_ALPHA);
}

/* At the end of a window: whether alpha or the share of marks is another one. */
static __always_inline int dctcp_update_alpha(const struct tcp_sock *tp, struct dctcp *ca)
{
	u32 marked = tp->delivered_ce - ca->window_delivered_ce;
	u32 delivered = tp->delivered - ca->window_delivered;
	u32 decay, alpha, share;

	/* Without marks, now or lately, there is nothing to divide. */
	if (!(marked | ca->alpha | ca->share))
		return 0;
	/* At least 1, or alpha would never reach 0. */
	decay = ca->alpha >> shift_g ?: ca->alpha;
	alpha = min(ca->alpha - decay + dctcp_share(marked, delivered, DCTCP_ALPHA_SHIFT - shift_g), DCTCP_MAX_ALPHA);
	share = dctcp_share(marked, delivered, DCTCP_ALPHA_SHIFT);
	if (alpha == ca->alpha && share == ca->share)
		return 0;
	ca->alpha = alpha;
	ca->share = share;
	return 1;
}

/* A loss is Reno's, whatever alpha says (RFC 8257 section 3.5). */
static __always_inline void dctcp_react_to_loss(struct sock *sk)
{
	struct dctcp *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	ca->loss_cwnd = tp->snd_cwnd;
	tp->snd_ssthresh = max(tp->snd_cwnd / 2, DCTCP_MIN_CWND);
}

CC_OP(void, dctcp_init, struct sock *sk)
{
	struct dctcp *ca = inet_csk_ca(sk);

	cc_take_over(sk);
	*ca = (struct dctcp){
	    .alpha = min(alpha_on_init, DCTCP_MAX_ALPHA),
	    .initialized = 1,
	};
	dctcp_open_window(tcp_sk(sk), ca);
}

CC_OP(void, dctcp_in_ack_event, struct sock *sk, u32 flags)
{
	struct dctcp *ca = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	enum dctcp_mode mode;
	int news = 0;

	if (!ca->initialized)
		return;
	if (!ca->echo.listening)
		ecn_echo_start(&ca->echo, sk);
	if (!before(tp->snd_una, ca->window_end_seq)) {
		news = dctcp_update_alpha(tp, ca) || (u32)tp->tcp_mstamp - ca->published_us >= DCTCP_REPUBLISH_US;
		dctcp_open_window(tp, ca);
	}
	/*
	 * Looking up the trace is a tenth of what the algorithm costs, and on a short path a window is a few ACKs: so
	 * only with news, and now and then for a recorder that has come since.
	 */
	mode = dctcp_mode(sk);
	if (news || ca->published != mode + 1)
		dctcp_publish(sk, mode);
	if (mode == DCTCP_NO_ECN)
		ecn_leave_unless(ecn_negotiated(sk), &ca->echo, sk);
}

/* Asked at the first mark of a window, and at losses, after which set_state() or the event LOSS goes on to half. */
CC_OP(u32, dctcp_ssthresh, struct sock *sk)
{
	struct dctcp *ca = inet_csk_ca(sk);
	u32 cwnd = tcp_sk(sk)->snd_cwnd;
	u32 reduced;

	if (!dctcp_active(sk))
		return tcp_reno_ssthresh(sk);
	ca->loss_cwnd = cwnd;
	reduced = cwnd - (u32)((u64)cwnd * ca->alpha >> (DCTCP_ALPHA_SHIFT + 1));
	return max(reduced, DCTCP_MIN_CWND);
}

CC_OP(void, dctcp_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	tcp_reno_cong_avoid(sk, ack, acked);
}

/* The kernel sets its own state after this call, so the old one tells whether the recovery is new. */
CC_OP(void, dctcp_set_state, struct sock *sk, u8 new_state)
{
	if (dctcp_active(sk) && new_state == TCP_CA_Recovery && cc_ca_state(sk) != TCP_CA_Recovery)
		dctcp_react_to_loss(sk);
}

CC_OP(void, dctcp_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct dctcp *ca = inet_csk_ca(sk);

	if (!dctcp_active(sk))
		return;
	if (event == CA_EVENT_LOSS)
		dctcp_react_to_loss(sk);
	else if (event == CA_EVENT_ECN_IS_CE || event == CA_EVENT_ECN_NO_CE)
		ecn_echo_received(&ca->echo, sk, event == CA_EVENT_ECN_IS_CE);
}

CC_OP(u32, dctcp_undo_cwnd, struct sock *sk)
{
	const struct dctcp *ca = inet_csk_ca(sk);
	u32 cwnd = tcp_sk(sk)->snd_cwnd;

	if (!dctcp_active(sk))
		return tcp_reno_undo_cwnd(sk);
	return max(cwnd, ca->loss_cwnd);
}

CC_OPS(bpf_dctcp) = {
    .init = (void *)dctcp_init,
    .in_ack_event = (void *)dctcp_in_ack_event,
    .cwnd_event = (void *)dctcp_cwnd_event,
    .ssthresh = (void *)dctcp_ssthresh,
    .cong_avoid = (void *)dctcp_cong_avoid,
    .set_state = (void *)dctcp_set_state,
    .undo_cwnd = (void *)dctcp_undo_cwnd,
    .flags = TCP_CONG_NEEDS_ECN,
    .name = "bpf_dctcp",
};
