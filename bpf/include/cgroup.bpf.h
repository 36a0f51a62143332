/* SPDX-License-Identifier: GPL-2.0 */
/* The ancestors of a socket's cgroup, by which the nearest one with some setting is found. */
#ifndef CCACTL_CGROUP_BPF_H
#define CCACTL_CGROUP_BPF_H

/* The id of the ancestor at a level that is not deeper than the cgroup's own. */
static __always_inline u64 cca_ancestor_id(struct cgroup *cgroup, u32 level)
{
	struct cgroup *ancestor = NULL;

	/* A variable index into a kernel array is beyond what the verifier follows: read it by address. */
	bpf_probe_read_kernel(&ancestor, sizeof(ancestor), &cgroup->ancestors[level]);
	return BPF_CORE_READ(ancestor, kn, id);
}

#endif /* CCACTL_CGROUP_BPF_H */
