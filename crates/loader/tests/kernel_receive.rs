//! Receiving algorithms on the real kernel: what a socket offers while a cgroup has one, before and after.

mod common;

use ccactl_abi::RECEIVERS;
use ccactl_loader::{Error, Loadable, ReceiveChange, ReceiveOutcome, ReceiveRequest, ReceiverState};
use common::Host;
use common::drops::{Drop, Loss};
use common::net::{Connection, LOOPBACK, in_own_netns, offered_to, one_way};
use std::process::Command;

const MEGABYTE: usize = 1_000_000;
const BYTES: u32 = 60_000;
/// The window is sent in units of 2^scale bytes, rounded up; `tcp_rmem` makes the scale, 10 for 64 MiB.
const ROUNDING: u32 = 1024;

fn request(host: &Host, cgroup: &str, algorithm: &str, set: &[(&str, &str)]) -> ReceiveRequest {
    let set: Vec<_> = set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let wanted = Loadable::receiver(algorithm, &set, None).unwrap();
    ReceiveRequest { wanted, cgroup: host.cgroup(cgroup), create: true, only_swap: false }
}

fn load(host: &Host, cgroup: &str, algorithm: &str, set: &[(&str, &str)]) -> ReceiveOutcome {
    host.loader.load_receive(&request(host, cgroup, algorithm, set)).unwrap_or_else(|error| panic!("{error}"))
}

fn clamped(host: &Host, cgroup: &str, bytes: u32) -> ReceiveOutcome {
    load(host, cgroup, "fixed-clamp", &[("bytes", &bytes.to_string())])
}

/// Segments as on a network, not of 64 KiB.
fn small_segments() {
    let set = Command::new("ip").args(["link", "set", "lo", "mtu", "1500"]).status().unwrap();
    assert!(set.success());
}

/// Inside of a cgroup and a network namespace.
fn connected<T: Send>(host: &Host, cgroup: &str, action: impl FnOnce(Connection) -> T + Send) -> T {
    host.inside(cgroup, || {
        in_own_netns(|| {
            small_segments();
            action(Connection::over(LOOPBACK[0]))
        })
    })
}

fn download(connection: &Connection) -> u32 {
    one_way(&connection.active, &connection.passive, 4 * MEGABYTE);
    offered_to(&connection.active)
}

#[test]
fn a_clamp_bounds_what_is_offered_and_goes_with_the_unload() {
    let Some(host) = Host::new() else { return };
    let outcome = clamped(&host, "a", BYTES);
    assert_eq!((outcome.change, outcome.sockets.total), (ReceiveChange::Attached, 0));
    assert_eq!(clamped(&host, "a", BYTES).change, ReceiveChange::Unchanged);
    connected(&host, "a", |connection| {
        let offered = download(&connection);
        assert!((BYTES / 2..=BYTES + ROUNDING).contains(&offered), "{offered}");

        let removed = host.loader.unload_receive(&host.cgroup("a")).unwrap().expect("it had one");
        assert_eq!((removed.algorithm.as_str(), removed.sockets.total), ("fixed-clamp", 1), "the end that receives");
        assert!(download(&connection) > 4 * BYTES, "{}", offered_to(&connection.active));
    });
    host.assert_no_leftovers();
}

