//! The statements, by algorithm in the order of the registry.
//!
//! A band follows from the algorithm's own constants; where rounding or sampling widens it, the comment says by how much.

use super::compute::{
    SETTLED_S, increase, least, loss_share, mean, mean_of, median, median_cut, queue_pkts, share_beside,
};
use super::run::Run;
use super::{Bench, Row, aca, compute, shares};

const ONE_BDP: Bench = Bench {
    name: "1bdp",
    scenario: "single",
    changes: &[("link.rate", "50Mbit/s"), ("link.base_rtt", "20ms"), ("link.buffer", "1bdp"), ("duration", "40s")],
    setting: "50 Mbit/s, 20 ms, 1 BDP",
    side_by_side: 3,
};
const DEEP: Bench = Bench {
    name: "5bdp",
    scenario: "single",
    changes: &[("link.rate", "50Mbit/s"), ("link.base_rtt", "20ms"), ("link.buffer", "5bdp"), ("duration", "40s")],
    setting: "50 Mbit/s, 20 ms, 5 BDP",
    side_by_side: 3,
};
/// The window that this loss allows, about 20 packets, is a quarter of the BDP.
const RANDOM_LOSS: Bench = Bench {
    name: "random-loss",
    scenario: "single",
    changes: &[
        ("link.rate", "10Mbit/s"),
        ("link.base_rtt", "100ms"),
        ("link.buffer", "1bdp"),
        ("link.loss", "0.005"),
        ("duration", "60s"),
    ],
    setting: "10 Mbit/s, 100 ms, 1 BDP, 0.5 % random loss",
    side_by_side: 3,
};
const LONG: Bench = Bench {
    name: "long",
    scenario: "single",
    changes: &[("link.rate", "50Mbit/s"), ("link.base_rtt", "100ms"), ("link.buffer", "1bdp"), ("duration", "60s")],
    setting: "50 Mbit/s, 100 ms, 1 BDP",
    side_by_side: 3,
};
const LONG_DEEP: Bench = Bench {
    name: "long-2bdp",
    changes: &[("link.rate", "50Mbit/s"), ("link.base_rtt", "100ms"), ("link.buffer", "2bdp"), ("duration", "60s")],
    setting: "50 Mbit/s, 100 ms, 2 BDP",
    ..LONG
};
const P1_ONE_BDP: Bench = Bench {
    name: "p1-1bdp",
    changes: &[("link.buffer", "1bdp"), ("duration", "60s")],
    setting: "50 Mbit/s, 40 ms, 1 BDP",
    ..PATH_OF_P1
};
const PATH_OF_P1: Bench = Bench {
    name: "p1",
    scenario: "single-p1",
    changes: &[("duration", "60s")],
    setting: "50 Mbit/s, 40 ms, 4 BDP",
    side_by_side: 3,
};
const SHORT_BUFFER: Bench = Bench {
    name: "0.5bdp",
    scenario: "single-p1",
    changes: &[("link.buffer", "0.5bdp"), ("duration", "60s")],
    setting: "50 Mbit/s, 40 ms, 0.5 BDP",
    side_by_side: 3,
};
const BESIDE_CUBIC: Bench = Bench {
    name: "beside-cubic",
    scenario: "fbbrv2-vs-cubic",
    changes: &[("duration", "60s")],
    setting: "beside CUBIC, 50 Mbit/s, 40 ms, 4 BDP",
    side_by_side: 3,
};
const LP_BY_PAPER: Bench = Bench {
    name: "by-paper-beside-cubic",
    changes: &[("flow[0].set.owd_reading", "1"), ("duration", "60s")],
    setting: "beside CUBIC, 50 Mbit/s, 40 ms, 4 BDP, owd_reading = 1",
    ..BESIDE_CUBIC
};
const MARKING: Bench = Bench {
    name: "marking",
    scenario: "single",
    changes: &[
        ("link.rate", "50Mbit/s"),
        ("link.base_rtt", "20ms"),
        ("link.buffer", "2bdp"),
        ("link.ecn_threshold", "20p"),
        ("duration", "40s"),
    ],
    setting: "50 Mbit/s, 20 ms, 2 BDP, marks beyond 20 packets",
    side_by_side: 3,
};
const FAST_20: Bench = Bench {
    name: "alpha-20",
    changes: &[
        ("link.rate", "50Mbit/s"),
        ("link.base_rtt", "20ms"),
        ("link.buffer", "5bdp"),
        ("flow[0].set.alpha", "20"),
        ("duration", "40s"),
    ],
    setting: "50 Mbit/s, 20 ms, 5 BDP, alpha = 20",
    ..DEEP
};
const COPA_10: Bench = Bench {
    name: "delta-0.1",
    changes: &[
        ("link.rate", "50Mbit/s"),
        ("link.base_rtt", "20ms"),
        ("link.buffer", "5bdp"),
        ("flow[0].set.delta", "0.1"),
        ("duration", "40s"),
    ],
    setting: "50 Mbit/s, 20 ms, 5 BDP, delta = 0.1",
    ..DEEP
};
const ACA_ESTIMATOR: Bench = Bench {
    name: "estimator",
    scenario: "aca-estimator",
    changes: &[],
    setting: "scenario aca-estimator: 100 Mbit/s, UDP grows by 10 Mbit/s every 10 s",
    side_by_side: 2,
};

