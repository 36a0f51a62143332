//! `ccactl record`: its file, the stream beside it, and the folder of a recording in parts.

use crate::host::{Host, failed, succeeded};
use crate::room::{ACCESSES, Access, NOBODY, OBSTACLES, Obstacle, Room, State, assert_ours, end_of};
use std::fs;
use std::os::unix::fs::{chown, lchown, symlink};
use std::process::Output;

const FORCE: [&[&str]; 2] = [&[], &["--force"]];

/// Records nothing for a moment: what counts are the files.
fn record(host: &Host, room: &Room, args: &[&str]) -> Output {
    let nothing = ["record", "--port", "1", "--events", "none", "--duration", "10ms"];
    end_of(&mut host.command(&[&nothing, args].concat()), room)
}

#[test]
fn a_recording_refuses_what_somebody_else_has_put_under_its_names() {
    let Some(host) = Host::with_root() else { return };
    let names = [
        ("x.parquet", "x.parquet"),
        ("x.parquet", "x.parquet.partial.arrows"),
        ("x.arrows", "x.arrows"),
        ("x.arrows", "x.arrows.partial.arrows"),
    ];
    for access in ACCESSES {
        for obstacle in OBSTACLES {
            for force in FORCE {
                for (file, name) in names {
                    let room = Room::new(access);
                    room.put(obstacle, name);
                    let before = room.states(name);
                    let output = record(&host, &room, &[&["-o", file], force].concat());
                    let what = format!("{access:?}, {obstacle:?}, {force:?}, {name}: {output:?}");
                    assert_eq!(room.states(name), before, "{what}");
                    failed(&output, 2, &[name, "of user 65534, not a regular file of user 0"]);
                    assert_eq!(room.names(), [name], "{what}");
                }
            }
        }
    }
}

/// Names that ccactl has used: whoever knows them gains nothing.
#[test]
fn a_recording_does_not_open_a_file_that_its_conversion_could_have_used() {
    let Some(host) = Host::with_root() else { return };
    let name = "x.parquet.partial.parquet";
    for access in ACCESSES {
        for obstacle in OBSTACLES {
            let room = Room::new(access);
            room.put(obstacle, name);
            let before = room.states(name);
            let output = record(&host, &room, &["-o", "x.parquet"]);
            assert_eq!(room.states(name), before, "{access:?}, {obstacle:?}: {output:?}");
            succeeded(&output, &["record"]);
            assert_ours(&room.path("x.parquet"));
            assert_eq!(room.names(), ["x.parquet", name]);
        }
    }
}

#[test]
fn a_second_name_of_a_file_of_ours_is_not_written_into() {
    let Some(host) = Host::with_root() else { return };
    for force in FORCE {
        for file in ["x.parquet", "x.arrows"] {
            let room = Room::new(Access::Open);
            let stream = format!("{file}.partial.arrows");
            fs::hard_link(room.victim(), room.path(&stream)).unwrap();
            let before = room.states(&stream);
            let output = record(&host, &room, &[&["-o", file], force].concat());
            assert_eq!(room.states(&stream), before, "{force:?}, {file}: {output:?}");
            failed(&output, 2, &[&stream, "several names (hard links) of user 0"]);
        }
    }
}

#[test]
fn a_file_of_ours_is_replaced_with_force_and_its_other_name_keeps_what_it_had() {
    let Some(host) = Host::with_root() else { return };
    for file in ["x.parquet", "x.arrows"] {
        let room = Room::new(Access::Open);
        fs::hard_link(room.victim(), room.path(file)).unwrap();
        failed(&record(&host, &room, &["-o", file]), 2, &[file, "--force"]);
        succeeded(&record(&host, &room, &["-o", file, "--force"]), &["record"]);
        assert_ours(&room.path(file));
        assert_eq!(fs::read(room.private("victim")).unwrap(), b"the victim's");
        assert_eq!(room.names(), [file]);
    }
}

#[test]
fn a_recording_in_parts_refuses_what_is_not_a_folder_and_a_link_of_somebody_else() {
    let Some(host) = Host::with_root() else { return };
    for access in ACCESSES {
        for obstacle in OBSTACLES.into_iter().filter(|obstacle| *obstacle != Obstacle::Folder) {
            let room = Room::new(access);
            room.put(obstacle, "parts");
            let before = room.states("parts");
            let output = record(&host, &room, &["-o", "parts", "--rotate", "1s"]);
            assert_eq!(room.states("parts"), before, "{access:?}, {obstacle:?}: {output:?}");
            failed(&output, 2, &["parts"]);
        }
        let room = Room::new(access);
        let ours = room.private("ours");
        fs::create_dir(&ours).unwrap();
        symlink(&ours, room.path("parts")).unwrap();
        lchown(room.path("parts"), Some(NOBODY), Some(NOBODY)).unwrap();
        let before = State::of(&ours);
        let output = record(&host, &room, &["-o", "parts", "--rotate", "1s"]);
        assert_eq!(State::of(&ours), before, "{access:?}: {output:?}");
        failed(&output, 2, &["parts", "symbolic link of user 65534 to a folder of user 0"]);
    }
}

#[test]
fn a_recording_in_parts_takes_a_folder_of_somebody_else_but_none_of_its_files() {
    let Some(host) = Host::with_root() else { return };
    for access in ACCESSES {
        let room = Room::new(access);
        let parts = room.path("parts");
        fs::create_dir(&parts).unwrap();
        chown(&parts, Some(NOBODY), Some(NOBODY)).unwrap();
        succeeded(&record(&host, &room, &["-o", "parts", "--rotate", "1s"]), &["record"]);
        assert_ours(&parts.join("part-00000.parquet"));
        assert_eq!(fs::read_dir(&parts).unwrap().count(), 1);

        let output = record(&host, &room, &["-o", "parts", "--rotate", "1s"]);
        failed(&output, 2, &["parts is not an empty folder"]);
    }
}
