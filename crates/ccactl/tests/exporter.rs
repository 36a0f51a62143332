//! `ccactl exporter` as a process: real traffic, signals, exit codes.

#[path = "cli_loader/host.rs"]
#[allow(dead_code, reason = "shared with the tests of load")]
mod host;
#[path = "../../observe/tests/text/mod.rs"]
#[allow(dead_code, reason = "shared with the tests of the exporter's pages")]
mod text;

use host::{Host, cgroup2, eventually, failed};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use text::Text;

/// Who waits this long for an answer has none.
const PATIENCE: Duration = Duration::from_secs(20);

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
        Running::spawn(&mut host.command(&[&["exporter", "--listen", "127.0.0.1:0"], args].concat()))
    }

    fn spawn(command: &mut Command) -> Running {
        let mut process = command.stderr(Stdio::piped()).spawn().unwrap();
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
        let text = Text::parse(&self.get("/metrics").unwrap());
        text.check();
        text
    }

    /// The body of a page.
    fn get(&self, path: &str) -> io::Result<String> {
        let mut stream = TcpStream::connect(&self.address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let (head, body) = answer.split_once("\r\n\r\n").ok_or(io::ErrorKind::UnexpectedEof)?;
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        Ok(body.to_owned())
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

/// Clients that connect, send half a header, and connect again as soon as they are left.
struct Crowd<'a> {
    address: &'a SocketAddr,
    most: usize,
    is_over: AtomicBool,
    /// How many have been there at the same time.
    open: AtomicUsize,
}

impl Crowd<'_> {
    fn press(&self) {
        let mut clients: Vec<TcpStream> = Vec::new();
        let mut next = 0;
        while !self.is_over.load(Ordering::Relaxed) {
            if clients.len() < self.most {
                // A full queue is a success of the crowd, not a failure of the test.
                if let Ok(mut client) = TcpStream::connect_timeout(self.address, Duration::from_millis(100)) {
                    let _ = client.write_all(b"GET /met");
                    client.set_nonblocking(true).unwrap();
                    clients.push(client);
                }
            } else {
                thread::sleep(Duration::from_micros(100));
            }
            next = (next + 1) % clients.len().max(1);
            let is_left = |client: &TcpStream| {
                !client.peek(&mut [0]).is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
            };
            if clients.get(next).is_some_and(is_left) {
                clients.swap_remove(next);
            }
            self.open.fetch_max(clients.len(), Ordering::Relaxed);
        }
    }
}

/// Every page is answered, and within a second, although the crowd is as large as this.
fn answers_beside(exporter: &Running, most: usize) {
    let address = exporter.address.parse().unwrap();
    let crowd = Crowd { address: &address, most, is_over: AtomicBool::new(false), open: AtomicUsize::new(0) };
    thread::scope(|scope| {
        scope.spawn(|| crowd.press());
        let begun = Instant::now();
        while crowd.open.load(Ordering::Relaxed) < most && begun.elapsed() < PATIENCE {
            thread::sleep(Duration::from_millis(5));
        }
        // The scope waits for the crowd, also when the test fails.
        let is_there = crowd.open.load(Ordering::Relaxed) >= most;
        crowd.is_over.store(!is_there, Ordering::Relaxed);
        assert!(is_there, "{} of {most} clients could connect", crowd.open.load(Ordering::Relaxed));
        let mut longest = Duration::ZERO;
        for round in 0..50 {
            for path in ["/healthz", "/metrics"] {
                let begun = Instant::now();
                // This thread may lose its CPU between connecting and asking, for long enough that the crowd takes its place.
                let answer = exporter.get(path).or_else(|_| exporter.get(path));
                longest = longest.max(begun.elapsed());
                crowd.is_over.store(answer.is_err(), Ordering::Relaxed);
                assert!(answer.is_ok(), "round {round}, {path}: {answer:?}");
            }
        }
        crowd.is_over.store(true, Ordering::Relaxed);
        eprintln!("beside {most} half-open clients the longest answer took {longest:?}");
        assert!(longest < Duration::from_secs(1), "{longest:?}");
    });
}

#[test]
fn it_answers_within_a_second_beside_five_thousand_half_open_clients() {
    let Some(host) = Host::with_root() else { return };
    let _alone = alone();
    let (_, most_files) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, most_files, most_files).unwrap();
    assert!(most_files >= 6_000, "this test opens 5 000 connections: let it, by `ulimit -Hn`");
    answers_beside(&Running::start(&host, &["--port", "1"]), 5_000);
}

#[test]
fn so_it_does_where_it_may_open_fewer_files_than_there_are_clients() {
    let Some(host) = Host::with_root() else { return };
    let _alone = alone();
    let mut command = host.command(&["exporter", "--listen", "127.0.0.1:0", "--port", "1"]);
    // SAFETY: the call is async-signal-safe.
    unsafe { command.pre_exec(|| Ok(setrlimit(Resource::RLIMIT_NOFILE, 400, 400)?)) };
    answers_beside(&Running::spawn(&mut command), 800);
}

/// On a unix socket, once it listens.
fn on_socket(host: &Host, path: &Path) -> Child {
    let listen = format!("unix:{}", path.display());
    let mut command = host.command(&["exporter", "--port", "1", "--listen", &listen]);
    let mut process = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    BufReader::new(process.stderr.take().unwrap()).read_line(&mut said).unwrap();
    assert_eq!(said.trim(), format!("metrics on {listen}, path /metrics"));
    process
}

#[test]
fn a_unix_socket_is_made_replaced_and_removed_and_nobody_elses_is_touched() {
    let Some(host) = Host::with_root() else { return };
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("exporter.sock");
    let refused = |path: &Path, parts: &[&str]| {
        let listen = format!("unix:{}", path.display());
        failed(&host.ccactl(&["exporter", "--listen", &listen]), 1, &[&[listen.as_str()], parts].concat());
    };

    let mut killed = on_socket(&host, &path);
    let made = fs::symlink_metadata(&path).unwrap();
    assert_eq!((made.mode() & 0o7777, made.uid()), (0o660, 0));
    let mut answer = String::new();
    let mut stream = UnixStream::connect(&path).unwrap();
    stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("\r\n\r\nok\n"), "{answer}");
    refused(&path, &["another process listens there"]);
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert!(path.exists(), "a kill leaves it");

    let mut second = on_socket(&host, &path);
    kill(Pid::from_raw(second.id().try_into().unwrap()), Signal::SIGTERM).unwrap();
    assert!(second.wait().unwrap().success());
    assert!(!path.exists(), "an end does not");

    fs::write(&path, "precious").unwrap();
    refused(&path, &["is not a socket"]);
    assert_eq!(fs::read(&path).unwrap(), b"precious");
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    refused(&link, &["is not a socket"]);
    let foreign = folder.path().join("foreign.sock");
    drop(UnixListener::bind(&foreign).unwrap());
    std::os::unix::fs::chown(&foreign, Some(65534), None).unwrap();
    refused(&foreign, &["is a socket of user 65534"]);
    assert!(foreign.exists());
    refused(&folder.path().join("missing/x.sock"), &["its folder does not exist"]);
    refused(&folder.path().join("x".repeat(120)), &["SUN_LEN"]);
    assert!(!host.bpffs().exists());
}
