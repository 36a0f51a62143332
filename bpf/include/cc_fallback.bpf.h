/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reno for an algorithm with cong_control whose socket storage could not be allocated. The kernel leaves cwnd alone
 * when an algorithm has cong_control, so the window reduction of recovery is done here too, in its simple form: send
 * what is acknowledged until the flight has shrunk to ssthresh. Pacing is not switched on.
 */
#ifndef CCACTL_CC_FALLBACK_BPF_H
#define CCACTL_CC_FALLBACK_BPF_H

#include "cc.bpf.h"

static __always_inline void cc_fallback_cong_control(struct sock *sk, u32 ack, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 state = cc_ca_state(sk);
	u32 cwnd;

	if (state != TCP_CA_CWR && state != TCP_CA_Recovery) {
		tcp_reno_cong_avoid(sk, ack, rs->acked_sacked);
		return;
	}
	cwnd = max(tcp_packets_in_flight(tp) + rs->acked_sacked, tp->snd_ssthresh);
	tp->snd_cwnd = max(min(cwnd, tp->snd_cwnd), 2U);
}

#endif /* CCACTL_CC_FALLBACK_BPF_H */
