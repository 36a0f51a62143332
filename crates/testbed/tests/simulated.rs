//! Benches in the simulator: what they leave, and what theory says of them. They need no rights.

use ccactl_recording::read::Recording;
use ccactl_scenario::{Scenario, ScenarioFile};
use ccactl_testbed::bench::{Backend, BenchResult, Interrupt, LINK_FILE, Limits, Options, OutputDir, RECORDING_FILE};
use ccactl_testbed::{Error, Totals, totals};
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

const LINK: &str = "[link]\nrate = \"20Mbit/s\"\nbase_rtt = \"40ms\"\nbuffer = \"1bdp\"\n";

fn scenario(lines: &str) -> Scenario {
    Scenario::parse("test.toml", &format!("name = \"test\"\nduration = \"10s\"\n{lines}")).unwrap()
}

fn flow(lines: &str) -> String {
    format!("[[flow]]\nname = \"a\"\nalgorithm = \"cubic\"\n{lines}")
}

fn run_into(folder: &Path, scenario: &Scenario, is_interrupted: bool) -> Result<BenchResult, Error> {
    let options = Options {
        program: "/nowhere".into(),
        limits: Limits::default(),
        attempts: 1,
        backend: Backend::Simulator,
        phase_ns: None,
    };
    let output = OutputDir::prepare(folder)?;
    let flag = AtomicBool::new(is_interrupted);
    ccactl_testbed::bench::bench(scenario, &options, &output, Interrupt(&flag), &mut |_| {})
}

fn run(scenario: &Scenario) -> BenchResult {
    let folder = tempfile::tempdir().unwrap();
    let result = run_into(folder.path(), scenario, false).unwrap();
    assert!(result.runs.iter().all(|run| run.valid), "{:?}", result.runs[0].problems);
    result
}

#[test]
fn a_run_leaves_what_one_on_a_host_leaves() {
    let folder = tempfile::tempdir().unwrap();
    let result = run_into(folder.path(), &scenario(&format!("{LINK}{}", flow(""))), false).unwrap();
    let run = &result.runs[0];
    let metrics = run.flows[0].metrics.as_ref().unwrap();
    // 1448 of 1514 bytes on the wire are payload.
    let goodput_mbps = metrics.goodput_bps.unwrap() / 1e6;
    assert!((18.5..=19.13).contains(&goodput_mbps), "{goodput_mbps}");
    assert!(run.link.utilisation.unwrap() > 0.97, "{:?}", run.link.utilisation);
    assert!(metrics.rtt_min_us.is_some_and(|us| (40_000..41_000).contains(&us)), "{:?}", metrics.rtt_min_us);
    assert!(run.link.dropped_full_packets > 0 && metrics.retrans_pkts == run.link.dropped_full_packets);
    assert!(run.link.timekeeping.is_none(), "nobody had to keep time");
    let counted = run.flows[0].link.unwrap();
    assert_eq!(counted.offered_packets, counted.delivered_packets + counted.dropped_full_packets + queued(run));
    let mut names: Vec<String> = fs::read_dir(folder.path().join("run-1"))
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, [LINK_FILE, RECORDING_FILE], "no stream stays");
    let recording = Recording::open(folder.path().join("run-1").join(RECORDING_FILE)).unwrap();
    assert_eq!(recording.metadata().rows, Some(run.recorded_rows));
}

/// Data that were on their way when the run ended.
fn queued(run: &ccactl_testbed::bench::RunResult) -> u64 {
    let acks = run.flows[0].link.unwrap();
    run.inside_packets.unwrap() - (acks.return_offered_packets - acks.returned_packets)
}

#[test]
fn the_same_run_gives_the_same_bytes_and_another_run_others() {
    let scenario = scenario(&format!("repeat = 2\n{LINK}loss = 0.001\n{}", flow("")));
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    for folder in &folders {
        run_into(folder.path(), &scenario, false).unwrap();
    }
    let bytes = |at: usize, run: &str, file: &str| fs::read(folders[at].path().join(run).join(file)).unwrap();
    for file in [RECORDING_FILE, LINK_FILE] {
        assert_eq!(bytes(0, "run-1", file), bytes(1, "run-1", file), "{file}");
        assert_ne!(bytes(0, "run-1", file), bytes(0, "run-2", file), "{file}");
    }
}

