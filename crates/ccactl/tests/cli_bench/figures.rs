//! What a bench measures.

use crate::host::Host;
use crate::leftovers;
use crate::scenario::{Bench, flow};
use serde_json::Value;
use std::fs;
use std::process::{Output, Stdio};

/// Runs a bench to its end; gives its JSON, exit code and what it left.
pub fn run(host: &Host, bench: &Bench) -> (Value, Output, Vec<String>) {
    run_with(host, bench, &[])
}

/// The same with further arguments.
pub fn run_with(host: &Host, bench: &Bench, further: &[&str]) -> (Value, Output, Vec<String>) {
    let args = bench.args();
    let args: Vec<&str> = args.iter().map(String::as_str).chain(further.iter().copied()).collect();
    let child = host.command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let pid = child.id();
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    let json = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {stderr}"));
    (json, output, leftovers::of(host, pid))
}

/// The last attempt of the first run, valid or not.
pub fn last_run(result: &Value) -> &Value {
    result["runs"].as_array().unwrap().last().unwrap()
}

#[test]
fn after_a_warm_up_a_host_knows_where_slow_start_ends() {
    let Some(host) = Host::with_root() else { return };
    let retransmissions = |further: &[&str]| {
        let bench = Bench::new("3s", &flow("only", "native:reno", ""));
        let (result, _, left) = run_with(&host, &bench, &[&["--buffer", "5bdp"], further].concat());
        assert_eq!(left, Vec::<String>::new());
        let run = last_run(&result);
        // The path is made anew for the run: nothing of the warm-up is counted.
        let sent_s = run["transmitters"][0]["sent_wire_bytes"].as_f64().unwrap() * 8.0 / 20e6;
        assert!((2.0..3.2).contains(&sent_s), "{sent_s} s of the link's time");
        run["flows"][0]["metrics"]["retrans_pkts"].as_u64().unwrap()
    };
    // Slow start overshoots by a window of up to 33 + 165 packets; a host that knows ssthresh does not.
    let (cold, warm) = (retransmissions(&[]), retransmissions(&["--set", "warm_up=4s"]));
    assert!(cold > 60 && warm * 4 < cold, "{cold} retransmissions without a memory, {warm} with one");
}

#[test]
fn one_native_flow_fills_the_link_and_leaves_nothing_behind() {
    let Some(host) = Host::with_root() else { return };
    let bench = Bench::new("4s", &flow("only", "native:reno", ""));
    let (mut result, _, left) = run(&host, &bench);
    assert_eq!(left, Vec::<String>::new());

    let run = last_run(&result);
    let flow = &run["flows"][0];
    assert_eq!(flow["kernel_name"], "reno");
    // The recorder is there before the flows are told to start, which they do a tenth of a second later.
    let begin_s = run["begin_in_recording_s"].as_f64().unwrap();
    assert!((0.1..20.0).contains(&begin_s), "{begin_s} s");
    // The ceiling is 1448/1514 of the rate, 19.1 Mbit/s.
    let goodput_bps = flow["metrics"]["goodput_bps"].as_f64().unwrap();
    assert!((14e6..19.5e6).contains(&goodput_bps), "{goodput_bps} bit/s");
    let rtt_min_us = flow["metrics"]["rtt_min_us"].as_u64().unwrap();
    assert!((20_000..40_000).contains(&rtt_min_us), "{rtt_min_us} us");
    // What the link let through is what the receiver got, but for what was on its way at the end.
    let (received, wire) =
        (flow["received_bytes"].as_f64().unwrap(), flow["link"]["delivered_wire_bytes"].as_f64().unwrap());
    assert!((received / wire - 1448.0 / 1514.0).abs() < 0.02, "{received} of {wire}");
    assert_eq!(run["valid"], run["problems"].as_array().unwrap().is_empty());
    assert_eq!(run["link"]["buffer_bytes"], 100_000);
    assert!(run["link"]["queue_max_bytes"].as_u64().unwrap() <= 100_000);

    let resolved = fs::read_to_string(bench.output().join("scenario.toml")).unwrap();
    assert!(resolved.contains("overhead_bytes = 14"), "{resolved}");
    let page = fs::read_to_string(bench.output().join("report.html")).unwrap();
    assert!(page.contains("only"), "the page names the flow");
    let written: Value = serde_json::from_slice(&fs::read(bench.output().join("result.json")).unwrap()).unwrap();
    assert_eq!(result.as_object_mut().unwrap().remove("schema_version"), Some(1.into()));
    assert_eq!(written, result);
}

#[test]
fn flows_keep_to_their_start_size_and_algorithm() {
    let Some(host) = Host::with_root() else { return };
    // Names and tunables of its own: other tests run at the same time on the same kernel.
    let name = host.name();
    let alpha = format!("1.{:03}", 100 + std::process::id() % 900);
    let flows = [
        flow("sized", "reno", &format!("as = \"{name}\"\nbytes = 1000000")),
        flow("late", "f-bbrv2", &format!("start = \"2s\"\nset = {{ alpha = {alpha} }}\nextra_rtt = \"40ms\"")),
        flow("named", "f-bbrv2", &format!("start = \"2s\"\nas = \"{name}f\"")),
    ];
    let (result, _, left) = run(&host, &Bench::new("5s", &flows.concat()));
    assert_eq!(left, Vec::<String>::new());

    let flows = last_run(&result)["flows"].as_array().unwrap().clone();
    assert_eq!((&flows[0]["kernel_name"], &flows[0]["complete"]), (&name.clone().into(), &true.into()));
    assert_eq!(flows[0]["received_bytes"], 1_000_000);
    assert_eq!(flows[2]["kernel_name"], format!("{name}f"));
    let late = flows[1]["kernel_name"].as_str().unwrap();
    assert!(late.starts_with("f_bbrv2_") && late.len() <= 15, "{late}");
    let rtt_min_us = |flow: &Value| flow["metrics"]["rtt_min_us"].as_u64().unwrap();
    assert!(rtt_min_us(&flows[1]) >= 60_000, "base and extra RTT: {}", rtt_min_us(&flows[1]));
    assert!(rtt_min_us(&flows[2]) < rtt_min_us(&flows[1]));
    // 3 s at 20 Mbit/s are 7.5 MB.
    let late_bytes = flows[1]["received_bytes"].as_u64().unwrap() + flows[2]["received_bytes"].as_u64().unwrap();
    assert!(late_bytes < 7_500_000, "{late_bytes} bytes in three of five seconds");
}

