//! The ledger as metric families.

use crate::metrics::labels::Labels;
use crate::metrics::ledger::Ledger;
use crate::metrics::page::{Page, Pairs, pair};
use crate::metrics::totals::{EVENTS, KERNEL_COUNTERS};

/// Puts everything that is known of sockets onto the page.
pub(crate) fn sockets(page: &mut Page, ledger: &Ledger) {
    for (index, counter) in KERNEL_COUNTERS.iter().enumerate() {
        let values = ledger
            .series()
            .map(|(labels, series)| (pairs(labels), series.totals.counters[index] as f64 / counter.per_unit));
        page.counter(counter.name, counter.help, values);
    }
    for (index, (_, name, help)) in EVENTS.into_iter().enumerate() {
        page.counter(
            name,
            help,
            ledger.series().map(|(labels, series)| (pairs(labels), series.totals.events[index] as f64)),
        );
    }
    page.gauge(
        "ccactl_tcp_connections",
        "Sockets that have been seen and not yet closed.",
        ledger.series().map(|(labels, series)| (pairs(labels), series.live as f64)),
    );
    histograms(page, ledger);
}

fn histograms(page: &mut Page, ledger: &Ledger) {
    let buckets = ledger.buckets();
    page.histogram(
        "ccactl_tcp_rtt_seconds",
        "Latest RTT measurement of a socket, one per --every while it delivers data.",
        &buckets.rtt,
        ledger.series().map(|(labels, series)| (pairs(labels), &series.totals.rtt)),
    );
    page.histogram(
        "ccactl_tcp_cwnd_segments",
        "Congestion window of a socket, one per --every while it delivers data.",
        &buckets.cwnd,
        ledger.series().map(|(labels, series)| (pairs(labels), &series.totals.cwnd)),
    );
    page.histogram(
        "ccactl_tcp_flow_completion_seconds",
        "From the handshake to the ACK that delivered the last data, one per closed connection that delivered some.",
        &buckets.completion,
        ledger.series().map(|(labels, series)| (pairs(labels), &series.totals.completion)),
    );
}

/// How well the exporter itself can count.
pub(crate) fn bounds(page: &mut Page, ledger: &Ledger, evicted: u64) {
    page.gauge(
        "ccactl_exporter_label_sets",
        "Combinations of cgroup, algorithm and netns that have series of their own.",
        [(vec![], ledger.label_sets() as f64)],
    );
    page.gauge(
        "ccactl_exporter_label_sets_limit",
        "How many may have (--max-series).",
        [(vec![], ledger.max_label_sets() as f64)],
    );
    page.gauge(
        "ccactl_exporter_series_limited",
        "1 when something had to be counted under cgroup=\"other\", because the limit was reached.",
        [(vec![], f64::from(u8::from(ledger.is_limited())))],
    );
    page.counter(
        "ccactl_exporter_evicted_sockets_total",
        "Silent sockets that were forgotten because there were too many; they count again from their next row on.",
        [(vec![], evicted as f64)],
    );
}

fn pairs(labels: Labels) -> Pairs {
    vec![pair("cgroup", labels.cgroup), pair("algorithm", labels.algorithm), pair("netns", labels.netns)]
}
