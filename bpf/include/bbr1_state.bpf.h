/* SPDX-License-Identifier: GPL-2.0 */
/* BBR version 1: constants, tunables, and the state of one connection. bbr.bpf.c has the description. */
#ifndef CCACTL_BBR1_STATE_BPF_H
#define CCACTL_BBR1_STATE_BPF_H

#include "fixed.bpf.h"
#include "bbr_common.bpf.h"

#define BBR_CYCLE_LEN  8 /* phases of PROBE_BW */
#define BBR_CYCLE_RAND 7 /* of them possible at entry: not the one with the low gain */
#define BBR_PHASE_UP   0
#define BBR_PHASE_DOWN 1

/* Rounds for which samples count as app-limited after PROBE_RTT on kernels before 6.4: its own last and the next. */
#define BBR_STALE_ROUNDS 2

/* Gains are in thousandths. */
CC_GAIN(u32, startup_gain, 2885, 1001, 3990, "pacing and window gain of STARTUP; DRAIN paces at its inverse",
	"net/ipv4/tcp_bbr.c");
CC_GAIN(u32, cwnd_gain, 2000, 1000, 3990, "window gain of PROBE_BW", "net/ipv4/tcp_bbr.c");
CC_GAIN(u32, probe_up_gain, 1250, 1000, 3990, "pacing gain of the phase that probes for bandwidth",
	"net/ipv4/tcp_bbr.c");
CC_GAIN(u32, probe_down_gain, 750, 100, 1000, "pacing gain of the phase that drains what the probe queued",
	"net/ipv4/tcp_bbr.c");
CC_GAIN(u32, pacing_margin, 10, 0, 500, "share of the estimated rate that pacing leaves unused", "net/ipv4/tcp_bbr.c");
CC_TUNABLE(u32, bw_window_rounds, 10, 2, 1000, "rounds", "length of the bandwidth filter", "net/ipv4/tcp_bbr.c");
CC_TUNABLE(u32, min_rtt_window_s, 10, 1, 3600, "s", "age at which the minimum RTT is measured anew",
	   "net/ipv4/tcp_bbr.c");
CC_TUNABLE(u32, probe_rtt_ms, 200, 0, 10000, "ms", "time at the small window, 0 = no PROBE_RTT", "net/ipv4/tcp_bbr.c");
CC_TUNABLE(u32, min_cwnd_pkts, 4, 2, 1000, "packets", "the small window, and the least anywhere", "net/ipv4/tcp_bbr.c");
CC_GAIN(u32, full_bw_gain, 1250, 1001, 3990, "growth per round below which the pipe may be full", "net/ipv4/tcp_bbr.c");
CC_TUNABLE(u32, full_bw_rounds, 3, 1, 3, "rounds", "rounds without that growth after which it is full",
	   "net/ipv4/tcp_bbr.c");
CC_GAIN(u32, extra_acked_gain, 1000, 0, 4000, "share of the measured ACK aggregation added to the window",
	"net/ipv4/tcp_bbr.c");
CC_SWITCH(u32, policer_detection, 1, "believe in a policer after two lossy intervals of the same rate",
	  "net/ipv4/tcp_bbr.c");

/* Compares paced rates. */
#include "bbr_policer.bpf.h"

CC_MODES(bbr_mode, BBR_STARTUP, BBR_DRAIN, BBR_PROBE_BW, BBR_PROBE_RTT);

struct bbr {
	u32 min_rtt_us;
	u32 min_rtt_stamp;        /* jiffies */
	u32 probe_rtt_done_stamp; /* jiffies, 0 = the small window has not been reached yet */
	struct cc_window bw;      /* by rounds */
	u32 rounds;
	u32 next_round_delivered; /* the round ends with the ACK of a packet sent after this tp->delivered */
	struct bbr_policer policer;
	u64 phase_us; /* start of the PROBE_BW phase */
	u32 mode : 3;
	u32 prev_ca_state : 3; /* at the previous ACK */
	u32 packet_conservation : 1;
	u32 round_start : 1; /* this ACK begins a round */
	u32 idle_restart : 1;
	u32 probe_rtt_round_done : 1;
	u32 initialized : 1;
	u32 stale_rounds : 2; /* kernels before 6.4 only */
	u32 full_bw_reached : 1;
	u32 full_bw_count : 2; /* rounds without growth */
	u32 phase : 3;
	u32 has_seen_rtt : 1;
	u32 pacing_gain : 16;
	u32 cwnd_gain : 16;
	u32 prior_cwnd; /* to be restored after recovery or PROBE_RTT */
	u32 full_bw;    /* to grow from */
	struct bbr_aggregation agg;
};
CC_PRIV_FITS(struct bbr);

/* A gain in thousandths as multiple of 1/256, rounded down. */
static __always_inline u32 bbr_gain(u32 milli)
{
	return BBR_UNIT * milli / 1000;
}

/* Rounded up: a gain just below 2 / ln 2 would not double. */
static __always_inline u32 bbr_startup_gain(void)
{
	return bbr_gain(startup_gain) + 1;
}

static __always_inline u32 bbr_drain_gain(void)
{
	return startup_gain ? BBR_UNIT * 1000 / startup_gain : BBR_UNIT;
}

static __always_inline u32 bbr_bw(const struct bbr *bbr)
{
	return bbr->policer.in_use ? bbr->policer.bw : cc_window_get(&bbr->bw);
}

#endif /* CCACTL_BBR1_STATE_BPF_H */
