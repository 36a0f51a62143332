/* SPDX-License-Identifier: GPL-2.0 */
/*
 * BBRv2 and BBRv3: what the user may set, and what is fixed. Fractions and gains are in thousandths, so that 2 % is 20
 * and not the nearest multiple of 1/256 as in the references. Defaults in capitals differ between the versions
 * (bbr2_version.bpf.h); the others are those of Google's v2alpha and v3 alike. crates/abi/src/algorithms/bbr2.rs and
 * bbr3.rs repeat them for the command line, and a test compares.
 */
#ifndef CCACTL_BBR2_PARAMS_BPF_H
#define CCACTL_BBR2_PARAMS_BPF_H

#include "cc.bpf.h"
#include "bbr2_version.bpf.h"

#define BBR2_UNIT      1000        /* 1.0 as a gain or a fraction */
#define BBR2_UNBOUNDED 0xffffffffU /* of a bound: none is set */

/* STARTUP: doubles the delivery rate in each round. */
CC_TUNABLE(u32, startup_pacing_gain, BBR2_STARTUP_PACING_GAIN);
CC_TUNABLE(u32, startup_cwnd_gain, BBR2_STARTUP_CWND_GAIN);
/* The pipe is full when the bandwidth grew by less than this in each of so many rounds. */
CC_TUNABLE(u32, full_bw_growth, 1250);
CC_TUNABLE(u32, full_bw_rounds, 3);
/* STARTUP ends as well after a round of recovery with so many ACKs that reported losses, and loss_thresh exceeded. */
CC_TUNABLE(u32, full_loss_count, BBR2_FULL_LOSS_COUNT);
/* DRAIN: ln 2 / 2, which undoes STARTUP's queue in one round. F-BBRv2's paper prints 0.75. */
CC_TUNABLE(u32, drain_gain, 347);
/* PROBE_BW: the window, and the pacing of the two phases that do not follow the estimate. */
CC_TUNABLE(u32, cwnd_gain, 2000);
CC_TUNABLE(u32, up_gain, 1250);
CC_TUNABLE(u32, down_gain, BBR2_DOWN_GAIN);
/* Lost packets of one flight, as a fraction of it, from which on that flight was too large. */
CC_TUNABLE(u32, loss_thresh, 20);
/* How much of a bound a lossy round takes away. */
CC_TUNABLE(u32, beta, 300);
/* Share of inflight_hi that CRUISE and PROBE_RTT leave to others. */
CC_TUNABLE(u32, headroom, 150);
/* Wait from one probe to the next: base + random part, or probe_max_rounds, or one round per packet of the BDP. */
CC_TUNABLE(u32, probe_wait_base_ms, 2000);
CC_TUNABLE(u32, probe_wait_rand_ms, 1000);
CC_TUNABLE(u32, probe_max_rounds, 63);
/* PROBE_RTT: how often, for how long, at which part of the BDP. */
CC_TUNABLE(u32, probe_rtt_interval_ms, 5000);
CC_TUNABLE(u32, probe_rtt_duration_ms, 200);
CC_TUNABLE(u32, probe_rtt_cwnd_gain, 500);
/* How long a measured min_rtt holds. */
CC_TUNABLE(u32, min_rtt_window_ms, 10000);
/* No bound and no phase takes cwnd below this. */
CC_TUNABLE(u32, min_cwnd, 4);
/* Pacing stays below the estimate by this part, so that a queue can drain. */
CC_TUNABLE(u32, pacing_margin, 10);
/* A tail-loss probe that repaired a loss counts as one lost packet (v3), or not (v2alpha). */
CC_TUNABLE(u32, tlp_is_loss, BBR2_TLP_IS_LOSS);
/* ECN: off, as in v2alpha; v3 turns it on per route, which mainline cannot. Only for paths that mark at a shallow
 * threshold and receivers that echo each mark. */
CC_TUNABLE(u32, ecn_enable, 0);
CC_TUNABLE(u32, ecn_thresh, 500);
CC_TUNABLE(u32, ecn_factor, 333);
CC_TUNABLE(u32, ecn_max_rtt_us, 5000);
/* After a cycle with marks but no loss probe again at once, with growth of this part of inflight_hi; 0 = wait. */
CC_TUNABLE(u32, ecn_reprobe_gain, BBR2_ECN_REPROBE_GAIN);

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
