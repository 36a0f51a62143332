//! `cargo xtask measure NAME`: the experiments behind the tables of `docs/`, and those tables.

use crate::error::Result;
use crate::setup::{self, Scope};
use crate::shell::{self, heading};

/// Builds `ccactl` and hands over to `crates/testbed/examples/measure`.
pub fn run(args: &[&str]) -> Result {
    setup::tools(Scope::Build)?;
    heading("build");
    shell::run(
        shell::cargo().args(["build", "--release", "--package", "ccactl", "--package", "ccactl-testbed"]).args([
            "--bin",
            "ccactl",
            "--example",
            "measure",
        ]),
    )?;
    heading("measure");
    let release = shell::target_dir().join("release");
    let mut measure = shell::program(release.join("examples/measure"));
    measure.env("CCACTL", release.join("ccactl"));
    shell::run(measure.args(args))
}
