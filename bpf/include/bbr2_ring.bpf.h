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
 * A slot is for keys of equal key >> shift, with shift such that the ring spans two windows. Several bursts then share
 * a slot when the window exceeds 256 packets: the first sets lost, the last in_flight, an error below 1 % of the
 * window.
 *
 * When the slots are widened, the bursts of the last window are still to be found where they were written. So the wider
 * slots begin behind the newest of the narrower ones, and both are known by where they begin:
 *
 *   slot     ... i-2   i-1    i     i+1     i+2     i+3  ...
 *   key      ... 254   255   256   256/7   258/9   260/1 ...
 *            narrower, until they   wider, from now on: two windows of them fit
 *            are overwritten        before they meet what is still needed
 */
#ifndef CCACTL_BBR2_RING_BPF_H
#define CCACTL_BBR2_RING_BPF_H

#include "bbr2_state.bpf.h"

static __always_inline struct bbr2_burst *bbr2_ring_at(struct bbr2 *b, u32 slot)
{
	return &b->ring[slot & (BBR2_RING_SLOTS - 1)];
}

/* Where a burst of now is written. */
static __always_inline u32 bbr2_ring_slot(const struct bbr2 *b, u32 key)
{
	return (key >> b->ring_shift) + b->ring_offset;
}

static __always_inline int bbr2_ring_matches(const struct bbr2_burst *burst, u32 key, u32 shift)
{
	return burst->used && burst->key >> shift == key >> shift;
}

/* The wider slots begin behind the one that the key has now. */
static __always_inline void bbr2_ring_widen(struct bbr2 *b, u32 key)
{
	u32 newest = bbr2_ring_slot(b, key);

	b->ring_prior_offset = b->ring_offset;
	b->ring_shift++;
	b->ring_offset = newest + 1 - (key >> b->ring_shift);
}

/* Packets leave from now on with this key. */
static __always_inline void bbr2_ring_open(struct bbr2 *b, const struct bbr2_now *now)
{
	u32 key = now->delivered;
	struct bbr2_burst *burst;

	if (((u64)BBR2_RING_SLOTS << b->ring_shift) < 2ULL * now->cwnd && b->ring_shift < BBR2_RING_MAX_SHIFT)
		bbr2_ring_widen(b, key);
	burst = bbr2_ring_at(b, bbr2_ring_slot(b, key));
	b->ring_key = key;
	if (!bbr2_ring_matches(burst, key, b->ring_shift))
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
	struct bbr2_burst *burst = bbr2_ring_at(b, bbr2_ring_slot(b, b->ring_key));

	if (burst->used && burst->key == b->ring_key && burst->in_flight < in_flight)
		burst->in_flight = in_flight;
}

/* A timer has marked losses: packets that leave after it must not inherit them. */
static __always_inline void bbr2_ring_skip_losses(struct bbr2 *b, const struct bbr2_now *now)
{
	struct bbr2_burst *burst = bbr2_ring_at(b, bbr2_ring_slot(b, b->ring_key));

	if (burst->used && burst->key == b->ring_key)
		burst->lost = now->lost;
}

/* The burst of a packet, or NULL: sent before init, or overwritten since. */
static __always_inline struct bbr2_burst *bbr2_ring_find(struct bbr2 *b, u32 key)
{
	struct bbr2_burst *burst = bbr2_ring_at(b, bbr2_ring_slot(b, key));
	u32 prior_shift;

	if (bbr2_ring_matches(burst, key, b->ring_shift))
		return burst;
	if (!b->ring_shift)
		return NULL;
	prior_shift = b->ring_shift - 1;
	burst = bbr2_ring_at(b, (key >> prior_shift) + b->ring_prior_offset);
	return bbr2_ring_matches(burst, key, prior_shift) ? burst : NULL;
}

#endif /* CCACTL_BBR2_RING_BPF_H */
