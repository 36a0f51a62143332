//! Which sockets are recorded.

use crate::host::host;
use crate::recording::Recording;
use crate::traffic::{Plan, Traffic};
use ccactl_collector::{Error, Recorder};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

const BULK: Plan = Plan::Bulk { bytes: 1_000_000 };

#[test]
fn a_cgroup_is_recorded_with_its_descendants_and_without_its_neighbours() {
    let Some(host) = host("cgroups") else { return };
    let inside = host.cgroup.child("inside");
    let below = inside.child("below");
    let beside = host.cgroup.child("beside");
    let traffic = [&inside, &below, &beside, &host.cgroup].map(|cgroup| Traffic::start(cgroup, BULK));
    let mut options = host.options("x.parquet");
    options.cgroup = Some(inside.filter());
    let recorder = Recorder::start(options).unwrap();
    traffic.into_iter().for_each(|traffic| drop(traffic.run()));
    let summary = recorder.stop().unwrap();
    let mut seen = Recording::parquet(&host.file("x.parquet")).u64("cgroup_id");
    seen.sort_unstable();
    seen.dedup();
    let mut expected = [inside.id(), below.id()];
    expected.sort_unstable();
    assert_eq!(seen, expected);
    assert_eq!(summary.flows, 4);
}

#[test]
fn a_network_namespace_is_recorded_alone() {
    let Some(host) = host("netns") else { return };
    let traffic = [(); 2].map(|()| Traffic::start(&host.cgroup, BULK));
    let wanted = traffic[1].netns;
    assert_ne!(traffic[0].netns, wanted);
    let mut options = host.options("x.parquet");
    options.netns = Some(wanted);
    let recorder = Recorder::start(options).unwrap();
    traffic.into_iter().for_each(|traffic| drop(traffic.run()));
    assert_eq!(recorder.stop().unwrap().flows, 2);
    let recording = Recording::parquet(&host.file("x.parquet"));
    assert!(recording.u32("netns").iter().all(|&netns| netns == Some(wanted)));
}

#[test]
fn a_port_is_recorded_on_both_sides_to_the_last_row() {
    let Some(host) = host("port") else { return };
    let traffic = [(); 2].map(|()| Traffic::start(&host.cgroup, BULK));
    let (wanted, netns) = (traffic[0].port, traffic[0].netns);
    let mut options = host.options("x.parquet");
    // The other namespace may have given the same port.
    (options.port, options.netns) = (Some(wanted), Some(netns));
    let recorder = Recorder::start(options).unwrap();
    traffic.into_iter().for_each(|traffic| drop(traffic.run()));
    recorder.stop().unwrap();
    let recording = Recording::parquet(&host.file("x.parquet"));
    let (sport, dport) = (recording.u16("sport"), recording.u16("dport"));
    assert!((0..recording.rows()).all(|row| sport[row] == wanted || dport[row] == wanted));
    let closes = recording.rows_of("close");
    assert_eq!(closes.iter().filter(|&&row| sport[row] == wanted).count(), 1);
    assert_eq!(closes.iter().filter(|&&row| dport[row] == wanted).count(), 1);
}

#[test]
fn nothing_matches_a_port_that_nobody_uses() {
    let Some(host) = host("no-port") else { return };
    let traffic = Traffic::start(&host.cgroup, BULK);
    let mut options = host.options("x.parquet");
    options.port = Some(1);
    let recorder = Recorder::start(options).unwrap();
    traffic.run();
    let summary = recorder.stop().unwrap();
    assert_eq!((summary.rows, summary.flows), (0, 0));
    assert_eq!(Recording::parquet(&host.file("x.parquet")).rows(), 0);
}

