//! `cargo xtask bench algorithms`: what the algorithms cost.

use crate::error::Result;
use crate::setup::{self, Scope};
use crate::shell::{self, heading};

/// Builds and hands over to `crates/loader/examples/cost`.
pub fn algorithms(args: &[&str]) -> Result {
    setup::tools(Scope::Build)?;
    heading("build");
    // With ccactl, so that the dependencies have the features that the other commands have compiled.
    let packages = ["--package", "ccactl", "--package", "ccactl-loader", "--bin", "ccactl", "--example", "cost"];
    shell::run(shell::cargo().args(["build", "--release"]).args(packages))?;
    heading("bench");
    shell::run(shell::program(shell::target_dir().join("release/examples/cost")).args(args))
}
