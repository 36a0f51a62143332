//! Live connections are swapped while every byte on them is checked. The long version is `cargo xtask soak`.

use ccactl_loader::{Choice, LoadRequest, Loader, Paths, SwapRequest};
use ccactl_testbed::host::cgroup::Cgroup;
use ccactl_testbed::host::run_id::{PREFIX, RunId};
use ccactl_testbed::traffic::checked::{CheckedLoad, LoadOptions};
use nix::unistd::geteuid;
use std::path::{Path, PathBuf};

const CONNECTIONS: u32 = 200;
const SWAPS: usize = 20;
const ALGORITHMS: [&str; 5] = ["cubic", "bbr", "bbrv2", "vegas", "f-bbrv2"];

/// Payload in each direction, all connections together: enough that each has data under way most of the time.
const RATE_BYTES_PER_S: u64 = 4_000_000;

#[test]
fn every_swap_under_load_moves_all_sockets_and_loses_no_byte_and_no_connection() {
    if !geteuid().is_root() {
        assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "CI runs the kernel tests, so it needs root");
        eprintln!("not run: needs root");
        return;
    }
    let id = RunId::new();
    let tag = format!("u{:x}", std::process::id());
    let bpffs = PathBuf::from(format!("/sys/fs/bpf/ccactl-test-{tag}"));
    let paths = Paths { bpffs: bpffs.clone(), ..Paths::default() };
    let loader = Loader::with_paths(paths).unwrap();
    let parent = Cgroup::create(loader.mount().path().join(format!("{PREFIX}-bench-{id}"))).unwrap();
    let cgroup = Cgroup::create(parent.path().join("load")).unwrap();
    let options = LoadOptions {
        connections: CONNECTIONS,
        pairs: 1,
        opening_bytes: 1000,
        rate_bytes_per_s: RATE_BYTES_PER_S,
        bottleneck: None,
        seed: 1,
    };
    // Before the load, so that it goes after it: notes on sockets stay as long as the sockets.
    let _policies = Unload(&loader);
    let mut load = CheckedLoad::start(Path::new(env!("CARGO_BIN_EXE_ccactl")), id, &options, &cgroup).unwrap();
    let request = |turn: usize| {
        let place = turn % ALGORITHMS.len();
        let choice = Choice::parse(ALGORITHMS[place], &[], Some(&format!("{tag}_{place}"))).unwrap();
        LoadRequest::new(choice, cgroup.path())
    };

    loader.load(&request(0)).unwrap();
    let before = load.sample().unwrap();
    assert!(!before.algorithms.contains_key(&format!("{tag}_0")), "a load leaves live sockets alone: {before:?}");
    for turn in 1..=SWAPS {
        let outcome = loader.swap(&SwapRequest::of(request(turn))).unwrap();
        assert!(outcome.is_complete(), "swap {turn}: {outcome:?}");
        assert!(outcome.counts.moved >= load.sockets(), "swap {turn}: {:?}", outcome.counts);
        let sample = load.sample().unwrap();
        assert_eq!(sample.faults(load.sockets()), Vec::<String>::new(), "swap {turn}");
        let everywhere = [(outcome.kernel_name, load.sockets())].into();
        assert_eq!(sample.algorithms, everywhere, "swap {turn}");
    }
    let moved = load.sample().unwrap().received_bytes - before.received_bytes;
    assert!(moved > 0, "no data moved while the sockets were swapped");

    loader.unload(cgroup.path()).unwrap();
    let after = load.sample().unwrap();
    assert_eq!(after.algorithms, before.algorithms, "an unload gives live sockets back what they had");
    assert_eq!(load.kernel_resets().unwrap(), 0);
    let finish = load.finish().unwrap();
    assert_eq!(finish.faults, Vec::<String>::new());
    assert_eq!(finish.complete_streams, 2 * u64::from(CONNECTIONS));
    // Marks of sockets stay as long as the sockets; whatever command comes next removes the rest.
    loader.unload_all().unwrap();
    assert!(!bpffs.exists(), "{} is left", bpffs.display());
}

/// Leaves nothing behind when the test fails.
struct Unload<'a>(&'a Loader);

impl Drop for Unload<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.0.unload_all() {
            eprintln!("clean-up: {error}");
        }
    }
}