const CUT: &str = "new ssthresh / cwnd before it, median over the entries into recovery";
const QUEUE: &str = "(smallest RTT of each 50 ms − smallest RTT) × link rate, median after 20 s";
const SPACING: &str = "from the last RTT not above the lowest one to the entry of trace_mode into probe-rtt, median";
const LOSS: &str = "packets dropped by the bottleneck / packets sent, whole run";
const SHARE: &str = "bytes acknowledged / those of both flows, after 20 s";
const DETECTED: &str = "time in CRUISE with \"detected\" in bounds / time in CRUISE";
/// Two round trips of 20 ms and a little more.
const WINDOW_S: f64 = 0.05;

/// The same on the long path.
const LONG_WINDOW_S: f64 = 0.2;
/// RTTstanding of Copa: half a round trip.
const STANDING_S: f64 = 0.01;

/// A row without detail.
const fn row(
    algorithm: &'static str,
    says: &'static str,
    bench: &'static Bench,
    (how, unit): (&'static str, &'static str),
    band: (f64, f64),
    value: fn(&Run) -> Result<f64, String>,
) -> Row {
    Row { algorithm, says, bench, how, unit, band, value, detail: None }
}

/// `factor` of the window is left; the kernel rounds windows of 20 packets and more down to whole ones, and the window may have grown
/// by a packet with the ACK that revealed the loss.
const fn cut(algorithm: &'static str, says: &'static str, bench: &'static Bench, factor: f64) -> Row {
    row(algorithm, says, bench, (CUT, ""), (factor - 0.02, factor + 0.01), median_cut)
}

/// A standing queue in packets.
const fn queue(algorithm: &'static str, says: &'static str, bench: &'static Bench, band: (f64, f64)) -> Row {
    row(algorithm, says, bench, (QUEUE, "packets"), band, |run| median(queue_pkts(run, WINDOW_S, least)?))
}

/// An RTT sample that is not above the lowest one restarts the clock of PROBE_RTT, so the distance from entry to entry is longer whenever
/// the queue empties by itself. A round trip or two, of up to 80 ms with two BDP in flight, and a delayed
/// ACK of up to 40 ms lie between the clock and the entry.
const fn probe_rtt(
    algorithm: &'static str,
    says: &'static str,
    wait_s: f64,
    value: fn(&Run) -> Result<f64, String>,
) -> Row {
    row(algorithm, says, &PATH_OF_P1, (SPACING, "s"), (wait_s - 0.05, wait_s + 0.2), value)
}

/// Version 1: the window of min_rtt is the interval.
const fn probe_rtt_10(algorithm: &'static str) -> Row {
    probe_rtt(algorithm, "PROBE_RTT 10 s after the last lowest RTT", 10.0, |run| shares::probe_rtt_wait(run, 10.0))
}

const fn probe_rtt_5(algorithm: &'static str) -> Row {
    probe_rtt(algorithm, "PROBE_RTT 5 s after the last lowest RTT", 5.0, |run| shares::probe_rtt_wait(run, 5.0))
}

