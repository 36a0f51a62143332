//! The cells of an experiment by several machines that share a store and no folder.

use crate::Host;
use crate::needs;
use crate::server::Server;
use std::fs;
use std::path::Path;
use std::process::Output;

/// The oldest kernel that is supported. In the lab a busy machine makes no run invalid.
const GUEST: &str = "6.1";
const STORE: &str = "s3://tcp/results";
const CELLS: [&str; 2] = ["buffer=1bdp", "buffer=2bdp"];
const SCENARIO: &str = include_str!("../tiny.toml");

/// Runs a command on a "machine", which is a folder with nothing but the scenario.
fn run(host: &Host, machine: &str, args: &[&str]) -> Output {
    let folder = host.files.path().join(machine);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("tiny.toml"), SCENARIO).unwrap();
    host.ccactl(args).current_dir(&folder).output().unwrap()
}

fn cell(host: &Host, machine: &str, cell: &str, further: &[&str]) -> Output {
    let lab = format!("vm:{GUEST}");
    let args = ["bench", "run", "tiny.toml", "--lab", &lab, "-o", "out", "--store", STORE, "--cell", cell];
    run(host, machine, &[&args, further].concat())
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stderr[..], &output.stdout].concat()).into_owned()
}

/// All files of a cell with their content.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            all.extend(files(&path).into_iter().map(|(below, content)| (format!("{name}/{below}"), content)));
        } else {
            all.push((name, fs::read(&path).unwrap()));
        }
    }
    all.sort();
    all
}

#[test]
fn machines_without_a_folder_in_common_make_one_report() {
    let Some(_) = needs::kernel(GUEST) else { return };
    let Some(mut server) = Server::start() else { return };
    let Some(host) = Host::new("results", server.settings()) else { return };
    // Both at the same time.
    std::thread::scope(|scope| {
        let one = |machine: &'static str, id: &'static str| {
            let host = &host;
            scope.spawn(move || cell(host, machine, id, &[]))
        };
        for machine in [one("a", CELLS[0]), one("b", CELLS[1])] {
            let output = machine.join().unwrap();
            assert!(output.status.success(), "{}", said(&output));
            assert!(said(&output).contains("1 cell sent to s3://tcp/results"), "{}", said(&output));
        }
    });
    let kept = |server: &Server| {
        server.objects("").iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect::<Vec<_>>()
    };
    let there = kept(&server);
    assert_eq!(server.objects("/1-runs.tar").len(), 2, "{:?}", server.objects(""));

    // What is there is not run again, and nothing is sent twice.
    let again = cell(&host, "c", CELLS[0], &[]);
    assert!(again.status.success() && said(&again).contains("1 of 1 cells are finished in out"), "{}", said(&again));
    assert_eq!(
        files(&host.files.path().join("c/out").join(CELLS[0])),
        files(&host.files.path().join("a/out").join(CELLS[0]))
    );

    // Another experiment is not mixed with it.
    let other = cell(&host, "d", CELLS[0], &["--set", "duration=1s"]);
    let told = said(&other);
    assert_eq!(other.status.code(), Some(2), "{told}");
    assert!(told.contains("s3://tcp/results") && told.contains("duration=1s"), "{told}");
    assert!(!host.files.path().join("d/out").exists(), "nothing is made");
    assert_eq!(kept(&server), there);

    let report = run(&host, "e", &["bench", "report", "out", "--store", STORE, "--json"]);
    assert!(report.status.success(), "{}", said(&report));
    let report: serde_json::Value = serde_json::from_slice(&report.stdout).unwrap();
    let cells: Vec<_> = report["cells"].as_array().unwrap().iter().map(|cell| cell["id"].as_str().unwrap()).collect();
    assert_eq!(cells, CELLS);
    for (machine, id) in [("a", CELLS[0]), ("b", CELLS[1])] {
        let [made, brought] = [machine, "e"].map(|of| files(&host.files.path().join(of).join("out").join(id)));
        assert!(made.len() > 2, "{made:?}");
        assert_eq!(made, brought);
    }

    // Before anything is run.
    server.down();
    let refused = cell(&host, "f", CELLS[0], &[]);
    assert_eq!((refused.status.code(), said(&refused).lines().count()), (Some(1), 1), "{}", said(&refused));
    assert!(!host.files.path().join("f/out").exists(), "nothing is made");
}
