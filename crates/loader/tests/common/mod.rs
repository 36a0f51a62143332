//! What the tests on the real kernel share: a cgroup, a bpffs folder and kernel names of their own.

#![allow(dead_code, reason = "each test binary uses a part of it")]

pub mod callbacks;
pub mod drops;
pub mod net;
pub mod state;

use ccactl_abi::Algorithm;
use ccactl_loader::{Choice, LoadRequest, Loader, Paths};
use nix::unistd::geteuid;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Tests move their whole process between cgroups, so only one at a time.
static SERIAL: Mutex<()> = Mutex::new(());
static COUNTER: AtomicU32 = AtomicU32::new(0);

/// An algorithm under a kernel name of its own.
pub fn named(algorithm: &str, name: &str) -> Choice {
    of_any_kernel(algorithm, Some(name))
}

/// An algorithm with its own kernel name.
pub fn plain(algorithm: &str) -> Choice {
    of_any_kernel(algorithm, None)
}

/// What every kernel can do. Accurate ECN is tried in the lab (`crates/lab/tests/linux_7.rs`).
fn of_any_kernel(algorithm: &str, name: Option<&str>) -> Choice {
    let choice = Choice::parse(algorithm, &[], name).unwrap();
    let known = Algorithm::by_name(algorithm).map_or(&[][..], Algorithm::settings_of_any_kernel);
    known.iter().try_fold(choice, |choice, (name, value)| choice.with(name, value)).unwrap()
}

/// The same request with one more tunable.
pub fn with(request: &LoadRequest, name: &str, value: &str) -> LoadRequest {
    LoadRequest { choice: request.choice.clone().with(name, value).unwrap(), ..request.clone() }
}

/// A host with everything that a test touches to itself. Dropping it removes all of that.
pub struct Host {
    pub loader: Loader,
    base: PathBuf,
    home: PathBuf,
    tag: String,
    _serial: MutexGuard<'static, ()>,
}

impl Host {
    /// `None`, with the reason on stderr, where the kernel is out of reach. In CI that is a failure.
    pub fn new() -> Option<Self> {
        if !geteuid().is_root() {
            assert!(
                env::var("CI").is_ok_and(|ci| ci == "true").eq(&false),
                "CI runs the kernel tests, so it needs root"
            );
            eprintln!("not run: needs root");
            return None;
        }
        let serial = SERIAL.lock().unwrap_or_else(PoisonError::into_inner);
        let tag = format!("{:x}{:x}", process::id(), COUNTER.fetch_add(1, Ordering::Relaxed));
        let paths = Paths { bpffs: format!("/sys/fs/bpf/ccactl-test-{tag}").into(), ..Paths::default() };
        let loader = Loader::with_paths(paths).unwrap();
        let base = loader.mount().path().join(format!("ccactl-test-{tag}"));
        fs::create_dir(&base).unwrap();
        let home = loader.mount().path().join(own_cgroup().trim_start_matches('/'));
        Some(Self { loader, base, home, tag, _serial: serial })
    }

    /// [`Host::new`] for one algorithm; `None` as well when `CCACTL_ALGORITHMS=a,b` is set and it is not among them.
    pub fn for_algorithm(name: &str) -> Option<(Self, &'static Algorithm)> {
        let chosen = env::var("CCACTL_ALGORITHMS").ok();
        if chosen.is_some_and(|names| !names.split(',').any(|chosen| chosen == name)) {
            eprintln!("not run: not in CCACTL_ALGORITHMS");
            return None;
        }
        Some((Self::new()?, Algorithm::by_name(name).expect("a file has a row")))
    }

    /// Loads an algorithm under a name of its own, which it returns, as the policy of a new cgroup of this test.
    pub fn load_into(&self, cgroup: &str, algorithm: &Algorithm) -> String {
        let name = self.name("x");
        let request = LoadRequest::new(named(algorithm.name, &name), self.cgroup(cgroup)).create(true);
        self.loader.load(&request).unwrap_or_else(|error| panic!("{error}"));
        name
    }

    /// A cgroup of this test, as a user names it. It exists only once something has made it.
    pub fn cgroup(&self, name: &str) -> PathBuf {
        Path::new("/").join(self.base.file_name().unwrap()).join(name)
    }

    /// The directory of such a cgroup.
    pub fn directory(&self, name: &str) -> PathBuf {
        self.base.join(name)
    }

    /// A kernel name that no other test and no other process has.
    pub fn name(&self, suffix: &str) -> String {
        let name = format!("t{}{suffix}", self.tag);
        assert!(name.len() < 16, "{name} is too long");
        name
    }

