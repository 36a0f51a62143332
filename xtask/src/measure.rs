//! The programs of `measure/`, a workspace of its own: built here, into the folder where the product's dependencies lie compiled.

use crate::error::Result;
use crate::setup::{self, Scope};
use crate::shell::{self, cargo, heading, target_dir};
use std::path::PathBuf;
use std::process::Command;

/// Of the workspace.
pub const MANIFEST: &str = "measure/Cargo.toml";

/// `cargo xtask measure NAME`: the experiments behind the tables of `docs/`, and those tables.
pub fn run(args: &[&str]) -> Result {
    with_ccactl("measure", "measure", args)
}

/// `cargo xtask measure canary`, which has no plan of benches.
pub fn canary(args: &[&str]) -> Result {
    setup::tools(Scope::Build)?;
    heading("build");
    let program = program("canary")?;
    heading("canary");
    shell::run(shell::program(program).args(args))
}

/// Builds `ccactl` and a program that starts it, and runs the program.
pub fn with_ccactl(name: &str, step: &str, args: &[&str]) -> Result {
    setup::tools(Scope::Build)?;
    heading("build");
    let ccactl = ccactl()?;
    let program = program(name)?;
    heading(step);
    shell::run(shell::program(program).env("CCACTL", ccactl).args(args))
}

/// Builds `ccactl`, as users have it; where it lies.
pub fn ccactl() -> Result<PathBuf> {
    shell::run(cargo().args(["build", "--release", "--package", "ccactl"]))?;
    Ok(target_dir().join("release/ccactl"))
}

/// Builds a program of `measure/`; where it lies.
pub fn program(name: &str) -> Result<PathBuf> {
    shell::run(with_manifest("build").args(["--release", "--bin", name]))?;
    Ok(target_dir().join("release").join(name))
}

/// A command of cargo's for `measure/`.
pub fn with_manifest(command: &str) -> Command {
    let mut cargo = cargo();
    cargo.args([command, "--manifest-path", MANIFEST]);
    cargo
}
