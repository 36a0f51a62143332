/* SPDX-License-Identifier: GPL-2.0 */
/* Which sockets are wanted, and what a recorder learns of one each time it looks at it. */
#ifndef CCACTL_COLLECT_FLOW_BPF_H
#define CCACTL_COLLECT_FLOW_BPF_H

#include "collect_maps.bpf.h"

#define NSEC_PER_USEC 1000ULL

/* include/net/tcp.h: bits of ecn_flags. The first was called TCP_ECN_OK. */
#define TCP_ECN_MODE_RFC3168 1
#define TCP_ECN_MODE_ACCECN  16

/* Members that no algorithm needs, so kernel_types.h and its native twin do not have them. */
struct tcp_sock___collect {
	u16 total_rto; /* retransmission timeouts; since 6.7 */
	u32 rcv_wnd;   /* offered last */
	u8 ecn_flags;
	u32 delivered_ecn_bytes[3]; /* payload by codepoint: ECT(1), ECT(0), CE; since 6.18 */
} __attribute__((preserve_access_index));

struct sock_common___collect {
	unsigned long skc_flags; /* bits of enum sock_flags */
} __attribute__((preserve_access_index));

/* Not skc_num, which a socket gives back before its state becomes CLOSE. */
static __always_inline u16 local_port(struct tcp_sock *tp)
{
	return bpf_ntohs(tp->inet_conn.icsk_inet.inet_sport);
}

/* The filters that a socket passes or not for all its life; the algorithm is not one of them. */
static __always_inline int is_wanted(struct sock *sk, struct tcp_sock *tp)
{
	if (config.port && local_port(tp) != config.port && bpf_ntohs(sk->__sk_common.skc_dport) != config.port)
		return 0;
	if (config.netns && sk->__sk_common.skc_net.net->ns.inum != config.netns)
		return 0;
	if (config.cgroup_id && !cca_is_below(sk, config.cgroup_id, config.cgroup_level))
		return 0;
	return !config.pid || bpf_sk_storage_get(&owned, sk, NULL, 0);
}

static __always_inline int is_wanted_algorithm(const char *name)
{
	char wanted[CCA_NAME_LEN];

	for (int i = 0; i < CCA_NAME_LEN; i++)
		wanted[i] = config.algorithm[i];
	return !wanted[0] || cca_same_name(name, wanted);
}

static __always_inline int has_wanted_algorithm(struct tcp_sock *tp)
{
	char name[CCA_NAME_LEN];

	if (!config.algorithm[0])
		return 1;
	cca_algorithm_of(tp, name);
	return is_wanted_algorithm(name);
}

/*
 * Payload acknowledged. The kernel's count holds a byte for each of SYN and FIN: the first is known when the handshake
 * was seen, the second shows as more than was sent for the first time.
 */
static __always_inline u64 payload_acked(const struct flow_state *flow, struct tcp_sock *tp)
{
	u64 sent = tp->bytes_sent, retrans = tp->bytes_retrans, acked = tp->bytes_acked - flow->syn_bytes;

	return sent >= retrans && acked > sent - retrans ? sent - retrans : acked;
}

/* Timeouts of the socket. The kernel counts them since 6.7; before, `on_ca_state` sees each of them. */
static __always_inline u32 rto_count(const struct flow_state *flow, struct tcp_sock *tp)
{
	struct tcp_sock___collect *kernel = (void *)tp;

	if (bpf_core_field_exists(kernel->total_rto))
		return kernel->total_rto;
	return flow->rto_count + flow->is_rto_due;
}

/* Marked payload by the AccECN option. The kernel's count wraps at 4 GiB. */
static __always_inline u32 delivered_ce_bytes(struct tcp_sock *tp)
{
	struct tcp_sock___collect *kernel = (void *)tp;

	return bpf_core_field_exists(kernel->delivered_ecn_bytes) ? kernel->delivered_ecn_bytes[2] : 0;
}

