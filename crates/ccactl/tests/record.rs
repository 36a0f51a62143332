//! `ccactl record` as a process: signals, kills, pipes, exit codes, and the trace of a loaded algorithm.
//!
//! Root is needed: without it the tests say so and pass, unless CI=true, where they fail.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use ccactl_collector::{StreamFile, partial_path};
use ccactl_host::state::SHARED_MAPS;
use nix::sys::signal::{Signal, kill};
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::TcpCongestion;
use nix::unistd::{Pid, geteuid};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Long enough for a busy machine; a test that waits this long has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// Files, pins and locks of one test.
struct Host {
    files: TempDir,
    bpffs: PathBuf,
}

impl Host {
    fn new(name: &str) -> Option<Host> {
        if !geteuid().is_root() {
            assert!(std::env::var("CI").as_deref() != Ok("true"), "kernel tests need root");
            eprintln!("not run: kernel tests need root");
            return None;
        }
        let bpffs = format!("/sys/fs/bpf/ccactl-test-{}-{name}", std::process::id()).into();
        Some(Host { files: TempDir::new().unwrap(), bpffs })
    }

    fn file(&self, name: &str) -> PathBuf {
        self.files.path().join(name)
    }

    fn ccactl(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ccactl"));
        command.args(args).current_dir(self.files.path()).env("CCACTL_BPFFS", &self.bpffs).stdin(Stdio::null());
        command
    }

    /// Records until it is stopped, by default a port that nobody uses; attached, or nearly so, when this returns.
    fn start(&self, args: &[&str]) -> Running {
        let port = if args.contains(&"--port") { &[][..] } else { &["--port", "1"] };
        let child = self.ccactl(&[&["record", "-o", "x.parquet"], port, args].concat()).spawn().unwrap();
        let running = Running(child);
        wait_for("the stream", || fs::metadata(partial_path(&self.file("x.parquet"))).is_ok_and(|m| m.len() > 0));
        running
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        for map in SHARED_MAPS {
            let _ = fs::remove_file(self.bpffs.join(map));
        }
        let _ = fs::remove_dir(&self.bpffs);
    }
}

/// A recording that does not outlive its test.
struct Running(Child);

impl Running {
    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.0.id().try_into().unwrap()), signal).unwrap();
    }

    fn end(mut self) -> ExitStatus {
        wait_for("the end", || self.0.try_wait().unwrap().is_some());
        self.0.wait().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn wait_for(what: &str, mut is_there: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_there() {
        assert!(Instant::now() < deadline, "{what} did not come");
        sleep(Duration::from_millis(20));
    }
}

fn error_line(output: &Output) -> String {
    let text = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(text.lines().count(), 1, "{text}");
    text
}

#[test]
fn a_signal_ends_a_recording_cleanly() {
    let Some(host) = Host::new("signals") else { return };
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        let running = host.start(&["--force"]);
        running.signal(signal);
        assert!(running.end().success(), "{signal}");
        let file = fs::read(host.file("x.parquet")).unwrap();
        assert!(file.starts_with(b"PAR1") && file.ends_with(b"PAR1"));
        assert!(!partial_path(&host.file("x.parquet")).exists() && !host.bpffs.exists());
        fs::remove_file(host.file("x.parquet")).unwrap();
    }
}

#[test]
fn what_a_killed_recording_leaves_is_readable_and_not_overwritten() {
    let Some(host) = Host::new("kill") else { return };
    let running = host.start(&[]);
    running.signal(Signal::SIGKILL);
    assert!(!running.end().success());
    let stream = partial_path(&host.file("x.parquet"));
    assert_eq!(StreamFile::open(&stream).unwrap().schema().metadata()["ccactl.schema_version"], "4");

    let again = ["record", "--port", "1", "--duration", "10ms", "-o", "x.parquet"];
    let refused = host.ccactl(&again).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(error_line(&refused).contains("x.parquet.partial.arrows"));
    assert!(stream.exists());

    assert!(host.ccactl(&[&again[..], &["--force"]].concat()).status().unwrap().success());
    assert!(host.file("x.parquet").exists() && !stream.exists());
    assert!(!host.bpffs.exists(), "the next recorder takes the pin of the killed one away");
}

#[test]
fn a_second_recording_to_the_same_file_is_refused() {
    let Some(host) = Host::new("second") else { return };
    let running = host.start(&[]);
    let second = host.ccactl(&["record", "--port", "1", "-o", "x.parquet"]).output().unwrap();
    assert_eq!(second.status.code(), Some(1));
    assert!(error_line(&second).contains("another recording"));
    running.signal(Signal::SIGINT);
    assert!(running.end().success());
}

