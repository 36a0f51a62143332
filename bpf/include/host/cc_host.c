// SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0
/* The native build's stand-ins for the kernel's functions: see cc_host.h. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cc.bpf.h"
#include "exp.bpf.h"
#include "fixed.bpf.h"

__thread struct cc_host_sock *cc_host_current;

#ifdef CCA_GUARD
/* The run-time library's own, <sanitizer/asan_interface.h>. */
void __asan_poison_memory_region(const volatile void *start, unsigned long size);
const char *__asan_default_options(void);

/* Leaks are no matter here, and to look for them needs ptrace, which containers often refuse. */
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}
#endif

/* From now on whoever touches the bytes before or after the private state of this socket is reported. */
void cc_host_guard(struct cc_host_sock *hs)
{
#ifdef CCA_GUARD
	struct inet_connection_sock *icsk = &hs->tp.inet_conn;

	__asan_poison_memory_region(icsk->guard_before, sizeof(icsk->guard_before));
	__asan_poison_memory_region(icsk->guard_after, sizeof(icsk->guard_after));
#else
	(void)hs;
#endif
}

void cc_host_enter(struct cc_host_sock *hs)
{
	cc_host_current = hs;
}

void *cc_host_storage_get(const struct cc_host_map *map, struct sock *sk, int create)
{
	struct cc_host_sock *hs = (struct cc_host_sock *)sk;
	struct cc_host_storage *slot;

	for (slot = hs->storage; slot; slot = slot->next)
		if (slot->map == map)
			return slot->value;
	if (!create || hs->storage_fails)
		return NULL;
	slot = calloc(1, sizeof(*slot) + map->value_size);
	if (!slot)
		return NULL;
	slot->map = map;
	slot->next = hs->storage;
	hs->storage = slot;
	return slot->value;
}

void cc_host_storage_delete(const struct cc_host_map *map, struct sock *sk)
{
	struct cc_host_storage **link = &((struct cc_host_sock *)sk)->storage;

	for (; *link; link = &(*link)->next) {
		struct cc_host_storage *slot = *link;

		if (slot->map != map)
			continue;
		*link = slot->next;
		free(slot);
		return;
	}
}

/* An element of a map that sockets share: the value, and behind it the key. */
struct cc_host_shared {
	struct cc_host_shared *next;
	const struct cc_host_shared_map *map;
	const struct cc_host_sock *creator;
	u64 value[];
};

/* Those of the sockets of this thread. */
static __thread struct cc_host_shared *cc_host_elements;

static struct cc_host_shared **cc_host_shared_find(const struct cc_host_shared_map *map, const void *key)
{
	struct cc_host_shared **link = &cc_host_elements;

	for (; *link; link = &(*link)->next)
		if ((*link)->map == map && !memcmp((char *)(*link)->value + map->value_size, key, map->key_size))
			break;
	return link;
}

void *cc_host_shared_get(const struct cc_host_shared_map *map, const void *key)
{
	struct cc_host_shared *element = *cc_host_shared_find(map, key);

	return element ? element->value : NULL;
}

long cc_host_shared_add(const struct cc_host_shared_map *map, const void *key, const void *value)
{
	struct cc_host_shared **link = cc_host_shared_find(map, key);
	struct cc_host_shared *element;

	if (*link || cc_host_current->storage_fails)
		return -1;
	element = malloc(sizeof(*element) + map->value_size + map->key_size);
	if (!element)
		return -1;
	element->next = NULL;
	element->map = map;
	element->creator = cc_host_current;
	memcpy(element->value, value, map->value_size);
	memcpy((char *)element->value + map->value_size, key, map->key_size);
	*link = element;
	return 0;
}

static void cc_host_shared_remove(struct cc_host_shared **link)
{
	struct cc_host_shared *element = *link;

	*link = element->next;
	free(element);
}

long cc_host_shared_delete(const struct cc_host_shared_map *map, const void *key)
{
	struct cc_host_shared **link = cc_host_shared_find(map, key);

	if (!*link)
		return -1;
	cc_host_shared_remove(link);
	return 0;
}

/* What the socket has of its own, and what it has added to shared maps. */
void cc_host_storage_free(struct cc_host_sock *hs)
{
	struct cc_host_shared **link = &cc_host_elements;

	while (hs->storage) {
		struct cc_host_storage *slot = hs->storage;

		hs->storage = slot->next;
		free(slot);
	}
	while (*link) {
		if ((*link)->creator == hs)
			cc_host_shared_remove(link);
		else
			link = &(*link)->next;
	}
}

