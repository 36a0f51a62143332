/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the subflows of one MPTCP connection know of each other, for algorithms that couple them.
 *
 * In a nutshell: a subflow is a TCP socket, and mainline's MPTCP gives each its own congestion control. Here every
 * subflow keeps one element of a shared map up to date, under the token of its connection, and reads those of the others.
 *
 *   key      token of the connection, number of the subflow: the first number that is free
 *   element  window, smoothed RTT and a value of the algorithm's own. Only its owner writes it, with its own socket
 *            locked. The others read it without a lock: it may be one ACK old, and half of it newer than the rest.
 *
 * A subflow has its element from its first ACK to its release. One without an element shares nothing and behaves as a
 * single path: TCP without MPTCP, a kernel without MPTCP, a listener, whoever has fallen back to TCP, and a subflow that
 * found all numbers taken. Subflows with other algorithms, or with other code under the same name, are not seen.
 *
 * The token is found in icsk_ulp_data -> mptcp_subflow_context -> conn -> mptcp_sock. A subflow outlives its connection
 * while it closes, so the token is kept.
 */
#ifndef CCACTL_MPTCP_COUPLING_BPF_H
#define CCACTL_MPTCP_COUPLING_BPF_H

#include "cc.bpf.h"
#include "cc_reduction.bpf.h"
#include "fixed.bpf.h"

#define CC_PATHS         9U /* the first subflow and what a path manager adds: MPTCP_PM_ADDR_MAX, net/mptcp/protocol.h */
#define CC_PATH_ELEMENTS 16384 /* 1.5 MB */

/* Numbers of this many bits: the products of a window and two RTTs then fit into 64. */
#define CC_PATH_CWND_BITS 20
#define CC_PATH_RTT_BITS  22

struct cc_path_key {
	u32 token;
	u32 number;
};

struct cc_path {
	u64 owner; /* address of the socket */
	u64 value; /* the algorithm's own */
	u32 token;
	u32 cwnd_pkts;
	u32 srtt_us;
	u32 pad;
};

CC_SHARED(cc_path_map, struct cc_path_key, struct cc_path, CC_PATH_ELEMENTS);

/* In the private state of a subflow: where its element is. All zero: nowhere, and it gets none. */
struct cc_path_ref {
	u32 token;
	u8 number;
	u8 ready; /* init() has run, and release() has not */
	u8 paths; /* seen at the last look, this one included; 0 = without an element */
	u8 pad;
};

/* The subflows of a connection at one moment. */
struct cc_paths {
	u32 count; /* those that have a window */
	u32 pad;
	struct cc_path_view {
		u32 cwnd_pkts; /* at most 2^20 - 1; 0 = there is no such subflow */
		u32 rtt; /* in a unit that makes all of them at least 1 and less than 2^22: us, unless one is above 4 s */
		u64 value;
	} path[CC_PATHS];
};

#ifdef CCA_HOST

static __always_inline u32 cc_connection_token(const struct sock *sk)
{
	return ((const struct cc_host_sock *)sk)->mptcp_token;
}

#else

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct tcp_sock___mptcp {
	_Bool is_mptcp;
};

struct inet_connection_sock___mptcp {
	void *icsk_ulp_data;
};

struct mptcp_subflow_context {
	struct sock *conn;
};

struct mptcp_sock {
	u32 token;
};

#pragma clang attribute pop

/* 0 = not MPTCP, not yet, or no longer. */
static __always_inline u32 cc_connection_token(const struct sock *sk)
{
	const struct tcp_sock___mptcp *tp = (const void *)sk;
	const struct inet_connection_sock___mptcp *icsk = (const void *)sk;
	struct mptcp_subflow_context *subflow;
	struct mptcp_sock *connection;

	if (!bpf_core_field_exists(tp->is_mptcp) || !bpf_core_type_exists(struct mptcp_subflow_context))
		return 0;
	if (!tp->is_mptcp)
		return 0;
	subflow = icsk->icsk_ulp_data;
	if (!subflow)
		return 0;
	connection = (void *)BPF_CORE_READ(subflow, conn);
	return connection ? BPF_CORE_READ(connection, token) : 0;
}

#endif

/* Puts an element under the first free number. Returns the number, or -1. */
CC_GLOBAL int cc_claim_path(const struct cc_path *fresh)
{
	struct cc_path path;

	if (!fresh)
		return -1;
	/* Before 6.2 the verifier wants a map's value on the stack of the function itself. */
	path = *fresh;
	for (u32 number = 0; number < CC_PATHS; number++) {
		struct cc_path_key key = {.token = path.token, .number = number};

		if (!cc_shared_add(cc_path_map, &key, &path))
			return number;
	}
	return -1;
}

static __always_inline struct cc_path *cc_find_path(const struct sock *sk, const struct cc_path_ref *ref)
{
	struct cc_path_key key = {.token = ref->token, .number = ref->number};
	struct cc_path *path;

	if (!key.token)
		return NULL;
	path = cc_shared_get(cc_path_map, &key);
	return path && path->owner == (u64)(unsigned long)sk ? path : NULL;
}

