//! `ccactl bench run` and `ccactl bench list`

use super::carry_out::{How, interrupt_flag};
use super::guests::{self, Guests};
use super::{lab, output};
use crate::error::{Context, Result};
use ccactl_abi::exit;
use ccactl_host::units::duration_text;
use ccactl_host::{errln, out, outln, terminal};
use ccactl_loader::Loader;
use ccactl_scenario::Variant;
use ccactl_suites::page::{Report, Subject, terminal};
use ccactl_suites::progress::{Ground, Progress};
use ccactl_suites::runner::{self, Executor, Only, Place, SuiteFolder, Testbed};
use ccactl_suites::score::{self, Scored};
use ccactl_suites::suite::papers;
use ccactl_suites::{Cell, Listed, Plan, Request, Size, results};
use ccactl_testbed::bench::{ATTEMPTS, Backend, Limits, Options};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

#[derive(clap::Args)]
pub struct Args {
    /// Name of a suite (`ccactl bench list`), or a scenario file with or without a matrix
    name: String,
    /// Only cells with these labels; several are alternatives
    #[arg(long, value_name = "AXIS=VALUE,…")]
    only: Vec<Only>,
    /// Number of runs per cell
    #[arg(long, value_name = "N")]
    repeat: Option<u32>,
    /// Seed of random losses and queues; run N of a cell uses seed + N
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// The scaled version of the scenario; says what it changes
    #[arg(long, conflicts_with = "as_printed")]
    quick: bool,
    /// Under the conditions that the printed figures were inferred to have; says what it assumes
    #[arg(long)]
    as_printed: bool,
    /// Any field, such as `duration=60s`
    #[arg(long, value_name = "FIELD=VALUE")]
    set: Vec<String>,
    /// Cells side by side [default: what `ccactl bench calibrate` measured for this rate, else 1]
    #[arg(long, value_name = "N")]
    jobs: Option<std::num::NonZeroUsize>,
    /// Who carries the packets: `emulator` or `netem`, for all cells
    #[arg(long, value_name = "BACKEND", default_value_t = Backend::Emulator)]
    link: Backend,
    #[command(flatten)]
    lab: lab::Args,
    /// How often a run is tried until it is valid
    #[arg(long, value_name = "N", default_value_t = ATTEMPTS, value_parser = clap::value_parser!(u32).range(1..=100))]
    attempts: u32,
    /// Folder; a suite that was interrupted in it goes on [default: ./ccactl-bench-NAME, with -quick or -as-printed]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// End with 6 when an ordering fails too, not only when a threshold of the scenario is missed
    #[arg(long)]
    strict: bool,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> Result<ExitCode> {
    let as_printed = args.as_printed.then_some(Variant::AsPrinted);
    let variant = args.quick.then_some(Variant::Quick).or(as_printed);
    let plan = Plan::new(&Request {
        name: args.name,
        only: args.only,
        repeat: args.repeat,
        seed: args.seed,
        variant,
        set: args.set,
        folder: args.output,
    })?;
    plan.changed.iter().for_each(|change| errln!("not as the scenario is written: {change}"));
    let interrupt = interrupt_flag()?;
    let how = How { attempts: args.attempts, backend: args.link, phase: None };
    let guests = args.lab.is_asked_for().then(|| args.lab.kernel()).transpose()?;
    if guests.is_none() {
        Loader::open()?;
        for cell in &plan.cells {
            args.link.check(&cell.scenario).with_context(|| format!("cell {}", cell.id))?;
        }
    }
    let place = Place { backend: args.link, lab: guests.as_ref().map(|kernel| kernel.release.clone()) };
    let folder = SuiteFolder::open(&plan.folder, &plan.scenario.name, &plan.matrix, place.clone())?;
    let guests = guests.as_ref().map(|kernel| Guests { lab: &args.lab, kernel, how });
    let failures = carry_out(&plan, &folder, args.jobs.map(Into::into), guests, how, &interrupt)?;

    let results = results::load(&folder, &plan.matrix, plan.suite.windows, &interrupt)?;
    let subject = Subject {
        suite: plan.suite,
        scenario: &plan.scenario,
        matrix: &plan.matrix,
        variant,
        changed: &plan.changed,
        place: &place,
    };
    let mut report = Report::new(&subject, &results, &failures);
    report.draw(plan.suite, &results, &interrupt)?;
    report.write(&folder, &results, &interrupt)?;
    if args.json {
        output::json(&report)?;
    } else {
        out!("{}", terminal(&report, ccactl_host::terminal::width()));
        outln!("page: {}", folder.path().join("suite.html").display());
    }
    Ok(exit_code(&report, args.strict))
}

/// Runs what is not finished.
fn carry_out(
    plan: &Plan,
    folder: &SuiteFolder,
    jobs: Option<usize>,
    guests: Option<Guests<'_>>,
    how: How,
    interrupt: &AtomicBool,
) -> Result<Vec<runner::Failure>> {
    let pending = runner::pending(folder, &plan.cells)?;
    let finished = plan.cells.len() - pending.len();
    if finished > 0 {
        errln!("{finished} of {} cells are finished in {}", plan.cells.len(), folder.path().display());
    }
    if pending.is_empty() {
        return Ok(Vec::new());
    }
    if let Some(guests) = guests {
        let jobs = jobs.unwrap_or_else(guests::side_by_side);
        return run_all(plan, folder, &pending, jobs, &guests, Ground::Guests, interrupt);
    }
    let jobs = jobs.unwrap_or_else(|| {
        let calibrated = runner::side_by_side(&pending);
        terminal::note(&calibrated.reason);
        calibrated.count
    });
    let program = std::env::current_exe().context("find the ccactl binary for the built-in traffic")?;
    let How { attempts, backend, phase: _ } = how;
    let executor =
        Testbed { options: Options { program, limits: Limits::default(), attempts, backend, phase_ns: None } };
    run_all(plan, folder, &pending, jobs, &executor, Ground::Host, interrupt)
}

fn run_all(
    plan: &Plan,
    folder: &SuiteFolder,
    pending: &[Cell],
    jobs: usize,
    executor: &dyn Executor,
    ground: Ground,
    interrupt: &AtomicBool,
) -> Result<Vec<runner::Failure>> {
    let mut progress = Progress::new(&plan.scenario.name, pending, jobs, ground);
    let outcome = runner::run(folder, pending, jobs, executor, interrupt, &mut progress);
    progress.finish();
    Ok(outcome?)
}

fn exit_code(report: &Report, strict: bool) -> ExitCode {
    if !report.failed.is_empty() || report.without_a_valid_run().next().is_some() {
        return ExitCode::from(exit::FAILURE);
    }
    let missed = report.misses_a_threshold() || (strict && report.fails_an_ordering());
    if missed { ExitCode::from(exit::THRESHOLD) } else { ExitCode::SUCCESS }
}

/// `ccactl bench list`
pub fn list(json: bool) -> Result<ExitCode> {
    let all = ccactl_suites::listing()?;
    if json {
        output::json_list("scenarios", &all)?;
        return Ok(ExitCode::SUCCESS);
    }
    let time = |size: Size| duration_text(Duration::from_secs_f64(size.runs_s));
    let row = |listed: &Listed| {
        let quick = listed.quick.map_or_else(|| "-".to_owned(), time);
        let cells = listed.full.cells.to_string();
        [listed.name.clone(), cells, time(listed.full), quick, listed.description.clone()]
    };
    let (suites, single): (Vec<Listed>, Vec<Listed>) = all.into_iter().partition(|listed| listed.suite);
    let rows: Vec<_> = suites.iter().map(row).collect();
    output::table(["suite", "cells", "runs", "--quick", "description"], &rows)?;
    outln!();
    let papers: Vec<_> = papers().map(|(paper, suites)| [paper.to_owned(), suites.join(" ")]).collect();
    output::table(["paper", "suites"], &papers)?;
    outln!();
    let rows: Vec<_> = single.iter().map(|s| [s.name.clone(), time(s.full), s.description.clone()]).collect();
    output::table(["scenario", "runs", "description"], &rows)?;
    outln!();
    outln!(
        "runs: their length, one after the other. Each takes some 5 s more, and one that is not valid is run again, {ATTEMPTS} attempts at most."
    );
    Ok(ExitCode::SUCCESS)
}

/// One line per suite, and the sums of those that are as written and of each variant.
pub fn score(paths: &[PathBuf], json: bool) -> Result<ExitCode> {
    let scored = paths.iter().map(|path| score::read(path)).collect::<Result<Vec<Scored>, _>>()?;
    let mut sums: Vec<Scored> = Vec::new();
    for Scored { variant, score, .. } in &scored {
        match sums.iter_mut().find(|sum| sum.variant == *variant) {
            Some(sum) => sum.score += *score,
            None => sums.push(Scored { scenario: "all".to_owned(), variant: variant.clone(), score: *score }),
        }
    }
    if json {
        output::json(&serde_json::json!({ "suites": scored, "sums": sums }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let row = |Scored { scenario, variant, score }: &Scored| {
        let variant = variant.clone().unwrap_or_else(|| "as written".to_owned());
        let figures = format!("{} of {}", score.figures_met, score.figures);
        let orderings = format!("{} of {}", score.orderings_hold, score.orderings);
        [scenario.clone(), variant, figures, orderings, score.orderings_undecided.to_string()]
    };
    let rows: Vec<[String; 5]> = scored.iter().chain(&sums).map(row).collect();
    output::table(["suite", "run", "printed figures met", "orderings", "undecided"], &rows)?;
    Ok(ExitCode::SUCCESS)
}
