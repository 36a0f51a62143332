//! `cargo xtask vm cost`: what algorithms cost, counted in instructions by the clock of the virtual lab.
//!
//! `CCACTL=…/ccactl vm_cost [--kernel KERNEL] [--only NAME,…] [--megabytes N] [--seconds N]`. This program is also init of the guest
//! (`__guest`) and the transfer in it (`__transfer`). Ends with 6 when one of ours costs more than 1.01 of the kernel's own, per
//! megabyte, at the same work.

mod loopback;
mod path;
mod table;
mod transfer;

use ccactl_abi::{ALGORITHMS, Algorithm};
use ccactl_lab::kernel::Cache;
use ccactl_lab::{Clock, Lab, Qemu, Results};
use loopback::Transfers;
use path::{Run, Runs};
use std::fmt;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::{Duration, Instant};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// First argument of init, and of a transfer in the guest.
const INIT: &str = "__guest";
const TRANSFER: &str = "__transfer";

const MEMORY_MIB: u32 = 1024;
/// In the host's time, for one guest.
const LIMIT: Duration = Duration::from_secs(3 * 3600);
/// Over loopback, in the guest 0.2 s: with 64 MiB a figure is that of a dozen timer interrupts, more or less, and off by up to 0.5 %.
const LOOPBACK_MIB: u64 = 256;
/// Of a run over the path. Longer ones of all algorithms would take hours of the host's time.
const PATH_S: u32 = 2;
/// As often as long are the runs that decide where the first ones leave a doubt.
const LONGER: u32 = 5;

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
    /// MiB over loopback.
    megabytes: u64,
    /// Of a run over the path.
    seconds: u32,
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
    let labs = Labs { own: lab(std::env::current_exe()?), ccactl: lab(ccactl) };
    let names = names(&wishes.subjects);
    // The long one first. A path is a guest per algorithm: what one leaves in the kernel's memory is no cost of the next.
    let loopback = std::iter::once(Job::Loopback { names: &names, megabytes: wishes.megabytes });
    let Measured { transfers, runs, mut failures } =
        labs.measure(loopback.chain(names.iter().map(|name| Job::Path { name, seconds: wishes.seconds })));

    let longer_s = wishes.seconds.saturating_mul(LONGER);
    let rows = table::rows(&wishes.subjects, &transfers, &runs, &Runs::new());
    let unsettled: Vec<&Subject> = rows.iter().filter_map(table::Row::unsettled).collect();
    let pairs = unsettled.iter().flat_map(|subject| subject.twin.as_deref().into_iter().chain([subject.name]));
    let longer = labs.measure(pairs.map(|name| Job::Path { name, seconds: longer_s }));
    failures.extend(longer.failures);

    let rows = table::rows(&wishes.subjects, &transfers, &runs, &longer.runs);
    println!("{}", table::markdown(&kernel.release, wishes.megabytes, wishes.seconds, longer_s, &rows));
    rows.iter().filter_map(table::Row::not_judged).for_each(|why| eprintln!("{why}"));
    if failures.is_empty() {
        Ok(rows.iter().all(table::Row::reaches_the_goal))
    } else {
        Err(format!("not measured, and without a row:\n{}", failures.join("\n")).into())
    }
}

/// Where guests are made.
struct Labs {
    /// With this program.
    own: Lab,
    /// With ccactl.
    ccactl: Lab,
}

impl Labs {
    /// As many guests at once as there are cores.
    fn measure<'a>(&self, jobs: impl Iterator<Item = Job<'a>> + Send) -> Measured {
        let measured = Mutex::new(Measured::default());
        let jobs = Mutex::new(jobs);
        let work = || {
            loop {
                let Some(job) = jobs.lock().expect("no panic").next() else { return };
                let start = Instant::now();
                match job {
                    Job::Loopback { names, megabytes } => {
                        let done = loopback::measure(&self.own, names, megabytes);
                        measured.lock().expect("no panic").loopback(done);
                    }
                    Job::Path { name, seconds } => {
                        let done = path::measure(&self.ccactl, name, seconds);
                        measured.lock().expect("no panic").path(name, done);
                    }
                }
                eprintln!("{job}: {} s", start.elapsed().as_secs());
            }
        };
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| (0..cores).for_each(|_| _ = scope.spawn(work)));
        measured.into_inner().expect("no panic")
    }
}

/// Refuses figures of a guest that another run would not repeat.
fn repeatable(results: Results) -> Result<Results, Failure> {
    if results.repeatable {
        Ok(results)
    } else {
        Err("expected QEMU to take the time of day from the lab, found that it does not: docs/virtual-lab.md".into())
    }
}

/// What a guest is for.
#[derive(Clone, Copy)]
enum Job<'a> {
    /// All algorithms, one after the other.
    Loopback { names: &'a [String], megabytes: u64 },
    /// One.
    Path { name: &'a str, seconds: u32 },
}

impl fmt::Display for Job<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Job::Loopback { .. } => write!(f, "loopback"),
            Job::Path { name, seconds } => write!(f, "{seconds} s of the path, {name}"),
        }
    }
}

#[derive(Default)]
struct Measured {
    transfers: Transfers,
    runs: Runs,
    /// What has no figures, and why.
    failures: Vec<String>,
}

impl Measured {
    fn loopback(&mut self, done: Result<(Transfers, Vec<String>), Failure>) {
        match done {
            Ok((transfers, mut failures)) => {
                self.transfers = transfers;
                self.failures.append(&mut failures);
            }
            Err(error) => self.failures.push(format!("loopback: {error}")),
        }
    }

    fn path(&mut self, name: &str, done: Result<[Run; 2], Failure>) {
        match done {
            Ok(both) => _ = self.runs.insert(name.to_owned(), both),
            Err(error) => self.failures.push(format!("path, {name}: {error}")),
        }
    }
}

/// The baseline, and all subjects behind their twins.
fn names(subjects: &[Subject]) -> Vec<String> {
    let mut names = vec![BASELINE.to_owned()];
    for subject in subjects {
        names.extend(subject.twin.clone().filter(|twin| twin != BASELINE));
        names.push(subject.name.to_owned());
    }
    names
}

fn wishes(mut words: impl Iterator<Item = String>) -> Result<Wishes, Failure> {
    let mut wishes = Wishes {
        kernel: "6.18".to_owned(),
        subjects: subjects(ALGORITHMS.iter()),
        megabytes: LOOPBACK_MIB,
        seconds: PATH_S,
    };
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("expected a value after {word}"));
        match word.as_str() {
            "--kernel" => wishes.kernel = value()?,
            "--megabytes" => wishes.megabytes = value()?.parse()?,
            "--seconds" => wishes.seconds = value()?.parse()?,
            "--only" => {
                let known = |name: &str| Algorithm::by_name(name).ok_or_else(|| format!("no algorithm {name}"));
                let chosen = value()?.split(',').map(known).collect::<Result<Vec<_>, _>>()?;
                wishes.subjects = subjects(chosen.into_iter());
            }
            _ => return Err(format!("no option {word}: expected --kernel, --only, --megabytes or --seconds").into()),
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
