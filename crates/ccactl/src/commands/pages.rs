//! `ccactl __pages`: what packages have beside the program, written from its command line.

use crate::error::{Context, Result};
use clap_complete::Shell;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(clap::Args)]
pub struct Args {
    /// Gets the folders `man` and `completions`
    folder: PathBuf,
}

pub fn run(args: &Args, command: clap::Command) -> Result<ExitCode> {
    // `help` would have a page for each page.
    let mut command = command.disable_help_subcommand(true);
    command = command.mut_subcommand("bench", |bench| bench.disable_help_subcommand(true));
    let (man, completions) = (args.folder.join("man"), args.folder.join("completions"));
    for folder in [&man, &completions] {
        fs::create_dir_all(folder).with_context(|| format!("make {}", folder.display()))?;
    }
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        clap_complete::generate_to(shell, &mut command, "ccactl", &completions)
            .with_context(|| format!("write completions for {shell}"))?;
    }
    clap_mangen::generate_to(command, &man).with_context(|| format!("write manual pages into {}", man.display()))?;
    Ok(ExitCode::SUCCESS)
}
