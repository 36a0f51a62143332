// SPDX-License-Identifier: GPL-2.0
/*
 * BBRv2: Cardwell et al., presented at the ICCRG meetings of IETF 104-106; the v2alpha branch of google/bbr.
 *
 * The flow keeps a model of the path and sends at the rate and with the window that follow from it:
 *
 *   max_bw          highest delivery rate of the last two probing cycles
 *   min_rtt         lowest RTT of the last 10 s
 *   bw              min(max_bw, bw_lo)
 *   pacing rate     0.99 x pacing_gain x bw
 *   cwnd            min(cwnd_gain x bw x min_rtt + aggregation, inflight_lo, inflight_hi or 0.85 x inflight_hi)
 *
 *   STARTUP -> DRAIN -> PROBE_BW: DOWN -> CRUISE -> REFILL -> UP -> DOWN ...      PROBE_RTT every 5 s
 *   gain 2.887  0.347              0.75    1         1         1.25               1, cwnd = BDP / 2 for 200 ms
 *
 * Losses of more than 2 % of a probe's flight set inflight_hi to the part of that flight that was safe. A lossy round
 * between probes takes 30 % off bw_lo and inflight_lo, but not below what that round delivered.
 *
 * What differs from v2alpha, because mainline lacks the per-packet stamps and the hook per lost packet: the flight of a
 * packet is looked up by its burst (bbr2_ring.bpf.h), and losses are judged once per ACK with the burst of the newest
 * acknowledged packet. Gains and thresholds are in thousandths instead of 1/256; clocks are in us instead of jiffies;
 * the burst size is left to tcp_tso_autosize(), which has had the same formula since 5.18; samples of PROBE_RTT are
 * marked in the ring rather than through tp->app_limited, which older kernels do not let BPF write. The shortcut for
 * application-limited flows is not there: it only saves work. docs/algorithms/bbrv2.md has the details.
 */
#include "cc.bpf.h"
#include "bbr2.bpf.h"

CC_ALGORITHM("bbrv2", "model", "Model of bandwidth and delay, bounded by the flights that were found too large.",
	     "Cardwell et al., IETF 104-106 ICCRG; tcp_bbr2.c of google/bbr v2alpha");
CC_COLOR("#009E73");

CC_OPS(bbrv2) = {
    .init = (void *)bbr2_init,
    .release = (void *)bbr2_release,
    .cong_control = (void *)bbr2_cong_control,
    .ssthresh = (void *)bbr2_ssthresh,
    .undo_cwnd = (void *)bbr2_undo_cwnd,
    .set_state = (void *)bbr2_set_state,
    .cwnd_event = (void *)bbr2_cwnd_event,
    .sndbuf_expand = (void *)bbr2_sndbuf_expand,
    .name = "bbrv2",
};