u32 tcp_reno_ssthresh(struct sock *sk)
{
	return max(tcp_sk(sk)->snd_cwnd / 2, 2U);
}

u32 tcp_reno_undo_cwnd(struct sock *sk)
{
	return max(tcp_sk(sk)->snd_cwnd, tcp_sk(sk)->prior_cwnd);
}

/* Takes cwnd up to ssthresh; returns the acknowledged packets that were not needed for that. */
u32 tcp_slow_start(struct tcp_sock *tp, u32 acked)
{
	u32 cwnd = min(tp->snd_cwnd + acked, tp->snd_ssthresh);

	acked -= cwnd - tp->snd_cwnd;
	tp->snd_cwnd = min(cwnd, tp->snd_cwnd_clamp);
	return acked;
}

/* One packet more per w acknowledged ones; credit beyond w (after a fall of w) is worth one packet only. */
void tcp_cong_avoid_ai(struct tcp_sock *tp, u32 w, u32 acked)
{
	if (tp->snd_cwnd_cnt >= w) {
		tp->snd_cwnd_cnt = 0;
		tp->snd_cwnd++;
	}
	tp->snd_cwnd_cnt += acked;
	if (tp->snd_cwnd_cnt >= w && w) {
		u32 delta = tp->snd_cwnd_cnt / w;

		tp->snd_cwnd_cnt -= delta * w;
		tp->snd_cwnd += delta;
	}
	tp->snd_cwnd = min(tp->snd_cwnd, tp->snd_cwnd_clamp);
}

void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	(void)ack;
	if (!tcp_is_cwnd_limited(tp))
		return;
	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked);
}

/* Layout, for the test that compares it with the Rust mirrors. */
struct cc_host_field {
	const char *name;
	u32 offset;
	u32 size;
};

#define FIELD(type, member)                                                                                            \
	{                                                                                                              \
#type "." #member, offsetof(struct type, member), sizeof(((struct type *)0)->member)                   \
	}
#define SIZE_OF(type)                                                                                                  \
	{                                                                                                              \
#type, 0, sizeof(struct type)                                                                          \
	}

