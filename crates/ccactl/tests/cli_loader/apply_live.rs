//! `apply` and `diff` where connections are open, and applications choose for themselves.

use crate::fleet::{Fleet, column};
use serde_json::{Value, json};

/// The first cgroup of what `apply --json` printed: result, live sockets that were moved.
fn first(report: &Value) -> (&str, &Value) {
    (column(report, "result")[0], &report["cgroups"][0]["sockets"]["moved"])
}

#[test]
fn live_sockets_follow_the_file_and_a_second_apply_finds_them_there() {
    let Some(fleet) = Fleet::new() else { return };
    fleet.make("a");
    let _connection = fleet.connection("a");
    for (name, result) in [("a", "loaded"), ("b", "switched")] {
        fleet.write(&fleet.table("a", "reno", name, ""));
        let (code, report) = fleet.json("apply", &[]);
        assert_eq!((code, first(&report)), (0, (result, &json!(1))), "{report}");
        assert_eq!(fleet.live("a"), json!({ fleet.name(name): 1 }));
        let (code, report) = fleet.json("apply", &[]);
        assert_eq!((code, first(&report)), (0, ("unchanged", &Value::Null)), "{report}");
        assert_eq!(fleet.json("diff", &[]).0, 0);
    }
    fleet.write("[cgroup]\n");
    let (code, report) = fleet.json("apply", &["--prune"]);
    assert_eq!((code, first(&report)), (0, ("pruned", &json!(1))), "what is taken back gives back: {report}");
}

#[test]
fn live_false_leaves_them_alone() {
    let Some(fleet) = Fleet::new() else { return };
    fleet.make("a");
    let _connection = fleet.connection("a");
    fleet.write(&fleet.table("a", "reno", "a", "live = false"));
    let (code, report) = fleet.json("apply", &[]);
    assert_eq!((code, column(&report, "result"), &report["cgroups"][0]["sockets"]), (0, vec!["loaded"], &Value::Null));
    assert_eq!(fleet.live("a")[fleet.name("a")], Value::Null);
    assert_eq!(fleet.json("diff", &[]).0, 0);

    // Only the sockets differ now.
    fleet.write(&fleet.table("a", "reno", "a", ""));
    let (code, differences) = fleet.json("diff", &[]);
    assert_eq!((code, column(&differences, "action")), (1, vec!["move"]));
    assert_eq!(differences["cgroups"][0]["sockets_to_move"], 1);
    let (code, report) = fleet.json("apply", &[]);
    assert_eq!((code, first(&report)), (0, ("moved", &json!(1))), "{report}");
    assert_eq!(fleet.live("a"), json!({ fleet.name("a"): 1 }));
}

#[test]
fn sockets_that_cannot_be_moved_are_exit_code_5() {
    let Some(fleet) = Fleet::new() else { return };
    fleet.make("a");
    fleet.make("b");
    let _connection = fleet.connection("a");
    fleet.write(&(fleet.table("a", "dctcp", "a", "") + &fleet.table("b", "reno", "b", "")));
    let (code, report) = fleet.json("apply", &[]);
    assert_eq!((code, column(&report, "result")), (5, vec!["loaded", "loaded"]), "{report}");
    assert_eq!(report["cgroups"][0]["sockets"]["refused_by_algorithm"], 1);
    let problem = report["cgroups"][0]["problem"].as_str().unwrap();
    assert!(problem.contains("1 of 1 live sockets were not moved") && problem.contains("needs ECN"), "{problem}");
    assert!(fleet.is_active("a", "a") && fleet.is_active("b", "b"));
    // New ones get it, and nobody tries again with those that the algorithm has refused.
    let (code, report) = fleet.json("apply", &[]);
    assert_eq!((code, column(&report, "result")), (0, vec!["unchanged", "unchanged"]), "{report}");
}

#[test]
fn enforcement_follows_the_file() {
    let Some(fleet) = Fleet::new() else { return };
    fleet.make("a");
    let enforced = || fleet.host.policies()[0]["enforce"].clone();
    fleet.write(&fleet.table("a", "reno", "a", ""));
    assert_eq!((fleet.json("apply", &[]).0, enforced()), (0, json!(false)));
    for (more, expected) in
        [("enforce = true", true), ("enforce = false", false), ("live = false\nenforce = true", true)]
    {
        fleet.write(&fleet.table("a", "reno", "a", more));
        let (code, differences) = fleet.json("diff", &[]);
        assert_eq!((code, column(&differences, "action")), (1, vec!["enforcement"]));
        let (code, report) = fleet.json("apply", &[]);
        assert_eq!((code, column(&report, "result")), (0, vec!["enforcement"]), "{more}");
        assert_eq!(enforced(), json!(expected), "{more}");
        assert_eq!(fleet.json("diff", &[]).0, 0, "{more}");
    }
}
