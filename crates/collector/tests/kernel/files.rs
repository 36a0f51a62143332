//! The file of a recording and what stays on the host.

use crate::host::host;
use crate::recording::Recording;
use crate::traffic::{Plan, Traffic};
use ccactl_collector::{Error, Output, RecordOptions, Recorder, Rotation, partial_path, recover};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

fn error(options: RecordOptions) -> Error {
    Recorder::start(options).err().expect("this recording must not start")
}

#[test]
fn a_second_recording_to_the_same_file_is_refused() {
    let Some(host) = host("second") else { return };
    let first = Recorder::start(host.options("x.parquet")).unwrap();
    assert!(matches!(error(host.options("x.parquet")), Error::Busy { .. }));
    let mut forced = host.options("x.parquet");
    forced.force = true;
    assert!(matches!(error(forced), Error::Busy { .. }));
    first.stop().unwrap();
    assert!(host.file("x.parquet").exists() && !partial_path(&host.file("x.parquet")).exists());
    assert!(matches!(error(host.options("x.parquet")), Error::Exists { .. }));
}

#[test]
fn force_replaces_a_file_only_at_the_end() {
    let Some(host) = host("force") else { return };
    fs::write(host.file("x.parquet"), "old").unwrap();
    fs::write(partial_path(&host.file("x.parquet")), "rows of a killed recording").unwrap();
    let mut options = host.options("x.parquet");
    options.force = true;
    let recorder = Recorder::start(options).unwrap();
    assert_eq!(fs::read(host.file("x.parquet")).unwrap(), b"old");
    recorder.stop().unwrap();
    assert_eq!(Recording::parquet(&host.file("x.parquet")).rows(), 0);
    assert!(!partial_path(&host.file("x.parquet")).exists());
}

#[test]
fn a_name_in_arrows_keeps_the_stream() {
    let Some(host) = host("arrows") else { return };
    let traffic = Traffic::start(&host.cgroup, Plan::Bulk { bytes: 1_000_000 });
    let recorder = Recorder::start(host.options("x.arrows")).unwrap();
    traffic.run();
    let summary = recorder.stop().unwrap();
    let recording = Recording::stream(&host.file("x.arrows"));
    assert_eq!(recording.rows() as u64, summary.rows);
    assert_eq!(recording.metadata["ccactl.schema_version"], "4");
    assert!(!partial_path(&host.file("x.arrows")).exists());
}

#[test]
fn rows_are_readable_while_the_recording_runs() {
    let Some(host) = host("live") else { return };
    let traffic = Traffic::start(&host.cgroup, Plan::Bulk { bytes: 1_000_000 });
    let recorder = Recorder::start(host.options("x.parquet")).unwrap();
    traffic.run();
    let stream = partial_path(&host.file("x.parquet"));
    let deadline = Instant::now() + Duration::from_secs(20);
    while Recording::stream(&stream).rows_of("close").len() < 2 {
        assert!(Instant::now() < deadline, "the rows do not reach the stream");
        sleep(Duration::from_millis(50));
    }
    recorder.stop().unwrap();
}

#[test]
fn a_recording_ends_by_itself_after_its_duration() {
    let Some(host) = host("duration") else { return };
    let mut options = host.options("x.parquet");
    options.duration = Some(Duration::from_millis(300));
    let summary = Recorder::start(options).unwrap().wait().unwrap();
    assert!(summary.duration >= Duration::from_millis(300), "{:?}", summary.duration);
    assert!(host.file("x.parquet").exists());
}

#[test]
fn the_last_recorder_removes_the_trace_map_unless_algorithms_are_loaded() {
    let Some(host) = host("pins") else { return };
    let first = Recorder::start(host.options("a.parquet")).unwrap();
    let second = Recorder::start(host.options("b.parquet")).unwrap();
    first.stop().unwrap();
    assert!(host.trace_map().exists(), "a recorder still runs");
    second.stop().unwrap();
    assert!(!host.bpffs().exists());

    fs::create_dir_all(host.bpffs().join("algorithms")).unwrap();
    Recorder::start(host.options("c.parquet")).unwrap().stop().unwrap();
    assert!(host.trace_map().exists(), "loaded algorithms go on publishing into it");
    fs::remove_dir(host.bpffs().join("algorithms")).unwrap();
    Recorder::start(host.options("d.parquet")).unwrap().stop().unwrap();
    assert!(!host.bpffs().exists());
}

