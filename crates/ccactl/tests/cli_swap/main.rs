//! swap, rollback and unload as a user sees them, and killed at every point: on the real kernel.

#[path = "../cli_loader/host.rs"]
#[allow(dead_code, reason = "shared with the tests of load")]
mod host;
mod killed;
#[allow(dead_code, reason = "shared with the promises")]
mod live;
mod record_receive;

use ccactl_abi::exit;
use host::{Host, failed, registered};
use live::Live;
use std::fs;

/// Two kernel names of this test.
fn names(host: &Host) -> [String; 2] {
    ["a", "b"].map(|suffix| format!("{}{suffix}", host.name()))
}

#[test]
fn a_swap_is_told_in_a_table_and_in_json_and_rolled_back() {
    let Some(host) = Host::with_root() else { return };
    let ([first, second], cgroup) = (names(&host), host.cgroup());
    host.ok(&host.load_args(&first, &cgroup));
    let mut live = Live::open(&host, 4);
    let all = |name: &str| [(name.to_owned(), live.sockets())].into();

    let rehearsal = host.json(&["swap", "cubic", "--cgroup", &cgroup, "--as", &second, "--dry-run", "--json"]);
    assert_eq!((rehearsal["dry_run"].as_bool(), rehearsal["sockets"]["moved"].as_u64()), (Some(true), Some(10)));
    assert_eq!(live.by_algorithm(), all(&first));

    let text = host.ok(&["swap", "cubic", "--cgroup", &cgroup, "--as", &second]);
    assert!(text.contains(&format!("{cgroup}: new sockets get {second} instead of {first}")), "{text}");
    assert!(text.contains("read back: 10 of 10 have it"), "{text}");
    assert_eq!(live.by_algorithm(), all(&second));
    assert!(!registered(&first));

    let row = host.policies()[0].clone();
    assert_eq!((row["sockets"]["total"].as_u64(), row["sockets"]["as_policy"].as_u64()), (Some(10), Some(10)));
    let back = host.json(&["rollback", "--cgroup", &cgroup, "--json"]);
    assert_eq!(back["restored"]["kernel_name"], first.as_str());
    assert_eq!(back["restored"]["verification"]["verified"], 10);
    assert_eq!(live.by_algorithm(), all(&first));
    live.move_bytes();
    let gone = host.ok(&["rollback", "--cgroup", &cgroup]);
    assert!(gone.contains("has none now"), "{gone}");
    assert!(!live.by_algorithm().contains_key(&first));
    failed(&host.ccactl(&["rollback", "--cgroup", &cgroup]), 2, &["has no policy yet", "ccactl load"]);
}

#[test]
fn status_shows_one_cgroup_and_where_a_rollback_goes() {
    let Some(host) = Host::with_root() else { return };
    let ([first, second], cgroup) = (names(&host), host.cgroup());
    host.ok(&host.load_args(&first, &cgroup));
    host.ok(&["swap", "cubic", "--cgroup", &cgroup, "--as", &second]);
    let status = host.json(&["status", &cgroup, "--history", "--json"]);
    let history = status["policies"][0]["history"].as_array().unwrap();
    let had: Vec<_> = history.iter().map(|former| former["kernel_name"].as_str()).collect();
    assert_eq!(had, [Some(&*first), None], "{status}");
    let text = host.ok(&["status", "--history"]);
    assert!(text.contains(&format!("{cgroup}: {first} until 20")), "{text}");
    assert!(text.contains(&format!("{cgroup}: no policy until 20")), "{text}");
    host.ok(&["rollback", "--cgroup", &cgroup]);
    let below = format!("{cgroup}/below");
    fs::create_dir(host.directory().join("below")).unwrap();
    assert_eq!(host.ok(&["status", &below]), format!("{below}: no policy\n"));
    fs::remove_dir(host.directory().join("below")).unwrap();
    failed(&host.ccactl(&["status", "/ccactl-none"]), 2, &["no cgroup", "/ccactl-none"]);
}

#[test]
fn a_dry_run_of_unload_says_what_would_go_and_leaves_it() {
    let Some(host) = Host::with_root() else { return };
    let ([first, _], cgroup) = (names(&host), host.cgroup());
    host.ok(&host.load_args(&first, &cgroup));
    let live = Live::open(&host, 2);
    let before = host.policies();
    for args in [&["unload", "--all", "--dry-run"][..], &["unload", "--cgroup", &cgroup, "--dry-run"]] {
        let text = host.ok(args);
        let sockets = live.sockets();
        assert!(text.contains(&format!("{cgroup}: would lose {first}, and {sockets} live sockets with it")), "{text}");
        assert!(text.ends_with("1 to unload; nothing has changed\n"), "{text}");
    }
    let planned = host.json(&["unload", "--all", "--dry-run", "--json"]);
    assert_eq!(planned["would_remove"][0]["kernel_name"], first.as_str());
    assert_eq!(host.policies(), before);
    assert!(registered(&first));
}

