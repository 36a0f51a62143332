/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel types that our programs touch, and of each only the members in use. Members are found by name through
 * CO-RE (preserve_access_index), so their order and the gaps between them do not matter. In the native build the same
 * declarations are plain structs. Bit fields are the exception: CO-RE finds their byte but not their bits in a plain
 * access, so read them with cc_bitfield(). Widths are those of Linux 6.1 - 6.18 (include/net/sock.h,
 * include/linux/tcp.h, include/net/inet_connection_sock.h).
 */
#ifndef CCACTL_KERNEL_TYPES_H
#define CCACTL_KERNEL_TYPES_H

typedef unsigned char __u8;
typedef signed char __s8;
typedef unsigned short __u16;
typedef short __s16;
typedef unsigned int __u32;
typedef int __s32;
typedef unsigned long long __u64;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u64 __be64;
typedef __u32 __wsum;
typedef __u16 __sum16;
typedef __u8 u8;
typedef __s8 s8;
typedef __u16 u16;
typedef __s16 s16;
typedef __u32 u32;
typedef __s32 s32;
typedef __u64 u64;
typedef __s64 s64;

#ifndef NULL
#define NULL ((void *)0)
#endif

#ifndef CCA_HOST
/* include/uapi/linux/bpf.h: the values in use; stable ABI. */
enum {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_SK_STORAGE = 24,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_RB_NO_WAKEUP = 1U << 0,
	BPF_RB_FORCE_WAKEUP = 1U << 1,
	BPF_RB_AVAIL_DATA = 0,
	BPF_F_NO_PREALLOC = 1U << 0,
	BPF_F_CLONE = 1U << 9,
	BPF_ANY = 0,
	BPF_NOEXIST = 1,
	BPF_SK_STORAGE_GET_F_CREATE = 1U << 0,
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
#endif

struct ns_common {
	unsigned int inum;
};

struct netns_ipv4 {
	int sysctl_tcp_pacing_ss_ratio; /* percent */
	int sysctl_tcp_pacing_ca_ratio;
};

struct net {
	struct ns_common ns;
	struct netns_ipv4 ipv4;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct in6_addr {
	union {
		__u8 u6_addr8[16];
		__be32 u6_addr32[4];
	} in6_u;
};

struct kernfs_node {
	__u64 id;
};

struct cgroup {
	int level;
	struct kernfs_node *kn;
	struct cgroup *ancestors[]; /* 6.1+ */
};

struct sock_cgroup_data {
	struct cgroup *cgroup;
};

struct sock_common {
	__be32 skc_daddr;
	__be32 skc_rcv_saddr;
	__be16 skc_dport;
	__u16 skc_num;
	unsigned short skc_family;
	volatile unsigned char skc_state;
	possible_net_t skc_net;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
};

struct sock {
	struct sock_common __sk_common;
	u32 sk_pacing_status;         /* enum sk_pacing */
	unsigned long sk_pacing_rate; /* bytes/s */
	unsigned long sk_max_pacing_rate;
	unsigned int sk_gso_max_size;
	u8 sk_pacing_shift;
	struct sock_cgroup_data sk_cgrp_data;
};

struct inet_sock {
	struct sock sk;
	__be16 inet_sport;
};

struct tcp_congestion_ops;

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	const struct tcp_congestion_ops *icsk_ca_ops;
	/* cc_bitfield() only */
	__u8 icsk_ca_state : 5, icsk_ca_initialized : 1, icsk_ca_setsockopt : 1, icsk_ca_dst_locked : 1;
	struct {
		__u8 pending;
	} icsk_ack;
#ifdef CCA_GUARD
	u64 guard_before[4]; /* native build with AddressSanitizer: not to be touched */
#endif
	u64 icsk_ca_priv[13]; /* 104 bytes */
#ifdef CCA_GUARD
	u64 guard_after[4];
#endif
};

struct minmax_sample {
	u32 t;
	u32 v;
};

struct minmax {
	struct minmax_sample s[3];
};

struct tcp_rack {
	u64 mstamp;
	u32 rtt_us;
};

/* include/linux/tcp.h: what the last segment carried. */
struct tcp_options_received {
	u32 rcv_tsval;
	u32 rcv_tsecr;
	u16 saw_tstamp : 1, tstamp_ok : 1; /* cc_bitfield() only */
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	struct tcp_options_received rx_opt;
	u32 snd_una;
	u32 snd_nxt;
	u32 snd_wnd;
	u32 mss_cache;
	u32 rcv_nxt;
	u64 tcp_mstamp; /* us, refreshed once per packet received or sent */
	u64 tcp_wstamp_ns;
	u64 tcp_clock_cache;
	u32 srtt_us; /* us << 3 */
	struct minmax rtt_min;
	u32 packets_out;
	u32 retrans_out;
	u32 max_packets_out;
	u32 cwnd_usage_seq;
	u32 lsndtime; /* jiffies of the last data packet sent */
	u32 snd_ssthresh;
	u32 snd_cwnd;
	u32 snd_cwnd_cnt;
	u32 snd_cwnd_clamp;
	u32 snd_cwnd_used;
	u32 snd_cwnd_stamp;
	u32 prior_cwnd;
	u32 prr_delivered;
	u32 prr_out;
	u32 delivered;
	u32 delivered_ce;
	u32 lost;
	u32 app_limited; /* delivered + in flight when the application ran dry, 0 = not limited */
	u64 first_tx_mstamp;
	u64 delivered_mstamp;
	u32 rate_delivered;
	u32 rate_interval_us;
	u32 lost_out;
	u32 sacked_out;
	u32 total_retrans;
	u64 bytes_sent;
	u64 bytes_retrans;
	u64 bytes_acked;
	u64 bytes_received;
	u32 data_segs_out;
	u32 undo_marker;
	u32 high_seq;
	u8 ecn_flags;
	u8 is_cwnd_limited : 1, tcp_usec_ts : 1; /* cc_bitfield() only; the second 6.7+ */
	struct tcp_rack rack;
};

/* include/net/tcp.h */
struct rate_sample {
	u64 prior_mstamp;
	u32 prior_delivered;
	u32 prior_delivered_ce;
	s32 delivered;
	s32 delivered_ce;
	long interval_us;
	u32 snd_interval_us;
	u32 rcv_interval_us;
	long rtt_us;
	int losses;
	u32 acked_sacked;
	u32 prior_in_flight;
	u32 last_end_seq;
	_Bool is_app_limited;
	_Bool is_retrans;
	_Bool is_ack_delayed;
};

struct ack_sample {
	u32 pkts_acked;
	s32 rtt_us;
	u32 in_flight;
};

#ifndef CCA_HOST
#pragma clang attribute pop
#endif

enum tcp_ca_event {
	CA_EVENT_TX_START = 0,
	CA_EVENT_CWND_RESTART = 1,
	CA_EVENT_COMPLETE_CWR = 2,
	CA_EVENT_LOSS = 3,
	CA_EVENT_ECN_NO_CE = 4,
	CA_EVENT_ECN_IS_CE = 5,
};

enum tcp_ca_state {
	TCP_CA_Open = 0,
	TCP_CA_Disorder = 1,
	TCP_CA_CWR = 2,
	TCP_CA_Recovery = 3,
	TCP_CA_Loss = 4,
};

/* Flags of in_ack_event, include/net/tcp.h. */
enum tcp_ca_ack_event_flags {
	CA_ACK_SLOWPATH = 1,
	CA_ACK_WIN_UPDATE = 2,
	CA_ACK_ECE = 4,
};

/* Flags of tcp_congestion_ops, include/net/tcp.h. */
#define TCP_CONG_NON_RESTRICTED 1
#define TCP_CONG_NEEDS_ECN      2
/* From Linux 7.0 on (commit 100f946b8d44 and the one after it). Older kernels refuse a table that has them. */
#define TCP_CONG_NEEDS_ACCECN        4  /* the SYN asks for Accurate ECN (RFC 9768) */
#define TCP_CONG_ECT_1_NEGOTIATION   8  /* and the handshake leaves as ECT(1) */
#define TCP_CONG_NO_FALLBACK_RFC3168 16 /* a peer with classic ECN gets none */
/* What a sender for L4S queues asks for (RFC 9331 sections 4.1 and 4.2). */
#define TCP_CONG_L4S                                                                                                   \
	(TCP_CONG_NEEDS_ECN | TCP_CONG_NEEDS_ACCECN | TCP_CONG_ECT_1_NEGOTIATION | TCP_CONG_NO_FALLBACK_RFC3168)

/* tp->ecn_flags, include/net/tcp_ecn.h (net/ipv4/tcp_input.c before 6.18); the same values in 6.1 - 7.3. */
#define TCP_ECN_OK         1
#define TCP_ECN_QUEUE_CWR  2
#define TCP_ECN_DEMAND_CWR 4
#define TCP_ECN_ACCECN     16 /* AccECN negotiated, 6.18; unused before */

/* icsk_ack.pending, include/net/inet_connection_sock.h */
#define ICSK_ACK_TIMER 2  /* an ACK is being delayed */
#define ICSK_ACK_NOW   16 /* send one right after this packet */

enum sk_pacing {
	SK_PACING_NONE = 0,
	SK_PACING_NEEDED = 1,
	SK_PACING_FQ = 2,
};

#define TCP_INFINITE_SSTHRESH 0x7fffffff

/*
 * Our side of struct tcp_congestion_ops. libbpf matches members by name and leaves out what a kernel does not know
 * only when it is zero here, so newer members can be added without losing older kernels.
 */
struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void (*set_state)(struct sock *sk, u8 new_state);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event ev);
	void (*in_ack_event)(struct sock *sk, u32 flags);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	u32 (*min_tso_segs)(struct sock *sk);
	void (*cong_control)(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs);
	u32 (*undo_cwnd)(struct sock *sk);
	u32 (*sndbuf_expand)(struct sock *sk);
	char name[16];
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
	u32 flags;
};

#endif /* CCACTL_KERNEL_TYPES_H */
