//! Pins that somebody has removed by hand: what they stood for is found again, or told.

use crate::host::{Host, registered};
use crate::live::Live;
use std::fs;

#[test]
fn a_removed_map_is_found_again_and_a_swap_moves_everything() {
    let Some(host) = Host::with_root() else { return };
    let cgroup = host.cgroup();
    let [first, second] = ["a", "b"].map(|suffix| format!("{}{suffix}", host.name()));
    host.ok(&host.load_args(&first, &cgroup));
    let mut live = Live::open(&host, 10);
    let sockets = live.sockets();
    host.ok(&["swap", "reno", "--cgroup", &cgroup, "--as", &first]);
    for (pin, name, algorithm) in
        [("marks", &second, "cubic"), ("policies", &first, "reno"), ("leases", &second, "cubic")]
    {
        fs::remove_file(host.bpffs().join(pin)).unwrap();
        let status = host.policies()[0].clone();
        assert_eq!(status["sockets"]["as_policy"].as_u64(), Some(sockets), "without {pin}: {status}");
        let output = host.ccactl(&["swap", algorithm, "--cgroup", &cgroup, "--as", name]);
        assert!(output.status.success(), "without {pin}: {}", String::from_utf8_lossy(&output.stderr));
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains(&format!("/{pin}: it was put back")), "{stderr}");
        assert_eq!(live.by_algorithm(), [(name.clone(), sockets)].into(), "without {pin}");
        assert!(host.bpffs().join(pin).exists());
        live.move_bytes();
    }
    fs::remove_file(host.bpffs().join("marks")).unwrap();
    host.ok(&["unload", "--cgroup", &cgroup]);
    let after = live.by_algorithm();
    assert!(!after.contains_key(&first) && !after.contains_key(&second), "{after:?}");
    assert!(!registered(&first) && !registered(&second));
    // Their notes were put back first, so that a policy knows that nothing of this was an application's choice.
    host.ok(&host.load_args(&first, &cgroup));
    host.ok(&["swap", "reno", "--cgroup", &cgroup, "--as", &first]);
    fs::remove_file(host.bpffs().join("marks")).unwrap();
    host.ok(&["unload", "--all"]);
    host.ok(&host.load_args(&first, &cgroup));
    host.ok(&["swap", "reno", "--cgroup", &cgroup, "--as", &first]);
    assert_eq!(live.by_algorithm(), [(first.clone(), sockets)].into(), "after unload --all without marks");
}

#[test]
fn notes_of_closed_sockets_are_told_and_removed() {
    let Some(host) = Host::with_root() else { return };
    let (name, cgroup) = (host.name(), host.cgroup());
    host.ok(&host.load_args(&name, &cgroup));
    let live = Live::open(&host, 4);
    host.ok(&["unload", "--cgroup", &cgroup]);
    let status = host.ok(&["status"]);
    assert!(status.contains("open sockets carry a note"), "{status}");
    drop(live);
    crate::host::eventually("the sockets are gone", || !host.ok(&["status"]).contains("open sockets carry a note"));
    let status = host.ok(&["status"]);
    assert!(status.contains("notes on sockets that are closed by now are left"), "{status}");
    host.ok(&["unload", "--all"]);
    assert!(!host.bpffs().exists());
    assert_eq!(host.ok(&["status"]), "no cgroup has a policy\n");
}
