//! The exporter over HTTP, with rows made by hand instead of a kernel.

#[allow(dead_code, reason = "shared with the tests of ccactl exporter")]
mod text;

use bytemuck::Zeroable;
use ccactl_abi::layout::{EVENT_CLOSE, EVENT_OPEN, EVENT_SAMPLE, Sample, name_bytes};
use ccactl_collector::{Drops, Progress, Tap};
use ccactl_observe::http::{Address, Limits, Listener};
use ccactl_observe::metrics::server::{Recording, serve};
use ccactl_observe::metrics::{Exporter, Options};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use text::Text;
use tokio::sync::watch;

/// A served exporter on a port of its own.
struct Served {
    address: SocketAddr,
    tap: Tap,
    end: watch::Sender<bool>,
    thread: JoinHandle<()>,
}

impl Served {
    fn start(options: Options) -> Served {
        Served::within(Limits::default(), options)
    }

    fn within(limits: Limits, options: Options) -> Served {
        let drops = Drops { ring_full_samples: 3, ..Drops::default() };
        let progress = Progress { rows: 17, drops, ..Progress::default() };
        Served::recording(limits, options, Arc::new(move || Some(progress)))
    }

    fn recording(limits: Limits, options: Options, recording: Recording) -> Served {
        let exporter = Arc::new(Exporter::new(options, None).unwrap());
        let tap = exporter.tap();
        let (end, ended) = watch::channel(false);
        let (address_sender, address) = std::sync::mpsc::channel();
        let thread = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = Listener::bind(&Address::Tcp(([127, 0, 0, 1], 0).into())).unwrap();
                let Address::Tcp(address) = listener.address().unwrap() else { unreachable!("a port was asked for") };
                address_sender.send(address).unwrap();
                serve(listener, exporter, recording, limits, ended).await;
            });
        });
        Served { address: address.recv().unwrap(), tap, end, thread }
    }

    /// Status line, headers and body of one request.
    fn get(&self, path: &str) -> (String, String, String) {
        let mut stream = TcpStream::connect(self.address).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let (status, headers) = head.split_once("\r\n").unwrap();
        (status.to_owned(), headers.to_lowercase(), body.to_owned())
    }

    fn scrape(&self) -> Text {
        Text::parse(&self.get("/metrics").2)
    }

    fn stop(self) {
        self.end.send_replace(true);
        self.thread.join().unwrap();
    }
}

fn row(flow_id: u64, event: u8, time_ns: u64) -> Sample {
    Sample {
        flow_id,
        event,
        time_ns,
        cgroup_id: u64::MAX,
        netns: 5,
        algorithm: name_bytes("f_bbrv2").unwrap(),
        opened_ns: 1_000,
        ..Sample::zeroed()
    }
}

/// All rows of a connection with one value in each histogram.
fn connection(flow_id: u64) -> [Sample; 4] {
    let delivered = |delivered_pkts, time_ns| Sample {
        delivered_pkts,
        rtt_us: 20_000,
        cwnd_pkts: 40,
        bytes_sent: 10_000,
        ..row(flow_id, EVENT_SAMPLE, time_ns)
    };
    let closed = Sample {
        bytes_sent: 12_000,
        bytes_retrans: 2_000,
        bytes_acked: 10_000,
        progress_ns: 2_000_001_000,
        delivered_pkts: 9,
        rtt_sum_us: 60_000,
        rtt_samples: 3,
        ..row(flow_id, EVENT_CLOSE, 3_000_000_000)
    };
    [row(flow_id, EVENT_OPEN, 1_000), delivered(1, 2_000), delivered(5, 3_000), closed]
}

const LABELS: &str = r#"{cgroup="removed",algorithm="f_bbrv2",netns="net:[5]"}"#;

