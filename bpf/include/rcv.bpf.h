/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All that a receiving algorithm (bpf/rcv/NAME.bpf.c) includes: it decides what window a socket offers.
 *
 * In a nutshell: before each acknowledgement leaves, the kernel asks the sockops program of the cgroup how long its TCP
 * options are to be (BPF_SOCK_OPS_HDR_OPT_LEN_CB; the socket is locked). The program adds none. It looks at what has
 * arrived, has the algorithm say a window, and sets TCP_WINDOW_CLAMP, which the window of that very segment obeys.
 *
 * Why this hook: a pure receiver calls no congestion operations, and BPF_SOCK_OPS_PARSE_HDR_OPT_CB misses segments
 * that the kernel's header prediction takes (net/ipv4/tcp_input.c: tcp_rcv_established()).
 *
 * The right edge of the window never moves left: the kernel's tcp_select_window() sees to that. A smaller window takes
 * effect as data arrives.
 *
 * The program of the nearest cgroup with a receiving algorithm decides; those of its ancestors leave the socket alone.
 */
#ifndef CCACTL_RCV_BPF_H
#define CCACTL_RCV_BPF_H

#include "kernel_types.h"
#include "ccactl_abi.h"
#include "cc_about.bpf.h"

#define min(a, b)        ((a) < (b) ? (a) : (b))
#define max(a, b)        ((a) > (b) ? (a) : (b))
#define clamp(v, lo, hi) min(max(v, lo), hi)
#define USEC_PER_MSEC    1000UL
#define USEC_PER_SEC     1000000UL

#ifdef CCA_HOST
#include "host/rcv_host.h"
#else
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#define CC_VARIABLE(type, name, value) const volatile type name = value
char LICENSE[] SEC("license") = "GPL";
#endif

#include "rcv_core.bpf.h"

#ifndef CCA_HOST
#include "rcv_program.bpf.h"

/*
 * RCV_WINDOW(drwa, s, now) { return bytes; } with struct drwa *s, the state of the connection, all zero at first, and
 * const struct rcv_now *now. RCV_UNLIMITED leaves the window to the kernel.
 */
#define RCV_WINDOW(name, s, now)                                                                                       \
	static __always_inline u32 name##_window(struct name *s, const struct rcv_now *now);                           \
	struct rcv_socket {                                                                                            \
		struct rcv_own own;                                                                                    \
		struct name state;                                                                                     \
	};                                                                                                             \
	struct {                                                                                                       \
		__uint(type, BPF_MAP_TYPE_SK_STORAGE);                                                                 \
		__uint(map_flags, BPF_F_NO_PREALLOC);                                                                  \
		__type(key, int);                                                                                      \
		__type(value, struct rcv_socket);                                                                      \
	} rcv_sockets SEC(".maps");                                                                                    \
	static __always_inline void rcv_before_ack(struct bpf_sock_ops *ctx)                                           \
	{                                                                                                              \
		struct bpf_sock *sk = ctx->sk;                                                                         \
		struct rcv_socket *socket;                                                                             \
		struct tcp_sock___rcv *tp;                                                                             \
		struct rcv_seen seen;                                                                                  \
		struct rcv_now now;                                                                                    \
		if (!sk || !(tp = (void *)bpf_skc_to_tcp_sock(sk)))                                                    \
			return;                                                                                        \
		socket = bpf_sk_storage_get(&rcv_sockets, sk, NULL, 0);                                                \
		if (!socket) {                                                                                         \
			if (!rcv_is_nearest((void *)tp))                                                               \
				return;                                                                                \
			socket = bpf_sk_storage_get(&rcv_sockets, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);              \
			if (!socket)                                                                                   \
				return;                                                                                \
		}                                                                                                      \
		rcv_see(tp, &seen);                                                                                    \
		if (rcv_observe(&socket->own, &seen, &now)) {                                                          \
			socket->own.limit = name##_window(&socket->state, &now);                                       \
			rcv_offer(ctx, sk, tp, &socket->own, &now);                                                    \
		}                                                                                                      \
	}                                                                                                              \
	SEC("sockops") int rcv_sockops(struct bpf_sock_ops *ctx)                                                       \
	{                                                                                                              \
		if (ctx->op == BPF_SOCK_OPS_HDR_OPT_LEN_CB)                                                            \
			rcv_before_ack(ctx);                                                                           \
		else                                                                                                   \
			rcv_ask_for_acks(ctx);                                                                         \
		return 1;                                                                                              \
	}                                                                                                              \
	static __always_inline u32 name##_window(struct name *s, const struct rcv_now *now)
#endif

#endif /* CCACTL_RCV_BPF_H */
