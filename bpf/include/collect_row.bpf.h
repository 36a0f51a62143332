/* SPDX-License-Identifier: GPL-2.0 */
/* One row: what it holds of its socket, and its way into the ring. */
#ifndef CCACTL_COLLECT_ROW_BPF_H
#define CCACTL_COLLECT_ROW_BPF_H

#include "collect_flow.bpf.h"

/* An event and, with CCA_EVENT_CA_STATE, the state that begins; the kernel stores it after us. */
#define STATE_EVENT(new_state) (CCA_EVENT_CA_STATE | (u32)(new_state) << 8)

/* include/net/sock.h, enum sock_flags: the other side's FIN has come. */
#define SOCK_DONE 1

static __always_inline void fill_window(struct cca_sample *row, struct sock *sk, struct tcp_sock *tp)
{
	row->pacing_rate_bytes_per_s = sk->sk_pacing_rate;
	row->delivery_pkts = tp->rate_delivered;
	row->delivery_interval_us = tp->rate_interval_us;
	row->cwnd_pkts = tp->snd_cwnd;
	row->ssthresh_pkts = tp->snd_ssthresh;
	row->inflight_pkts = tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;
	row->snd_wnd_bytes = tp->snd_wnd;
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

static __always_inline void fill_totals(struct cca_sample *row, struct sock *sk, struct tcp_sock *tp,
					const struct flow_state *flow)
{
	row->bytes_sent = tp->bytes_sent;
	row->bytes_retrans = tp->bytes_retrans;
	row->bytes_acked = payload_acked(flow, tp);
	/* The kernel's count holds a byte for the FIN. */
	row->bytes_received = tp->bytes_received - (((struct sock_common___collect *)sk)->skc_flags >> SOCK_DONE & 1);
	row->retrans_pkts = tp->total_retrans;
	row->rto_count = rto_count(flow, tp);
	row->lost_pkts = tp->lost;
	row->delivered_pkts = tp->delivered;
	row->delivered_ce_pkts = tp->delivered_ce;
	row->delivered_ce_bytes = flow->ce_bytes;
	row->ecn_mode = ecn_mode(tp);
	row->opened_ns = flow->opened_ns;
	row->progress_ns = flow->progress_ns;
	row->rtt_sum_us = flow->rtt_sum_us;
	row->rtt_samples = flow->rtt_samples;
	row->rtt_min_us = flow->rtt_min_us;
}

/* What the socket offers, and the receiving algorithm behind it, if there is one. */
static __always_inline void fill_offer(struct cca_sample *row, struct sock *sk, struct tcp_sock *tp)
{
	struct cca_offer *offer = bpf_sk_storage_get(&offers, sk, NULL, 0);

	row->rcv_wnd_bytes = ((struct tcp_sock___collect *)tp)->rcv_wnd;
	if (!offer)
		return;
	row->rcv_limit_bytes = offer->limit_bytes;
	row->rcv_rtt_us = offer->rtt_us;
	row->rcv_min_rtt_us = offer->min_rtt_us;
}

/*
 * The socket's trace, if its algorithm has published one. Creates it when this recorder is the first to ask, which
 * makes the algorithm publish from now on. What a predecessor has published is not the state of the algorithm that the
 * row names.
 */
static __always_inline struct cca_trace *published_trace(struct sock *sk, struct tcp_sock *tp)
{
	struct cca_trace *trace = bpf_sk_storage_get(&cca_trace_map, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);

	if (!trace || !trace->updates || trace->publisher != (u32)(unsigned long)tp->inet_conn.icsk_ca_ops)
		return NULL;
	return trace;
}

/* Not inlined: each of the programs would hold several copies. */
static __noinline void submit(struct sock *sk, struct tcp_sock *tp, struct flow_state *flow, u64 now_ns, u32 event)
{
	struct cca_trace *trace = published_trace(sk, tp);
	u64 waiting_bytes = bpf_ringbuf_query(&rows, BPF_RB_AVAIL_DATA);
	u64 length = offsetof(struct cca_sample, trace);
	struct cca_sample *row = NULL;
	u8 kind = event;

	/* The verifier wants a constant length, hence two calls. */
	if (kind != CCA_EVENT_SAMPLE || waiting_bytes < sample_limit_bytes) {
		if (trace) {
			length = sizeof(*row);
			row = bpf_ringbuf_reserve(&rows, sizeof(*row), 0);
		} else {
			row = bpf_ringbuf_reserve(&rows, offsetof(struct cca_sample, trace), 0);
		}
	}
	if (!row) {
		count_drop(kind == CCA_EVENT_SAMPLE ? CCA_DROP_RING_FULL_SAMPLES : CCA_DROP_RING_FULL_EVENTS);
		return;
	}
	__builtin_memset(row, 0, offsetof(struct cca_sample, trace));
	if (trace) {
		__builtin_memcpy(&row->trace, trace, sizeof(row->trace));
		row->flags = CCA_FLAG_TRACE;
	}
	row->time_ns = now_ns;
	row->flow_id = flow->flow_id;
	row->cgroup_id = flow->cgroup_id;
	row->netns = flow->netns;
	row->event = kind;
	row->sport = local_port(tp);
	row->dport = bpf_ntohs(sk->__sk_common.skc_dport);
	row->family = cca_addresses_of(sk, row->saddr, row->daddr);
	fill_window(row, sk, tp);
	fill_totals(row, sk, tp, flow);
	fill_offer(row, sk, tp);
	/* What is remembered is the present one but for these two, which are told before it is learned. */
	if (kind == CCA_EVENT_OPEN || kind == CCA_EVENT_ALGORITHM)
		cca_algorithm_of(tp, row->algorithm);
	else
		__builtin_memcpy(row->algorithm, flow->algorithm, CCA_NAME_LEN);
	if (kind == CCA_EVENT_CA_STATE) {
		row->previous_ca_state = row->ca_state;
		row->ca_state = event >> 8;
	}
	if (kind == CCA_EVENT_ALGORITHM)
		__builtin_memcpy(row->previous_algorithm, flow->algorithm, CCA_NAME_LEN);
	/* A wake-up per row would cost more than the row. Two CPUs at once may both miss the mark: then the timer
	 * collects. */
	bpf_ringbuf_submit(row, (waiting_bytes ^ (waiting_bytes + length)) & ~(u64)(wakeup_bytes - 1)
				    ? BPF_RB_FORCE_WAKEUP
				    : BPF_RB_NO_WAKEUP);
	count(CCA_COUNT_ROWS + kind);
	if (!flow->is_counted) {
		flow->is_counted = 1;
		count(CCA_COUNT_FLOWS);
	}
}

#endif /* CCACTL_COLLECT_ROW_BPF_H */
