//! `cargo xtask`: the only door for developers. CI calls the same commands as people do.
//!
//! One module per subcommand. No dependencies, so that it builds in a second on a machine that has nothing but Rust.

mod bench;
mod book;
mod commits;
mod demo;
mod dist;
mod error;
mod features;
mod fuzz;
mod generate;
mod lint;
mod measure;
mod setup;
mod shell;
mod shots;
mod soak;
mod test;
mod vm;
mod words;

use error::{Error, Result};
use std::process::ExitCode;

const USAGE: &str = "\
Usage: cargo xtask COMMAND

  setup                 Install what the build, the tests and the gates need; say what this kernel offers
  demo [ARGS…]          setup, build, then `ccactl demo ARGS…` (as root, through sudo where needed)
  test [--sudo] [-- ARGS…]
                        setup, then `cargo test --release` on the workspace, ARGS handed to cargo test;
                        --sudo starts the test binaries as root
  measure canary [--trials N] [--watch SECONDS] [--connections N,…] [--only same,slower,lossier]
                        build, then canaries that are no different, and worse ones, on the testbed: how many are taken back
                        (root, a quiet machine, an hour and a half); the table of docs/how-to/canary.md
  measure fidelity|fairness|loss|catalogue|figures|invariants|swaps
          [--dir DIR] [--only NAME,…] [--quick] [--tables-only]
                        setup, build, then the experiments behind the tables and figures of docs/ (root, a quiet
                        machine); invariants ends with 6 when one does not hold
  bench algorithms [--only NAME,…] [--pairs N]
                        setup, build, then size and time of every algorithm's programs and its throughput over loopback
                        beside the kernel's own (root, an idle machine); 6 when a twin is slower than its native one
  bench collector [--pairs N] [--seconds N] [--flows N,…]
                        setup, build, then a bulk transfer over loopback with and without a recording, and with a loop of
                        ss (root, an idle machine); 6 when the recorded throughput, the drops or the bytes per row miss
                        their goals
  bench dev             setup, build, then the time from a saved C file to live connections on the new code (root)
  bench bystanders blackbox|page [--connections N]
                        setup, build, then the host's time with and without a black box beside ordinary traffic, and its
                        files of provoked timeouts; or the time and memory of a live page (root, an idle machine)
  bench swap [--repeats N] [--connections N,…]
                        setup, build, then the time of a swap with up to 50 000 connections (root, an idle machine); 6
                        when the iteration over 10 000 connections of two namespaces takes 100 ms or more
  bench emulator [--rates MBIT,…] [--seconds N] [--rounds N] [--ticks US,…] [--load]
                        setup, build, then rate error, lateness and CPU of the emulator beside those of a bare forwarder and
                        of rattan (measure/rattan, a workspace of its own), round by round, as the tables of
                        docs/performance.md; --ticks: also the emulator with other ticks; --load: beside a compiler per CPU; needs
                        root
  bench runs [--links N] [--mbit N …] [--rtt-ms N] [--runs N] [--profile]
                        setup, build, then whole runs over fast links or many; --profile: where their emulator spends its time
                        (with perf); needs root
  bench simulator [ROUNDS]
                        setup, build, then packets per second of CPU time of the simulator beside ns-3, with 1, 100 and 10 000 flows,
                        where the Python module ns3 is there
  bench report [ROWS]   setup, build, then time and memory of `ccactl report` on a synthetic recording of 100 million rows, beside
                        DuckDB where the Python module duckdb is there; the recording stays in target/bench-report
  bench fleet [ROWS]    setup, build, then summaries of parts: time on one, two and three nodes for 100 million rows, and ten times as
                        many rows made, folded and removed part by part (root)
  sim fidelity [--kernel VERSION] [--jobs N] [--paths NAME,…] [--only NAME,…] [--itself] [--start TIME]
                        setup, build, then one flow of each algorithm in the virtual lab and in the simulator, compared ACK by ACK;
                        with --itself the lab beside itself, 2.3 ms later or as --start says; needs the Python module polars; results stay in target/sim-fidelity
  shots                 setup, then the pictures of docs/how-to anew, in a headless Chromium (root)
  soak [--quick] [--seed N] [--connections N] [--swaps N] [--kills N]
                        setup, build, then 200 swaps and 50 kills of ccactl under 2 000 connections on which every byte
                        is checked (root; five minutes); the section of docs/reliability.md
  vm matrix [--clock virtual|host] [KERNEL…]
                        setup, build, then every algorithm on seven kernels in the virtual lab (no root; downloads kernels), as the
                        table of docs/kernels.md; with KERNELs such as 6.12 only prints; 6 when one loads and does not work
  vm fidelity [--kernel KERNEL] [--dir DIR] [--only NAME,…] [--paths NAME,…] [--phases N] [--tables-only]
                        setup, build, then every algorithm that Linux has too beside the kernel's own, ACK by ACK, in the virtual lab
                        (no root); without arguments the tables of docs/fidelity.md; 6 when one differs before the first loss or mark
  vm cost [--kernel KERNEL] [--only NAME,…] [--megabytes N] [--seconds N]
                        setup, build, then guest time per megabyte and ACK of every algorithm and of the kernel's own, with and without
                        a recording, in the virtual lab (no root); without arguments the tables of docs/performance.md; 6 when one of
                        ours costs more than 1.01 of its twin (over the path: in runs five times as long, too)
  vm ring [--kernel KERNEL] [--duration SECONDS]
                        setup, build, then what the send ring of BBRv2 and its descendants knows of a packet beside the truth, in the
                        virtual lab (no root); without arguments the table of docs/fidelity.md
  lint [--deny]         fmt, clippy, rustdoc, clang-format, features, generated text, words,
                        commits, cargo-deny (--deny installs it)
  words [FILE…]         long sentences of documents and doc comments; of documents also long lines, and links and
                        paths that lead nowhere
  book                  The documents as a book, in target/book (needs mdbook)
  dist                  Packages in target/dist: .deb, .rpm, a tarball, a bill of materials, SHA256SUMS (installs cargo-deb,
                        cargo-generate-rpm and cargo-cyclonedx)
  gen [--check]         Write the tables of README.md and docs/schema.md from the code; --check only compares
  fuzz NAME [SECONDS]   Fuzz one input format, a minute unless said otherwise, from fuzz/seeds/NAME and what earlier
                        runs have left in fuzz/corpus/NAME
