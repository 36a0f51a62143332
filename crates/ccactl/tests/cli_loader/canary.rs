//! `swap --canary`: what is refused before anything changes.

use crate::host::{Host, failed};

const RULE: &str = "retransmit_rate > 2 * baseline";

#[test]
fn a_rule_that_cannot_be_read_is_refused_with_the_place_and_what_there_is() {
    let host = Host::new();
    let swap = |rule: &str| {
        host.ccactl(&["swap", "cubic", "--cgroup", "/x", "--canary", "10%", "--revert-if", RULE, "--revert-if", rule])
    };
    let unknown = "unknown metric 'retransmits', nearest: retransmit_rate; the metrics are";
    failed(&swap("retransmits > 2 * baseline"), 2, &["'retransmits > 2 * baseline'", unknown, "p95_rtt"]);
    failed(&swap("p95_rtt > 2"), 2, &["column 11", "a time such as 50ms"]);
    failed(&swap("p95_rtt > 2 * bas"), 2, &["column 15: expected 'baseline', found 'bas'"]);
}

#[test]
fn a_canary_needs_a_rule_and_a_share_and_goes_with_no_other_kind_of_swap() {
    let host = Host::new();
    let swap = |options: &[&str]| {
        let args = [&["swap", "cubic", "--cgroup", "/x"], options].concat();
        host.ccactl(&args)
    };
    // What clap says takes more than one line.
    for (options, expected) in [
        (&["--canary", "10%"][..], "--revert-if"),
        (&["--revert-if", RULE], "--canary"),
        (&["--watch", "10s"], "--canary"),
        (&["--min-flows", "3"], "--canary"),
        (&["--canary", "100%", "--revert-if", RULE], "'100%' is not a share"),
        (&["--canary", "10%", "--revert-if", RULE, "--watch", "10"], "is not a duration"),
        (&["--canary", "10%", "--revert-if", RULE, "--existing"], "--existing"),
        (&["--canary", "10%", "--revert-if", RULE, "--new-only"], "--new-only"),
        (&["--canary", "10%", "--revert-if", RULE, "--dry-run"], "--dry-run"),
    ] {
        let output = swap(options);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains(expected), "{options:?}: {said}");
    }
}

#[test]
fn a_cgroup_without_a_policy_or_without_sockets_has_no_canary_and_nothing_is_kept() {
    let Some(host) = Host::with_root() else { return };
    let (cgroup, baseline, canary) = (host.cgroup(), host.name(), format!("{}c", host.name()));
    let evidence = host.run.path().join("evidence");
    let folder = evidence.to_str().expect("a name of ours");
    let swap = |name: &str, more: &[&str]| {
        let always = ["swap", "reno", "--cgroup", &cgroup, "--as", name, "--canary", "50%", "--evidence", folder];
        host.ccactl(&[&always[..], &["--revert-if", RULE], more].concat())
    };
    failed(&swap(&canary, &[]), 2, &["no cgroup", &cgroup]);
    host.ok(&["load", "reno", "--cgroup", &cgroup, "--create", "--as", &baseline]);
    failed(&swap(&canary, &[]), 2, &["canary with too few sockets", "needed are 5 in each", "--min-flows"]);
    failed(&swap(&canary, &["--watch", "1s"]), 2, &["--watch 1 s is too short", "5 s"]);
    failed(&swap(&baseline, &[]), 2, &[&baseline, "--as"]);
    assert!(!evidence.exists(), "nothing was decided");
    let status = host.policies();
    assert_eq!(status.to_string().matches(&canary).count(), 0, "{status}");
    host.ok(&["unload", "--cgroup", &cgroup, "--remove-cgroup"]);
}
