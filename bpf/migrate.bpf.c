// SPDX-License-Identifier: GPL-2.0
/*
 * Brings live sockets to what their policy wants, and reports each of them. The iterator sees the sockets of one
 * network namespace, that of the task that opens it, listening ones first, and holds the lock of each while we look at
 * it. Sockets without a full state (TIME_WAIT, requests) have no congestion control; a socket that is neither listening
 * nor connected is in no table and gets its algorithm with its next listen() or connect().
 *
 * The policy is written before the pass begins. A connection is put into the kernel's table before its sockops program
 * runs, under the lock of the bucket that the pass takes as well: one that the pass does not find reads the new policy.
 */
#include "kernel_types.h"
#include "ccactl_abi.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include "iter_tcp.bpf.h"
#include "policy.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define TCP_SYN_SENT 2
#define TCP_LISTEN   10
#define ENOENT       2
#define EPERM        1

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct task_struct {
	int tgid;
};

struct file;

struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	u32 fd;
	struct file *file;
};

struct socket {
	struct sock *sk;
};

/* kernel/bpf/bpf_struct_ops.c: a table in BPF is the data of its map. */
struct bpf_map___kernel {
	u32 id;
};

struct bpf_struct_ops_value___kernel {
	char data[0];
};

struct bpf_struct_ops_map___kernel {
	struct bpf_map___kernel map;
	struct bpf_struct_ops_value___kernel kvalue;
};

#pragma clang attribute pop

/* BPF_MODULE_OWNER of include/linux/bpf.h without the part that depends on the architecture. */
#define MODULE_OWNER_LOW (0xeB9FU << 2)

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct cca_migrate_config);
} config SEC(".maps");

struct name_key {
	char name[CCA_NAME_LEN];
};

/* The struct_ops map that a name stands for now: a socket may have older code of the same name. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CCA_MAX_POLICIES);
	__type(key, struct name_key);
	__type(value, u32);
} tables SEC(".maps");

/* Id of the struct_ops map of a socket's algorithm, 0 when that is not in BPF. */
static __always_inline u32 table_id_of(struct tcp_sock *tp)
{
	struct tcp_congestion_ops___kernel *ops = (void *)tp->inet_conn.icsk_ca_ops;
	struct bpf_struct_ops_map___kernel *map;
	u64 owner = (u64)BPF_CORE_READ(ops, owner);

	if ((u32)owner != MODULE_OWNER_LOW)
		return 0;
	map = (void *)ops - bpf_core_field_offset(struct bpf_struct_ops_map___kernel, kvalue) -
	      bpf_core_field_offset(struct bpf_struct_ops_value___kernel, data);
	return BPF_CORE_READ(map, map.id);
}

static __always_inline int has_wanted(const struct cca_socket *row)
{
	struct name_key key;
	u32 *table_id;

	if (!cca_same_name(row->before, row->wanted))
		return 0;
	__builtin_memcpy(key.name, row->wanted, sizeof(key.name));
	table_id = bpf_map_lookup_elem(&tables, &key);
	return !table_id || *table_id == row->table_id;
}

/* What the socket is to have, in `row`, and who says so. Returns the ECN that the connection needs for it. */
static __always_inline u32 find_wanted(struct cca_socket *row, const struct cca_nearest *nearest,
				       const struct cca_mark *mark)
{
	const struct cca_policy *policy = nearest->policy;

	if (policy) {
		const char *name = policy->kernel_name;
		u32 ecn = 0;

		if (row->tcp_state != TCP_LISTEN && policy->live_name[0]) {
			name = policy->live_name;
			ecn = cca_ecn_needed(policy, CCA_POLICY_LIVE_ECN, CCA_POLICY_LIVE_ACCECN);
		} else if (row->tcp_state != TCP_LISTEN) {
			int in_canary = cca_in_canary(nearest, row->flow_id);

			name = cca_choice(policy, in_canary);
			ecn = cca_choice_ecn(policy, in_canary);
			if (in_canary)
				row->flags |= CCA_SOCKET_CANARY;
		}
		__builtin_memcpy(row->wanted, name, sizeof(row->wanted));
		row->policy_id = nearest->policy_id;
		return row->tcp_state == TCP_SYN_SENT ? 0 : ecn;
	}
	if (nearest->leaving && mark && cca_same_name(mark->kernel_name, row->before)) {
		policy = nearest->leaving;
		__builtin_memcpy(row->wanted, policy->live_name[0] ? policy->live_name : mark->original,
				 sizeof(row->wanted));
		row->policy_id = nearest->leaving_id;
	}
	return 0;
}

