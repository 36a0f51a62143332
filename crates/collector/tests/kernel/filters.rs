//! Which sockets are recorded.

use crate::host::host;
use crate::recording::Recording;
use crate::traffic::{Plan, Traffic};
use ccactl_collector::Recorder;

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
    traffic.into_iter().for_each(Traffic::run);
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
    traffic.into_iter().for_each(Traffic::run);
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
    traffic.into_iter().for_each(Traffic::run);
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