#[test]
fn sockets_that_could_not_be_moved_give_exit_code_5_and_are_listed() {
    let Some(host) = Host::with_root() else { return };
    let ([first, second], cgroup) = (names(&host), host.cgroup());
    host.ok(&host.load_args(&first, &cgroup));
    let live = Live::open(&host, 2);
    // Without ECN on the connections, dctcp has no use for them.
    let output = host.ccactl(&["swap", "dctcp", "--cgroup", &cgroup, "--as", &second]);
    assert_eq!(output.status.code(), Some(i32::from(exit::SOCKETS)));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("refused by the algorithm  4") && text.contains("refused-by-algorithm"), "{text}");
    assert_eq!(live.by_algorithm(), [(first, 4), (second, 2)].into(), "both listeners moved");
}

#[test]
fn bad_requests_name_the_object_and_change_nothing() {
    let Some(host) = Host::with_root() else { return };
    let ([first, second], cgroup) = (names(&host), host.cgroup());
    fs::create_dir(host.directory()).unwrap();
    let swap =
        |algorithm: &str, extra: &[&str]| host.ccactl(&[&["swap", algorithm, "--cgroup", &cgroup][..], extra].concat());
    failed(&swap("cubic", &["--as", &second]), 2, &[&cgroup, "has no policy yet", "ccactl load"]);
    assert!(!host.bpffs().exists());
    host.ok(&host.load_args(&first, &cgroup));
    let before = host.policies();
    failed(&swap("cubik", &[]), 2, &["cubik", "nearest: cubic"]);
    failed(&swap("native:none", &[]), 2, &["no algorithm 'none'"]);
    failed(&swap("f-bbrv2", &["--set", "alpha=999999"]), 2, &["alpha=999999", "expected"]);
    failed(&swap("reno", &["--as", &first, "--set", "beta=1"]), 2, &["beta"]);
    failed(&host.ccactl(&["unload", "--cgroup", &cgroup, "--restore-native", "none"]), 2, &["no algorithm 'none'"]);
    failed(&host.ccactl(&["swap", "cubic", "--cgroup", "/no-such"]), 2, &["no cgroup", "/no-such"]);
    assert_eq!(host.policies(), before);
}

#[test]
fn two_swaps_at_once_end_in_one_of_the_two_states() {
    let Some(host) = Host::with_root() else { return };
    let ([first, second], cgroup) = (names(&host), host.cgroup());
    host.ok(&host.load_args(&first, &cgroup));
    let mut live = Live::open(&host, 20);
    for round in 0..5 {
        let swap = |algorithm: &str, name: &str| {
            host.command(&["swap", algorithm, "--cgroup", &cgroup, "--as", name])
                .stdout(std::process::Stdio::null())
                .spawn()
                .unwrap()
        };
        let mut swaps = [swap("reno", &first), swap("cubic", &second)];
        for swap in &mut swaps {
            assert!(swap.wait().unwrap().success());
        }
        let policy = host.policies()[0]["kernel_name"].as_str().unwrap().to_owned();
        assert!([&first, &second].contains(&&policy));
        assert_eq!(live.by_algorithm(), [(policy, live.sockets())].into(), "round {round}");
        live.move_bytes();
    }
}

#[test]
fn the_command_that_status_names_moves_sockets_with_older_code() {
    let Some(host) = Host::with_root() else { return };
    let ([name, _], cgroup) = (names(&host), host.cgroup());
    let load = ["load", "f-bbrv2", "--cgroup", &cgroup, "--create", "--as", &name];
    host.ok(&load);
    let live = Live::open(&host, 2);
    let replaced = host.ok(&[&load[..], &["--set", "alpha=1.3", "--replace"]].concat());
    let status = host.ok(&["status"]);
    assert!(status.contains("6 live sockets run older code"), "{status}");
    let command = format!("swap --existing --cgroup {cgroup}");
    assert!(replaced.contains(&command) && status.contains(&command), "{replaced}{status}");
    let text = host.ok(&command.split(' ').collect::<Vec<_>>());
    assert!(text.contains("read back: 6 of 6 have it"), "{text}");
    assert!(!host.ok(&["status"]).contains("older code"));
    assert_eq!(live.by_algorithm(), [(name, 6)].into());
    failed_usage(&host, &["swap", "--cgroup", &cgroup]);
    failed_usage(&host, &["swap", "--existing", "--cgroup", &cgroup, "--set", "alpha=1.2"]);
}

/// clap's own complaints are longer than a line.
fn failed_usage(host: &Host, args: &[&str]) {
    assert_eq!(host.ccactl(args).status.code(), Some(i32::from(exit::USAGE)), "{args:?}");
}
