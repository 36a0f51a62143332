// SPDX-License-Identifier: GPL-2.0
/*
 * A bottleneck as a queue discipline: the buffer, drop-tail or CoDel, and the rate of a scenario's link, in the kernel
 * (`--link bpf`). Delay, jitter and loss of the wire are netem's, one cable further on. Needs Linux 6.16 or later with
 * CONFIG_NET_SCH_BPF (net/sched/bpf_qdisc.c). One object is one transmitter: state and name are its own.
 */
#include "kernel_types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "ccactl_abi.h"

char LICENSE[] SEC("license") = "GPL";

/* include/linux/netdevice.h and include/net/net_namespace.h */
#define NET_XMIT_SUCCESS 0
#define NET_XMIT_DROP    1

/* include/uapi/linux/bpf.h */
struct bpf_iter_num {
	__u64 __opaque[1];
} __attribute__((aligned(8)));

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sk_buff {
	unsigned int len;
};

struct qdisc_skb_head {
	u32 qlen;
};

struct gnet_stats_queue {
	u32 backlog;
	u32 drops;
};

struct Qdisc {
	struct qdisc_skb_head q;
	struct gnet_stats_queue qstats;
};

/* net/sched/bpf_qdisc.c: the list of packets that are freed once the lock of the queue is given back. */
struct bpf_sk_buff_ptr {
	struct sk_buff *skb;
};

struct nlattr;
struct netlink_ext_ack;

struct Qdisc_ops {
	char id[16]; /* IFNAMSIZ */
	int (*enqueue)(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free);
	struct sk_buff *(*dequeue)(struct Qdisc *sch);
	int (*init)(struct Qdisc *sch, struct nlattr *arg, struct netlink_ext_ack *extack);
	void (*reset)(struct Qdisc *sch);
	void (*destroy)(struct Qdisc *sch);
};

#pragma clang attribute pop

extern void bpf_qdisc_skb_drop(struct sk_buff *skb, struct bpf_sk_buff_ptr *to_free_list) __ksym;
extern void bpf_kfree_skb(struct sk_buff *skb) __ksym;
extern void bpf_qdisc_watchdog_schedule(struct Qdisc *sch, u64 expire, u64 delta_ns) __ksym;
extern void bpf_qdisc_bstats_update(struct Qdisc *sch, const struct sk_buff *skb) __ksym;

#include "link_queue.bpf.h"

/* clang 14 forgets the tag of a member that points to a struct, and not of one that points to a name of it. */
typedef struct sk_buff sk_buff_t;

struct packet {
	struct link_slot slot;
	u32 pad;
	sk_buff_t __kptr *skb;
};

/* Packet number n is at n modulo the size, which user space sets. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct packet);
} packets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct cca_link_config);
} config SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct cca_link_state);
} state SEC(".maps");

/* The power of two, less one. */
const volatile u32 slot_mask = 0;

static __always_inline const struct cca_link_config *the_config(void)
{
	u32 key = 0;

	return bpf_map_lookup_elem(&config, &key);
}

static __always_inline struct cca_link_state *the_state(void)
{
	u32 key = 0;

	return bpf_map_lookup_elem(&state, &key);
}

static __always_inline struct packet *packet(u64 number)
{
	u32 key = (u32)number & slot_mask;

	return bpf_map_lookup_elem(&packets, &key);
}

static __always_inline struct link_slot *link_slot(struct cca_link_state *link, u64 number)
{
	return (struct link_slot *)packet(number);
}

static __always_inline void advance(const struct cca_link_config *cfg, struct cca_link_state *link, u64 now)
{
	bpf_repeat(LINK_AT_ONCE)
	{
		if (!link_step(cfg, link, now))
			break;
	}
}

SEC("struct_ops/link_enqueue")
int BPF_PROG(link_enqueue, struct sk_buff *skb, struct Qdisc *sch, struct bpf_sk_buff_ptr *to_free)
{
	u64 now = bpf_ktime_get_ns();
	const struct cca_link_config *cfg;
	struct cca_link_state *link;
	struct packet *place;
	struct sk_buff *old;
	u32 len;
	u64 number;

	cfg = the_config();
	link = the_state();
	if (!cfg || !link)
		goto drop;
	advance(cfg, link, now);
	len = skb->len;
	number = link->tail;
	if (!link_arrive(cfg, link, now, len + cfg->overhead_bytes))
		goto drop;
	place = packet(number);
	if (!place)
		goto drop;
	sch->q.qlen++;
	sch->qstats.backlog += len;
	old = bpf_kptr_xchg(&place->skb, skb);
	if (old)
		bpf_qdisc_skb_drop(old, to_free);
	return NET_XMIT_SUCCESS;
drop:
	sch->qstats.drops++;
	bpf_qdisc_skb_drop(skb, to_free);
	return NET_XMIT_DROP;
}

SEC("struct_ops/link_dequeue")
struct sk_buff *BPF_PROG(link_dequeue, struct Qdisc *sch)
{
	u64 now = bpf_ktime_get_ns(), due_ns;
	struct sk_buff *skb = NULL;
	const struct cca_link_config *cfg;
	struct cca_link_state *link;
	struct packet *place;

	cfg = the_config();
	link = the_state();
	if (!cfg || !link)
		return NULL;
	advance(cfg, link, now);
	bpf_repeat(LINK_AT_ONCE)
	{
		if (link->out == link->tail)
			return NULL;
		place = packet(link->out);
		if (!place)
			return NULL;
		due_ns = place->slot.due_ns;
		if (due_ns == LINK_INSIDE)
			break;
		link->out++;
		skb = bpf_kptr_xchg(&place->skb, NULL);
		if (!skb)
			continue;
		sch->q.qlen--;
		sch->qstats.backlog -= skb->len;
		if (due_ns == LINK_DROPPED) {
			sch->qstats.drops++;
			bpf_kfree_skb(skb);
			continue;
		}
		link_times_add(&link->lateness, now > due_ns ? now - due_ns : 0);
		bpf_qdisc_bstats_update(sch, skb);
		return skb;
	}
	bpf_qdisc_watchdog_schedule(sch, link->end_ns, 0);
	return NULL;
}

SEC("struct_ops/link_init")
int BPF_PROG(link_init, struct Qdisc *sch, struct nlattr *arg, struct netlink_ext_ack *extack)
{
	return 0;
}

SEC("struct_ops/link_reset")
void BPF_PROG(link_reset, struct Qdisc *sch)
{
	const struct cca_link_config *cfg;
	struct cca_link_state *link;
	struct sk_buff *skb;
	struct packet *place;

	cfg = the_config();
	link = the_state();
	if (!cfg || !link)
		return;
	bpf_repeat(cfg->slots)
	{
		if (link->out == link->tail)
			break;
		place = packet(link->out++);
		if (!place)
			break;
		skb = bpf_kptr_xchg(&place->skb, NULL);
		if (skb)
			bpf_kfree_skb(skb);
	}
	/* Empty and idle, as the queue of the device is from now on. */
	link->out = link->next = link->tail;
	link->waiting_bytes = 0;
	link->sending_bytes = 0;
	sch->q.qlen = 0;
	sch->qstats.backlog = 0;
}

SEC("struct_ops/link_destroy")
void BPF_PROG(link_destroy, struct Qdisc *sch)
{
}

SEC(".struct_ops.link")
struct Qdisc_ops ccactl_link = {
    .id = "ccactl_link",
    .enqueue = (void *)link_enqueue,
    .dequeue = (void *)link_dequeue,
    .init = (void *)link_init,
    .reset = (void *)link_reset,
    .destroy = (void *)link_destroy,
};