#[test]
fn a_process_is_recorded_with_what_it_connects_and_accepts() {
    let Some(host) = host("pid") else { return };
    // The listener is there before the recorder, both sockets of the connection come after.
    let traffic = [(); 2].map(|()| Traffic::start(&host.cgroup, BULK));
    let (pid, netns) = (traffic[1].pid(), traffic[1].netns);
    let mut options = host.options("x.parquet");
    options.pid = Some(pid);
    let recorder = Recorder::start(options).unwrap();
    traffic.into_iter().for_each(|traffic| drop(traffic.run()));
    assert_eq!(recorder.stop().unwrap().flows, 2);
    let recording = Recording::parquet(&host.file("x.parquet"));
    assert!(recording.u32("netns").iter().all(|&inode| inode == Some(netns)));
    for event in ["open", "close"] {
        assert_eq!(recording.rows_of(event).len(), 2, "{event}");
    }
    let filter: serde_json::Value = serde_json::from_str(&recording.metadata["ccactl.filter"]).unwrap();
    assert_eq!(filter["pid"], pid);
}

#[test]
fn sockets_that_a_process_had_before_are_recorded() {
    let Some(host) = host("pid-before") else { return };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let mut receiver = listener.accept().unwrap().0;
    let mut options = host.options("x.parquet");
    (options.cgroup, options.pid) = (None, Some(std::process::id()));
    // Other tests of this process have sockets too.
    let port = listener.local_addr().unwrap().port();
    options.port = Some(port);
    let recorder = Recorder::start(options).unwrap();
    // More than once, as a busy kernel may pass over a program.
    for _ in 0..10 {
        let mut data = [0; 1000];
        sender.write_all(&data).unwrap();
        receiver.read_exact(&mut data).unwrap();
        receiver.write_all(&data).unwrap();
        sender.read_exact(&mut data).unwrap();
    }
    drop((sender, receiver));
    let summary = recorder.stop().unwrap();
    assert_eq!(summary.flows, 2);
}

#[test]
fn a_process_that_does_not_exist_is_refused_before_anything_is_made() {
    let Some(host) = host("no-pid") else { return };
    let mut options = host.options("x.parquet");
    options.pid = Some(1 << 30);
    assert!(matches!(Recorder::start(options).err(), Some(Error::NoProcess { pid: 1_073_741_824, .. })));
    assert!(!host.bpffs().exists() && !host.file("x.parquet").exists());
}

#[test]
fn an_algorithm_is_recorded_while_a_socket_has_it() {
    let Some(host) = host("algorithm") else { return };
    let traffic = Traffic::start(&host.cgroup, Plan::Switch);
    let mut options = host.options("x.parquet");
    options.algorithm = Some("reno".to_owned());
    let recorder = Recorder::start(options).unwrap();
    traffic.run();
    recorder.stop().unwrap();
    let recording = Recording::parquet(&host.file("x.parquet"));
    let samples = recording.rows_of("sample");
    assert!(!samples.is_empty());
    assert!(recording.text("algorithm").iter().all(|name| name.as_deref() == Some("reno")));
}

#[test]
fn a_socket_leaves_the_filter_with_the_algorithm() {
    let Some(host) = host("algorithm-gone") else { return };
    let traffic = Traffic::start(&host.cgroup, Plan::Switch);
    let mut options = host.options("x.parquet");
    options.algorithm = Some("cubic".to_owned());
    let recorder = Recorder::start(options).unwrap();
    traffic.run();
    recorder.stop().unwrap();
    let recording = Recording::parquet(&host.file("x.parquet"));
    // Both ends of the change belong to the filter: the last row of the sender says what it has now.
    let changes = recording.rows_of("algorithm");
    let [algorithm, previous] = ["algorithm", "previous"].map(|column| recording.text(column));
    let last = *changes.last().unwrap();
    assert_eq!((previous[last].as_deref(), algorithm[last].as_deref()), (Some("cubic"), Some("reno")));
    let samples = recording.rows_of("sample");
    assert!(!samples.is_empty() && samples.iter().all(|&row| algorithm[row].as_deref() == Some("cubic")));
}
