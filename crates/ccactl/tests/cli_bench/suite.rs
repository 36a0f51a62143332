//! A whole suite on the real kernel: killed in the middle, cleaned up after, resumed, reported. The machine may be busy:
//! no test asks a run to be valid.

use crate::host::{Host, eventually, failed};
use crate::{leftovers, needs};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, SystemTime};
use tempfile::TempDir;

const SCENARIO: &str = include_str!("../tiny.toml");
/// The oldest kernel that is supported.
const GUEST: &str = "6.1";
const CELLS: [&str; 2] = ["buffer=1bdp", "buffer=2bdp"];

struct Suite {
    folder: TempDir,
}

impl Suite {
    fn new() -> Suite {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("tiny.toml"), SCENARIO).unwrap();
        Suite { folder }
    }

    fn output(&self) -> PathBuf {
        self.folder.path().join("out")
    }

    fn args(&self, further: &[&str]) -> Vec<String> {
        let file = self.folder.path().join("tiny.toml").display().to_string();
        let output = self.output().display().to_string();
        // One after the other, whatever this host was once calibrated for.
        let args = ["bench", "run", &file, "-o", &output, "--jobs", "1"].map(str::to_owned);
        args.into_iter().chain(further.iter().map(|arg| (*arg).to_owned())).collect()
    }

    fn start(&self, host: &Host) -> Running {
        let args = self.args(&[]);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        Running(host.command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    fn run(&self, host: &Host, further: &[&str]) -> std::process::Output {
        let args = self.args(further);
        host.ccactl(&args.iter().map(String::as_str).collect::<Vec<_>>())
    }
}

/// A test that fails does not leave it running.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn changed(path: &Path) -> SystemTime {
    fs::metadata(path).unwrap().modified().unwrap()
}

/// Blocks until the second cell records, while the first one is finished.
fn wait_for_the_second_cell(suite: &Suite, running: &mut Running) {
    let first = suite.output().join(CELLS[0]);
    // Beside the results, until it is whole.
    let second = suite.output().join(".cells").join(CELLS[1]);
    let records = || {
        let made = fs::read_dir(&second).into_iter().flatten().flatten().map(|entry| entry.path().join("cell/run-1"));
        made.map(|run| run.join("recording.parquet.partial.arrows")).any(|recording| recording.exists())
    };
    while !records() {
        assert!(running.0.try_wait().unwrap().is_none(), "the suite has ended by itself");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(first.join("result.json").exists(), "cells run in their order");
}

#[test]
fn a_suite_killed_in_the_middle_is_cleaned_up_and_goes_on_with_what_is_left() {
    let Some(host) = Host::with_root() else { return };
    let suite = Suite::new();
    let mut running = suite.start(&host);
    let pid = running.0.id();
    wait_for_the_second_cell(&suite, &mut running);
    kill(Pid::from_raw(pid.cast_signed()), Signal::SIGKILL).unwrap();
    running.0.wait().unwrap();
    assert!(!leftovers::of(&host, pid).is_empty(), "a killed suite cannot clean up");
    host.json(&["bench", "clean", "--json"]);
    eventually("everything of the killed suite to go", || leftovers::of(&host, pid).is_empty());
    let [first, second] = CELLS.map(|cell| suite.output().join(cell));
    assert!(!second.exists(), "nothing of half a cell");

    let kept = changed(&first.join("result.json"));
    let finished: Value = serde_json::from_slice(&fs::read(first.join("result.json")).unwrap()).unwrap();
    let ended = suite.run(&host, &["--json"]);
    let report: Value = serde_json::from_slice(&ended.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&ended.stderr)));
    // Runs of a busy machine may not be valid; then their cells have no figures, and the exit code says so.
    let valid = report["cells"].as_array().unwrap().iter().all(|cell| cell["valid_runs"] == 1);
    assert_eq!(ended.status.code(), Some(if valid { 0 } else { 1 }), "{report:#}");
    let ids: Vec<&str> = report["cells"].as_array().unwrap().iter().map(|cell| cell["id"].as_str().unwrap()).collect();
    assert_eq!((ids, report["missing"].as_array().unwrap().len()), (CELLS.to_vec(), 0));
    // One that was not valid is run again.
    if finished["aggregate"]["valid_runs"] == 1 {
        assert_eq!(changed(&first.join("result.json")), kept, "a finished cell is not run again");
    }
    for name in ["suite.html", "suite.md", "suite.json"] {
        assert!(fs::metadata(suite.output().join(name)).unwrap().len() > 300, "{name}");
    }
    for cell in [&first, &second] {
        assert!(cell.join("report.html").exists(), "{}", cell.display());
    }
    if valid {
        let throughput = |row: usize| report["tables"][0]["rows"][row]["entries"][0][0]["measured"]["mean"].as_f64();
        let sum = throughput(0).unwrap() + throughput(1).unwrap();
        assert!(sum > 10.0 && sum < 19.2, "two flows over 20 Mbit/s: {sum}");
        assert_eq!(report["figures"].as_array().unwrap().len(), 2);
    }
}

