// SPDX-License-Identifier: GPL-2.0
/*
 * The TCP sockets of the reader's network namespace, one struct row each: what TCP_INFO does not tell. Mirrored by
 * crates/loader/tests/common/state.rs, which compiles this file.
 */
#include "kernel_types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>

char LICENSE[] SEC("license") = "GPL";

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
} __attribute__((preserve_access_index));

struct bpf_iter__tcp {
	struct bpf_iter_meta *meta;
	struct sock_common *sk_common;
} __attribute__((preserve_access_index));

struct row {
	u64 pacing_rate_Bps;
	u64 ops;
	u64 first_of_priv; /* of icsk_ca_priv */
	u32 pacing_status;
	u32 cwnd_pkts;
	u32 ssthresh_pkts;
	u32 cwnd_cnt;
	u32 packets_out;
	u32 in_flight_pkts;
	u32 mss_bytes;
	u32 srtt_us; /* eighths */
	u32 min_rtt_us;
	u32 ca_state;
	u32 state;
	u16 local_port;
	u16 remote_port;
};

SEC("iter/tcp")
int sockets(struct bpf_iter__tcp *ctx)
{
	struct sock_common *common = ctx->sk_common;
	struct tcp_sock *tp;
	struct sock *sk;
	struct row row = {};

	/* The iterator ends with a call without a socket. */
	if (!common)
		return 0;
	tp = bpf_skc_to_tcp_sock(common);
	if (!tp)
		return 0;
	sk = (struct sock *)tp;
	row.pacing_rate_Bps = sk->sk_pacing_rate;
	row.ops = (unsigned long)tp->inet_conn.icsk_ca_ops;
	row.first_of_priv = tp->inet_conn.icsk_ca_priv[0];
	row.pacing_status = sk->sk_pacing_status;
	row.cwnd_pkts = tp->snd_cwnd;
	row.ssthresh_pkts = tp->snd_ssthresh;
	row.cwnd_cnt = tp->snd_cwnd_cnt;
	row.packets_out = tp->packets_out;
	row.in_flight_pkts = tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;
	row.mss_bytes = tp->mss_cache;
	row.srtt_us = tp->srtt_us;
	row.min_rtt_us = tp->rtt_min.s[0].v;
	row.ca_state = BPF_CORE_READ_BITFIELD(&tp->inet_conn, icsk_ca_state);
	row.state = sk->__sk_common.skc_state;
	row.local_port = sk->__sk_common.skc_num;
	row.remote_port = bpf_ntohs(sk->__sk_common.skc_dport);
	bpf_seq_write(ctx->meta->seq, &row, sizeof(row));
	return 0;
}
