//! `ccactl check`

use super::output;
use crate::error::{Context, Error, Result};
use ccactl_abi::exit;
use ccactl_host::{errln, interrupt, outln};
use ccactl_loader::cgroup::Mount;
use ccactl_loader::fleet::{Entry, PolicyFile};
use ccactl_loader::{LoadRequest, Loadable, Loader, Paths, pick_algorithm};
use ccactl_native::properties::{ALL, Subject};
use ccactl_native::{Socket, Unit, build, on_overdue};
use ccactl_testbed::traffic;
use nix::sys::signal::Signal;
use std::any::Any;
use std::fs;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::process::{self, Child, Command, ExitCode, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

#[derive(clap::Args)]
pub struct Args {
    /// C file of an algorithm (NAME.bpf.c), or a policy file (NAME.toml), which needs no rights
    file: PathBuf,
}

/// A callback takes nanoseconds.
const CALLBACK_LIMIT: Duration = Duration::from_secs(2);
/// What is moved over loopback at the end, and how long that may take.
const MOVED_BYTES: u64 = 10_000_000;
const MOVE_LIMIT: Duration = Duration::from_secs(30);

/// A policy file: all that can be said without the host that it is for.
fn policy_file(path: &Path) -> Result<ExitCode> {
    let mount = Mount::find(&Paths::from_env().mounts).unwrap_or_else(|_| Mount::usual());
    let file = PolicyFile::read(path, &mount)?;
    let row = |entry: &Entry| {
        let choice = &entry.request.choice;
        [entry.name.clone(), choice.algorithm_name(), choice.kernel_name().to_owned(), entry.revision()]
    };
    let rows: Vec<_> = file.entries.iter().map(row).collect();
    if !rows.is_empty() {
        output::table(["CGROUP", "ALGORITHM", "KERNEL NAME", "REVISION"], &rows)?;
    }
    let cgroups = if rows.len() == 1 { "one cgroup".to_owned() } else { format!("{} cgroups", rows.len()) };
    outln!("{}: {cgroups}, no mistake", file.origin);
    Ok(ExitCode::SUCCESS)
}

/// From what needs least to what needs most: each step is only taken when those before it went well.
pub fn run(args: &Args) -> Result<ExitCode> {
    if args.file.extension().is_some_and(|extension| extension == "toml") {
        return policy_file(&args.file);
    }
    let Some(file) = args.file.to_str().filter(|name| name.ends_with(".bpf.c")) else {
        return Err(Error::Argument(format!(
            "{}: expected a C file NAME.bpf.c, as its properties are looked at in the source, or a policy file NAME.toml",
            args.file.display()
        )));
    };
    let end = interrupt::on_signals().context("watch for SIGINT and SIGTERM")?;
    let algorithm = pick_algorithm(file)?;
    outln!(
        "compiles for BPF: {} ({}), kernel name {}",
        algorithm.name,
        algorithm.family.label(),
        algorithm.kernel_name
    );
    let room = tempfile::tempdir().context("make a folder for the compiler")?;
    let library = build(&args.file, room.path())?;
    let object = room.path().join("checked.bpf.o");
    fs::write(&object, algorithm.object()).context("write the object")?;
    // In a process of its own: what is wrong may end it or never return.
    let mut properties = this_program()?;
    properties.arg("__properties").arg(&library).arg(&object).arg(file);
    let Some(properties) = wait(properties.spawn().context("start a process")?, &end)? else {
        return Ok(ExitCode::from(exit::INTERRUPTED));
    };
    match properties.code() {
        Some(0) => {}
        // It has said why.
        Some(1) => return Ok(ExitCode::FAILURE),
        _ => {
            return Err(Error::Refused(format!(
                "{file}: expected an answer of the process with its properties, found that it ended with {properties}"
            )));
        }
    }
    // All that was seen is of one version.
    if pick_algorithm(file)?.hash() != algorithm.hash() {
        return Err(Error::Refused(format!("{file} was changed while it was checked: check it again")));
    }
    let loader = Loader::open()?;
    // A name of its own: what is in force under the algorithm's stays as it is.
    let loadable = Loadable::new(algorithm, Some(&format!("check_{:x}", process::id())))?;
    loader.probe_object(file, algorithm.object())?;
    outln!("the verifier of this kernel takes it");
    let mut transfer = this_program()?;
    transfer.arg("__transfer").arg(&loadable.kernel_name);
    Ok(ExitCode::from(loader.run(&LoadRequest::new(loadable, "/"), transfer)?))
}

/// The end of a child, or none when a signal has come; then it is gone too.
fn wait(mut child: Child, end: &AtomicBool) -> Result<Option<ExitStatus>> {
    const LOOK: Duration = Duration::from_millis(20);
    loop {
        let status = child.try_wait().context("wait for a process")?;
        if let Some(status) = status.filter(|_| !end.load(Ordering::Relaxed)) {
            // Ctrl-C reaches both of us, in whatever order.
            let is_interrupted = status.signal().is_some_and(|signal| signal == Signal::SIGINT as i32);
            return Ok((!is_interrupted).then_some(status));
        }
        if end.load(Ordering::Relaxed) {
            let _ = child.kill();
            let _ = child.wait();
            return Ok(None);
        }
        sleep(LOOK);
    }
}

fn this_program() -> Result<Command> {
    Ok(Command::new(std::env::current_exe().context("find the ccactl binary")?))
}

#[derive(clap::Args)]
pub struct PropertiesArgs {
    library: PathBuf,
    object: String,
    /// As the user named it.
    file: String,
}

/// The part of `check` in a process of its own.
pub fn properties(args: &PropertiesArgs) -> Result<ExitCode> {
    let algorithm = pick_algorithm(&args.object)?;
    // SAFETY: `check` has built it for this call.
    let unit = unsafe { Unit::load(&args.library) }
        .map_err(io::Error::other)
        .with_context(|| format!("cannot load {} (is TMPDIR mounted noexec?)", args.library.display()))?;
    // What panics in a property is an answer, told below.
    std::panic::set_hook(Box::new(|_| {}));
    on_overdue(CALLBACK_LIMIT, move |function| {
        let place = unit.place(function).map_or_else(|| "a callback".to_owned(), |place| place.to_string());
        errln!("{place} had not returned after {} s: a loop without a bound?", CALLBACK_LIMIT.as_secs());
        process::exit(1);
    });
    let subject = Subject { algorithm, socket: &|| Socket::of(unit), repeatable: true };
    for (words, property) in ALL {
        let held = std::panic::catch_unwind(AssertUnwindSafe(|| property(&subject)));
        if let Err(found) = held.unwrap_or_else(|panic| Err(text_of(&*panic))) {
            errln!("{}: expected that {words}; found: {found}", args.file);
            return Ok(ExitCode::FAILURE);
        }
        outln!("{words}");
    }
    Ok(ExitCode::SUCCESS)
}

fn text_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without words").to_owned()
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
        return Err(Error::Refused(format!(
            "expected connections with {}, found {}",
            args.kernel_name, found.algorithm
        )));
    }
    if found.bytes < MOVED_BYTES {
        return Err(Error::Refused(format!(
            "expected {MOVED_BYTES} bytes over loopback within {} s, found {}",
            MOVE_LIMIT.as_secs(),
            found.bytes
        )));
    }
    outln!("10 MB over loopback in {} ms", start.elapsed().as_millis());
    Ok(ExitCode::SUCCESS)
}
