/* SPDX-License-Identifier: GPL-2.0 */
/* The size of a full packet, for algorithms that reckon in bytes on the wire rather than in payload. */
#ifndef CCACTL_CC_MTU_BPF_H
#define CCACTL_CC_MTU_BPF_H

#include "cc.bpf.h"

/* IPv4 or IPv6, TCP, and the timestamp option: what the MSS leaves out of the MTU. */
#define CC_AF_INET6    10
#define CC_IPV4_BYTES  20
#define CC_IPV6_BYTES  40
#define CC_TCP_BYTES   20
#define CC_STAMP_BYTES 12

/* Bytes of a full segment with its headers from IP on. */
static __always_inline u32 cc_mtu(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 headers = CC_TCP_BYTES;

	headers += sk->__sk_common.skc_family == CC_AF_INET6 ? CC_IPV6_BYTES : CC_IPV4_BYTES;
	if (cc_bitfield(tp, rx_opt.tstamp_ok))
		headers += CC_STAMP_BYTES;
	return tp->mss_cache + headers;
}

#endif /* CCACTL_CC_MTU_BPF_H */
