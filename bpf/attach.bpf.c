// SPDX-License-Identifier: GPL-2.0
/*
 * Gives the new sockets of one cgroup the algorithm of its policy. Every cgroup with a policy has an instance of this
 * program; all instances share the maps.
 *
 *   connecting  at TCP_CONNECT, only for what needs Accurate ECN; see below.
 *   active      at ACTIVE_ESTABLISHED: the kernel calls init right there for its own algorithms too, so init sees the
 *               RTT of the handshake.
 *   listening   at TCP_LISTEN: accepted children inherit algorithm and mark.
 *   passive     at PASSIVE_ESTABLISHED: for a listener that is older than the policy or has another one.
 *
 * For an algorithm that negotiates classic ECN the SYN asks because this program says so at NEEDS_ECN. Setting the
 * algorithm itself before the SYN would call its init in SYN_SENT, where the kernel's dctcp finds no ECN yet and turns
 * into reno. Accurate ECN and ECT(1) on the SYN the kernel knows only as a wish of the algorithm itself, so one that
 * needs them is set before the SYN, at CONNECT.
 *
 * Neither serves a connection without the ECN that it needs: such a one gets the kernel's reno here rather than by the
 * algorithm itself at its first ACK, so that the mark tells the truth.
 *
 * The kernel runs the programs of a socket's cgroup and of all its ancestors; only the one of the nearest policy acts.
 * While a policy is being taken back, its instance gives children of a listener that still had it what was there
 * before.
 */
#include "kernel_types.h"
#include "ccactl_abi.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include "policy.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define TCP_SYN_SENT 2

/* include/uapi/linux/bpf.h: stable ABI. */
enum {
	BPF_SOCK_OPS_TCP_CONNECT_CB = 3,
	BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB = 4,
	BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB = 5,
	BPF_SOCK_OPS_NEEDS_ECN = 6,
	BPF_SOCK_OPS_TCP_LISTEN_CB = 11,
};

/* The members of the context that we read; CO-RE finds their offsets. */
struct bpf_sock_ops {
	__u32 op;
	__u32 reply;
	__u32 state;
	struct bpf_sock *sk;
} __attribute__((preserve_access_index));

/* The cgroup whose policy this instance applies; set by the loader. */
const volatile u64 policy_cgroup_id = 0;

/* What the kernel's own algorithms with ECN fall back to on a connection without, and ours do too. */
static const char without_ecn[CCA_NAME_LEN + 1] = "reno";

static __always_inline void set_algorithm(struct bpf_sock_ops *ctx, struct bpf_sock *sk, struct tcp_sock *tp,
					  struct cca_mark *mark, const char *before, const char *wanted)
{
	char name[CCA_NAME_LEN], after[CCA_NAME_LEN] = {};
	int is_new = !mark;

	__builtin_memcpy(name, wanted, sizeof(name));
	/* The kernel refuses (-EPERM) where a route fixes the algorithm; such a socket stays unmarked. */
	if (bpf_setsockopt(ctx, SOL_TCP, TCP_CONGESTION, name, sizeof(name)))
		return;
	if (is_new)
		mark = bpf_sk_storage_get(&marks, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	if (!mark)
		return;
	cca_algorithm_of(tp, after);
	cca_note(mark, is_new, policy_cgroup_id, before, after);
}

static __always_inline void apply_policy(struct bpf_sock_ops *ctx, u32 op)
{
	struct bpf_sock *sk = ctx->sk;
	char current[CCA_NAME_LEN] = {};
	struct cca_nearest nearest;
	struct cca_policy *policy;
	struct cca_mark *mark;
	int is_before_syn = op == BPF_SOCK_OPS_NEEDS_ECN || op == BPF_SOCK_OPS_TCP_CONNECT_CB;
	struct tcp_sock *tp;
	int in_canary;
	u32 ecn;

	if (!sk)
		return;
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return;
	cca_find_nearest(&tp->inet_conn.icsk_inet.sk, &nearest);
	if (cca_decider(&nearest) != policy_cgroup_id)
		return;
	policy = nearest.policy;
	mark = bpf_sk_storage_get(&marks, sk, NULL, 0);
	cca_algorithm_of(tp, current);
	if (!policy) {
		struct cca_policy *leaving = nearest.leaving;

		if (!is_before_syn && leaving && mark && cca_same_name(mark->kernel_name, current))
			set_algorithm(ctx, sk, tp, mark, current,
				      leaving->live_name[0] ? leaving->live_name : mark->original);
		return;
	}
	if (!(policy->flags & CCA_POLICY_ENFORCE) && cca_applications_choice(tp, mark, current))
		return;
	in_canary = cca_in_canary(&nearest, bpf_get_socket_cookie(ctx));
	ecn = cca_choice_ecn(policy, in_canary);
	if (op == BPF_SOCK_OPS_NEEDS_ECN) {
		/* Not where a route fixes another algorithm. And never back to 0: another program may have asked. */
		if (ecn && !BPF_CORE_READ_BITFIELD(&tp->inet_conn, icsk_ca_dst_locked))
			ctx->reply = 1;
	} else if (op == BPF_SOCK_OPS_TCP_LISTEN_CB) {
		set_algorithm(ctx, sk, tp, mark, current, policy->kernel_name);
	} else if (op == BPF_SOCK_OPS_TCP_CONNECT_CB) {
		if (ecn == TCP_ECN_ACCECN)
			set_algorithm(ctx, sk, tp, mark, current, cca_choice(policy, in_canary));
	} else if (cca_lacks_ecn(tp, ecn)) {
		set_algorithm(ctx, sk, tp, mark, current, without_ecn);
	} else {
		set_algorithm(ctx, sk, tp, mark, current, cca_choice(policy, in_canary));
	}
}

SEC("sockops")
int cca_policy_sockops(struct bpf_sock_ops *ctx)
{
	u32 op = ctx->op;

	switch (op) {
	case BPF_SOCK_OPS_NEEDS_ECN:
		/* A listener has the algorithm itself. */
		if (ctx->state == TCP_SYN_SENT)
			apply_policy(ctx, op);
		break;
	case BPF_SOCK_OPS_TCP_CONNECT_CB:
	case BPF_SOCK_OPS_TCP_LISTEN_CB:
	case BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB:
	case BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB:
		apply_policy(ctx, op);
		break;
	}
	return 1;
}
