/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What every receiving algorithm is told of its connection: pure arithmetic over what has arrived, the same in the
 * kernel and in the native build. rcv.bpf.h fills struct rcv_seen from the socket.
 *
 * The RTT of a receiver is that of RFC 7323 timestamps: the clock now less the echo in the newest segment. Its unit is
 * that of the timestamps, mostly 1 ms. A sender that pauses makes a sample too long; minima and averages bear that.
 */
#ifndef CCACTL_RCV_CORE_BPF_H
#define CCACTL_RCV_CORE_BPF_H

#define RCV_UNLIMITED       0U        /* no bound of ours: what the kernel's buffer allows */
#define RCV_SRTT_SHIFT      3         /* srtt_us_8: eighths */
#define RCV_MAX_RTT_US      60000000U /* a minute: older echoes are of a sender that paused */
#define RCV_MAX_ROUND_BYTES 0x7fffffffU

/* The socket when an acknowledgement is about to leave. */
struct rcv_seen {
	u64 now_us;
	u32 rcv_nxt;
	u32 echo;    /* newest TSecr, in ticks, offset taken off; 0 = no timestamps */
	u32 clock;   /* the same clock now, in ticks */
	u32 tick_us; /* 1000, or 1 */
	u32 mss;     /* largest segment received */
	u8 has_hole; /* something later than rcv_nxt has arrived */
	u8 is_late;  /* the acknowledgement was held back: no RTT */
	u8 pad[2];
};

/* What the core keeps per connection. All zero: nothing has been seen. */
struct rcv_own {
	u64 round_start_us;
	u64 hole_since_us; /* 0 = no hole */
	u32 rcv_nxt;
	u32 echo;
	u32 round_bytes;
	u32 srtt_us_8;
	u32 min_rtt_us; /* of the whole connection, 0 = none yet */
	u32 limit;      /* what the algorithm said last, bytes */
	u8 has_begun;
	u8 pad[7];
};

/* What an algorithm sees. */
struct rcv_now {
	u64 now_us;
	u32 bytes; /* in order, since the last call; not 0 */
	u32 mss;
	u32 rtt_us; /* of this acknowledgement, 0 = none */
	u32 srtt_us;
	u32 min_rtt_us;
	u32 round_bytes; /* of the round that has just ended: received within about srtt_us; 0 = it goes on */
	u32 round_us;    /* how long that one was */
	u8 repaired;     /* a hole was filled after a round trip or more: a retransmission, so there was a loss */
	u8 pad[3];
};

static __always_inline u32 rcv_rtt_us(struct rcv_own *own, const struct rcv_seen *seen)
{
	u64 rtt_us = (u64)(seen->clock - seen->echo) * seen->tick_us;

	if (!seen->echo || seen->echo == own->echo || seen->is_late || rtt_us > RCV_MAX_RTT_US)
		return 0;
	own->echo = seen->echo;
	/* Within the tick of the last acknowledgement: at most one. */
	return max((u32)rtt_us, seen->tick_us);
}

static __always_inline void rcv_take_rtt(struct rcv_own *own, u32 rtt_us)
{
	if (!rtt_us)
		return;
	if (!own->srtt_us_8)
		own->srtt_us_8 = rtt_us << RCV_SRTT_SHIFT;
	else
		own->srtt_us_8 += rtt_us - (own->srtt_us_8 >> RCV_SRTT_SHIFT);
	if (!own->min_rtt_us || rtt_us < own->min_rtt_us)
		own->min_rtt_us = rtt_us;
}

/* A hole that lasts less than a round trip is reordering; a retransmission cannot come earlier. */
static __always_inline u8 rcv_is_repaired(struct rcv_own *own, const struct rcv_seen *seen)
{
	u64 since_us = own->hole_since_us;

	if (seen->has_hole) {
		if (!since_us)
			own->hole_since_us = seen->now_us;
		return 0;
	}
	own->hole_since_us = 0;
	return since_us && own->min_rtt_us && seen->now_us - since_us >= own->min_rtt_us;
}

static __always_inline void rcv_turn_round(struct rcv_own *own, struct rcv_now *now)
{
	u64 length_us = now->now_us - own->round_start_us;

	own->round_bytes = min(own->round_bytes + now->bytes, RCV_MAX_ROUND_BYTES);
	if (!now->srtt_us || length_us < now->srtt_us)
		return;
	now->round_bytes = own->round_bytes;
	now->round_us = min(length_us, (u64)RCV_MAX_RTT_US);
	own->round_bytes = 0;
	own->round_start_us = now->now_us;
}

/* True when new data has arrived, and then *now is filled. */
static __always_inline int rcv_observe(struct rcv_own *own, const struct rcv_seen *seen, struct rcv_now *now)
{
	u32 bytes = seen->rcv_nxt - own->rcv_nxt;

	own->rcv_nxt = seen->rcv_nxt;
	if (!own->has_begun) {
		own->has_begun = 1;
		own->round_start_us = seen->now_us;
		own->echo = seen->echo;
		return 0;
	}
	/* Neither a duplicate nor a FIN that comes alone. */
	if ((s32)bytes <= 0) {
		rcv_is_repaired(own, seen);
		return 0;
	}
	*now = (struct rcv_now){.now_us = seen->now_us, .bytes = bytes, .mss = max(seen->mss, 1U)};
	now->rtt_us = rcv_rtt_us(own, seen);
	rcv_take_rtt(own, now->rtt_us);
	now->srtt_us = own->srtt_us_8 >> RCV_SRTT_SHIFT;
	now->min_rtt_us = own->min_rtt_us;
	now->repaired = rcv_is_repaired(own, seen);
	rcv_turn_round(own, now);
	return 1;
}

#endif /* CCACTL_RCV_CORE_BPF_H */
