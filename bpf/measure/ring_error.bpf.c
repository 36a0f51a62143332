// SPDX-License-Identifier: GPL-2.0
/*
 * Measures bbr2_ring.bpf.h: what it says of the moment when a packet left, beside what was. It keeps a ring of its own
 * for every socket, fed as bbr2.bpf.h feeds its own, so it runs beside any algorithm. Attached to functions, which not
 * every kernel lets BPF do: the virtual lab's kernels do.
 *
 *   tcp_rate_skb_sent        a packet leaves                  -> what Google's kernel would store with it
 *   tcp_rate_skb_delivered   one has arrived                  -> is it the one that the rate sample is of?
 *   tcp_rate_gen             the sample of an ACK is complete -> what the ring says of it
 */
#include "cc.bpf.h"
#include "bbr2_no_variant.bpf.h"
#include "bbr2_ring.bpf.h"

#define MAX_PACKETS 65536

/* include/net/tcp.h; in sk_buff.cb. */
struct tcp_skb_cb {
	u32 seq;
	u32 end_seq;
	union {
		struct {
			u16 tcp_gso_segs;
			u16 tcp_gso_size;
		};
	};
} __attribute__((preserve_access_index));

struct sk_buff {
	char cb[48];
} __attribute__((preserve_access_index));

/* What the network was like when a packet left. */
struct sending {
	u32 in_flight; /* this packet among them */
	u32 lost;      /* tp->lost */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_PACKETS);
	__type(key, u64); /* address of the sk_buff */
	__type(value, struct sending);
} sendings SEC(".maps");

/* The packet that the sample of the ACK under way is of. */
struct sampled {
	struct sending truth;
	u32 known; /* 0: none, or none that was seen leaving */
};

CC_STORAGE(sampled_storage, struct sampled);
CC_STORAGE(ring_storage, struct bbr2);

#define ERRORS_BELOW 64  /* bins for an in_flight below the truth, a packet each */
#define ERROR_BINS   512 /* in all; a power of two */
#define SHARES_BELOW 64  /* the same in 1/256 of the truth */
#define SHARE_UNIT   256

/* One value: read by measure/src/bin/ring_error. */
struct ring_errors {
	u64 samples;   /* compared */
	u64 unknown;   /* samples of packets that were not seen leaving: split ones, for instance */
	u64 missed;    /* the ring has no entry */
	u64 in_flight; /* sum of the truth */
	u64 lost_differs;
	u64 by_packets[ERROR_BINS];
	u64 by_share[ERROR_BINS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct ring_errors);
} errors SEC(".maps");

static __always_inline struct tcp_skb_cb *control_block(struct sk_buff *skb)
{
	return (struct tcp_skb_cb *)__builtin_preserve_access_index(&skb->cb[0]);
}

SEC("fentry/tcp_rate_skb_sent")
int BPF_PROG(packet_leaves, struct sock *sk, struct sk_buff *skb)
{
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);
	struct sending now = {};
	u64 key = (u64)skb;

	if (!tp)
		return 0;
	/* Called before the packet is counted (tcp_event_new_data_sent, __tcp_retransmit_skb). */
	now.in_flight = tcp_packets_in_flight(tp) + BPF_CORE_READ(control_block(skb), tcp_gso_segs);
	now.lost = tp->lost;
	bpf_map_update_elem(&sendings, &key, &now, BPF_ANY);
	return 0;
}

SEC("fexit/tcp_rate_skb_delivered")
int BPF_PROG(packet_has_arrived, struct sock *sk, struct sk_buff *skb, struct rate_sample *rs)
{
	struct sampled *sampled;
	struct sending *truth;
	u64 key = (u64)skb;

	/* The kernel takes the packet that left last. */
	if (rs->last_end_seq != BPF_CORE_READ(control_block(skb), end_seq))
		return 0;
	sampled = cc_storage_create(sampled_storage, sk);
	if (!sampled)
		return 0;
	truth = bpf_map_lookup_elem(&sendings, &key);
	sampled->known = truth != NULL;
	if (truth)
		sampled->truth = *truth;
	return 0;
}

static __always_inline u32 bin(s64 error, s64 below)
{
	s64 bin = error + below;
	u32 bounded = bin < 0 ? 0 : bin >= ERROR_BINS ? ERROR_BINS - 1 : bin;

	/* The verifier loses the bounds on the way to the array. */
	barrier_var(bounded);
	return bounded & (ERROR_BINS - 1);
}

static __always_inline void compare(struct ring_errors *sum, const struct bbr2_burst *burst,
				    const struct sending *truth)
{
	s64 error = (s64)burst->in_flight - truth->in_flight;
	u32 packets = bin(error, ERRORS_BELOW);
	s64 magnitude = (error < 0 ? -error : error) * SHARE_UNIT / (truth->in_flight ?: 1);
	u32 share = bin(error < 0 ? -magnitude : magnitude, SHARES_BELOW);

	sum->samples++;
	sum->in_flight += truth->in_flight;
	sum->lost_differs += burst->lost != truth->lost;
	sum->by_packets[packets]++;
	sum->by_share[share]++;
}

SEC("fexit/tcp_rate_gen")
int BPF_PROG(sample_is_complete, struct sock *sk, u32 delivered, u32 lost, _Bool is_sack_reneg, struct rate_sample *rs)
{
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);
	struct sampled *sampled;
	struct bbr2_burst *burst;
	struct bbr2_now now = {};
	struct ring_errors *sum;
	struct bbr2 *b;
	u32 zero = 0;

	if (!tp)
		return 0;
	b = cc_storage_create(ring_storage, sk);
	sampled = cc_storage_create(sampled_storage, sk);
	sum = bpf_map_lookup_elem(&errors, &zero);
	if (!b || !sampled || !sum)
		return 0;
	bbr2_ring_close(b, rs->prior_in_flight);
	if (rs->prior_delivered) {
		burst = bbr2_ring_find(b, rs->prior_delivered);
		if (!sampled->known)
			sum->unknown++;
		else if (!burst)
			sum->missed++;
		else
			compare(sum, burst, &sampled->truth);
	}
	sampled->known = 0;
	now.delivered = tp->delivered;
	now.lost = tp->lost;
	now.cwnd = tp->snd_cwnd;
	bbr2_ring_open(b, &now);
	return 0;
}