static __always_inline int set_algorithm(struct sock *sk, const char *wanted)
{
	char name[CCA_NAME_LEN];

	__builtin_memcpy(name, wanted, sizeof(name));
	return bpf_setsockopt(sk, SOL_TCP, TCP_CONGESTION, name, sizeof(name));
}

/* What a socket had before us may be gone by now: then the default of its namespace. */
static __always_inline int set_default(struct sock *sk, struct cca_socket *row)
{
	cca_default_of(sk, row->wanted);
	return set_algorithm(sk, row->wanted);
}

static __always_inline void move(struct cca_socket *row, struct sock *sk, struct tcp_sock *tp,
				 const struct cca_nearest *nearest, struct cca_mark *mark)
{
	int is_new = !mark;
	int ret = set_algorithm(sk, row->wanted);

	if (ret == -ENOENT && !nearest->policy)
		ret = set_default(sk, row);
	cca_algorithm_of(tp, row->after);
	row->table_id = table_id_of(tp);
	if (ret) {
		row->result = CCA_MOVE_FAILED;
		row->error = -ret;
		return;
	}
	/* An init may hand the socket on to another algorithm. */
	row->result = cca_same_name(row->after, row->wanted) ? CCA_MOVE_MOVED : CCA_MOVE_REFUSED;
	if (is_new)
		mark = bpf_sk_storage_get(&marks, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	if (mark) {
		cca_note(mark, is_new, row->policy_id, row->before, row->after);
		row->flags |= CCA_SOCKET_MARKED;
	}
}

/* A socket that has what its policy wants by chance becomes ours, so that the next change reaches it. */
static __always_inline void adopt(struct cca_socket *row, struct sock *sk, struct cca_mark *mark)
{
	int is_new = !mark;

	if (is_new)
		mark = bpf_sk_storage_get(&marks, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	if (mark) {
		cca_note(mark, is_new, row->policy_id, row->before, row->before);
		row->flags |= CCA_SOCKET_MARKED;
	}
}

static __always_inline void decide(struct cca_socket *row, struct sock *sk, struct tcp_sock *tp,
				   const struct cca_nearest *nearest, struct cca_mark *mark, int is_move)
{
	int is_enforced = nearest->policy && (nearest->policy->flags & CCA_POLICY_ENFORCE);
	u32 ecn = find_wanted(row, nearest, mark);

	if (!row->policy_id) {
		row->result = CCA_MOVE_UNCLAIMED;
	} else if (BPF_CORE_READ_BITFIELD(&tp->inet_conn, icsk_ca_dst_locked) && !has_wanted(row)) {
		/* Before the application's choice: the child of a listener that we have set looks like one. */
		row->result = CCA_MOVE_LOCKED;
	} else if (!is_enforced && nearest->policy && cca_applications_choice(tp, mark, row->before)) {
		row->result = CCA_MOVE_APPLICATION;
	} else if (has_wanted(row)) {
		row->result = CCA_MOVE_THERE;
		if (is_move)
			adopt(row, sk, mark);
	} else if (cca_lacks_ecn(tp, ecn)) {
		row->result = CCA_MOVE_REFUSED;
	} else if (!is_move) {
		row->result = CCA_MOVE_DUE;
	} else {
		move(row, sk, tp, nearest, mark);
	}
}

static __always_inline void fill(struct cca_socket *row, struct sock *sk, struct tcp_sock *tp)
{
	row->pacing_rate_bytes_per_s = sk->sk_pacing_rate;
	row->cwnd_pkts = tp->snd_cwnd;
	row->ssthresh_pkts = tp->snd_ssthresh;
	row->sport = sk->__sk_common.skc_num;
	row->dport = bpf_ntohs(sk->__sk_common.skc_dport);
	row->family = cca_addresses_of(sk, row->saddr, row->daddr);
}

SEC("iter/tcp")
int cca_migrate(struct bpf_iter__tcp *ctx)
{
	struct sock_common *common = ctx->sk_common;
	struct cca_migrate_config *scope;
	struct cca_nearest nearest;
	struct cca_socket row = {};
	struct cca_mark *mark;
	struct tcp_sock *tp;
	struct sock *sk;
	u32 key = 0;

	if (!common || (common->skc_family != AF_INET && common->skc_family != AF_INET6))
		return 0;
	tp = bpf_skc_to_tcp_sock(common);
	scope = bpf_map_lookup_elem(&config, &key);
	if (!tp || !scope)
		return 0;
	sk = &tp->inet_conn.icsk_inet.sk;
	mark = bpf_sk_storage_get(&marks, sk, NULL, 0);
	row.table_id = table_id_of(tp);
	if (!(scope->flags & CCA_MIGRATE_ANY_CGROUP) && !cca_is_below(sk, scope->cgroup_id, scope->cgroup_level))
		return 0;
	cca_find_nearest(sk, &nearest);
	if (scope->flags & CCA_MIGRATE_ANY_CGROUP) {
		if (!mark && !row.table_id && !cca_decider(&nearest))
			return 0;
	} else if (nearest.policy_id != scope->cgroup_id && nearest.leaving_id != scope->cgroup_id) {
		/* A nested cgroup with a policy of its own is its own affair, until that policy has gone. */
		return 0;
	}

	row.flow_id = bpf_get_socket_cookie(sk);
	row.cgroup_id = BPF_CORE_READ(sk, sk_cgrp_data.cgroup, kn, id);
	row.netns = sk->__sk_common.skc_net.net->ns.inum;
	row.tcp_state = sk->__sk_common.skc_state;
	cca_algorithm_of(tp, row.before);
	__builtin_memcpy(row.after, row.before, sizeof(row.after));
	if (mark)
		row.flags |= CCA_SOCKET_MARKED;
	decide(&row, sk, tp, &nearest, mark, scope->flags & CCA_MIGRATE_MOVE);
	fill(&row, sk, tp);
	bpf_seq_write(ctx->meta->seq, &row, sizeof(row));
	return 0;
}

/* The namespaces found so far: one socket of each is enough. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u32);
	__type(value, u32);
} found SEC(".maps");

/*
 * Finds the namespaces of the cgroup's sockets through the files that are open anywhere: a socket may have been passed
 * on to a process that lives in another namespace, or its process may have moved.
 */
SEC("iter/task_file")
int cca_find_namespaces(struct bpf_iter__task_file *ctx)
{
	struct cca_socket_holder holder = {};
	struct cca_migrate_config *scope;
	struct task_struct *task = ctx->task;
	struct file *file = ctx->file;
	struct socket *socket;
	struct sock *sk;
	u32 key = 0, one = 1;
	u16 family;

	if (!task || !file)
		return 0;
	scope = bpf_map_lookup_elem(&config, &key);
	socket = bpf_sock_from_file(file);
	if (!scope || !socket)
		return 0;
	sk = socket->sk;
	if (!sk)
		return 0;
	family = sk->__sk_common.skc_family;
	if (family != AF_INET && family != AF_INET6)
		return 0;
	if (!(scope->flags & CCA_MIGRATE_ANY_CGROUP) && !cca_is_below(sk, scope->cgroup_id, scope->cgroup_level))
		return 0;
	holder.netns = sk->__sk_common.skc_net.net->ns.inum;
	if (bpf_map_update_elem(&found, &holder.netns, &one, BPF_NOEXIST))
		return 0;
	holder.pid = task->tgid;
	holder.fd = ctx->fd;
	bpf_seq_write(ctx->meta->seq, &holder, sizeof(holder));
	return 0;
}
