// SPDX-License-Identifier: GPL-2.0
/*
 * BBRv2: Cardwell et al., presented at the ICCRG meetings of IETF 104-106; the v2alpha branch of google/bbr.
 *
 * In a nutshell: the flow keeps a model of the path, and sends at the rate and with the window that follow:
 *
 *   max_bw       = highest delivery rate of the last two probing cycles
 *   min_rtt      = lowest RTT of the last 10 s
 *   bw           = min(max_bw, bw_lo)
 *   pacing rate  = 0.99 * pacing_gain * bw
 *   cwnd         = min(cwnd_gain * bw * min_rtt + aggregation, inflight_lo, bound of the phase)
 *
 *    init
 *     |
 *     v      pipe full          a BDP in flight
 *   STARTUP ----------> DRAIN ------------------+
 *     ^                                         v          probe due
 *     |   +----------------------------------> DOWN ----------------------+
 *     |   |                                     | queue gone              |
 *     |   |                                     v          probe due      v
 *     |   |                     +-----------> CRUISE -----------------> REFILL
 *     |   |                     |                                         | one round
 *     |   |  flight too large,  |                                         v
 *     |   +-- or large enough --|---------------------------------------- UP
 *     |                         |
 *     |    pipe not full yet    | pipe full
 *     +--------------------- PROBE_RTT <-- from any phase, 5 s after the last RTT as low as the minimum
 *
 *   phase      pacing   cwnd gain   bound of the phase    ends
 *   STARTUP    2.887    2.887       none                  3 rounds without 25 % more max_bw, or losses (below)
 *   DRAIN      0.347    2.887       none                  one BDP in flight
 *   DOWN       0.75     2           inflight_hi           at most one BDP and 0.85 inflight_hi in flight
 *   CRUISE     1        2           0.85 inflight_hi      2 to 3 s, or min(63, BDP in packets) rounds
 *   REFILL     1        2           inflight_hi           one round
 *   UP         1.25     2           inflight_hi           min_rtt over and 1.25 BDP in flight; or over 2 % lost
 *   PROBE_RTT  1        1           BDP / 2, as CRUISE    200 ms and a round
 *
 * DOWN to UP are PROBE_BW. The wait of 2 to 3 s begins with DOWN. STARTUP also ends after 8 ACKs with losses
 * in a round of recovery, when more than 2 % of the flight are lost. UP also stops at inflight_hi when the
 * probe before it lost too much there. If nothing is lost then, the next REFILL follows at once.
 *
 * Losses of more than 2 % of a probe's flight set inflight_hi to the part of that flight that was safe. A
 * lossy round between probes takes 30 % off bw_lo and inflight_lo, but not below what that round delivered.
 *
 * What differs from v2alpha, because mainline lacks the per-packet stamps and the hook per lost packet:
 *   - The flight of a packet is looked up by its burst (bbr2_ring.bpf.h).
 *   - Losses are judged once per ACK, with the burst of the newest acknowledged packet.
 * What differs besides:
 *   - Gains and thresholds are in thousandths instead of 1/256; clocks are in us instead of jiffies.
 *   - The burst size is left to tcp_tso_autosize(), which has had the same formula since 5.18.
 *   - Samples of PROBE_RTT are marked in the ring rather than through tp->app_limited, which older kernels do
 *     not let BPF write.
 *   - The shortcut for application-limited flows is not there: it only saves work.
 * docs/algorithms/bbrv2.md has the details.
 *
 * The code is in the headers bbr2*.bpf.h. bpf/README.md, "The way through BBRv2", says the order to read them
 * in.
 */
#include "cc.bpf.h"
#include "bbr2.bpf.h"

CC_ALGORITHM("bbrv2", "model", "Model of bandwidth and delay, bounded by the flights that were found too large.",
	     "Cardwell et al., IETF 104-106 ICCRG; tcp_bbr2.c of google/bbr v2alpha");
CC_COLOR("#009E73");
CC_PRESET("p1", "up_sets_hi=1 startup_sets_hi=1 startup_ends_at_once=1 down_rounds=3",
	  "BBRv2 as the paper on F-BBRv2 describes it", "Cho & Cho 2023, 3.2");

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
