//! `ccactl recover`: the file that it makes, and the stream that it reads.

use crate::host::{Host, failed, succeeded};
use crate::room::{ACCESSES, Access, NOBODY, OBSTACLES, Obstacle, Room, assert_ours, end_of};
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::process::Output;
use tempfile::TempDir;

const STREAM: &str = "x.parquet.partial.arrows";

/// A stream without rows, as a recording leaves it.
fn stream(host: &Host) -> Vec<u8> {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("x.arrows");
    host.ok(&["record", "--port", "1", "--duration", "10ms", "-o", file.to_str().unwrap()]);
    fs::read(file).unwrap()
}

fn recover(host: &Host, room: &Room, args: &[&str]) -> Output {
    end_of(&mut host.command(&[&["recover", STREAM], args].concat()), room)
}

#[test]
fn a_recovered_file_does_not_take_the_place_of_what_is_somebody_elses() {
    let Some(host) = Host::with_root() else { return };
    let stream = stream(&host);
    for access in ACCESSES {
        for obstacle in OBSTACLES {
            for force in [&[][..], &["--force"]] {
                let room = Room::new(access);
                fs::write(room.path(STREAM), &stream).unwrap();
                room.put(obstacle, "x.parquet");
                let before = room.states("x.parquet");
                let output = recover(&host, &room, force);
                assert_eq!(room.states("x.parquet"), before, "{access:?}, {obstacle:?}, {force:?}: {output:?}");
                failed(&output, 2, &["x.parquet", "of user 65534, not a regular file of user 0"]);
                assert_eq!(room.names(), ["x.parquet", STREAM]);
            }
        }
    }
}

#[test]
fn a_recovery_does_not_open_a_file_that_it_could_have_used_on_the_way() {
    let Some(host) = Host::with_root() else { return };
    let stream = stream(&host);
    let name = "x.parquet.partial.parquet";
    for access in ACCESSES {
        for obstacle in OBSTACLES {
            let room = Room::new(access);
            fs::write(room.path(STREAM), &stream).unwrap();
            room.put(obstacle, name);
            let before = room.states(name);
            let output = recover(&host, &room, &[]);
            assert_eq!(room.states(name), before, "{access:?}, {obstacle:?}: {output:?}");
            succeeded(&output, &["recover"]);
            assert_ours(&room.path("x.parquet"));
            assert_eq!(room.names(), ["x.parquet", STREAM, name]);
        }
    }
}

#[test]
fn a_stream_of_somebody_else_is_read_and_left_as_it_is() {
    let Some(host) = Host::with_root() else { return };
    let room = Room::new(Access::Theirs);
    fs::write(room.path(STREAM), stream(&host)).unwrap();
    fs::set_permissions(room.path(STREAM), Permissions::from_mode(0o666)).unwrap();
    chown(room.path(STREAM), Some(NOBODY), Some(NOBODY)).unwrap();
    let before = room.states(STREAM);
    succeeded(&recover(&host, &room, &[]), &["recover"]);
    assert_eq!(room.states(STREAM), before);
    assert_ours(&room.path("x.parquet"));
}

#[test]
fn a_stream_that_is_a_fifo_is_refused_and_not_waited_for() {
    let Some(host) = Host::with_root() else { return };
    let room = Room::new(Access::Open);
    room.put(Obstacle::Fifo, STREAM);
    failed(&recover(&host, &room, &[]), 2, &[STREAM, "a pipe, not a regular file"]);
    // The folder of a recording in parts.
    let output = end_of(&mut host.command(&["recover", "."]), &room);
    failed(&output, 2, &[STREAM, "a pipe, not a regular file"]);
}
