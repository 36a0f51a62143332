//! `ccactl dev`

use crate::error::{Context, Error, Result};
use crate::log::Hold;
use ccactl_host::{errln, interrupt, outln, terminal};
use ccactl_loader::{LoadRequest, Loadable, Loader, SwapRequest, is_file, pick_algorithm};
use nix::fcntl::{FcntlArg, FdFlag, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getpgrp, pipe2, tcgetpgrp};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{IsTerminal, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

#[derive(clap::Args)]
pub struct Args {
    /// C file of an algorithm (.bpf.c)
    file: PathBuf,
    /// cgroup whose sockets get it, relative to the cgroup2 mount (/bench) or absolute; made when it is missing
    #[arg(long, value_name = "PATH")]
    cgroup: PathBuf,
    /// Only lines: no screen with the flows, which a terminal gets otherwise
    #[arg(long)]
    no_screen: bool,
}

/// How often it is looked whether a signal has come.
const LOOK: Duration = Duration::from_millis(100);

/// Puts the file in force whenever it is saved, until a signal comes. What does not compile or load changes nothing. In a
/// terminal `ccactl top` shows the cgroup's flows beside it.
pub fn run(args: Args) -> Result<ExitCode> {
    let Some(name) = args.file.to_str().filter(|name| is_file(name)) else {
        return Err(Error::Argument(format!("{}: expected a file NAME.bpf.c", args.file.display())));
    };
    let loader = Loader::open()?;
    let watch = Watch::begin(&args.file)?;
    let end = interrupt::on_signals().context("watch for SIGINT and SIGTERM")?;
    let mut wants_screen = !args.no_screen && is_in_foreground();
    let mut screen: Option<Screen> = None;
    let mut failed = put_in_force(&loader, name, &args.cgroup, &mut None).is_err();
    let watching = format!("watching {name}; Ctrl-C ends");
    outln!("{watching}");
    let mut last_words = None;
    while !end.load(Ordering::Relaxed) {
        // Not before the first success, which makes the cgroup.
        if wants_screen && !failed {
            wants_screen = false;
            screen = Some(Screen::begin(&args.cgroup)?);
            tell(&mut screen, &Ok(watching.clone()));
        }
        if let Some(Some(status)) = screen.as_mut().map(Screen::ended).transpose()? {
            drop(screen.take());
            if status.success() {
                break;
            }
            errln!("ccactl top ended ({status}): from here on only lines");
        }
        if watch.was_saved()? {
            let done = put_in_force(&loader, name, &args.cgroup, &mut screen);
            failed = done.is_err();
            // On the screen a part of it was seen.
            last_words = done.err().filter(|_| screen.is_some());
        }
    }
    drop(screen);
    if let Some(words) = last_words {
        errln!("{words}");
    }
    let cgroup = args.cgroup.display();
    outln!("{cgroup} keeps what it has: `ccactl unload --cgroup {cgroup}` takes it back");
    Ok(ExitCode::SUCCESS)
}

/// Whether a terminal is ours to draw on: a job in the background would be stopped.
fn is_in_foreground() -> bool {
    let stdin = std::io::stdin();
    terminal::is_out() && stdin.is_terminal() && tcgetpgrp(&stdin).is_ok_and(|group| group == getpgrp())
}

/// Tells what came of it; the next save may be better.
fn put_in_force(loader: &Loader, file: &str, cgroup: &Path, screen: &mut Option<Screen>) -> Result<String, String> {
    let start = Instant::now();
    let put = || -> Result<String, ccactl_loader::Error> {
        let algorithm = pick_algorithm(file)?;
        let request = LoadRequest::new(Loadable::new(algorithm, None)?, cgroup).create(true).replace(true);
        loader.load(&request)?;
        let outcome = loader.swap(&SwapRequest::of(request))?;
        let (name, hash, moved) = (algorithm.name, algorithm.hash(), outcome.counts.moved);
        let left = if outcome.is_complete() { "" } else { "; some were not: `ccactl status` says why" };
        let ms = start.elapsed().as_millis();
        Ok(format!("{name}: object {hash:016x} is in force after {ms} ms, {moved} live sockets moved{left}"))
    };
    let done = put().map_err(|error| format!("{error}\n{} keeps what it has", cgroup.display()));
    tell(screen, &done);
    done
}

/// Of an error, the lines that a screen has room for: the compiler's first error tells most.
const FIRST_LINES: usize = 8;

fn tell(screen: &mut Option<Screen>, done: &Result<String, String>) {
    match (screen, done) {
        (None, Ok(line)) => outln!("{line}"),
        (None, Err(lines)) => errln!("{lines}"),
        (Some(screen), Ok(line)) => screen.tell(line),
        (Some(screen), Err(lines)) => {
            let all: Vec<&str> = lines.lines().collect();
            let (first, rest) = all.split_at(all.len().min(FIRST_LINES));
            screen.tell(&first.join("\n"));
            if let Some(last) = rest.last() {
                screen.tell(&format!("… {} more lines, which are shown at the end\n{last}", rest.len()));
            }
        }
    }
}

/// `ccactl top` with the cgroup's flows, in a process of its own, as it gives up all rights. It gets lines by a pipe.
struct Screen {
    top: Child,
    notes: File,
    /// What the compiler warns of waits until the screen is gone.
    _messages: Hold,
}

impl Screen {
    fn begin(cgroup: &Path) -> Result<Self> {
        let (read, write) = pipe2(OFlag::O_CLOEXEC).context("make a pipe")?;
        fcntl(&read, FcntlArg::F_SETFD(FdFlag::empty())).context("hand the pipe on")?;
        let program = std::env::current_exe().context("find the ccactl binary for the screen")?;
        let mut top = Command::new(program);
        top.arg("top").arg("--cgroup").arg(cgroup).arg("--notes").arg(read.as_raw_fd().to_string());
        let top = top.spawn().context("start ccactl top")?;
        Ok(Self { top, notes: write.into(), _messages: Hold::begin() })
    }

    fn ended(&mut self) -> Result<Option<ExitStatus>> {
        self.top.try_wait().context("look for ccactl top")
    }

    /// A screen that is gone is noticed in the loop.
    fn tell(&mut self, lines: &str) {
        let _ = writeln!(self.notes, "{lines}");
    }
}

impl Drop for Screen {
    /// It gives the terminal back.
    fn drop(&mut self) {
        if let (Ok(None), Ok(pid)) = (self.top.try_wait(), i32::try_from(self.top.id())) {
            let _ = kill(Pid::from_raw(pid), Signal::SIGTERM);
            let _ = self.top.wait();
        }
    }
}

/// The folder of the file, as editors write a new file and rename it.
struct Watch {
    inotify: Inotify,
    file: std::ffi::OsString,
}

impl Watch {
    fn begin(path: &Path) -> Result<Self> {
        let file = path.file_name().ok_or_else(|| Error::Refused("a file has a name".to_owned()))?.to_owned();
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let inotify =
            Inotify::init(InitFlags::IN_CLOEXEC | InitFlags::IN_NONBLOCK).context("make an inotify instance")?;
        inotify
            .add_watch(folder, AddWatchFlags::IN_CLOSE_WRITE | AddWatchFlags::IN_MOVED_TO)
            .with_context(|| format!("cannot watch {}", folder.display()))?;
        Ok(Self { inotify, file })
    }

    /// Waits for a moment. Headers beside the file count as well.
    fn was_saved(&self) -> Result<bool> {
        let mut polled = [PollFd::new(self.inotify.as_fd(), PollFlags::POLLIN)];
        let timeout = PollTimeout::try_from(LOOK).expect("it is short");
        if poll(&mut polled, timeout).unwrap_or(0) == 0 {
            return Ok(false);
        }
        let is_header = |name: &OsStr| Path::new(name).extension().is_some_and(|extension| extension == "h");
        let events = self.inotify.read_events().context("read what has changed")?;
        Ok(events.iter().filter_map(|event| event.name.as_ref()).any(|name| *name == self.file || is_header(name)))
    }
}
