//! `cargo xtask fuzz`: one input format for a while. cargo-fuzz and the targets are a workspace of their own (`fuzz/`).

use crate::error::Result;
use crate::shell::{cargo, heading, run as run_command};

/// Targets that need polars, compiled with coverage counters: half an hour.
const WITH_POLARS: [&str; 2] = ["report_stream", "report_parquet"];
/// What an input may take; every format is read in bounded memory.
const MEMORY_MB: u32 = 2048;

/// Fuzzes `target`; a finding is left in `fuzz/artifacts/` and ends it.
pub fn run(target: &str, seconds: u32) -> Result {
    heading(&format!("fuzz {target} for {seconds} s"));
    let mut fuzz = cargo();
    // The counters are a feature of the nightly compiler that the stable one has too.
    fuzz.env("RUSTC_BOOTSTRAP", "1").args(["fuzz", "run", "--sanitizer", "none", "--release"]);
    if WITH_POLARS.contains(&target) {
        fuzz.args(["--features", "report"]);
    }
    let limits = [format!("-max_total_time={seconds}"), format!("-rss_limit_mb={MEMORY_MB}"), "-timeout=20".to_owned()];
    run_command(fuzz.arg(target).arg("--").args(limits))
}
