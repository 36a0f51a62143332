/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All that an algorithm file includes. In the BPF build the types are CO-RE declarations and the helpers are the
 * kernel's; in the native build (CCA_HOST) bpf/include/host/ puts plain structs and C functions behind the same names.
 */
#ifndef CCACTL_CC_BPF_H
#define CCACTL_CC_BPF_H

#include "kernel_types.h"
#include "ccactl_abi.h"
#include "cc_about.bpf.h"

#ifdef CCA_HOST
#include "host/cc_host.h"
#else

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include "compat.bpf.h"
#include "trace_map.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* A callback: CC_OP(u32, reno_ssthresh, struct sock *sk) { ... } */
#define CC_OP(ret, name, args...)      SEC("struct_ops") ret BPF_PROG(name, args)

/*
 * A function that the verifier checks once, by itself, instead of at every call: CC_GLOBAL int f(struct state *s) { ...
 * }. It may take pointers to plain memory and integers, must test its pointers for NULL, and returns int.
 */
#define CC_GLOBAL                      __attribute__((noinline))

/* The table at the end of the file: CC_OPS(bpf_reno) = { .init = (void *)reno_init, ... , .name = "bpf_reno" }; */
#define CC_OPS(kernel_name)            SEC(".struct_ops.link") struct tcp_congestion_ops kernel_name

/* What a tunable is made of (cc_about.bpf.h). */
#define CC_VARIABLE(type, name, value) const volatile type name = value

/* State that does not fit into icsk_ca_priv: one socket-local storage per algorithm file. */
#define CC_STORAGE(map, value_type)                                                                                    \
	struct {                                                                                                       \
		__uint(type, BPF_MAP_TYPE_SK_STORAGE);                                                                 \
		__uint(map_flags, BPF_F_NO_PREALLOC);                                                                  \
		__type(key, int);                                                                                      \
		__type(value, value_type);                                                                             \
	} map SEC(".maps")
#define cc_storage_get(map, sk)    bpf_sk_storage_get(&map, sk, NULL, 0)
#define cc_storage_create(map, sk) bpf_sk_storage_get(&map, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE)
#define cc_storage_delete(map, sk) bpf_sk_storage_delete(&map, sk)

/*
 * State that several sockets share: one map per algorithm file. Its room is bounded. When it is full, what has not been
 * looked up for longest gives way, so an element may be gone at the next lookup: whoever needs it adds it again.
 */
#define CC_SHARED(map, key_type, value_type, elements)                                                                 \
	struct {                                                                                                       \
		__uint(type, BPF_MAP_TYPE_LRU_HASH);                                                                   \
		__uint(max_entries, elements);                                                                         \
		__type(key, key_type);                                                                                 \
		__type(value, value_type);                                                                             \
	} map SEC(".maps")
#define cc_shared_get(map, key)        bpf_map_lookup_elem(&map, key)
/* 0, or an error when the key is taken or there is no memory. */
#define cc_shared_add(map, key, value) bpf_map_update_elem(&map, key, value, BPF_NOEXIST)
#define cc_shared_delete(map, key)     bpf_map_delete_elem(&map, key)

/* A bit field of a kernel struct: its place within the byte differs between kernels, which a plain access would ignore.
 */
#define cc_bitfield(ptr, field)        BPF_CORE_READ_BITFIELD(ptr, field)

extern unsigned long CONFIG_HZ __kconfig;
#define HZ                             ((u32)CONFIG_HZ)

/* net/ipv4/tcp_cong.c, exported as kfuncs by net/ipv4/bpf_tcp_ca.c */
extern u32 tcp_reno_ssthresh(struct sock *sk) __ksym;
extern void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked) __ksym;
extern u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;
extern u32 tcp_slow_start(struct tcp_sock *tp, u32 acked) __ksym;
extern void tcp_cong_avoid_ai(struct tcp_sock *tp, u32 w, u32 acked) __ksym;

static __always_inline u32 cc_jiffies(void)
{
	return (u32)bpf_jiffies64();
}

static __always_inline u64 cc_ktime_ns(void)
{
	return bpf_ktime_get_ns();
}

static __always_inline u32 cc_random(void)
{
	return bpf_get_prandom_u32();
}

/* An ACK for what had been received up to rcv_nxt, now. */
static __always_inline void cc_send_ack(struct sock *sk, u32 rcv_nxt)
{
	bpf_tcp_send_ack(sk, rcv_nxt);
}

/* Gives the socket to the kernel's own reno for good. 0, and then the private state is no longer ours; or an error. */
static __always_inline long cc_hand_to_reno(struct sock *sk)
{
	const int sol_tcp = 6, tcp_congestion = 13;
	char name[CCA_NAME_LEN] = "reno";

	return bpf_setsockopt(sk, sol_tcp, tcp_congestion, name, sizeof(name));
}

static __always_inline struct cca_trace *cc_trace_storage(struct sock *sk)
{
	return bpf_sk_storage_get(&cca_trace_map, sk, NULL, 0);
}

