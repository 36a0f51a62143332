//! `apply` and `diff` on the real kernel.

use crate::fleet::{Fleet, column};
use crate::host::{failed, registered, succeeded};
use std::fs;
use std::os::unix::fs::MetadataExt;

#[test]
fn a_file_with_one_mistake_applies_nothing() {
    let Some(fleet) = Fleet::new() else { return };
    fleet.make("a");
    fleet.make("b");
    let good = fleet.table("a", "reno", "a", "");
    let cases = [
        (
            fleet.table("b", "renoo", "b", ""),
            vec!["policy.toml:7: ", "algorithm: unknown algorithm 'renoo'", "nearest: reno"],
        ),
        (fleet.table("b", "reno", "b", "set = { nosuch = 1 }"), vec!["policy.toml:9: ", "set.nosuch", "no tunable"]),
        (fleet.table("b", "reno", "b", "enforced = true"), vec!["policy.toml:9: ", "enforced: unknown field"]),
        (
            format!("[cgroup.\"{}\"]\nalgorithm = \"native:nosuch\"\n", fleet.cgroup("b")),
            vec!["policy.toml:6: ", "'nosuch'", "it has"],
        ),
        ("[cgroup".to_owned(), vec!["not valid TOML"]),
    ];
    for (bad, parts) in cases {
        fleet.write(&format!("{good}\n{bad}"));
        failed(&fleet.run("apply", &[]), 2, &parts);
        failed(&fleet.run("diff", &[]), 2, &parts);
        failed(&fleet.run("apply", &["--watch"]), 2, &parts);
        assert!(!fleet.host.bpffs().exists() && !registered(&fleet.name("a")), "{parts:?}");
    }
    fs::remove_file(fleet.path()).unwrap();
    failed(&fleet.run("apply", &[]), 2, &["policy.toml", "expected a policy file", "No such file"]);
}

#[test]
fn a_second_apply_changes_nothing_and_says_so() {
    let Some(fleet) = Fleet::new() else { return };
    let a = fleet.table("a", "f-bbrv2", "a", "create = true\nset = { alpha = 1.3 }");
    let b = format!("[cgroup.\"{}\"]\nalgorithm = \"native:cubic\"\ncreate = true\n", fleet.cgroup("b"));
    fleet.write(&(a + &b));
    let (code, differences) = fleet.json("diff", &[]);
    assert_eq!((code, column(&differences, "action")), (1, vec!["create", "create"]));
    assert!(!fleet.host.bpffs().exists(), "a diff changes nothing");

    let (code, first) = fleet.json("apply", &[]);
    assert_eq!((code, column(&first, "result"), &first["changed"]), (0, vec!["created", "created"], &true.into()));
    let status = fleet.host.policies();
    let (code, second) = fleet.json("apply", &[]);
    assert_eq!((code, column(&second, "result"), &second["changed"]), (0, vec!["unchanged"; 2], &false.into()));
    assert_eq!(fleet.host.policies(), status, "not even the time of attachment");
    assert!(
        succeeded(&fleet.run("apply", &[]), &["apply"])
            .contains("2 in force, 0 waiting for their cgroup, 0 failed; nothing")
    );
    assert!(succeeded(&fleet.run("diff", &[]), &["diff"]).contains("policy.toml: in force"));

    let row = status.as_array().unwrap().iter().find(|row| row["algorithm"] == "f-bbrv2").unwrap();
    assert_eq!(row["tunables"]["alpha"], 1.3);
}

#[test]
fn diff_finds_what_was_changed_by_hand_and_apply_makes_it_good() {
    let Some(fleet) = Fleet::new() else { return };
    let directories = ["a", "b", "c"].map(|name| fleet.make(name));
    fleet.write(&["a", "b", "c"].map(|name| fleet.table(name, "reno", name, "")).concat());
    assert_eq!(fleet.json("apply", &[]).0, 0);

    fleet.host.ok(&["unload", "--cgroup", &fleet.cgroup("a")]);
    let other = fleet.name("x");
    fleet.host.ok(&["load", "cubic", "--cgroup", &fleet.cgroup("b"), "--as", &other]);
    let id = fs::metadata(&directories[2]).unwrap().ino();
    fs::remove_file(fleet.host.bpffs().join(format!("cgroups/{id}/link"))).unwrap();
    assert_eq!(fleet.policy("c").unwrap().1, "detached");

    let (code, differences) = fleet.json("diff", &[]);
    assert_eq!((code, column(&differences, "action")), (1, vec!["load", "switch", "repair"]));
    assert_eq!(differences["cgroups"][1]["now"], format!("{other} (cubic)"));
    assert_eq!(differences["cgroups"][1]["wanted"], format!("{} (reno)", fleet.name("b")));
    let text = String::from_utf8(fleet.run("diff", &[]).stdout).unwrap();
    assert!(text.contains(&other) && text.contains("detached"), "{text}");

    let (code, report) = fleet.json("apply", &[]);
    assert_eq!((code, column(&report, "result")), (0, vec!["loaded", "switched", "repaired"]));
    assert!(["a", "b", "c"].iter().all(|name| fleet.is_active(name, name)));
    assert!(!registered(&other));
}

