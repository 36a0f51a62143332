//! `ccactl exporter` as a process: real traffic, signals, exit codes.

#[path = "cli_loader/host.rs"]
#[allow(dead_code, reason = "shared with the tests of load")]
mod host;
#[path = "../../exporter/tests/text/mod.rs"]
#[allow(dead_code, reason = "shared with the tests of the exporter's pages")]
mod text;

use host::{Host, cgroup2, eventually, failed};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use text::Text;

/// A process is in a cgroup with all its threads: while one test has moved it, what the others send would be counted
/// there.
static CGROUP: Mutex<()> = Mutex::new(());

/// Held by the test that moves the process, as long as it is away, and by the others throughout.
fn alone() -> MutexGuard<'static, ()> {
    CGROUP.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A running exporter, ended with its test.
struct Running {
    process: Child,
    address: String,
    /// Kept open: what the exporter still says has somewhere to go.
    said: BufReader<ChildStderr>,
}

impl Running {
    /// It answers when this returns.
    fn start(host: &Host, args: &[&str]) -> Running {
        let all = [&["exporter", "--listen", "127.0.0.1:0"], args].concat();
        let mut process = host.command(&all).stderr(Stdio::piped()).spawn().unwrap();
        let said = BufReader::new(process.stderr.take().unwrap());
        let mut running = Running { process, address: String::new(), said };
        // Before, there may be a warning about what this kernel does not have.
        let mut line = String::new();
        while running.address.is_empty() {
            line.clear();
            assert_ne!(running.said.read_line(&mut line).unwrap(), 0, "it has ended without saying where it listens");
            let address = line.trim().strip_prefix("metrics on http://").and_then(|rest| rest.strip_suffix("/metrics"));
            running.address = address.unwrap_or_default().to_owned();
        }
        running
    }

    fn scrape(&self) -> Text {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let text = Text::parse(answer.split_once("\r\n\r\n").unwrap().1);
        text.check();
        text
    }

