//! `ccactl sdk`

use anyhow::{Context, Result};
use ccactl_abi::compile::FLAGS;
use ccactl_abi::objects::{HEADERS, TEMPLATES};
use ccactl_host::outln;
use ccactl_host::output::{Folder, Replace, write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(clap::Args)]
pub struct Args {
    /// Folder, made when it is missing; files of an earlier call are replaced
    folder: PathBuf,
}

const PAGE: &str = include_str!("../../../../docs/how-to/write-an-algorithm.md");

pub fn run(args: &Args) -> Result<ExitCode> {
    let templates = TEMPLATES.iter().map(|(name, text)| (format!("templates/{name}.bpf.c"), (*text).to_owned()));
    let headers = HEADERS.iter().map(|(name, text)| (format!("include/{name}"), (*text).to_owned()));
    let page = ("write-an-algorithm.md".to_owned(), PAGE.to_owned());
    // For clangd, which reads it beside the file that is edited.
    let flags = ("compile_flags.txt".to_owned(), FLAGS.join("\n") + "\n-Iinclude\n");
    for (name, text) in headers.chain(templates).chain([page, flags]) {
        put(&args.folder.join(&name), &text).with_context(|| args.folder.join(name).display().to_string())?;
    }
    let folder = args.folder.display();
    outln!("{folder}: headers in include/, beginnings in templates/, compile_flags.txt, write-an-algorithm.md");
    Ok(ExitCode::SUCCESS)
}

fn put(path: &Path, text: &str) -> Result<()> {
    Folder::make(path.parent().expect("it is in a folder"))?;
    Ok(write(path, text.as_bytes(), Replace::Ours)?)
}