#[test]
fn random_loss_is_counted_near_its_probability() {
    let Some(host) = Host::with_root() else { return };
    let bench = Bench::new("6s", &flow("lossy", "native:bbr", ""));
    let text = fs::read_to_string(bench.file()).unwrap().replace("[[flow]]", "loss = 0.02\n[[flow]]");
    fs::write(bench.file(), text).unwrap();
    let (result, _, left) = run(&host, &bench);
    assert_eq!(left, Vec::<String>::new());

    let link = &last_run(&result)["link"];
    let count = |name: &str| link[name].as_f64().unwrap();
    let carried = count("packets") - count("dropped_full_packets");
    assert!(carried > 1000.0, "{carried} packets");
    let share = count("lost_packets") / carried;
    // Some 8000 packets: the standard deviation is 0.16 %.
    assert!((0.01..0.03).contains(&share), "{share}");
}

#[test]
fn a_command_runs_in_the_place_of_the_sender() {
    let Some(host) = Host::with_root() else { return };
    let alias = host.name();
    let script = "head -c 500000 /dev/zero > /dev/tcp/$CCACTL_SERVER/$CCACTL_PORT";
    let lines = format!("as = \"{alias}\"\ncommand = [\"bash\", \"-c\", \"{script}\"]");
    let (result, _, left) = run(&host, &Bench::new("3s", &flow("shell", "reno", &lines)));
    assert_eq!(left, Vec::<String>::new());
    let flow = &last_run(&result)["flows"][0];
    assert_eq!(flow["received_bytes"], 500_000);
    assert_eq!(flow["metrics"]["acked_bytes"], 500_000);
    assert_eq!(flow["connect_us"], Value::Null);
}

/// Its policy was not asked: a table would call reno what was dctcp or whatever else the command likes.
#[test]
fn a_command_that_chooses_its_own_algorithm_ends_the_bench() {
    let Some(host) = Host::with_root() else { return };
    // 6, 13: IPPROTO_TCP, TCP_CONGESTION.
    let script = "use IO::Socket::INET; my $s = IO::Socket::INET->new(PeerAddr => $ENV{CCACTL_SERVER}, \
                  PeerPort => $ENV{CCACTL_PORT}) or die; setsockopt($s, 6, 13, 'cubic') or die; print $s 'x' x 500000;";
    let lines = format!("command = [\"perl\", \"-e\", \"\"\"{script}\"\"\"]");
    let bench = Bench::new("3s", &flow("own", "native:reno", &lines));
    let output = host.ccactl(&bench.args().iter().map(String::as_str).collect::<Vec<_>>());
    // Progress comes before it.
    let told = String::from_utf8_lossy(&output.stderr);
    let error = told.lines().last().unwrap_or_default();
    assert_eq!(output.status.code(), Some(1), "{told}");
    for words in ["flow own: expected the congestion control reno", "found cubic", "let the command choose none"] {
        assert!(error.contains(words), "{words}: {told}");
    }
}

#[test]
fn a_missed_threshold_is_exit_code_6_with_what_was_measured() {
    let Some(host) = Host::with_root() else { return };
    let thresholds = "[thresholds]\nutilisation_min = 0.99\nrtt_mean_max = \"1ms\"\n";
    let bench = Bench::new("2s", &(flow("only", "native:reno", "stop = \"1500ms\"") + thresholds));
    let (result, output, _) = run(&host, &bench);
    if result["aggregate"].is_null() {
        assert_eq!(output.status.code(), Some(1), "no valid run on this machine now");
        return;
    }
    assert_eq!(output.status.code(), Some(6));
    let missed: Vec<&str> =
        result["missed_thresholds"].as_array().unwrap().iter().map(|m| m["name"].as_str().unwrap()).collect();
    assert!(missed.contains(&"rtt_mean_max"), "{missed:?}");
}

#[test]
fn two_benches_run_side_by_side() {
    let Some(host) = Host::with_root() else { return };
    let alias = format!("as = \"{}\"", host.name());
    let benches = [1, 2].map(|_| Bench::new("3s", &flow("only", "f-bbrv2", &alias)));
    let results = std::thread::scope(|scope| {
        let running: Vec<_> = benches.iter().map(|bench| scope.spawn(|| run(&host, bench).0)).collect();
        running.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    for result in &results {
        let flow = &last_run(result)["flows"][0];
        assert_eq!(flow["kernel_name"], host.name());
        assert!(flow["received_bytes"].as_u64().unwrap() > 1_000_000, "{flow}");
    }
    assert!(!host.bpffs().exists(), "the last of the two takes everything along");
}