/* net.ipv4.tcp_pacing_{ss,ca}_ratio of the socket's namespace. */
static __always_inline u32 cc_pacing_ss_percent(const struct sock *sk)
{
	return sk->__sk_common.skc_net.net->ipv4.sysctl_tcp_pacing_ss_ratio;
}

static __always_inline u32 cc_pacing_ca_percent(const struct sock *sk)
{
	return sk->__sk_common.skc_net.net->ipv4.sysctl_tcp_pacing_ca_ratio;
}

#endif /* CCA_HOST */

#define min(a, b)          ((a) < (b) ? (a) : (b))
#define max(a, b)          ((a) > (b) ? (a) : (b))
#define clamp(v, lo, hi)   min(max(v, lo), hi)
#define DIV_ROUND_UP(n, d) (((n) + (d)-1) / (d))

#define USEC_PER_MSEC 1000UL
#define USEC_PER_SEC  1000000UL
#define NSEC_PER_USEC 1000UL

/* icsk_ca_priv holds this many bytes (include/net/inet_connection_sock.h). */
#define CC_PRIV_SIZE       104
#define CC_PRIV_FITS(type) _Static_assert(sizeof(type) <= CC_PRIV_SIZE, "private state exceeds icsk_ca_priv")

static __always_inline struct tcp_sock *tcp_sk(const struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

static __always_inline struct inet_connection_sock *inet_csk(const struct sock *sk)
{
	return (struct inet_connection_sock *)sk;
}

/* Private state; copied from the listener into an accepted child, so init must set every member. */
static __always_inline void *inet_csk_ca(const struct sock *sk)
{
	return (void *)inet_csk(sk)->icsk_ca_priv;
}

/* Sequence numbers and clocks wrap: compare by signed difference (include/net/tcp.h, include/linux/jiffies.h). */
static __always_inline int before(u32 a, u32 b)
{
	return (s32)(a - b) < 0;
}
#define after(a, b) before(b, a)

static __always_inline int tcp_in_slow_start(const struct tcp_sock *tp)
{
	return tp->snd_cwnd < tp->snd_ssthresh;
}

/* Slow start, up to ssthresh: true when it takes all that was acknowledged, otherwise *acked is what avoidance gets. */
static __always_inline int cc_slow_start(struct tcp_sock *tp, u32 *acked)
{
	if (!tcp_in_slow_start(tp))
		return 0;
	*acked = tcp_slow_start(tp, *acked);
	return !*acked;
}

/* enum tcp_ca_state */
static __always_inline u8 cc_ca_state(const struct sock *sk)
{
	return cc_bitfield(inet_csk(sk), icsk_ca_state);
}

/* tcp_is_cwnd_limited(), include/net/tcp.h, 6.1+: in slow start cwnd may grow to twice what was used. */
static __always_inline int tcp_is_cwnd_limited(const struct tcp_sock *tp)
{
	if (cc_bitfield(tp, is_cwnd_limited))
		return 1;
	if (tcp_in_slow_start(tp))
		return tp->snd_cwnd < 2 * tp->max_packets_out;
	return 0;
}

/* tcp_packets_in_flight(), include/net/tcp.h */
static __always_inline u32 tcp_packets_in_flight(const struct tcp_sock *tp)
{
	return tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;
}

/* tcp_min_rtt(), include/net/tcp.h: the kernel's windowed minimum in us, ~0 = no sample. */
static __always_inline u32 tcp_min_rtt(const struct tcp_sock *tp)
{
	return tp->rtt_min.s[0].v;
}

/* Turns the kernel's own pacing on unless a qdisc paces already. */
static __always_inline void cc_need_pacing(struct sock *sk)
{
	if (sk->sk_pacing_status == SK_PACING_NONE)
		sk->sk_pacing_status = SK_PACING_NEEDED;
}

/* usecs_to_jiffies(): rounded up. */
static __always_inline u32 cc_us_to_jiffies(u32 us)
{
	u32 jiffy_us = USEC_PER_SEC / HZ;

	return ((u64)us + jiffy_us - 1) / jiffy_us;
}

/*
 * The socket's trace, or NULL when nobody records it. The trace names whom it is from: when the kernel's own algorithm
 * has taken over, it publishes nothing, and what is there no longer says anything about the socket.
 */
static __always_inline struct cca_trace *cc_trace(struct sock *sk)
{
	struct cca_trace *trace = cc_trace_storage(sk);

	if (trace)
		trace->publisher = (u32)(unsigned long)inet_csk(sk)->icsk_ca_ops;
	return trace;
}

/*
 * Ends a publication. A trace is created zeroed: an algorithm without bounds leaves them 0, which the recording turns
 * into "none" together with CCA_UNBOUNDED_*; updates tells the collector that the algorithm has published at all.
 */
static __always_inline void cc_trace_done(struct cca_trace *trace)
{
	trace->updates++;
}

/* A packet count over an interval as bit/s of payload. */
static __always_inline u64 cc_bps(u64 pkts, u32 mss, u64 interval_us)
{
	return interval_us ? pkts * mss * 8 * USEC_PER_SEC / interval_us : 0;
}

#endif /* CCACTL_CC_BPF_H */
