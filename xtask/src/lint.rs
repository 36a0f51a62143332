//! `cargo xtask lint`: the gates. All of them run, so that one call names everything that is wrong.

use crate::error::{Error, FAILURE, Result};
use crate::measure;
use crate::setup::{self, Scope};
use crate::shell::{self, cargo, heading, program, root, succeeds};
use std::path::{Path, PathBuf};

/// A check that prints what it finds.
type Gate = fn() -> Result;

/// Runs every gate; `install_deny` fetches cargo-deny when it is not there.
pub fn run(install_deny: bool) -> Result {
    setup::tools(Scope::Lint)?;
    rust_components()?;
    let gates: [(&str, Gate); 9] = [
        ("rustfmt", rustfmt),
        ("clippy", clippy),
        ("rustdoc", rustdoc),
        ("clang-format", clang_format),
        ("features", crate::features::check),
        ("packages", packages),
        ("generated text", || crate::generate::run(true)),
        ("words", || crate::words::run(&[])),
        ("commits", crate::commits::check),
    ];
    let mut failed = Vec::new();
    for (name, gate) in gates {
        heading(name);
        if let Err(error) = gate() {
            eprintln!("xtask: {error}");
            failed.push(name);
        }
    }
    heading("cargo-deny");
    if let Err(error) = deny(install_deny) {
        eprintln!("xtask: {error}");
        failed.push("cargo-deny");
    }
    if failed.is_empty() {
        println!("\nlint: ok");
        return Ok(());
    }
    Err(Error::new(FAILURE, format!("lint failed: {}", failed.join(", "))))
}

/// rustfmt and clippy come with rustup's default profile, but not with its minimal one.
fn rust_components() -> Result {
    let missing = |tool: &str| !succeeds(cargo().args([tool, "--version"]));
    let components: Vec<&str> = [("fmt", "rustfmt"), ("clippy", "clippy")]
        .into_iter()
        .filter(|(tool, _)| missing(tool))
        .map(|(_, c)| c)
        .collect();
    if components.is_empty() {
        return Ok(());
    }
    println!("installing with rustup: {}", components.join(" "));
    shell::run(program("rustup").args(["component", "add"]).args(components))
}

fn rustfmt() -> Result {
    shell::run(cargo().args(["fmt", "--all", "--check"]))?;
    shell::run(measure::with_manifest("fmt").arg("--check"))
}

fn clippy() -> Result {
    let mut clippy = cargo();
    clippy.args(["clippy", "--release", "--workspace", "--all-targets"]).args(shell::FEATURES);
    shell::run(clippy.args(["--", "-D", "warnings"]))?;
    shell::run(measure::with_manifest("clippy").args(["--release", "--all-targets", "--", "-D", "warnings"]))
}

fn rustdoc() -> Result {
    let mut doc = cargo();
    doc.args(["doc", "--release", "--workspace", "--no-deps"]).args(shell::FEATURES);
    shell::run(doc.env("RUSTDOCFLAGS", "-D warnings"))
}

/// What makes sense without ccactl, and what it builds on. Each is complete: nothing of it lies outside of its folder.
const PACKAGES: [&str; 5] = ["ccactl-abi", "ccactl-host", "ccactl-link", "ccactl-recording", "ccactl-report"];

/// Without building them, which would compile polars once more.
fn packages() -> Result {
    let mut package = cargo();
    package.args(["package", "--no-verify", "--allow-dirty", "--quiet"]);
    for name in PACKAGES {
        package.args(["--package", name]);
    }
    shell::run(&mut package)
}

/// Where this project's C is.
const C_FOLDERS: [&str; 2] = ["bpf", "crates/lab/preload"];

fn clang_format() -> Result {
    let files = all_c_files()?;
    shell::run(program("clang-format").args(["--dry-run", "-Werror"]).args(&files))?;
    println!("{} files of {} are laid out as .clang-format says", files.len(), C_FOLDERS.join(" and "));
    Ok(())
}

fn all_c_files() -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for folder in C_FOLDERS {
        c_files(&root().join(folder), &mut files).map_err(|error| Error::io(folder, &error))?;
    }
    files.sort();
    Ok(files)
}

fn c_files(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            c_files(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "c" || extension == "h") {
            files.push(path);
        }
    }
    Ok(())
}

/// Licences, duplicates and sources of the dependencies. Advisories are left out: they need a database from the net, and a
/// gate must say the same tomorrow as today.
fn deny(install: bool) -> Result {
    if !succeeds(cargo().args(["deny", "--version"])) {
        if !install {
            println!("NOT CHECKED: cargo-deny is not installed; `cargo xtask lint --deny` installs it");
            return Ok(());
        }
        shell::run(cargo().args(["install", "--locked", "cargo-deny"]))?;
    }
    shell::run(cargo().args(["deny", "--locked", "check", "--hide-inclusion-graph", "bans", "licenses", "sources"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_c_file_is_checked() {
        let files = all_c_files().expect("the folders are readable");
        let has = |end: &str| files.iter().any(|file| file.ends_with(end));
        assert!(has("attach.bpf.c") && has("cc/reno.bpf.c") && has("include/cc.bpf.h"), "{files:?}");
        assert!(has("preload/host_time.c"), "{files:?}");
        assert!(!files.iter().any(|file| file.ends_with("LICENSE")));
    }
}
