//! What a report says of sockets with a receiving algorithm, worked out by hand.

mod common;

use ccactl_report::{Options, Recording, Summary, render, summarize};
use common::{Fixture, Row};
use tempfile::TempDir;

const SECOND: u64 = 1_000_000;

fn summary(fixture: &Fixture) -> Summary {
    let folder = TempDir::new().unwrap();
    let path = fixture.parquet(&folder.path().join("x.parquet"));
    summarize(&[Recording::open(path).unwrap()], &Options::default()).unwrap()
}

fn receiving(t_us: u64, received: u64, offered: u32, [limit, rtt_us, least_us]: [u32; 3]) -> Row {
    let receiver = Some([limit, rtt_us, least_us]);
    Row { bytes_received: received, rcv_wnd_bytes: offered, receiver, ..Row::at(7, t_us) }
}

/// A download of 3 MB in 3 s.
fn download() -> Vec<Row> {
    vec![
        receiving(SECOND, 500_000, 100_000, [120_000, 60_000, 40_000]),
        receiving(2 * SECOND, 1_500_000, 200_000, [240_000, 90_000, 30_000]),
        receiving(4 * SECOND, 3_500_000, 300_000, [400_000, 70_000, 30_000]),
    ]
}

#[test]
fn a_receiver_has_means_over_time_and_what_arrived() {
    let found = &summary(&Fixture::new(download())).recordings[0];
    assert!(found.flows.is_empty(), "it sent nothing");
    let [receiver] = found.receivers.as_slice() else { panic!("{:?}", found.receivers) };
    // 100 KB for one second, then 200 KB for two.
    assert_eq!(receiver.offered_mean_bytes, Some(500_000.0 / 3.0));
    assert_eq!(receiver.limit_mean_bytes, Some(200_000.0));
    assert_eq!((receiver.limit_min_bytes, receiver.limit_max_bytes), (Some(120_000), Some(400_000)));
    assert_eq!((receiver.rtt_mean_us, receiver.rtt_min_us), (Some(80_000.0), Some(30_000)));
    assert_eq!((receiver.received_bytes, receiver.goodput_bps), (3_000_000, Some(8_000_000.0)));
    assert_eq!((receiver.rows, receiver.flow_id), (3, 7));
    assert_eq!(receiver.name, "10.0.0.1:40007←10.0.0.2:5001");
}

#[test]
fn parts_of_a_file_make_no_difference() {
    let folder = TempDir::new().unwrap();
    let path = Fixture::new(download()).parquet_in_groups(&folder.path().join("x.parquet"), 1);
    let found = summarize(&[Recording::open(path).unwrap()], &Options::default()).unwrap();
    assert_eq!(found.recordings[0].receivers, summary(&Fixture::new(download())).recordings[0].receivers);
}

#[test]
fn a_sender_beside_it_is_reported_as_ever_and_is_no_receiver() {
    let mut rows = download();
    rows.extend([Row::at(1, SECOND), Row::at(1, 3 * SECOND).bytes(1_000_000, 1_000_000)]);
    let found = summary(&Fixture::new(rows));
    let recording = &found.recordings[0];
    assert_eq!((recording.flows.len(), recording.receivers.len()), (1, 1));
    let text = render::terminal(&found);
    assert!(text.contains("receiver") && text.contains("10.0.0.1:40007←10.0.0.2:5001"), "{text}");
    assert!(text.contains("120–400"), "{text}");
}

#[test]
fn files_of_earlier_versions_have_no_receivers() {
    for version in [1, 2] {
        let rows = vec![Row::at(1, SECOND), Row::at(1, 3 * SECOND).bytes(1_000_000, 1_000_000)];
        let found = summary(&Fixture::new(rows).of_version(version));
        assert!(found.recordings[0].receivers.is_empty());
        assert_eq!(found.recordings[0].flows.len(), 1);
    }
}
