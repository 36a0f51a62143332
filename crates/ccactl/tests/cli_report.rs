//! `ccactl report` as a user meets it: what it prints, and one line and a code for each mistake.

#[path = "../../report/tests/common/mod.rs"]
mod common;

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use common::{Fixture, Row};
use tempfile::TempDir;

fn ccactl(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ccactl"));
    command.arg("report").args(args);
    command
}

fn run(args: &[&str]) -> Output {
    ccactl(args).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Enough rows that a pipe holds only a part of them.
fn transfer() -> Fixture {
    let row = |i: u64| Row::at(1, i * 1000).bytes(i * 1250, i * 1250).rtt(20_000, i as u32);
    Fixture::new((0..=5000).map(row).collect())
}

fn path(folder: &TempDir, name: &str) -> String {
    folder.path().join(name).to_str().unwrap().to_owned()
}

/// The complaint: one line on standard error, nothing on standard output.
fn complaint(output: &Output, code: i32) -> String {
    assert_eq!(output.status.code(), Some(code), "{output:?}");
    assert_eq!(text(&output.stdout), "");
    let complaint = text(&output.stderr);
    assert_eq!(complaint.lines().count(), 1, "{complaint}");
    complaint
}

#[test]
fn a_recording_gives_a_table_a_page_and_a_csv() {
    let folder = TempDir::new().unwrap();
    let recording = path(&folder, "x.parquet");
    transfer().parquet(Path::new(&recording));
    let (page, csv) = (path(&folder, "x.html"), path(&folder, "x.csv"));
    let output = run(&[&recording, "--html", &page, "--csv", &csv]);
    assert!(output.status.success(), "{output:?}");
    // 1250 bytes per ms.
    assert!(text(&output.stdout).contains("10.0"), "{output:?}");
    assert!(std::fs::read_to_string(page).unwrap().starts_with("<!doctype html>"));
    assert_eq!(std::fs::read_to_string(csv).unwrap().lines().count(), 3);
}

#[test]
fn a_recording_gives_a_figure_and_two_do_not() {
    let folder = TempDir::new().unwrap();
    let (recording, figure) = (path(&folder, "x.parquet"), path(&folder, "x.svg"));
    transfer().parquet(Path::new(&recording));
    let output = run(&[&recording, "--svg", &figure]);
    assert!(output.status.success(), "{output:?}");
    let drawn = std::fs::read_to_string(&figure).unwrap();
    assert!(drawn.starts_with("<svg") && drawn.contains("cwnd [packets]") && drawn.contains("RTT [ms]"), "{drawn}");
    assert!(drawn.len() < 60_000, "{} bytes", drawn.len());
    let complaint = complaint(&run(&[&recording, &recording, "--svg", &path(&folder, "y.svg")]), 2);
    assert!(complaint.contains("--svg draws one recording, found 2"), "{complaint}");
}

#[test]
fn figures_go_into_a_folder_in_the_formats_asked_for() {
    let folder = TempDir::new().unwrap();
    let (recording, figures) = (path(&folder, "x.parquet"), path(&folder, "fig"));
    transfer().parquet(Path::new(&recording));
    let output = run(&[&recording, "--figures", &figures, "--format", "png"]);
    assert!(output.status.success(), "{output:?}");
    let mut files: Vec<String> =
        std::fs::read_dir(&figures).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    files.sort();
    assert_eq!(files, ["cwnd.png", "goodput.png", "rtt-ecdf.png", "rtt.png", "throughput.png"]);
    assert_eq!(run(&[&recording, "--format", "png"]).status.code(), Some(2), "a format of nothing");
}

#[test]
fn json_and_csv_on_standard_output_are_nothing_but_that() {
    let folder = TempDir::new().unwrap();
    let recording = path(&folder, "x.parquet");
    transfer().parquet(Path::new(&recording));
    let json: serde_json::Value = serde_json::from_slice(&run(&[&recording, "--json"]).stdout).unwrap();
    assert_eq!(json["recordings"][0]["flows"][0]["goodput_bps"], 10e6);
    assert!(text(&run(&[&recording, "--csv", "-"]).stdout).starts_with("recording,kind,"));
    assert_eq!(run(&[&recording, "--json", "--csv", "-"]).status.code(), Some(2));
}

#[test]
fn a_window_is_part_of_the_question() {
    let folder = TempDir::new().unwrap();
    let recording = path(&folder, "x.parquet");
    transfer().parquet(Path::new(&recording));
    let output = run(&[&recording, "--json", "--from", "1", "--to", "3"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["recordings"][0]["flows"][0]["acked_bytes"], 2_500_000);
    assert!(complaint(&run(&[&recording, "--from", "9"]), 2).contains("no rows between 9 s"));
    assert!(complaint(&run(&[&recording, "--from", "3", "--to", "1"]), 2).contains("not a time window"));
}

#[test]
fn ctrl_c_at_a_pipe_ends_the_recorder_not_the_report() {
    let folder = TempDir::new().unwrap();
    let recording = path(&folder, "x.arrows");
    transfer().stream(Path::new(&recording), 500);
    let mut child = ccactl(&["-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    // More than a pipe holds: when this returns, the report is reading.
    pipe.write_all(&std::fs::read(&recording).unwrap()).unwrap();
    // SAFETY: a plain system call on a child that has not been waited for.
    assert_eq!(unsafe { libc::kill(child.id() as i32, libc::SIGINT) }, 0);
    drop(pipe);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(text(&output.stdout).starts_with("standard input"), "{output:?}");
}

#[test]
fn bad_input_is_one_line_and_code_2() {
    let folder = TempDir::new().unwrap();
    let missing = path(&folder, "missing.parquet");
    assert!(complaint(&run(&[&missing]), 2).contains("missing.parquet: no such file or folder"));

    let stranger = path(&folder, "notes.txt");
    std::fs::write(&stranger, "hello, world").unwrap();
    assert!(complaint(&run(&[&stranger]), 2).contains("not a recording"));

    let truncated = path(&folder, "truncated.parquet");
    transfer().parquet(Path::new(&truncated));
    std::fs::OpenOptions::new().write(true).open(&truncated).unwrap().set_len(5000).unwrap();
    assert!(complaint(&run(&[&truncated]), 2).contains("truncated: starts as Parquet but has no footer"));

    let other = path(&folder, "other.parquet");
    transfer().meta("schema_version", "9").parquet(Path::new(&other));
    assert!(complaint(&run(&[&other]), 2).contains("schema version 9, expected 1 to 4"));

    let idle = path(&folder, "idle.parquet");
    Fixture::new(vec![Row::at(1, 0)]).parquet(Path::new(&idle));
    assert!(complaint(&run(&[&idle]), 2).contains("no flow that sent data"));

    let empty = TempDir::new().unwrap();
    assert!(complaint(&run(&[empty.path().to_str().unwrap()]), 2).contains("no recording in this folder"));
}

#[test]
fn an_output_that_cannot_be_written_is_code_1_and_leaves_nothing() {
    let folder = TempDir::new().unwrap();
    let recording = path(&folder, "x.parquet");
    transfer().parquet(Path::new(&recording));
    for option in ["--html", "--csv", "--svg"] {
        let target = path(&folder, "no/such/folder/out");
        let complaint = complaint(&run(&[&recording, option, &target]), 1);
        assert!(complaint.contains("no/such/folder/out: cannot be written"), "{complaint}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// A recording comes from somebody else's host; whoever made it chose the names in it.
#[test]
fn what_a_recording_calls_things_cannot_act_on_the_terminal() {
    const NASTY: &str = "x\u{1b}]0;title\u{7}\u{9b}2J\u{202e}\u{2066}\r\ny";
    let long: &'static str = Box::leak("l".repeat(70_000).into_boxed_str());
    let folder = TempDir::new().unwrap();
    let recording = path(&folder, &format!("{NASTY}.parquet"));
    let row = |flow: u64, i: u64| {
        let row = Row::at(flow, i * 1000).bytes(i * 1250, i * 1250).rtt(20_000, i as u32);
        let algorithm = [NASTY, "cubic", long][flow as usize % 3];
        Row { algorithm, trace_mode: Some(NASTY), previous: (i == 100).then_some(long), ..row }
    };
    let rows = (1..=300).flat_map(|i| [row(3, i), row(4, i), row(5, i)]);
    Fixture::new(rows.collect()).parquet(Path::new(&recording));
    let is_unfit = |c: char| c != '\n' && ccactl_host::terminal::is_unfit(c);
    for args in [&[recording.as_str()][..], &["--compare", &recording, &recording], &[&recording, "--json"]] {
        let output = run(args);
        assert!(output.status.success(), "{args:?}: {}", text(&output.stderr).escape_debug());
        let printed = text(&output.stdout);
        assert!(!printed.contains(is_unfit), "{args:?}");
        assert!(printed.contains("\\u{1b}]0;title") || printed.contains("\\u001b]0;title"), "{args:?}");
    }
    // Those who ask for data get the name itself.
    let json: serde_json::Value = serde_json::from_str(&text(&run(&[&recording, "--json"]).stdout)).unwrap();
    assert!(json.to_string().contains(&serde_json::to_string(NASTY).unwrap()[1..20]), "the name is in it");
    assert!(text(&run(&[&recording, "--csv", "-"]).stdout).contains("x\u{1b}]0;title\u{7}\u{9b}2J\u{202e}"));
}
