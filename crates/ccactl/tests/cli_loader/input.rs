//! What can be said without a look at the kernel; runs without root.

use crate::host::{Host, failed};
use std::fs;

#[test]
fn list_json_is_an_array_of_objects_with_the_promised_members() {
    let list = Host::new().json(&["list", "--json"]);
    let rows = list["algorithms"].as_array().unwrap();
    let names: Vec<_> = rows.iter().map(|row| row["name"].as_str().unwrap()).collect();
    for name in ["reno", "cubic", "bbr", "bbrv2", "f-bbrv2"] {
        assert!(names.contains(&name), "{names:?}");
    }
    for row in rows {
        for member in ["name", "kernel_name", "family", "reference"] {
            assert!(!row[member].as_str().unwrap().is_empty(), "{member} of {row}");
        }
        for tunable in row["tunables"].as_array().unwrap() {
            let number = |member: &str| tunable[member].as_f64().unwrap();
            assert!(number("min") <= number("default") && number("default") <= number("max"), "{tunable}");
            assert!(!tunable["doc"].as_str().unwrap().is_empty(), "{tunable}");
        }
    }
}

#[test]
fn show_tells_paper_hooks_and_tunables() {
    let host = Host::new();
    let page = host.json(&["show", "f-bbrv2", "--json"]);
    let text = host.ok(&["show", "f-bbrv2"]);
    assert!(text.contains(page["reference"].as_str().unwrap()), "{text}");
    for hook in page["hooks"].as_array().unwrap() {
        assert!(text.contains(hook.as_str().unwrap()), "{text}");
    }
    for tunable in page["tunables"].as_array().unwrap() {
        for member in ["name", "unit", "source", "doc"] {
            assert!(text.contains(tunable[member].as_str().unwrap()), "{member} of {tunable}");
        }
    }
}

#[test]
fn an_unknown_algorithm_gets_the_nearest_names() {
    let host = Host::new();
    for args in [&["show", "fbbrv2"][..], &["load", "fbbrv2", "--cgroup", "/x"], &["run", "fbbrv2", "--", "true"]] {
        failed(&host.ccactl(args), 2, &["'fbbrv2'", "nearest: f-bbrv2", "ccactl list"]);
    }
    failed(&host.ccactl(&["load", "bpf_reno", "--cgroup", "/x"]), 2, &["nearest: reno"]);
}

#[test]
fn a_bad_tunable_is_refused_with_its_range() {
    let host = Host::new();
    let page = host.json(&["show", "f-bbrv2", "--json"]);
    let tunables = page["tunables"].as_array().unwrap();
    let tunable = tunables.iter().find(|tunable| tunable["max"].as_f64().unwrap() < 1e6).unwrap();
    let (name, max) = (tunable["name"].as_str().unwrap(), tunable["max"].to_string());
    let set = |value: String| host.ccactl(&["load", "f-bbrv2", "--cgroup", "/x", "--set", &value]);
    failed(&set(format!("{name}=1000000")), 2, &[name, "out of range", &max]);
    failed(&set(format!("{name}=fast")), 2, &[name, "not a decimal number", &max]);
    // "but it takes whole numbers only" or "but it keeps only 3 decimals"
    failed(&set(format!("{name}=1.00000001")), 2, &[name, "but it", "only", &max]);
    failed(&set(format!("{name}x=1")), 2, &[&format!("'{name}x'"), &format!("nearest: {name}"), "ccactl show f-bbrv2"]);
    let no_value = set(name.to_owned());
    assert_eq!(no_value.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&no_value.stderr).contains("expected NAME=VALUE"));
}

#[test]
fn a_bad_name_is_refused() {
    let host = Host::new();
    let named = |name: &str| host.ccactl(&["load", "reno", "--cgroup", "/x", "--as", name]);
    failed(&named("a-name-of-16-byt"), 2, &["16 bytes", "1 to 15"]);
    failed(&named("cubic"), 2, &["'cubic'", "kernel itself", "--as"]);
    failed(&named("f_bbrv2"), 2, &["kernel name of f-bbrv2"]);
    failed(&named("Reno"), 2, &["character", "a-z 0-9"]);
    failed(&host.ccactl(&["load", "native:reno", "--cgroup", "/x", "--as", "y"]), 2, &["native:reno", "--as"]);
}

