/* SPDX-License-Identifier: GPL-2.0 */
/* BBRv2: a connection for which there was no memory behaves as reno. */
#ifndef CCACTL_BBR2_FALLBACK_BPF_H
#define CCACTL_BBR2_FALLBACK_BPF_H

#include "bbr2_state.bpf.h"
#include "cc_fallback.bpf.h"

static __always_inline int bbr2_fell_back(const struct sock *sk)
{
	const struct bbr2_priv *priv = inet_csk_ca(sk);

	return priv->presence == BBR2_NO_MEMORY;
}

static __always_inline void bbr2_fallback_cong_control(struct sock *sk, u32 ack, const struct rate_sample *rs)
{
	if (bbr2_fell_back(sk))
		cc_fallback_cong_control(sk, ack, rs);
}

#endif /* CCACTL_BBR2_FALLBACK_BPF_H */
