/* SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0 */
/* RCV_WINDOW for the native build: one unit per file, whose step is driven by crates/native/src/receive.rs. */
#ifndef CCACTL_RCV_HOST_H
#define CCACTL_RCV_HOST_H

#include "cc_host.h"

struct rcv_seen;
struct rcv_now;

/* What one file of bpf/rcv/ exports. */
struct rcv_host_unit {
	struct cc_host_tunable *const *tunables;
	unsigned long socket_size; /* bytes, all zero at first */
	/* One acknowledgement. The limit in bytes that holds now, 0 = none. */
	u32 (*step)(void *socket, const struct rcv_seen *seen);
};

#define RCV_WINDOW(name, s, now)                                                                                       \
	static u32 name##_window(struct name *s, const struct rcv_now *now);                                           \
	struct rcv_socket {                                                                                            \
		struct rcv_own own;                                                                                    \
		struct name state;                                                                                     \
	};                                                                                                             \
	static u32 name##_step(void *memory, const struct rcv_seen *seen)                                              \
	{                                                                                                              \
		struct rcv_socket *socket = memory;                                                                    \
		struct rcv_now what;                                                                                   \
		if (rcv_observe(&socket->own, seen, &what))                                                            \
			socket->own.limit = name##_window(&socket->state, &what);                                      \
		return socket->own.limit;                                                                              \
	}                                                                                                              \
	const struct rcv_host_unit CCA_UNIT = {                                                                        \
	    .tunables = &cc_host_tunables, .socket_size = sizeof(struct rcv_socket), .step = name##_step};             \
	static u32 name##_window(struct name *s, const struct rcv_now *now)

#endif /* CCACTL_RCV_HOST_H */
