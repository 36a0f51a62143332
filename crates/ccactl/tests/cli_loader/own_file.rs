//! An algorithm of one's own: a path in the place of a name.

use crate::host::{Host, failed, registered, succeeded};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::Stdio;

const RENO: &str = include_str!("../../../../bpf/cc/reno.bpf.c");

/// `mine.bpf.c` beside other files of the test: reno under names of its own, changed as asked.
fn write(host: &Host, changes: &[(&str, &str)]) -> PathBuf {
    let name = format!("\"{}\"", host.name());
    let own = [("\"reno\"", "\"mine\""), ("\"bpf_reno\"", name.as_str())];
    let text = own.iter().chain(changes).fold(RENO.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replacen(from, to, 1)
    });
    let path = host.run.path().join("mine.bpf.c");
    fs::write(&path, text).unwrap();
    path
}

#[test]
fn a_source_is_loaded_told_swapped_away_and_rolled_back_to_without_its_file() {
    let Some(host) = Host::with_root() else { return };
    let (path, cgroup, name) = (write(&host, &[]), host.cgroup(), host.name());
    host.ok(&["load", path.to_str().unwrap(), "--cgroup", &cgroup, "--create"]);
    let row = || host.json(&["status", "--json"])[0].clone();
    let loaded = row();
    assert_eq!((loaded["algorithm"].as_str(), loaded["kernel_name"].as_str()), (Some("mine"), Some(&*name)));
    let object = loaded["object"].as_str().unwrap().to_owned();
    assert!(object.len() == 16 && host.ok(&["status"]).contains(&object), "{loaded}");
    assert!(registered(&name));

    // Nothing needs the file any more.
    fs::remove_file(&path).unwrap();
    let other = format!("{name}o");
    host.ok(&["swap", "cubic", "--cgroup", &cgroup, "--as", &other]);
    assert!(row()["object"].is_null());
    host.ok(&["rollback", "--cgroup", &cgroup]);
    assert_eq!((row()["algorithm"].as_str(), row()["object"].as_str()), (Some("mine"), Some(&*object)));
    host.ok(&["unload", "--cgroup", &cgroup]);
    assert!(!registered(&name) && !host.bpffs().exists());
}

#[test]
fn changed_code_takes_the_place_of_what_its_name_stands_for_only_when_asked() {
    let Some(host) = Host::with_root() else { return };
    let (path, cgroup) = (write(&host, &[]), host.cgroup());
    let path = path.to_str().unwrap();
    host.ok(&["load", path, "--cgroup", &cgroup, "--create"]);
    let object = || host.json(&["status", "--json"])[0]["object"].as_str().unwrap().to_owned();
    let before = object();
    write(&host, &[("trace->mode = ", "trace->v0 = 1;\n\ttrace->mode = ")]);
    failed(&host.ccactl(&["load", path, "--cgroup", &cgroup]), 2, &["other code", "--replace"]);
    assert_eq!(object(), before);
    host.ok(&["load", path, "--cgroup", &cgroup, "--replace"]);
    assert_ne!(object(), before);
    host.ok(&["unload", "--cgroup", &cgroup]);
    assert!(!host.bpffs().exists(), "no object stays");
}

#[test]
fn a_file_is_shown_like_any_other_algorithm() {
    let host = Host::new();
    let path = write(&host, &[]);
    let shown = host.ok(&["show", path.to_str().unwrap()]);
    assert!(shown.contains("mine (loss)") && shown.contains("phases       slow-start, avoidance"), "{shown}");
}

#[test]
fn each_broken_file_has_a_message_that_leads_to_the_mistake() {
    let host = Host::new();
    let cases: [(&str, &str, &[&str]); 5] = [
        ("return tcp_reno_ssthresh(sk);", "return tcp_reno_ssthresh(sk)", &["mine.bpf.c:", "error: expected ';'"]),
        ("#include \"cc_handover.bpf.h\"", "#include \"mine.h\"", &["mine.bpf.c:", "'mine.h' file not found"]),
        ("CC_COLOR(\"#777777\")", "CC_COLOR(\"grey\")", &["CC_COLOR 'grey': expected #RRGGBB"]),
        ("\"loss\"", "\"lossy\"", &["the family 'lossy': expected loss, delay, hybrid, model, ecn"]),
        (".undo_cwnd = ", ".sndbuf_expand = ", &["it has no .undo_cwnd in CC_OPS"]),
    ];
    for (from, to, parts) in cases {
        let path = write(&host, &[(from, to)]);
        let output = host.ccactl(&["show", path.to_str().unwrap()]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{to}: {said}");
        assert!(parts.iter().all(|part| said.contains(part)), "{to}: {said}");
    }
}

#[test]
fn a_new_file_is_complete_and_overwrites_nothing() {
    let host = Host::new();
    for like in ["reno", "cubic", "vegas", "bbr"] {
        let name = format!("my-{like}");
        let new = |args: &[&str]| host.command(args).current_dir(host.run.path()).output().unwrap();
        let args = ["new", &name, "--like", like];
        succeeded(&new(&args), &args);
        failed(&new(&args), 1, &[&format!("{name}.bpf.c"), "it exists"]);
        let file = host.run.path().join(format!("{name}.bpf.c"));
        let page = host.json(&["show", file.to_str().unwrap(), "--json"]);
        let like = host.json(&["show", like, "--json"]);
        assert_eq!((page["name"].as_str(), &page["tunables"]), (Some(&*name), &like["tunables"]));
        assert_eq!(page["kernel_name"], name.replace('-', "_"));
    }
    for name in ["cubic", "Mine", "a_name_of_more_than_15", "bbr2"] {
        assert!(!host.ccactl(&["new", name]).status.success(), "{name}");
    }
}

#[test]
fn dev_puts_each_good_version_in_force_and_keeps_it_when_the_next_is_broken() {
    let Some(host) = Host::with_root() else { return };
    let (path, cgroup) = (write(&host, &[]), host.cgroup());
    let mut command = host.command(&["dev", path.to_str().unwrap(), "--cgroup", &cgroup]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut complaints = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(said.next().unwrap().contains("is in force"));
    assert!(said.next().unwrap().contains("watching"));
    let object = || host.json(&["status", "--json"])[0]["object"].as_str().unwrap().to_owned();
    let first = object();

    write(&host, &[("return tcp_reno_ssthresh(sk);", "return")]);
    assert!(complaints.any(|line| line.contains("mine.bpf.c:") && line.contains("error:")));
    assert!(complaints.any(|line| line.contains("keeps what it has")));
    assert_eq!(object(), first);

    write(&host, &[("trace->mode = ", "trace->v0 = 1;\n\ttrace->mode = ")]);
    assert!(said.next().unwrap().contains("is in force"));
    assert_ne!(object(), first);
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGTERM).unwrap();
    assert!(said.next().unwrap().contains("keeps what it has"));
    assert!(child.wait().unwrap().success());
}
