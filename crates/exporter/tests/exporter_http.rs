//! The exporter over HTTP, with rows made by hand instead of a kernel.

#[allow(dead_code, reason = "shared with the tests of ccactl exporter")]
mod text;

use bytemuck::Zeroable;
use ccactl_abi::layout::{EVENT_CLOSE, EVENT_OPEN, EVENT_SAMPLE, Sample, name_bytes};
use ccactl_collector::{Drops, Progress, Tap};
use ccactl_exporter::server::{listen, serve};
use ccactl_exporter::{Exporter, Options};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
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
        let exporter = Arc::new(Exporter::new(options, None).unwrap());
        let tap = exporter.tap();
        let (end, ended) = watch::channel(false);
        let (address_sender, address) = std::sync::mpsc::channel();
        let thread = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = listen(([127, 0, 0, 1], 0).into()).await.unwrap();
                address_sender.send(listener.local_addr().unwrap()).unwrap();
                let drops = Drops { ring_full_samples: 3, ..Drops::default() };
                let progress = Progress { rows: 17, drops, ..Progress::default() };
                serve(listener, exporter, Arc::new(move || progress), ended).await.unwrap();
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
    // Enough text to fill the buffers of both sockets.
    for number in 0..1_000 {
        let algorithm = name_bytes(&format!("a{number}")).unwrap();
        (served.tap)(&connection(number).map(|row| Sample { algorithm, ..row }));
    }
    let slow: Vec<TcpStream> = (0..4)
        .map(|_| {
            let mut stream = TcpStream::connect(served.address).unwrap();
            stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
            stream.read_exact(&mut [0; 100]).unwrap();
            stream
        })
        .collect();
    let half_a_request = TcpStream::connect(served.address).unwrap();
    (&half_a_request).write_all(b"GET /met").unwrap();
    (served.tap)(&connection(5_000).map(|row| Sample { algorithm: name_bytes("a1").unwrap(), ..row }));
    let labels = LABELS.replace("f_bbrv2", "a1");
    assert_eq!(served.scrape().value(&format!("ccactl_tcp_connections_closed_total{labels}")), 2.0);
    let begun = Instant::now();
    served.stop();
    assert!(begun.elapsed() < Duration::from_secs(30), "the end waited for clients that do not read");
    drop(slow);
}

#[test]
fn an_address_in_use_is_one_clear_error() {
    let served = Served::start(Options::default());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let error = runtime.block_on(listen(served.address)).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "cannot listen on {}: another process listens there; --listen names another address or port",
            served.address
        )
    );
    served.stop();
}

/// Also what is only there with --bpf-stats or with a policy; the other way round, a metric that is gone is found by its test.
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
    let sources = concat!(env!("CARGO_MANIFEST_DIR"), "/src/own/");
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
