/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Window reduction for algorithms with cong_control. The kernel leaves their window alone in CWR and recovery and does
 * not send CA_EVENT_COMPLETE_CWR (net/ipv4/tcp_input.c: tcp_cong_control(), tcp_end_cwnd_reduction()), so what
 * proportional rate reduction (RFC 6937) does for all others has to be done again. An algorithm keeps one counter of
 * its own, for tp->prr_delivered stays 0 here, and
 *
 *   ssthresh      sets the counter to 0: the kernel calls it once per episode, before anything of it is counted
 *   cong_control  while cc_in_reduction(sk): adds rs->acked_sacked to the counter and takes cc_reduced_cwnd()
 *   set_state     calls cc_end_reduction()
 *   undo_cwnd     nothing special: the kernel forgets tp->undo_marker, by which cc_end_reduction() knows
 *
 * What cong_control may do in the other states, TCP_CA_Loss included, is to grow when data was acknowledged.
 */
#ifndef CCACTL_CC_REDUCTION_BPF_H
#define CCACTL_CC_REDUCTION_BPF_H

#include "cc.bpf.h"

/* tcp_in_cwnd_reduction(), include/net/tcp.h */
static __always_inline int cc_in_reduction(const struct sock *sk)
{
	u8 state = cc_ca_state(sk);

	return state == TCP_CA_CWR || state == TCP_CA_Recovery;
}

/*
 * The window after this ACK, as tcp_cwnd_reduction() has it. delivered_pkts: delivered since the episode began, this
 * ACK included; una_advanced: this ACK acknowledged new data. Above ssthresh, packets leave in the proportion in which
 * the window is to shrink; below it, one per delivered one, and one more while nothing further is lost.
 */
static __always_inline u32 cc_reduced_cwnd(const struct tcp_sock *tp, const struct rate_sample *rs, u32 delivered_pkts,
					   int una_advanced)
{
	u32 in_flight_pkts = tcp_packets_in_flight(tp);
	s32 room_pkts = (s32)(tp->snd_ssthresh - in_flight_pkts);
	u32 prior_cwnd = tp->prior_cwnd;
	s64 send_pkts, cwnd;

	if (!prior_cwnd || (s32)rs->acked_sacked <= 0)
		return max(tp->snd_cwnd, 1U);
	if (room_pkts < 0) {
		u64 share = (u64)tp->snd_ssthresh * delivered_pkts;

		send_pkts = (s64)(u32)((share + prior_cwnd - 1) / prior_cwnd) - tp->prr_out;
	} else {
		s64 owed_pkts = (s64)delivered_pkts - tp->prr_out;

		send_pkts = max(owed_pkts, (s64)rs->acked_sacked);
		if (una_advanced && rs->losses <= 0)
			send_pkts++;
		send_pkts = min(send_pkts, (s64)room_pkts);
	}
	/* The episode's first retransmission leaves at once. */
	send_pkts = max(send_pkts, (s64)(tp->prr_out ? 0 : 1));
	cwnd = (s64)in_flight_pkts + send_pkts;
	return clamp(cwnd, (s64)1, (s64)tp->snd_cwnd_clamp);
}

/*
 * The end of an episode, from set_state: cwnd := ssthresh, as tcp_end_cwnd_reduction() does, unless the reduction was
 * undone, which has cleared undo_marker (in CWR after ECN it never was set). Returns 1 when it wrote cwnd. A tail-loss
 * probe that repaired a loss begins and ends an episode within one ACK, so this cannot wait for cong_control.
 */
static __always_inline int cc_end_reduction(struct sock *sk, u8 new_state)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!cc_in_reduction(sk) || new_state >= TCP_CA_CWR)
		return 0;
	if (cc_ca_state(sk) == TCP_CA_Recovery && !tp->undo_marker)
		return 0;
	if (tp->snd_ssthresh >= TCP_INFINITE_SSTHRESH || !tp->snd_ssthresh)
		return 0;
	tp->snd_cwnd = tp->snd_ssthresh;
	return 1;
}

#endif /* CCACTL_CC_REDUCTION_BPF_H */
