// SPDX-License-Identifier: GPL-2.0
/*
 * BBRv3: Cardwell et al., presented at IETF 117 (CCWG, 2023); the v3 branch of google/bbr; draft-ietf-ccwg-bbr.
 *
 * The model and the machine are those of version 2 (bbrv2.bpf.c); what is decided differently is in
 * bbr2_rules_v3.bpf.h:
 *
 *   STARTUP       pacing gain 4 ln 2 = 2.773, cwnd gain 2                   v2: 2.887 both
 *                 full when a *sample* has not grown by a quarter for three rounds     max_bw
 *                 or after 6 lossy ACKs; inflight_hi = max(BDP, delivered in the round)   8; BDP
 *   PROBE_BW      DOWN 0.91, UP 1.25 with cwnd gain 2.25                    0.75; 1.25 with 2
 *   end of UP     three rounds without a quarter more bandwidth, not       1.25 BDP in flight
 *                 counted while inflight_hi is the limit
 *   PROBE_RTT     5 s after the last *lower* RTT                            lower or equal
 *   tail loss     repaired by a probe: one lost packet                      ignored
 *   ECN           cuts inflight_lo only, above 50 %, reprobes at once       bw_lo too, from 50 % on, waits
 *
 *   STARTUP -> DRAIN -> PROBE_BW: DOWN -> CRUISE -> REFILL -> UP -> DOWN ...      PROBE_RTT every 5 s
 *   gain 2.773  0.347              0.91    1         1         1.25               1, cwnd = BDP / 2 for 200 ms
 *
 * What differs from google/bbr is what mainline lacks, as for version 2; and protective load balancing, which BPF
 * cannot call. Where the draft has other constants, the documentation of the tunable names them.
 * docs/algorithms/bbrv3.md has the details.
 */
#define BBR2_VERSION 3

#include "cc.bpf.h"
#include "bbr2.bpf.h"

CC_ALGORITHM("bbrv3", "model",
	     "BBRv2 revised: probes until the bandwidth stops growing, drains gently, starts with less loss.",
	     "Cardwell et al., IETF 117 CCWG; tcp_bbr.c of google/bbr v3; draft-ietf-ccwg-bbr");
CC_COLOR("#E69F00");

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
