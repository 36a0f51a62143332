/* SPDX-License-Identifier: GPL-2.0 */
/*
 * BBRv2: a connection for which there was no memory behaves as reno. The kernel leaves cwnd alone when an algorithm has
 * cong_control, so the window reduction of recovery is done here too, in its simple form: send what is acknowledged
 * until the flight has shrunk to ssthresh. Pacing is not switched on.
 */
#ifndef CCACTL_BBR2_FALLBACK_BPF_H
#define CCACTL_BBR2_FALLBACK_BPF_H

#include "bbr2_state.bpf.h"

static __always_inline int bbr2_fell_back(const struct sock *sk)
{
	const struct bbr2_priv *priv = inet_csk_ca(sk);

	return priv->presence == BBR2_NO_MEMORY;
}

static __always_inline void bbr2_fallback_cong_control(struct sock *sk, u32 ack, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 state = cc_ca_state(sk);
	u32 cwnd;

	if (!bbr2_fell_back(sk))
		return;
	if (state != TCP_CA_CWR && state != TCP_CA_Recovery) {
		tcp_reno_cong_avoid(sk, ack, rs->acked_sacked);
		return;
	}
	cwnd = max(tcp_packets_in_flight(tp) + rs->acked_sacked, tp->snd_ssthresh);
	tp->snd_cwnd = max(min(cwnd, tp->snd_cwnd), 2U);
}

#endif /* CCACTL_BBR2_FALLBACK_BPF_H */
