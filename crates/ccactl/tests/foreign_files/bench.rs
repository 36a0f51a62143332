//! `ccactl bench`: the folder of its results.

use crate::host::{Host, failed};
use crate::room::{ACCESSES, Access, NOBODY, OBSTACLES, Obstacle, Room, State, assert_ours, end_of};
use std::fs;
use std::os::unix::fs::{chown, lchown, symlink};
use std::process::Output;

/// A second on an emulated link.
const SCENARIO: &str = "duration = \"1s\"\n[link]\nrate = \"10Mbit/s\"\nbase_rtt = \"10ms\"\nbuffer = \"1bdp\"\n\
                        [[flow]]\nname = \"a\"\nalgorithm = \"native:reno\"\n";

fn bench(host: &Host, room: &Room) -> Output {
    let scenario = room.private("scenario.toml");
    fs::write(&scenario, SCENARIO).unwrap();
    let args = ["bench", scenario.to_str().unwrap(), "-o", "results", "--attempts", "1", "--json"];
    end_of(&mut host.command(&args), room)
}

#[test]
fn a_bench_refuses_what_is_not_a_folder_and_a_link_of_somebody_else() {
    let Some(host) = Host::with_root() else { return };
    for access in ACCESSES {
        for obstacle in OBSTACLES.into_iter().filter(|obstacle| *obstacle != Obstacle::Folder) {
            let room = Room::new(access);
            room.put(obstacle, "results");
            let before = room.states("results");
            let output = bench(&host, &room);
            assert_eq!(room.states("results"), before, "{access:?}, {obstacle:?}: {output:?}");
            failed(&output, 2, &["output folder results"]);
        }
        let room = Room::new(access);
        let ours = room.private("ours");
        fs::create_dir(&ours).unwrap();
        symlink(&ours, room.path("results")).unwrap();
        lchown(room.path("results"), Some(NOBODY), Some(NOBODY)).unwrap();
        let before = State::of(&ours);
        let output = bench(&host, &room);
        assert_eq!(State::of(&ours), before);
        failed(&output, 2, &["a symbolic link of user 65534 to a folder of user 0"]);
    }
}

#[test]
fn a_bench_in_a_folder_of_somebody_else_opens_nothing_that_is_there() {
    let Some(host) = Host::with_root() else { return };
    let room = Room::new(Access::Open);
    let results = room.path("results");
    fs::create_dir(&results).unwrap();
    let names = [".ccactl-probe", "scenario.toml.partial", "result.json.partial", "commands.sh.partial"];
    for name in names {
        symlink(room.victim(), results.join(name)).unwrap();
        lchown(results.join(name), Some(NOBODY), Some(NOBODY)).unwrap();
    }
    chown(&results, Some(NOBODY), Some(NOBODY)).unwrap();
    let before = State::of(&room.private("victim"));
    // Whether the run is valid is up to how busy the machine is.
    let output = bench(&host, &room);
    assert_eq!(State::of(&room.private("victim")), before, "{output:?}");
    for name in ["scenario.toml", "result.json", "run-1/recording.parquet", "run-1/link.parquet"] {
        assert_ours(&results.join(name));
    }
    for name in names {
        assert!(results.join(name).is_symlink(), "{name}");
    }
}
