// SPDX-License-Identifier: GPL-2.0
/*
 * Samples and events of TCP sockets into a ring buffer.
 *
 *   tcp_probe             a segment has arrived on an established socket, nothing of it is processed yet -> sample
 *   inet_sock_set_state   -> ESTABLISHED: open;  a connection -> CLOSE: close, with the final totals
 *
 * Filter and rate are decided here, per socket, so that user space sees only what becomes a row. Each recorder loads
 * its own instance of this object; only cca_trace_map is shared. Loaded by aya: no extern symbols.
 */
#include "kernel_types.h"
#include "ccactl_abi.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include "socket.bpf.h"
#include "trace_map.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* include/net/tcp_states.h */
#define TCP_ESTABLISHED 1
#define TCP_SYN_SENT    2
#define TCP_SYN_RECV    3
#define TCP_CLOSE       7
#define TCP_LISTEN      10

#define NSEC_PER_USEC 1000ULL

/* Filter and rate of this recorder. */
const volatile struct cca_record_config config = {};

/* Bytes in the ring from which on user space is woken; below, its own timer collects them. */
const volatile u32 wakeup_bytes = 64 * 1024;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 16 * 1024 * 1024); /* set anew by the recorder */
} rows SEC(".maps");

/* Rows lost, by enum cca_drop. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, CCA_DROP_REASONS);
	__type(key, u32);
	__type(value, u64);
} drops SEC(".maps");

struct rate_state {
	u64 sampled_ns;
};

/* Time of a socket's last sample, kept unless every ACK is wanted. */
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct rate_state);
} rate_states SEC(".maps");

static __always_inline void count_drop(u32 reason)
{
	u64 *count = bpf_map_lookup_elem(&drops, &reason);

	if (count)
		(*count)++;
}

/* Not skc_num, which a socket gives back before its state becomes CLOSE. */
static __always_inline u16 local_port(struct tcp_sock *tp)
{
	return bpf_ntohs(tp->inet_conn.icsk_inet.inet_sport);
}

static __always_inline int is_wanted(struct sock *sk, struct tcp_sock *tp)
{
	if (config.port && local_port(tp) != config.port && bpf_ntohs(sk->__sk_common.skc_dport) != config.port)
		return 0;
	if (config.netns && sk->__sk_common.skc_net.net->ns.inum != config.netns)
		return 0;
	return !config.cgroup_id || cca_is_below(sk, config.cgroup_id, config.cgroup_level);
}

/* Whether the socket's next sample is due; if so, starts its next interval. */
static __always_inline int is_due(struct sock *sk, struct tcp_sock *tp, u64 now_ns)
{
	struct rate_state *state;
	u64 interval_ns;

	if (config.every == CCA_EVERY_ACK)
		return 1;
	state = bpf_sk_storage_get(&rate_states, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	if (!state) {
		count_drop(CCA_DROP_NO_STORAGE);
		return 0;
	}
	if (config.every == CCA_EVERY_RTT)
		interval_ns = (tp->srtt_us >> 3) * NSEC_PER_USEC;
	else
		interval_ns = config.interval_ns;
	if (now_ns - state->sampled_ns < interval_ns)
		return 0;
	state->sampled_ns = now_ns;
	return 1;
}

static __always_inline void fill_addresses(struct cca_sample *row, struct sock *sk, struct tcp_sock *tp)
{
	row->sport = local_port(tp);
	row->dport = bpf_ntohs(sk->__sk_common.skc_dport);
	row->family = cca_addresses_of(sk, row->saddr, row->daddr);
}

static __always_inline void fill_window(struct cca_sample *row, struct sock *sk, struct tcp_sock *tp)
{
	row->pacing_rate_Bps = sk->sk_pacing_rate;
	row->delivery_pkts = tp->rate_delivered;
	row->delivery_interval_us = tp->rate_interval_us;
	row->cwnd_pkts = tp->snd_cwnd;
	row->ssthresh_pkts = tp->snd_ssthresh;
	row->inflight_pkts = tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;
	row->srtt_us = tp->srtt_us >> 3;
	row->rtt_us = tp->rack.rtt_us;
	row->min_rtt_us = tp->rtt_min.s[0].v;
	row->mss_bytes = tp->mss_cache;
	row->ca_state = BPF_CORE_READ_BITFIELD(&tp->inet_conn, icsk_ca_state);
	if (tp->app_limited)
		row->flags |= CCA_FLAG_APP_LIMITED;
	if (BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited))
		row->flags |= CCA_FLAG_CWND_LIMITED;
}

