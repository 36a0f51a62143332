// SPDX-License-Identifier: GPL-2.0
/*
 * Gives the new sockets of one cgroup the algorithm of its policy. Every cgroup with a policy has an instance of this
 * program; all instances share the maps.
 *
 *   active      at ACTIVE_ESTABLISHED: the kernel calls init right there for its own algorithms too, so init sees the
 *               RTT of the handshake. An algorithm that negotiates ECN must be there before the SYN: TCP_CONNECT.
 *   listening   at TCP_LISTEN: accepted children inherit algorithm and mark.
 *   passive     at PASSIVE_ESTABLISHED: for a listener that is older than the policy or has another one.
 *
 * The kernel runs the program of the innermost cgroup first and then those of its ancestors. The mark, set together
 * with the algorithm, tells an ancestor that a nearer policy has decided, and it tells our choice from the
 * application's: setsockopt(TCP_CONGESTION) leaves the bit icsk_ca_setsockopt without a mark of the same name.
 */
#include "kernel_types.h"
#include "ccactl_abi.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

char LICENSE[] SEC("license") = "GPL";

#define SOL_TCP        6
#define TCP_CONGESTION 13

#define MAX_POLICIES 4096

/* include/uapi/linux/bpf.h: stable ABI. */
enum {
	BPF_SOCK_OPS_TCP_CONNECT_CB = 3,
	BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB = 4,
	BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB = 5,
	BPF_SOCK_OPS_TCP_LISTEN_CB = 11,
};

/* The members of the context that we read; CO-RE finds their offsets. */
struct bpf_sock_ops {
	__u32 op;
	struct bpf_sock *sk;
} __attribute__((preserve_access_index));

/* The cgroup whose policy this instance applies; set by the loader. */
const volatile u64 policy_cgroup_id = 0;

/* Not preallocated: an update then replaces the element, and no program reads half of two policies. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_POLICIES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
	__type(key, u64);
	__type(value, struct cca_policy);
} policies SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC | BPF_F_CLONE);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
	__type(key, int);
	__type(value, struct cca_mark);
} marks SEC(".maps");

/* Both names are padded with NUL. */
static __always_inline int same_name(const char *a, const char *b)
{
	for (int i = 0; i < CCA_NAME_LEN; i++) {
		if (a[i] != b[i])
			return 0;
		if (!a[i])
			break;
	}
	return 1;
}

/* Has somebody chosen this socket's algorithm whom this policy must not overrule? */
static __always_inline int chosen_by_other(struct bpf_sock_ops *ctx, struct bpf_sock *sk,
					   const struct cca_policy *policy)
{
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);
	const struct cca_policy *other;
	const struct cca_mark *mark;
	char current[CCA_NAME_LEN] = {};
	u64 owner;

	if (!tp)
		return 1;
	if (!BPF_CORE_READ_BITFIELD(&tp->inet_conn, icsk_ca_setsockopt))
		return 0;
	mark = bpf_sk_storage_get(&marks, sk, NULL, 0);
	if (!mark)
		return 1;
	if (bpf_getsockopt(ctx, SOL_TCP, TCP_CONGESTION, current, sizeof(current)))
		return 1;
	if (!same_name(mark->kernel_name, current))
		return 1;
	owner = mark->cgroup_id;
	if (owner == policy_cgroup_id)
		return 0;
	other = bpf_map_lookup_elem(&policies, &owner);
	return other && other->level > policy->level;
}

static __always_inline void apply_policy(struct bpf_sock_ops *ctx, int before_syn)
{
	struct bpf_sock *sk = ctx->sk;
	struct cca_policy *policy;
	struct cca_mark *mark;
	u64 id = policy_cgroup_id;

	if (!sk)
		return;
	policy = bpf_map_lookup_elem(&policies, &id);
	if (!policy)
		return;
	if (before_syn && !(policy->flags & CCA_POLICY_BEFORE_SYN))
		return;
	if (chosen_by_other(ctx, sk, policy))
		return;
	/* The kernel refuses (-EPERM) where a route fixes the algorithm; such a socket stays unmarked. */
	if (bpf_setsockopt(ctx, SOL_TCP, TCP_CONGESTION, policy->kernel_name, CCA_NAME_LEN))
		return;
	mark = bpf_sk_storage_get(&marks, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	if (!mark)
		return;
	mark->cgroup_id = id;
	__builtin_memcpy(mark->kernel_name, policy->kernel_name, CCA_NAME_LEN);
}

SEC("sockops")
int cca_policy_sockops(struct bpf_sock_ops *ctx)
{
	switch (ctx->op) {
	case BPF_SOCK_OPS_TCP_CONNECT_CB:
		apply_policy(ctx, 1);
		break;
	case BPF_SOCK_OPS_TCP_LISTEN_CB:
	case BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB:
	case BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB:
		apply_policy(ctx, 0);
		break;
	}
	return 1;
}
