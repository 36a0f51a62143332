//! `ccactl check`

use anyhow::{Context, Result, bail};
use ccactl_host::{errln, outln};
use ccactl_loader::{LoadRequest, Loader, pick_algorithm};
use ccactl_native::properties::{ALL, Subject};
use ccactl_native::{Socket, Unit, build, on_overdue};
use ccactl_testbed::traffic;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{self, Command, ExitCode};
use std::time::{Duration, Instant};

#[derive(clap::Args)]
pub struct Args {
    /// C file of an algorithm (NAME.bpf.c)
    file: PathBuf,
}

/// A callback takes nanoseconds.
const CALLBACK_LIMIT: Duration = Duration::from_secs(2);
/// What is moved over loopback at the end, and how long that may take.
const MOVED_BYTES: u64 = 10_000_000;
const MOVE_LIMIT: Duration = Duration::from_secs(30);

/// From what needs least to what needs most: each step is only taken when those before it went well.
pub fn run(args: &Args) -> Result<ExitCode> {
    let Some(file) = args.file.to_str().filter(|name| name.ends_with(".bpf.c")) else {
        bail!("{}: expected a C file NAME.bpf.c, as its properties are looked at in the source", args.file.display());
    };
    let algorithm = pick_algorithm(file)?;
    outln!(
        "compiles for BPF: {} ({}), kernel name {}",
        algorithm.name,
        algorithm.family.label(),
        algorithm.kernel_name
    );
    let room = tempfile::tempdir().context("make a folder for the compiler")?;
    let library = build(&args.file, room.path())?;
    // In a process of its own: what is wrong may end it or never return.
    let properties = this_program()?.arg("__properties").arg(&library).arg(file).status().context("start a process")?;
    if let Some(signal) = properties.signal() {
        bail!("{file}: the process with its properties was ended by signal {signal}");
    }
    if !properties.success() {
        return Ok(ExitCode::FAILURE);
    }
    let loader = Loader::open()?;
    // A name of its own: what is in force under the algorithm's stays as it is.
    let request = LoadRequest::new(file, "/").as_name(format!("check_{:x}", process::id()));
    loader.probe_object(file, algorithm.object())?;
    outln!("the verifier of this kernel takes it");
    let mut transfer = this_program()?;
    transfer.arg("__transfer").arg(request.parse()?.kernel_name());
    Ok(ExitCode::from(loader.run(&request, transfer)?))
}

fn this_program() -> Result<Command> {
    Ok(Command::new(std::env::current_exe().context("find the ccactl binary")?))
}

#[derive(clap::Args)]
pub struct PropertiesArgs {
    library: PathBuf,
    file: String,
}

/// The part of `check` in a process of its own.
pub fn properties(args: &PropertiesArgs) -> Result<ExitCode> {
    let algorithm = pick_algorithm(&args.file)?;
    // SAFETY: `check` has built it for this call.
    let unit = unsafe { Unit::load(&args.library) }.with_context(|| args.library.display().to_string())?;
    // What panics in a property is an answer, told below.
    std::panic::set_hook(Box::new(|_| {}));
    on_overdue(CALLBACK_LIMIT, move |function| {
        let place = unit.place(function).map_or_else(|| "a callback".to_owned(), |place| place.to_string());
        errln!("{place} had not returned after {} s: a loop without a bound?", CALLBACK_LIMIT.as_secs());
        process::exit(1);
    });
    let subject = Subject { algorithm, socket: &|| Socket::of(unit), repeatable: true };
    for (words, property) in ALL {
        if let Err(found) = property(&subject) {
            errln!("{}: expected that {words}; found: {found}", args.file);
            return Ok(ExitCode::FAILURE);
        }
        outln!("{words}");
    }
    Ok(ExitCode::SUCCESS)
}

#[derive(clap::Args)]
pub struct TransferArgs {
    kernel_name: String,
}

/// The part of `check` in the cgroup that has the algorithm.
pub fn transfer(args: &TransferArgs) -> Result<ExitCode> {
    let start = Instant::now();
    let found = traffic::over_loopback(MOVED_BYTES, MOVE_LIMIT)?;
    if found.algorithm != args.kernel_name {
        bail!("expected connections with {}, found {}", args.kernel_name, found.algorithm);
    }
    if found.bytes < MOVED_BYTES {
        bail!("expected {MOVED_BYTES} bytes over loopback within {} s, found {}", MOVE_LIMIT.as_secs(), found.bytes);
    }
    outln!("10 MB over loopback in {} ms", start.elapsed().as_millis());
    Ok(ExitCode::SUCCESS)
}
