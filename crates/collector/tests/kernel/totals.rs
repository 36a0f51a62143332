//! What a connection adds up to: the same as the application is told.

use crate::host::host;
use crate::recording::Recording;
use crate::traffic::{Facts, Plan, Traffic};
use ccactl_collector::{Every, Recorder, Summary};
use std::collections::HashMap;
use std::time::Duration;

/// Records everything of a plan; the second is the row in which its sender was closed.
fn record(name: &str, plan: Plan) -> Option<(Recording, Summary, Vec<Facts>, u16)> {
    let host = host(name)?;
    let traffic = Traffic::start(&host.cgroup, plan);
    let port = traffic.port;
    let recorder = Recorder::start(host.options("x.parquet")).unwrap();
    let facts = traffic.run();
    let summary = recorder.stop().unwrap();
    Some((Recording::parquet(&host.file("x.parquet")), summary, facts, port))
}

#[test]
fn a_thousand_connections_add_up_to_what_tcp_info_says() {
    let count = 1000;
    let plan = Plan::Connections { count, drop_one_in: 20 };
    let Some((recording, summary, facts, port)) = record("totals", plan) else { return };
    assert_eq!((facts.len() as u64, summary.flows, summary.drops.total()), (count, 2 * count, 0));

    let (sport, flow_id) = (recording.u16("sport"), recording.u64("flow_id"));
    // The sender is the side that accepts.
    let closes: HashMap<u64, usize> = recording
        .rows_of("close")
        .into_iter()
        .filter(|&row| sport[row] == port)
        .map(|row| (flow_id[row], row))
        .collect();
    assert_eq!(closes.len() as u64, count);
    let mut retransmitted = 0;
    for socket in &facts {
        let row = closes[&socket.number("flow_id")];
        for column in ["bytes_sent", "bytes_retrans", "bytes_acked", "bytes_received"] {
            assert_eq!(recording.u64_at(column, row), socket.number(column), "{column}");
        }
        for column in ["retrans_pkts", "rto_count", "delivered_pkts"] {
            let known = socket.number(column) + u64::from(column == "delivered_pkts"); // the FIN counts as a packet
            assert_eq!(u64::from(recording.u32_at(column, row).unwrap()), known, "{column}");
        }
        assert!(recording.optional_u64_at("duration_us", row).is_some());
        retransmitted += socket.number("retrans_pkts");
    }
    assert!(retransmitted > 30, "{retransmitted} packets were sent again, too few to show anything");

    // Each retransmission that was not a timeout's has a row; one row may stand for several packets of one segment.
    let [retrans, rto] = ["retrans", "rto"].map(|event| recording.rows_of(event).len() as u64);
    assert!(retrans + rto > 0 && retrans + rto <= retransmitted, "{retrans} + {rto} of {retransmitted}");
    let timeouts: u64 = facts.iter().map(|socket| socket.number("rto_count")).sum();
    assert_eq!(rto, timeouts);
    assert_eq!(recording.rows_of("open").len() as u64, 2 * count);
    samples_never_contradict(&recording);
}

/// Counters of a socket only grow, up to what its last row says.
fn samples_never_contradict(recording: &Recording) {
    let flow_ids = recording.u64("flow_id");
    for column in ["bytes_sent", "bytes_retrans", "bytes_acked", "bytes_received"] {
        let values = recording.u64(column);
        let mut last: HashMap<u64, u64> = HashMap::new();
        for (row, (&flow_id, &value)) in flow_ids.iter().zip(&values).enumerate() {
            let before = last.insert(flow_id, value).unwrap_or(0);
            assert!(before <= value, "{column} of row {row}: {before}, then {value}");
        }
    }
}