";

/// Unless said otherwise.
const FUZZ_SECONDS: u32 = 60;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&args) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::from(error.code)
        }
    }
}

fn dispatch(args: &[String]) -> Result<ExitCode> {
    let Some((command, rest)) = args.split_first() else {
        return Err(Error::new(error::USAGE, format!("no command given\n\n{USAGE}")));
    };
    let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
    match (command.as_str(), rest.as_slice()) {
        // ccactl demo has a help of its own.
        ("demo", args) => return demo::run(args),
        ("-h" | "--help" | "help", _) | (_, ["-h" | "--help"]) => print!("{USAGE}"),
        ("setup", []) => setup::run(setup::Scope::Lint)?,
        ("test", []) => test::run(false, &[])?,
        ("test", ["--sudo"]) => test::run(true, &[])?,
        ("test", ["--", args @ ..]) => test::run(false, args)?,
        ("test", ["--sudo", "--", args @ ..]) => test::run(true, args)?,
        ("measure", ["canary", args @ ..]) => measure::canary(args)?,
        ("measure", args @ [_, ..]) => measure::run(args)?,
        ("bench", ["algorithms", args @ ..]) => bench::algorithms(args)?,
        ("bench", ["collector", args @ ..]) => bench::collector(args)?,
        ("bench", ["bystanders", args @ ..]) => bench::bystanders(args)?,
        ("bench", ["swap", args @ ..]) => bench::swap(args)?,
        ("bench", ["dev"]) => bench::dev()?,
        ("bench", ["emulator", args @ ..]) => bench::emulator(args)?,
        ("bench", ["runs", args @ ..]) => bench::runs(args)?,
        ("bench", ["simulator", args @ ..]) => bench::simulator(args)?,
        ("sim", ["fidelity", args @ ..]) => bench::fidelity(args)?,
        ("bench", ["report", args @ ..]) => bench::report(args)?,
        ("bench", ["fleet", args @ ..]) => bench::fleet(args)?,
        ("shots", []) => shots::run()?,
        ("soak", args) => soak::run(args)?,
        ("vm", ["matrix", args @ ..]) => vm::matrix(args)?,
        ("vm", ["fidelity", args @ ..]) => vm::fidelity(args)?,
        ("vm", ["cost", args @ ..]) => vm::cost(args)?,
        ("vm", ["ring", args @ ..]) => vm::ring(args)?,
        ("lint", []) => lint::run(false)?,
        ("lint", ["--deny"]) => lint::run(true)?,
        ("words", files) => words::run(files)?,
        ("book", []) => book::run()?,
        ("dist", []) => dist::run()?,
        ("gen", []) => generate::run(false)?,
        ("gen", ["--check"]) => generate::run(true)?,
        ("fuzz", [target]) => fuzz::run(target, FUZZ_SECONDS)?,
        ("fuzz", [target, seconds]) if seconds.parse::<u32>().is_ok() => {
            fuzz::run(target, seconds.parse().unwrap_or(FUZZ_SECONDS))?;
        }
        ("setup" | "test" | "measure" | "bench" | "sim" | "vm" | "lint" | "book" | "dist" | "gen" | "fuzz", _) => {
            return Err(Error::new(error::USAGE, format!("{command} does not take `{}`\n\n{USAGE}", rest.join(" "))));
        }
        _ => return Err(Error::new(error::USAGE, format!("no command `{command}`\n\n{USAGE}"))),
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(args: &[&str]) -> u8 {
        let args: Vec<String> = args.iter().map(ToString::to_string).collect();
        dispatch(&args).expect_err("bad usage").code
    }

    #[test]
    fn bad_usage_is_refused_before_anything_is_done() {
        for args in [&[][..], &["frobnicate"], &["setup", "now"], &["test", "x"], &["lint", "--fix"], &["gen", "check"]]
        {
            assert_eq!(code(args), error::USAGE, "{args:?}");
        }
    }
}
