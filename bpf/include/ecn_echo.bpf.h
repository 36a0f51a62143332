/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ECN where every mark counts: the receiver's half (RFC 8257 section 3.2), and whether ECN has been negotiated at all.
 *
 * An RFC 3168 receiver repeats ECE until it sees CWR; the sender then knows that there was a mark, but not how many. A
 * receiver of this kind sets ECE exactly on the ACKs of marked packets. One ACK may cover several packets, so it must
 * not cover packets of both kinds: when the mark changes, what was received before is acknowledged at once, with the
 * old echo, and the packet that brought the change is acknowledged without delay. Same steps as net/ipv4/tcp_dctcp.h.
 */
#ifndef CCACTL_ECN_ECHO_BPF_H
#define CCACTL_ECN_ECHO_BPF_H

#include "cc.bpf.h"

struct ecn_echo {
	u32 rcv_nxt;  /* everything below was received before the last packet */
	u8 ce;        /* the last packet was marked */
	u8 listening; /* rcv_nxt is known */
	u8 kept;      /* no ECN, but the socket could not be handed to reno */
	u8 pad;
};

/* Both ends have agreed on ECN. Not known before the handshake is over, so ask when it matters instead of in init. */
static __always_inline int ecn_negotiated(const struct sock *sk)
{
	return tcp_sk(sk)->ecn_flags & (TCP_ECN_OK | TCP_ECN_ACCECN);
}

/* And on Accurate ECN: the kernel counts each mark by itself. */
static __always_inline int ecn_is_accurate(const struct sock *sk)
{
	return tcp_sk(sk)->ecn_flags & TCP_ECN_ACCECN;
}

/*
 * A socket whose algorithm asks for ECN sends ECT from the SYN on. Where the peer refuses (a Linux listener does when
 * its own algorithm does not need ECN and the SYN carries ECT), packets would go on being marked instead of dropped,
 * and nobody would hear of it. Only the kernel can take ECT back, and does so when the socket changes to an algorithm
 * that does not need ECN. To be asked at each ACK, after publishing; true when the socket is no longer ours.
 */
static __always_inline int ecn_leave_unless(int has_ecn, struct ecn_echo *echo, struct sock *sk)
{
	if (has_ecn || echo->kept)
		return 0;
	if (!cc_hand_to_reno(sk))
		return 1;
	echo->kept = 1;
	return 0;
}

/* An algorithm that was set before the SYN-ACK starts with a socket that has not received any sequence number. */
static __always_inline void ecn_echo_start(struct ecn_echo *echo, const struct sock *sk)
{
	echo->rcv_nxt = tcp_sk(sk)->rcv_nxt;
	echo->ce = 0;
	echo->listening = 1;
}

/* DEMAND_CWR is the kernel's "set ECE in what is sent". */
static __always_inline void ecn_echo_set(struct sock *sk, int ce)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (ce)
		tp->ecn_flags |= TCP_ECN_DEMAND_CWR;
	else
		tp->ecn_flags &= ~TCP_ECN_DEMAND_CWR;
}

/* A data packet has come; called before it counts as received. */
static __always_inline void ecn_echo_received(struct ecn_echo *echo, struct sock *sk, int ce)
{
	struct inet_connection_sock *icsk = inet_csk(sk);

	if (echo->ce != ce) {
		if (!echo->listening)
			ecn_echo_start(echo, sk);
		/* Sending clears the timer of the delayed ACK. */
		if (icsk->icsk_ack.pending & ICSK_ACK_TIMER) {
			ecn_echo_set(sk, echo->ce);
			cc_send_ack(sk, echo->rcv_nxt);
		}
		icsk->icsk_ack.pending |= ICSK_ACK_NOW;
	}
	echo->rcv_nxt = tcp_sk(sk)->rcv_nxt;
	echo->ce = ce;
	echo->listening = 1;
	ecn_echo_set(sk, ce);
}

#endif /* CCACTL_ECN_ECHO_BPF_H */
