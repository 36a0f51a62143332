//! `cargo xtask vm fidelity`: every algorithm that Linux has too beside the kernel's own, ACK by ACK, in the virtual lab.
//!
//! `CCACTL=…/ccactl fidelity [--kernel KERNEL] [--dir DIR] [--only NAME,…] [--paths NAME,…] [--phases N] [--tables-only]`. Results of guests stay in
//! DIR, and what is there already is not run again. Ends with 6 when a twin differs before the first loss or mark.

mod compare;
mod paths;
mod runs;
#[cfg(test)]
mod short;
mod table;
mod trace;

use ccactl_lab::kernel::Cache;
use ccactl_lab::{Clock, Lab, Qemu};
use paths::{PATHS, Path, TWINS};
use runs::{Guests, PHASES_US, USUAL_PHASES};
use std::path::PathBuf;
use std::process::ExitCode;

/// Whatever it is, it is shown as one line.
type Failure = Box<dyn std::error::Error + Send + Sync>;

const MEMORY_MIB: u32 = 1024;

/// What to compare, and where.
struct Wishes {
    kernel: String,
    dir: PathBuf,
    twins: Vec<(&'static str, &'static str)>,
    paths: Vec<Path>,
    phases: usize,
    tables_only: bool,
}

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(ccactl_abi::exit::THRESHOLD),
        Err(error) => {
            eprintln!("fidelity: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Whether no twin differs before the first loss or mark.
fn run() -> Result<bool, Failure> {
    let wishes = wishes(std::env::args().skip(1))?;
    let program = std::env::var_os("CCACTL").map(PathBuf::from);
    let program = program.ok_or("expected the path of ccactl in CCACTL, as `cargo xtask vm fidelity` sets it")?;
    let guests = Guests::new(lab(&wishes.kernel, program)?, wishes.dir.clone());
    if !wishes.tables_only {
        guests.run(&wishes.twins, &wishes.paths, wishes.phases)?;
    }
    let rows = table::rows(&guests, &wishes.twins, &wishes.paths)?;
    println!("{}", table::markdown(&guests.release, &rows));
    Ok(rows.iter().all(table::Row::holds))
}

/// Under a kernel of Debian's, with `ccactl` as `program`.
fn lab(kernel: &str, program: PathBuf) -> Result<Lab, Failure> {
    let kernel = Cache::of_user()?.kernel(&kernel.parse()?, &mut |line| eprintln!("{line}"))?;
    Ok(Lab {
        qemu: Qemu::of_user(),
        kernel,
        clock: Clock::Virtual,
        memory_mib: MEMORY_MIB,
        program,
        init_argument: "__guest".to_owned(),
        limit: std::time::Duration::ZERO,
    })
}

fn wishes(mut words: impl Iterator<Item = String>) -> Result<Wishes, Failure> {
    let mut wishes = Wishes {
        kernel: "6.18".to_owned(),
        dir: "target/vm-fidelity".into(),
        twins: TWINS.to_vec(),
        paths: PATHS.to_vec(),
        phases: USUAL_PHASES,
        tables_only: false,
    };
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("expected a value after {word}"));
        match word.as_str() {
            "--kernel" => wishes.kernel = value()?,
            "--dir" => wishes.dir = value()?.into(),
            "--only" => wishes.twins = chosen(TWINS, &value()?, |twin| twin.0)?,
            "--paths" => wishes.paths = chosen(&PATHS, &value()?, |path| path.name)?,
            "--phases" => wishes.phases = number_of_phases(&value()?)?,
            "--tables-only" => wishes.tables_only = true,
            _ => {
                return Err(format!(
                    "no option {word}: expected --kernel, --dir, --only, --paths, --phases or --tables-only"
                )
                .into());
            }
        }
    }
    Ok(wishes)
}

fn number_of_phases(value: &str) -> Result<usize, Failure> {
    let most = PHASES_US.len();
    let expected = || format!("--phases {value}: expected a number from 1 to {most}").into();
    value.parse().ok().filter(|phases| (1..=most).contains(phases)).ok_or_else(expected)
}

fn chosen<T: Copy>(all: &[T], names: &str, name_of: impl Fn(&T) -> &str) -> Result<Vec<T>, Failure> {
    let known = || all.iter().map(&name_of).collect::<Vec<_>>().join(", ");
    let one = |name: &str| {
        all.iter()
            .find(|one| name_of(one) == name)
            .copied()
            .ok_or_else(|| format!("no {name}: expected {}", known()).into())
    };
    names.split(',').map(one).collect()
}
