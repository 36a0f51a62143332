//! Events between the opening and the closing of a connection.

use crate::host::host;
use crate::recording::Recording;
use crate::traffic::{Plan, Traffic};
use ccactl_collector::{EventSet, Every, Recorder};
use std::time::Duration;

/// Hardly any samples: events do not depend on them.
const RARELY: Every = Every::Interval(Duration::from_secs(3600));

#[test]
fn a_timeout_is_told_once_with_the_state_that_it_leads_to() {
    let Some(host) = host("timeout") else { return };
    let traffic = Traffic::start(&host.cgroup, Plan::Stall { pause_ms: 500 });
    let port = traffic.port;
    let mut options = host.options("x.parquet");
    options.every = RARELY;
    let recorder = Recorder::start(options).unwrap();
    let facts = traffic.run();
    recorder.stop().unwrap();
    let recording = Recording::parquet(&host.file("x.parquet"));

    let timeouts = recording.rows_of("rto");
    assert!(!timeouts.is_empty());
    assert_eq!(timeouts.len() as u64, facts[0].number("rto_count"));
    let [state, previous] = ["ca_state", "previous"].map(|column| recording.text(column));
    for (number, &row) in timeouts.iter().enumerate() {
        assert_eq!(recording.u32_at("rto_count", row), Some(number as u32 + 1));
        assert_eq!(state[row].as_deref(), Some("loss"));
        assert_eq!(previous[row], None);
    }
    let changes = recording.rows_of("ca_state");
    assert!(changes.iter().all(|&row| state[row] != previous[row]), "a change is one");
    let is_into_loss = |&&row: &&usize| state[row].as_deref() == Some("loss");
    let into_loss = changes.iter().find(is_into_loss).expect("the state becomes loss");
    assert!(into_loss < &timeouts[0], "the state changes before the segment is sent again");
    assert!(changes.iter().any(|&row| previous[row].as_deref() == Some("loss")), "and back");
    // The states of one socket follow from each other.
    for pair in changes.windows(2) {
        assert_eq!(state[pair[0]], previous[pair[1]]);
    }
    let close = recording.sender_close(port);
    assert_eq!(recording.u32_at("rto_count", close), Some(timeouts.len() as u32));
}

#[test]
fn another_algorithm_in_mid_connection_is_told_once() {
    let Some(host) = host("switch") else { return };
    let traffic = Traffic::start(&host.cgroup, Plan::Switch);
    let mut options = host.options("x.parquet");
    options.every = RARELY;
    options.events = "algorithm".parse().unwrap();
    let recorder = Recorder::start(options).unwrap();
    traffic.run();
    recorder.stop().unwrap();
    let recording = Recording::parquet(&host.file("x.parquet"));
    let [algorithm, previous] = ["algorithm", "previous"].map(|column| recording.text(column));
    let changes = recording.rows_of("algorithm");
    let last = *changes.last().expect("a change is told");
    assert_eq!((previous[last].as_deref(), algorithm[last].as_deref()), (Some("cubic"), Some("reno")));
    let to_reno = changes.iter().filter(|&&row| algorithm[row].as_deref() == Some("reno")).count();
    assert_eq!(to_reno, 1);
    assert_eq!(recording.rows(), changes.len() + recording.rows_of("sample").len(), "no other event was asked for");
}

#[test]
fn marks_are_told_at_most_once_per_rtt() {
    let Some(host) = host("marks") else { return };
    let traffic = Traffic::start(&host.cgroup, Plan::Marked { bytes: 20_000_000, one_in: 50 });
    let port = traffic.port;
    let mut options = host.options("x.parquet");
    options.every = RARELY;
    let recorder = Recorder::start(options).unwrap();
    let facts = traffic.run();
    recorder.stop().unwrap();
    let recording = Recording::parquet(&host.file("x.parquet"));
    let told = recording.rows_of("ecn");
    assert!(!told.is_empty());
    let (times, srtt_us) = (recording.u64("t_us"), recording.u32("srtt_us"));
    let marked = recording.u32("delivered_ce_pkts");
    for pair in told.windows(2) {
        assert!(marked[pair[0]] < marked[pair[1]], "a row without new marks");
        assert!(times[pair[1]] - times[pair[0]] + 1 >= u64::from(srtt_us[pair[1]].unwrap()));
    }
    let close = recording.sender_close(port);
    // The FIN leaves after the facts have been read, and may be the one of fifty that is marked.
    let before_fin = facts[0].number("delivered_ce_pkts");
    let at_close = u64::from(marked[close].expect("counted to the end"));
    assert!((before_fin..=before_fin + 1).contains(&at_close), "{at_close} of {before_fin}");
    assert!(marked[told[0]] > Some(0) && marked[*told.last().unwrap()] <= marked[close]);
    // Accurate ECN, which counts bytes, needs Linux 7.0: crates/lab/tests/linux_7.rs.
    assert_eq!(recording.text("ecn_mode")[close].as_deref(), Some("classic"));
    assert_eq!(recording.optional_u64_at("delivered_ce_bytes", close), None);
}

#[test]
fn only_the_events_that_were_chosen_are_recorded() {
    for (name, events, expected) in [("none", EventSet::NONE, [0, 0]), ("close", "close".parse().unwrap(), [0, 2])] {
        let Some(host) = host(name) else { return };
        let traffic = Traffic::start(&host.cgroup, Plan::Bulk { bytes: 1_000_000 });
        let mut options = host.options("x.parquet");
        options.events = events;
        let recorder = Recorder::start(options).unwrap();
        traffic.run();
        recorder.stop().unwrap();
        let recording = Recording::parquet(&host.file("x.parquet"));
        assert_eq!(["open", "close"].map(|event| recording.rows_of(event).len()), expected);
        assert!(!recording.rows_of("sample").is_empty());
        assert_eq!(recording.metadata["ccactl.events"], events.to_string());
    }
}

#[test]
fn the_metadata_count_rows_by_event() {
    let Some(host) = host("by-event") else { return };
    let traffic = Traffic::start(&host.cgroup, Plan::Connections { count: 20, drop_one_in: 10 });
    let recorder = Recorder::start(host.options("x.parquet")).unwrap();
    traffic.run();
    recorder.stop().unwrap();
    let recording = Recording::parquet(&host.file("x.parquet"));
    let counts: serde_json::Value = serde_json::from_str(&recording.metadata["ccactl.rows_by_event"]).unwrap();
    for event in ["sample", "open", "close", "retrans", "ca_state", "algorithm", "rto", "ecn"] {
        assert_eq!(counts[event], recording.rows_of(event).len(), "{event}");
    }
    let drops: serde_json::Value = serde_json::from_str(&recording.metadata["ccactl.drops_by_reason"]).unwrap();
    assert_eq!(drops, serde_json::json!({ "ring_full_samples": 0, "ring_full_events": 0, "no_storage": 0 }));
}
