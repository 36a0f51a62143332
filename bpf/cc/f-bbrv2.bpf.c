// SPDX-License-Identifier: GPL-2.0
/*
 * F-BBRv2: Cho & Cho 2023, "Improvement of Bandwidth Fairness between TCP BBRv2 and CUBIC".
 *
 * In a nutshell: BBRv2 (bbrv2.bpf.c) that paces CRUISE faster while a loss-based flow shares the link. Among
 * BBRv2 flows the propagation delay that each of them sees hardly changes. A CUBIC flow keeps the queue
 * filled, and the delay rises:
 *
 *   detector   RTprop_current > alpha * RTprop        alpha = 1.2
 *   reaction   pacing_gain of CRUISE = 1.15           instead of 1, while detected
 *
 *   STARTUP -> DRAIN -> PROBE_BW: DOWN -> CRUISE at 1 -> REFILL -> UP -> DOWN ...      PROBE_RTT every 5 s
 *                                          ^      |
 *                                not       |      | detected
 *                                detected  |      v
 *                                         CRUISE at 1.15
 *
 * The phases are those of BBRv2; bbrv2.bpf.c has the whole diagram. The 15 % are those that BBRv2 leaves as
 * headroom. Only pacing changes: the window stays at min(inflight_lo, 0.85 * inflight_hi), and so it may mask
 * the gain. The trace's v1 says when it does: BBR2_BOUND_RAISED together with BBR2_BOUND_CWND_LIMITED and the
 * bound that cut the window.
 *
 * The paper leaves open which estimate RTprop_current is, and whether RTprop is the first sample or the
 * lowest. The tunables of bbr2_friendly.bpf.h offer the readings; the defaults take the paper literally.
 * docs/algorithms/f-bbrv2.md lists them all.
 *
 * Read bbrv2.bpf.c first and the headers in the order of bpf/README.md, "The way through BBRv2", with
 * bbr2_friendly.bpf.h in place of bbr2_no_variant.bpf.h: it is all that BBRv2 does not have.
 */
#include "cc.bpf.h"
#include "bbr2_friendly.bpf.h"
#include "bbr2.bpf.h"

CC_ALGORITHM("f-bbrv2", "model",
	     "BBRv2 that cruises 15 % faster while the delay says that a loss-based flow shares the link.",
	     "Cho & Cho 2023, Improvement of Bandwidth Fairness between TCP BBRv2 and CUBIC");
CC_COLOR("#CC79A7");
CC_PRESET("p1", "up_sets_hi=1 startup_sets_hi=1 startup_ends_at_once=1 down_rounds=3 drop_headroom=1",
	  "on BBRv2 as the paper describes it, with the reading that brings its figures", "Cho & Cho 2023, 3.2");

CC_OPS(f_bbrv2) = {
    .init = (void *)bbr2_init,
    .release = (void *)bbr2_release,
    .cong_control = (void *)bbr2_cong_control,
    .ssthresh = (void *)bbr2_ssthresh,
    .undo_cwnd = (void *)bbr2_undo_cwnd,
    .set_state = (void *)bbr2_set_state,
    .cwnd_event = (void *)bbr2_cwnd_event,
    .sndbuf_expand = (void *)bbr2_sndbuf_expand,
    .name = "f_bbrv2",
};
