//! `record -o s3://…` against a real S3 server on this machine, which is killed and started again in the middle: what the
//! kernel counted is in the store, or in the spool, or told.
//!
//! Root and versitygw are needed: without them the tests say so and pass, unless CI=true, where they fail.
#![cfg(feature = "object-store")]

#[allow(dead_code, reason = "shared with the tests of the lab")]
#[path = "../../../lab/tests/needs/mod.rs"]
mod needs;
mod results;
#[path = "../../../store/tests/common/server.rs"]
mod server;
#[path = "../under_load/mod.rs"]
mod under_load;

use ccactl_abi::layout::{COUNT_DROPS, COUNT_ROWS, DROP_REASONS, EVENTS};
use ccactl_host::state::SHARED_MAPS;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, geteuid};
use parquet::file::reader::{FileReader, SerializedFileReader};
use server::Server;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use under_load::{Load, ccactl, kernel_counts, sum};

/// A command that takes longer to end hangs.
const PATIENCE: Duration = Duration::from_secs(90);
/// CAP_DAC_OVERRIDE alone, which is 1.
const DAC_OVERRIDE: u64 = 1 << 1;
const PREFIX: &str = "s3://tcp/lab";

/// State on the host, a spool, and what a client of the server has in its environment.
struct Host {
    files: TempDir,
    bpffs: PathBuf,
    settings: Vec<(String, String)>,
}

impl Host {
    fn new(name: &str, settings: impl IntoIterator<Item = (String, String)>) -> Option<Host> {
        if !geteuid().is_root() {
            assert!(std::env::var("CI").as_deref() != Ok("true"), "kernel tests need root");
            eprintln!("not run: kernel tests need root");
            return None;
        }
        let bpffs = format!("/sys/fs/bpf/ccactl-test-{}-store-{name}", std::process::id()).into();
        Some(Host { files: TempDir::new().unwrap(), bpffs, settings: settings.into_iter().collect() })
    }

