//! `ccactl sdk`

use crate::error::{Context, Error, Result};
use ccactl_abi::compile::FLAGS;
use ccactl_abi::objects::{HEADERS, TEMPLATES};
use ccactl_host::output::{Folder, Replace, write};
use ccactl_host::{input, outln};
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(clap::Args)]
pub struct Args {
    /// Folder, made when it is missing; a file there with other content stays, and is an error
    folder: PathBuf,
}

const PAGE: &str = include_str!("../../../../docs/how-to/write-an-algorithm.md");
const HEADERS_PAGE: &str = include_str!("../../../../bpf/README.md");

pub fn run(args: &Args) -> Result<ExitCode> {
    let templates = TEMPLATES.iter().map(|(name, text)| (format!("templates/{name}.bpf.c"), (*text).to_owned()));
    let headers = HEADERS.iter().map(|(name, text)| (format!("include/{name}"), (*text).to_owned()));
    let pages = [
        ("write-an-algorithm.md".to_owned(), PAGE.replace("../../bpf/README.md", "include/README.md")),
        ("include/README.md".to_owned(), HEADERS_PAGE.to_owned()),
    ]
    .map(|(name, text)| (name, without_links_up(&text)));
    // For clangd, which reads it beside the file that is edited.
    let flags = ("compile_flags.txt".to_owned(), FLAGS.join("\n") + "\n-Iinclude\n");
    let files = headers.chain(templates).chain(pages).chain([flags]);
    let files: Vec<(PathBuf, String)> = files.map(|(name, text)| (args.folder.join(name), text)).collect();
    // All or nothing: what is in the way is told before the first is written.
    let missing: Vec<bool> = files.iter().map(|(path, text)| is_missing(path, text)).collect::<Result<_>>()?;
    for ((path, text), _) in files.iter().zip(missing).filter(|(_, is_missing)| *is_missing) {
        put(path, text).with_context(|| path.display().to_string())?;
    }
    let folder = args.folder.display();
    outln!("{folder}: headers in include/, beginnings in templates/, compile_flags.txt, write-an-algorithm.md");
    Ok(ExitCode::SUCCESS)
}

/// Whether a file is to be written; one that is there has this very content.
fn is_missing(path: &Path, text: &str) -> Result<bool> {
    const LARGEST: u64 = 1 << 20;
    match input::read(path, LARGEST) {
        Ok(found) if found == text.as_bytes() => Ok(false),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        _ => Err(Error::Refused(format!(
            "{}: expected nothing, or what this ccactl writes there, found something else: choose another folder",
            path.display()
        ))),
    }
}

fn put(path: &Path, text: &str) -> Result<()> {
    Folder::make(path.parent().expect("it is in a folder"))?;
    Ok(write(path, text.as_bytes(), Replace::Never)?)
}

/// The page without links to what stays behind: `[text](../…)` becomes `text`.
fn without_links_up(page: &str) -> String {
    let mut parts = page.split("](../");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        if let Some(at) = text.rfind('[') {
            text.remove(at);
        }
        text += part.split_once(')').map_or(part, |(_, rest)| rest);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_to_other_pages_become_their_text() {
        assert_eq!(without_links_up("See [the lab](../lab.md#a) and [this](#b)."), "See the lab and [this](#b).");
        assert!(!without_links_up(PAGE).contains("](../"));
    }
}