/* Whether the subflow has an element now: it gets one with what is in `fresh`. */
static __always_inline int cc_join_paths(const struct sock *sk, struct cc_path_ref *ref, struct cc_path *fresh)
{
	int number;

	if (!ref->ready)
		return 0;
	if (!ref->token)
		ref->token = cc_connection_token(sk);
	if (!ref->token)
		return 0;
	fresh->token = ref->token;
	number = cc_claim_path(fresh);
	if (number < 0)
		return 0;
	ref->number = number;
	return 1;
}

/*
 * From init(). The kernel calls set_state after release() too, when it disconnects the first subflow of a connection that
 * lives on (net/ipv4/tcp.c: tcp_disconnect()), and release() is not called again.
 */
static __always_inline void cc_begin_path(struct cc_path_ref *ref)
{
	*ref = (struct cc_path_ref){.ready = 1};
}

/*
 * Shows the others what this subflow is like in this state of congestion. During a reduction the window counts that it
 * leads to. Returns 0 when the subflow shares nothing.
 */
static __always_inline int cc_show_path(const struct sock *sk, struct cc_path_ref *ref, u8 state, u64 value)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct cc_path *path = cc_find_path(sk, ref);
	struct cc_path now = {
	    .owner = (u64)(unsigned long)sk,
	    .value = value,
	    .cwnd_pkts = state == TCP_CA_CWR || state == TCP_CA_Recovery ? tp->snd_ssthresh : tp->snd_cwnd,
	    .srtt_us = tp->srtt_us >> 3,
	};

	if (path) {
		path->cwnd_pkts = now.cwnd_pkts;
		path->srtt_us = now.srtt_us;
		path->value = now.value;
	} else if (!cc_join_paths(sk, ref, &now)) {
		ref->paths = 0;
		return 0;
	}
	if (!ref->paths)
		ref->paths = 1;
	return 1;
}

/* Reads all subflows of a connection. Returns how many have a window. */
CC_GLOBAL int cc_read_paths(struct cc_paths *paths, u32 token)
{
	u32 max_rtt_us = 1, shift;

	if (!paths)
		return 0;
	paths->count = 0;
	paths->pad = 0;
	for (u32 number = 0; number < CC_PATHS; number++) {
		struct cc_path_key key = {.token = token, .number = number};
		const struct cc_path *path = cc_shared_get(cc_path_map, &key);
		struct cc_path_view view = {};

		/* Another token: the element has just been given to another connection. */
		if (path && path->token == token && path->srtt_us) {
			view.cwnd_pkts = min(path->cwnd_pkts, (1U << CC_PATH_CWND_BITS) - 1);
			view.rtt = path->srtt_us;
			view.value = path->value;
			max_rtt_us = max(max_rtt_us, view.rtt);
			paths->count += !!view.cwnd_pkts;
		}
		paths->path[number] = view;
	}
	shift = cc_fls64(max_rtt_us >> CC_PATH_RTT_BITS);
	for (u32 number = 0; number < CC_PATHS; number++) {
		u32 rtt = paths->path[number].rtt >> shift;

		paths->path[number].rtt = max(rtt, 1U);
	}
	return paths->count;
}

/*
 * All subflows, this one as it is now. Returns how many: with fewer than two there is nothing to couple, and `paths` says
 * nothing.
 */
static __always_inline u32 cc_couple(const struct sock *sk, struct cc_path_ref *ref, u64 value, struct cc_paths *paths)
{
	if (!cc_show_path(sk, ref, TCP_CA_Open, value))
		return 0;
	ref->paths = cc_read_paths(paths, ref->token);
	return ref->paths;
}

/* From release(): the others no longer see this subflow. */
static __always_inline void cc_leave_paths(const struct sock *sk, struct cc_path_ref *ref)
{
	struct cc_path_key key = {.token = ref->token, .number = ref->number};

	if (cc_find_path(sk, ref))
		cc_shared_delete(cc_path_map, &key);
	*ref = (struct cc_path_ref){};
}

/* This subflow among all. */
static __always_inline struct cc_path_view cc_own_view(const struct cc_paths *paths, const struct cc_path_ref *ref)
{
	return paths->path[cc_index(ref->number, CC_PATHS)];
}

/* Whether a / rtt_a^2 > b / rtt_b^2, of numbers of at most CC_PATH_CWND_BITS. */
static __always_inline int cc_exceeds_per_rtt2(u32 a, u32 rtt_a, u32 b, u32 rtt_b)
{
	return (u64)a * rtt_b * rtt_b > (u64)b * rtt_a * rtt_a;
}

/*
 * The rate of all subflows in windows: sum of cwnd_k * rtt / rtt_k, what the connection has in flight per `rtt`. In 1/256
 * of a packet, at most 2^32 - 1 so that it can be squared.
 */
static __always_inline u64 cc_total_per_rtt(const struct cc_paths *paths, u32 rtt)
{
	u64 total = 0;

	for (u32 number = 0; number < CC_PATHS; number++) {
		const struct cc_path_view *path = &paths->path[number];

		total += (((u64)path->cwnd_pkts * rtt) << 8) / max(path->rtt, 1U);
	}
	return min(total, (u64)(u32)~0U);
}

#endif /* CCACTL_MPTCP_COUPLING_BPF_H */
