//! `cargo xtask bench NAME`: what each algorithm costs, what a recording
//! costs, and how long a swap takes, as the tables of `docs/performance.md`.

use crate::error::Result;
use crate::setup::{self, Scope};
use crate::shell::{self, heading};

/// Builds and runs `crates/loader/examples/cost`.
pub fn algorithms(args: &[&str]) -> Result {
    setup::tools(Scope::Build)?;
    heading("build");
    // With the features of the whole workspace, as everything else is built.
    shell::run(shell::cargo().args(["build", "--release", "--workspace", "--example", "cost"]))?;
    heading("bench");
    shell::run(shell::program(shell::target_dir().join("release/examples/cost")).args(args))
}

/// Builds `ccactl` and runs `crates/testbed/examples/record_cost`.
pub fn collector(args: &[&str]) -> Result {
    crate::soak::with_ccactl("record_cost", "bench", args)
}

/// Builds `ccactl` and runs `crates/testbed/examples/swap_time`.
pub fn swap(args: &[&str]) -> Result {
    crate::soak::with_ccactl("swap_time", "bench", args)
}
