//! `ccactl top`

use super::filters::Filters;
use super::output;
use crate::error::{Context, Result};
use crate::log::Hold;
use ccactl_collector::{Every, Output, RecordOptions};
use ccactl_host::units::parse_duration;
use ccactl_host::{errln, interrupt, terminal};
use ccactl_loader::Paths;
use ccactl_observe::live::screen::{App, Notes};
use ccactl_observe::live::view::{ALGORITHMS, CGROUPS, FLOWS, Key, Snapshot, plain};
use ccactl_observe::live::{Watch, screen};
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::fd::RawFd;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Of a terminal, where there is none.
const USUAL_WIDTH: usize = 80;

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    filters: Filters,
    /// A socket is looked at with every ACK, per smoothed RTT, or per interval: ack, rtt, 100ms
    #[arg(long, default_value = "100ms", value_name = "ack|rtt|TIME")]
    every: Every,
    /// Rates and percentiles are over this time
    #[arg(long, default_value = "1s", value_name = "TIME", value_parser = parse_duration)]
    interval: Duration,
    /// Print tables of one interval and end; needs no terminal
    #[arg(long)]
    once: bool,
    /// With --once: all columns, however wide that is [default: those that fit the terminal, or 80 characters]
    #[arg(long, requires = "once", conflicts_with = "json")]
    wide: bool,
    /// With --once: print JSON
    #[arg(long, requires = "once")]
    json: bool,
    /// Pipe of the process that started this one, whose lines are shown below (`ccactl dev`)
    #[arg(long, hide = true, value_name = "FD")]
    notes: Option<RawFd>,
}

pub fn run(args: Args) -> Result<ExitCode> {
    let has_terminal = terminal::is_out() && io::stdin().is_terminal();
    if !args.once && !has_terminal {
        return Err(screen::Error::NoTerminal.into());
    }
    // A signal ends the loop, which gives the terminal back.
    let is_stopped = interrupt::on_signals().context("cannot handle signals")?;
    // While there are rights to open it.
    let app = match args.notes {
        Some(fd) => App::beside(Notes::read(File::open(format!("/proc/self/fd/{fd}")).context("open the notes")?)),
        None => App::default(),
    };
    let mut options = RecordOptions::new(Output::Nowhere);
    args.filters.apply(&mut options)?;
    options.every = args.every;
    // Without root, the recorder's own complaint says what is missing.
    if let Err(error) = ccactl_loader::mount_bpffs_if_missing(&Paths::from_env()) {
        tracing::debug!("{error}");
    }
    let watch = Watch::start(options, args.interval, args.filters.text())?;
    if args.once {
        return once(watch, &args, &is_stopped);
    }
    let _messages_wait = Hold::begin();
    screen::run(watch, app, args.interval, &is_stopped)?;
    Ok(ExitCode::SUCCESS)
}

/// One interval that begins when the sockets that are open have been seen.
fn once(mut watch: Watch, args: &Args, is_stopped: &AtomicBool) -> Result<ExitCode> {
    let end = Instant::now() + 2 * watch.lag() + args.interval;
    while Instant::now() < end && !watch.is_finished() {
        if is_stopped.load(Ordering::Relaxed) {
            return Ok(ExitCode::from(ccactl_abi::exit::INTERRUPTED));
        }
        sleep(Duration::from_millis(20).min(end.saturating_duration_since(Instant::now())));
    }
    let snapshot = watch.look();
    watch.stop()?;
    if args.json {
        output::json(&snapshot)?
    } else {
        print(&snapshot, if args.wide { usize::MAX } else { terminal::width().unwrap_or(USUAL_WIDTH) })?
    }
    Ok(ExitCode::SUCCESS)
}

fn print(snapshot: &Snapshot, width: usize) -> Result<()> {
    let mut flows: Vec<_> = snapshot.flows.iter().collect();
    flows.sort_by(|a, b| Key::Number(a.goodput_bps).compare(&Key::Number(b.goodput_bps), false));
    let cgroups: Vec<_> = snapshot.cgroups.iter().collect();
    let algorithms: Vec<_> = snapshot.algorithms.iter().collect();
    let tables = [plain(CGROUPS, &cgroups, width), plain(ALGORITHMS, &algorithms, width), plain(FLOWS, &flows, width)];
    match terminal::out().write_all(tables.join("\n").as_bytes()) {
        // As in `ccactl top --once | head`: the reader has what it wanted.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        written => written?,
    }
    let drops = snapshot.status.drops.total();
    if drops > 0 {
        errln!("{drops} rows were lost: a rarer --every helps");
    }
    if snapshot.flows_without_room > 0 {
        errln!("{} flows had no room and are in no figure: choose fewer by a filter", snapshot.flows_without_room);
    }
    Ok(())
}
