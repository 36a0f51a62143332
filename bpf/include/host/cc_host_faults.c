// SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0
/*
 * Errors made on purpose, compiled with the flags of the checked algorithms: a test proves with them that the
 * sanitizers are at work. crates/native/tests/sanitizers.rs has the same numbers.
 */
#include <stddef.h>

#include "cc.bpf.h"

enum cc_host_fault {
	FAULT_SIGNED_OVERFLOW,
	FAULT_SHIFT,
	FAULT_SOCKET,
	FAULT_STORAGE,
	FAULT_PRIVATE_AFTER,
	FAULT_PRIVATE_BEFORE,
	FAULT_SAMPLE,
};

static const struct cc_host_map fault_map = {.value_size = 40};

int cc_host_fault(struct cc_host_sock *hs, const struct rate_sample *rs, u32 fault);

int cc_host_fault(struct cc_host_sock *hs, const struct rate_sample *rs, u32 fault)
{
	struct sock *sk = (struct sock *)hs;
	/* Not known to the compiler, which would otherwise see the error and do what it likes. */
	volatile int one = 1;
	u8 *bytes;

	switch (fault) {
	case FAULT_SIGNED_OVERFLOW:
		return 0x7fffffff + one;
	case FAULT_SHIFT:
		return 1U << (31 + one);
	case FAULT_SOCKET:
		bytes = (u8 *)hs + sizeof(*hs) - 1;
		break;
	case FAULT_STORAGE:
		bytes = (u8 *)cc_host_storage_get(&fault_map, sk, 1) + fault_map.value_size - 1;
		break;
	case FAULT_PRIVATE_AFTER:
		bytes = (u8 *)inet_csk_ca(sk) + CC_PRIV_SIZE - 1;
		break;
	case FAULT_PRIVATE_BEFORE:
		bytes = (u8 *)inet_csk_ca(sk) - 2;
		break;
	case FAULT_SAMPLE:
		bytes = (u8 *)rs + sizeof(*rs) - 1;
		return bytes[one];
	default:
		return 0;
	}
	bytes[one] = 1;
	return 0;
}
