//! `ccactl dev`

use anyhow::{Context, Result, bail};
use ccactl_host::{errln, interrupt, outln, terminal};
use ccactl_loader::{LoadRequest, Loader, SwapRequest, is_file, pick_algorithm};
use nix::fcntl::{FcntlArg, FdFlag, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, pipe2};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{IsTerminal, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

#[derive(clap::Args)]
pub struct Args {
    /// C file of an algorithm (.bpf.c)
    file: PathBuf,
    /// cgroup whose sockets get it, relative to the cgroup2 mount (/bench) or absolute; made when it is missing
    #[arg(long, value_name = "PATH")]
    cgroup: PathBuf,
}

/// How often it is looked whether a signal has come.
const LOOK: Duration = Duration::from_millis(100);

/// Puts the file in force whenever it is saved, until a signal comes. What does not compile or load changes nothing. In a
/// terminal `ccactl top` shows the cgroup's flows beside it.
pub fn run(args: Args) -> Result<ExitCode> {
    let Some(name) = args.file.to_str().filter(|name| is_file(name)) else {
        bail!("{}: expected a file NAME.bpf.c", args.file.display());
    };
    let loader = Loader::open()?;
    let watch = Watch::begin(&args.file)?;
    let end = interrupt::on_signals().context("watch for SIGINT and SIGTERM")?;
    let has_terminal = terminal::is_out() && std::io::stdin().is_terminal();
    let mut told = Told::Lines;
    let put = |told: &mut Told| -> Result<()> {
        let done = put_in_force(&loader, name, &args.cgroup);
        // Not before the first success, which makes the cgroup.
        if has_terminal && done.is_ok() && matches!(told, Told::Lines) {
            *told = Told::Screen(Screen::begin(&args.cgroup)?);
        }
        told.tell(done);
        Ok(())
    };
    put(&mut told)?;
    told.tell(Ok(format!("watching {name}; Ctrl-C ends")));
    while !end.load(Ordering::Relaxed) && told.is_there()? {
        if watch.was_saved()? {
            put(&mut told)?;
        }
    }
    drop(told);
    let cgroup = args.cgroup.display();
    outln!("{cgroup} keeps what it has: `ccactl unload --cgroup {cgroup}` takes it back");
    Ok(ExitCode::SUCCESS)
}

/// What came of it; the next save may be better.
fn put_in_force(loader: &Loader, file: &str, cgroup: &Path) -> Result<String, String> {
    let start = Instant::now();
    let request = LoadRequest::new(file, cgroup).create(true).replace(true);
    let put = || -> Result<String, ccactl_loader::Error> {
        loader.load(&request)?;
        let outcome = loader.swap(&SwapRequest::of(request.clone()))?;
        let algorithm = pick_algorithm(file)?;
        let (name, hash, moved) = (algorithm.name, algorithm.hash(), outcome.counts.moved);
        let left = if outcome.is_complete() { "" } else { "; some were not: `ccactl status` says why" };
        let ms = start.elapsed().as_millis();
        Ok(format!("{name}: object {hash:016x} is in force after {ms} ms, {moved} live sockets moved{left}"))
    };
    put().map_err(|error| format!("{error}\n{} keeps what it has", cgroup.display()))
}

/// Where it is told.
enum Told {
    Lines,
    Screen(Screen),
}

impl Told {
    fn tell(&mut self, done: Result<String, String>) {
        match (self, done) {
            (Self::Lines, Ok(line)) => outln!("{line}"),
            (Self::Lines, Err(lines)) => errln!("{lines}"),
            (Self::Screen(screen), Ok(lines) | Err(lines)) => screen.tell(&lines),
        }
    }

    /// Whether somebody is looking.
    fn is_there(&mut self) -> Result<bool> {
        match self {
            Self::Lines => Ok(true),
            Self::Screen(screen) => {
                let ended = screen.top.try_wait().context("look for ccactl top")?;
                match ended {
                    Some(status) if !status.success() => bail!("ccactl top ended: {status}"),
                    ended => Ok(ended.is_none()),
                }
            }
        }
    }
}

/// `ccactl top` with the cgroup's flows, in a process of its own, as it gives up all rights. It gets lines by a pipe.
struct Screen {
    top: Child,
    notes: File,
}

impl Screen {
    fn begin(cgroup: &Path) -> Result<Self> {
        let (read, write) = pipe2(OFlag::O_CLOEXEC).context("make a pipe")?;
        fcntl(&read, FcntlArg::F_SETFD(FdFlag::empty())).context("hand the pipe on")?;
        let program = std::env::current_exe().context("find the ccactl binary for the screen")?;
        let mut top = Command::new(program);
        top.arg("top").arg("--cgroup").arg(cgroup).arg("--notes").arg(read.as_raw_fd().to_string());
        Ok(Self { top: top.spawn().context("start ccactl top")?, notes: write.into() })
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
        let file = path.file_name().context("a file has a name")?.to_owned();
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
