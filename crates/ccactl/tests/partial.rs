//! Ten real recordings, cut into parts: their summaries add up to the report of the rows.

#[path = "cli_loader/host.rs"]
#[allow(dead_code, reason = "shared with the tests of load")]
mod host;

use ccactl_report::{Options, Partial, Summary, open_all, summarize};
use host::{Host, eventually};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use polars::prelude::*;
use serde_json::Value;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

/// How the ten are recorded. A ring of a page loses rows.
const RECORDERS: [&[&str]; 10] = [
    &[],
    &["--rotate", "1s"],
    &["--every", "rtt"],
    &["--every", "5ms", "--rotate", "1s"],
    &["--every", "100ms"],
    &["--buffer", "4KiB"],
    &["--buffer", "4KiB", "--rotate", "1s"],
    &["--every", "1s"],
    &["--every", "1ms"],
    &["--every", "20ms", "--rotate", "1s"],
];
/// It leaves no last part.
const KILLED: usize = 9;
const LENGTH: Duration = Duration::from_secs(4);
/// How many of the ten are cut finely too: each takes seconds.
const FINELY: usize = 2;

/// Connections that stay, of which some change their algorithm again and again, and others that are short.
fn traffic(listener: &TcpListener) {
    let end = Instant::now() + LENGTH;
    let address = listener.local_addr().unwrap();
    thread::scope(|scope| {
        let pair = || (TcpStream::connect(address).unwrap(), listener.accept().unwrap().0);
        for number in 0..4 {
            let (mut sender, mut receiver) = pair();
            scope.spawn(move || while receiver.read(&mut [0; 65_536]).is_ok_and(|count| count > 0) {});
            scope.spawn(move || {
                for round in 0.. {
                    if Instant::now() >= end {
                        break;
                    }
                    sender.write_all(&[0; 30_000]).unwrap();
                    sleep(Duration::from_millis(3 + 2 * number));
                    if round % 37 == 36 && number < 3 {
                        set_algorithm(&sender, if round % 2 == 0 { "reno" } else { "cubic" });
                    }
                }
            });
        }
        while Instant::now() < end {
            let (mut sender, mut receiver) = pair();
            sender.write_all(&[0; 9_000]).unwrap();
            drop(sender);
            receiver.read_to_end(&mut Vec::new()).unwrap();
            sleep(Duration::from_millis(60));
        }
    });
}

fn set_algorithm(of: &TcpStream, name: &str) {
    // SAFETY: the pointer and the length are those of `name`, which lives until the call returns.
    let result = unsafe {
        let length = libc::socklen_t::try_from(name.len()).unwrap();
        libc::setsockopt(of.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_CONGESTION, name.as_ptr().cast(), length)
    };
    assert_eq!(result, 0, "{name}: {}", std::io::Error::last_os_error());
}

struct Recorder(Child);

impl Drop for Recorder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// All ten at once, of the same traffic.
fn record(host: &Host) -> Vec<PathBuf> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let mut targets = Vec::new();
    let mut recorders = Vec::new();
    for (number, options) in RECORDERS.into_iter().enumerate() {
        let name = if options.contains(&"--rotate") { format!("{number}") } else { format!("{number}.parquet") };
        let target = host.run.path().join(name);
        let mut command = host.command(&["record", "--port", &port, "-o"]);
        command.arg(&target).args(options).stdout(Stdio::null()).stderr(Stdio::null());
        recorders.push(Recorder(command.spawn().unwrap()));
        targets.push(target);
    }
    // Until the programs are attached there is no file of rows.
    sleep(Duration::from_secs(2));
    let small = |options: &&[&str]| options.contains(&"--buffer");
    let small: Vec<i32> = recorders
        .iter()
        .zip(RECORDERS)
        .filter(|(_, of)| small(of))
        .map(|(child, _)| child.0.id().cast_signed())
        .collect();
    thread::scope(|scope| {
        // Those with a small ring lose rows while they sleep.
        scope.spawn(|| {
            for signal in [Signal::SIGSTOP, Signal::SIGCONT, Signal::SIGSTOP, Signal::SIGCONT] {
                sleep(Duration::from_millis(400));
                small.iter().for_each(|&pid| kill(Pid::from_raw(pid), signal).unwrap());
            }
        });
        traffic(&listener);
    });
    for (number, Recorder(child)) in recorders.iter_mut().enumerate() {
        let signal = if number == KILLED { Signal::SIGKILL } else { Signal::SIGINT };
        kill(Pid::from_raw(child.id().cast_signed()), signal).unwrap();
    }
    for (number, Recorder(child)) in recorders.iter_mut().enumerate() {
        assert!(child.wait().unwrap().success() || number == KILLED, "recorder {number}");
    }
    eventually("files of all ten", || targets.iter().all(|target| target.exists()));
    targets
}