const fn loss_below_two_percent(algorithm: &'static str) -> Row {
    row(algorithm, "loses at most 2 % in a short buffer", &SHORT_BUFFER, (LOSS, ""), (0.0, 0.02), loss_share)
}

/// Beyond its gain the window has three bursts, 15 packets here, and what ACKs bring at once: a quarter of the BDP of 166 packets.
const fn window_bounded(algorithm: &'static str) -> Row {
    let says = "window of at most 2.25 BDP, three bursts and what ACKs bring at once";
    let how = ("cwnd / (trace_bw × trace_min_rtt), largest after 5 s", "BDP");
    row(algorithm, says, &PATH_OF_P1, how, (1.0, 2.5), shares::window_of_model)
}

/// From the start of DOWN 2 to 3 s, or 63 rounds; and the round in which that is noticed.
const fn probes_in_time(algorithm: &'static str) -> Row {
    let says = "probes for bandwidth 2 to 3 s after the last probe, or 63 rounds";
    let how = ("from DOWN to the next REFILL without a PROBE_RTT between them, longest", "s");
    row(algorithm, says, &PATH_OF_P1, how, (2.0, 3.1), shares::probe_spacing)
}

const fn yields(algorithm: &'static str) -> Row {
    row(algorithm, "yields to CUBIC", &BESIDE_CUBIC, (SHARE, ""), (0.0, 0.25), |run| share_beside(run, "cubic"))
}

const fn detects(algorithm: &'static str) -> Row {
    let says = "detects a loss-based flow";
    row(algorithm, says, &BESIDE_CUBIC, (DETECTED, ""), (0.5, 1.0), shares::detected)
}

const fn detects_nothing_alone(algorithm: &'static str) -> Row {
    let says = "detects nothing when alone";
    row(algorithm, says, &PATH_OF_P1, (DETECTED, ""), (0.0, 0.05), shares::detected)
}