#[test]
fn bad_input_is_one_line_and_code_2() {
    let Some(host) = Host::new("input") else { return };
    fs::write(host.file("there.parquet"), "").unwrap();
    for (args, expected) in [
        (&["-o", "there.parquet"][..], "--force"),
        (&["-o", "missing/x.parquet"], "missing/x.parquet"),
        (&["-o", "."], "not a regular file"),
        (&["-o", "-", "--json"], "only one"),
        (&["--netns", "ccactl-no-such-netns"], "ccactl-no-such-netns"),
        (&["--cgroup", "/ccactl-no-such-cgroup"], "/ccactl-no-such-cgroup"),
        (&["--buffer", "1KiB"], "--buffer"),
        (&["--buffer", "99GiB"], "--buffer"),
        (&["--every", "2h"], "--every"),
        (&["--pid", "1073741824"], "no process 1073741824"),
        (&["--algorithm", "cubik"], "cubic"),
        (&["--algorithm", "native:no-such-module"], "no-such-module"),
        (&["--algorithm", "a-name-far-too-long"], "a-name-far-too-long"),
    ] {
        let output = host.ccactl(&[&["record", "--duration", "10ms"], args].concat()).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {output:?}");
        assert!(error_line(&output).contains(expected), "{args:?}: {output:?}");
    }
    for args in [
        ["--every", "10"],
        ["--duration", "soon"],
        ["--port", "0"],
        ["--buffer", "16MB"],
        ["--pid", "0"],
        ["--events", "open,clothes"],
    ] {
        let output = host.ccactl(&[&["record"], &args[..]].concat()).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {output:?}");
    }
    assert_eq!(fs::read_dir(host.files.path()).unwrap().count(), 1, "nothing was made");
}

#[test]
fn the_result_is_json_when_asked_for() {
    let Some(host) = Host::new("json") else { return };
    let output =
        host.ccactl(&["record", "--port", "1", "--duration", "10ms", "-o", "x.arrows", "--json"]).output().unwrap();
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&result["path"], &result["rows"], &result["drops"]), (&"x.arrows".into(), &0.into(), &0.into()));
    assert!(result["duration_us"].as_u64().unwrap() >= 10_000);
    assert!(output.stderr.is_empty(), "no progress where nobody watches");
}