static __always_inline void fill_totals(struct cca_sample *row, struct tcp_sock *tp)
{
	u64 sent = tp->bytes_sent, retrans = tp->bytes_retrans, acked = tp->bytes_acked;

	row->bytes_sent = sent;
	row->bytes_retrans = retrans;
	/* The kernel's count holds a byte for SYN and FIN each; payload cannot be more than was sent for the first
	 * time. */
	row->bytes_acked = sent >= retrans && acked > sent - retrans ? sent - retrans : acked;
	row->retrans_pkts = tp->total_retrans;
	row->lost_pkts = tp->lost;
	row->delivered_pkts = tp->delivered;
	row->delivered_ce_pkts = tp->delivered_ce;
}

/*
 * Creates the socket's trace when it is the first to ask, which makes the algorithm publish from now on. What a
 * predecessor has published is not the state of the algorithm that the row names.
 */
static __always_inline void fill_trace(struct cca_sample *row, struct sock *sk, const void *ops)
{
	struct cca_trace *trace = bpf_sk_storage_get(&cca_trace_map, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);

	if (!trace || !trace->updates || trace->publisher != (u32)(unsigned long)ops)
		return;
	__builtin_memcpy(&row->trace, trace, sizeof(row->trace));
	row->flags |= CCA_FLAG_TRACE;
}

static __always_inline void submit(struct sock *sk, struct tcp_sock *tp, u64 now_ns, u8 event)
{
	struct cca_sample *row = bpf_ringbuf_reserve(&rows, sizeof(*row), 0);
	u64 flags;

	if (!row) {
		count_drop(CCA_DROP_RING_FULL);
		return;
	}
	__builtin_memset(row, 0, sizeof(*row));
	row->time_ns = now_ns;
	row->flow_id = bpf_get_socket_cookie(sk);
	row->cgroup_id = sk->sk_cgrp_data.cgroup->kn->id;
	row->netns = sk->__sk_common.skc_net.net->ns.inum;
	row->event = event;
	fill_addresses(row, sk, tp);
	fill_window(row, sk, tp);
	fill_totals(row, tp);
	fill_trace(row, sk, tp->inet_conn.icsk_ca_ops);
	cca_algorithm_of(tp, row->algorithm);

	/* A wake-up per row would cost more than the row. */
	flags = bpf_ringbuf_query(&rows, BPF_RB_AVAIL_DATA) >= wakeup_bytes ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
	bpf_ringbuf_submit(row, flags);
}

SEC("tp_btf/tcp_probe")
int BPF_PROG(on_segment, struct sock *sk)
{
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);
	u64 now_ns;

	/* With nothing outstanding the segment acknowledges nothing: a receiver's socket, or an idle sender. */
	if (!tp || !tp->packets_out || !tp->bytes_sent || !is_wanted(sk, tp))
		return 0;
	now_ns = bpf_ktime_get_ns();
	if (is_due(sk, tp, now_ns))
		submit(sk, tp, now_ns, CCA_EVENT_SAMPLE);
	return 0;
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(on_state, struct sock *sk, int old_state, int new_state)
{
	struct tcp_sock *tp;
	u8 event;

	if (new_state == TCP_ESTABLISHED)
		event = CCA_EVENT_OPEN;
	else if (new_state == TCP_CLOSE && old_state != TCP_LISTEN && old_state != TCP_SYN_SENT &&
		 old_state != TCP_SYN_RECV)
		event = CCA_EVENT_CLOSE;
	else
		return 0;
	tp = bpf_skc_to_tcp_sock(sk);
	if (tp && is_wanted(sk, tp))
		submit(sk, tp, bpf_ktime_get_ns(), event);
	return 0;
}