#[test]
fn an_interrupted_suite_says_how_to_go_on_and_leaves_nothing() {
    let Some(host) = Host::with_root() else { return };
    let suite = Suite::new();
    let mut running = suite.start(&host);
    let pid = running.0.id();
    wait_for_the_second_cell(&suite, &mut running);
    kill(Pid::from_raw(pid.cast_signed()), Signal::SIGINT).unwrap();
    assert_eq!(running.0.wait().unwrap().code(), Some(130));
    assert_eq!(leftovers::of(&host, pid), Vec::<String>::new());
    assert!(suite.output().join(CELLS[0]).join("result.json").exists());
    // Where cells are to be made has to be a folder, and is told by its own name.
    let file = suite.output().join("plan.json");
    failed(&suite.run(&host, &["--scratch", &file.display().to_string()]), 2, &["--scratch", "expected a folder"]);
    // Another scenario in the same folder is told, not mixed in.
    failed(&suite.run(&host, &["--seed", "7"]), 2, &["seed = 7", "choose another with -o"]);
}

#[test]
fn parts_of_a_suite_become_one_report_without_rights_and_without_reading_a_recording_again() {
    let Some(host) = Host::with_root() else { return };
    let suite = Suite::new();
    for cell in CELLS {
        let scratch = suite.folder.path().join("node");
        let ended = suite.run(&host, &["--cell", cell, "--scratch", &scratch.display().to_string()]);
        let said = String::from_utf8_lossy(&ended.stdout).into_owned();
        assert!(said.contains(" of 1 runs count") && said.contains("ccactl bench report "), "{said}");
        assert_eq!(fs::read_dir(&scratch).unwrap().count(), 0, "nothing stays on the disk of the node");
        assert!(!suite.output().join("suite.html").exists(), "that of all is for later");
        assert!(suite.output().join(cell).join("report.html").exists());
    }
    let folder = suite.output().display().to_string();
    let report = |host: &Host| -> Value {
        let ended = host.ccactl(&["bench", "report", &folder, "--json"]);
        let stderr = String::from_utf8_lossy(&ended.stderr);
        let mut report: Value =
            serde_json::from_slice(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {stderr}"));
        report["failed"].take();
        report
    };
    let of_parts = report(&host);
    assert_eq!(of_parts["missing"].as_array().unwrap().len(), 0);
    assert_eq!(of_parts["cells"].as_array().unwrap().len(), CELLS.len());
    // What was recorded is not looked into any more.
    for cell in CELLS {
        for run in fs::read_dir(suite.output().join(cell)).unwrap().map(|entry| entry.unwrap().path()) {
            if run.join("recording.parquet").exists() {
                fs::write(run.join("recording.parquet"), "no recording").unwrap();
            }
        }
    }
    assert_eq!(report(&host), of_parts);
    // The same suite in one go is the same report, but for what was measured: nothing is run again.
    let whole = suite.run(&host, &["--json"]);
    let again: Value = serde_json::from_slice(&whole.stdout).unwrap();
    if of_parts["cells"].as_array().unwrap().iter().all(|cell| cell["valid_runs"] == 1) {
        assert_eq!(again["tables"], of_parts["tables"]);
    }
}

#[test]
fn cells_are_listed_with_what_they_need() {
    let (host, suite) = (Host::new(), Suite::new());
    let file = suite.folder.path().join("tiny.toml").display().to_string();
    let list = host.json(&["bench", "cells", &file, "--repeat", "2", "--json"]);
    let cells = list["cells"].as_array().unwrap();
    assert_eq!(cells.iter().map(|cell| cell["id"].as_str().unwrap()).collect::<Vec<_>>(), CELLS);
    assert_eq!((&cells[0]["needs"], &cells[0]["exclusive"]), (&"root".into(), &true.into()));
    assert_eq!(cells[0]["estimated_s"], 14.0, "two runs of 2 s with 5 s around each");
    let list = host.json(&["bench", "cells", &file, "--lab=vm", "--shard", "2/2", "--json"]);
    let cells = list["cells"].as_array().unwrap();
    assert_eq!((cells.len(), &cells[0]["id"], &cells[0]["needs"]), (1, &CELLS[1].into(), &"lab".into()));
    failed(&host.ccactl(&["bench", "cells", &file, "--cell", "buffer=3bdp"]), 2, &["found \"buffer=3bdp\", nearest"]);
    failed(&host.ccactl(&["bench", "report", "/nonexistent"]), 2, &["/nonexistent", "no such folder"]);
}

#[test]
fn a_submission_says_what_it_would_submit_and_without_slurm_what_is_missing() {
    let (host, suite) = (Host::new(), Suite::new());
    let file = suite.folder.path().join("tiny.toml").display().to_string();
    let output = suite.output().display().to_string();
    let submit = |further: &[&str]| {
        let args = ["bench", "submit", &file, "-o", &output, "--slurm"];
        host.command(&[&args[..], further].concat()).env("PATH", "/nonexistent").output().unwrap()
    };
    let dry = submit(&["--dry-run", "--lab=vm", "--quick", "--at-once", "4", "--", "--partition=lab"]);
    let said = String::from_utf8(dry.stdout).unwrap();
    let [array, report] = said.lines().collect::<Vec<_>>()[..] else { panic!("{said}") };
    assert!(array.contains("--array=1%4") && array.contains("--partition=lab"), "{array}");
    assert!(array.contains("--quick --link emulator --lab vm:") && array.contains("--mem=2048M"), "{array}");
    assert!(report.contains("--dependency=afterany:JOB") && report.contains("bench report"), "{report}");
    assert!(!suite.output().exists(), "nothing is made");
    failed(&submit(&[]), 2, &["sbatch: expected Slurm's program on PATH"]);
}

#[test]
fn cells_in_guests_become_one_report() {
    let Some(_) = needs::kernel(GUEST) else { return };
    let host = Host::new();
    let suite = Suite::new();
    let mut args = suite.args(&["--lab", &format!("vm:{GUEST}"), "--set", "duration=1s", "--json"]);
    let jobs = args.iter().position(|arg| arg == "--jobs").unwrap() + 1;
    "2".clone_into(&mut args[jobs]);
    let mut command = host.command(&args.iter().map(String::as_str).collect::<Vec<_>>());
    // The kernels are in the cache of whoever runs the tests.
    match std::env::var_os("XDG_CACHE_HOME") {
        Some(cache) => command.env("XDG_CACHE_HOME", cache),
        None => command.env_remove("XDG_CACHE_HOME"),
    };
    let ended = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&ended.stderr);
    let report: Value = serde_json::from_slice(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {stderr}"));
    let cells = report["cells"].as_array().unwrap();
    assert_eq!(cells.iter().map(|cell| cell["id"].as_str().unwrap()).collect::<Vec<_>>(), CELLS);
    // The guest has its own time, so a busy host makes no run there invalid.
    assert!(cells.iter().all(|cell| cell["valid_runs"] == 1), "{report:#}\n{stderr}");
    let of_both = host.json(&["report", "--json", &suite.output().display().to_string()]);
    for recording in of_both["recordings"].as_array().unwrap() {
        assert!(recording["kernel"].as_str().unwrap().starts_with(GUEST), "{}", recording["kernel"]);
    }
}

#[test]
fn a_bench_of_a_file_with_a_matrix_says_what_it_leaves_out() {
    let (host, suite) = (Host::new(), Suite::new());
    let file = suite.folder.path().join("tiny.toml").display().to_string();
    let told = |options: &[&str]| {
        let refused = ["bench", &file, "--set", "link.speed=1"];
        let output = host.ccactl(&[&refused[..], options].concat());
        String::from_utf8(output.stderr).unwrap().contains("its matrix has 2 cells")
    };
    assert!(told(&[]) && !told(&["-q"]));
}

#[test]
fn bad_wishes_are_refused_before_anything_is_made() {
    let host = Host::new();
    let suite = Suite::new();
    for (args, words) in [
        (&["--only", "bufer=1bdp"][..], "expected an axis of the matrix (buffer), found \"bufer\""),
        (&["--only", "buffer=3bdp"], "expected a value of buffer (1bdp, 2bdp), found \"3bdp\""),
        (&["--set", "link.speed=1"], "link.speed: unknown field"),
        (&["--repeat", "0"], "repeat: expected 1 to 1000"),
    ] {
        failed(&suite.run(&host, args), 2, &[words]);
        assert!(!suite.output().exists(), "{args:?}");
    }
    failed(&host.ccactl(&["bench", "run", "interaction"]), 2, &["interaction", "shipped"]);
}

#[test]
fn the_list_has_suites_and_scenarios_with_their_sizes() {
    let list = Host::new().json(&["bench", "list", "--json"]);
    let all = list["scenarios"].as_array().unwrap();
    let of = |name: &str| all.iter().find(|listed| listed["name"] == name).unwrap_or_else(|| panic!("no {name}"));
    assert_eq!((&of("single")["suite"], &of("single")["full"]["runs_s"]), (&false.into(), &100.0.into()));
    assert_eq!(of("fbbrv2-vs-cubic")["suite"], true);
}