#[test]
fn a_scrape_shows_what_the_rows_said_in_base_units() {
    let served = Served::start(Options::default());
    (served.tap)(&connection(1));
    let (status, headers, body) = served.get("/metrics");
    assert_eq!(status, "HTTP/1.1 200 OK");
    assert!(headers.contains("content-type: text/plain; version=0.0.4; charset=utf-8"), "{headers}");
    let text = Text::parse(&body);
    for (name, value) in [
        ("ccactl_tcp_sent_bytes_total", 12_000.0),
        ("ccactl_tcp_retransmitted_bytes_total", 2_000.0),
        ("ccactl_tcp_acked_bytes_total", 10_000.0),
        ("ccactl_tcp_rtt_measured_seconds_total", 0.06),
        ("ccactl_tcp_rtt_measurements_total", 3.0),
        ("ccactl_tcp_connections_opened_total", 1.0),
        ("ccactl_tcp_connections_closed_total", 1.0),
        ("ccactl_tcp_connections", 0.0),
        ("ccactl_tcp_rtt_seconds_sum", 0.04),
        ("ccactl_tcp_cwnd_segments_sum", 80.0),
        ("ccactl_tcp_flow_completion_seconds_sum", 2.0),
        ("ccactl_tcp_flow_completion_seconds_count", 1.0),
    ] {
        assert_eq!(text.value(&format!("{name}{LABELS}")), value, "{name}");
    }
    assert_eq!(text.value("ccactl_recorder_rows_total"), 17.0);
    assert_eq!(text.value(r#"ccactl_recorder_dropped_rows_total{reason="ring_full_samples"}"#), 3.0);
    served.stop();
}

#[test]
fn the_other_pages_answer_and_unknown_ones_are_refused() {
    let served = Served::start(Options::default());
    assert_eq!(served.get("/healthz").2, "ok\n");
    assert!(served.get("/").2.contains("href=\"/metrics\""));
    assert_eq!(served.get("/other").0, "HTTP/1.1 404 Not Found");
    served.stop();
}

#[test]
fn what_exceeds_the_label_sets_is_counted_under_other() {
    let served = Served::start(Options { max_label_sets: 1, ..Options::default() });
    let elsewhere = connection(2).map(|row| Sample { algorithm: name_bytes("cubic").unwrap(), ..row });
    (served.tap)(&connection(1));
    assert_eq!(served.scrape().value("ccactl_exporter_series_limited"), 0.0);
    (served.tap)(&elsewhere);
    let text = served.scrape();
    let other = r#"ccactl_tcp_sent_bytes_total{cgroup="other",algorithm="other",netns="other"}"#;
    assert_eq!((text.value(other), text.value("ccactl_exporter_series_limited")), (12_000.0, 1.0));
    assert_eq!(text.value("ccactl_exporter_label_sets"), 1.0);
    served.stop();
}

/// While rows pour in, each of several scrapes at once is consistent in itself and never behind the one before.
#[test]
fn histograms_are_whole_and_counters_never_go_back_under_load() {
    let served = Served::start(Options::default());
    let is_over = Arc::new(AtomicBool::new(false));
    let feeder = {
        let (tap, is_over) = (Arc::clone(&served.tap), Arc::clone(&is_over));
        thread::spawn(move || {
            let mut flow_id = 0;
            while !is_over.load(Ordering::Relaxed) {
                flow_id += 1;
                tap(&connection(flow_id));
            }
            flow_id
        })
    };
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut before: Option<Text> = None;
                for _ in 0..20 {
                    let text = served.scrape();
                    text.check();
                    if let Some(before) = &before {
                        text.check_not_behind(before);
                    }
                    before = Some(text);
                }
            });
        }
    });
    is_over.store(true, Ordering::Relaxed);
    let connections = feeder.join().unwrap() as f64;
    let text = served.scrape();
    assert_eq!(text.value(&format!("ccactl_tcp_connections_closed_total{LABELS}")), connections);
    assert_eq!(text.value(&format!("ccactl_tcp_sent_bytes_total{LABELS}")), 12_000.0 * connections);
    assert_eq!(text.value(&format!("ccactl_tcp_rtt_seconds_count{LABELS}")), 2.0 * connections);
    served.stop();
}

#[test]
fn clients_that_do_not_read_keep_neither_the_rows_nor_other_scrapes_nor_the_end() {
    let served = Served::start(Options { max_label_sets: 1_000, ..Options::default() });
    served.fill();
    let slow: Vec<TcpStream> = (0..4).map(|_| served.read_slowly()).collect();
    let _half_a_request = served.connect("GET /met");
    (served.tap)(&connection(5_000).map(|row| Sample { algorithm: name_bytes("a1").unwrap(), ..row }));
    let labels = LABELS.replace("f_bbrv2", "a1");
    assert_eq!(served.scrape().value(&format!("ccactl_tcp_connections_closed_total{labels}")), 2.0);
    let begun = Instant::now();
    served.stop();
    assert!(begun.elapsed() < Duration::from_secs(30), "the end waited for clients that do not read");
    drop(slow);
}

/// Beyond all patience of the server.
const PATIENCE: Duration = Duration::from_secs(20);
/// Beyond all patience of a test.
const EVER: Duration = Duration::from_secs(3600);

