/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A link as crates/link has it, for a queue discipline of the kernel: a buffer with drop-tail or CoDel, and behind it a
 * transmitter of one rate. All in the link's own time: what has left by a moment has left, however late the kernel asks
 * for it. crates/native/tests/link_queue.rs compares it with crates/link, packet by packet.
 *
 * The caller has the packets. It says where the slot of a packet is (link_slot()), and hands out, in their order, those
 * that have left; a slot that is free again may be used for a packet link_slots() further on.
 */
#ifndef CCACTL_LINK_QUEUE_BPF_H
#define CCACTL_LINK_QUEUE_BPF_H

#include "ccactl_abi.h"
#include "roots.bpf.h"

/* What became of a packet, in its due_ns: it waits or is in transmission, CoDel dropped it, or else its last bit has left then. */
#define LINK_INSIDE  0
#define LINK_DROPPED (~0ULL)

/* RFC 8289 section 5.5: intervals after which a drop rate is not taken up again. */
#define LINK_FORGET_AFTER_INTERVALS 16

/* Packets that one call deals with; more have left only where the kernel was late by as many transmissions. */
#define LINK_AT_ONCE 4096

/* One packet. */
struct link_slot {
	u64 since_ns;
	u64 due_ns;
	u32 bytes;
};

enum link_codel_stage {
	LINK_CODEL_FRESH = 0, /* the transmitter is free and has looked at no packet yet */
	LINK_CODEL_FIRST,     /* the first drop of a dropping was made: the next packet leaves */
	LINK_CODEL_MORE,      /* a further one was */
};

static __always_inline struct link_slot *link_slot(struct cca_link_state *link, u64 number);

/* The control law, interval / sqrt(count). The interval is below 3 s, so its square fits. */
static __always_inline u64 link_codel_gap(const struct cca_link_config *config, u32 count)
{
	return cc_sqrt64(config->codel_interval_ns * config->codel_interval_ns / (count ?: 1));
}

static __always_inline void link_codel_begin(const struct cca_link_config *config, struct cca_link_state *link, u64 now)
{
	u32 gained = link->codel_count - link->codel_last_count;
	u64 since = now > link->codel_drop_next_ns ? now - link->codel_drop_next_ns : 0;
	int recent = since < LINK_FORGET_AFTER_INTERVALS * config->codel_interval_ns;

	link->codel_dropping = 1;
	link->codel_count = gained > 1 && recent ? gained : 1;
	link->codel_drop_next_ns = now + link_codel_gap(config, link->codel_count);
	link->codel_last_count = link->codel_count;
}

/* Section 5.6: whether the delay has been above the target for an interval. The packet is out of the queue already. */
static __always_inline int link_codel_may_drop(const struct cca_link_config *config, struct cca_link_state *link,
					       u64 now, u64 since_ns)
{
	if (now - since_ns < config->codel_target_ns || link->waiting_bytes <= config->codel_mtu_bytes) {
		link->codel_first_above_ns = 0;
		return 0;
	}
	if (!link->codel_first_above_ns)
		link->codel_first_above_ns = now + config->codel_interval_ns;
	return now >= link->codel_first_above_ns;
}

/* Section 5.5 for one packet after the other: whether this one is dropped. */
static __always_inline int link_codel_drops(const struct cca_link_config *config, struct cca_link_state *link, u64 now,
					    u64 since_ns)
{
	u32 stage = link->codel_stage;
	int may_drop = link_codel_may_drop(config, link, now, since_ns);

	link->codel_stage = LINK_CODEL_FRESH;
	if (stage == LINK_CODEL_FIRST)
		return 0;
	if (stage == LINK_CODEL_FRESH && !link->codel_dropping) {
		if (!may_drop)
			return 0;
		link_codel_begin(config, link, now);
		link->codel_stage = LINK_CODEL_FIRST;
		return 1;
	}
	if (stage == LINK_CODEL_MORE && may_drop)
		link->codel_drop_next_ns += link_codel_gap(config, link->codel_count);
	link->codel_dropping = may_drop;
	if (!may_drop || now < link->codel_drop_next_ns)
		return 0;
	link->codel_count++;
	link->codel_stage = LINK_CODEL_MORE;
	return 1;
}

/* The queue was empty when the transmitter looked. */
static __always_inline void link_codel_idle(struct cca_link_state *link)
{
	link->codel_first_above_ns = 0;
	link->codel_dropping = 0;
	link->codel_stage = LINK_CODEL_FRESH;
}

