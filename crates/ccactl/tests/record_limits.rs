//! A recording in parts, one whose ring is too small, and one whose disk is full: what the kernel counted is in the files
//! or told as lost.
//!
//! Root is needed: without it the tests say so and pass, unless CI=true, where they fail.

mod under_load;

use aya::maps::{MapData, PerCpuArray};
use ccactl_abi::layout::{COUNT_DROPS, COUNT_ROWS, DROP_REASONS, EVENTS};
use ccactl_host::state::SHARED_MAPS;
use ccactl_report::{Options, open_all, summarize};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, geteuid};
use std::fs::{self, File};
use std::io::{self, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use under_load::{Load, ccactl, kernel_counts, sum};

/// A recorder that takes longer to end hangs.
const PATIENCE: Duration = Duration::from_secs(60);

fn is_root() -> bool {
    if !geteuid().is_root() {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "kernel tests need root");
        eprintln!("not run: kernel tests need root");
    }
    geteuid().is_root()
}

#[test]
fn the_parts_of_a_recording_hold_every_row_of_the_kernel_once() {
    if !is_root() {
        return;
    }
    let files = TempDir::new().unwrap();
    let load = Load::start();
    let parts = files.path().join("parts");
    let mut recorder = Recorder::start("parts", &parts, &["--port", &load.port, "--rotate", "1s"]);
    let counts = recorder.counts();
    sleep(Duration::from_millis(4500));
    let output = recorder.stop();
    assert!(output.status.success(), "{output:?}");
    let rows = sum(&counts, COUNT_ROWS, EVENTS);
    assert_eq!(sum(&counts, COUNT_DROPS, DROP_REASONS), 0, "the ring is large enough for this load");
    assert!(rows > 1000, "{rows} rows: there was no load");

    let names = names_in(&parts);
    assert!(names.len() >= 3, "{names:?}");
    let mut sum_of_parts = 0;
    for (number, name) in names.iter().enumerate() {
        assert_eq!(*name, format!("part-{number:05}.parquet"));
        let part = rows_in(&parts.join(name));
        assert!(part > 0, "{name} is empty");
        sum_of_parts += part;
    }
    assert_eq!(sum_of_parts, rows);
    assert_eq!(rows_in(&parts), rows);
}

#[test]
fn a_ring_of_a_page_tells_what_it_lost_wherever_one_looks() {
    if !is_root() {
        return;
    }
    let files = TempDir::new().unwrap();
    for (name, args) in [("plain.parquet", &[][..]), ("json.parquet", &["--json"])] {
        let path = files.path().join(name);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port().to_string();
        let args = [&["--buffer", "4096", "--port", &port][..], args].concat();
        let mut recorder = Recorder::start("page", &path, &args);
        let counts = recorder.counts();
        let drops = || sum(&counts, COUNT_DROPS, DROP_REASONS);
        let deadline = Instant::now() + PATIENCE;
        while drops() == 0 {
            assert!(Instant::now() < deadline, "the load is none");
            transfer(&listener, 20_000_000);
        }
        let output = recorder.stop();
        assert!(output.status.success(), "{output:?}");
        let (rows, drops) = (sum(&counts, COUNT_ROWS, EVENTS), drops());
        let [told, errors] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
        if args.contains(&"--json") {
            let result: serde_json::Value = serde_json::from_str(&told).unwrap();
            assert_eq!((&result["rows"], &result["drops"]), (&rows.into(), &drops.into()));
        } else {
            assert!(told.contains(&format!("{rows} rows")) && told.contains(&format!("{drops} drops")), "{told}");
            assert!(errors.contains("dropped because the ring buffer was full: a larger --buffer"), "{errors}");
        }
        let recordings = open_all(std::slice::from_ref(&path)).unwrap();
        assert_eq!(recordings[0].metadata().drops, Some(drops));
        assert_eq!(rows_in(&path), rows);
        let report = ccactl(&bpffs("page")).arg("report").arg(&path).output().unwrap();
        assert!(report.status.success(), "{report:?}");
        // Lines are broken anywhere, and thousands have their comma.
        let page = String::from_utf8(report.stdout).unwrap().replace(',', "");
        let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(page.contains(&format!("· {drops} drops")), "{drops} drops: {page}");
        assert!(page.contains(&format!("WARNING: {drops} rows were dropped")), "{page}");
    }
}

