//! `cargo xtask measure NAME`: the experiments behind the tables of `docs/`, and those tables.

use crate::error::Result;
use crate::soak::with_ccactl;

/// Builds `ccactl` and hands over to `crates/testbed/examples/measure`.
pub fn run(args: &[&str]) -> Result {
    with_ccactl("measure", "measure", args)
}
