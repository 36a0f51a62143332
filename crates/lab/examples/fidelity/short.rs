//! The short form that belongs to the tests: three twins on one path, at one phase.

use crate::compare::Comparison;
use crate::paths::PATHS;
use crate::runs::{Guests, PHASES_US, Side};
use crate::trace;
use ccactl_lab::Qemu;
use ccactl_lab::kernel::{Cache, Request};
use std::path::PathBuf;

const KERNEL: &str = "6.1";
const TWINS: [(&str, &str); 3] = [("reno", "reno"), ("cubic", "cubic"), ("vegas", "vegas")];

/// `ccactl` beside the tests; none, and a line that says so, where there is nothing to boot it in.
fn program() -> Option<PathBuf> {
    if std::env::var("CI").as_deref() != Ok("true") {
        let request: Request = KERNEL.parse().expect("a kernel's name");
        let in_cache = |cache: Cache| request.choose(cache.releases().iter().map(String::as_str)).is_some();
        if Qemu::of_user().version().is_err() || !Cache::of_user().is_ok_and(in_cache) {
            eprintln!("not run: needs QEMU and Linux {KERNEL} in the cache");
            return None;
        }
    }
    let test = std::env::current_exe().expect("tests know where they are");
    let program = test.ancestors().nth(2).map(|folder| folder.join("ccactl")).filter(|path| path.is_file());
    Some(program.expect("expected ccactl to be built: `cargo test --release --workspace`"))
}

#[test]
fn reno_cubic_and_vegas_decide_as_the_kernels_own_up_to_the_first_loss() {
    let Some(program) = program() else { return };
    let dir = tempfile::tempdir().expect("a folder");
    let path = PATHS[0];
    let guests = Guests::new(KERNEL, dir.path().to_owned(), program).expect("a kernel");
    guests.run(&TWINS, &[path], 1).expect("guests");
    for (twin, _) in TWINS {
        let of = |side| trace::of_main(&guests.folder(&path, twin, side, PHASES_US[0])).expect("a trace");
        let comparison = Comparison::of(&of(Side::Ours), &of(Side::Native));
        assert!(comparison.trouble.is_some_and(|at| at > 50), "{twin}: the path has a loss, but not at once");
        assert!(comparison.holds(), "{twin}: {}", comparison.told());
    }
}
