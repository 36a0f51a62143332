//! How often a socket is sampled. The kernel decides it by its own clock, so the distances of the rows are exact.

use crate::host::host;
use crate::recording::Recording;
use crate::traffic::{Plan, Traffic};
use ccactl_collector::{Every, Recorder};
use std::time::Duration;

fn record(name: &str, every: Every, plan: Plan) -> Option<Recording> {
    let host = host(name)?;
    let traffic = Traffic::start(&host.cgroup, plan);
    let mut options = host.options("x.parquet");
    options.every = every;
    let recorder = Recorder::start(options).unwrap();
    traffic.run();
    recorder.stop().unwrap();
    Some(Recording::parquet(&host.file("x.parquet")))
}

#[test]
fn every_ack_is_a_row() {
    let writes = 50;
    let Some(recording) = record("acks", Every::Ack, Plan::Drip { writes, gap_us: 1000 }) else { return };
    // As a rule each write is acknowledged before the next one; a busy host may join a few, but never leave one row per
    // interval of 10 ms, which would be about five.
    let samples = recording.rows_of("sample");
    assert!(samples.len() as u64 >= writes / 4, "{} samples of {writes} writes", samples.len());
    let acked = recording.u64("bytes_acked");
    assert!(samples.windows(2).all(|pair| acked[pair[0]] <= acked[pair[1]]));
}

#[test]
fn an_interval_is_kept_exactly() {
    let plan = Plan::Drip { writes: 200, gap_us: 500 };
    let Some(recording) = record("interval", Every::Interval(Duration::from_millis(10)), plan) else { return };
    let times = recording.u64("t_us");
    let samples = recording.rows_of("sample");
    // 200 writes take 100 ms or more, an ACK comes every half millisecond or so.
    assert!(samples.len() >= 5 && samples.len() < 200, "{} samples", samples.len());
    // Each time is cut to µs, hence one less.
    assert!(samples.windows(2).all(|pair| times[pair[1]] - times[pair[0]] >= 9_999));
}

#[test]
fn a_row_per_rtt_is_at_least_one_rtt_after_the_last() {
    let Some(recording) = record("rtt", Every::Rtt, Plan::Bulk { bytes: 100_000_000 }) else { return };
    let times = recording.u64("t_us");
    let srtt_us = recording.u32("srtt_us");
    let samples = recording.rows_of("sample");
    assert!(samples.len() > 5, "{} samples", samples.len());
    for pair in samples.windows(2) {
        let distance_us = times[pair[1]] - times[pair[0]] + 1;
        assert!(distance_us >= u64::from(srtt_us[pair[1]].unwrap()), "{distance_us} µs");
    }
}
