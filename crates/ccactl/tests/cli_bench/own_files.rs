//! Algorithms of one's own in a scenario.

use crate::figures::last_run;
use crate::host::{Host, succeeded};
use crate::scenario::{Bench, flow};
use serde_json::Value;
use std::fs;
use std::path::Path;

const RENO: &str = include_str!("../../../../bpf/cc/reno.bpf.c");

/// Reno as `mine`, under the kernel name of the test.
fn write(host: &Host, path: &Path, line: &str) {
    let text = RENO
        .replace("CC_ALGORITHM(\"reno\"", "CC_ALGORITHM(\"mine\"")
        .replace("\"bpf_reno\"", &format!("{:?}", host.name()))
        .replace("\treno_publish(sk);", &format!("{line}\treno_publish(sk);"));
    fs::write(path, text).unwrap();
}

/// What a bench of these arguments measured, whether it was valid or not.
fn measured(host: &Host, args: &[&str]) -> Value {
    let output = host.ccactl(args);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)))
}

#[test]
fn two_versions_run_side_by_side_beside_a_policy_with_their_name() {
    let Some(host) = Host::with_root() else { return };
    let cgroup = host.cgroup();
    let [old, new] = ["a.bpf.c", "b.bpf.c"].map(|name| host.run.path().join(name));
    write(&host, &old, "");
    write(&host, &new, "\ttcp_sk(sk)->snd_cwnd = min(tcp_sk(sk)->snd_cwnd, 4U);\n");
    // What production has under the very name that both files have.
    host.ok(&["load", old.to_str().unwrap(), "--cgroup", &cgroup, "--create"]);
    let in_force = || host.policies()[0]["object"].clone();
    let before = in_force();

    let bench = Bench::new("2s", &(flow("old", "reno", "") + &flow("new", "reno", "")));
    let (old, new) = (format!("old={}", old.display()), format!("new={}", new.display()));
    let args = bench.args();
    let args: Vec<&str> = args.iter().map(String::as_str).chain(["--algorithm", &old, "--algorithm", &new]).collect();
    let result = measured(&host, &args);
    let flows = last_run(&result)["flows"].as_array().unwrap().clone();
    let names: Vec<&str> = flows.iter().map(|flow| flow["kernel_name"].as_str().unwrap()).collect();
    assert!(names[0] != names[1] && !names.contains(&&*host.name()), "{names:?}");
    let cwnd = |flow: &Value| flow["metrics"]["cwnd_mean_pkts"].as_f64().unwrap();
    assert!(cwnd(&flows[1]) <= 5.0 && cwnd(&flows[0]) > 5.0, "each flow has its version: {flows:?}");
    assert_eq!(in_force(), before, "the policy is as it was");

    // What was run lies beside the scenario: the folder alone is enough to run it again.
    let objects = fs::read_dir(bench.output()).unwrap().flatten().map(|entry| entry.file_name());
    let objects: Vec<_> = objects.filter(|name| name.to_string_lossy().ends_with(".bpf.o")).collect();
    assert_eq!(objects.len(), 2, "{objects:?}");
    for file in ["a.bpf.c", "b.bpf.c"] {
        fs::remove_file(host.run.path().join(file)).unwrap();
    }
    let scenario = bench.output().join("scenario.toml");
    let again = host.run.path().join("again");
    let args = ["bench", scenario.to_str().unwrap(), "-o", again.to_str().unwrap(), "--json", "--duration", "1s"];
    let flows = last_run(&measured(&host, &args))["flows"].as_array().unwrap().clone();
    assert_eq!(flows.iter().map(|flow| flow["kernel_name"].as_str().unwrap()).collect::<Vec<_>>(), names);
    host.ok(&["unload", "--cgroup", &cgroup]);
}

#[test]
fn a_path_is_relative_to_the_file_that_has_it() {
    let host = Host::new();
    let folder = host.run.path().join("scenarios");
    fs::create_dir(&folder).unwrap();
    write(&host, &folder.join("mine.bpf.c"), "");
    let text = "duration = \"2s\"\n[link]\nrate = \"20Mbit/s\"\nbase_rtt = \"20ms\"\nbuffer = { bdp = 2 }\n";
    for (algorithm, is_found) in [("mine.bpf.c", true), ("./mine.bpf.c", true), ("other.bpf.c", false)] {
        fs::write(folder.join("test.toml"), format!("{text}{}", flow("only", algorithm, ""))).unwrap();
        // From elsewhere; an unknown field is complained about after the file was read.
        let args = ["bench", "scenarios/test.toml", "--set", "link.rate=no"];
        let output = host.command(&args).current_dir(host.run.path()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(said.contains("link.rate"), is_found, "{algorithm}: {said}");
        assert!(is_found || said.contains("flow[0].algorithm") && said.contains("scenarios/other.bpf.c"), "{said}");
    }
}

/// The blocks of a page in this language.
fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    let begin = format!("```{language}\n");
    page.split(&begin).skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

#[test]
fn the_page_for_beginners_works_step_by_step() {
    const PAGE: &str = include_str!("../../../../docs/how-to/write-an-algorithm.md");
    let Some(host) = Host::with_root() else { return };
    let folder = host.run.path();
    let here = |args: &[&str]| {
        let output = host.command(args).current_dir(folder).output().unwrap();
        succeeded(&output, args)
    };
    here(&["new", "gentle"]);
    let file = folder.join("gentle.bpf.c");
    let mut text = fs::read_to_string(&file).unwrap();
    let changes = blocks(PAGE, "diff");
    assert_eq!(changes.len(), 2);
    for change in changes {
        let side = |other: char| -> String {
            let lines = change.lines().filter(|line| !line.starts_with(other));
            lines.map(|line| format!("{}\n", &line[1..])).collect()
        };
        let (before, after) = (side('+'), side('-'));
        assert_eq!(text.matches(&before).count(), 1, "{before}");
        text = text.replace(&before, &after);
    }
    fs::write(&file, text).unwrap();
    assert!(here(&["check", "gentle.bpf.c"]).contains("10 MB over loopback"));

    fs::write(folder.join("duel.toml"), blocks(PAGE, "toml")[0]).unwrap();
    let duel = ["bench", "duel.toml", "-o", "out", "--json", "--duration", "2s", "--set", "flow[ours].set.beta=0.9"];
    let output = host.command(&duel).current_dir(folder).output().unwrap();
    let result: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    let run = last_run(&result)["directory"].as_str().unwrap().to_owned();
    let report = here(&["report", &format!("out/{run}/recording.parquet")]);
    assert!(report.contains("phases of gentle: slow-start"), "{report}");

    here(&["sdk", "sdk"]);
    for name in ["include/cc.bpf.h", "include/bpf/bpf_helpers.h", "templates/cubic.bpf.c", "compile_flags.txt"] {
        assert!(folder.join("sdk").join(name).is_file(), "{name}");
    }
    // Again is no matter; what somebody changed is never replaced.
    here(&["sdk", "sdk"]);
    let changed = folder.join("sdk/compile_flags.txt");
    fs::write(&changed, "-DMINE\n").unwrap();
    let refused = host.command(&["sdk", "sdk"]).current_dir(folder).output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && said.contains("sdk/compile_flags.txt"), "{said}");
    assert_eq!(fs::read_to_string(&changed).unwrap(), "-DMINE\n");
}
