// SPDX-License-Identifier: GPL-2.0
/*
 * BBRv3: Cardwell et al., presented at IETF 117 (CCWG, 2023); the v3 branch of google/bbr;
 * draft-ietf-ccwg-bbr.
 *
 * In a nutshell: the model, the phases and the diagram of version 2 (bbrv2.bpf.c), with other decisions. They
 * are in bbr2_rules_v3.bpf.h and bbr2_version.bpf.h:
 *
 *                 version 3                                             version 2
 *   STARTUP       pacing gain 4 ln 2 = 2.773, cwnd gain 2               both 2.887
 *     full when   a *sample* has not grown by a quarter for 3 rounds    max_bw has not
 *     or after    6 lossy ACKs in a round                               8
 *     then        inflight_hi = max(BDP, delivered in the round)        BDP
 *   DOWN          pacing gain 0.91                                      0.75
 *   UP            pacing gain 1.25, cwnd gain 2.25                      1.25, 2
 *     ends        3 rounds without a quarter more bandwidth, not        1.25 BDP in flight
 *                 counted while inflight_hi is the limit
 *   PROBE_RTT     5 s after the last *lower* RTT                        lower or equal
 *   tail loss     repaired by a probe: one lost packet                  ignored
 *   ECN           cuts inflight_lo only, above 50 %, reprobes at once   bw_lo too, from 50 % on, waits
 *
 *   STARTUP -> DRAIN -> PROBE_BW: DOWN -> CRUISE -> REFILL -> UP -> DOWN ...      PROBE_RTT every 5 s
 *   gain 2.773  0.347              0.91    1         1         1.25               1, cwnd = BDP / 2 for 200 ms
 *   PROBE_RTT -> CRUISE once the pipe has been full, else -> STARTUP
 *
 * What differs from google/bbr is what mainline lacks, as for version 2; and protective load balancing, which
 * BPF cannot call. Where the draft has other constants, the documentation of the tunable names them.
 * docs/algorithms/bbrv3.md has the details.
 *
 * bpf/README.md, "The way through BBRv2", says the order to read the headers in.
 */
#define BBR2_VERSION 3

#include "cc.bpf.h"
#include "bbr2.bpf.h"

CC_ALGORITHM("bbrv3", "model",
	     "BBRv2 revised: probes until the bandwidth stops growing, drains gently, starts with less loss.",
	     "Cardwell et al., IETF 117 CCWG; tcp_bbr.c of google/bbr v3; draft-ietf-ccwg-bbr");
CC_COLOR("#E69F00");
CC_PRESET("draft", "startup_pacing_gain=2.77 drain_gain=0.5 drain_max_rounds=3 down_gain=0.9",
	  "the constants of the draft where they are others than those of google/bbr v3", "draft-ietf-ccwg-bbr-06");

CC_OPS(bbrv3) = {
    .init = (void *)bbr2_init,
    .release = (void *)bbr2_release,
    .cong_control = (void *)bbr2_cong_control,
    .ssthresh = (void *)bbr2_ssthresh,
    .undo_cwnd = (void *)bbr2_undo_cwnd,
    .set_state = (void *)bbr2_set_state,
    .cwnd_event = (void *)bbr2_cwnd_event,
    .sndbuf_expand = (void *)bbr2_sndbuf_expand,
    .name = "bbrv3",
};
