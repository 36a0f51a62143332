/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The delay that LEDBAT++ judges by, for its sender (bpf/cc/ledbatpp.bpf.c) and its receiver (bpf/rcv/rledbat.bpf.c):
 *
 *   base             lowest RTT of ten minutes, kept as ten one-minute minima (RFC 6817, sections 4.1 and 4.2)
 *   queueing delay   min(last 4 RTT) - base
 *   GAIN             1 / min(max_divisor, ceil(2 TARGET / base))
 *
 * Minutes are counted from the first sample, and pass while the flow is idle.
 */
#ifndef CCACTL_LEDBAT_DELAY_BPF_H
#define CCACTL_LEDBAT_DELAY_BPF_H

#define LEDBAT_MINUTE_US (60 * USEC_PER_SEC) /* RFC 6817, section 4.1 */
#define LEDBAT_HISTORY   10                  /* BASE_HISTORY of RFC 6817, section 4.2 */

/* All zero is a valid state: no sample. Aligned to four bytes, or it would not fit into a sender's private state. */
struct ledbat_delay {
	u64 minute_us;                     /* start of the current minute of the history */
	u32 minute_min_us[LEDBAT_HISTORY]; /* latest minute first; 0 = none. Constant indices only. */
	u32 recent_us[4];                  /* last RTT samples, latest first; 0 = none. Constant indices only. */
	u32 base_us;                       /* minimum of the history, 0 = none */
} __attribute__((packed, aligned(4)));

/* The smaller of two samples of which 0 means none. */
static __always_inline u32 ledbat_min(u32 a, u32 b)
{
	return min(a - 1, b - 1) + 1;
}

static __always_inline u32 ledbat_current_us(const struct ledbat_delay *d)
{
	return ledbat_min(ledbat_min(d->recent_us[0], d->recent_us[1]), ledbat_min(d->recent_us[2], d->recent_us[3]));
}

static __always_inline u32 ledbat_queue_us(const struct ledbat_delay *d)
{
	u32 current_us = ledbat_current_us(d);

	return current_us > d->base_us ? current_us - d->base_us : 0;
}

static __always_inline u32 ledbat_history_min(const struct ledbat_delay *d)
{
	u32 a = ledbat_min(d->minute_min_us[0], d->minute_min_us[1]);
	u32 b = ledbat_min(d->minute_min_us[2], d->minute_min_us[3]);
	u32 c = ledbat_min(d->minute_min_us[4], d->minute_min_us[5]);
	u32 f = ledbat_min(d->minute_min_us[6], d->minute_min_us[7]);
	u32 e = ledbat_min(d->minute_min_us[8], d->minute_min_us[9]);

	return ledbat_min(ledbat_min(ledbat_min(a, b), ledbat_min(c, f)), e);
}

static __always_inline void ledbat_shift_history(struct ledbat_delay *d)
{
	d->minute_min_us[9] = d->minute_min_us[8];
	d->minute_min_us[8] = d->minute_min_us[7];
	d->minute_min_us[7] = d->minute_min_us[6];
	d->minute_min_us[6] = d->minute_min_us[5];
	d->minute_min_us[5] = d->minute_min_us[4];
	d->minute_min_us[4] = d->minute_min_us[3];
	d->minute_min_us[3] = d->minute_min_us[2];
	d->minute_min_us[2] = d->minute_min_us[1];
	d->minute_min_us[1] = d->minute_min_us[0];
	d->minute_min_us[0] = 0;
}

static __always_inline void ledbat_forget_history(struct ledbat_delay *d, u64 now_us)
{
	d->minute_min_us[0] = d->minute_min_us[1] = d->minute_min_us[2] = d->minute_min_us[3] = 0;
	d->minute_min_us[4] = d->minute_min_us[5] = d->minute_min_us[6] = d->minute_min_us[7] = 0;
	d->minute_min_us[8] = d->minute_min_us[9] = 0;
	d->minute_us = now_us;
}

/* One minute per sample: after a pause of several the next samples catch up, without a loop. */
static __always_inline void ledbat_turn_minute(struct ledbat_delay *d, u64 now_us)
{
	u64 age_us = now_us - d->minute_us;

	if (age_us < LEDBAT_MINUTE_US)
		return;
	if (age_us >= LEDBAT_HISTORY * LEDBAT_MINUTE_US) {
		ledbat_forget_history(d, now_us);
	} else {
		ledbat_shift_history(d);
		d->minute_us += LEDBAT_MINUTE_US;
	}
}

static __always_inline void ledbat_take_rtt(struct ledbat_delay *d, u32 rtt_us, u64 now_us)
{
	d->recent_us[3] = d->recent_us[2];
	d->recent_us[2] = d->recent_us[1];
	d->recent_us[1] = d->recent_us[0];
	d->recent_us[0] = rtt_us;

	ledbat_turn_minute(d, now_us);
	d->minute_min_us[0] = ledbat_min(d->minute_min_us[0], rtt_us);
	d->base_us = ledbat_history_min(d);
}

/* 1 / GAIN */
static __always_inline u32 ledbat_gain_divisor(const struct ledbat_delay *d, u32 target_us, u32 max_divisor)
{
	u32 base_us = max(d->base_us, 1U);
	u64 ratio = ((u64)2 * target_us + base_us - 1) / base_us;

	ratio = min(ratio, (u64)max_divisor);
	return max(ratio, 1ULL);
}

#endif /* CCACTL_LEDBAT_DELAY_BPF_H */