    fn end(mut self, signal: Signal) -> ExitStatus {
        kill(Pid::from_raw(self.process.id().try_into().unwrap()), signal).unwrap();
        self.process.wait().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Bytes that the connecting and the accepting sides of all connections have sent.
#[derive(Clone, Copy)]
struct Sent {
    there: u64,
    back: u64,
}

/// Connections over loopback, one after the other, with sizes from none to some hundred kilobytes; closed when this
/// returns.
fn exchange(connections: u64) -> Sent {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let mut sent = Sent { there: 0, back: 0 };
    for number in 0..connections {
        let (there, back) = (number * number * 37 % 700_001, number * 101 % 5_003);
        sent = Sent { there: sent.there + there, back: sent.back + back };
        let mut active = TcpStream::connect(address).unwrap();
        let (mut passive, _) = listener.accept().unwrap();
        let sender = thread::spawn(move || {
            active.write_all(&vec![1; there as usize]).unwrap();
            active.shutdown(Shutdown::Write).unwrap();
            assert_eq!(active.read_to_end(&mut Vec::new()).unwrap() as u64, back);
        });
        assert_eq!(passive.read_to_end(&mut Vec::new()).unwrap() as u64, there);
        passive.write_all(&vec![2; back as usize]).unwrap();
        drop(passive);
        sender.join().unwrap();
    }
    sent
}

fn own_cgroup() -> PathBuf {
    let lines = fs::read_to_string("/proc/self/cgroup").unwrap();
    let path = lines.lines().find_map(|line| line.strip_prefix("0::")).unwrap();
    cgroup2().join(path.trim_start_matches('/'))
}

fn enter(cgroup: &Path) {
    fs::write(cgroup.join("cgroup.procs"), std::process::id().to_string()).unwrap();
}

/// The one test that changes the cgroup of this process while it opens sockets.
#[test]
fn sums_equal_the_bytes_of_the_application_once_its_sockets_are_closed() {
    let Some(host) = Host::with_root() else { return };
    let (name, cgroup) = (host.name(), host.cgroup());
    host.ok(&host.load_args(&name, &cgroup));
    let exporter = Running::start(&host, &["--cgroup", &cgroup, "--bpf-stats"]);
    let (home, connections) = (own_cgroup(), 60);
    let sent = {
        let _alone = alone();
        enter(&host.directory());
        let sent = exchange(connections);
        enter(&home);
        sent
    };

    let labels = |algorithm: &str| format!("{{cgroup=\"{cgroup}\",algorithm=\"{algorithm}\",netns=\"host\"}}");
    let closed = format!("ccactl_tcp_connections_closed_total{}", labels(&name));
    eventually("all sockets are closed", || exporter.scrape().find(&closed) == Some(2.0 * connections as f64));
    let text = exporter.scrape();
    let value = |metric: &str| text.value(&format!("{metric}{}", labels(&name)));
    let bytes = (sent.there + sent.back) as f64;
    assert_eq!(value("ccactl_tcp_sent_bytes_total") - value("ccactl_tcp_retransmitted_bytes_total"), bytes);
    assert_eq!(value("ccactl_tcp_acked_bytes_total"), bytes);
    assert_eq!(value("ccactl_tcp_received_bytes_total"), bytes);
    assert_eq!(value("ccactl_tcp_connections"), 0.0);
    assert_eq!(value("ccactl_tcp_algorithm_changes_total"), 0.0);
    // Opened under the host's algorithm; the policy gives them theirs a moment later.
    assert_eq!(text.sum("ccactl_tcp_connections_opened_total"), 2.0 * connections as f64);
    // Number 0 sends nothing in either direction.
    assert_eq!(value("ccactl_tcp_flow_completion_seconds_count"), 2.0 * (connections - 1) as f64);
    assert!(value("ccactl_tcp_rtt_measurements_total") > connections as f64);

    // The recorder tells its progress four times a second.
    eventually("the recorder has counted its rows", || {
        exporter.scrape().value("ccactl_recorder_rows_total") >= 4.0 * connections as f64
    });
    let text = exporter.scrape();
    for reason in ["ring_full_samples", "ring_full_events", "no_storage"] {
        assert_eq!(text.value(&format!("ccactl_recorder_dropped_rows_total{{reason=\"{reason}\"}}")), 0.0);
    }
    assert!(text.value("ccactl_recorder_program_runs_total{program=\"on_state\"}") >= 4.0 * connections as f64);
    let policy = format!("{{cgroup=\"{cgroup}\",algorithm=\"{name}\"}}");
    eventually("the policy's sockets are gone", || {
        exporter.scrape().find(&format!("ccactl_policy_sockets{policy}")) == Some(0.0)
    });
    assert!(exporter.end(Signal::SIGTERM).success());
}

#[test]
fn a_signal_ends_it_cleanly_and_leaves_nothing() {
    let Some(host) = Host::with_root() else { return };
    let _alone = alone();
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        // A port that nobody uses.
        let exporter = Running::start(&host, &["--port", "1"]);
        // Nor does a client that never finishes its request keep it.
        let mut half = TcpStream::connect(&exporter.address).unwrap();
        half.write_all(b"GET /met").unwrap();
        assert!(exporter.end(signal).success(), "{signal}");
        assert!(!host.bpffs().exists());
    }
}

#[test]
fn what_cannot_be_served_is_one_line_before_anything_is_attached() {
    let Some(host) = Host::with_root() else { return };
    let _alone = alone();
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let run = |args: &[&str]| host.ccactl(&[&["exporter"], args].concat());
    failed(&run(&["--listen", &address]), 1, &[&address, "another process listens there", "--listen"]);
    failed(&run(&["--listen", "203.0.113.1:9"]), 1, &["203.0.113.1:9", "no interface of this host"]);
    failed(&run(&["--listen", "127.0.0.1:0", "--rtt-buckets", "5ms,1ms"]), 2, &["--rtt-buckets", "number 2"]);
    failed(&run(&["--listen", "127.0.0.1:0", "--buffer", "1"]), 2, &["--buffer"]);
    for usage in [["--listen", "localhost"], ["--max-series", "0"], ["--cgroup-depth", "0"]] {
        assert_eq!(run(&usage).status.code(), Some(2), "{usage:?}");
    }
    assert!(!host.bpffs().exists());
}
