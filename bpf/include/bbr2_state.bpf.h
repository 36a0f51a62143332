/* SPDX-License-Identifier: GPL-2.0 */
/*
 * BBRv2: the state of one connection. It lives in socket storage, because the send ring alone is larger than
 * icsk_ca_priv, which keeps only whether that storage exists.
 *
 * A variant of BBRv2 declares its own members as struct bbr2_variant before it includes this file.
 */
#ifndef CCACTL_BBR2_STATE_BPF_H
#define CCACTL_BBR2_STATE_BPF_H

#include "bbr_common.bpf.h"
#include "bbr2_params.bpf.h"

/*
 *   startup           double the rate per round until the pipe is full
 *   drain             drain the queue that STARTUP left
 *   probe-bw-down     PROBE_BW: drain the queue of a probe, and leave headroom
 *   probe-bw-cruise   PROBE_BW: keep the rate
 *   probe-bw-refill   PROBE_BW: fill the pipe again, for one round
 *   probe-bw-up       PROBE_BW: look for more
 *   probe-rtt         drain the pipe to see the propagation delay
 */
CC_MODES(bbr2_phase, BBR2_STARTUP, BBR2_DRAIN, BBR2_PROBE_BW_DOWN, BBR2_PROBE_BW_CRUISE, BBR2_PROBE_BW_REFILL,
	 BBR2_PROBE_BW_UP, BBR2_PROBE_RTT);

/* To which part of a probe do the ACKs of now belong? They lag by one round behind the sending. */
enum bbr2_ack_phase {
	BBR2_ACKS_NONE,
	BBR2_ACKS_REFILLING,
	BBR2_ACKS_PROBE_STARTING, /* sending faster, ACKs still of packets before */
	BBR2_ACKS_PROBE_FEEDBACK, /* ACKs of the faster sending */
	BBR2_ACKS_PROBE_STOPPING, /* sending slower again, ACKs still of the faster sending */
};

#ifndef BBR2_HAS_VARIANT
CC_TRACE_V0("loss_milli",
	    "lost packets of the last sample's flight, in thousandths of it; -1 = its sending is no longer known");
CC_TRACE_V1("bounds_bits",
	    "sum of: 1 cwnd cut to inflight_hi, 2 to inflight_hi less headroom, 4 to inflight_lo, 8 rate "
	    "follows bw_lo, 16 cwnd used up");
#endif

/* What held the flow back on the last ACK: v1 of the trace. Bits from BBR2_BOUND_VARIANT on belong to a variant. */
enum bbr2_bound {
	BBR2_BOUND_INFLIGHT_HI = 1,   /* cwnd was cut to inflight_hi */
	BBR2_BOUND_HEADROOM = 2,      /* cwnd was cut to inflight_hi less headroom */
	BBR2_BOUND_INFLIGHT_LO = 4,   /* cwnd was cut to inflight_lo */
	BBR2_BOUND_BW_LO = 8,         /* the rate follows bw_lo, not max_bw */
	BBR2_BOUND_CWND_LIMITED = 16, /* the kernel found cwnd used up: it, not pacing, stopped the sending */
	BBR2_BOUND_VARIANT = 32,
};

/* Packets that left between two ACKs; 12 bytes, see bbr2_ring.bpf.h. */
struct bbr2_burst {
	u32 key;            /* tp->delivered while they were sent */
	u32 lost;           /* tp->lost before the first of them */
	u32 in_flight : 30, /* packets in flight after the last of them */
	    limited : 1,    /* sent while rate_limited */
	    used : 1;
};

#define BBR2_RING_SLOTS     512
#define BBR2_RING_MAX_SHIFT 20

struct bbr2 {
	/* Times, us of tp->tcp_mstamp. */
	u64 min_rtt_stamp_us;
	u64 probe_rtt_min_stamp_us;
	u64 probe_rtt_done_us; /* 0: the pipe is not drained yet */
	u64 cycle_stamp_us;    /* start of the wait for the next probe, or of UP */

	/* Rounds, in packets of tp->delivered. */
	u32 next_round_delivered;
	u32 loss_round_delivered;

	/* Path model. */
	u32 min_rtt_us;
	u32 probe_rtt_min_us; /* the shorter window that decides when PROBE_RTT is due */
	u32 bw_max[2];        /* previous and current probing cycle */
	u32 bw_latest;        /* of the current loss round */
	u32 bw_lo;
	u32 inflight_latest;
	u32 inflight_lo;
	u32 inflight_hi;
	u32 full_bw; /* what the bandwidth of STARTUP (v3: and of UP) has to exceed */
	struct bbr_aggregation aggregation;

	/* Probe. */
	u32 probe_wait_us;
	u32 probe_up_count; /* packets to be acked per packet of inflight_hi */
	u32 probe_up_acks;

	/* Recovery. */
	u32 prior_cwnd;
	u32 undo_bw_lo;
	u32 undo_inflight_lo;
	u32 undo_inflight_hi;
	u32 seen_lost; /* tp->lost up to which losses have been noted */

	/* ECN. */
	u32 ecn_alpha;
	u32 seen_delivered_ce;
	u32 round_delivered; /* at the start of the round */
	u32 round_delivered_ce;

