/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which receiving algorithm decides about a socket, and what it has said. One set of rules for the programs of the
 * algorithms and for the pass over live sockets (receive.bpf.c).
 */
#ifndef CCACTL_RECEIVERS_BPF_H
#define CCACTL_RECEIVERS_BPF_H

#include "cgroup.bpf.h"
#include "offers_map.bpf.h"

#define SOL_TCP          6
#define TCP_WINDOW_CLAMP 10
/* Asks the kernel to call a sockops program before each segment, with BPF_SOCK_OPS_HDR_OPT_LEN_CB. */
#define BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG (1 << 6)

/* The cgroups that have a receiving algorithm. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CCA_MAX_POLICIES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
	__type(key, u64);
	__type(value, u64);
} receivers SEC(".maps");

struct rcv_walk {
	u64 cgroup; /* address */
	u64 found_id;
	u32 level; /* that comes next */
	u32 pad;
};

/* One level for bpf_loop(). Returns 1 to stop. */
static long rcv_walk_level(u32 index, struct rcv_walk *walk)
{
	u64 id = cca_ancestor_id((void *)walk->cgroup, walk->level);

	walk->level--;
	if (!bpf_map_lookup_elem(&receivers, &id))
		return 0;
	walk->found_id = id;
	return 1;
}

/* The cgroup whose receiving algorithm decides about a socket; 0 = none does. */
static __always_inline u64 rcv_nearest_id(struct sock *sk)
{
	struct cgroup *cgroup = sk->sk_cgrp_data.cgroup;
	struct rcv_walk walk = {.cgroup = (u64)cgroup, .level = cgroup->level};

	bpf_loop(walk.level, rcv_walk_level, &walk, 0);
	return walk.found_id;
}

#endif /* CCACTL_RECEIVERS_BPF_H */
