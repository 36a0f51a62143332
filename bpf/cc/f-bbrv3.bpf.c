// SPDX-License-Identifier: GPL-2.0
/*
 * F-BBRv3: our own. The detector and the reaction of F-BBRv2 (Cho & Cho 2023; f-bbrv2.bpf.c) on BBRv3 instead
 * of BBRv2. No paper describes it.
 *
 * In a nutshell: BBRv3 that paces CRUISE faster while the delay says that a loss-based flow shares the link.
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
 * The phases are those of BBRv3 (bbrv3.bpf.c). The reason given for 15 % holds here as well: CRUISE of
 * version 3 leaves the same headroom below inflight_hi.
 *
 * Read bbrv3.bpf.c first and the headers in the order of bpf/README.md, "The way through BBRv2", with
 * bbr2_rules_v3.bpf.h in place of bbr2_rules_v2.bpf.h and bbr2_friendly.bpf.h in place of
 * bbr2_no_variant.bpf.h: the latter is all that BBRv3 does not have.
 */
#define BBR2_VERSION 3

#include "cc.bpf.h"
#include "bbr2_friendly.bpf.h"
#include "bbr2.bpf.h"

CC_ALGORITHM("f-bbrv3", "model", "F-BBRv2's detector and raised CRUISE on BBRv3; our own combination.",
	     "this project; mechanism of Cho & Cho 2023 on tcp_bbr.c of google/bbr v3");
CC_COLOR("#AA3377");

CC_OPS(f_bbrv3) = {
    .init = (void *)bbr2_init,
    .release = (void *)bbr2_release,
    .cong_control = (void *)bbr2_cong_control,
    .ssthresh = (void *)bbr2_ssthresh,
    .undo_cwnd = (void *)bbr2_undo_cwnd,
    .set_state = (void *)bbr2_set_state,
    .cwnd_event = (void *)bbr2_cwnd_event,
    .sndbuf_expand = (void *)bbr2_sndbuf_expand,
    .name = "f_bbrv3",
};
