/* SPDX-License-Identifier: GPL-2.0 */
/*
 * BBRv2: what the path looked like when the packets acknowledged now were sent.
 *
 * Google's kernel stores with each packet how many were in flight and how many had been lost. Mainline stores with
 * each packet only tp->delivered of its sending, and returns it as rs->prior_delivered. That number moves only when an
 * ACK is processed, so all packets sent between two ACKs share it, and it identifies their burst:
 *
 *   end of an ACK      open an entry {key = tp->delivered, lost = tp->lost}
 *   start of the next  close it: in_flight = rs->prior_in_flight, the flight after the last packet of the burst
 *   an ACK of a packet of that burst: look the entry up by rs->prior_delivered
 *
 * Compared with a stamp on each packet, in_flight is too large by what the same burst sent after the packet, and lost
 * is exact unless a timer marked losses within the burst.
 *
 * The slots are addressed by key >> shift, with shift such that the ring spans two windows. Several bursts then share a
 * slot when the window exceeds 256 packets: the first sets lost, the last in_flight, an error below 1 % of the window.
 */
#ifndef CCACTL_BBR2_RING_BPF_H
#define CCACTL_BBR2_RING_BPF_H

#include "bbr2_state.bpf.h"

static __always_inline struct bbr2_burst *bbr2_ring_slot(struct bbr2 *b, u32 key, u32 shift)
{
	return &b->ring[(key >> shift) & (BBR2_RING_SLOTS - 1)];
}

static __always_inline int bbr2_ring_matches(const struct bbr2_burst *burst, u32 key, u32 shift)
{
	return burst->used && burst->key >> shift == key >> shift;
}

/* Packets leave from now on with this key. */
static __always_inline void bbr2_ring_open(struct bbr2 *b, const struct bbr2_now *now)
{
	u32 key = now->delivered;
	struct bbr2_burst *burst;
	u32 shift = b->ring_shift;

	if (((u64)BBR2_RING_SLOTS << shift) < 2ULL * now->cwnd && shift < BBR2_RING_MAX_SHIFT)
		b->ring_shift = ++shift;
	burst = bbr2_ring_slot(b, key, shift);
	b->ring_key = key;
	if (!bbr2_ring_matches(burst, key, shift))
		burst->lost = now->lost;
	/* A duplicate ACK leaves tp->delivered as it was: still the same burst, whose largest flight counts. */
	if (!burst->used || burst->key != key)
		burst->in_flight = 0;
	burst->key = key;
	burst->limited = b->rate_limited;
	burst->used = 1;
}

/* An ACK has arrived: the open burst is complete. */
static __always_inline void bbr2_ring_close(struct bbr2 *b, u32 in_flight)
{
	struct bbr2_burst *burst = bbr2_ring_slot(b, b->ring_key, b->ring_shift);

	if (burst->used && burst->key == b->ring_key && burst->in_flight < in_flight)
		burst->in_flight = in_flight;
}

/* A timer has marked losses: packets that leave after it must not inherit them. */
static __always_inline void bbr2_ring_skip_losses(struct bbr2 *b, const struct bbr2_now *now)
{
	struct bbr2_burst *burst = bbr2_ring_slot(b, b->ring_key, b->ring_shift);

	if (burst->used && burst->key == b->ring_key)
		burst->lost = now->lost;
}

/*
 * The burst of a packet, or NULL: overwritten, or sent before init. Entries made before the last widening of the slots
 * are still where the finer address puts them.
 */
static __always_inline struct bbr2_burst *bbr2_ring_find(struct bbr2 *b, u32 key)
{
	u32 shift = b->ring_shift;
	struct bbr2_burst *burst = bbr2_ring_slot(b, key, shift);

	if (bbr2_ring_matches(burst, key, shift))
		return burst;
	if (!shift)
		return NULL;
	shift--;
	burst = bbr2_ring_slot(b, key, shift);
	return bbr2_ring_matches(burst, key, shift) ? burst : NULL;
}

#endif /* CCACTL_BBR2_RING_BPF_H */