#[test]
fn the_close_rows_are_the_same_without_samples_in_between() {
    let Some(host) = host("sparse") else { return };
    let traffic = Traffic::start(&host.cgroup, Plan::Connections { count: 50, drop_one_in: 20 });
    let mut options = host.options("x.parquet");
    options.every = Every::Interval(Duration::from_secs(3600));
    let recorder = Recorder::start(options).unwrap();
    let facts = traffic.run();
    recorder.stop().unwrap();
    let recording = Recording::parquet(&host.file("x.parquet"));
    let mut expected: Vec<u64> = facts.iter().map(|socket| socket.number("bytes_sent")).collect();
    let mut found: Vec<u64> = Vec::new();
    for row in recording.rows_of("close") {
        let sent = recording.u64_at("bytes_sent", row);
        // The client sends 4 bytes of request and one more.
        if recording.u64_at("bytes_received", row) == 5 {
            found.push(sent);
            let has_rtt =
                recording.u32_at("rtt_mean_us", row).is_some() && recording.u32_at("rtt_min_us", row).is_some();
            assert!(has_rtt || sent == 0);
            assert!(recording.u32_at("rtt_min_us", row) <= recording.u32_at("rtt_mean_us", row) || sent == 0);
        }
    }
    expected.sort_unstable();
    found.sort_unstable();
    assert_eq!(found, expected);
}

#[test]
fn a_flow_is_complete_when_its_last_byte_is_acknowledged_not_when_it_is_closed() {
    let pause_ms = 1000;
    let plan = Plan::CloseLater { bytes: 100_000, pause_ms };
    let Some((recording, _, _, port)) = record("complete", plan) else { return };
    let row = recording.sender_close(port);
    let duration_us = recording.optional_u64_at("duration_us", row).unwrap();
    let completion_us = recording.optional_u64_at("completion_us", row).unwrap();
    assert!(duration_us >= pause_ms * 1000, "{duration_us} µs");
    assert!(completion_us > 0 && completion_us + pause_ms * 1000 <= duration_us, "{completion_us} of {duration_us} µs");
    assert_eq!(recording.u64_at("bytes_acked", row), 100_000);
}

#[test]
fn a_flow_that_its_sender_closes_at_once_is_complete_when_its_data_are_acknowledged() {
    let (bytes, pause_ms) = (2_000_000, 300);
    let Some(host) = host("closed") else { return };
    let traffic = Traffic::start(&host.cgroup, Plan::CloseAtOnce { bytes, pause_ms });
    let port = traffic.port;
    let recorder = Recorder::start(host.options("x.parquet")).unwrap();
    traffic.run();
    let summary = recorder.stop().unwrap();
    let recording = Recording::parquet(&host.file("x.parquet"));
    let (sport, times) = (recording.u16("sport"), recording.u64("t_us"));
    let of_sender = |event: &str| -> Vec<usize> {
        recording.rows_of(event).into_iter().filter(|&row| sport[row] == port).collect()
    };
    let (open, close) = (of_sender("open")[0], of_sender("close")[0]);
    assert_eq!(recording.u64_at("bytes_acked", close), bytes);
    let late = of_sender("sample").into_iter().filter(|&row| times[row] >= times[open] + pause_ms * 1000).count();
    // Kernels without fentry do not show them, and say so.
    assert_eq!(late > 3, summary.has_half_closed_samples, "{late} samples after the close");
    assert_eq!(recording.metadata["ccactl.half_closed_samples"], summary.has_half_closed_samples.to_string());
    let completion_us = recording.optional_u64_at("completion_us", close).unwrap();
    assert!(completion_us >= pause_ms * 1000, "{completion_us} µs");
    assert!(Some(completion_us) <= recording.optional_u64_at("duration_us", close));
}

#[test]
fn a_socket_that_was_open_before_has_no_duration() {
    let Some(host) = host("before") else { return };
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let sender = std::net::TcpStream::connect(address).unwrap();
    let receiver = listener.accept().unwrap().0;
    let mut options = host.options("x.parquet");
    (options.cgroup, options.port) = (None, Some(address.port()));
    let recorder = Recorder::start(options).unwrap();
    std::io::Write::write_all(&mut &sender, b"x").unwrap();
    drop((sender, receiver));
    recorder.stop().unwrap();
    let recording = Recording::parquet(&host.file("x.parquet"));
    let closes = recording.rows_of("close");
    assert!(!closes.is_empty() && recording.rows_of("open").is_empty());
    for row in closes {
        assert_eq!(recording.optional_u64_at("duration_us", row), None);
        assert_eq!(recording.optional_u64_at("completion_us", row), None);
    }
}
