// SPDX-License-Identifier: GPL-2.0
/*
 * An algorithm that does next to nothing, on its own feet (no header of this project), and with -D… one of the mistakes
 * that authors make. kernel_objects.rs compiles it once per mistake.
 */
typedef unsigned int u32;
typedef unsigned int __u32;
typedef unsigned short __u16;
typedef unsigned long long u64;
typedef unsigned long long __u64;
typedef int __s32;
typedef long long __s64;
typedef unsigned char __u8;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;

#include "bpf/bpf_helpers.h"
#include "bpf/bpf_tracing.h"

#ifdef NOT_GPL
char LICENSE[] SEC("license") = "Proprietary";
#else
char LICENSE[] SEC("license") = "GPL";
#endif

#ifdef NAME_TOO_LONG
#define NAME "sixteen_bytes_xx" /* and no room for the NUL */
#else
#define NAME "toy"
#endif

struct sock {
	u32 sk_pacing_status;
} __attribute__((preserve_access_index));
union tcp_cc_info;

struct inet_connection_sock {
	u64 icsk_ca_priv[13];
} __attribute__((preserve_access_index));

struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	u32 (*undo_cwnd)(struct sock *sk);
	unsigned long (*get_info)(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info);
	void (*init)(struct sock *sk);
	char name[16];
} __attribute__((preserve_access_index));

extern u32 tcp_reno_ssthresh(struct sock *sk) __ksym;
extern void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked) __ksym;
extern u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;

struct toy {
#ifdef STATE_TOO_LARGE
	u64 more[13];
#endif
	u64 last;
};

SEC("struct_ops") void BPF_PROG(toy_init, struct sock *sk)
{
	struct toy *toy = (void *)((struct inet_connection_sock *)sk)->icsk_ca_priv;

	toy->last = 1;
}

#ifndef NO_SSTHRESH
SEC("struct_ops") u32 BPF_PROG(toy_ssthresh, struct sock *sk)
{
	return tcp_reno_ssthresh(sk);
}
#endif

SEC("struct_ops") void BPF_PROG(toy_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	tcp_reno_cong_avoid(sk, ack, acked);
}

SEC("struct_ops") u32 BPF_PROG(toy_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

#ifdef GET_INFO
SEC("struct_ops") unsigned long BPF_PROG(toy_get_info, struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info)
{
	return 0;
}
#endif

SEC(".struct_ops.link")
struct tcp_congestion_ops toy = {
    .init = (void *)toy_init,
#ifndef NO_SSTHRESH
    .ssthresh = (void *)toy_ssthresh,
#endif
    .cong_avoid = (void *)toy_cong_avoid,
    .undo_cwnd = (void *)toy_undo_cwnd,
#ifdef GET_INFO
    .get_info = (void *)toy_get_info,
#endif
    .name = NAME,
};