#[test]
fn live_connections_get_it_too_and_a_swap_puts_another_in_its_place() {
    let Some(host) = Host::new() else { return };
    host.make("a");
    connected(&host, "a", |connection| {
        assert!(download(&connection) > 4 * BYTES);
        let outcome = clamped(&host, "a", BYTES);
        assert_eq!((outcome.sockets.total, outcome.sockets.out_of_reach), (2, 0));
        // The edge that was offered stays where it is, up to 6 MB ahead (tcp_rmem); the window falls as data arrives.
        download(&connection);
        let offered = download(&connection);
        assert!(offered <= BYTES + ROUNDING, "{offered}");

        let swap = ReceiveRequest { only_swap: true, ..request(&host, "a", "fixed-clamp", &[("bytes", "120000")]) };
        let outcome = host.loader.load_receive(&swap).unwrap();
        assert_eq!(outcome.change, ReceiveChange::Switched { from: "fixed-clamp".to_owned() });
        let offered = download(&connection);
        assert!((BYTES + ROUNDING + 1..=2 * BYTES + ROUNDING).contains(&offered), "{offered}");
    });
    let status = host.loader.receivers().unwrap();
    let [status] = &status[..] else { panic!("{status:?}") };
    assert_eq!((status.algorithm.as_str(), status.state), ("fixed-clamp", ReceiverState::Active));
    let bytes = status.tunables.iter().find(|setting| setting.tunable.name == "bytes").unwrap();
    assert_eq!(bytes.raw, 120_000);
}

#[test]
fn the_nearest_cgroup_decides() {
    let Some(host) = Host::new() else { return };
    clamped(&host, "a", BYTES);
    clamped(&host, "a/b", 3 * BYTES);
    let inner = connected(&host, "a/b", |connection| download(&connection));
    assert!((BYTES + ROUNDING + 1..=3 * BYTES + ROUNDING).contains(&inner), "{inner}");
    host.loader.unload_receive(&host.cgroup("a/b")).unwrap().expect("it had one");
    let outer = connected(&host, "a/b", |connection| download(&connection));
    assert!(outer <= BYTES + ROUNDING, "{outer}");
}

#[test]
fn each_receives_every_byte_with_losses_on_the_way() {
    let Some(host) = Host::new() else { return };
    for algorithm in RECEIVERS.iter() {
        load(&host, "a", algorithm.name, &[]);
        connected(&host, "a", |connection| {
            let loss = Loss::start(Drop::OneIn(100));
            one_way(&connection.active, &connection.passive, 2 * MEGABYTE);
            std::mem::drop(loss);
            connection.move_both_ways(2 * MEGABYTE);
        });
        host.loader.unload_receive(&host.cgroup("a")).unwrap().expect("it had one");
    }
}

#[test]
fn what_is_wrong_is_said_and_nothing_is_left() {
    let Some(host) = Host::new() else { return };
    let kind = Loadable::receiver("cubic", &[], None).unwrap_err().to_string();
    assert_eq!(kind, "cubic decides what a socket sends, not what it offers: give it without --receive");
    let kind = ccactl_loader::Choice::parse("drwa", &[], None).unwrap_err().to_string();
    assert_eq!(kind, "drwa decides what a socket offers, not what it sends: give it with --receive drwa");
    let unknown = Loadable::receiver("drw", &[], None).unwrap_err().to_string();
    assert!(unknown.contains("nearest: drwa"), "{unknown}");

    host.make("a");
    let swap = ReceiveRequest { only_swap: true, ..request(&host, "a", "drwa", &[]) };
    assert!(matches!(host.loader.load_receive(&swap), Err(Error::NoReceiver { .. })));
    let elsewhere = ReceiveRequest { create: false, ..request(&host, "missing", "drwa", &[]) };
    assert!(host.loader.load_receive(&elsewhere).is_err());
    host.assert_no_leftovers();
}

#[test]
fn a_removed_cgroup_and_a_removed_pin_are_let_go_by_the_next_change() {
    let Some(host) = Host::new() else { return };
    clamped(&host, "a", BYTES);
    clamped(&host, "b", BYTES);
    std::fs::remove_dir(host.directory("a")).unwrap();
    let id = host.loader.receivers().unwrap().iter().find(|status| status.cgroup.is_some()).unwrap().cgroup_id;
    let link = host.loader.paths().bpffs.join(format!("receive/{id}/link"));
    std::fs::remove_file(link).unwrap();
    host.loader.mend().unwrap();
    assert_eq!(host.loader.receivers().unwrap(), []);
    host.assert_no_leftovers();
}