#[test]
fn a_disk_that_fills_up_costs_what_comes_after_and_nothing_else() {
    if !is_root() {
        return;
    }
    for (name, args) in [("x.parquet", &[][..]), ("parts", &["--rotate", "1s"])] {
        let files = TempDir::new().unwrap();
        let disk = Tmpfs::mount(files.path().join("disk"), "size=16m");
        let load = Load::start();
        let target = disk.0.join(name);
        let mut recorder = Recorder::start("disk", &target, &[&["--port", &load.port][..], args].concat());
        let has_begun = || match args {
            [] => fs::metadata(ccactl_collector::partial_path(&target)).is_ok_and(|stream| stream.len() > 100_000),
            _ => target.join("part-00000.parquet").exists(),
        };
        recorder.wait_until("rows", has_begun);
        let output = recorder.end_while(|| disk.fill());
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(told.lines().count(), 1, "{told}");
        assert!(told.contains("No space left on device"), "{told}");
        let rows: u64 = told.split_once(" after ").unwrap().1.split_once(" rows").unwrap().0.parse().unwrap();
        assert!(rows > 100, "{told}");

        let (folder, report) = match args {
            [] => (disk.0.clone(), ccactl_collector::partial_path(&target)),
            _ => (target.clone(), target.clone()),
        };
        assert_eq!(rows_in(&report), rows, "{told}");
        let half_done = |name: &String| name.starts_with(".ccactl-");
        assert!(!names_in(&folder).iter().any(half_done), "{:?}", names_in(&folder));
    }
}

/// Rows that a report reads, of one recording.
fn rows_in(path: &Path) -> u64 {
    let recordings = open_all(&[path.to_owned()]).unwrap();
    assert_eq!(recordings.len(), 1, "{}", path.display());
    summarize(&recordings, &Options::default()).unwrap().recordings[0].rows
}

fn names_in(folder: &Path) -> Vec<String> {
    let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
    let mut names: Vec<String> = fs::read_dir(folder).unwrap().map(name).collect();
    names.sort();
    names
}

fn bpffs(name: &str) -> PathBuf {
    format!("/sys/fs/bpf/ccactl-test-{}-{name}", std::process::id()).into()
}

/// A recording that does not outlive its test.
struct Recorder {
    child: Option<Child>,
    bpffs: PathBuf,
}

impl Recorder {
    fn start(name: &str, target: &Path, args: &[&str]) -> Recorder {
        let bpffs = bpffs(name);
        let mut command = ccactl(&bpffs);
        command.args(["record", "-o"]).arg(target).args(args).stdout(Stdio::piped()).stderr(Stdio::piped());
        Recorder { child: Some(command.spawn().unwrap()), bpffs }
    }

    fn child(&mut self) -> &mut Child {
        self.child.as_mut().expect("it has not ended")
    }

    fn counts(&mut self) -> PerCpuArray<MapData, u64> {
        kernel_counts(self.child())
    }

    fn wait_until(&mut self, what: &str, is_there: impl Fn() -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !is_there() {
            assert!(Instant::now() < deadline && self.child().try_wait().unwrap().is_none(), "{what} did not come");
            sleep(Duration::from_millis(20));
        }
    }

    fn stop(mut self) -> Output {
        let pid = self.child().id();
        kill(Pid::from_raw(pid.try_into().unwrap()), Signal::SIGINT).unwrap();
        self.end_while(|| {})
    }

    /// Waits for its end, and does this in the meantime.
    fn end_while(mut self, mut action: impl FnMut()) -> Output {
        let deadline = Instant::now() + PATIENCE;
        while self.child().try_wait().unwrap().is_none() {
            assert!(Instant::now() < deadline, "it does not end");
            action();
            sleep(Duration::from_millis(20));
        }
        self.child.take().expect("it has not been taken").wait_with_output().unwrap()
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
        for map in SHARED_MAPS {
            let _ = fs::remove_file(self.bpffs.join(map));
        }
        let _ = fs::remove_dir(&self.bpffs);
    }
}

/// A small disk.
struct Tmpfs(PathBuf);

impl Tmpfs {
    fn mount(path: PathBuf, options: &str) -> Tmpfs {
        fs::create_dir(&path).unwrap();
        mount(Some("tmpfs"), &path, Some("tmpfs"), MsFlags::empty(), Some(options)).unwrap();
        Tmpfs(path)
    }

    /// Takes all the room there is.
    fn fill(&self) {
        let mut file = File::options().create(true).append(true).open(self.0.join("filler")).unwrap();
        while file.write_all(&[0; 4096]).is_ok() {}
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        let _ = umount2(&self.0, MntFlags::MNT_DETACH);
    }
}

/// Sends so many bytes over the listener.
fn transfer(listener: &TcpListener, bytes: usize) {
    let address = listener.local_addr().unwrap();
    thread::scope(|scope| {
        scope.spawn(|| io::copy(&mut listener.accept().unwrap().0, &mut io::sink()).unwrap());
        TcpStream::connect(address).unwrap().write_all(&vec![0; bytes]).unwrap();
    });
}
