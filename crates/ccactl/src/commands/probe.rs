//! `ccactl probe`

use super::carry_out::interrupt_flag;
use super::{lab, output};
use crate::error::{Context, Error, Result};
use ccactl_host::{input, name, outln};
use ccactl_loader::{Loader, pick_algorithm};
use serde::Serialize;
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(clap::Args)]
pub struct Args {
    /// Algorithm of your own (NAME.bpf.c, or an object of any build) instead of those that ccactl has
    file: Option<PathBuf>,
    /// How the file is called where it comes from (`--lab`)
    #[arg(long, hide = true, value_name = "NAME", requires = "file")]
    called: Option<String>,
    #[command(flatten)]
    lab: lab::Args,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct ObjectReport<'a> {
    object: Cow<'a, str>,
    kernel_name: String,
}

#[derive(Serialize)]
struct Report {
    kernel: String,
    algorithms: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    name: &'static str,
    kernel_name: &'static str,
    loads: bool,
    /// Only so: this kernel has no Accurate ECN.
    classic_ecn: bool,
    problem: Option<String>,
}

/// Exit 3 when an algorithm does not load here.
pub fn run(args: Args) -> Result<ExitCode> {
    if args.lab.is_asked_for() {
        return in_the_lab(&args);
    }
    let loader = Loader::open()?;
    if let Some(file) = &args.file {
        let shown = args.called.unwrap_or_else(|| name::of_path(file).into_owned());
        return probe_file(&loader, file, &shown, args.json);
    }
    let kernel = nix::sys::utsname::uname().context("uname")?.release().to_string_lossy().into_owned();
    let algorithms: Vec<Row> = loader
        .probe()
        .into_iter()
        .map(|result| Row {
            name: result.algorithm.name,
            kernel_name: result.algorithm.kernel_name,
            loads: result.problem.is_none(),
            classic_ecn: result.classic_ecn,
            problem: result.problem,
        })
        .collect();
    let all_load = algorithms.iter().all(|row| row.loads);
    if args.json {
        output::json(&Report { kernel, algorithms })?;
    } else {
        outln!("Linux {kernel}");
        let rows: Vec<[String; 3]> = algorithms
            .into_iter()
            .map(|row| {
                let verdict = match (row.loads, row.classic_ecn) {
                    (true, false) => "loads",
                    (true, true) => "loads with --set classic_ecn=1",
                    (false, _) => "does not load",
                };
                let reason = match row.problem {
                    Some(problem) => problem,
                    None if row.classic_ecn => "no Accurate ECN and ECT(1) before Linux 7.0".to_owned(),
                    None => String::new(),
                };
                [row.name.to_owned(), verdict.to_owned(), reason]
            })
            .collect();
        output::table(["ALGORITHM", "HERE", "WHY"], &rows)?;
    }
    Ok(if all_load { ExitCode::SUCCESS } else { ExitCode::from(ccactl_abi::exit::KERNEL) })
}

fn in_the_lab(args: &Args) -> Result<ExitCode> {
    let mut words = vec!["probe"];
    let mut files = Vec::new();
    let (path, shown);
    if let Some(file) = &args.file {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        path = format!("/job/{}.bpf.o", name.split('.').next().unwrap_or_default());
        files.push((path[1..].to_owned(), object_of(file)?));
        shown = name::of_path(file).into_owned();
        words.extend([&path, "--called", &shown]);
    }
    if args.json {
        words.push("--json");
    }
    args.lab.call(&words, files, &*interrupt_flag()?)
}

/// An object takes some hundred kilobytes; it is read as a whole.
const MAX_OBJECT_BYTES: u64 = 64 << 20;

/// An object need not say what it is: the kernel alone decides.
fn object_of(file: &Path) -> Result<Vec<u8>> {
    if let Some(source) = file.to_str().filter(|name| name.ends_with(".bpf.c")) {
        return Ok(pick_algorithm(source)?.object().to_vec());
    }
    let refuse = |error| Error::Argument(format!("{}: expected an object file, found: {error}", file.display()));
    input::read(file, MAX_OBJECT_BYTES).map_err(refuse)
}

/// `shown` is the file's name for its author, who may see it elsewhere.
fn probe_file(loader: &Loader, file: &Path, shown: &str, json: bool) -> Result<ExitCode> {
    let elf = object_of(file)?;
    let kernel_name = loader.probe_object(shown, &elf)?;
    if json {
        output::json(&ObjectReport { object: shown.into(), kernel_name })?;
    } else {
        outln!("{shown} ({kernel_name}) loads and registers here");
    }
    Ok(ExitCode::SUCCESS)
}
