//! What the algorithms cost: `cargo xtask bench algorithms [--pairs N] [--seconds S] [--only NAME,…]`.
//!
//! Prints the tables of `docs/performance.md`: size of the programs, time per callback by the kernel's BPF statistics, and
//! bulk transfers over the loopback of an own network namespace, each beside one of the native algorithm at once
//! before or after it. Both ends of a transfer share one CPU, so that it is the CPU that limits it.

#[path = "../../tests/common/callbacks.rs"]
#[allow(dead_code)]
mod callbacks;
#[path = "../../tests/common/net.rs"]
#[allow(dead_code)]
mod net;
mod options;
mod pairs;
mod programs;
mod table;
mod transfer;

use ccactl_abi::{ALGORITHMS, Algorithm};
use ccactl_loader::cgroup::Mount;
use ccactl_loader::{LoadRequest, Loader};
use options::Options;
use pairs::Comparison;
use programs::Programs;
use std::path::Path;
use std::process::ExitCode;

/// What every algorithm is compared with.
const BASELINE: &str = "cubic";
/// Algorithms with a native twin on every kernel.
const TWINS: [&str; 3] = ["reno", "cubic", "bbr"];

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Everything measured about one algorithm.
pub struct Row {
    algorithm: &'static Algorithm,
    programs: Programs,
    against_baseline: Comparison,
    against_twin: Option<Comparison>,
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cost: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let options = Options::parse(std::env::args().skip(1))?;
    let loader = Loader::open()?;
    let cgroup = Mount::find(Path::new("/proc/mounts"))?.path().join(format!("ccactl-cost-{}", std::process::id()));
    let mut rows = Vec::new();
    for algorithm in ALGORITHMS.iter().filter(|algorithm| options.wants(algorithm.name)) {
        eprintln!("{}", algorithm.name);
        rows.push(measure(&loader, &cgroup, algorithm, &options)?);
    }
    print!("{}", table::text(&rows, &options));
    Ok(())
}

/// Loads the algorithm for a cgroup without processes: the sockets choose it by name.
fn measure(loader: &Loader, cgroup: &Path, algorithm: &'static Algorithm, options: &Options) -> Result<Row> {
    let name = format!("cost_{}", std::process::id() % 1_000_000);
    loader.load(&LoadRequest::new(algorithm.name, cgroup).create(true).as_name(&name))?;
    let measured = (|| {
        let programs = Programs::measure(loader.paths(), &name, options.duration)?;
        let against_baseline = pairs::compare(&name, BASELINE, options)?;
        let twin =
            TWINS.contains(&algorithm.name).then(|| pairs::compare(&name, algorithm.name, options)).transpose()?;
        Ok(Row { algorithm, programs, against_baseline, against_twin: twin })
    })();
    loader.unload(cgroup)?;
    std::fs::remove_dir(cgroup)?;
    measured
}
