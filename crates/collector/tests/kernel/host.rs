//! A corner of the host for one test: cgroup, bpffs folder, locks and files, removed with the value.

use ccactl_collector::{CgroupFilter, Output, RecordOptions};
use ccactl_host::state::SHARED_MAPS;
use nix::unistd::geteuid;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;
use tempfile::TempDir;

/// The corner, or `None` without root. A test that did not run must not look green where it counts.
pub fn host(name: &str) -> Option<Host> {
    if geteuid().is_root() {
        return Some(Host::new(name));
    }
    assert!(std::env::var("CI").as_deref() != Ok("true"), "kernel tests need root");
    eprintln!("not run: kernel tests need root");
    None
}

pub struct Host {
    files: TempDir,
    bpffs: PathBuf,
    pub cgroup: Cgroup,
}

impl Host {
    fn new(name: &str) -> Host {
        let unique = format!("ccactl-test-{}-{name}", std::process::id());
        let files = TempDir::new().unwrap();
        let bpffs = Path::new("/sys/fs/bpf").join(&unique);
        Host { files, bpffs, cgroup: Cgroup::new(cgroup2_mount().join(unique), 1) }
    }

    /// A path for a file of this test.
    pub fn file(&self, name: &str) -> PathBuf {
        self.files.path().join(name)
    }

    /// Options for a recording of this host's cgroup to `file`.
    pub fn options(&self, file: &str) -> RecordOptions {
        let mut options = RecordOptions::new(Output::File(self.file(file)));
        options.bpffs.clone_from(&self.bpffs);
        options.cgroup = Some(self.cgroup.filter());
        options
    }

    /// The pin of the trace map.
    pub fn trace_map(&self) -> PathBuf {
        self.bpffs.join("cca_trace_map")
    }

    /// The folder of the pins.
    pub fn bpffs(&self) -> &Path {
        &self.bpffs
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // The recorders have removed it; after a failure they may not have come to that.
        for map in SHARED_MAPS {
            let _ = fs::remove_file(self.bpffs.join(map));
        }
        let _ = fs::remove_dir(self.bpffs.join("recorders"));
        let _ = fs::remove_dir(&self.bpffs);
    }
}

pub struct Cgroup {
    pub path: PathBuf,
    level: u32,
}

impl Cgroup {
    fn new(path: PathBuf, level: u32) -> Cgroup {
        fs::create_dir(&path).unwrap();
        Cgroup { path, level }
    }

    pub fn child(&self, name: &str) -> Cgroup {
        Cgroup::new(self.path.join(name), self.level + 1)
    }

    pub fn id(&self) -> u64 {
        fs::metadata(&self.path).unwrap().ino()
    }

    pub fn filter(&self) -> CgroupFilter {
        CgroupFilter { path: self.path.display().to_string(), id: self.id(), level: self.level }
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // A process leaves its cgroup a moment after it was waited for.
        for _ in 0..100 {
            if fs::remove_dir(&self.path).is_ok() {
                return;
            }
            sleep(Duration::from_millis(20));
        }
        eprintln!("left behind: {}", self.path.display());
    }
}

fn cgroup2_mount() -> PathBuf {
    let mounts = fs::read_to_string("/proc/mounts").unwrap();
    let mut fields = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    PathBuf::from(fields.find(|fields| fields[2] == "cgroup2").expect("cgroup2 is mounted")[1])
}
