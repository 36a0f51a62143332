//! The emulator beside others on one path: `cargo xtask bench emulator`. Prints the Markdown table of `docs/performance.md`.
//!
//! A path is held by a process of its own, whose CPU time is the price: `emulator_path hold` for this project's, `emulator_path bare` for
//! the plainest that forwards packets, any other program for another one. It says in one line where the two ends are, and goes when
//! its standard input is closed:
//!
//! ```text
//!   namespace of the sender    namespace of the receiver    address of the receiver
//! ```

mod bare;
mod figures;
mod hold;
mod holder;
mod load;
mod probe;
#[path = "../../spread.rs"]
mod spread;

use figures::Figures;
use holder::Holder;
use load::Compilers;
use std::process::{Command, ExitCode};
use std::time::Duration;

const USAGE: &str =
    "usage: emulator_path [--rates MBIT,…] [--seconds N] [--rounds N] [--load] [--ticks US,…] [--beside NAME=PROGRAM [ARG]]…
       emulator_path hold|bare MBIT
       emulator_path tick US MBIT";
/// Propagation delay to the receiver.
pub const ONE_WAY_MS: u64 = 10;

/// Drop-tail buffer: 100 ms of the rate. The kernel takes 50 ms in a second from real-time threads when others starve (`fair_server` of
/// its deadline scheduler), and a sender that waits so long must not let the link run dry.
#[must_use]
pub fn buffer_bytes(rate_mbit: u64) -> u64 {
    rate_mbit * 1_000_000 / 8 / 10
}

type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

struct Settings {
    /// Of IP packets, in Mbit/s.
    rates_mbit: Vec<u64>,
    length: Duration,
    /// Streams of every kind through every path; the paths take turns.
    rounds: usize,
    /// Compilers run beside.
    load: bool,
    /// Ticks with which the project's own path is measured besides, in µs.
    ticks_us: Vec<u64>,
    /// Name, program and arguments of the paths beside the project's own.
    beside: Vec<(String, Vec<String>)>,
}

/// How packets are sent.
#[derive(Debug, Clone, Copy)]
enum Stream {
    /// At a fifth of the rate: every packet finds an idle link.
    Paced,
    /// At more than the rate: the buffer is always full.
    Saturating,
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let done = match &args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [kind @ ("hold" | "bare"), rate] => match (*kind, rate.parse()) {
            ("hold", Ok(rate_mbit)) => hold::hold(rate_mbit, None),
            (_, Ok(rate_mbit)) => bare::hold(rate_mbit),
            (_, Err(_)) => return usage(),
        },
        ["tick", tick, rate] => match (tick.parse(), rate.parse()) {
            (Ok(tick_us), Ok(rate_mbit)) => hold::hold(rate_mbit, Some(tick_us)),
            _ => return usage(),
        },
        _ => match settings(&args) {
            Some(settings) => compare(&settings),
            None => return usage(),
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

fn usage() -> ExitCode {
    eprintln!("emulator_path: {USAGE}");
    ExitCode::from(ccactl_abi::exit::USAGE)
}

fn settings(args: &[String]) -> Option<Settings> {
    let mut settings = Settings {
        rates_mbit: vec![100, 400, 1000, 2500],
        length: Duration::from_secs(5),
        rounds: 10,
        load: false,
        ticks_us: Vec::new(),
        beside: Vec::new(),
    };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--load" => settings.load = true,
            "--rates" => settings.rates_mbit = numbers(args.next()?)?,
            "--ticks" => settings.ticks_us = numbers(args.next()?)?,
            "--seconds" => {
                let seconds = args.next()?.parse().ok().filter(|seconds| (2..=300).contains(seconds))?;
                settings.length = Duration::from_secs(seconds);
            }
            "--rounds" => settings.rounds = args.next()?.parse().ok().filter(|rounds| *rounds > 0)?,
            "--beside" => {
                let (name, program) = args.next()?.split_once('=')?;
                settings.beside.push((name.to_owned(), program.split_whitespace().map(str::to_owned).collect()));
            }
            _ => return None,
        }
    }
    Some(settings)
}

/// Numbers from 1 to 10 000.
fn numbers(list: &str) -> Option<Vec<u64>> {
    list.split(',').map(|number| number.parse().ok().filter(|number| (1..=10_000).contains(number))).collect()
}

/// All rounds of one rate after another, so that what a table compares was measured within minutes.
fn compare(settings: &Settings) -> Result<()> {
    let _compilers = settings.load.then(Compilers::start).transpose()?;
    let own = std::env::current_exe()?.display().to_string();
    let mut paths = vec![("ccactl".to_owned(), vec![own.clone(), "hold".to_owned()])];
    let ticking = |tick_us: &u64| {
        let program = [&own, "tick", &tick_us.to_string()].map(str::to_owned);
        (format!("ccactl, ticks of {tick_us} µs"), program.to_vec())
    };
    paths.extend(settings.ticks_us.iter().map(ticking));
    paths.push(("bare".to_owned(), vec![own, "bare".to_owned()]));
    paths.extend(settings.beside.iter().cloned());
    println!("{}", figures::HEADER);
    for rate_mbit in &settings.rates_mbit {
        let mut all: Vec<[Vec<Option<Figures>>; 2]> = vec![Default::default(); paths.len()];
        for round in 0..settings.rounds {
            for ((name, program), rounds) in paths.iter().zip(&mut all) {
                let mut figures = measure(program, *rate_mbit, settings.length).unwrap_or_else(|error| {
                    eprintln!("emulator_path: round {} of {name} with {rate_mbit} Mbit/s failed: {error}", round + 1);
                    [None, None]
                });
                rounds.iter_mut().zip(&mut figures).for_each(|(rounds, figures)| rounds.push(figures.take()));
            }
        }
        for (stream, kind) in ["paced", "saturating"].into_iter().enumerate() {
            let place = format!("{rate_mbit} Mbit/s | {kind}");
            for ((name, _), rounds) in paths.iter().zip(&all) {
                println!("{}", figures::row(&place, name, &all[0][stream], &rounds[stream]));
            }
        }
    }
    Ok(())
}

/// An evenly paced stream, then a saturating one; none of those that the path does not survive.
fn measure(program: &[String], rate_mbit: u64, length: Duration) -> Result<[Option<Figures>; 2]> {
    let (name, args) = program.split_first().ok_or("no program")?;
    let mut command = Command::new(name);
    command.args(args).arg(rate_mbit.to_string());
    let holder = Holder::start(command)?;
    let stream = |stream: Stream| -> Result<Option<Figures>> {
        let before = holder.cpu_time()?;
        let (rate_bps, at_once) = match stream {
            Stream::Paced => (rate_mbit * 200_000, 1),
            Stream::Saturating => (rate_mbit * 1_200_000, probe::MOST_AT_ONCE),
        };
        let received = probe::stream(&holder.path, rate_bps, length, at_once)?;
        let cpu = (holder.cpu_time()? - before).as_secs_f64() / length.as_secs_f64();
        let figures = match stream {
            Stream::Paced => figures::paced(&received, rate_mbit),
            Stream::Saturating => figures::saturating(&received, rate_mbit),
        };
        Ok(figures.map(|figures| figures.with_cpu(cpu)))
    };
    let figures = [stream(Stream::Paced)?, stream(Stream::Saturating)?];
    match holder.finish() {
        Ok(()) => Ok(figures),
        // It ended before it was told to, in the last stream.
        Err(error) => {
            eprintln!("emulator_path: {name} with {rate_mbit} Mbit/s: {error}");
            let [paced, _] = figures;
            Ok([paced, None])
        }
    }
}
