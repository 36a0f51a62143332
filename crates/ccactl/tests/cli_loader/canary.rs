//! `swap --canary`: what is refused before anything changes.

use crate::host::{Host, failed};

const RULE: &str = "retransmit_rate > 2 * baseline";

#[test]
fn a_rule_that_cannot_be_read_is_refused_with_the_place_and_what_there_is() {
    let host = Host::new();
    let swap = |rule: &str| {
        host.ccactl(&["swap", "cubic", "--cgroup", "/x", "--canary", "10%", "--revert-if", RULE, "--revert-if", rule])
    };
    failed(&swap("retransmits > 2 * baseline"), 2, &["unknown metric 'retransmits'", "retransmit_rate", "p95_rtt"]);
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
    failed(&swap(&["--canary", "10%"]), 2, &["--revert-if"]);
    failed(&swap(&["--revert-if", RULE]), 2, &["--canary"]);
    failed(&swap(&["--watch", "10s"]), 2, &["--canary"]);
    failed(&swap(&["--min-flows", "3"]), 2, &["--canary"]);
    failed(&swap(&["--canary", "100%", "--revert-if", RULE]), 2, &["'100%' is not a share"]);
    failed(&swap(&["--canary", "10%", "--revert-if", RULE, "--watch", "10"]), 2, &["is not a duration"]);
    for kind in ["--existing", "--new-only", "--dry-run"] {
        failed(&swap(&["--canary", "10%", "--revert-if", RULE, kind]), 2, &[kind]);
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
        host.ccactl(&[&always, &["--revert-if", RULE], more].concat())
    };
    failed(&swap(&canary, &[]), 2, &["no cgroup", &cgroup]);
    host.ok(&["load", "reno", "--cgroup", &cgroup, "--create", "--as", &baseline]);
    failed(&swap(&canary, &[]), 2, &["canary with too few sockets", "needed are 5 in each", "--min-flows"]);
    failed(&swap(&canary, &["--watch", "1s"]), 2, &["--watch 1 s is too short", "5 s"]);
    failed(&swap(&baseline, &[]), 2, &[&baseline, "--as"]);
    assert!(!evidence.exists(), "nothing was decided");
    let status = host.json(&["status", "--json"]);
    assert_eq!(status.to_string().matches(&canary).count(), 0, "{status}");
    host.ok(&["unload", "--cgroup", &cgroup, "--remove-cgroup"]);
}