pub const ROWS: &[Row] = &[
    cut("tahoe", "a loss halves ssthresh", &ONE_BDP, 0.5),
    cut("reno", "a loss halves the window", &ONE_BDP, 0.5),
    cut("lia", "alone: a loss halves the window", &ONE_BDP, 0.5),
    cut("olia", "alone: a loss halves the window", &ONE_BDP, 0.5),
    cut("balia", "alone: a loss halves the window", &ONE_BDP, 0.5),
    cut("cubic", "a loss leaves 717/1024", &ONE_BDP, 0.7),
    cut("bic", "a loss leaves 819/1024", &ONE_BDP, 0.8),
    row(
        "hstcp",
        "a loss takes b(w) of RFC 3649",
        &DEEP,
        ("new ssthresh / (w (1 − b(w))), median over the entries into recovery", ""),
        // The table has two decimals of b, and the row of the next larger window counts: up to 0.02 of b.
        (0.98, 1.04),
        |run| median(shares::cuts_over_hstcp(run)?),
    ),
    cut("scalable", "a loss leaves 7/8", &ONE_BDP, 0.875),
    row(
        "htcp",
        "a loss leaves RTTmin / RTTmax, within 0.5 and 0.8",
        &ONE_BDP,
        (CUT, ""),
        // 64/128 and 102/128.
        (0.48, 0.81),
        median_cut,
    ),
    row(
        "westwood",
        "ssthresh after a loss is bandwidth × RTTmin",
        &P1_ONE_BDP,
        ("ssthresh at the end of recovery / BDP of the link, median", ""),
        // Payload is 1448/1514 of the wire (0.956); RTTmin in whole jiffies of 4 ms, rounded up, is up to 1.1 of 40 ms.
        (0.85, 1.15),
        shares::ssthresh_over_bdp,
    ),
    row(
        "hybla",
        "grows by rho² per RTT (one ACK for two packets: by half of it)",
        &LONG,
        ("growth of cwnd per RTT in avoidance / rho2 of the trace, median over seconds", ""),
        (0.4, 1.1),
        shares::growth_over_rho2,
    ),
    row(
        "aca",
        "the estimate follows the available bandwidth",
        &ACA_ESTIMATOR,
        ("largest distance of estimate / available from 1 over the steps, from 3 s after each on", ""),
        (0.0, 0.15),
        aca::worst_error,
    )
    .with(aca::steps),
    row(
        "aca",
        "start-up saturates the link without overflow",
        &ACA_ESTIMATOR,
        ("packets marked lost until 0.1 s after payload first filled 98 % of the link for 0.1 s", "packets"),
        (0.0, 0.0),
        aca::lost_at_start,
    ),
    row(
        "aca",
        "and keeps it saturated",
        &ACA_ESTIMATOR,
        ("payload acknowledged from 5 s to the first step / what the link can carry", ""),
        (0.95, 1.01),
        aca::saturation,
    ),
    row(
        "vegas",
        "keeps alpha = 2 to beta = 4 packets queued, by its own count",
        &DEEP,
        ("diff_pkts of the trace, mean over time after 20 s", "packets"),
        // Whole packets: the window steps back after 5.
        (2.0, 5.0),
        |run| compute::steady_mean_of(&run.flow()?, "diff_pkts"),
    ),
    // A packet more or less: the RTT is that of whole packets.
    queue("vegas", "keeps 2 to 4 packets queued, by the delay", &DEEP, (1.0, 5.0)),
    row(
        "vegas-a",
        "keeps the queue between its moving thresholds",
        &DEEP,
        ("time with alpha − 2 ≤ diff_pkts ≤ alpha + 4 of the trace, share after 20 s", ""),
        // beta = alpha + 2, a packet more or less, and the trace has alpha after the step of one that diff_pkts led to.
        (0.8, 1.0),
        shares::between_thresholds,
    ),
    queue("new-vegas", "keeps 2 to 4 packets queued, by the delay", &DEEP, (1.0, 5.0)),
    row(
        "wvegas",
        "alone: drains its queue before the buffer is full",
        &DEEP,
        ("packets marked lost after 5 s", "packets"),
        (0.0, 0.0),
        |run| increase(&run.flow()?, "lost_pkts", SETTLED_S, f64::INFINITY),
    ),
    row(
        "nv",
        "keeps its pad of 10 packets above what its smallest RTT needs",
        &DEEP,
        ("cwnd − link rate × trace_min_rtt, mean over time after 20 s", "packets"),
        // pad_buffer is 2.
        (8.0, 12.0),
        shares::above_own_bdp,
    ),
    row(
        "fast",
        "keeps alpha packets queued",
        &FAST_20,
        ("(mean RTT of each second − smallest RTT) × link rate, median after 20 s", "packets"),
        // The window is whole packets and acknowledgements come in pairs: alpha ± 20 %.
        (16.0, 24.0),
        |run| median(queue_pkts(run, 1.0, mean)?),
    ),
    row(
        "lp",
        "as the native module computes the delay: takes less than CUBIC",
        &BESIDE_CUBIC,
        (SHARE, ""),
        (0.0, 0.4),
        |run| share_beside(run, "cubic"),
    ),
    row("lp", "as the paper computes the delay: yields to CUBIC", &LP_BY_PAPER, (SHARE, ""), (0.0, 0.25), |run| {
        share_beside(run, "cubic")
    }),
    row(
        "cdg",
        "backs off before the buffer is full",
        &DEEP,
        ("packets marked lost after 5 s", "packets"),
        (0.0, 0.0),
        |run| increase(&run.flow()?, "lost_pkts", SETTLED_S, f64::INFINITY),
    ),
    row(
        "copa",
        "keeps about 1/delta packets queued (delta = 0.5)",
        &DEEP,
        ("(smallest RTT of each 10 ms − smallest RTT) × link rate, mean after 20 s, × delta", ""),
        // The queue swings between 0 and 2.5/delta.
        (0.5, 2.5),
        |run| Ok(mean(&queue_pkts(run, STANDING_S, least)?) * 0.5),
    ),
    row(
        "copa",
        "keeps about 1/delta packets queued (delta = 0.1)",
        &COPA_10,
        ("(smallest RTT of each 10 ms − smallest RTT) × link rate, mean after 20 s, × delta", ""),
        (0.5, 2.5),
        |run| Ok(mean(&queue_pkts(run, STANDING_S, least)?) * 0.1),
    ),
    yields("ledbatpp"),
    row(
        "ledbatpp",
        "alone it adds at most TARGET = 60 ms",
        &PATH_OF_P1,
        ("smallest RTT of each 50 ms − smallest RTT, 95th percentile after 20 s", "ms"),
        (0.0, 66.0),
        |run| Ok(compute::percentile(queue_pkts(run, WINDOW_S, least)?, 0.95)? / run.packets_per_s()? * 1e3),
    ),
    cut("veno", "a loss in a full buffer halves the window", &ONE_BDP, 0.5),
    row(
        "veno",
        "a random loss with a short queue leaves 4/5",
        &RANDOM_LOSS,
        (CUT, ""),
        // Windows of about 20 packets, rounded down.
        (0.75, 0.81),
        median_cut,
    ),
    row(
        "illinois",
        "growth alpha falls with the delay, by its law",
        &ONE_BDP,
        ("alpha_milli of the trace / alpha at the smoothed RTT, median", ""),
        // The smoothed RTT is not the mean of the last round.
        (0.9, 1.1),
        |run| median(shares::alpha_over_illinois(run)?),
    ),
    row(
        "illinois",
        "a loss takes beta, which rises with the delay",
        &ONE_BDP,
        ("new ssthresh / (cwnd (1 − beta_milli of the trace)), median over the entries into recovery", ""),
        (0.98, 1.02),
        |run| median(shares::cuts_over_beta(run)?),
    ),
    row(
        "yeah",
        "keeps at most 80 packets queued",
        // On a path whose RTT / 8 is worth fewer packets it turns Reno first, and counts on a Reno flow beside it.
        &LONG_DEEP,
        ("(smallest RTT of each 200 ms − smallest RTT) × link rate, 95th percentile after 20 s", "packets"),
        // A round trip passes until it is answered.
        (0.0, 84.0),
        |run| compute::percentile(queue_pkts(run, LONG_WINDOW_S, least)?, 0.95),
    ),
    row(
        "compound",
        "dwnd returns to 0 with a queue",
        &ONE_BDP,
        ("dwnd_pkts of the trace, median of rows with diff_pkts ≥ 2 gamma = 60", "packets"),
        (0.0, 0.0),
        shares::dwnd_with_a_queue,
    ),
    row(
        "compound",
        "dwnd takes part while there is none",
        &ONE_BDP,
        ("dwnd_pkts of the trace, largest after 5 s", "packets"),
        (5.0, f64::INFINITY),
        |run| Ok(compute::largest(&run.flow()?.settled("dwnd_pkts")?)),
    ),
    probe_rtt_10("bbr"),
    probe_rtt_5("bbrv2"),
    loss_below_two_percent("bbrv2"),
    window_bounded("bbrv2"),
    probes_in_time("bbrv2"),
    probe_rtt_5("f-bbrv2"),
    loss_below_two_percent("f-bbrv2"),
    window_bounded("f-bbrv2"),
    probes_in_time("f-bbrv2"),
    detects("f-bbrv2"),
    detects_nothing_alone("f-bbrv2"),
    probe_rtt_5("bbrv3"),
    loss_below_two_percent("bbrv3"),
    window_bounded("bbrv3"),
    probes_in_time("bbrv3"),
    probe_rtt_5("f-bbrv3"),
    loss_below_two_percent("f-bbrv3"),
    window_bounded("f-bbrv3"),
    probes_in_time("f-bbrv3"),
    detects("f-bbrv3"),
    detects_nothing_alone("f-bbrv3"),
    row(
        "dctcp",
        "alpha tracks the marked fraction",
        &MARKING,
        ("alpha of the trace, mean over time / share of packets delivered with a mark, after 5 s", ""),
        (0.8, 1.25),
        |run| Ok(mean_of(&run.flow()?, "alpha_1024")? / 1024.0 / shares::marked(run)?),
    ),
    row(
        "prague",
        "alpha tracks the marked fraction",
        &MARKING,
        ("alpha of the trace, mean over time / share of packets delivered with a mark, after 5 s", ""),
        (0.8, 1.25),
        |run| Ok(mean_of(&run.flow()?, "alpha_ppm")? / 1e6 / shares::marked(run)?),
    ),
];
