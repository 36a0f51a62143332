//! `cargo xtask vm matrix`: every algorithm on several kernels, as the table of `docs/kernels.md`.
//!
//! `CCACTL=…/ccactl matrix [--clock virtual|host] [KERNEL…]`; a line of progress per kernel on standard error.

use ccactl_lab::kernel::Cache;
use ccactl_lab::matrix::{Cell, Column, table};
use ccactl_lab::{Clock, Lab, Qemu};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Each series since the oldest that has struct_ops for congestion control in Debian, and the newest.
const KERNELS: &[&str] = &["6.1", "6.12", "6.16", "6.17", "6.18", "7.2", "newest"];
const MEMORY_MIB: u32 = 1024;
/// In the host's time, for all algorithms on one kernel.
const LIMIT: Duration = Duration::from_secs(2 * 3600);

/// Whatever it is, it is shown as one line.
type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(ccactl_abi::exit::THRESHOLD),
        Err(error) => {
            eprintln!("matrix: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Whether every algorithm either works or has a reason not to load.
fn run() -> Result<bool, Failure> {
    let mut clock = Clock::Virtual;
    let mut kernels = Vec::new();
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match (word.as_str(), word.starts_with('-').then(|| words.next()).flatten().as_deref()) {
            ("--clock", Some("virtual")) => clock = Clock::Virtual,
            ("--clock", Some("host")) => clock = Clock::Host,
            (_, Some(_)) => {
                return Err(format!("no option {word}: expected --clock virtual|host, and kernels such as 6.12").into());
            }
            (kernel, None) => kernels.push(kernel.to_owned()),
        }
    }
    if kernels.is_empty() {
        kernels = KERNELS.iter().map(ToString::to_string).collect();
    }
    let Some(program) = std::env::var_os("CCACTL").map(PathBuf::from) else {
        return Err("expected the path of ccactl in CCACTL, as `cargo xtask vm matrix` sets it".into());
    };
    let cache = Cache::of_user()?;
    let mut columns = Vec::new();
    for request in &kernels {
        let kernel = cache.kernel(&request.parse()?, &mut |line| eprintln!("{line}"))?;
        if columns.iter().any(|column: &Column| column.release == kernel.release) {
            continue;
        }
        let lab = Lab {
            qemu: Qemu::of_user(),
            kernel,
            clock,
            memory_mib: MEMORY_MIB,
            program: program.clone(),
            init_argument: "__guest".to_owned(),
            limit: LIMIT,
        };
        let start = Instant::now();
        let column = Column::measure(&lab, &std::env::temp_dir(), &AtomicBool::new(false))?;
        let works = column.cells.iter().filter(|(_, cell)| matches!(cell, Cell::Works { .. })).count();
        eprintln!("{}: {works} of {} work ({} s)", column.release, column.cells.len(), start.elapsed().as_secs());
        columns.push(column);
    }
    println!("{}", table(&columns));
    Ok(columns.iter().flat_map(|column| &column.cells).all(|(_, cell)| !matches!(cell, Cell::Fails(_))))
}