/* Both bits are set while the handshake has not decided yet; before 6.18 there is no accurate ECN. */
static __always_inline u8 ecn_mode(struct tcp_sock *tp)
{
	struct tcp_sock___collect *kernel = (void *)tp;
	u8 flags = kernel->ecn_flags;

	if (bpf_core_field_exists(kernel->delivered_ecn_bytes) && flags & TCP_ECN_MODE_ACCECN)
		return flags & TCP_ECN_MODE_RFC3168 ? CCA_ECN_OFF : CCA_ECN_ACCURATE;
	return flags & TCP_ECN_MODE_RFC3168 ? CCA_ECN_CLASSIC : CCA_ECN_OFF;
}

/* From now on the socket is known. Its counters begin where the kernel's stand. */
static __always_inline void begin(struct flow_state *flow, struct sock *sk, struct tcp_sock *tp)
{
	__builtin_memset(flow, 0, sizeof(*flow));
	flow->flow_id = bpf_get_socket_cookie(sk);
	flow->cgroup_id = sk->sk_cgrp_data.cgroup->kn->id;
	flow->netns = sk->__sk_common.skc_net.net->ns.inum;
	flow->delivered = tp->delivered;
	flow->delivered_ce = tp->delivered_ce;
	flow->rto_count = rto_count(flow, tp);
	flow->acked_bytes = payload_acked(flow, tp);
}

/*
 * When the last ACK that delivered anything came. The kernel keeps that time, on the clock of the rows, but sets it
 * anew together with first_tx_mstamp when data leave an idle socket; then the newest delivered packet tells: when it
 * was sent, and how long it took.
 */
static __always_inline u64 delivered_ns(struct tcp_sock *tp)
{
	u64 at_us = tp->delivered_mstamp;

	if (at_us == tp->first_tx_mstamp)
		at_us = tp->rack.mstamp + tp->rack.rtt_us;
	return at_us * NSEC_PER_USEC;
}

/*
 * Takes in what has happened since the last look. A look comes with each ACK, before it is processed, and with each
 * change of state: so what one ACK did is seen before the next one, and before a FIN leaves, which would count as
 * delivered as well.
 */
static __always_inline void look(struct flow_state *flow, struct tcp_sock *tp)
{
	u32 delivered = tp->delivered, rtt_us = tp->rack.rtt_us, min_us = tp->rtt_min.s[0].v;
	u64 acked = payload_acked(flow, tp);

	flow->ce_bytes += (u32)(delivered_ce_bytes(tp) - (u32)flow->ce_bytes);
	if (delivered == flow->delivered)
		return;
	flow->delivered = delivered;
	if (rtt_us) {
		flow->rtt_sum_us += rtt_us;
		flow->rtt_samples++;
		/* The kernel's minimum is over all packets of an ACK, and over the handshake, but forgets in time. */
		min_us = min_us < rtt_us ? min_us : rtt_us;
		if (!flow->rtt_min_us || min_us < flow->rtt_min_us)
			flow->rtt_min_us = min_us;
	}
	if (acked > flow->acked_bytes) {
		flow->acked_bytes = acked;
		flow->progress_ns = delivered_ns(tp);
	}
}

/* Whether the socket's next sample is due; if so, starts its next interval. */
static __always_inline int is_due(struct flow_state *flow, struct tcp_sock *tp, u64 now_ns)
{
	u64 interval_ns;

	if (config.every == CCA_EVERY_ACK)
		return 1;
	if (config.every == CCA_EVERY_RTT)
		interval_ns = (tp->srtt_us >> 3) * NSEC_PER_USEC;
	else
		interval_ns = config.interval_ns;
	if (now_ns - flow->sampled_ns < interval_ns)
		return 0;
	flow->sampled_ns = now_ns;
	return 1;
}

#endif /* CCACTL_COLLECT_FLOW_BPF_H */
