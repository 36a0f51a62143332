// SPDX-License-Identifier: GPL-2.0
/*
 * Sends ECT(1), the identifier of L4S (RFC 9331 section 4.1), where Linux would send ECT(0).
 *
 * From 7.0 on an algorithm may ask for ECT(1), but gets it on the handshake alone (TCP_CONG_ECT_1_NEGOTIATION). Every
 * packet after it leaves as ECT(0) (tcp_ecn_send() in include/net/tcp_ecn.h), which an L4S queue takes for classic
 * traffic. This program stands at the exit of an interface and changes the codepoint of such sockets: those whose
 * algorithm asks for ECT(1), once Accurate ECN has been negotiated. It passes everything else as it is.
 *
 * One write per packet that the stack hands down, so one per burst of segmentation offload.
 */
#include "kernel_types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>

char LICENSE[] SEC("license") = "GPL";

#define ETH_P_IP   0x0800
#define ETH_P_IPV6 0x86DD

/* include/net/inet_ecn.h */
#define ECN_MASK  3
#define ECN_ECT_1 1
#define ECN_ECT_0 2

/* RFC 791 and RFC 8200: the field is two bits of the second byte. */
#define IP4_CHECKSUM  10
#define IP6_ECN_SHIFT 4
#define ECN_BYTE      1

/* include/uapi/linux/bpf.h: the other programs of the interface, and then the stack, have the packet. */
#define TCX_NEXT -1

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct __sk_buff {
	u32 protocol; /* network byte order */
	struct bpf_sock *sk;
};

struct sk_buff {
	u16 network_header; /* from head */
	unsigned char *head;
	unsigned char *data;
};

struct tcp_congestion_ops___flags {
	u32 flags;
};

#pragma clang attribute pop

extern void *bpf_cast_to_kern_ctx(void *ctx) __ksym;

static __always_inline int ect1_is_wanted(struct __sk_buff *skb)
{
	struct tcp_congestion_ops___flags *ops;
	struct bpf_sock *sk = skb->sk;
	struct tcp_sock *tp;

	if (!sk)
		return 0;
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp || !(tp->ecn_flags & TCP_ECN_ACCECN))
		return 0;
	ops = (void *)tp->inet_conn.icsk_ca_ops;
	return BPF_CORE_READ(ops, flags) & TCP_CONG_ECT_1_NEGOTIATION;
}

/* The byte with the codepoint, ECT(1) in the place of ECT(0); 0 for one that stays. */
static __always_inline u8 ect1_of(u8 byte, u32 shift)
{
	if ((byte >> shift & ECN_MASK) != ECN_ECT_0)
		return 0;
	return byte ^ (ECN_ECT_0 ^ ECN_ECT_1) << shift;
}

static __always_inline void ect1_ip4(struct __sk_buff *skb, u32 ip)
{
	u8 first[2], new;

	if (bpf_skb_load_bytes(skb, ip, first, sizeof(first)))
		return;
	new = ect1_of(first[ECN_BYTE], 0);
	/* Both in network byte order: the low byte of such a 16-bit word is its second. */
	if (new &&
	    !bpf_l3_csum_replace(skb, ip + IP4_CHECKSUM, bpf_htons(first[ECN_BYTE]), bpf_htons(new), sizeof(u16)))
		bpf_skb_store_bytes(skb, ip + ECN_BYTE, &new, sizeof(new), 0);
}

static __always_inline void ect1_ip6(struct __sk_buff *skb, u32 ip)
{
	u8 first[2], new;

	if (bpf_skb_load_bytes(skb, ip, first, sizeof(first)))
		return;
	new = ect1_of(first[ECN_BYTE], IP6_ECN_SHIFT);
	if (new)
		bpf_skb_store_bytes(skb, ip + ECN_BYTE, &new, sizeof(new), 0);
}

SEC("tcx/egress")
int cca_ect1(struct __sk_buff *skb)
{
	struct sk_buff *packet;
	u32 ip;

	if (!ect1_is_wanted(skb))
		return TCX_NEXT;
	packet = bpf_cast_to_kern_ctx(skb);
	/* From the first byte that the interface sees. Not as pointers, which the verifier lets nobody subtract. */
	ip = (u64)BPF_CORE_READ(packet, head) + packet->network_header - (u64)BPF_CORE_READ(packet, data);
	if (skb->protocol == bpf_htons(ETH_P_IP))
		ect1_ip4(skb, ip);
	else if (skb->protocol == bpf_htons(ETH_P_IPV6))
		ect1_ip6(skb, ip);
	return TCX_NEXT;
}