#[test]
fn what_is_not_in_the_file_goes_only_with_prune() {
    let Some(fleet) = Fleet::new() else { return };
    fleet.make("a");
    fleet.make("other");
    fleet.host.ok(&["load", "cubic", "--cgroup", &fleet.cgroup("other"), "--as", &fleet.name("x")]);
    fleet.write(&fleet.table("a", "reno", "a", ""));
    let (code, report) = fleet.json("apply", &[]);
    assert_eq!((code, column(&report, "result")), (0, vec!["loaded", "left"]));
    assert_eq!(report["cgroups"][1]["cgroup"], fleet.cgroup("other"));
    assert_eq!(fleet.json("diff", &[]).0, 0);
    assert!(fleet.is_active("other", "x"));

    let (code, differences) = fleet.json("diff", &["--prune"]);
    assert_eq!((code, column(&differences, "action")), (1, vec!["keep", "prune"]));
    let (code, report) = fleet.json("apply", &["--prune"]);
    assert_eq!((code, column(&report, "result")), (0, vec!["unchanged", "pruned"]));
    assert!(fleet.is_active("a", "a") && fleet.policies() == 1 && !registered(&fleet.name("x")));

    fleet.write("[cgroup]\n");
    assert_eq!(fleet.json("apply", &["--prune"]).0, 0);
    assert!(!fleet.host.bpffs().exists());
}

#[test]
fn one_failure_is_reported_and_the_others_get_their_policy() {
    let Some(fleet) = Fleet::new() else { return };
    fleet.make("a");
    fleet.make("b");
    fleet.write(&fleet.table("a", "f-bbrv2", "a", "set = { alpha = 1.3 }"));
    assert_eq!(fleet.json("apply", &[]).0, 0);
    fleet.write(
        &[
            fleet.table("a", "f-bbrv2", "a", "set = { alpha = 1.4 }"),
            fleet.table("missing", "reno", "m", ""),
            fleet.table("b", "reno", "b", ""),
        ]
        .concat(),
    );
    let (code, report) = fleet.json("apply", &[]);
    assert_eq!((code, column(&report, "result")), (2, vec!["conflict", "waiting", "loaded"]));
    let problem = report["cgroups"][0]["problem"].as_str().unwrap();
    for part in ["'f-bbrv2 alpha=1.3'", "'f-bbrv2 alpha=1.4'", "another name", &fleet.name("a")] {
        assert!(problem.contains(part), "{problem}");
    }
    assert!(fleet.is_active("a", "a") && fleet.is_active("b", "b") && fleet.policy("missing").is_none());
}

#[test]
fn a_cgroup_that_nobody_waits_for_has_a_code_of_its_own() {
    let Some(fleet) = Fleet::new() else { return };
    fleet.write(&fleet.table("missing", "reno", "m", ""));
    let output = fleet.run("apply", &[]);
    assert_eq!(output.status.code(), Some(7), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("waiting") && text.contains("1 waiting for their cgroup"), "{text}");
    let output = fleet.run("diff", &[]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(String::from_utf8(output.stdout).unwrap().contains("no such cgroup"));
}

#[test]
fn the_policy_of_a_removed_cgroup_is_cleared() {
    let Some(fleet) = Fleet::new() else { return };
    let directory = fleet.make("a");
    fleet.write(&fleet.table("a", "reno", "a", ""));
    assert_eq!(fleet.json("apply", &[]).0, 0);
    fs::remove_dir(&directory).unwrap();
    fleet.make("a");
    let (code, report) = fleet.json("apply", &[]);
    assert_eq!((code, column(&report, "result")), (0, vec!["loaded", "cleared"]));
    assert!(fleet.is_active("a", "a") && fleet.policies() == 1);
}

#[test]
fn a_file_is_checked_without_rights_and_names_what_will_be_in_force() {
    let Some(fleet) = Fleet::new() else { return };
    fleet.make("a");
    fleet.write(&fleet.table("a", "f-bbrv2", "a", "set = { alpha = 1.3 }"));
    let path = fleet.path();
    // Nobody's rights, and a machine without cgroup2.
    let nobody = |file: &str| {
        let mut command = std::process::Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all", "--inh-caps=-all"]);
        command.arg(env!("CARGO_BIN_EXE_ccactl")).args(["check", file]).env("CCACTL_MOUNTS", "/dev/null");
        command.output().unwrap()
    };
    // Where nobody may look: neither the test's folder nor the folder of the build is open to all.
    let open = tempfile::Builder::new().prefix("ccactl-check-").tempdir_in("/var/tmp").unwrap();
    let copy = open.path().join("policy.toml");
    std::fs::copy(&path, &copy).unwrap();
    std::fs::set_permissions(open.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let reachable = |path: &str| {
        std::path::Path::new(path).ancestors().all(|folder| {
            std::fs::metadata(folder)
                .is_ok_and(|meta| std::os::unix::fs::PermissionsExt::mode(&meta.permissions()) & 0o1 != 0)
        })
    };
    let checked = if reachable(env!("CARGO_BIN_EXE_ccactl")) {
        nobody(copy.to_str().unwrap())
    } else {
        fleet.host.command(&["check", path.to_str().unwrap()]).env("CCACTL_MOUNTS", "/dev/null").output().unwrap()
    };
    let text = String::from_utf8(checked.stdout).unwrap();
    assert!(checked.status.success(), "{text}{}", String::from_utf8_lossy(&checked.stderr));
    assert!(text.contains(": one cgroup, no mistake"), "{text}");
    assert_eq!(fleet.json("apply", &[]).0, 0);
    let revision = fleet.host.policies()[0]["revision"].as_str().unwrap().to_owned();
    assert!(text.contains(&revision), "{revision} in {text}");
    fleet.write(&fleet.table("a", "f-bbrv2", "a", "set = { gain = 9.9 }"));
    let refused = fleet.host.ccactl(&["check", path.to_str().unwrap()]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("policy.toml:"), "{refused:?}");
}