/// Whether the server closes this connection, whatever it says before.
fn is_closed(mut stream: &TcpStream) -> bool {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    match stream.read_to_end(&mut Vec::new()) {
        Ok(_) => true,
        Err(error) => error.kind() == ErrorKind::ConnectionReset,
    }
}

/// Whether nothing has come of it yet.
fn is_open(mut stream: &TcpStream) -> bool {
    stream.set_nonblocking(true).unwrap();
    stream.read(&mut [0]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
}

impl Served {
    fn connect(&self, said: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.write_all(said.as_bytes()).unwrap();
        stream
    }

    /// A client that reads the beginning of a page and no more.
    fn read_slowly(&self) -> TcpStream {
        let mut stream = self.connect("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
        stream.read_exact(&mut [0; 100]).unwrap();
        stream
    }

    /// Enough text to fill the buffers of both sockets.
    fn fill(&self) {
        for number in 0..1_000 {
            let algorithm = name_bytes(&format!("a{number}")).unwrap();
            (self.tap)(&connection(number).map(|row| Sample { algorithm, ..row }));
        }
    }
}

#[test]
fn a_client_that_never_completes_its_header_is_left() {
    let limits = Limits { header: Duration::from_millis(200), ..Limits::default() };
    let served = Served::within(limits, Options::default());
    let half = served.connect("GET /met");
    assert!(is_closed(&served.connect("")), "a client that says nothing");
    assert!(is_closed(&half), "a client with half a header");
    served.stop();
}

#[test]
fn of_silent_clients_the_newest_stay_and_who_asks_is_answered() {
    let limits = Limits { header: EVER, silent: 3, ..Limits::default() };
    let served = Served::within(limits, Options::default());
    let silent: Vec<TcpStream> = (0..10).map(|_| served.connect("GET /met")).collect();
    assert!(silent[..7].iter().all(is_closed));
    assert!(silent[7..].iter().all(is_open));
    assert_eq!(served.get("/healthz").2, "ok\n");
    assert!(!served.scrape().families().collect::<Vec<_>>().is_empty());
    served.stop();
}

#[test]
fn an_endless_header_is_refused_before_it_takes_much_memory() {
    let served = Served::within(Limits { header: EVER, ..Limits::default() }, Options::default());
    let client = served.connect("GET /metrics HTTP/1.1\r\nHost: x\r\nCookie: ");
    (&client).write_all(&[b'a'; 20_000]).unwrap();
    assert!(is_closed(&client));
    served.stop();
}

#[test]
fn a_body_is_not_waited_for() {
    let served = Served::within(Limits { header: EVER, answer: EVER, ..Limits::default() }, Options::default());
    for (method, expected) in [("POST", "HTTP/1.1 405 "), ("GET", "HTTP/1.1 200 ")] {
        let request = format!("{method} /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nslow");
        let mut client = served.connect(&request);
        client.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut answer = [0; 13];
        client.read_exact(&mut answer).unwrap();
        assert_eq!(String::from_utf8_lossy(&answer), expected);
        assert!(is_closed(&client));
    }
    served.stop();
}

#[test]
fn of_clients_that_do_not_read_the_newest_stay() {
    let options = Options { max_label_sets: 1_000, ..Options::default() };
    let served = Served::within(Limits { answer: EVER, asking: 2, ..Limits::default() }, options);
    served.fill();
    let slow: Vec<TcpStream> = (0..5).map(|_| served.read_slowly()).collect();
    // Whole pages do not fit into the buffers: what comes ends early.
    let is_cut = |mut stream: &TcpStream| {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).is_err_and(|error| error.kind() == ErrorKind::ConnectionReset)
            || !rest.ends_with(b"\n")
    };
    assert!(slow[..3].iter().all(is_cut));
    assert_eq!(served.scrape().value("ccactl_exporter_label_sets"), 1_000.0);
    served.stop();
}

#[test]
fn an_answer_that_takes_too_long_is_given_up() {
    let (allow, allowed) = channel::<()>();
    let allowed = Mutex::new(allowed);
    let recording = move || {
        allowed.lock().unwrap().recv().unwrap();
        Some(Progress::default())
    };
    let limits = Limits { answer: Duration::from_millis(200), ..Limits::default() };
    let served = Served::recording(limits, Options::default(), Arc::new(recording));
    assert!(is_closed(&served.connect("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")));
    allow.send(()).unwrap();
    served.stop();
}

/// The page is being made until the test allows it to be finished.
#[test]
fn healthz_does_not_wait_for_a_scrape_and_scrapes_are_made_one_at_a_time() {
    let (allow, allowed) = channel::<()>();
    let (begin, begun) = channel();
    let (at_work, together) = (AtomicUsize::new(0), Arc::new(AtomicUsize::new(0)));
    let most = Arc::clone(&together);
    let allowed = Mutex::new(allowed);
    let recording = move || {
        most.fetch_max(at_work.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        begin.send(()).unwrap();
        allowed.lock().unwrap().recv().unwrap();
        at_work.fetch_sub(1, Ordering::SeqCst);
        Some(Progress::default())
    };
    let served = Served::recording(Limits::default(), Options::default(), Arc::new(recording));
    thread::scope(|scope| {
        let scrapes: Vec<_> = (0..3).map(|_| scope.spawn(|| served.get("/metrics").0)).collect();
        begun.recv().unwrap();
        assert_eq!(served.get("/healthz").2, "ok\n");
        (0..3).for_each(|_| allow.send(()).unwrap());
        for scrape in scrapes {
            assert_eq!(scrape.join().unwrap(), "HTTP/1.1 200 OK");
        }
    });
    assert_eq!(together.load(Ordering::SeqCst), 1);
    served.stop();
}

#[test]
fn an_address_in_use_is_one_clear_error() {
    let served = Served::start(Options::default());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let error = runtime.block_on(async { Listener::bind(&Address::Tcp(served.address)) }).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "cannot listen on {}: another process listens there; --listen names another address or port",
            served.address
        )
    );
    served.stop();
}

