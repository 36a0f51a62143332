//! `cargo xtask vm cost`: what algorithms cost, counted in instructions by the clock of the virtual lab.
//!
//! `CCACTL=…/ccactl vm_cost [--kernel KERNEL] [--only NAME,…] [--megabytes N]`. This program is also init of the guest (`__guest`) and
//! the transfer in it (`__transfer`). Ends with 6 when one of ours costs more than 1.01 of the kernel's own, per megabyte.

mod loopback;
mod path;
mod table;
mod transfer;

use ccactl_abi::{ALGORITHMS, Algorithm};
use ccactl_lab::kernel::Cache;
use ccactl_lab::{Clock, Lab, Qemu};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// First argument of init, and of a transfer in the guest.
const INIT: &str = "__guest";
const TRANSFER: &str = "__transfer";

const MEMORY_MIB: u32 = 1024;
/// In the host's time, for one guest.
const LIMIT: Duration = Duration::from_secs(3 * 3600);

/// Names in Linux' tree that are not ours.
const OTHER_NAMES: &[(&str, &str)] = &[("hstcp", "highspeed")];
/// What all are compared with.
pub const BASELINE: &str = "native:cubic";

/// An algorithm, and the kernel's own where there is one.
#[derive(Debug, Clone)]
pub struct Subject {
    /// As on the command line.
    pub name: &'static str,
    /// `native:NAME`.
    pub twin: Option<String>,
}

struct Wishes {
    kernel: String,
    subjects: Vec<Subject>,
    megabytes: u64,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let done = match words.first().map(String::as_str) {
        Some(INIT) => ccactl_lab::guest::main().map(|()| true).map_err(Failure::from),
        Some(TRANSFER) => transfer::run(&words[1..]).map(|()| true),
        _ => wishes(words.into_iter()).and_then(|wishes| run(&wishes)),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(ccactl_abi::exit::THRESHOLD),
        Err(error) => {
            eprintln!("vm_cost: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Whether every twin reaches its goal.
fn run(wishes: &Wishes) -> Result<bool, Failure> {
    let ccactl = std::env::var_os("CCACTL").map(PathBuf::from);
    let ccactl = ccactl.ok_or("expected the path of ccactl in CCACTL, as `cargo xtask vm cost` sets it")?;
    let kernel = Cache::of_user()?.kernel(&wishes.kernel.parse()?, &mut |line| eprintln!("{line}"))?;
    let lab = |program| Lab {
        qemu: Qemu::of_user(),
        kernel: kernel.clone(),
        clock: Clock::Virtual,
        memory_mib: MEMORY_MIB,
        program,
        init_argument: INIT.to_owned(),
        limit: LIMIT,
    };
    let (own, ccactl) = (lab(std::env::current_exe()?), lab(ccactl));
    let (mut failures, mut path_failures) = (Vec::new(), Vec::new());
    // One guest per core: what one does costs the other nothing of its time.
    let (loopback, path) = std::thread::scope(|scope| {
        let path = scope.spawn(|| path::measure(&ccactl, &wishes.subjects, &mut path_failures));
        let loopback = loopback::measure(&own, &wishes.subjects, wishes.megabytes, &mut failures);
        (loopback, path.join().expect("no panic"))
    });
    let rows = table::rows(&wishes.subjects, &loopback?, &path?);
    println!("{}", table::markdown(&kernel.release, wishes.megabytes, &rows));
    failures.append(&mut path_failures);
    if failures.is_empty() {
        Ok(rows.iter().all(table::Row::reaches_the_goal))
    } else {
        Err(format!("not measured, and without a row:\n{}", failures.join("\n")).into())
    }
}

fn wishes(mut words: impl Iterator<Item = String>) -> Result<Wishes, Failure> {
    let mut wishes = Wishes { kernel: "6.18".to_owned(), subjects: subjects(ALGORITHMS.iter()), megabytes: 64 };
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("expected a value after {word}"));
        match word.as_str() {
            "--kernel" => wishes.kernel = value()?,
            "--megabytes" => wishes.megabytes = value()?.parse()?,
            "--only" => {
                let known = |name: &str| Algorithm::by_name(name).ok_or_else(|| format!("no algorithm {name}"));
                let chosen = value()?.split(',').map(known).collect::<Result<Vec<_>, _>>()?;
                wishes.subjects = subjects(chosen.into_iter());
            }
            _ => return Err(format!("no option {word}: expected --kernel, --only or --megabytes").into()),
        }
    }
    Ok(wishes)
}

fn subjects(algorithms: impl Iterator<Item = &'static Algorithm>) -> Vec<Subject> {
    let twin = |name: &'static str| {
        let native = OTHER_NAMES.iter().find(|(ours, _)| *ours == name).map_or(name, |(_, native)| native);
        // The names of Google's and the L4S project's trees are no modules of Linux.
        let is_module = ccactl_abi::native::NAMES.contains(&native) && native != "prague";
        is_module.then(|| format!("native:{native}"))
    };
    algorithms.map(|algorithm| Subject { name: algorithm.name, twin: twin(algorithm.name) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seventeen_algorithms_have_a_twin() {
        let subjects = subjects(ALGORITHMS.iter());
        assert_eq!(subjects.iter().filter(|subject| subject.twin.is_some()).count(), 17);
        let hstcp = subjects.iter().find(|subject| subject.name == "hstcp").unwrap();
        assert_eq!(hstcp.twin.as_deref(), Some("native:highspeed"));
    }
}
