//! `ccactl`: load, attach, record, report and test TCP congestion control written in BPF.

// Nothing goes to a terminal but through `ccactl_host::terminal`, which makes it fit.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod commands;
mod error;
mod log;

use crate::error::Context;
use ccactl_host::{err, errln, terminal};
use ccactl_loader::fleet::one_line;
use clap::{Parser, Subcommand};
use nix::sys::signal::{SigHandler, Signal, signal};
use std::process::ExitCode;

#[derive(Parser)]
#[command(name = "ccactl", version, about, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Register an algorithm and give it to the new sockets of a cgroup
    Load(commands::load::Args),
    /// Move a cgroup to another algorithm, its live connections included, and read each of them back
    Swap(commands::swap::Args),
    /// Go back to the policy before the latest change, with all live connections
    Rollback(commands::rollback::Args),
    /// Take the policy of a cgroup back: live connections get what they had before
    Unload(commands::unload::Args),
    /// List the algorithms that ccactl carries
    List(commands::list::Args),
    /// Show one algorithm: paper, tunables with units, kernel hooks
    Show(commands::show::Args),
    /// Show which cgroups have which algorithm
    Status(commands::status::Args),
    /// Run a command in a transient cgroup with an algorithm
    Run(commands::run::Args),
    /// Give the cgroups of a policy file the algorithms that it says, once or for good
    Apply(commands::apply::Args),
    /// Show where this host differs from a policy file; ends with 0 when it does not, 1 when it does, else more
    Diff(commands::diff::Args),
    /// Say for each algorithm, or for an object file, whether this kernel loads it, or why not
    Probe(commands::probe::Args),
    /// Begin an algorithm of your own: a C file that loads as it is
    New(commands::new::Args),
    /// Look for faults of a C file: its properties on this host, the verifier, 10 MB over loopback
    Check(commands::check::Args),
    /// Put a C file in force in a cgroup, again each time that it is saved
    Dev(commands::dev::Args),
    /// Write headers, templates and flags for an editor into a folder
    Sdk(commands::sdk::Args),
    /// Split TCP connections in two, each leg with an algorithm of its own
    Split(commands::split::Args),
    /// Record the sockets of a cgroup, namespace or port
    Record(commands::record::Args),
    /// Make a Parquet file of the stream that a killed recording left
    Recover(commands::recover::Args),
    /// Metrics of live sockets for Prometheus
    Exporter(commands::exporter::Args),
    /// Show what the sockets do now, per cgroup, algorithm and flow
    Top(commands::top::Args),
    /// Tables and an HTML page from recordings
    Report(commands::report::Args),
    /// Run a scenario on the testbed
    Bench(commands::bench::Args),
    /// BBRv2 and F-BBRv2 against CUBIC, with one table at the end
    Demo(commands::demo::Args),
    /// One end of a bench flow (started by `bench` itself)
    #[command(name = "__flow", hide = true)]
    Flow(commands::flow::Args),
    /// On the way to namespace and cgroup (started by `bench` itself)
    #[command(name = "__enter", hide = true)]
    Enter(commands::flow::EnterArgs),
    /// The properties of a file (started by `check` itself)
    #[command(name = "__properties", hide = true)]
    Properties(commands::check::PropertiesArgs),
    /// Its data (started by `check` itself)
    #[command(name = "__transfer", hide = true)]
    Transfer(commands::check::TransferArgs),
    /// Inside a guest of the virtual lab (started by the lab itself)
    #[command(name = commands::guest::INIT, hide = true)]
    Guest,
}

impl Command {
    /// Whether nothing but output is lost when the reader goes away, as in `ccactl list | head`.
    fn only_prints(&self) -> bool {
        matches!(self, Command::List(_) | Command::Show(_) | Command::Status(_) | Command::Diff(_))
    }
}

/// Rust ignores SIGPIPE, which makes printing panic; a command that only prints ends by it like any other tool.
fn end_quietly_on_a_closed_pipe() {
    // SAFETY: no thread runs yet, and the default action needs no handler to outlive anything.
    if let Err(errno) = unsafe { signal(Signal::SIGPIPE, SigHandler::SigDfl) } {
        tracing::debug!("SIGPIPE stays ignored: {errno}");
    }
}

fn main() -> ExitCode {
    log::begin();
    let command = match Cli::try_parse() {
        Ok(cli) => cli.command,
        Err(error) => return complain(&error),
    };
    if command.only_prints() {
        end_quietly_on_a_closed_pipe();
    }
    let result = match command {
        Command::Load(args) => commands::load::run(args),
        Command::Swap(args) => commands::swap::run(args),
        Command::Rollback(args) => commands::rollback::run(args),
        Command::Unload(args) => commands::unload::run(args),
        Command::List(args) => commands::list::run(args),
        Command::Show(args) => commands::show::run(args),
        Command::Status(args) => commands::status::run(args),
        Command::Run(args) => commands::run::run(args),
        Command::Apply(args) => commands::apply::run(args),
        Command::Diff(args) => commands::diff::run(args),
        Command::Probe(args) => commands::probe::run(args),
        Command::New(args) => commands::new::run(args),
        Command::Check(args) => commands::check::run(&args),
        Command::Properties(args) => commands::check::properties(&args),
        Command::Transfer(args) => commands::check::transfer(&args),
        Command::Sdk(args) => commands::sdk::run(&args),
        Command::Dev(args) => commands::dev::run(args),
        Command::Split(args) => commands::split::run(args),
        Command::Record(args) => commands::record::run(args),
        Command::Recover(args) => commands::recover::run(args),
        Command::Exporter(args) => commands::exporter::run(args),
        Command::Top(args) => commands::top::run(args),
        Command::Report(args) => commands::report::run(args),
        Command::Bench(args) => commands::bench::run(args),
        Command::Demo(args) => commands::demo::run(args),
        Command::Flow(args) => commands::flow::run(args),
        Command::Enter(args) => commands::flow::enter(&args),
        Command::Guest => commands::guest::run(),
    };
    let result = result.and_then(|code| match terminal::failure() {
        None => Ok(code),
        Some(error) => Err(error).context("cannot write to standard output"),
    });
    match result {
        Ok(code) => code,
        Err(error) => {
            errln!("ccactl: {}", one_line(&error));
            ExitCode::from(error.exit_code())
        }
    }
}

/// What clap says. It quotes the arguments, and a shell makes arguments of the names of files.
fn complain(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        error.exit();
    }
    err!("{}", error.render());
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(ccactl_abi::exit::USAGE))
}
