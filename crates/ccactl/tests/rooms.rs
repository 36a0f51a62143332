//! The picture of the rooms in docs/architecture.md is that of the code: every crate is in it once, and uses only what lies in
//! rows below its own.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

const PAGE: &str = "docs/architecture.md";
const BEGIN: &str = "<!-- rooms: begin -->";
const END: &str = "<!-- rooms: end -->";
const PREFIX: &str = "ccactl-";

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Row of each room, from 0 at the top. A row of the picture begins with the name of its product, in brackets.
fn rows(page: &str) -> HashMap<String, usize> {
    let (_, picture) = page.split_once(BEGIN).expect("the picture has a beginning");
    let (picture, _) = picture.split_once(END).expect("the picture has an end");
    let mut rows = HashMap::new();
    for (row, line) in picture.lines().filter(|line| line.contains('│')).enumerate() {
        let rooms = line.rsplit('│').next().unwrap();
        for room in rooms.split_whitespace() {
            assert_eq!(rows.insert(room.to_owned(), row), None, "{room} is in the picture once");
        }
    }
    rows
}

/// Crates under crates/ by their short names, with the crates of ours that they are built with.
fn crates() -> Vec<(String, Vec<String>)> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--format-version", "1", "--no-deps", "--offline"]).current_dir(root());
    let output = cargo.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let short = |name: &str| name.strip_prefix(PREFIX).unwrap_or(name).to_owned();
    let is_room = |package: &&serde_json::Value| package["name"] != "xtask";
    let room = |package: &serde_json::Value| {
        let dependencies = package["dependencies"].as_array().unwrap().iter();
        let built_with = dependencies.filter(|dependency| dependency["kind"] != "dev");
        let names = built_with.filter_map(|dependency| dependency["name"].as_str());
        let ours = names.filter(|name| name.starts_with(PREFIX)).map(short).collect();
        (short(package["name"].as_str().unwrap()), ours)
    };
    metadata["packages"].as_array().unwrap().iter().filter(is_room).map(room).collect()
}

#[test]
fn every_arrow_between_rooms_points_downwards_in_the_picture() {
    let page = std::fs::read_to_string(root().join(PAGE)).unwrap();
    let rows = rows(&page);
    let crates = crates();
    let mut in_code: Vec<&String> = crates.iter().map(|(name, _)| name).collect();
    let mut in_picture: Vec<&String> = rows.keys().collect();
    in_code.sort();
    in_picture.sort();
    assert_eq!(in_picture, in_code, "{PAGE} has the rooms that there are");
    for (room, below) in &crates {
        for other in below {
            assert!(
                rows[room] < rows[other],
                "{room} uses {other}, which the picture in {PAGE} does not have below it"
            );
        }
    }
}
