//! `cargo xtask fuzz`: one input format for a while. cargo-fuzz and the targets are a workspace of their own (`fuzz/`).

use crate::error::{Error, Result};
use crate::shell::{cargo, heading, root, run as run_command};
use std::fs;

/// Targets that need polars, compiled with coverage counters: half an hour.
const WITH_POLARS: [&str; 2] = ["report_stream", "report_parquet"];
/// What an input may take; every format is read in bounded memory.
const MEMORY_MB: u32 = 2048;
/// Longest input: that of a seed and room to grow. Longer ones cost time and reach nothing new.
const INPUT_BYTES: u32 = 64 << 10;

/// Fuzzes `target`, from its seeds and from what earlier runs have found (`fuzz/corpus/`); a finding is left in
/// `fuzz/artifacts/` and ends it.
pub fn run(target: &str, seconds: u32) -> Result {
    heading(&format!("fuzz {target} for {seconds} s"));
    // The first folder is the one that libFuzzer writes to: what is committed stays as it is.
    let corpus = format!("fuzz/corpus/{target}");
    fs::create_dir_all(root().join(&corpus)).map_err(|error| Error::io(&format!("cannot make {corpus}"), &error))?;
    let seeds = format!("fuzz/seeds/{target}");

    let mut fuzz = cargo();
    // The counters are a feature of the nightly compiler that the stable one has too.
    fuzz.env("RUSTC_BOOTSTRAP", "1").args(["fuzz", "run", "--sanitizer", "none", "--release"]);
    if WITH_POLARS.contains(&target) {
        fuzz.args(["--no-default-features", "--features", "report", "--codegen-units", "16"]);
    }
    let mut limits = vec![
        format!("-max_total_time={seconds}"),
        format!("-rss_limit_mb={MEMORY_MB}"),
        format!("-max_len={INPUT_BYTES}"),
        "-timeout=20".to_owned(),
    ];
    let words = format!("fuzz/{target}.dict");
    if root().join(&words).exists() {
        limits.push(format!("-dict={words}"));
    }
    run_command(fuzz.args([target, &corpus, &seeds]).arg("--").args(limits))
}
