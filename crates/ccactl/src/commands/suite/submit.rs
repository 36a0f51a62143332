//! `ccactl bench submit`: the cells of an experiment to a batch system.

use super::selection;
use crate::commands::bench_view::hide_if_unwanted;
use crate::commands::carry_out::interrupt_flag;
use crate::error::{Context, Result};
use ccactl_host::{errln, outln, terminal};
use ccactl_suites::Error;
use ccactl_suites::batch::{self, Job, Seen, Slurm};
use ccactl_suites::folder::SuiteFolder;
use ccactl_testbed::bench::ATTEMPTS;
use indicatif::{ProgressBar, ProgressStyle};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

/// Between two questions to the batch system, which has others to answer.
const PAUSE: Duration = Duration::from_secs(5);
/// While its controller starts anew.
const PATIENCE: Duration = Duration::from_secs(300);
/// How far a shared folder may be behind.
const BEHIND: Duration = Duration::from_secs(40);
/// How soon a signal is seen.
const ATTENTION: Duration = Duration::from_millis(200);

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    selection: selection::Args,
    /// To Slurm, by sbatch; program, scenario and folder lie where all nodes find them
    #[arg(long, required = true)]
    slurm: bool,
    /// Print the commands, and submit nothing
    #[arg(long)]
    dry_run: bool,
    /// Return as soon as it is submitted
    #[arg(long)]
    detach: bool,
    /// Tasks at the same time, at most
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    at_once: Option<u32>,
    /// How often a run is tried until it is valid
    #[arg(long, value_name = "N", default_value_t = ATTEMPTS, value_parser = clap::value_parser!(u32).range(1..=100))]
    attempts: u32,
    /// Options for sbatch, behind --
    #[arg(last = true, value_name = "SBATCH_OPTION")]
    options: Vec<String>,
}

pub fn run(args: &Args) -> Result<ExitCode> {
    if let Some(found) = args.options.iter().find(|option| option.starts_with("--clusters") || option.starts_with("-M"))
    {
        return Err(Error::from(batch::Error::OtherCluster { found: found.clone() }).into());
    }
    // A node may have no way to the archive: its kernel is fetched here, where the home is the same.
    let kernel = if args.dry_run { None } else { args.selection.guests()? };
    let plan = args.selection.plan(kernel.as_ref())?;
    let path = std::path::absolute(&plan.folder).with_context(|| format!("find {}", plan.folder.display()))?;
    let mut words = args.selection.words(&path);
    words.extend(["--attempts".to_owned(), args.attempts.to_string()]);
    let job = Job {
        program: std::env::current_exe().context("find the ccactl binary for the nodes")?,
        words,
        matrix: plan.matrix,
        cells: plan.cells,
        ground: args.selection.ground(),
        at_once: args.at_once,
        options: args.options.clone(),
    };
    let slurm = Slurm::new(&job, &path);
    if args.dry_run {
        outln!("{}", quoted(&slurm.array(&job.tasks(&job.cells))));
        outln!("{}", quoted(&slurm.report("JOB").map_err(Error::from)?));
        return Ok(ExitCode::SUCCESS);
    }
    let interrupt = interrupt_flag()?;
    let folder = SuiteFolder::open(&path, plan.experiment)?;
    let tasks = job.pending(&folder)?;
    if tasks.is_empty() {
        outln!("all {} cells are finished: ccactl bench report {}", job.cells.len(), path.display());
        return Ok(ExitCode::SUCCESS);
    }
    let page = path.join("suite.html");
    let before = written(&page);
    let jobs = slurm.submit(&folder, &tasks)?;
    let [array, report] = &jobs;
    outln!("job {array}: {} of {} cells; job {report}: the report", tasks.len(), job.cells.len());
    if args.detach {
        return Ok(ExitCode::SUCCESS);
    }
    follow(&jobs, &job, &folder, tasks.len(), &interrupt)?;
    let unfinished = unfinished(&job, &folder)?;
    if unfinished.is_empty() {
        if written(&page) == before {
            return Err(Error::from(batch::Error::NotReported { page, log: slurm.report_log() }).into());
        }
        outln!("page: {}", page.display());
        outln!("tables: ccactl bench report {}", path.display());
        return Ok(ExitCode::SUCCESS);
    }
    let told = |&task: &usize| {
        let ended = Slurm::ended(array, task).map_or_else(String::new, |ended| format!("{ended}, "));
        format!("{} ({ended}{})", job.cells[task - 1].id, slurm.log(array, task).display())
    };
    Err(Error::Unfinished { path: path.clone(), cells: unfinished.iter().map(told).collect() }.into())
}

/// By whichever clock wrote it.
fn written(page: &Path) -> Option<SystemTime> {
    page.metadata().and_then(|page| page.modified()).ok()
}

/// A shared folder may be some seconds behind: another machine's new files are seen once its listing is read anew.
fn unfinished(job: &Job, folder: &SuiteFolder) -> Result<Vec<usize>> {
    let end = Instant::now() + BEHIND;
    loop {
        let listed = std::fs::read_dir(folder.path()).with_context(|| format!("read {}", folder.path().display()))?;
        drop(listed);
        let unfinished = job.pending(folder)?;
        if unfinished.is_empty() || Instant::now() >= end {
            return Ok(unfinished);
        }
        std::thread::sleep(PAUSE);
    }
}

/// Shows how far the jobs are until both have ended.
fn follow(jobs: &[String; 2], job: &Job, folder: &SuiteFolder, count: usize, interrupt: &AtomicBool) -> Result<()> {
    let bar = ProgressBar::new(count as u64);
    hide_if_unwanted(&bar);
    bar.set_style(ProgressStyle::with_template("[{bar:30}] {pos}/{len} cells{msg}").expect("a constant"));
    let mut answered = Instant::now();
    let mut told = None;
    loop {
        let seen = match Slurm::look(jobs) {
            Ok(seen) => seen,
            Err(error) if answered.elapsed() > PATIENCE => return Err(Error::from(error).into()),
            Err(_) => {
                wait(interrupt, jobs, folder.path())?;
                continue;
            }
        };
        answered = Instant::now();
        let finished = count.saturating_sub(job.pending(folder)?.len());
        show(&bar, finished, seen, &mut told);
        if seen.is_empty() {
            bar.finish_and_clear();
            return Ok(());
        }
        wait(interrupt, jobs, folder.path())?;
    }
}

fn show(bar: &ProgressBar, finished: usize, seen: Seen, told: &mut Option<(usize, Seen)>) {
    let Seen { running, waiting } = seen;
    bar.set_position(finished as u64);
    bar.set_message(format!(", {running} tasks run, {waiting} wait"));
    if bar.is_hidden() && told.replace((finished, seen)) != Some((finished, seen)) {
        terminal::note(&format!("{finished} cells finished, {running} tasks run, {waiting} wait"));
    }
}

fn wait(interrupt: &AtomicBool, jobs: &[String; 2], folder: &Path) -> Result<()> {
    let until = Instant::now() + PAUSE;
    while Instant::now() < until {
        if interrupt.load(Ordering::Relaxed) {
            let jobs = jobs.join(",");
            errln!(
                "the jobs go on: squeue --jobs={jobs}, scancel {jobs}; then ccactl bench report {}",
                folder.display()
            );
            return Err(Error::Interrupted.into());
        }
        std::thread::sleep(ATTENTION);
    }
    Ok(())
}

fn quoted(words: &[String]) -> String {
    shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" "))
}