const struct cc_host_field cc_host_fields[] = {
    SIZE_OF(sock_common),
    SIZE_OF(sock),
    FIELD(sock, sk_pacing_status),
    FIELD(sock, sk_pacing_rate),
    FIELD(sock, sk_max_pacing_rate),
    FIELD(sock, sk_gso_max_size),
    FIELD(sock, sk_pacing_shift),
    SIZE_OF(inet_connection_sock),
    FIELD(inet_connection_sock, icsk_ca_ops),
    FIELD(inet_connection_sock, icsk_ack),
    FIELD(inet_connection_sock, icsk_ca_priv),
    SIZE_OF(tcp_options_received),
    SIZE_OF(tcp_sock),
    FIELD(tcp_sock, rx_opt),
    FIELD(tcp_sock, snd_una),
    FIELD(tcp_sock, snd_nxt),
    FIELD(tcp_sock, snd_wnd),
    FIELD(tcp_sock, mss_cache),
    FIELD(tcp_sock, rcv_nxt),
    FIELD(tcp_sock, tcp_mstamp),
    FIELD(tcp_sock, tcp_wstamp_ns),
    FIELD(tcp_sock, tcp_clock_cache),
    FIELD(tcp_sock, srtt_us),
    FIELD(tcp_sock, rtt_min),
    FIELD(tcp_sock, packets_out),
    FIELD(tcp_sock, retrans_out),
    FIELD(tcp_sock, max_packets_out),
    FIELD(tcp_sock, cwnd_usage_seq),
    FIELD(tcp_sock, lsndtime),
    FIELD(tcp_sock, snd_ssthresh),
    FIELD(tcp_sock, snd_cwnd),
    FIELD(tcp_sock, snd_cwnd_cnt),
    FIELD(tcp_sock, snd_cwnd_clamp),
    FIELD(tcp_sock, snd_cwnd_used),
    FIELD(tcp_sock, snd_cwnd_stamp),
    FIELD(tcp_sock, prior_cwnd),
    FIELD(tcp_sock, prr_delivered),
    FIELD(tcp_sock, prr_out),
    FIELD(tcp_sock, delivered),
    FIELD(tcp_sock, delivered_ce),
    FIELD(tcp_sock, lost),
    FIELD(tcp_sock, app_limited),
    FIELD(tcp_sock, first_tx_mstamp),
    FIELD(tcp_sock, delivered_mstamp),
    FIELD(tcp_sock, rate_delivered),
    FIELD(tcp_sock, rate_interval_us),
    FIELD(tcp_sock, lost_out),
    FIELD(tcp_sock, sacked_out),
    FIELD(tcp_sock, total_retrans),
    FIELD(tcp_sock, bytes_sent),
    FIELD(tcp_sock, bytes_retrans),
    FIELD(tcp_sock, bytes_acked),
    FIELD(tcp_sock, bytes_received),
    FIELD(tcp_sock, data_segs_out),
    FIELD(tcp_sock, undo_marker),
    FIELD(tcp_sock, high_seq),
    FIELD(tcp_sock, ecn_flags),
    FIELD(tcp_sock, rack),
    SIZE_OF(rate_sample),
    FIELD(rate_sample, prior_mstamp),
    FIELD(rate_sample, prior_delivered),
    FIELD(rate_sample, prior_delivered_ce),
    FIELD(rate_sample, delivered),
    FIELD(rate_sample, delivered_ce),
    FIELD(rate_sample, interval_us),
    FIELD(rate_sample, snd_interval_us),
    FIELD(rate_sample, rcv_interval_us),
    FIELD(rate_sample, rtt_us),
    FIELD(rate_sample, losses),
    FIELD(rate_sample, acked_sacked),
    FIELD(rate_sample, prior_in_flight),
    FIELD(rate_sample, last_end_seq),
    FIELD(rate_sample, is_app_limited),
    FIELD(rate_sample, is_retrans),
    FIELD(rate_sample, is_ack_delayed),
    SIZE_OF(ack_sample),
    FIELD(ack_sample, pkts_acked),
    FIELD(ack_sample, rtt_us),
    FIELD(ack_sample, in_flight),
    SIZE_OF(tcp_congestion_ops),
    FIELD(tcp_congestion_ops, ssthresh),
    FIELD(tcp_congestion_ops, cong_avoid),
    FIELD(tcp_congestion_ops, set_state),
    FIELD(tcp_congestion_ops, cwnd_event),
    FIELD(tcp_congestion_ops, in_ack_event),
    FIELD(tcp_congestion_ops, pkts_acked),
    FIELD(tcp_congestion_ops, min_tso_segs),
    FIELD(tcp_congestion_ops, cong_control),
    FIELD(tcp_congestion_ops, undo_cwnd),
    FIELD(tcp_congestion_ops, sndbuf_expand),
    FIELD(tcp_congestion_ops, name),
    FIELD(tcp_congestion_ops, init),
    FIELD(tcp_congestion_ops, release),
    FIELD(tcp_congestion_ops, flags),
    SIZE_OF(cc_host_sock),
    FIELD(cc_host_sock, jiffies),
    FIELD(cc_host_sock, ktime_ns),
    FIELD(cc_host_sock, random_state),
    FIELD(cc_host_sock, storage),
    FIELD(cc_host_sock, trace),
    FIELD(cc_host_sock, hz),
    FIELD(cc_host_sock, recording),
    FIELD(cc_host_sock, storage_fails),
    FIELD(cc_host_sock, app_limited_fixed),
    FIELD(cc_host_sock, acks_sent),
    FIELD(cc_host_sock, ack_rcv_nxt),
    FIELD(cc_host_sock, mptcp_token),
    {NULL, 0, 0},
};

/* fixed.bpf.h, for its own tests. */
u32 cc_host_cube_root(u64 a);
u32 cc_host_sqrt(u64 a);
u32 cc_host_window_max(struct cc_window *window, u32 length, u32 at, u32 value);

u32 cc_host_cube_root(u64 a)
{
	return cc_cube_root(a);
}

u32 cc_host_sqrt(u64 a)
{
	return cc_sqrt64(a);
}

u32 cc_host_window_max(struct cc_window *window, u32 length, u32 at, u32 value)
{
	return cc_window_max(window, length, at, value);
}

/* exp.bpf.h, likewise. */
u32 cc_host_exp_neg(u32 x_micro);

u32 cc_host_exp_neg(u32 x_micro)
{
	return cc_exp_neg(x_micro);
}