#[test]
fn an_error_before_the_start_leaves_nothing() {
    let Some(host) = host("errors") else { return };
    let with_output = |path: PathBuf| {
        let mut options = host.options("x.parquet");
        options.output = Output::File(path);
        options
    };
    assert!(matches!(error(with_output(host.file("missing/x.parquet"))), Error::Target { .. }));
    assert!(matches!(error(with_output("/proc/x.parquet".into())), Error::Target { .. }));
    assert!(matches!(error(with_output("/dev/null".into())), Error::Unfit { .. }));
    assert!(matches!(error(with_output(host.file(""))), Error::Unfit { .. }));

    let mut options = host.options("x.parquet");
    options.bpffs = host.file("not-a-bpffs");
    assert!(matches!(error(options), Error::State { .. }));
    let mut options = host.options("x.parquet");
    options.buffer_bytes = 100;
    assert!(matches!(error(options), Error::Option { .. }));
    assert!(!host.file("x.parquet").exists() && !partial_path(&host.file("x.parquet")).exists());
    assert!(!host.bpffs().exists());
}

#[test]
fn a_full_disk_ends_the_recording_with_its_rows_readable() {
    let Some(host) = host("enospc") else { return };
    let disk = Tmpfs::mount(&host.file("disk"), "size=64k");
    let traffic = Traffic::start(&host.cgroup, Plan::Drip { writes: 2000, gap_us: 300 });
    let mut options = host.options("x.parquet");
    options.output = Output::File(disk.0.join("x.parquet"));
    let recorder = Recorder::start(options).unwrap();
    traffic.run();
    let error = recorder.wait().unwrap_err();
    let Error::Write { path, rows, cause } = &error else { panic!("{error}") };
    assert_eq!(cause.kind(), std::io::ErrorKind::StorageFull);
    assert_eq!(Recording::stream(path).rows() as u64, *rows);
    assert!(error.to_string().contains("No space left on device"), "{error}");
    let names: Vec<_> = fs::read_dir(&disk.0).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["x.parquet.partial.arrows"], "the stream and nothing half done");
    assert!(!host.bpffs().exists());
}

#[test]
fn a_recording_that_has_no_time_for_its_file_leaves_its_rows_in_the_stream() {
    let Some(host) = host("deadline") else { return };
    for rotation in [None, Some(Rotation::Time(Duration::from_secs(3600)))] {
        let folder = host.file(if rotation.is_some() { "parts" } else { "file" });
        fs::create_dir(&folder).unwrap();
        let mut options = host.options("x.parquet");
        options.output = match rotation {
            Some(rotation) => Output::Parts { folder: folder.clone(), rotation },
            None => Output::File(folder.join("x.parquet")),
        };
        let traffic = Traffic::start(&host.cgroup, Plan::Bulk { bytes: 1_000_000 });
        let recorder = Recorder::start(options).unwrap();
        traffic.run();
        recorder.request_stop_by(Instant::now());
        let error = recorder.wait().unwrap_err();
        let Error::Convert { path, stream, rows, .. } = &error else { panic!("{error}") };
        assert!(error.to_string().contains("`ccactl recover`"), "{error}");
        let left: Vec<PathBuf> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(left, std::slice::from_ref(stream));
        let recovered = recover(stream, path, false).unwrap();
        assert!(recovered.rows == *rows && *rows > 0 && !recovered.truncated, "{recovered:?}, {rows} rows");
        assert!(!host.bpffs().exists());
    }
}

/// A small disk.
struct Tmpfs(PathBuf);

impl Tmpfs {
    fn mount(path: &Path, options: &str) -> Tmpfs {
        fs::create_dir(path).unwrap();
        mount(Some("tmpfs"), path, Some("tmpfs"), MsFlags::empty(), Some(options)).unwrap();
        Tmpfs(path.to_owned())
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        let _ = umount2(&self.0, MntFlags::MNT_DETACH);
    }
}
