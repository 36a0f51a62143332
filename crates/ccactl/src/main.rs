//! `ccactl`: load, attach, record, report and test TCP congestion control written in BPF.

// Nothing goes to a terminal but through `ccactl_host::terminal`, which makes it fit.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod cli;
mod commands;
mod error;
mod glibc;
mod log;

use crate::cli::Command;
use crate::error::Context;
use ccactl_host::{err, errln, terminal};
use ccactl_loader::fleet::one_line;
use nix::sys::signal::{SigHandler, Signal, signal};
use std::process::ExitCode;

/// Rust ignores SIGPIPE, which makes printing panic; a command that only prints ends by it like any other tool.
fn end_quietly_on_a_closed_pipe() {
    // SAFETY: no thread runs yet, and the default action needs no handler to outlive anything.
    if let Err(errno) = unsafe { signal(Signal::SIGPIPE, SigHandler::SigDfl) } {
        tracing::debug!("SIGPIPE stays ignored: {errno}");
    }
}

fn main() -> ExitCode {
    let cli = match cli::parse() {
        Ok(cli) => cli,
        Err(error) => return complain(&error),
    };
    terminal::set_manner(cli.manner());
    log::begin(cli.log_filter());
    let (command, prints_json) = (cli.command, cli.prints_json);
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
        Command::Send(args) => commands::send::run(args),
        Command::Exporter(args) => commands::exporter::run(args),
        Command::Serve(args) => commands::serve::run(args),
        Command::Top(args) => commands::top::run(args),
        Command::Report(args) => commands::report::run(args),
        Command::Export(args) => commands::export::run(args),
        Command::Bench(args) => commands::bench::run(*args),
        Command::Evaluate(args) => commands::evaluate::run(*args),
        Command::Search(args) => commands::search::run(*args),
        Command::Demo(args) => commands::demo::run(args),
        Command::Flow(args) => commands::flow::run(args),
        Command::Enter(args) => commands::flow::enter(&args),
        Command::Pages(args) => commands::pages::run(&args, cli::command()),
        Command::Guest => commands::guest::run(),
    };
    let result = result.and_then(|code| match terminal::failure() {
        None => Ok(code),
        Some(error) => Err(error).context("cannot write to standard output"),
    });
    match result {
        Ok(code) => code,
        Err(error) => {
            tell(&one_line(&error), error.exit_code(), prints_json);
            ExitCode::from(error.exit_code())
        }
    }
}

/// One line on standard error: for people, or as JSON where the output would have been JSON.
fn tell(message: &str, exit_code: u8, as_json: bool) {
    if as_json {
        match commands::output::json_error(message, exit_code) {
            Ok(line) => err!("{line}"),
            Err(error) => errln!("ccactl: {message}, and no JSON of it: {}", one_line(&error)),
        }
    } else {
        errln!("ccactl: {message}");
    }
}

/// What clap says. It quotes the arguments, and a shell makes arguments of the names of files.
fn complain(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        error.exit();
    }
    let code = u8::try_from(error.exit_code()).unwrap_or(ccactl_abi::exit::USAGE);
    if cli::asks_for_json() {
        let text = error.render().to_string();
        let message = text.lines().next().unwrap_or_default();
        tell(message.strip_prefix("error: ").unwrap_or(message), code, true);
    } else {
        err!("{}", error.render());
    }
    ExitCode::from(code)
}