	/* Output. */
	u32 pacing_gain;
	u32 cwnd_gain;
	u32 init_cwnd;
	u32 bounds; /* enum bbr2_bound */

	u8 phase; /* enum bbr2_phase */
	u8 ack_phase;
	u8 prev_ca_state;
	u8 round_start;
	u8 loss_round_start;
	u8 full_pipe;
	u8 full_bw_count;
	u8 idle_restart;
	u8 has_rtt;
	u8 probe_rtt_round_done;
	u8 probe_samples; /* the ACKs of now judge a probe */
	u8 probe_too_high;
	u8 stopped_risky_probe;
	u8 rounds_since_probe;
	u8 slope_shift; /* rounds of UP so far: inflight_hi grows by 2^shift per round */
	u8 loss_in_round;
	u8 loss_in_cycle;
	u8 ecn_in_round;
	u8 ecn_in_cycle;
	u8 ecn_eligible;
	u8 startup_ecn_rounds;
	u8 loss_events_in_round;
	u8 tlp_pending; /* a tail-loss probe repaired a loss within this ACK */
	u8 ring_shift;
	u8 rate_limited; /* by PROBE_RTT: what is sent up to limited_until says nothing about the path's rate */
	u8 full_bw_now;  /* v3: the bandwidth has not grown since full_bw was set, for full_bw_rounds */
	u8 drain_rounds; /* v3: rounds of DRAIN so far */
	u8 rounds_in_down;
	u32 limited_until; /* tp->delivered */

	/* Addresses of the send ring: bbr2_ring.bpf.h. */
	u32 ring_key; /* of the burst that may still grow */
	u32 ring_offset;
	u32 ring_prior_offset; /* before the last widening */

	struct bbr2_variant variant;

	struct bbr2_burst ring[BBR2_RING_SLOTS];
};

CC_STORAGE(bbr2_storage, struct bbr2);

/* icsk_ca_priv: all-zero until init has run, which may be after the first ACK (that of an active opener's SYN). */
enum bbr2_presence {
	BBR2_BEFORE_INIT,
	BBR2_RUNNING,
	BBR2_NO_MEMORY, /* no storage: the connection falls back to reno */
};

struct bbr2_priv {
	u32 presence;
};
CC_PRIV_FITS(struct bbr2_priv);

/*
 * The socket at the moment of a callback. The model reads and writes this copy instead of the socket itself: so it can
 * be split into global functions, which the verifier checks one by one, and which older kernels do not let take a
 * socket.
 */
struct bbr2_now {
	u64 us;
	u64 departure_us; /* until the next packet may leave */
	u32 delivered;
	u32 delivered_ce;
	u32 lost;
	u32 in_flight;
	u32 cwnd;     /* in and out */
	u32 ssthresh; /* in and out */
	u32 cwnd_clamp;
	u32 tso_goal; /* packets that leave in one burst */
	u32 ca_state;
	u32 cwnd_limited;
	u32 app_limited;
	u32 pad;
};

/* What one ACK says, after looking up when the acknowledged packets were sent. */
struct bbr2_sample {
	u32 bw;           /* 0: the ACK gives no rate */
	u32 delivered;    /* over the sampling interval */
	u32 delivered_ce; /* of these, with an ECN mark */
	u32 acked;        /* by this ACK, SACK included */
	u32 losses;       /* newly marked by this ACK */
	u32 prior_delivered;
	u32 prior_in_flight;
	u32 tx_in_flight; /* in flight when the newest acked packet left */
	u32 lost;         /* marked since then */
	u32 rtt_us;       /* BBR_NO_RTT: none */
	u8 valid;
	u8 app_limited;
	u8 ack_delayed;
	u8 ring_hit; /* tx_in_flight and lost are from the send ring */
	u32 ece;     /* the ACK carried an ECN echo */
};

static __always_inline struct bbr2 *bbr2_get(struct sock *sk)
{
	struct bbr2_priv *priv = inet_csk_ca(sk);

	if (priv->presence != BBR2_RUNNING)
		return NULL;
	return cc_storage_get(bbr2_storage, sk);
}

/* value x gain, rounded down; overflows only if the result does. */
static __always_inline u64 bbr2_scale(u64 value, u32 gain)
{
	return value / BBR2_UNIT * gain + value % BBR2_UNIT * gain / BBR2_UNIT;
}

static __always_inline int bbr2_in_probe_bw(const struct bbr2 *b)
{
	return b->phase >= BBR2_PROBE_BW_DOWN && b->phase <= BBR2_PROBE_BW_UP;
}

/* In these phases the sending is meant to exceed what is known, so losses do not lower the short-term bounds. */
static __always_inline int bbr2_is_probing(const struct bbr2 *b)
{
	return b->phase == BBR2_STARTUP || b->phase == BBR2_PROBE_BW_REFILL || b->phase == BBR2_PROBE_BW_UP;
}

static __always_inline int bbr2_elapsed(const struct bbr2_now *now, u64 since_us, u64 interval_us)
{
	return now->us > since_us + interval_us;
}

#endif /* CCACTL_BBR2_STATE_BPF_H */
