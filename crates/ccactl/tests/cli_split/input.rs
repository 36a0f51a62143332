//! What is asked for and cannot be: one line, an exit code, and nothing half made.

use super::place::{CCACTL, NATIVE, Proxy, alone, bpffs, connect, has_root, listen, read, refused};
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

const NOBODY: u32 = 65534;

#[test]
fn a_place_that_cannot_be_listened_on_is_named() {
    if !has_root() {
        return;
    }
    let netns = alone();
    let (_taken, address) = listen(&netns, "127.0.0.1:0");
    let at = address.to_string();
    let (code, line) = refused(&netns, &[&["--listen", &at, "--to", "127.0.0.1:1"][..], &NATIVE].concat());
    let expected = format!(
        "ccactl: cannot listen on {at}: another process listens there; --listen names another address or port\n"
    );
    assert_eq!((code, line), (1, expected));
    let (code, line) = refused(&netns, &[&["--listen", "192.0.2.1:80", "--to", "127.0.0.1:1"][..], &NATIVE].concat());
    assert!(code == 1 && line.contains("no interface of this host has that address"), "{code}: {line}");
}

#[test]
fn an_algorithm_that_is_not_there_is_named() {
    if !has_root() {
        return;
    }
    let netns = alone();
    for (algorithm, words) in [
        ("cubc", "unknown algorithm 'cubc'; nearest: cubic"),
        ("native:nothing", "the kernel has no algorithm 'nothing'"),
        ("drwa", "drwa decides what a socket offers, not what it sends"),
        ("./missing.bpf.c", "missing.bpf.c"),
    ] {
        let args = ["--listen", "127.0.0.1:0", "--to", "127.0.0.1:1", "--client-algorithm", algorithm];
        let (code, line) = refused(&netns, &[&args[..], &["--server-algorithm", "native:reno"]].concat());
        assert!(line.contains(words) && (1..=2).contains(&code), "{code}: {line}");
    }
    assert!(!bpffs().exists());
}

#[test]
fn a_proxy_that_leads_to_itself_is_refused() {
    if !has_root() {
        return;
    }
    let netns = alone();
    for (listen, to) in
        [("127.0.0.1:7001", "127.0.0.1:7001"), ("0.0.0.0:7001", "127.0.0.1:7001"), ("[::]:7001", "[::1]:7001")]
    {
        let (code, line) = refused(&netns, &[&["--listen", listen, "--to", to][..], &NATIVE].concat());
        let expected = format!("ccactl: a loop: {to} is where this proxy listens; --to names the server behind it\n");
        assert_eq!((code, line), (2, expected));
    }
    // Found out only by the connection: what is routed to this host goes on to this host.
    let args = ["--listen", "127.0.0.1:0", "--transparent", "127.0.0.9:80,[::1]:80"];
    let (code, line) = refused(&netns, &[&args[..], &NATIVE].concat());
    assert!(code == 2 && line.contains("127.0.0.1:0 cannot take connections to [::1/128]:80"), "{code}: {line}");
    let proxy = Proxy::start(
        &netns,
        &[&["--listen", "[::]:0", "--transparent", "127.0.0.9:80,[::1]:80"][..], &NATIVE].concat(),
    );
    for place in ["127.0.0.9:80", "[::1]:80"] {
        assert_eq!(read(&connect(&netns, place.parse().unwrap()), 0).error, Some(ErrorKind::ConnectionReset));
    }
    assert!(proxy.line().contains("came back to this proxy"));
    let own = format!("127.0.0.1:{}", proxy.address.port()).parse().unwrap();
    assert_eq!(read(&connect(&netns, own), 0).error, Some(ErrorKind::ConnectionReset));
    // A loop may be worth a second line first.
    while !proxy.line().contains("that is this proxy's own address") {}
    let tally = proxy.end();
    assert_eq!((&tally["failures"]["looped"], &tally["failures"]["direct"]), (&2.into(), &1.into()), "{tally}");
}

#[test]
fn without_rights_the_line_says_which() {
    if !has_root() {
        return;
    }
    let netns = alone();
    // The program where anybody reaches it.
    let room = tempfile::tempdir().unwrap();
    let program = room.path().join("ccactl");
    std::fs::copy(CCACTL, &program).unwrap();
    std::fs::set_permissions(room.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let as_nobody = |args: &[&str]| {
        let mut command = Command::new(&program);
        // The one algorithm that everybody may choose.
        command.arg("split").args(args).args([
            "--client-algorithm",
            "native:reno",
            "--server-algorithm",
            "native:reno",
        ]);
        command.uid(NOBODY).gid(NOBODY).env("CCACTL_BPFFS", bpffs());
        let output = netns.run(|| command.output()).unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let to = ["--to", "127.0.0.1:7002"];
    let (code, line) = as_nobody(&[&["--listen", "127.0.0.1:80"][..], &to].concat());
    assert!(code == 4 && line.contains("a port below 1024 needs root"), "{code}: {line}");
    for more in [&["--keep-client-address"][..], &["--upload-target", "50ms"], &["--buffer", "1MiB"]] {
        let (code, line) = as_nobody(&[&["--listen", "127.0.0.1:0"][..], &to, more].concat());
        assert!(code == 4 && line.lines().count() == 1, "{more:?}: {code}: {line}");
    }
    let (code, line) = as_nobody(&["--listen", "127.0.0.1:0", "--transparent", "10.0.0.0/8:80"]);
    assert!(code == 4 && line.contains("IP_TRANSPARENT"), "{code}: {line}");
}
