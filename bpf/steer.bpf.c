// SPDX-License-Identifier: GPL-2.0
/*
 * Hands new TCP connections to chosen addresses and ports to one listener of this network namespace, wherever they
 * were going: the entrance of a transparent `ccactl split` (crates/split/src/steer.rs).
 *
 * The kernel asks before it looks for a listener, for segments that are delivered to this host and that no open
 * connection takes. Where they were going is what getsockname() says of the accepted socket.
 */
#include "kernel_types.h"
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

#define STEER_MAX_TARGETS 1024
#define IPPROTO_TCP       6
#define AF_INET           2

/* include/uapi/linux/bpf.h: stable ABI. */
enum {
	BPF_MAP_TYPE_LPM_TRIE = 11,
	BPF_MAP_TYPE_SOCKMAP = 15,
};

enum {
	SK_DROP = 0,
	SK_PASS = 1,
};

struct bpf_sk_lookup {
	u64 cookie;
	u32 family;
	u32 protocol;
	u32 remote_ip4;
	u32 remote_ip6[4];
	u16 remote_port;
	u16 pad;
	u32 local_ip4;
	u32 local_ip6[4];
	u32 local_port; /* host byte order */
	u32 ingress_ifindex;
};

/* Family and port match as a whole, and of the address its first bits. */
struct steer_target {
	u32 prefix_bits;
	u16 family;
	u16 port;
	u32 address[4];
};

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, STEER_MAX_TARGETS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct steer_target);
	__type(value, u32);
} targets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_SOCKMAP);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u32);
} listener SEC(".maps");

SEC("sk_lookup")
int steer(struct bpf_sk_lookup *ctx)
{
	struct steer_target target = {
	    .prefix_bits = 8 * (sizeof(target) - sizeof(target.prefix_bits)),
	    .family = ctx->family,
	    .port = ctx->local_port,
	};
	struct bpf_sock *sk;
	u32 first = 0;
	long ret;

	if (ctx->protocol != IPPROTO_TCP)
		return SK_PASS;
	if (ctx->family == AF_INET) {
		target.address[0] = ctx->local_ip4;
	} else {
		target.address[0] = ctx->local_ip6[0];
		target.address[1] = ctx->local_ip6[1];
		target.address[2] = ctx->local_ip6[2];
		target.address[3] = ctx->local_ip6[3];
	}
	if (!bpf_map_lookup_elem(&targets, &target))
		return SK_PASS;
	sk = bpf_map_lookup_elem(&listener, &first);
	if (!sk)
		return SK_PASS;
	ret = bpf_sk_assign((void *)ctx, sk, 0);
	bpf_sk_release(sk);
	/* Past the proxy in silence would be worse. */
	return ret ? SK_DROP : SK_PASS;
}
