//! `ccactl dev`

use anyhow::{Context, Result, bail};
use ccactl_host::{errln, interrupt, outln};
use ccactl_loader::{LoadRequest, Loader, SwapRequest, is_file, pick_algorithm};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};
use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
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

/// Puts the file in force whenever it is saved, until a signal comes. What does not compile or load changes nothing.
pub fn run(args: Args) -> Result<ExitCode> {
    let Some(name) = args.file.to_str().filter(|name| is_file(name)) else {
        bail!("{}: expected a file NAME.bpf.c", args.file.display());
    };
    let loader = Loader::open()?;
    let watch = Watch::begin(&args.file)?;
    let end = interrupt::on_signals().context("watch for SIGINT and SIGTERM")?;
    put_in_force(&loader, name, &args.cgroup);
    outln!("watching {name}; Ctrl-C ends");
    while !end.load(Ordering::Relaxed) {
        if watch.was_saved()? {
            put_in_force(&loader, name, &args.cgroup);
        }
    }
    let cgroup = args.cgroup.display();
    outln!("{cgroup} keeps what it has: `ccactl unload --cgroup {cgroup}` takes it back");
    Ok(ExitCode::SUCCESS)
}

/// One line of what came of it; the next save may be better.
fn put_in_force(loader: &Loader, file: &str, cgroup: &Path) {
    let start = Instant::now();
    let request = LoadRequest::new(file, cgroup).create(true).replace(true);
    let put = || -> Result<(u64, bool), ccactl_loader::Error> {
        loader.load(&request)?;
        let outcome = loader.swap(&SwapRequest::of(request.clone()))?;
        Ok((outcome.counts.moved, outcome.is_complete()))
    };
    match (put(), pick_algorithm(file)) {
        (Ok((moved, is_complete)), Ok(algorithm)) => {
            let (name, hash, ms) = (algorithm.name, algorithm.hash(), start.elapsed().as_millis());
            outln!("{name}: object {hash:016x} is in force after {ms} ms, {moved} live sockets moved");
            if !is_complete {
                errln!("some live sockets were not moved: `ccactl status` says why");
            }
        }
        (Err(error), _) | (_, Err(error)) => errln!("{error}\n{} keeps what it has", cgroup.display()),
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