    /// Makes a cgroup.
    pub fn make(&self, name: &str) {
        fs::create_dir(self.directory(name)).unwrap();
    }

    /// Does something as a process of a cgroup.
    pub fn inside<T>(&self, cgroup: &str, action: impl FnOnce() -> T) -> T {
        let back = Return(&self.home);
        enter(&self.directory(cgroup));
        let result = action();
        drop(back);
        result
    }

    /// What a leftover would be: pins, names, and programs attached to this test's cgroups.
    pub fn leftovers(&self) -> Vec<String> {
        let mut found = Vec::new();
        if self.loader.paths().bpffs.exists() {
            found.push(self.loader.paths().bpffs.display().to_string());
        }
        found.extend(registered().into_iter().filter(|name| name.starts_with(&format!("t{}", self.tag))));
        found.extend(attached_programs(&self.base));
        found
    }

    /// Asserts that there is none. The kernel frees objects a grace period after their last user.
    pub fn assert_no_leftovers(&self) {
        let deadline = Instant::now() + Duration::from_secs(5);
        while !self.leftovers().is_empty() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(self.leftovers(), Vec::<String>::new());
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        enter(&self.home);
        if let Err(error) = self.loader.unload_all_receive() {
            eprintln!("clean-up: {error}");
        }
        if let Err(error) = self.loader.unload_all() {
            eprintln!("clean-up: {error}");
        }
        remove_cgroup(&self.base);
    }
}

/// Goes back to the first cgroup even when the test panics.
struct Return<'a>(&'a Path);

impl Drop for Return<'_> {
    fn drop(&mut self) {
        enter(self.0);
    }
}

fn enter(directory: &Path) {
    fs::write(directory.join("cgroup.procs"), "0").unwrap_or_else(|e| panic!("entering {}: {e}", directory.display()));
}

fn own_cgroup() -> String {
    let text = fs::read_to_string("/proc/self/cgroup").unwrap();
    text.lines().find_map(|line| line.strip_prefix("0::")).expect("cgroup2 is mounted").to_owned()
}

/// A process that has just left, or ended, holds its cgroup for a moment.
fn remove_cgroup(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_cgroup(&entry.path());
        }
    }
    for _ in 0..200 {
        if fs::remove_dir(directory).is_ok() || !directory.exists() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    eprintln!("clean-up: {} stays", directory.display());
}

/// Compiles `tests/objects/FILE`, as the build compiles the algorithms, with these names defined.
pub fn compile(file: &str, defined: &[&str]) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("bpf")).unwrap();
    for (name, text) in libbpf_sys::API_HEADERS {
        fs::write(folder.path().join("bpf").join(name), text).unwrap();
    }
    let object = folder.path().join("object.bpf.o");
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let clang = env::var("CLANG").unwrap_or_else(|_| "clang".to_owned());
    let mut command = Command::new(&clang);
    command.args(["-target", "bpf", "-mcpu=v3", "-O2", "-g", "-std=gnu11", "-D__TARGET_ARCH_x86"]);
    command.args(defined.iter().map(|name| format!("-D{name}")));
    command.arg("-I").arg(folder.path()).arg("-I").arg(crate_folder.join("../../bpf/include"));
    command.arg("-c").arg(crate_folder.join("tests/objects").join(file)).arg("-o").arg(&object);
    let status = command.status().unwrap_or_else(|error| panic!("{clang}: {error}"));
    assert!(status.success(), "{clang} on {file}");
    fs::read(object).unwrap()
}

/// Every congestion control that the kernel knows now.
pub fn registered() -> Vec<String> {
    let text = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap();
    text.split_whitespace().map(str::to_owned).collect()
}

/// sockops programs attached to a cgroup or to one below it.
pub fn attached_programs(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let Ok(file) = fs::File::open(directory) else { return found };
    let mut opts = libbpf_sys::bpf_prog_query_opts {
        sz: size_of::<libbpf_sys::bpf_prog_query_opts>() as libbpf_sys::size_t,
        ..Default::default()
    };
    // SAFETY: the descriptor is open and the options are a valid struct of the size that they carry.
    let ret = unsafe {
        libbpf_sys::bpf_prog_query_opts(
            std::os::fd::AsRawFd::as_raw_fd(&file),
            libbpf_sys::BPF_CGROUP_SOCK_OPS,
            &raw mut opts,
        )
    };
    assert_eq!(ret, 0, "querying the programs of {}", directory.display());
    // SAFETY: the kernel wrote this member, whichever name of the union is used.
    let count = unsafe { opts.__bindgen_anon_1.count };
    if count > 0 {
        found.push(format!("{} has {count} sockops programs", directory.display()));
    }
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(attached_programs(&entry.path()));
        }
    }
    found
}
