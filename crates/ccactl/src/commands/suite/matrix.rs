//! `ccactl bench matrix`: every algorithm beside every other, as one page.

use super::work::{Done, Place, Work};
use crate::commands::carry_out::interrupt_flag;
use crate::commands::{lab, output};
use crate::error::Result;
use ccactl_abi::exit;
use ccactl_host::{errln, out, outln, terminal};
use ccactl_report::output::write_whole;
use ccactl_suites::folder;
use ccactl_suites::matrix::{self, BUFFERS, RTTS, Wanted, default_algorithms};
use ccactl_suites::runner::{Selection, Shard};
use ccactl_suites::{Error as SuiteError, Plan, page};
use ccactl_testbed::bench::Backend;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(clap::Args)]
pub struct Args {
    /// Algorithms: names, files, native:NAME [default: all that say something on one path without ECN, and the kernel's CUBIC and BBR]
    #[arg(value_name = "ALGO")]
    algorithms: Vec<String>,
    /// Buffers
    #[arg(long = "buffer", value_name = "SIZE", default_values = BUFFERS)]
    buffers: Vec<String>,
    /// Base RTTs
    #[arg(long = "rtt", value_name = "TIME", default_values = RTTS)]
    rtts: Vec<String>,
    /// Number of runs per cell; a larger one adds to what is there
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeat: u32,
    /// Run one of several parts of the cells, such as 2/8; the page is made by the command without it
    #[arg(long, value_name = "PART/PARTS")]
    shard: Option<Shard>,
    #[command(flatten)]
    work: Work,
    /// Who carries the packets: `emulator` or `netem`
    #[arg(long, value_name = "BACKEND", default_value_t = Backend::Emulator)]
    link: Backend,
    #[command(flatten)]
    lab: lab::Args,
    /// Folder of the results; the same command goes on there
    #[arg(short, long, value_name = "DIR", default_value = "ccactl-bench-matrix")]
    output: PathBuf,
    /// Print the grids as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Result<ExitCode> {
    let kernel = args.lab.is_asked_for().then(|| args.lab.kernel()).transpose()?;
    let place = folder::Place { backend: args.link, lab: kernel.as_ref().map(|kernel| kernel.release.clone()) };
    let algorithms = if args.algorithms.is_empty() { default_algorithms() } else { args.algorithms.clone() };
    let wanted = Wanted { algorithms, buffers: args.buffers.clone(), rtts: args.rtts.clone(), repeat: args.repeat };
    let whole = matrix::plan(&wanted, &place, &args.output)?;
    let selection = Selection { shard: args.shard, ..Selection::default() };
    let plan = Plan { cells: selection.of(&whole.matrix)?, ..whole };
    let interrupt = interrupt_flag()?;
    let is_a_part = args.shard.is_some();
    let at = Place { lab: &args.lab, kernel: kernel.as_ref(), link: args.link };
    let Done { folder, ended } = args.work.carry_out(&plan, at, is_a_part, args.work.store.as_deref(), &interrupt)?;
    for failure in &ended.failures {
        errln!("{}: {}", failure.cell, failure.error);
    }
    if !ended.elsewhere.is_empty() {
        return Err(SuiteError::Elsewhere { path: folder.path().to_owned(), cells: ended.elsewhere }.into());
    }
    page::of_cells_in(&folder, &interrupt)?;
    let code = if ended.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(exit::FAILURE) };
    if is_a_part {
        outln!("when all parts have ended: the same command without --shard makes the page");
        return Ok(code);
    }
    let (grids, warnings) = matrix::read(&folder, &interrupt)?;
    let described = folder.experiment().place.described();
    let page = args.output.join("matrix.html");
    write_whole(&page, matrix::html(&grids, &warnings, &described).as_bytes())?;
    write_whole(&args.output.join("matrix.md"), matrix::markdown(&grids, &warnings).as_bytes())?;
    if args.json {
        output::json_list("grids", &grids)?;
    } else {
        out!("{}", matrix::terminal(&grids, &warnings, terminal::width()));
        outln!("page: {}", page.display());
    }
    Ok(code)
}