#[test]
fn a_transfer_takes_its_handshake_and_its_round_trips() {
    // A first window, without a queue: 10 segments of 1514 bytes take 6.1 ms on the wire.
    let time_us = |direction: &str| {
        let lines = flow(&format!("direction = \"{direction}\"\nbytes = 14480\nrepeat = 3\ngap = \"100ms\"\n"));
        let result = run(&scenario(&format!("{LINK}duplex = true\n{lines}")));
        let flow = &result.runs[0].flows[0];
        assert_eq!((flow.complete, flow.transfers.len(), flow.received_bytes), (Some(true), 3, 3 * 14_480));
        assert!(flow.connect_us.is_some_and(|us| (40_000..40_200).contains(&us)), "{:?}", flow.connect_us);
        flow.completion.unwrap().p50_us.unwrap()
    };
    let (upload, download) = (time_us("upload"), time_us("download"));
    assert!((66_000..66_400).contains(&upload), "{upload}");
    // The server hears of the connection half a round trip later than the client.
    assert!((86_000..86_400).contains(&download), "{download}");
}

#[test]
fn sources_marks_and_swaps_are_simulated() {
    let lines = format!(
        "{LINK}queue = {{ discipline = \"codel\", ecn = true }}\n{}\n[host.all]\nsysctl = {{ \"ipv4/tcp_ecn\" = 1 }}\n\
         [[udp]]\nname = \"noise\"\nrate = \"4Mbit/s\"\n[[swap]]\nat = \"5s\"\nflow = \"a\"\nalgorithm = \"bbr\"\n",
        flow("")
    );
    let result = run(&scenario(&lines));
    let run = &result.runs[0];
    let noise = &run.udp[0];
    let expected = 4e6 * 10.0 / 8.0 / (noise.sent_wire_bytes / noise.sent_packets) as f64;
    assert!((noise.sent_packets as f64 - expected).abs() < 2.0, "{} for {expected}", noise.sent_packets);
    // CoDel drops what cannot be marked.
    let dropped = noise.link.unwrap().dropped_packets();
    assert!(dropped > 0 && noise.sent_packets - noise.received_packets - dropped < 100, "{noise:?}");
    let metrics = run.flows[0].metrics.as_ref().unwrap();
    assert!(run.link.marked_packets > 5 && metrics.delivered_ce_pkts >= run.link.marked_packets / 2, "{metrics:?}");
    assert_eq!((run.swaps.len(), run.swaps[0].verified, run.flows[0].changes.len()), (1, 1, 1));
}

#[test]
fn an_application_sends_what_it_makes() {
    let application = "application = { rate = \"5Mbit/s\", every = \"40ms\" }\n";
    let result = run(&scenario(&format!("{LINK}{}", flow(application))));
    let received = result.runs[0].flows[0].received_bytes as f64;
    assert!((0.97..=1.0).contains(&(received / (5e6 * 10.0 / 8.0))), "{received}");
}

