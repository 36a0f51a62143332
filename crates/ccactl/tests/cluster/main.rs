//! An experiment on a Slurm of three nodes: a node dies in the middle, the rest is submitted again, and the report is the one that
//! a single machine makes.

#[path = "../hosts/mod.rs"]
mod hosts;
mod nodes;

#[allow(dead_code, reason = "shared with the tests of the lab")]
#[path = "../../../lab/tests/needs/mod.rs"]
mod needs;

use nodes::Cluster;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const CCACTL: &str = env!("CARGO_BIN_EXE_ccactl");
const GUEST: &str = "6.1";
const NODES: usize = 3;
const SCENARIO: &str = r#"
name = "shared"
description = "Reno and CUBIC for a second"
duration = "2s"
[link]
rate = "10Mbit/s"
base_rtt = "20ms"
buffer = { bdp = 2 }
[[flow]]
name = "one"
algorithm = "native:reno"
[[flow]]
name = "two"
algorithm = "cubic"
[[matrix]]
name = "buffer"
field = "link.buffer"
values = ["1bdp", "2bdp", "4bdp", "8bdp"]
[quick]
set = { duration = "1s" }
"#;

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn report(folder: &Path) -> Value {
    let output = Command::new(CCACTL).args(["bench", "report", "--json"]).arg(folder).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", text(&output.stderr)))
}

fn submit<'a>(file: &'a str, folder: &'a str, further: &[&'a str]) -> Vec<&'a str> {
    let words = [CCACTL, "bench", "submit", file, "--quick", "--lab=vm:6.1", "-o", folder, "--slurm"];
    [&words[..], further].concat()
}

fn lines_of(output: &Output) -> String {
    text(&output.stdout) + &text(&output.stderr)
}

#[test]
fn a_matrix_on_three_nodes_of_which_one_dies_is_that_of_one_machine() {
    let Some(_) = needs::kernel(GUEST) else { return };
    let Some(mut cluster) = Cluster::of(NODES) else { return };
    let file = cluster.shared().join("shared.toml");
    fs::write(&file, SCENARIO).unwrap();
    let folder = cluster.shared().join("results");
    let (file, target) = (file.display().to_string(), folder.display().to_string());

    // Three cells run at once; the node of the first one goes without a word.
    let begun = Instant::now();
    // Slurm itself would run it elsewhere; here somebody submits again.
    let words = submit(&file, &target, &["--detach", "--", "--no-requeue"]);
    let output = cluster.run(&words);
    assert!(text(&output.stdout).contains(": 4 of 4 cells; job "), "{}{}", lines_of(&output), cluster.logs());
    let cells = folder.join(".cells");
    cluster.eventually("three cells are under way", |_| fs::read_dir(&cells).is_ok_and(|all| all.count() >= NODES));
    std::thread::sleep(Duration::from_secs(2));
    let first = cells.join("buffer=1bdp");
    assert!(first.join("lock").exists() && !folder.join("buffer=1bdp").exists());
    cluster.hosts.kill("n1");

    // Before Slurm has noticed, the cell is not there, and the lock of the dead is nobody's.
    assert!(!folder.join("buffer=1bdp").exists());
    cluster.eventually("the other cells are there", |_| {
        ["2bdp", "4bdp", "8bdp"].iter().all(|buffer| folder.join(format!("buffer={buffer}/result.json")).exists())
    });
    let missing = report(&folder)["missing"].clone();
    assert_eq!(missing, serde_json::json!(["buffer=1bdp"]), "{}", cluster.logs());
    cluster.run(&["scancel", "--user=root"]);

    // Submitted again, only what is missing runs, and the command waits for it and for the report.
    let output = cluster.run(&submit(&file, &target, &[]));
    assert!(output.status.success(), "{}{}", lines_of(&output), cluster.logs());
    assert!(text(&output.stdout).contains(": 1 of 4 cells; job "), "{}", lines_of(&output));
    assert!(folder.join("suite.html").exists());
    eprintln!("on {NODES} nodes, one of them killed: {:.0} s", begun.elapsed().as_secs_f64());
    let output = cluster.run(&submit(&file, &target, &[]));
    assert!(text(&output.stdout).contains("all 4 cells are finished"), "{}", lines_of(&output));

    // A guest repeats, so a single machine measures the same to the last bit.
    let alone = cluster.shared().join("alone");
    let mut command = Command::new(CCACTL);
    command.args(["bench", "run", &file, "--quick", "--lab=vm:6.1", "-o"]).arg(&alone);
    let output = command.stdout(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let [one, other] = [&folder, &alone].map(|folder| report(folder));
    assert_eq!(one["cells"].as_array().unwrap().len(), 4);
    assert_eq!(one, other, "cell by cell");
    recordings_are_summed_up_on_the_nodes(&cluster, &folder);
}

/// Map and reduce as `packaging/slurm/ccactl-report.sbatch` does them, on the two nodes that are left.
fn recordings_are_summed_up_on_the_nodes(cluster: &Cluster, results: &Path) {
    let recording = cluster.shared().join("recordings");
    let summaries = cluster.shared().join("summaries");
    [&recording, &summaries].into_iter().for_each(|folder| fs::create_dir(folder).unwrap());
    for (number, buffer) in ["1bdp", "2bdp", "4bdp", "8bdp"].into_iter().enumerate() {
        let from = results.join(format!("buffer={buffer}/run-1/recording.parquet"));
        fs::copy(from, recording.join(format!("part-{number:05}.parquet"))).unwrap();
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/slurm/ccactl-report.sbatch");
    let (script, out) = (script.display().to_string(), cluster.shared().join("all.summary"));
    let path = format!("PATH={}:{}", Path::new(CCACTL).parent().unwrap().display(), env!("PATH"));
    let [from, to, all] = [&recording, &summaries, &out].map(|path| path.display().to_string());
    let log = cluster.shared().join("report.log").display().to_string();
    let sbatch = |words: &[&str]| {
        let output = cluster.run(&[&["env", &path, "sbatch", "--parsable", "-o", &log], words].concat());
        assert!(output.status.success(), "{}{}", lines_of(&output), cluster.logs());
        text(&output.stdout).trim().to_owned()
    };
    let map = sbatch(&["--array=1-2", &script, "map", &from, &to]);
    sbatch(&["--wait", &format!("--dependency=afterok:{map}"), &script, "reduce", &to, &all]);
    assert_eq!(fs::read_dir(&summaries).unwrap().count(), 2, "{}", fs::read_to_string(&log).unwrap());
    let json = |path: &Path| -> Value {
        let output = Command::new(CCACTL).args(["report", "--json"]).arg(path).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", text(&output.stderr)))
    };
    assert_eq!(json(&out), json(&recording));
}
