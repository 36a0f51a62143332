/* SPDX-License-Identifier: GPL-2.0 */
/* What programs that look at sockets from outside read of them: algorithm, cgroup, addresses. */
#ifndef CCACTL_SOCKET_BPF_H
#define CCACTL_SOCKET_BPF_H

#include <bpf/bpf_endian.h>
#include "cgroup.bpf.h"

/* include/linux/socket.h */
#define AF_INET  2
#define AF_INET6 10

/* struct tcp_congestion_ops of kernel_types.h is our side of struct_ops; this is the kernel's, to read from. */
struct tcp_congestion_ops___kernel {
	char name[CCA_NAME_LEN];
	void *owner;
} __attribute__((preserve_access_index));

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* net/ipv4: the default algorithm of a namespace. */
struct netns_ipv4___kernel {
	struct tcp_congestion_ops___kernel *tcp_congestion_control;
};

struct net___kernel {
	struct netns_ipv4___kernel ipv4;
};

struct tcp_sock___mptcp {
	_Bool is_mptcp; /* where the kernel has MPTCP */
};

#pragma clang attribute pop

static __always_inline void cca_algorithm_of(struct tcp_sock *tp, char *name)
{
	struct tcp_congestion_ops___kernel *ops = (void *)tp->inet_conn.icsk_ca_ops;

	bpf_probe_read_kernel(name, CCA_NAME_LEN, &ops->name);
}

/* The default algorithm of the socket's namespace. */
static __always_inline void cca_default_of(const struct sock *sk, char *name)
{
	struct net___kernel *net = (void *)sk->__sk_common.skc_net.net;
	struct tcp_congestion_ops___kernel *ops = BPF_CORE_READ(net, ipv4.tcp_congestion_control);

	bpf_probe_read_kernel(name, CCA_NAME_LEN, &ops->name);
}

/* Whether it is a subflow of an MPTCP connection. */
static __always_inline int cca_is_subflow(const struct tcp_sock *tp)
{
	const struct tcp_sock___mptcp *subflow = (const void *)tp;

	return bpf_core_field_exists(subflow->is_mptcp) && subflow->is_mptcp;
}

/* Both names are padded with NUL. Without a branch per byte, which the verifier would follow one by one. */
static __always_inline int cca_same_name(const char *a, const char *b)
{
	unsigned char differs = 0;

	for (int i = 0; i < CCA_NAME_LEN; i++)
		differs |= a[i] ^ b[i];
	return !differs;
}

/* Whether a socket belongs to the cgroup with this id and depth, or to one below it. */
static __always_inline int cca_is_below(struct sock *sk, u64 cgroup_id, u32 level)
{
	struct cgroup *cgroup = sk->sk_cgrp_data.cgroup;

	return cgroup->level >= (int)level && cca_ancestor_id(cgroup, level) == cgroup_id;
}

/* Both addresses, IPv4 in the first four bytes. Returns 4 or 6. */
static __always_inline u8 cca_addresses_of(struct sock *sk, u8 *saddr, u8 *daddr)
{
	if (sk->__sk_common.skc_family == AF_INET) {
		*(u32 *)saddr = sk->__sk_common.skc_rcv_saddr;
		*(u32 *)daddr = sk->__sk_common.skc_daddr;
		return 4;
	}
	bpf_probe_read_kernel(saddr, sizeof(struct in6_addr), &sk->__sk_common.skc_v6_rcv_saddr);
	bpf_probe_read_kernel(daddr, sizeof(struct in6_addr), &sk->__sk_common.skc_v6_daddr);
	return 6;
}

#endif /* CCACTL_SOCKET_BPF_H */
