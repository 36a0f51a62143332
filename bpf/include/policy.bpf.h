/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which policy decides about a socket, and what it wants. One set of rules for new sockets (attach.bpf.c) and for live
 * ones (migrate.bpf.c), so that both always agree.
 */
#ifndef CCACTL_POLICY_BPF_H
#define CCACTL_POLICY_BPF_H

#include "socket.bpf.h"

#define SOL_TCP        6
#define TCP_CONGESTION 13

/* Not preallocated: an update then replaces the element, and no program reads half of two policies. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CCA_MAX_POLICIES);
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

/* Until when the watcher of a canary answers for it (CLOCK_BOOTTIME); it renews this as long as it lives. Key: cgroup
 * id. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CCA_MAX_POLICIES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
	__type(key, u64);
	__type(value, u64);
} leases SEC(".maps");

/* The nearest policies of a socket. */
struct cca_nearest {
	struct cca_policy *policy;  /* in force, or NULL */
	struct cca_policy *leaving; /* nearer than that and being taken back, or NULL */
	u64 policy_id;
	u64 leaving_id;
};

/* Who decides: the policy in force, or the one that is leaving and gives back what was there before; 0 = nobody. */
static __always_inline u64 cca_decider(const struct cca_nearest *nearest)
{
	return nearest->policy ? nearest->policy_id : nearest->leaving_id;
}

/* A walk from a cgroup up to the root. */
struct cca_walk {
	u64 cgroup; /* address */
	u64 policy_id;
	u64 leaving_id;
	u32 level; /* that comes next */
	u32 pad;
};

/* One level of the walk, for bpf_loop(): a loop of its own would be verified once per level. Returns 1 to stop. */
static long cca_walk_level(u32 index, struct cca_walk *walk)
{
	u64 id = cca_ancestor_id((void *)walk->cgroup, walk->level);
	struct cca_policy *policy;

	walk->level--;
	policy = bpf_map_lookup_elem(&policies, &id);
	if (!policy)
		return 0;
	if (!(policy->flags & CCA_POLICY_LEAVING)) {
		walk->policy_id = id;
		return 1;
	}
	if (!walk->leaving_id)
		walk->leaving_id = id;
	return 0;
}

static __always_inline void cca_find_nearest(struct sock *sk, struct cca_nearest *nearest)
{
	struct cgroup *cgroup = sk->sk_cgrp_data.cgroup;
	struct cca_walk walk = {.cgroup = (u64)cgroup, .level = cgroup->level};

	bpf_loop(walk.level, cca_walk_level, &walk, 0);
	nearest->policy_id = walk.policy_id;
	nearest->leaving_id = walk.leaving_id;
	nearest->policy = bpf_map_lookup_elem(&policies, &walk.policy_id);
	nearest->leaving = bpf_map_lookup_elem(&policies, &walk.leaving_id);
}

/*
 * Whether a socket belongs to the share of a canary that somebody watches. Cookies are handed out one after the other,
 * so the golden ratio spreads any run of them evenly; the same socket stays on the same side whenever it is asked.
 * Without a watcher all sockets belong to the baseline.
 */
static __always_inline int cca_in_canary(const struct cca_nearest *nearest, u64 cookie)
{
	const struct cca_policy *policy = nearest->policy;
	u64 id = nearest->policy_id;
	u64 *deadline_ns;

	if (!policy->canary_name[0] || (cookie * 0x9e3779b97f4a7c15ULL) >> 48 >= policy->canary_share)
		return 0;
	deadline_ns = bpf_map_lookup_elem(&leases, &id);
	return deadline_ns && bpf_ktime_get_boot_ns() < *deadline_ns;
}

/* The choice of a policy for a connection, as opposed to a listener, which only hands on. */
static __always_inline const char *cca_choice(const struct cca_policy *policy, int in_canary)
{
	return in_canary ? policy->canary_name : policy->kernel_name;
}

/*
 * Which ECN an algorithm needs, as the bits of tp->ecn_flags of which a connection must have one: either kind, only
 * Accurate ECN, or 0 for none. The SYN has to ask for it, and no connection without it is served.
 */
static __always_inline u32 cca_ecn_needed(const struct cca_policy *policy, u32 ecn, u32 accecn)
{
	if (!(policy->flags & ecn))
		return 0;
	return policy->flags & accecn ? TCP_ECN_ACCECN : TCP_ECN_OK | TCP_ECN_ACCECN;
}

static __always_inline u32 cca_choice_ecn(const struct cca_policy *policy, int in_canary)
{
	return in_canary ? cca_ecn_needed(policy, CCA_POLICY_CANARY_ECN, CCA_POLICY_CANARY_ACCECN)
			 : cca_ecn_needed(policy, CCA_POLICY_ECN, CCA_POLICY_ACCECN);
}

/* Meaningful once the connection is established. */
static __always_inline int cca_lacks_ecn(const struct tcp_sock *tp, u32 needed)
{
	return needed && !(tp->ecn_flags & needed);
}

/*
 * Has the application chosen? Our own setsockopt leaves the same bit, but also a mark with the name. So does MPTCP: once
 * its application has set any option at all, each new subflow is given the connection's algorithm, which is the
 * namespace's default unless the application has chosen (net/mptcp/sockopt.c: sync_socket_options()).
 */
static __always_inline int cca_applications_choice(struct tcp_sock *tp, const struct cca_mark *mark,
						   const char *current)
{
	char usual[CCA_NAME_LEN] = {};

	if (!BPF_CORE_READ_BITFIELD(&tp->inet_conn, icsk_ca_setsockopt))
		return 0;
	if (mark && cca_same_name(mark->kernel_name, current))
		return 0;
	if (!cca_is_subflow(tp))
		return 1;
	cca_default_of(&tp->inet_conn.icsk_inet.sk, usual);
	return !cca_same_name(usual, current);
}

/* Notes our choice on a socket: `before` was there, `after` is there now. */
static __always_inline void cca_note(struct cca_mark *mark, int is_new, u64 policy_id, const char *before,
				     const char *after)
{
	/* A socket that has come to something else behind our back starts anew. */
	if (is_new || !cca_same_name(mark->kernel_name, before))
		__builtin_memcpy(mark->original, before, CCA_NAME_LEN);
	__builtin_memcpy(mark->kernel_name, after, CCA_NAME_LEN);
	mark->cgroup_id = policy_id;
}

#endif /* CCACTL_POLICY_BPF_H */
