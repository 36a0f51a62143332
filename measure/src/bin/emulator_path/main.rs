//! The emulator beside others on one path: `cargo xtask bench emulator`. Prints the Markdown table of `docs/performance.md`.
//!
//! A path is held by a process of its own, whose CPU time is the price: `emulator_path hold` for this project's, any other
//! program for another one. It says in one line where the two ends are, and goes when its standard input is closed:
//!
//! ```text
//!   namespace of the sender    namespace of the receiver    address of the receiver
//! ```

mod figures;
mod hold;
mod holder;
mod probe;

use figures::{Loaded, Paced};
use holder::Holder;
use std::process::{Command, ExitCode};
use std::time::Duration;

const USAGE: &str =
    "usage: emulator_path [--seconds N] [--repeats N] [--beside NAME=PROGRAM]…\n       emulator_path hold";
/// Rate of every path, in bit/s of IP packets.
pub const RATE_BPS: u64 = 100_000_000;
/// Propagation delay to the receiver.
pub const ONE_WAY_MS: u64 = 10;
/// Drop-tail buffer: what is on the way in one direction.
pub const BUFFER_BYTES: u64 = RATE_BPS / 8 * ONE_WAY_MS / 1000;
/// A fifth of the rate: every packet finds an idle link.
const PACED_BPS: u64 = RATE_BPS / 5;
/// More than the rate: the buffer is always full.
const LOADED_BPS: u64 = RATE_BPS / 5 * 6;

type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

struct Settings {
    length: Duration,
    /// Rows per path; the paths take turns.
    repeats: u32,
    /// Name and program of the paths beside the project's own.
    beside: Vec<(String, String)>,
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let done = match args.first().map(String::as_str) {
        Some("hold") if args.len() == 1 => hold::hold(),
        _ => match settings(&args) {
            Some(settings) => compare(&settings),
            None => {
                eprintln!("emulator_path: {USAGE}");
                return ExitCode::from(ccactl_abi::exit::USAGE);
            }
        },
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("emulator_path: {error}");
            ExitCode::FAILURE
        }
    }
}

fn settings(args: &[String]) -> Option<Settings> {
    let mut settings = Settings { length: Duration::from_secs(20), repeats: 3, beside: Vec::new() };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let value = args.next()?;
        match arg.as_str() {
            "--seconds" => {
                let seconds = value.parse().ok().filter(|seconds| (2..=300).contains(seconds))?;
                settings.length = Duration::from_secs(seconds);
            }
            "--repeats" => settings.repeats = value.parse().ok().filter(|repeats| *repeats > 0)?,
            "--beside" => {
                let (name, program) = value.split_once('=')?;
                settings.beside.push((name.to_owned(), program.to_owned()));
            }
            _ => return None,
        }
    }
    Some(settings)
}

fn compare(settings: &Settings) -> Result<()> {
    println!("{}", figures::HEADER);
    for _ in 0..settings.repeats {
        let mut own = Command::new(std::env::current_exe()?);
        own.arg("hold");
        measure("ccactl", own, settings.length)?;
        for (name, program) in &settings.beside {
            measure(name, Command::new(program), settings.length)?;
        }
    }
    Ok(())
}

/// One row: an evenly paced stream, then a saturating one.
fn measure(name: &str, program: Command, length: Duration) -> Result<()> {
    let holder = Holder::start(program).map_err(|error| format!("path of {name}: {error}"))?;
    let stream = |rate_bps| -> Result<_> {
        let before = holder.cpu_time()?;
        let received = probe::stream(&holder.path, rate_bps, length)?;
        let used = holder.cpu_time()? - before;
        Ok((received, used.as_secs_f64() / length.as_secs_f64()))
    };
    let (paced, paced_cpu) = stream(PACED_BPS)?;
    let (loaded, loaded_cpu) = stream(LOADED_BPS)?;
    let paced = Paced::of(&paced).ok_or_else(|| format!("path of {name}: none of the paced packets arrived"))?;
    let loaded = Loaded::of(&loaded).ok_or_else(|| format!("path of {name}: the link was never saturated"))?;
    println!("{}", figures::row(name, &paced, paced_cpu, &loaded, loaded_cpu));
    holder.finish()
}
