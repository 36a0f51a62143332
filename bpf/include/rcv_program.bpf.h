/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel's side of a receiving algorithm: from the socket to struct rcv_seen, and from a limit to its window. */
#ifndef CCACTL_RCV_PROGRAM_BPF_H
#define CCACTL_RCV_PROGRAM_BPF_H

#include "receivers.bpf.h"

#define NSEC_PER_USEC    1000UL
#define RCV_MIN_SEGMENTS 2U /* a window below that makes the sender wait for its timer */
#define RCV_LATE_JIFFIES 1U

/* include/uapi/linux/bpf.h: stable ABI. */
enum {
	BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB = 4,
	BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB = 5,
	BPF_SOCK_OPS_HDR_OPT_LEN_CB = 14,
};

/* The members of the context that we read; CO-RE finds their offsets. */
struct bpf_sock_ops {
	__u32 op;
	__u32 bpf_sock_ops_cb_flags;
	struct bpf_sock *sk;
} __attribute__((preserve_access_index));

struct rb_node___rcv;

/* include/linux/tcp.h, include/net/inet_connection_sock.h: what a receiver looks at. */
struct tcp_sock___rcv {
	u32 rcv_nxt;
	u32 window_clamp;
	u8 tcp_usec_ts : 1; /* 6.7+ */
	struct {
		u32 rcv_tsecr;
		u16 tstamp_ok : 1;
	} rx_opt;
	struct {
		struct rb_node___rcv *rb_node;
	} out_of_order_queue;
} __attribute__((preserve_access_index));

struct inet_connection_sock___rcv {
	struct {
		u32 lrcvtime; /* jiffies when the last data came */
		u16 rcv_mss;
	} icsk_ack;
} __attribute__((preserve_access_index));

/* Of the cgroup that this instance is attached to; set by the loader. */
const volatile u64 rcv_cgroup_id = 0;

static __always_inline int rcv_is_nearest(struct sock *sk)
{
	return rcv_nearest_id(sk) == rcv_cgroup_id;
}

/* From now on the kernel asks before each segment of the connection. */
static __always_inline void rcv_ask_for_acks(struct bpf_sock_ops *ctx)
{
	if (ctx->op == BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB || ctx->op == BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB)
		bpf_sock_ops_cb_flags_set((void *)ctx, ctx->bpf_sock_ops_cb_flags | BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG);
}

static __always_inline void rcv_see(struct tcp_sock___rcv *tp, struct rcv_seen *seen)
{
	struct inet_connection_sock___rcv *icsk = (void *)tp;
	int in_us = bpf_core_field_exists(tp->tcp_usec_ts) && BPF_CORE_READ_BITFIELD(tp, tcp_usec_ts);
	u64 now_us = bpf_ktime_get_ns() / NSEC_PER_USEC;

	*seen = (struct rcv_seen){
	    .now_us = now_us,
	    .rcv_nxt = tp->rcv_nxt,
	    .tick_us = in_us ? 1 : USEC_PER_MSEC,
	    .clock = in_us ? now_us : now_us / USEC_PER_MSEC,
	    .mss = icsk->icsk_ack.rcv_mss,
	    .has_hole = !!tp->out_of_order_queue.rb_node,
	    .is_late = (u32)bpf_jiffies64() - icsk->icsk_ack.lrcvtime > RCV_LATE_JIFFIES,
	};
	if (BPF_CORE_READ_BITFIELD(tp, rx_opt.tstamp_ok))
		seen->echo = tp->rx_opt.rcv_tsecr;
}

/* The kernel's autotuning raises the clamp with its buffer, so the same limit may have to be set again. */
static __always_inline void rcv_offer(struct bpf_sock_ops *ctx, struct bpf_sock *sk, struct tcp_sock___rcv *tp,
				      const struct rcv_own *own, const struct rcv_now *now)
{
	struct cca_offer *offer;
	int bytes;

	if (own->limit == RCV_UNLIMITED)
		return;
	bytes = clamp(own->limit, RCV_MIN_SEGMENTS * now->mss, 0x7fffffffU);
	offer = bpf_sk_storage_get(&offers, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	if (!offer)
		return;
	offer->cgroup_id = rcv_cgroup_id;
	offer->limit_bytes = bytes;
	offer->rtt_us = now->srtt_us;
	offer->min_rtt_us = now->min_rtt_us;
	if ((u32)bytes != tp->window_clamp)
		bpf_setsockopt(ctx, SOL_TCP, TCP_WINDOW_CLAMP, &bytes, sizeof(bytes));
}

#endif /* CCACTL_RCV_PROGRAM_BPF_H */
