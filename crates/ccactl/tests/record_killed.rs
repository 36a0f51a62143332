//! SIGKILL of a recording under load at random moments: what `recover` brings back against what the kernel counted.
//!
//! Root is needed: without it the test says so and passes, unless CI=true, where it fails.

mod under_load;

use ccactl_abi::layout::{COUNT_DROPS, COUNT_ROWS, DROP_REASONS, EVENTS};
use ccactl_host::state::SHARED_MAPS;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, geteuid};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use under_load::{Load, ccactl, kernel_counts, sum};

const KILLS: u64 = 20;
/// Rows that the kernel has counted and that are in no file yet. Half a second passes until the next flush. Rows are held
/// back for a tenth to be put in order, and it takes a twentieth until the ring is emptied. What the recorder waits for a
/// CPU comes on top.
const IN_FLIGHT: Duration = Duration::from_millis(700);

#[test]
fn what_a_kill_at_a_random_moment_leaves_is_recovered_up_to_what_was_in_flight() {
    if !geteuid().is_root() {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "kernel tests need root");
        return eprintln!("not run: kernel tests need root");
    }
    let folder = TempDir::new().unwrap();
    let load = Load::start();
    let mut dice = Dice(20_261_121);
    let mut recovered_rows = 0;
    for round in 0..KILLS {
        let recorder = Recorder::start(&folder, &load.port, round);
        recovered_rows += recorder.kill_after(Duration::from_millis(dice.below(1500)));
    }
    assert!(recovered_rows > 1000, "{recovered_rows} rows in all: there was no load");
}

struct Recorder {
    child: Child,
    bpffs: PathBuf,
    target: PathBuf,
}

impl Recorder {
    /// In every second round in parts.
    fn start(folder: &TempDir, port: &str, round: u64) -> Recorder {
        let bpffs = PathBuf::from(format!("/sys/fs/bpf/ccactl-test-{}-killed", std::process::id()));
        let target = folder.path().join(format!("{round}.parquet"));
        let child = ccactl(&bpffs)
            .args(["record", "--port", port, "-o"])
            .arg(&target)
            .stderr(Stdio::null())
            .args(if round.is_multiple_of(2) { &[][..] } else { &["--rotate", "1s"] })
            .spawn()
            .unwrap();
        Recorder { child, bpffs, target }
    }

    /// Rows that came back.
    fn kill_after(mut self, moment: Duration) -> u64 {
        let counts = kernel_counts(&mut self.child);
        let deadline = Instant::now() + moment;
        let mut seen = Vec::new();
        while Instant::now() < deadline {
            seen.push((Instant::now(), self.waited_for_a_cpu(), sum(&counts, COUNT_ROWS, EVENTS)));
            sleep(Duration::from_millis(20));
        }
        let killed = Instant::now();
        let waited = self.stop();
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        let submitted = sum(&counts, COUNT_ROWS, EVENTS);
        let drops = sum(&counts, COUNT_DROPS, DROP_REASONS);

        let rows = self.recover();
        assert!(rows <= submitted, "{rows} rows recovered of {submitted}");
        let may_be_in_flight = |then: Duration| IN_FLIGHT + waited.saturating_sub(then);
        let is_safe = |(when, then, _): &&(Instant, Duration, u64)| killed - *when >= may_be_in_flight(*then);
        let safe = seen.iter().rev().find(is_safe).map_or(0, |(_, _, rows)| *rows);
        assert!(rows >= safe, "{rows} rows recovered, {safe} of {submitted} were older than what may be in flight");
        assert_eq!(drops, 0, "the ring is large enough for this load");
        rows
    }

    /// Ends the wait of every thread that wants a CPU, without a step more of the program than a kill would allow: what they had
    /// waited by then, in all.
    fn stop(&self) -> Duration {
        let pid = Pid::from_raw(self.child.id() as i32);
        kill(pid, Signal::SIGSTOP).unwrap();
        assert_eq!(waitpid(pid, Some(WaitPidFlag::WUNTRACED)), Ok(WaitStatus::Stopped(pid, Signal::SIGSTOP)));
        self.waited_for_a_cpu()
    }

    /// Of all threads, one after the other, up to their last turn (`/proc/PID/task/TID/schedstat`, second number, in ns).
    fn waited_for_a_cpu(&self) -> Duration {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap();
        let waited = |task: PathBuf| -> Option<u64> {
            fs::read_to_string(task.join("schedstat")).ok()?.split(' ').nth(1)?.parse().ok()
        };
        // A thread may have ended in between.
        Duration::from_nanos(tasks.filter_map(|task| waited(task.ok()?.path())).sum())
    }

    fn recover(&self) -> u64 {
        let source = match self.target.is_dir() {
            true => self.target.clone(),
            false => ccactl_collector::partial_path(&self.target),
        };
        let output = ccactl(&self.bpffs).arg("recover").arg(&source).arg("--json").output().unwrap();
        if !output.status.success() {
            // It was killed before the header was written. Then there is no row, and the error says what is wrong.
            let error = String::from_utf8(output.stderr).unwrap();
            assert!(error.lines().count() == 1 && error.contains("not the stream of a recording"), "{error}");
            assert_eq!(output.status.code(), Some(2));
            return 0;
        }
        let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let recovered: u64 =
            found["recovered"].as_array().unwrap().iter().map(|one| one["rows"].as_u64().unwrap()).sum();
        recovered + self.closed_parts(&found)
    }

    /// Rows of the parts that were complete before the kill.
    fn closed_parts(&self, recovered: &serde_json::Value) -> u64 {
        let Ok(entries) = fs::read_dir(&self.target) else { return 0 };
        let files = entries.map(|entry| entry.unwrap().path());
        let is_recovered = |path: &Path| {
            recovered["recovered"].as_array().unwrap().iter().any(|one| one["path"] == *path.to_str().unwrap())
        };
        let closed = files.filter(|path| path.extension().is_some_and(|e| e == "parquet") && !is_recovered(path));
        let rows = |path: PathBuf| {
            let file = parquet::file::reader::SerializedFileReader::new(fs::File::open(path).unwrap()).unwrap();
            parquet::file::reader::FileReader::metadata(&file).file_metadata().num_rows() as u64
        };
        closed.map(rows).sum()
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        for map in SHARED_MAPS {
            let _ = fs::remove_file(self.bpffs.join(map));
        }
        let _ = fs::remove_dir(self.bpffs.join("recorders"));
        let _ = fs::remove_dir(&self.bpffs);
    }
}

/// xorshift64*: the same moments in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % limit
    }
}
