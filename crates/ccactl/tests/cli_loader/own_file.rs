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
    let row = || host.policies()[0].clone();
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
    let object = || host.policies()[0]["object"].as_str().unwrap().to_owned();
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

/// Where a line goes before the window is made.
const AVOID: &str = "\ttcp_reno_cong_avoid(sk, ack, acked);";

/// What stands in the place of `AVOID`: a line of the mistake, then it.
fn before_avoiding(line: &str) -> String {
    format!("\t{line}\n{AVOID}")
}

/// What is expected, with the numbers of lines: of the callback, of the mistake in the place of `AVOID`, and of what follows.
fn numbered(part: &str) -> String {
    let line = 1 + RENO[..RENO.find(AVOID).unwrap()].lines().count();
    let numbers = [("{callback}", line - 2), ("{line}", line), ("{next}", line + 1)];
    numbers.iter().fold(part.to_owned(), |part, (name, line)| part.replace(name, &line.to_string()))
}

#[test]
fn each_broken_file_has_a_message_that_leads_to_the_mistake() {
    let host = Host::new();
    let two_tables = "CC_OPS(other) = {\n    .ssthresh = (void *)reno_ssthresh,\n};\n\nCC_OPS(bpf_reno) = {";
    let cases: [(&str, &str, &[&str]); 11] = [
        ("return tcp_reno_ssthresh(sk);", "return tcp_reno_ssthresh(sk)", &["mine.bpf.c:", "error: expected ';'"]),
        ("#include \"cc_handover.bpf.h\"", "#include \"mine.h\"", &["mine.bpf.c:", "'mine.h' file not found"]),
        ("CC_COLOR(\"#777777\")", "CC_COLOR(\"grey\")", &["CC_COLOR 'grey': expected #RRGGBB"]),
        ("\"loss\"", "\"lossy\"", &["the family 'lossy': expected loss, delay, hybrid, model, ecn"]),
        (".undo_cwnd = ", ".sndbuf_expand = ", &["it has no .undo_cwnd in CC_OPS"]),
        ("CC_OPS(bpf_reno) = {", two_tables, &["it has two tables of callbacks (CC_OPS)"]),
        (
            "CC_COLOR(\"#777777\");",
            "struct state {\n\tu64 words[14];\n};\nCC_PRIV_FITS(struct state);",
            &["mine.bpf.c:", "private state exceeds icsk_ca_priv"],
        ),
        ("CC_COLOR(\"#777777\");", "CC_TUNABLE(u32, beta, 717);", &["mine.bpf.c:", "too few arguments", "CC_TUNABLE"]),
        (
            "CC_COLOR(\"#777777\");",
            "CC_TUNABLE(u32, beta, 717, 800, 900, \"\", \"share that stays\", \"mine\");",
            &["tunable beta", "800 to 900, default 717"],
        ),
        (
            "CC_COLOR(\"#777777\");",
            "CC_PRESET(\"mild\", \"beta=0.9\", \"loses less\", \"mine\");",
            &["in the preset mild 'beta': expected a tunable of this file"],
        ),
        (
            "CC_COLOR(\"#777777\");",
            "CC_SWITCH(u32, mild, 0, \"loses less\", \"mine\");\nCC_PRESET(\"mild\", \"mild=2\", \"loses less\", \"mine\");",
            &["in the preset mild 'mild=2': expected 0 to 1"],
        ),
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
fn check_tells_the_line_of_what_a_compiler_lets_pass() {
    let Some(host) = Host::with_root() else { return };
    let bounds = "u32 table[4] = {1, 2, 3, 4};\n\ttcp_sk(sk)->snd_cwnd += table[acked & 7];";
    let cases: [(&str, &[&str]); 5] = [
        ("no_such_helper(sk);", &["mine.bpf.c:{line}:", "no_such_helper"]),
        ("tcp_sk(sk)->snd_cwnd += 10 / acked;", &["mine.bpf.c:{line}:", "a division by zero"]),
        (bounds, &["mine.bpf.c:{next}:", "an index beyond the end of the array"]),
        (
            "tcp_sk(sk)->snd_cwnd = acked / 2;",
            &["snd_cwnd is 0 after reno_cong_avoid (", "mine.bpf.c:{callback})", "shortest input"],
        ),
        (
            "while (tcp_sk(sk)->snd_cwnd < acked)\n\t\tacked |= 1;",
            &["reno_cong_avoid (", "mine.bpf.c:{callback}) had not returned after 2 s"],
        ),
    ];
    for (line, parts) in cases {
        let path = write(&host, &[(AVOID, &before_avoiding(line))]);
        let output = host.ccactl(&["check", path.to_str().unwrap()]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{line}: {said}");
        assert!(parts.iter().all(|part| said.contains(&numbered(part))), "{parts:?} in {said}");
    }
    assert!(!host.bpffs().exists(), "what fails before is never loaded");
    let no_segments = [
        ("CC_OP(void, reno_init", "CC_OP(u32, mine_segs, struct sock *sk)\n{\n\treturn 0;\n}\n\nCC_OP(void, reno_init"),
        (".undo_cwnd = ", ".min_tso_segs = (void *)mine_segs,\n    .undo_cwnd = "),
    ];
    let path = write(&host, &no_segments);
    let output = host.ccactl(&["check", path.to_str().unwrap()]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("min_tso_segs gives 0"), "{output:?}");

    let path = write(&host, &[]);
    let said = host.ok(&["check", path.to_str().unwrap()]);
    let told = [
        "compiles for BPF: mine (loss)",
        "leaves a window",
        "the verifier of this kernel takes it",
        "10 MB over loopback",
    ];
    assert!(told.iter().all(|part| said.contains(part)), "{said}");
    assert!(!host.bpffs().exists());
}

#[test]
fn a_rejection_by_the_verifier_shows_line_reason_and_the_end_of_its_log() {
    let Some(host) = Host::with_root() else { return };
    let cases: [(&str, &[&str]); 4] = [
        (
            "while (tcp_sk(sk)->snd_cwnd < acked)\n\t\tacked |= 1;",
            &["mine.bpf.c:{line}", "infinite loop detected", "give the loop a bound"],
        ),
        (
            "tcp_sk(sk)->srtt_us = 1;",
            &["mine.bpf.c:{line} `tcp_sk(sk)->srtt_us = 1;`", "no write support", "CC_STORAGE"],
        ),
        ("((u64 *)inet_csk_ca(sk))[13] = 1;", &["mine.bpf.c:{line}", "no write support", "104 bytes of icsk_ca_priv"]),
        (
            "struct cca_trace *trace = cc_trace_storage(sk);\n\ttrace->mode = 1;",
            &["mine.bpf.c:{next} `trace->mode = 1;`", "test the pointer for NULL first"],
        ),
    ];
    let cgroup = host.cgroup();
    for (line, parts) in cases {
        let path = write(&host, &[(AVOID, &before_avoiding(line))]);
        for args in
            [&["load", path.to_str().unwrap(), "--cgroup", &cgroup, "--create"][..], &["probe", path.to_str().unwrap()]]
        {
            let output = host.ccactl(args);
            let log = ["program reno_cong_avoid", "the last lines of the verifier's log:\n    "];
            let parts: Vec<&str> = parts.iter().chain(&log).copied().collect();
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(3), "{said}");
            assert!(parts.iter().all(|part| said.contains(&numbered(part))), "{parts:?} in {said}");
        }
        assert!(!host.bpffs().exists() && !registered(&host.name()), "{line}");
    }
}

#[test]
fn an_object_without_a_licence_is_told_where_it_goes() {
    let Some(host) = Host::with_root() else { return };
    let path = write(&host, &[]);
    // As another build system may make it: an object has its licence in a section of this name.
    let object = host.run.path().join("mine.bpf.o");
    host.ok(&["show", path.to_str().unwrap()]);
    let kept = fs::read_dir(host.run.path().join("ccactl/objects")).unwrap().next().unwrap().unwrap().path();
    let mut bytes = fs::read(kept).unwrap();
    let name = b"\0license\0";
    let found = |bytes: &[u8]| bytes.windows(name.len()).position(|window| window == name);
    while let Some(at) = found(&bytes) {
        bytes[at + 1] = b'x';
    }
    fs::write(&object, bytes).unwrap();
    let said = host.ccactl(&["probe", object.to_str().unwrap()]);
    let said = String::from_utf8_lossy(&said.stderr);
    assert!(said.contains("GPL compatible license") && said.contains("as cc.bpf.h has it"), "{said}");
}

#[test]
fn a_policy_file_names_it_beside_itself_and_sees_that_it_has_changed() {
    let Some(host) = Host::with_root() else { return };
    let cgroup = host.cgroup();
    write(&host, &[]);
    let policies = host.run.path().join("policies.toml");
    fs::write(&policies, format!("[cgroup.{cgroup:?}]\nalgorithm = \"mine.bpf.c\"\ncreate = true\n")).unwrap();
    let policies = policies.to_str().unwrap();
    host.ok(&["apply", policies]);
    let object = || host.policies()[0]["object"].as_str().unwrap().to_owned();
    let first = object();
    host.ok(&["apply", policies]);
    assert!(object() == first && host.ok(&["diff", policies]).contains("in force"));
    write(&host, &[("trace->mode = ", "trace->v0 = 1;\n\ttrace->mode = ")]);
    // As other tunables under the same name: told, and nobody's connections get other code by surprise.
    for args in [["diff", policies], ["apply", policies]] {
        let output = host.ccactl(&args);
        let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains("conflict") && said.contains(&first), "{args:?}: {said}");
    }
    assert_eq!(object(), first);
    host.ok(&["unload", "--all"]);
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
    let object = || host.policies()[0]["object"].as_str().unwrap().to_owned();
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