/// A recording of one file, cut by time into parts of one dataset.
fn cut(file: &Path, parts: u64, folder: &Path) {
    fs::create_dir(folder).unwrap();
    let mut reader = ParquetReader::new(File::open(file).unwrap());
    let footer = reader.get_metadata().unwrap().clone();
    let known = |pair: &(String, String)| !["ccactl.crc32", "ccactl.order", "ccactl.rows"].contains(&pair.0.as_str());
    let pairs = footer.key_value_metadata.iter().flatten();
    let pairs: Vec<(String, String)> =
        pairs.filter_map(|pair| Some((pair.key.clone(), pair.value.clone()?))).filter(known).collect();
    // The wall clock is in no figure, and this build of Polars has no such type.
    let columns: Vec<String> = reader.schema().unwrap().iter_names().map(ToString::to_string).collect();
    let columns = columns.into_iter().filter(|name| name != "time").collect();
    let rows = reader
        .with_columns(Some(columns))
        .finish()
        .unwrap()
        .sort(["t_us"], SortMultipleOptions::default().with_maintain_order(true))
        .unwrap();
    let times = rows.column("t_us").unwrap().u64().unwrap().clone();
    let end_us = times.max().unwrap() + 1;
    for number in 0..parts {
        let [from, to] = [number, number + 1].map(|number| end_us * number / parts);
        let mut part = rows.filter(&(times.gt_eq(from) & times.lt(to))).unwrap();
        let mut pairs = pairs.clone();
        pairs.push(("ccactl.dataset".to_owned(), "cut".to_owned()));
        pairs.push(("ccactl.part".to_owned(), number.to_string()));
        if number + 1 == parts {
            pairs.push(("ccactl.parts".to_owned(), parts.to_string()));
        }
        let path = folder.join(format!("part-{number:05}.parquet"));
        let writer = ParquetWriter::new(File::create(path).unwrap())
            .with_key_value_metadata(Some(KeyValueMetadata::from_static(pairs)));
        writer.finish(&mut part).unwrap();
    }
}

fn json(summary: &Summary) -> Value {
    serde_json::to_value(summary).unwrap()
}

/// The report of a recording, and that of the summaries of its files in three orders.
fn compare(recording: &Path, summaries: &Path) -> Value {
    let options = Options::default();
    let recordings = open_all(&[recording.to_owned()]).unwrap();
    let whole = json(&summarize(&recordings, &options).unwrap());
    fs::create_dir(summaries).unwrap();
    let mut files = Vec::new();
    for recording in recordings {
        for file in recording.into_files() {
            let path = file.on_disk;
            let summary = summaries.join(path.file_name().unwrap()).with_extension("summary");
            Partial::of(&[path], &options).unwrap().write(&summary).unwrap();
            files.push(summary);
        }
    }
    let (odd, even): (Vec<_>, Vec<_>) = files.iter().cloned().enumerate().partition(|(number, _)| number % 2 == 1);
    let halves: Vec<PathBuf> = odd.into_iter().chain(even).map(|(_, file)| file).collect();
    for order in [files.clone(), files.into_iter().rev().collect(), halves] {
        // In two steps, through a file.
        let (some, others) = order.split_at(order.len() / 2);
        let mut merged: Vec<PathBuf> = Vec::new();
        for (name, part) in [("some", some), ("others", others)].into_iter().filter(|(_, part)| !part.is_empty()) {
            let path = summaries.join(name);
            Partial::read(part).unwrap().write(&path).unwrap();
            merged.push(path);
        }
        assert_eq!(
            json(&Partial::read(&merged).unwrap().summarize(&options).unwrap()),
            whole,
            "{}",
            recording.display()
        );
    }
    whole
}

