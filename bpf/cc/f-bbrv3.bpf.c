// SPDX-License-Identifier: GPL-2.0
/*
 * F-BBRv3: our own. BBRv3 that takes CUBIC's window while loss-based flows share the link. Copa (Arun, Balakrishnan,
 * NSDI 2018) has two modes for the same reason; its other mode and its detector are different ones.
 *
 * In a nutshell: a flow that has drained its own part of the queue sees whether others keep it filled. Beside those
 * the model of BBR has no answer: two BDP are too little in a deep buffer, and to ignore losses is too much in a
 * shallow one. What is fair to CUBIC is CUBIC.
 *
 *   raised      RTT > 1.1 * lowest RTT of the connection; in PROBE_RTT without the time of two packets, its own
 *
 *                two PROBE_RTTs in a row end with a raised RTT, or
 *                a loss while the RTT is raised
 *   BBRv3 ---------------------------------------------------------> competing
 *         <---------------------------------------------------------
 *                a PROBE_RTT ends without a raised RTT (inflight_hi = the window of that moment), or
 *                losses without a raised RTT: those of this path are random
 *
 *   competing   cwnd = CUBIC's window: growth, friendliness and cuts of cubic_curve.bpf.h
 *               pacing as CUBIC has it: none, unless a qdisc or the application asks for it
 *               a loss while the RTT is not raised cuts nothing
 *               PROBE_RTT every 20 s instead of 5, with half a BDP of the lowest RTT
 *
 * Everything else is BBRv3 (bbrv3.bpf.c); with compete_after = 0 the two send the same.
 *
 * Read bbrv3.bpf.c first and the headers in the order of bpf/README.md, "The way through BBRv2", with
 * bbr2_rules_v3.bpf.h in place of bbr2_rules_v2.bpf.h and bbr2_compete.bpf.h in place of
 * bbr2_no_variant.bpf.h: the latter is all that BBRv3 does not have.
 */
#define BBR2_VERSION 3

#include "cc.bpf.h"
#include "bbr2_compete.bpf.h"
#include "bbr2.bpf.h"

CC_ALGORITHM("f-bbrv3", "model", "BBRv3 that takes CUBIC's window while loss-based flows share the link; our own.",
	     "this project; tcp_bbr.c of google/bbr v3; RFC 9438");
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
