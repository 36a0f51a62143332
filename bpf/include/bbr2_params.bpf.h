/* SPDX-License-Identifier: GPL-2.0 */
/*
 * BBRv2 and BBRv3: what the user may set, and what is fixed. Fractions and gains are in thousandths, so that 2 % is 20
 * and not the nearest multiple of 1/256 as in the references. Defaults in capitals differ between the versions
 * (bbr2_version.bpf.h); the others are those of Google's v2alpha and v3 alike.
 */
#ifndef CCACTL_BBR2_PARAMS_BPF_H
#define CCACTL_BBR2_PARAMS_BPF_H

#include "cc.bpf.h"
#include "bbr2_version.bpf.h"

#define BBR2_UNIT      1000        /* 1.0 as a gain or a fraction */
#define BBR2_UNBOUNDED 0xffffffffU /* of a bound: none is set */

CC_GAIN(u32, startup_pacing_gain, BBR2_STARTUP_PACING_GAIN, 1000, 10000,
	"pacing gain of STARTUP; draft-ietf-ccwg-bbr prints 2.77", BBR2_SOURCE);
CC_GAIN(u32, startup_cwnd_gain, BBR2_STARTUP_CWND_GAIN, 1000, 10000, "window gain of STARTUP and DRAIN", BBR2_SOURCE);
CC_GAIN(u32, full_bw_growth, 1250, 1000, 10000,
	"STARTUP, and UP in v3, go on while the bandwidth grows by this factor per round", BBR2_SOURCE);
CC_TUNABLE(u32, full_bw_rounds, 3, 1, 100, "rounds", "rounds without that growth that end STARTUP, and UP in v3",
	   BBR2_SOURCE);
CC_TUNABLE(u32, full_loss_count, BBR2_FULL_LOSS_COUNT, 0, 15, "ACKs",
	   "ACKs with losses in one round of recovery that end STARTUP when loss_thresh is exceeded; 0 = never",
	   BBR2_SOURCE);
CC_GAIN(u32, drain_gain, 347, 10, 1000,
	"pacing gain of DRAIN: ln 2 / 2; F-BBRv2's paper prints 0.75, draft-ietf-ccwg-bbr 0.5", BBR2_SOURCE);
CC_GAIN(u32, cwnd_gain, 2000, 1000, 10000, "window in PROBE_BW, but in UP of v3, in BDP", BBR2_SOURCE);
CC_GAIN(u32, up_gain, 1250, 1000, 10000, "pacing gain of UP", BBR2_SOURCE);
CC_GAIN(u32, down_gain, BBR2_DOWN_GAIN, 10, 1000, "pacing gain of DOWN; draft-ietf-ccwg-bbr has 0.9", BBR2_SOURCE);
CC_GAIN(u32, loss_thresh, 20, 0, 999, "share of a flight whose loss says that the flight was too large", BBR2_SOURCE);
CC_GAIN(u32, beta, 300, 0, 1000, "share of a bound that a lossy round takes away", BBR2_SOURCE);
CC_GAIN(u32, headroom, 150, 0, 1000, "share of inflight_hi left to others in CRUISE and PROBE_RTT", BBR2_SOURCE);
CC_TUNABLE(u32, probe_wait_base_ms, 2000, 0, 1000000, "ms", "wait between two probes, fixed part", BBR2_SOURCE);
CC_TUNABLE(u32, probe_wait_rand_ms, 1000, 0, 1000000, "ms", "wait between two probes, largest random part",
	   BBR2_SOURCE);
CC_TUNABLE(u32, probe_max_rounds, 63, 1, 254, "rounds", "a probe is due after so many rounds in any case", BBR2_SOURCE);
CC_TUNABLE(u32, probe_rtt_interval_ms, 5000, 100, 1000000, "ms", "PROBE_RTT is due so long after the last lower RTT",
	   BBR2_SOURCE);
CC_TUNABLE(u32, probe_rtt_duration_ms, 200, 1, 60000, "ms", "shortest time that PROBE_RTT keeps the pipe drained",
	   BBR2_SOURCE);
CC_GAIN(u32, probe_rtt_cwnd_gain, 500, 0, 1000, "window in PROBE_RTT, in BDP", BBR2_SOURCE);
CC_TUNABLE(u32, min_rtt_window_ms, 10000, 100, 1000000, "ms", "how long a measured min_rtt holds", BBR2_SOURCE);
CC_TUNABLE(u32, min_cwnd, 4, 1, 1000, "packets", "no bound takes the window below this", BBR2_SOURCE);
CC_GAIN(u32, pacing_margin, 10, 0, 500, "share of the estimated rate that pacing leaves unused", BBR2_SOURCE);
CC_SWITCH(u32, tlp_is_loss, BBR2_TLP_IS_LOSS, "a loss repaired by a tail-loss probe counts as one packet",
	  "tcp_bbr.c of google/bbr v3");
CC_SWITCH(u32, ecn_enable, 0,
	  "respond to ECN marks, on paths that mark at a shallow queue; v3 does so per route, v2alpha does not",
	  BBR2_SOURCE);
CC_GAIN(u32, ecn_thresh, 500, 0, 1000, "share of marked packets above which a flight was too large", BBR2_SOURCE);
CC_GAIN(u32, ecn_factor, 333, 0, 1000, "part of alpha that a marked round takes off the short-term bounds",
	BBR2_SOURCE);
CC_TUNABLE(u32, ecn_max_rtt_us, 5000, 0, 10000000, "us", "largest min_rtt at which ECN marks count; 0 = any in v3",
	   BBR2_SOURCE);
CC_GAIN(u32, ecn_reprobe_gain, BBR2_ECN_REPROBE_GAIN, 0, 1000,
	"part of inflight_hi with which a probe follows at once on a cycle with marks and no loss; 0 = wait",
	BBR2_SOURCE);

/* Cap on rounds_since_probe; a wait counted in rounds is shorter by 0 or 1 of them, at random. */
#define BBR2_ROUNDS_CAP        255
#define BBR2_PROBE_RAND_ROUNDS 2
/* The slope of inflight_hi doubles per round, up to 2^30 packets. */
#define BBR2_MAX_SLOPE_SHIFT 30
/* Saturating counter of loss events in a STARTUP round. */
#define BBR2_LOSS_EVENTS_CAP 15

/* ECN alpha moves by 1/16 per round; STARTUP ends after two rounds above ecn_thresh. */
#define BBR2_ECN_ALPHA_SHIFT 4
#define BBR2_ECN_FULL_ROUNDS 2

/* Burst size, as tcp_tso_autosize(): the allowance beyond 1 ms of data halves with each 512 us of min_rtt. */
#define BBR2_TSO_RTT_SHIFT   9
#define BBR2_CWND_TSO_BUDGET 3
#define BBR2_SNDBUF_EXPAND   3
#define BBR2_MAX_INIT_CWND   127

#endif /* CCACTL_BBR2_PARAMS_BPF_H */
