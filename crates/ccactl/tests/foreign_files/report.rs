//! `ccactl report`: every file that it writes.

#[path = "../../../report/tests/common/mod.rs"]
mod common;

use crate::host::{Host, failed, succeeded};
use crate::room::{ACCESSES, Access, NOBODY, OBSTACLES, Obstacle, Room, State, assert_ours, end_of};
use common::{Fixture, Row};
use std::fs;
use std::os::unix::fs::{chown, lchown, symlink};
use std::process::Output;

/// Option and name of each file.
const FILES: [(&str, &str); 5] =
    [("--html", "x.html"), ("--svg", "x.svg"), ("--markdown", "x.md"), ("--csv", "x.csv"), ("--parquet", "x.pq")];

fn report(host: &Host, room: &Room, option: &str, name: &str) -> Output {
    let recording = room.private("recording.parquet");
    if !recording.exists() {
        let row = |i: u64| Row::at(1, i * 10_000).bytes(i * 12_500, i * 12_500).rtt(20_000, i as u32);
        Fixture::new((0..=100).map(row).collect()).parquet(&recording);
    }
    let mut args = vec!["report", recording.to_str().unwrap(), option, name, "--json"];
    if option == "--figures" {
        args.extend(["--format", "svg"]);
    }
    end_of(&mut host.command(&args), room)
}

#[test]
fn a_report_replaces_nothing_that_is_somebody_elses() {
    let Some(host) = Host::with_root() else { return };
    for access in ACCESSES {
        for obstacle in OBSTACLES {
            for (option, name) in FILES {
                let room = Room::new(access);
                room.put(obstacle, name);
                let before = room.states(name);
                let output = report(&host, &room, option, name);
                assert_eq!(room.states(name), before, "{access:?}, {obstacle:?}, {option}: {output:?}");
                failed(&output, 1, &[name, "of user 65534, not a regular file of user 0"]);
                assert_eq!(room.names(), [name]);
            }
        }
    }
}

#[test]
fn a_report_replaces_what_is_ours_and_leaves_nothing_beside_it() {
    let Some(host) = Host::with_root() else { return };
    for access in ACCESSES {
        let room = Room::new(access);
        for (option, name) in FILES {
            fs::write(room.path(name), "of yesterday").unwrap();
            succeeded(&report(&host, &room, option, name), &["report"]);
            assert_ours(&room.path(name));
            assert_ne!(fs::read(room.path(name)).unwrap(), b"of yesterday");
        }
        assert_eq!(room.names(), ["x.csv", "x.html", "x.md", "x.pq", "x.svg"]);
    }
}

#[test]
fn figures_go_into_a_folder_of_somebody_else_but_not_where_their_link_leads() {
    let Some(host) = Host::with_root() else { return };
    for access in ACCESSES {
        let room = Room::new(access);
        let figures = room.path("figures");
        fs::create_dir(&figures).unwrap();
        chown(&figures, Some(NOBODY), Some(NOBODY)).unwrap();
        succeeded(&report(&host, &room, "--figures", "figures"), &["report"]);
        assert_ours(&figures.join("rtt.svg"));

        room.put(Obstacle::Link, "figures/rtt-2.svg");
        fs::rename(room.path("figures/rtt-2.svg"), figures.join("rtt.svg")).unwrap();
        let before = room.states("figures/rtt.svg");
        failed(&report(&host, &room, "--figures", "figures"), 1, &["rtt.svg", "a symbolic link of user 65534"]);
        assert_eq!(room.states("figures/rtt.svg"), before);

        let ours = room.private("ours");
        fs::create_dir(&ours).unwrap();
        symlink(&ours, room.path("link")).unwrap();
        lchown(room.path("link"), Some(NOBODY), Some(NOBODY)).unwrap();
        let before = State::of(&ours);
        let output = report(&host, &room, "--figures", "link");
        assert_eq!(State::of(&ours), before);
        failed(&output, 1, &["link on the way is a symbolic link of user 65534 to a folder of user 0"]);
    }
}

#[test]
fn a_recording_that_is_a_fifo_is_not_waited_for() {
    let Some(host) = Host::with_root() else { return };
    let room = Room::new(Access::Open);
    room.put(Obstacle::Fifo, "x.parquet");
    for path in ["x.parquet", "."] {
        let output = end_of(&mut host.command(&["report", path]), &room);
        failed(&output, 1, &["x.parquet: cannot be read: a pipe, not a regular file"]);
    }
}

/// As root, a rename would replace the device of everybody.
#[test]
fn standard_output_by_its_name_is_written_to_also_where_it_is_a_file() {
    let Some(host) = Host::with_root() else { return };
    let room = Room::new(Access::Open);
    let before = State::of("/dev/stdout".as_ref());
    let output = report(&host, &room, "--csv", "/dev/stdout");
    assert!(succeeded(&output, &["report"]).starts_with("recording,"), "{output:?}");

    let file = fs::File::create(room.path("out.csv")).unwrap();
    let recording = room.private("recording.parquet");
    let mut command = host.command(&["report", recording.to_str().unwrap(), "--csv", "/dev/stdout", "--json"]);
    assert!(command.stdout(file).status().unwrap().success());
    let written = fs::read_to_string(room.path("out.csv")).unwrap();
    assert!(written.starts_with("recording,") && written.ends_with("}\n"), "{written}");
    assert_eq!(State::of("/dev/stdout".as_ref()), before);
}