/// A file of ours with a name of ours.
fn policy_file(host: &Host, text: &str) -> String {
    let path = host.run.path().join("policy.toml");
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_policy_file_that_is_no_regular_file_is_refused_at_once() {
    let host = Host::new();
    let fifo = host.run.path().join("fifo");
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let fifo = fifo.to_str().unwrap();
    // Nobody writes into the pipe: a reader that waits would not end.
    for args in [&["diff", fifo][..], &["apply", fifo], &["apply", "--watch", fifo]] {
        failed(&host.ccactl(args), 2, &["fifo", "expected a policy file", "a pipe, not a regular file"]);
    }
    failed(&host.ccactl(&["diff", "/dev/zero"]), 2, &["/dev/zero", "a device, not a regular file"]);
    failed(&host.ccactl(&["bench", fifo]), 2, &["fifo", "expected a scenario file", "a pipe, not a regular file"]);
    failed(&host.ccactl(&["probe", "/dev/zero"]), 2, &["/dev/zero", "expected an object file", "a device"]);
}

#[test]
fn a_cgroup_of_70_000_characters_is_refused_on_its_line() {
    let host = Host::new();
    let file = policy_file(&host, &format!("\n[cgroup.\"/{}\"]\nalgorithm = \"reno\"\n", "x".repeat(70_000)));
    failed(
        &host.ccactl(&["diff", &file]),
        2,
        &["policy.toml:2: cgroup.\"/xxx", "a name of 70000 bytes", "at most 255"],
    );
}

#[test]
fn ten_thousand_tables_are_compared_with_the_host() {
    let Some(host) = Host::with_root() else { return };
    let cgroup = host.cgroup();
    let table = |i: u32| format!("[cgroup.\"{cgroup}/{i}\"]\nalgorithm = \"native:reno\"\n");
    let file = policy_file(&host, &(0..10_000).map(table).collect::<String>());
    let output = host.ccactl(&["diff", &file]);
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().filter(|line| line.ends_with("wait")).count(), 10_000);
    assert!(text.contains(&format!("{cgroup}/9999: no such cgroup")));
}

/// Each is a mistake in what was typed, and nothing else.
const MISTAKES: [&[&str]; 15] = [
    &["show", "bbr2"],
    &["load", "bbr2", "--cgroup", "/x"],
    &["load", "reno", "--cgroup", "/x", "--set", "nope=1"],
    &["load", "./none.bpf.c", "--cgroup", "/x"],
    &["run", "bbr2", "--", "true"],
    &["check", "none.bpf.c"],
    &["probe", "none.bpf.o"],
    &["check", "none.toml"],
    &["new", "bad/name"],
    &["bench", "singel"],
    &["bench", "run", "singel"],
    &["report", "/none"],
    &["recover", "/none"],
    &["record", "--every", "nope", "-o", "x.parquet"],
    &["--color", "red", "status"],
];

#[test]
fn one_kind_of_mistake_has_one_exit_code() {
    let host = Host::new();
    for args in MISTAKES {
        let output = host.ccactl(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn with_json_an_error_is_json() {
    let host = Host::new();
    for args in [&["show", "bbr2", "--json"][..], &["report", "/none", "--json"], &["status", "--nope", "--json"]] {
        let output = host.ccactl(args);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!((said.lines().count(), output.stdout.len()), (1, 0), "{said}");
        let said: serde_json::Value = serde_json::from_str(&said).unwrap();
        assert_eq!((&said["schema_version"], &said["error"]["kind"]), (&1.into(), &"usage".into()), "{said}");
        assert_eq!(said["error"]["exit_code"].as_i64(), output.status.code().map(i64::from), "{said}");
        assert!(said["error"]["message"].as_str().is_some_and(|text| text.len() > 20), "{said}");
    }
}

#[test]
fn json_names_its_version() {
    let host = Host::new();
    for args in [&["list", "--json"][..], &["show", "reno", "--json"], &["bench", "list", "--json"]] {
        assert_eq!(host.json(args)["schema_version"], 1, "{args:?}");
    }
}
