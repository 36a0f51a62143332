//! `--link netem` and `--link bpf`: queue disciplines inside the kernel, as far as this kernel has them.

use crate::figures;
use crate::host::{Host, failed};
use crate::scenario::{Bench, flow};
use serde_json::Value;
use std::fs;
use std::process::Command;

const NETEM: [&str; 2] = ["--link", "netem"];

/// A bottleneck alone: a token bucket and a FIFO, which every kernel has that has `tc` at all.
const WITHOUT_DELAY: [&str; 6] =
    ["--set", "link.base_rtt=0s", "--set", "link.bdp_rtt=20ms", "--set", "link.buffer=100000B"];

fn refused(host: &Host, bench: &Bench, further: &[&str], code: i32, words: &[&str]) {
    refused_by(NETEM, host, bench, further, code, words);
}

fn refused_by(link: [&str; 2], host: &Host, bench: &Bench, further: &[&str], code: i32, words: &[&str]) {
    let args = bench.args();
    let args: Vec<&str> = args.iter().map(String::as_str).chain(link).chain(further.iter().copied()).collect();
    failed(&host.ccactl(&args), code, words);
    assert!(!bench.output().exists(), "{words:?}: the output folder was made");
}

/// Whether this kernel has netem, asked without ccactl.
fn kernel_has_netem() -> bool {
    let words = ["-n", "tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms"];
    Command::new("unshare").args(words).output().unwrap().status.success()
}

#[test]
fn what_the_kernel_cannot_do_is_refused_before_anything_is_made() {
    let Some(host) = Host::with_root() else { return };
    let bench = Bench::new("2s", &flow("only", "native:reno", ""));
    for (change, field) in [
        ("link.queue=rem", "link.queue: expected drop-tail, drop-head, codel, fq-codel or pie, found rem"),
        ("link.queue=codel", "link.buffer: expected packets"),
        ("link.rate_steps=[{ at = \"1s\", rate = \"10Mbit/s\" }]", "link.rate_steps: expected one rate"),
    ] {
        refused(&host, &bench, &["--set", change], 2, &["--link netem", field, "--link emulator"]);
    }
}

#[test]
fn a_discipline_that_the_kernel_lacks_is_named_with_what_to_do() {
    let Some(host) = Host::with_root() else { return };
    let bench = Bench::new("2s", &flow("only", "native:reno", ""));
    if kernel_has_netem() {
        let (result, _, left) = figures::run_with(&host, &bench, &NETEM);
        assert_eq!((&result["backend"], left), (&"netem".into(), Vec::<String>::new()));
        let rtt_min_us = figures::last_run(&result)["flows"][0]["metrics"]["rtt_min_us"].as_u64().unwrap();
        assert!((20_000..40_000).contains(&rtt_min_us), "{rtt_min_us} us");
        return;
    }
    let words = ["link.base_rtt needs", "netem", "sch_netem", "CONFIG_NET_SCH_NETEM", "--link emulator"];
    refused(&host, &bench, &[], 3, &words);
    assert!(!host.bpffs().exists());
}

#[test]
fn the_kernel_carries_a_run_and_what_nobody_measured_is_absent() {
    let Some(host) = Host::with_root() else { return };
    let flows = flow("up", "native:cubic", "") + "[[udp]]\nname = \"noise\"\nrate = \"2Mbit/s\"\n";
    let bench = Bench::new("4s", &flows);
    let further: Vec<&str> = NETEM.into_iter().chain(WITHOUT_DELAY).collect();
    let (result, _, left) = figures::run_with(&host, &bench, &further);
    assert_eq!(left, Vec::<String>::new());
    assert_eq!(result["backend"], "netem");

    let run = figures::last_run(&result);
    let (flow, link) = (&run["flows"][0], &run["link"]);
    // 18 Mbit/s of 1448/1514 are left by the source.
    let goodput_bps = flow["metrics"]["goodput_bps"].as_f64().unwrap();
    assert!((13e6..17.6e6).contains(&goodput_bps), "{goodput_bps} bit/s");
    // 100 000 bytes are 40 ms, and the bucket lets two packets out at once. The latest ones of a busy machine wait longer.
    let rtt_p95_us = flow["metrics"]["rtt_p95_us"].as_u64().unwrap();
    assert!((20_000..60_000).contains(&rtt_p95_us), "{rtt_p95_us} us");
    let wire = run["transmitters"][0]["sent_wire_bytes"].as_f64().unwrap();
    assert!(flow["received_bytes"].as_f64().unwrap() < wire && wire < 20e6 / 8.0 * 5.0, "{wire} bytes");
    assert!(link["dropped_full_packets"].as_u64().unwrap() > 0, "CUBIC fills the buffer: {link}");
    assert!(run["udp"][0]["received_packets"].as_u64().unwrap() > 500);

    for (of, keys) in [
        (link, &["lateness", "rate_error", "backlogged_s", "achieved_rate_bps", "queueing", "queue_max_bytes"][..]),
        (run, &["inside_packets"]),
        (flow, &["link", "queueing"]),
    ] {
        for key in keys {
            assert!(of.get(key).is_none(), "{key}: {of}");
        }
    }
    assert_eq!(run["cpu"]["emulator_s"], Value::Null);
    assert!(!bench.output().join("run-1/link.parquet").exists(), "nobody saw the queue");
    let commands = fs::read_to_string(bench.output().join("link-commands.txt")).unwrap();
    assert!(commands.contains("tc -n near qdisc add dev far root handle 1: tbf rate 20000000bit"), "{commands}");
    let page = fs::read_to_string(bench.output().join("report.html")).unwrap();
    assert!(page.contains("Links: queue disciplines of the kernel"), "the page says who carried the packets");
}

const IN_BPF: [&str; 2] = ["--link", "bpf"];

#[test]
fn a_bottleneck_in_bpf_refuses_what_it_cannot_do_and_kernels_without_it() {
    let Some(host) = Host::with_root() else { return };
    let bench = Bench::new("2s", &flow("only", "native:reno", ""));
    let words = ["--link bpf", "link.queue: expected drop-tail or codel", "--link emulator"];
    refused_by(IN_BPF, &host, &bench, &["--set", "link.queue=pie"], 2, &words);
    let btf = fs::read("/sys/kernel/btf/vmlinux").unwrap();
    let type_name = b"\0bpf_struct_ops_Qdisc_ops\0";
    if btf.windows(type_name.len()).any(|bytes| bytes == type_name) {
        let without_delay: Vec<&str> = IN_BPF.into_iter().chain(WITHOUT_DELAY).collect();
        let (result, _, left) = figures::run_with(&host, &bench, &without_delay);
        assert_eq!((&result["backend"], left), (&"bpf".into(), Vec::<String>::new()));
        return;
    }
    let words = ["bpf_struct_ops_Qdisc_ops", "Linux 6.16", "CONFIG_NET_SCH_BPF", "--link emulator", "--lab vm:6.18"];
    refused_by(IN_BPF, &host, &bench, &[], 3, &words);
    assert!(!host.bpffs().exists());
}