/// Also what is only there with --bpf-stats or with a policy; the other way round, a metric that is gone is found by
/// its test.
const OPTIONAL: [&str; 8] = [
    "ccactl_recorder_program_run_seconds_total",
    "ccactl_recorder_program_runs_total",
    "ccactl_policy_sockets",
    "ccactl_policy_sockets_as_wanted",
    "ccactl_policy_sockets_to_move",
    "ccactl_policy_sockets_application_chosen",
    "ccactl_policy_sockets_route_locked",
    "ccactl_policy_sockets_refused",
];

#[test]
fn every_metric_of_the_dashboard_exists_and_every_one_that_exists_is_in_the_documentation() {
    let served = Served::start(Options::default());
    (served.tap)(&connection(1));
    let text = served.scrape();
    let sources = concat!(env!("CARGO_MANIFEST_DIR"), "/src/metrics/own/");
    let source: String = ["policies.rs", "programs.rs"]
        .map(|file| std::fs::read_to_string(format!("{sources}{file}")).unwrap())
        .concat();
    for name in OPTIONAL {
        assert!(source.contains(&format!("\"{name}\"")), "{name}");
    }

    let dashboard = include_str!("../../../packaging/grafana/ccactl.json");
    let dashboard: serde_json::Value = serde_json::from_str(dashboard).unwrap();
    let used = metrics_of(&dashboard);
    assert!(used.len() > 10, "{used:?}");
    for name in &used {
        assert!(text.has_family(name) || OPTIONAL.contains(&name.as_str()), "the dashboard uses {name}");
    }

    let page = include_str!("../../../docs/how-to/exporter.md");
    for name in text.families().chain(OPTIONAL) {
        assert!(page.contains(&format!("`{name}`")), "docs/how-to/exporter.md does not name {name}");
    }
    served.stop();
}

/// Names of metrics in the queries of a dashboard.
fn metrics_of(value: &serde_json::Value) -> Vec<String> {
    match value {
        serde_json::Value::Object(fields) => fields
            .iter()
            .flat_map(|(key, value)| match value.as_str() {
                Some(query) if ["expr", "query", "definition"].contains(&key.as_str()) => words(query),
                Some(_) => Vec::new(),
                None => metrics_of(value),
            })
            .collect(),
        serde_json::Value::Array(values) => values.iter().flat_map(metrics_of).collect(),
        _ => Vec::new(),
    }
}

fn words(query: &str) -> Vec<String> {
    let words = query.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    words.filter(|word| word.starts_with("ccactl_") || word.starts_with("process_")).map(str::to_owned).collect()
}

#[test]
fn promtool_has_no_complaint() {
    if Command::new("promtool").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_err() {
        eprintln!("not run: promtool is not installed (Debian's package prometheus)");
        return;
    }
    let served = Served::start(Options::default());
    (served.tap)(&connection(1));
    let body = served.get("/metrics").2;
    let mut promtool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    promtool.stdin.take().unwrap().write_all(body.as_bytes()).unwrap();
    let output = promtool.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "{said}\n{body}");
    served.stop();
}
