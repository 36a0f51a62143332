//! `ccactl bench matrix`: every algorithm beside every other, as one page.

use super::work::{Done, Place, Work};
use crate::commands::carrier::Carrier;
use crate::commands::carry_out::interrupt_flag;
use crate::commands::{lab, output};
use crate::error::Result;
use ccactl_abi::exit;
use ccactl_host::output::Folder;
use ccactl_host::{errln, out, outln, terminal};
use ccactl_report::output::write_whole;
use ccactl_suites::folder::{self, SuiteFolder};
use ccactl_suites::matrix::{self, BUFFERS, Grid, RATE, RTTS, Wanted, default_algorithms};
use ccactl_suites::runner::{Selection, Shard};
use ccactl_suites::{Error as SuiteError, Plan, page};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

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
    /// Rate of the link
    #[arg(long, value_name = "RATE", default_value = RATE)]
    rate: String,
    /// Flows of each of the two algorithms
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=100))]
    flows: u8,
    /// Number of runs per cell; a larger one adds to what is there
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeat: u32,
    /// Up to so many runs of the pairs that hang on chance: two runs of each, and more of those in which the share is 10 points or more apart
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    settle: Option<u32>,
    /// Run one of several parts of the cells, such as 2/8; the page is made by the command without it
    #[arg(long, value_name = "PART/PARTS")]
    shard: Option<Shard>,
    #[command(flatten)]
    work: Work,
    #[command(flatten)]
    carrier: Carrier,
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
    let backend = args.carrier.backend();
    let place = folder::Place { backend, lab: kernel.as_ref().map(|kernel| kernel.release.clone()) };
    let algorithms = if args.algorithms.is_empty() { default_algorithms(backend) } else { args.algorithms.clone() };
    let wanted = Wanted {
        algorithms,
        buffers: args.buffers.clone(),
        rtts: args.rtts.clone(),
        rate: args.rate.clone(),
        flows: args.flows.into(),
        // One run says nothing of chance.
        repeat: args.repeat.max(if args.settle.is_some() { 2 } else { 1 }),
    };
    let whole = matrix::plan(&wanted, &place, &args.output)?;
    let selection = Selection { shard: args.shard, ..Selection::default() };
    let plan = Plan { cells: selection.of(&whole.matrix)?, ..whole };
    let interrupt = interrupt_flag()?;
    let is_a_part = args.shard.is_some();
    let at = Place { lab: &args.lab, kernel: kernel.as_ref(), link: args.carrier.backend() };
    let failed = Cell::new(false);
    let carry_out = |plan: &Plan| -> Result<SuiteFolder> {
        let Done { folder, ended } =
            args.work.carry_out(plan, at, is_a_part, args.work.store.as_deref(), &interrupt)?;
        for failure in &ended.failures {
            errln!("{}: {}", failure.cell, failure.error);
        }
        if !ended.elsewhere.is_empty() {
            return Err(SuiteError::Elsewhere { path: folder.path().to_owned(), cells: ended.elsewhere }.into());
        }
        failed.set(failed.get() || !ended.failures.is_empty());
        Ok(folder)
    };
    let mut folder = carry_out(&plan)?;
    if let Some(runs) = args.settle {
        folder = carry_out(&settling(&plan, &folder, runs, &interrupt)?)?;
    }
    page::of_cells_in(&folder, &interrupt)?;
    let code = if failed.get() { ExitCode::from(exit::FAILURE) } else { ExitCode::SUCCESS };
    if is_a_part {
        outln!("when all parts have ended: the same command without --shard makes the page");
        return Ok(code);
    }
    let (grids, warnings) = matrix::read(&folder, &interrupt)?;
    let described = folder.experiment().place.described();
    let page = args.output.join("matrix.html");
    write_whole(&page, matrix::html(&grids, &warnings, &described).as_bytes())?;
    let (text, drawings) = matrix::markdown(&grids, &warnings);
    write_whole(&args.output.join("matrix.md"), text.as_bytes())?;
    let figures = args.output.join("figures");
    Folder::make(&figures)?;
    for drawing in drawings {
        write_whole(&figures.join(format!("{}.svg", drawing.name)), drawing.svg.as_bytes())?;
    }
    if args.json {
        output::json_list("grids", &grids)?;
    } else {
        out!("{}", matrix::terminal(&grids, &warnings, terminal::width()));
        outln!("page: {}", page.display());
    }
    Ok(code)
}

/// The pairs that hang on chance by what is there, with as many runs.
fn settling(plan: &Plan, folder: &SuiteFolder, runs: u32, interrupt: &AtomicBool) -> Result<Plan> {
    let (grids, _) = matrix::read(folder, interrupt)?;
    let open: BTreeSet<&str> = grids.iter().flat_map(Grid::hanging_on_chance).collect();
    let mut cells: Vec<_> = plan.cells.iter().filter(|cell| open.contains(cell.id.as_str())).cloned().collect();
    for cell in &mut cells {
        cell.scenario.repeat = runs.max(cell.scenario.repeat);
    }
    Ok(Plan { cells, ..plan.clone() })
}