    fn ccactl(&self, args: &[&str]) -> Command {
        let mut command = ccactl(&self.bpffs);
        command.args(args).env("CCACTL_STATE", self.files.path().join("state")).current_dir(self.files.path());
        command.envs(self.settings.iter().map(|(name, value)| (name, value)));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn record(&self, args: &[&str]) -> Running {
        Running(Some(self.ccactl(&[&["record"], args].concat()).spawn().unwrap()))
    }

    fn spool(&self) -> PathBuf {
        self.files.path().join("state/spool")
    }

    /// Folders of recordings that are not sent.
    fn spooled(&self) -> usize {
        fs::read_dir(self.spool()).map_or(0, Iterator::count)
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
struct Running(Option<Child>);

impl Running {
    fn child(&mut self) -> &mut Child {
        self.0.as_mut().expect("it has not ended")
    }

    fn signal(&mut self, signal: Signal) {
        kill(Pid::from_raw(self.child().id().try_into().unwrap()), signal).unwrap();
    }

    fn end(mut self) -> Output {
        let deadline = Instant::now() + PATIENCE;
        while self.child().try_wait().unwrap().is_none() {
            assert!(Instant::now() < deadline, "it does not end");
            sleep(Duration::from_millis(20));
        }
        self.0.take().unwrap().wait_with_output().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn wait_for(what: &str, mut is_there: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_there() {
        assert!(Instant::now() < deadline, "{what} did not come");
        sleep(Duration::from_millis(20));
    }
}

fn footer(path: &Path) -> parquet::file::metadata::FileMetaData {
    let file = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    file.metadata().file_metadata().clone()
}

fn rows(paths: &[PathBuf]) -> u64 {
    paths.iter().map(|path| footer(path).num_rows() as u64).sum()
}

fn value(path: &Path, key: &str) -> String {
    let pairs = footer(path).key_value_metadata().cloned().unwrap_or_default();
    pairs.into_iter().find(|pair| pair.key == key).and_then(|pair| pair.value).unwrap_or_default()
}

/// Effective rights of all threads of a process.
fn rights(pid: u32) -> Vec<u64> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let statuses = tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("status")).ok());
    let effective = |status: String| {
        let bits = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?.trim().to_owned();
        u64::from_str_radix(&bits, 16).ok()
    };
    statuses.filter_map(effective).collect()
}

fn json(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_server_that_is_killed_in_the_middle_has_every_row_of_the_kernel_once() {
    let Some(mut server) = Server::start() else { return };
    let Some(host) = Host::new("killed", server.settings()) else { return };
    let load = Load::start();
    let args = ["--port", &load.port, "--rotate", "1s", "--label", "site=lab", "--json", "-o", PREFIX];
    let mut recording = host.record(&args);
    let counts = kernel_counts(recording.child());
    wait_for("the first parts", || server.objects(".parquet").len() >= 2);
    let rights = rights(recording.child().id());
    assert!(rights.len() >= 3 && rights.iter().all(|right| *right == DAC_OVERRIDE), "the sender too: {rights:x?}");
    server.down();
    let before = server.objects(".parquet").len();
    sleep(Duration::from_millis(3500));
    assert_eq!(server.objects(".parquet").len(), before, "nobody takes parts");
    server.up();
    wait_for("parts from the time of the outage", || server.objects(".parquet").len() > before + 2);
    recording.signal(Signal::SIGINT);
    let output = recording.end();
    assert!(output.status.success(), "{output:?}");

    let counted = sum(&counts, COUNT_ROWS, EVENTS);
    assert_eq!(sum(&counts, COUNT_DROPS, DROP_REASONS), 0, "the ring is large enough for this load");
    let parts = server.objects(".parquet");
    assert!(counted > 1000 && parts.len() >= 5, "{counted} rows, {} parts: there was no load", parts.len());
    assert_eq!(rows(&parts), counted, "in the store");
    let told = json(&output);
    assert_eq!((&told["rows"], &told["path"]), (&counted.into(), &PREFIX.into()));
    let upload = &told["upload"];
    assert_eq!((&upload["stored"]["rows"], &upload["stored"]["parts"]), (&counted.into(), &parts.len().into()));
    assert_eq!((&upload["waiting"]["parts"], &upload["given_up"]["parts"]), (&0.into(), &0.into()));
    assert_eq!(host.spooled(), 0, "nothing stays in the spool");
    let said = stderr(&output);
    for text in ["parts wait in the spool", "takes parts again after"] {
        assert_eq!(said.matches(text).count(), 1, "{said}");
    }

    // What the parts say of themselves is where they are.
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    for part in &parts {
        let path = part.display().to_string();
        let below = format!("/date={}/host={}/", &value(part, "ccactl.part_started")[..10], value(part, "ccactl.host"));
        assert!(path.contains(&below) && path.contains(&value(part, "ccactl.dataset")), "{path}");
        assert_eq!(
            (value(part, "ccactl.boot_id").as_str(), value(part, "ccactl.labels").as_str()),
            (boot.trim(), r#"{"site":"lab"}"#)
        );
    }

    let report = host.ccactl(&["report", PREFIX, "--json"]).output().unwrap();
    assert!(report.status.success(), "{report:?}");
    let report = json(&report);
    assert_eq!(report["recordings"].as_array().unwrap().len(), 1, "the parts are one recording");
    assert_eq!(report["recordings"][0]["rows"], counted);
}

#[test]
fn what_a_killed_recorder_left_is_sent_later() {
    let Some(server) = Server::start() else { return };
    let Some(host) = Host::new("recorder", server.settings()) else { return };
    let load = Load::start();
    // No part is finished: all is in a stream.
    let mut recording = host.record(&["--port", &load.port, "--rotate", "60s", "-o", PREFIX]);
    let counts = kernel_counts(recording.child());
    wait_for("rows", || sum(&counts, COUNT_ROWS, EVENTS) > 3000);
    sleep(Duration::from_secs(1));
    recording.signal(Signal::SIGKILL);
    recording.end();
    assert_eq!((host.spooled(), server.objects(".parquet").len()), (1, 0));

    // Another recording to the same place sends it.
    let output = host.record(&["--port", "1", "--duration", "1s", "--rotate", "60s", "--json", "-o", PREFIX]).end();
    assert!(output.status.success(), "{output:?}");
    let parts = server.objects(".parquet");
    assert_eq!(parts.len(), 2, "{parts:?}");
    assert!(rows(&parts) > 3000, "{}", rows(&parts));
    assert_eq!(json(&output)["upload"]["stored"]["rows"], rows(&parts));
    assert_eq!(host.spooled(), 0);

    let output = host.ccactl(&["send"]).output().unwrap();
    assert!(
        output.status.success() && String::from_utf8_lossy(&output.stdout).contains("nothing waits there"),
        "{output:?}"
    );
}

#[test]
fn what_could_not_be_sent_is_told_and_sent_later() {
    let Some(mut server) = Server::start() else { return };
    let Some(host) = Host::new("waits", server.settings()) else { return };
    let load = Load::start();
    server.down();
    let mut recording = host.record(&["--port", &load.port, "--rotate", "1s", "-o", PREFIX]);
    let counts = kernel_counts(recording.child());
    wait_for("rows", || sum(&counts, COUNT_ROWS, EVENTS) > 3000);
    let asked = Instant::now();
    recording.signal(Signal::SIGTERM);
    let output = recording.end();
    assert!(asked.elapsed() < Duration::from_secs(4), "{:?}", asked.elapsed());
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("the recording begins, and its parts wait"), "{said}");
    assert!(said.contains("`ccactl send`"), "{said}");
    assert_eq!(host.spooled(), 1);

    server.up();
    let output = host.ccactl(&["send", "--json"]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let counted = sum(&counts, COUNT_ROWS, EVENTS);
    assert_eq!(rows(&server.objects(".parquet")), counted);
    assert_eq!(json(&output)["stored"]["rows"], counted);
    assert_eq!(host.spooled(), 0);
}

#[test]
fn wrong_keys_a_missing_bucket_and_wrong_options_are_one_line_before_a_recording_begins() {
    let Some(server) = Server::start() else { return };
    let mut settings = server.settings();
    let Some(host) = Host::new("refused", settings.clone()) else { return };
    settings[3].1 = "another secret".to_owned();
    let Some(stranger) = Host::new("stranger", settings) else { return };
    let rotate = ["--port", "1", "--duration", "1s", "--rotate", "60s"];
    let cases: [(&Host, &[&str], i32, &str); 7] = [
        (&stranger, &["-o", PREFIX], 1, "403 SignatureDoesNotMatch"),
        (&host, &["-o", "s3://no-such-bucket/lab"], 1, "404 NoSuchBucket"),
        (&host, &["-o", "file:///no/such/folder"], 1, "it is no folder; make the bucket or the folder"),
        (&host, &["-o", "gs://tcp/lab"], 2, "expected s3://BUCKET/PREFIX or file:///FOLDER"),
        (&host, &["-o", PREFIX, "--force"], 2, "leave --force out"),
        (&host, &["-o", PREFIX, "--label", "a=1", "--label", "a=2"], 2, "a is given twice"),
        (&host, &["-o", "x", "--spool", "here"], 2, "add -o s3://BUCKET/PREFIX"),
    ];
    for (host, args, code, expected) in cases {
        let output = host.record(&[&rotate, args].concat()).end();
        let said = stderr(&output);
        assert_eq!((output.status.code(), said.lines().count()), (Some(code), 1), "{args:?}: {said}");
        assert!(said.contains(expected), "{args:?}: {said}");
        assert_eq!(host.spooled(), 0, "{args:?}");
    }
    let output = host.record(&["--duration", "1s", "-o", PREFIX]).end();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("add --rotate, such as --rotate 60s"), "{output:?}");
    assert_eq!(server.objects("").iter().filter(|path| path.is_file()).count(), 0, "the bucket is as it was");
}

#[test]
fn a_shared_folder_gets_the_parts_too() {
    let Some(host) = Host::new("folder", []) else { return };
    let load = Load::start();
    fs::create_dir(host.files.path().join("share")).unwrap();
    let location = format!("file://{}", host.files.path().join("share").display());
    let output =
        host.record(&["--port", &load.port, "--duration", "3s", "--rotate", "1s", "--json", "-o", &location]).end();
    assert!(output.status.success(), "{output:?}");
    let told = json(&output);
    assert_eq!(told["upload"]["stored"]["rows"], told["rows"]);
    let report = host.ccactl(&["report", &location, "--json"]).output().unwrap();
    assert!(report.status.success(), "{report:?}");
    assert_eq!(json(&report)["recordings"][0]["rows"], told["rows"]);
}