#[test]
fn what_is_not_simulated_is_told_at_once_and_all_of_it() {
    let lines = format!(
        "{LINK}loss = 0.01\nsnoop = \"100p\"\n{}[host.a]\nsysctl = {{ \"ipv4/tcp_sack\" = 0 }}\n",
        flow("command = [\"true\"]\n")
    );
    let folder = tempfile::tempdir().unwrap();
    let error = run_into(&folder.path().join("out"), &scenario(&lines), false).unwrap_err();
    assert_eq!(error.exit_code(), ccactl_abi::exit::USAGE);
    let text = error.to_string();
    for part in ["--link simulator: link.snoop", "flow[a].command", "host.a.sysctl", "ipv4/tcp_sack"] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn after_a_warm_up_a_host_knows_where_slow_start_ends() {
    let resent = |further: &str| {
        let link = LINK.replace("1bdp", "5bdp");
        let flow = flow("").replace("cubic", "reno");
        let run = &run(&scenario(&format!("{further}{link}{flow}"))).runs[0];
        // The path is made anew for the run: nothing of the warm-up is counted.
        let counted = run.flows[0].link.unwrap();
        assert_eq!(counted.offered_packets, counted.delivered_packets + counted.dropped_full_packets + queued(run));
        assert!(counted.delivered_wire_bytes * 8 < 10 * 20_000_000, "{counted:?}");
        run.flows[0].metrics.as_ref().unwrap().retrans_pkts
    };
    let (cold, warm) = (resent(""), resent("warm_up = \"20s\"\n"));
    // Slow start overshoots by up to what path and buffer hold, 390 packets; a host that knows ssthresh does not.
    assert!(cold > 60 && warm * 4 < cold, "{cold} retransmissions without a memory, {warm} with one");
}

#[test]
fn an_interrupted_run_leaves_no_stream() {
    let folder = tempfile::tempdir().unwrap();
    let error = run_into(folder.path(), &scenario(&format!("{LINK}{}", flow(""))), true).unwrap_err();
    assert!(matches!(error, Error::Interrupted), "{error}");
    assert_eq!(fs::read_dir(folder.path().join("run-1")).unwrap().count(), 0);
}

#[test]
fn a_c_file_of_the_user_runs_as_the_same_code_of_the_catalogue() {
    let folder = tempfile::tempdir().unwrap();
    let reno = include_str!("../../../bpf/cc/reno.bpf.c");
    let mine = reno.replace("CC_ALGORITHM(\"reno\"", "CC_ALGORITHM(\"mine\"").replace("\"bpf_reno\"", "\"mine\"");
    fs::write(folder.path().join("mine.bpf.c"), &mine).unwrap();
    let text = |algorithm: &str| {
        format!("name = \"test\"\nduration = \"10s\"\n{LINK}[[flow]]\nname = \"a\"\nalgorithm = \"{algorithm}\"\n")
    };
    let figures = |algorithm: &str| {
        let file = folder.path().join(format!("{}.toml", algorithm.len()));
        fs::write(&file, text(algorithm)).unwrap();
        let scenario = ScenarioFile::open(file.to_str().unwrap(), &[]).unwrap().alone(&[]).unwrap();
        let result = run(&scenario);
        let metrics = result.runs[0].flows[0].metrics.clone().unwrap();
        (metrics.acked_bytes, metrics.retrans_pkts, metrics.cwnd_max_pkts)
    };
    assert_eq!(figures("mine.bpf.c"), figures("reno"));
}

#[test]
fn a_run_that_nobody_records_comes_to_the_same() {
    let udp = "[[udp]]\nname = \"u\"\nrate = \"4Mbit/s\"\nstart = \"2s\"\nstop = \"5s\"\n";
    let scenario = scenario(&format!("{LINK}{}{udp}", flow("start = \"1s\"\n")));
    let folder = tempfile::tempdir().unwrap();
    let recorded = run_into(folder.path(), &scenario, false).unwrap();
    let run = &recorded.runs[0];
    let flag = AtomicBool::new(false);
    let alone = totals(&scenario, 1, Interrupt(&flag)).unwrap();
    assert_eq!(alone, Totals::of_run(&folder.path().join(&run.directory), run).unwrap());
    assert_eq!((alone.received_bytes.len(), alone.udp_received_pkts.len(), alone.sent_bps.len()), (1, 1, 1000));
    assert!(alone.received_bytes[0] > 10_000_000 && alone.udp_received_pkts[0] > 900, "{alone:?}");
    assert_ne!(alone, totals(&scenario, 2, Interrupt(&flag)).unwrap(), "another run begins at other moments");
}

#[test]
fn hundreds_of_flows_are_simulated_and_no_host_makes_them() {
    let many = "count = 300\narrivals = \"20ms\"\nsizes = { median = 12000, sigma = 1, most = 200000 }\n";
    let scenario = scenario(&format!("{LINK}{}", flow(many)));
    let result = run(&scenario);
    let flows = &result.runs[0].flows;
    assert_eq!(flows.len(), 300);
    let asked: u64 = scenario.flows.iter().filter_map(|flow| flow.bytes).sum();
    let received: u64 = flows.iter().map(|flow| flow.received_bytes).sum();
    assert!(flows.iter().filter(|flow| flow.complete == Some(true)).count() > 290, "some are still under way");
    assert!(received <= asked && received > asked * 9 / 10, "{received} of {asked}");
    let refused = Backend::Emulator.check(&scenario).unwrap_err().to_string();
    assert!(refused.contains("expected 200 flows") && refused.contains("found 300"), "{refused}");
}
