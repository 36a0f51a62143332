// SPDX-License-Identifier: GPL-2.0
/*
 * Goes over the live sockets of a network namespace for a receiving algorithm that comes or goes:
 *
 *   ask       the kernel is to call the algorithm's program before each segment, as it does for new connections
 *   release   what the algorithm has bounded is the kernel's again
 *
 * Asking needs TCP_BPF_SOCK_OPS_CB_FLAGS, which Linux has from 6.12 on. Before, only new connections have the algorithm.
 */
#include "kernel_types.h"
#include "ccactl_abi.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include "iter_tcp.bpf.h"
#include "socket.bpf.h"
#include "receivers.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define TCP_LISTEN                10
#define TCP_BPF_SOCK_OPS_CB_FLAGS 1008

struct sock___buffer {
	int sk_rcvbuf;
} __attribute__((preserve_access_index));

const volatile u64 cgroup_id = 0;
const volatile u32 is_release = 0;

static __always_inline int ask(struct sock *sk)
{
	int flags = 0, ret;

	ret = bpf_getsockopt(sk, SOL_TCP, TCP_BPF_SOCK_OPS_CB_FLAGS, &flags, sizeof(flags));
	if (ret)
		return ret;
	flags |= BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG;
	return bpf_setsockopt(sk, SOL_TCP, TCP_BPF_SOCK_OPS_CB_FLAGS, &flags, sizeof(flags));
}

/* The kernel's own bound is below the size of the buffer, so that as a clamp bounds nothing. */
static __always_inline int release(struct sock *sk, struct cca_offer *offer)
{
	int bytes = ((struct sock___buffer *)sk)->sk_rcvbuf;

	offer->cgroup_id = 0;
	offer->limit_bytes = 0;
	return bpf_setsockopt(sk, SOL_TCP, TCP_WINDOW_CLAMP, &bytes, sizeof(bytes));
}

SEC("iter/tcp")
int rcv_visit(struct bpf_iter__tcp *ctx)
{
	struct sock_common *common = ctx->sk_common;
	struct cca_receiver_row row = {};
	struct cca_offer *offer;
	struct tcp_sock *tp;
	struct sock *sk;

	if (!common || (common->skc_family != AF_INET && common->skc_family != AF_INET6))
		return 0;
	tp = bpf_skc_to_tcp_sock(common);
	if (!tp)
		return 0;
	sk = &tp->inet_conn.icsk_inet.sk;
	if (sk->__sk_common.skc_state == TCP_LISTEN)
		return 0;
	offer = bpf_sk_storage_get(&offers, sk, NULL, 0);
	if (is_release) {
		if (!offer || offer->cgroup_id != cgroup_id)
			return 0;
		row.error = -release(sk, offer);
	} else {
		if (rcv_nearest_id(sk) != cgroup_id)
			return 0;
		row.error = -ask(sk);
	}
	row.flow_id = bpf_get_socket_cookie(sk);
	bpf_seq_write(ctx->meta->seq, &row, sizeof(row));
	return 0;
}
