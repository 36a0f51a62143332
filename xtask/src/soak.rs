//! `cargo xtask soak`: hundreds of swaps and kills under thousands of checked connections, as in `docs/reliability.md`.

use crate::error::Result;
use crate::measure;

/// Builds and runs `measure/src/bin/soak`.
pub fn run(args: &[&str]) -> Result {
    measure::with_ccactl("soak", "soak", args)
}
