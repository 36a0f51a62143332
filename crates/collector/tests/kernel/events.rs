//! Opening, samples and closing of a connection.

use crate::host::host;
use crate::recording::Recording;
use crate::traffic::{Plan, Traffic};
use ccactl_collector::Recorder;

#[test]
fn a_transfer_is_recorded_from_open_to_close() {
    let Some(host) = host("transfer") else { return };
    let bytes = 30_000_001;
    let traffic = Traffic::start(&host.cgroup, Plan::Bulk { bytes });
    let (netns, port) = (traffic.netns, traffic.port);
    let recorder = Recorder::start(host.options("x.parquet")).unwrap();
    traffic.run();
    let summary = recorder.stop().unwrap();

    let recording = Recording::parquet(&host.file("x.parquet"));
    assert_eq!((recording.rows() as u64, summary.flows, summary.drops.total()), (summary.rows, 2, 0));
    assert_eq!((recording.rows_of("open").len(), recording.rows_of("close").len()), (2, 2));

    // The sender's rows: the receiver's socket has the port as its own and sends nothing.
    let (sent, acked) = (recording.u64("bytes_sent"), recording.u64("bytes_acked"));
    let retrans = recording.u64("bytes_retrans");
    let (sport, dport) = (recording.u16("sport"), recording.u16("dport"));
    let is_sender = |&row: &usize| dport[row] == port;
    let closed = recording.rows_of("close").into_iter().find(is_sender).unwrap();
    assert_eq!((acked[closed], sent[closed] - retrans[closed]), (bytes, bytes));
    let receiver = recording.rows_of("close").into_iter().find(|row| !is_sender(row)).unwrap();
    assert_eq!((acked[receiver], sent[receiver]), (0, 0));
    assert_eq!((sport[receiver], dport[receiver]), (port, sport[closed]));

    let samples = recording.rows_of("sample");
    assert!(samples.len() > 20, "{} samples of 30 MB", samples.len());
    assert!(samples.iter().all(is_sender));
    assert!(samples.iter().all(|&row| sport[row] == sport[closed]));
    let flow_id = recording.u64("flow_id");
    assert!(samples.iter().all(|&row| flow_id[row] == flow_id[closed]) && flow_id[receiver] != flow_id[closed]);

    assert!(recording.u32("netns").iter().all(|&inode| inode == Some(netns)));
    assert!(recording.u64("cgroup_id").iter().all(|&id| id == host.cgroup.id()));
    assert!(recording.text("src").iter().all(|address| address.as_deref() == Some("127.0.0.1")));
    assert!(recording.text("algorithm").iter().all(|name| name.as_deref().is_some_and(|name| !name.is_empty())));
    assert!(recording.text("trace_mode").iter().all(Option::is_none), "no algorithm of ours is loaded");
    assert!(samples.iter().all(|&row| recording.u32("cwnd_pkts")[row] > Some(0)));

    let times = recording.u64("t_us");
    for id in [flow_id[closed], flow_id[receiver]] {
        assert!((0..times.len()).filter(|&row| flow_id[row] == id).is_sorted_by_key(|row| times[row]));
    }
    assert!(samples.windows(2).all(|pair| acked[pair[0]] <= acked[pair[1]]));
}

#[test]
fn the_metadata_say_what_was_recorded() {
    let Some(host) = host("metadata") else { return };
    let traffic = Traffic::start(&host.cgroup, Plan::Bulk { bytes: 100_000 });
    let mut options = host.options("x.parquet");
    let port = traffic.port;
    options.port = Some(port);
    options.metadata.scenario = Some("a = 1".to_owned());
    let recorder = Recorder::start(options).unwrap();
    traffic.run();
    let summary = recorder.stop().unwrap();
    let recording = Recording::parquet(&host.file("x.parquet"));
    let value = |key: &str| recording.metadata[&format!("ccactl.{key}")].as_str();
    let json = |key: &str| serde_json::from_str::<serde_json::Value>(value(key)).unwrap();
    assert_eq!((value("schema_version"), value("every"), value("scenario")), ("4", "ack", "a = 1"));
    assert_eq!((value("rows"), value("drops")), (summary.rows.to_string().as_str(), "0"));
    assert_eq!(value("duration_us"), summary.duration.as_micros().to_string());
    assert_eq!(json("filter")["cgroup_id"], host.cgroup.id());
    assert_eq!(json("filter")["port"], port);
    let seen = recording.text("algorithm")[0].clone().unwrap();
    assert_eq!(json("algorithms").as_array().unwrap().len(), 1);
    assert_eq!(json("algorithms")[0]["kernel_name"], seen);
    assert!(value("started").ends_with('Z') && !value("kernel").is_empty() && !value("version").is_empty());
}
