//! What tests with guests need: QEMU, and a kernel of the cache. Where CI is set they fail without; kernels are downloaded there.

use ccactl_lab::kernel::{Cache, Kernel, Request};
use ccactl_lab::{Clock, Lab, Qemu};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Far beyond what a guest of a test takes on a busy host.
const LIMIT: Duration = Duration::from_secs(1800);

/// A kernel as `--lab vm:KERNEL` names it; none, and a line that says so, where there is nothing to boot it with.
pub fn kernel(asked: &str) -> Option<Kernel> {
    let is_ci = std::env::var("CI").as_deref() == Ok("true");
    let found = || -> ccactl_lab::Result<Option<Kernel>> {
        Qemu::of_user().version()?;
        let (cache, request): (_, Request) = (Cache::of_user()?, asked.parse().expect("a kernel's name"));
        if !is_ci && request.choose(cache.releases().iter().map(String::as_str)).is_none() {
            return Ok(None);
        }
        cache.kernel(&request, &mut |line| eprintln!("{line}")).map(Some)
    };
    match found() {
        Ok(Some(kernel)) => return Some(kernel),
        Ok(None) => {
            eprintln!("not run: needs Linux {asked} in the cache, where `ccactl probe --lab vm:{asked}` puts it")
        }
        Err(error) if is_ci => panic!("{error}"),
        Err(error) => eprintln!("not run: {error}"),
    }
    None
}

/// A lab in which `program` is init.
pub fn lab(kernel: Kernel, program: PathBuf) -> Lab {
    Lab {
        qemu: Qemu::of_user(),
        kernel,
        clock: Clock::Virtual,
        memory_mib: 1024,
        program,
        init_argument: "__guest".to_owned(),
        limit: LIMIT,
    }
}

/// A program that cargo has built beside the tests: `examples/NAME`, or a binary of another crate of the workspace.
pub fn built(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("tests know where they are");
    let program = test.ancestors().nth(2).map(|folder| folder.join(name)).filter(|path| Path::is_file(path));
    program.unwrap_or_else(|| panic!("expected {name} to be built: `cargo test --release --workspace`"))
}

/// A lab with `ccactl` in it.
#[allow(dead_code, reason = "not every test runs it")]
pub fn ccactl_in(kernel: &str) -> Option<Lab> {
    self::kernel(kernel).map(|kernel| lab(kernel, built("ccactl")))
}