#[test]
fn an_algorithm_is_named_as_in_the_other_commands() {
    let Some(host) = Host::new("names") else { return };
    for (name, expected) in [("native:reno", "reno"), ("reno", "bpf_reno"), ("bpf_reno", "bpf_reno")] {
        let record = ["record", "--algorithm", name, "--events", "open,close", "--port", "1", "--duration", "10ms"];
        let output = host.ccactl(&[&record[..], &["-o", "x.arrows", "--force"]].concat()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let stream = StreamFile::open(&host.file("x.arrows")).unwrap();
        let schema = stream.schema();
        let filter: serde_json::Value = serde_json::from_str(&schema.metadata()["ccactl.filter"]).unwrap();
        assert_eq!(filter["algorithm"], expected);
        assert_eq!(schema.metadata()["ccactl.events"], "open,close");
    }
}

#[test]
fn a_stream_goes_to_standard_output_and_ends_with_its_reader() {
    let Some(host) = Host::new("stdout") else { return };
    let output = host.ccactl(&["record", "--port", "1", "--duration", "10ms", "-o", "-"]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    fs::write(host.file("x.arrows"), output.stdout).unwrap();
    let stream = StreamFile::open(&host.file("x.arrows")).unwrap();
    assert_eq!(stream.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 0);
}

/// Every column of a recorder is in the stream, also those that no report reads.
#[test]
fn a_recorded_stream_is_reported_like_a_file() {
    let Some(host) = Host::new("streamed") else { return };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let mut record = host.ccactl(&["record", "--port", &port, "-o", "-"]);
    let mut running = Running(record.stdout(Stdio::piped()).spawn().unwrap());
    let mut stream = running.0.stdout.take().unwrap();
    let mut bytes = vec![0; 100];
    // The header: the recording runs.
    stream.read_exact(&mut bytes).unwrap();
    transfer(&listener, None, 1_000_000);
    running.signal(Signal::SIGINT);
    stream.read_to_end(&mut bytes).unwrap();
    assert!(running.end().success());
    fs::write(host.file("x.arrows"), bytes).unwrap();

    let report = host.ccactl(&["report", "x.arrows", "--json"]).output().unwrap();
    assert!(report.status.success(), "{report:?}");
    let summary: serde_json::Value = serde_json::from_slice(&report.stdout).unwrap();
    let flows = summary["recordings"][0]["flows"].as_array().unwrap();
    assert_eq!(flows.len(), 1, "{summary}");
    assert!(flows[0]["sent_bytes"].as_u64() >= Some(1_000_000), "{summary}");
}

#[test]
fn a_reader_of_the_stream_that_goes_away_ends_the_recording() {
    let Some(host) = Host::new("pipe") else { return };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let mut command = host.ccactl(&["record", "--port", &port, "-o", "-"]);
    let mut running = Running(command.stdout(Stdio::piped()).spawn().unwrap());
    drop(running.0.stdout.take());
    wait_for("the end", || {
        transfer(&listener, None, 1000);
        running.0.try_wait().unwrap().is_some()
    });
    assert!(running.end().success());
}

#[test]
fn a_reader_that_goes_away_ends_the_recording_though_there_is_nothing_to_write() {
    let Some(host) = Host::new("quiet") else { return };
    let mut command = host.ccactl(&["record", "--port", "1", "-o", "-"]);
    let mut running = Running(command.stdout(Stdio::piped()).spawn().unwrap());
    let mut reader = running.0.stdout.take().unwrap();
    // The header: the recording runs. As long as somebody waits for rows, it does.
    reader.read_exact(&mut [0; 100]).unwrap();
    sleep(Duration::from_secs(2));
    assert!(running.0.try_wait().unwrap().is_none(), "it ends though its reader is there");
    drop(reader);
    let left = Instant::now();
    assert!(running.end().success());
    assert!(left.elapsed() < Duration::from_secs(10), "{:?}", left.elapsed());
}

#[test]
fn the_trace_of_a_loaded_algorithm_is_recorded_whoever_came_first() {
    let Some(host) = Host::new("trace") else { return };
    let name = format!("cca_t{}", std::process::id());
    let policy = Policy { host: &host, cgroup: format!("/ccactl-test-{}-trace", std::process::id()) };

    policy.load(&name);
    assert_trace_of(&host, &name, || {});
    assert!(policy.unload());

    assert_trace_of(&host, &name, || policy.load(&name));
    assert!(policy.unload());
    assert!(!host.bpffs.exists());
}

/// Records a transfer with this algorithm; `before_traffic` runs while the recorder does.
fn assert_trace_of(host: &Host, name: &str, before_traffic: impl FnOnce()) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let running = host.start(&["--force", "--port", &port]);
    sleep(Duration::from_millis(300)); // the stream's header is there a moment before the programs are attached
    before_traffic();
    transfer(&listener, Some(name), 10_000_000);
    running.signal(Signal::SIGINT);
    assert!(running.end().success());

    let path = host.file("x.parquet");
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(&path).unwrap()).unwrap();
    let algorithms: serde_json::Value = serde_json::from_str(&reader.schema().metadata()["ccactl.algorithms"]).unwrap();
    let entry = algorithms.as_array().unwrap().iter().find(|entry| entry["kernel_name"] == name).unwrap();
    assert_eq!((&entry["algorithm"], &entry["modes"][0]), (&"reno".into(), &"slow-start".into()));

    let mut traced = 0;
    for batch in reader.build().unwrap().map(Result::unwrap) {
        let [events, names, modes] = ["event", "algorithm", "trace_mode"].map(|column| batch[column].as_string_view());
        for row in (0..batch.num_rows()).filter(|&row| events.value(row) == "sample" && names.value(row) == name) {
            if modes.is_valid(row) {
                traced += 1;
                assert!(["slow-start", "avoidance"].contains(&modes.value(row)), "{}", modes.value(row));
            } else {
                assert!(traced == 0, "an algorithm that has published goes on");
            }
        }
    }
    assert!(traced > 0, "no row has a trace");
}

/// Sends so many bytes over the listener, with an algorithm of its own if one is named.
fn transfer(listener: &TcpListener, algorithm: Option<&str>, bytes: usize) {
    let address = listener.local_addr().unwrap();
    thread::scope(|scope| {
        scope.spawn(|| io::copy(&mut listener.accept().unwrap().0, &mut io::sink()).unwrap());
        let mut stream = TcpStream::connect(address).unwrap();
        if let Some(name) = algorithm {
            setsockopt(&stream, TcpCongestion, &OsString::from(name)).unwrap();
        }
        stream.write_all(&vec![0; bytes]).unwrap();
    });
}

/// An algorithm for a cgroup that nobody lives in; taken back with the value.
struct Policy<'a> {
    host: &'a Host,
    cgroup: String,
}

impl Policy<'_> {
    fn load(&self, name: &str) {
        let load = ["load", "reno", "--as", name, "--cgroup", &self.cgroup, "--create"];
        assert!(self.host.ccactl(&load).stdout(Stdio::null()).status().unwrap().success());
    }

    fn unload(&self) -> bool {
        let unload = ["unload", "--cgroup", &self.cgroup, "--remove-cgroup"];
        self.host.ccactl(&unload).stdout(Stdio::null()).status().is_ok_and(|status| status.success())
    }
}

impl Drop for Policy<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.unload();
        }
    }
}