/* Class of a time, as ccactl_host::quantiles::Classes<6> has it; the mask is for the verifier. */
static __always_inline u32 link_class(u64 ns)
{
	u32 bits = cc_fls64(ns);
	u32 doublings = bits > CCA_LINK_CLASS_BITS + 1 ? bits - CCA_LINK_CLASS_BITS - 1 : 0;

	return ((doublings << CCA_LINK_CLASS_BITS) + (u32)(ns >> doublings)) & (CCA_LINK_CLASSES - 1);
}

static __always_inline void link_times_add(struct cca_link_times *times, u64 ns)
{
	times->counts[link_class(ns)]++;
	times->sum_ns += ns;
	if (ns > times->max_ns)
		times->max_ns = ns;
}

/* Rounded up, so that the rate is never exceeded. */
static __always_inline u64 link_transmission_ns(const struct cca_link_config *config, u32 bytes)
{
	u64 units = bytes * 8000000000ULL;

	return (units + config->rate_bps - 1) / config->rate_bps;
}

/* The last bit of the packet in transmission has left. */
static __always_inline void link_complete(struct cca_link_state *link, struct link_slot *sent)
{
	sent->due_ns = link->end_ns;
	link->sent_packets++;
	link->sent_bytes += link->sending_bytes;
	if (link->back_to_back) {
		link->busy_bytes += link->sending_bytes;
		link->busy_ns += link->end_ns - link->free_ns;
	}
	link->free_ns = link->end_ns;
	link->sending_bytes = 0;
}

/* The transmitter is free and a packet waits: it leaves, or CoDel drops it. */
static __always_inline void link_take(const struct cca_link_config *config, struct cca_link_state *link,
				      struct link_slot *slot)
{
	u64 start_ns = link->free_ns;

	/* In one nanosecond a bit leaves first, and then a packet comes: the queue was empty, but the link never idle. */
	link->back_to_back = link->sent_packets && slot->since_ns <= start_ns;
	if (slot->since_ns >= start_ns) {
		start_ns = slot->since_ns;
		link_codel_idle(link);
	}
	link->next++;
	link->waiting_bytes -= slot->bytes;
	if (config->codel_interval_ns && link_codel_drops(config, link, start_ns, slot->since_ns)) {
		slot->due_ns = LINK_DROPPED;
		link->dropped_early_packets++;
		return;
	}
	link_times_add(&link->sojourn, start_ns - slot->since_ns);
	link->sending_bytes = slot->bytes;
	link->end_ns = start_ns + link_transmission_ns(config, slot->bytes);
}

/* One thing that has happened by now; 0 when there is none. */
static __always_inline int link_step(const struct cca_link_config *config, struct cca_link_state *link, u64 now)
{
	struct link_slot *slot;

	if (link->sending_bytes) {
		if (link->end_ns > now)
			return 0;
		slot = link_slot(link, link->next - 1);
		if (!slot)
			return 0;
		link_complete(link, slot);
		return 1;
	}
	if (link->next == link->tail)
		return 0;
	slot = link_slot(link, link->next);
	if (!slot)
		return 0;
	link_take(config, link, slot);
	return 1;
}

/* Whether a packet that arrives now finds room; all that has happened by now must be known (link_step()). */
static __always_inline int link_has_room(const struct cca_link_config *config, struct cca_link_state *link, u32 bytes)
{
	u64 packets = link->tail - link->next + (link->sending_bytes ? 1 : 0);

	if (config->limit_packets)
		return packets < config->limit_packets;
	return link->waiting_bytes + link->sending_bytes + bytes <= config->limit_bytes;
}

/* A packet arrives: the slot that it gets, or nothing when it is refused. The queue that it found counts. */
static __always_inline struct link_slot *link_arrive(const struct cca_link_config *config, struct cca_link_state *link,
						     u64 now, u32 bytes)
{
	struct link_slot *slot = NULL;
	u64 queued_bytes;

	link->offered_packets++;
	if (link->tail - link->out >= config->slots)
		link->without_slot_packets++;
	else if (link_has_room(config, link, bytes))
		slot = link_slot(link, link->tail);
	else
		link->dropped_full_packets++;
	if (slot) {
		slot->since_ns = now;
		slot->due_ns = LINK_INSIDE;
		slot->bytes = bytes;
		link->tail++;
		link->waiting_bytes += bytes;
	}
	queued_bytes = link->waiting_bytes + link->sending_bytes;
	link->queue_sum_bytes += queued_bytes;
	if (queued_bytes > link->queue_max_bytes)
		link->queue_max_bytes = queued_bytes;
	return slot;
}

#endif
