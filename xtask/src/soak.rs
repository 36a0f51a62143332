//! `cargo xtask soak`: hundreds of swaps and kills under thousands of checked connections, as in `docs/reliability.md`.

use crate::error::Result;
use crate::setup::{self, Scope};
use crate::shell::{self, heading};

/// Builds and runs `crates/testbed/examples/soak`.
pub fn run(args: &[&str]) -> Result {
    with_ccactl("soak", "soak", args)
}

/// Builds `ccactl` and an example of the testbed that starts it, and runs the example.
pub fn with_ccactl(example: &str, step: &str, args: &[&str]) -> Result {
    setup::tools(Scope::Build)?;
    heading("build");
    let mut build = shell::cargo();
    // With the features that the tests have: nothing is compiled twice.
    build.args(["build", "--release", "--workspace", "--bin", "ccactl"]);
    shell::run(build.args(["--example", example]))?;
    heading(step);
    let release = shell::target_dir().join("release");
    let mut program = shell::program(release.join("examples").join(example));
    shell::run(program.env("CCACTL", release.join("ccactl")).args(args))
}