#[test]
fn summaries_of_parts_of_real_recordings_add_up_to_the_report() {
    let Some(host) = Host::with_root() else { return };
    let at = |name: String| host.run.path().join(name);
    let (mut changes, mut drops) = (0, 0);
    for (number, recording) in record(&host).iter().enumerate() {
        let whole = compare(recording, &at(format!("{number}.summaries")));
        let of_it = &whole["recordings"][0];
        changes += of_it["flows"]
            .as_array()
            .unwrap()
            .iter()
            .map(|flow| flow["changes"].as_array().unwrap().len())
            .sum::<usize>();
        drops += of_it["drops"].as_u64().unwrap_or_default();
        if recording.is_file() {
            let parts: &[u64] = if number / 2 < FINELY { &[1, 7, 80] } else { &[1, 7] };
            for &parts in parts {
                let folder = at(format!("{number}.{parts}"));
                cut(recording, parts, &folder);
                compare(&folder, &at(format!("{number}.{parts}.summaries")));
            }
        }
    }
    assert!(changes > 50 && drops > 0, "{changes} changes, {drops} drops");
}

/// As a user does it, with the page that is drawn of the rows.
#[test]
fn a_summary_is_made_merged_and_reported_by_the_command() {
    let Some(host) = Host::with_root() else { return };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let folder = host.run.path().join("rec");
    let (target, file) = (folder.display().to_string(), |name: &str| host.run.path().join(name).display().to_string());
    let mut command = host.command(&["record", "--port", &port, "--rotate", "1s", "--duration", "5s", "-o", &target]);
    let mut recorder = Recorder(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    sleep(Duration::from_secs(1));
    traffic(&listener);
    assert!(recorder.0.wait().unwrap().success());

    let part = |number: usize| folder.join(format!("part-{number:05}.parquet")).display().to_string();
    let (first, later) = (file("first.summary"), file("later.summary"));
    host.ok(&["report", "--partial", &part(0), &part(1), "-o", &first]);
    let rest: Vec<String> = (2..5).map(part).filter(|path| Path::new(path).exists()).collect();
    let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
    host.ok(&[&["report", "-o", &later, "--partial"][..], &rest].concat());
    let all = file("all.summary");
    host.ok(&["report", "--merge", &later, &first, "-o", &all]);
    let whole = host.json(&["report", "--json", &target]);
    assert_eq!(host.json(&["report", "--json", &all]), whole);
    assert_eq!(host.json(&["report", "--json", "--merge", &first, &later]), whole);
    assert_eq!(host.ok(&["report", &all]), host.ok(&["report", &target]));

    let (page, page_of_rows) = (file("all.html"), file("rows.html"));
    host.ok(&["report", &all, "--html", &page]);
    host.ok(&["report", &target, "--html", &page_of_rows]);
    let [page, page_of_rows] = [page, page_of_rows].map(|path| fs::read_to_string(path).unwrap());
    assert_eq!(page, page_of_rows);

    let fails = |args: &[&str], expected: &str| {
        let output = host.ccactl(args);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && error.contains(expected), "{:?}: {error}", output.status);
    };
    fails(&["report", &all, "--from", "1"], "--from, --to: expected recordings, found summaries");
    fails(&["report", &target, "-o", &all], "add --partial to make one of recordings");
    fails(&["report", "--merge", &part(0)], "expected a summary that `ccactl report --partial` has written");
    fails(&["report", &all, "--interval", "2"], "make it anew with --partial --interval 2");
    fs::remove_file(part(0)).unwrap();
    fails(&["report", &all, "--html", &file("none.html")], "expected the recording of which the summary was made");
    assert_eq!(host.json(&["report", "--json", &all]), whole, "no row is needed");
}
