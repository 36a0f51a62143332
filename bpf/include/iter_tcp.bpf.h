/* SPDX-License-Identifier: GPL-2.0 */
/* The context of an iterator over the TCP sockets of a network namespace (kernel/bpf, net/ipv4/tcp_ipv4.c). */
#ifndef CCACTL_ITER_TCP_BPF_H
#define CCACTL_ITER_TCP_BPF_H

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
} __attribute__((preserve_access_index));

struct bpf_iter__tcp {
	struct bpf_iter_meta *meta;
	struct sock_common *sk_common;
} __attribute__((preserve_access_index));

#endif /* CCACTL_ITER_TCP_BPF_H */
