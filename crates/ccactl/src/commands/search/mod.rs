//! `ccactl search`: on which path does an algorithm do worst? In the simulator first, then on a kernel.

mod bounds;
mod tune;

use super::bench::from_here;
use super::carry_out::{How, carry_out, interrupt_flag};
use super::subject::Subject;
use super::{bench_view, lab, output};
use crate::error::{Context, Result};
use bounds::BoundsArgs;
use ccactl_abi::exit;
use ccactl_host::{outln, terminal};
use ccactl_lab::kernel::Kernel;
use ccactl_loader::{is_file, settle_algorithm};
use ccactl_report::output::write_whole;
use ccactl_scenario::units::Span;
use ccactl_scenario::{Scenario, ScenarioFile};
use ccactl_search::{
    Best, Bounds, Case, Contestant, Effort, Figures, Finding, Judge, LEAST_SHARE, Objective, Replayed, Setting, evolve,
    median, mildest, page, shrink,
};
use ccactl_suites::results;
use ccactl_testbed::bench::{ATTEMPTS, Backend, Interrupt, OutputDir};
use indicatif::{ProgressBar, ProgressStyle};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

/// Paths of a generation.
const POPULATION: usize = 32;
/// Runs of the finding, in the simulator and on the kernel.
const RUNS: u32 = 3;
/// What most hosts have: what it does on a path shows what the path does to anyone.
const COMMON: &str = "native:cubic";
/// In place of an algorithm to compare with.
const NONE: &str = "none";

/// Names in the folder of a search.
const SCENARIO: &str = "scenario.toml";
const SIMULATED: &str = "simulated";
const REPLAYED: &str = "replayed";
const PAGE: &str = "finding.html";
const FINDING: &str = "finding.json";

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    subject: Subject,
    /// What is to be as bad as can be: `use` of the link, standing `queue`, others that `starve`, `unfair` shares, time to `recover`
    #[arg(long, value_name = "WHAT", default_value_t = Objective::Use)]
    objective: Objective,
    /// What flows beside it have, where the objective is about others
    #[arg(long, value_name = "ALGO", default_value = COMMON)]
    rival: String,
    /// Look for paths on which it does worse than this algorithm; `none`: on which it does badly, as others may, too
    #[arg(long, value_name = "ALGO", default_value = COMMON)]
    compared_with: String,
    #[command(flatten)]
    bounds: BoundsArgs,
    /// Length of a run
    #[arg(long, value_name = "TIME", default_value = "20s")]
    duration: Span,
    /// About how many paths to look at, or settings with --tune
    #[arg(long, value_name = "N", default_value_t = 1000)]
    candidates: usize,
    /// Simulated runs of each path; the mildest counts, with --tune the one in the middle
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=99))]
    runs: u32,
    /// Another seed looks elsewhere; the same finds the same
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Runs side by side [default: one per CPU]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Look for values of this tunable with which it does best, in place of the path on which it does worst; a range may follow
    #[arg(long, value_name = "NAME[=A..B]")]
    tune: Vec<String>,
    /// With --tune: what is not to become worse
    #[arg(long, value_name = "WHAT", requires = "tune")]
    keep: Vec<Objective>,
    /// With --tune: paths to train on; as many are held out
    #[arg(long, value_name = "N", default_value_t = 12)]
    training: usize,
    /// Do not replay the finding on a kernel
    #[arg(long, conflicts_with = "lab")]
    no_replay: bool,
    #[command(flatten)]
    lab: lab::Args,
    /// Folder of the finding [default: ./ccactl-search-ALGO-OBJECTIVE]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Print the finding as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> Result<ExitCode> {
    args.subject.check()?;
    let here = std::env::current_dir().context("find the current folder")?;
    let subject = Contestant {
        algorithm: settle_algorithm(&here, &args.subject.algorithm)?,
        preset: args.subject.preset.clone(),
        set: args.subject.set.clone(),
    };
    let settled = |name: &String| settle_algorithm(&here, name).map(|name| Contestant::plain(&name));
    let compared = args.is_compared().then(|| settled(&args.compared_with)).transpose()?;
    let rival = args.objective.has_rivals().then(|| settle_algorithm(&here, &args.rival)).transpose()?;
    let duration_ms = (args.duration.ns / 1_000_000) as u32;
    let title = format!("{}-{}", plain(&args.subject.algorithm), args.objective);
    let judge = Judge {
        setting: Setting { name: format!("search-{title}"), duration_ms, rival },
        subject,
        compared,
        objective: args.objective,
        runs: args.runs,
    };
    let bounds = args.bounds.bounds(duration_ms)?;
    if !args.tune.is_empty() {
        return tune::run(&args, judge, &bounds);
    }
    let kernel = (!args.no_replay).then(|| args.lab.kernel()).transpose()?;
    let folder = args.output.clone().unwrap_or_else(|| format!("ccactl-search-{title}").into());
    let room = OutputDir::prepare(&folder)?;
    let interrupt = interrupt_flag()?;
    let search = Search { args: &args, judge, bounds, kernel: kernel.as_ref(), interrupt: &interrupt };
    let found = search.look()?;
    let finding = search.write(&found, &room)?;
    if args.json {
        output::json(&finding)?;
    } else {
        outln!("{}", finding.headline());
        outln!("{}", finding.basis());
        outln!("scenario: {}", folder.join(SCENARIO).display());
        outln!("page: {}", folder.join(PAGE).display());
    }
    let is_told = finding.replayed.as_ref().is_none_or(|replayed| replayed.confirmed);
    Ok(if is_told { ExitCode::SUCCESS } else { ExitCode::from(exit::FAILURE) })
}

/// As part of a name: of a file its stem.
fn plain(algorithm: &str) -> String {
    let name = if is_file(algorithm) { algorithm.rsplit('/').next().unwrap_or(algorithm) } else { algorithm };
    name.split(".bpf.").next().unwrap_or(name).replace(':', "-")
}

impl Args {
    fn effort(&self) -> Effort {
        let jobs = self.jobs.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
        Effort { points: self.candidates, population: POPULATION, jobs, seed: self.seed }
    }

    /// Whether there is another algorithm to compare with; one is no worse than itself, in the kernel or as BPF.
    fn is_compared(&self) -> bool {
        let name = |text: &str| text.strip_prefix("native:").unwrap_or(text).to_owned();
        let is_itself = self.subject.is_plain() && name(&self.compared_with) == name(&self.subject.algorithm);
        self.compared_with != NONE && !is_itself
    }
}

/// Shows how far a search is, and what it has found.
fn tell(bar: &ProgressBar, text: &str) {
    bar.set_message(terminal::fit_line(text).into_owned());
}

fn progress(candidates: usize, what: &str) -> ProgressBar {
    let bar = ProgressBar::new(candidates as u64);
    bench_view::hide_if_unwanted(&bar);
    let template = format!("{{spinner}} {{elapsed}} {{bar:30}} {{pos}}/{{len}} {what}: {{msg}}");
    bar.set_style(ProgressStyle::with_template(&template).expect("a constant"));
    bar
}

struct Search<'a> {
    args: &'a Args,
    judge: Judge,
    bounds: Bounds,
    kernel: Option<&'a Kernel>,
    interrupt: &'a AtomicBool,
}

/// The worst path, how bad it is, and how many were looked at.
struct Found {
    best: Best<Case>,
    judged: usize,
}

impl Search<'_> {
    fn look(&self) -> Result<Found> {
        let bar = progress(self.args.candidates, "paths, worst");
        let judge = |case: &Case| self.judge.badness(case, Interrupt(self.interrupt));
        let mut judged = 0;
        let text = |badness: f64| self.judge.objective.text(badness);
        let worst = evolve(&self.bounds, self.args.effort(), &judge, &mut |now| {
            judged = now.judged;
            bar.set_position(now.judged as u64);
            tell(&bar, &text(now.worst));
        })?;
        tell(&bar, &format!("{}; leaving out what it does not need", text(worst.badness)));
        let least = if worst.badness > 0.0 { worst.badness * LEAST_SHARE } else { worst.badness };
        let best = shrink(&self.bounds, worst, least, &judge, &mut |best| {
            tell(&bar, &format!("{}; leaving out what it does not need", text(best.badness)));
        })?;
        bar.finish_and_clear();
        Ok(Found { best, judged })
    }

    /// Runs the finding with recordings, in the simulator and on a kernel, and writes all that is known of it.
    fn write(&self, found: &Found, room: &OutputDir) -> Result<Finding> {
        let case = &found.best.point;
        let simulated = mildest(&self.judge.of(&self.judge.subject, case, Interrupt(self.interrupt))?);
        let mut finding = Finding {
            algorithm: self.args.subject.title(),
            objective: self.judge.objective,
            simulated,
            other: self.other(case)?,
            replayed: None,
            rival: self.judge.setting.rival.as_ref().map(|_| self.args.rival.clone()),
            judged: found.judged,
            seed: self.args.seed,
        };
        let text = self.text(case);
        let scenario = ScenarioFile::parse(SCENARIO, &text, &[]).map_err(ccactl_testbed::Error::from)?.scenario;
        room.write(SCENARIO, text.as_bytes())?;
        let folder = room.path();
        let how = How { attempts: 1, backend: Backend::Simulator, phase: None };
        let result = carry_out(&scenario, &folder.join(SIMULATED), how, Some("the finding"), self.interrupt)?;
        let mut places = vec![Figures::of("In the simulator", (&folder.join(SIMULATED), SIMULATED), &result)?];
        if let Some(kernel) = self.kernel {
            let (replayed, figures) = self.replay(kernel, &scenario, &finding, &folder.join(REPLAYED))?;
            finding.replayed = Some(replayed);
            places.push(figures);
        }
        write_whole(&folder.join(PAGE), page(&finding, &text, &places).as_bytes())?;
        write_whole(&folder.join(FINDING), output::json_text(&finding)?.as_bytes())?;
        Ok(finding)
    }

    /// The scenario as it is kept: files are named by their paths, so that it shows what a later version of them does.
    fn text(&self, case: &Case) -> String {
        let mut setting = self.judge.setting.clone();
        setting.rival = setting.rival.map(|_| from_here(&self.args.rival));
        let subject = Contestant { algorithm: from_here(&self.args.subject.algorithm), ..self.judge.subject.clone() };
        setting.text(case, &subject, &self.description(), RUNS)
    }

    fn replay(
        &self,
        kernel: &Kernel,
        scenario: &Scenario,
        finding: &Finding,
        folder: &Path,
    ) -> Result<(Replayed, Figures)> {
        terminal::note(&format!("{} runs of the finding on Linux {}", scenario.repeat, kernel.release));
        let output = OutputDir::prepare(folder)?;
        let how = How { attempts: ATTEMPTS, backend: Backend::Emulator, phase: None };
        self.args.lab.bench(kernel, scenario, &output, how, &[], self.interrupt)?;
        let result = results::read(folder)?;
        let seen = (finding.objective, finding.simulated);
        let replayed = Replayed::of(seen, &kernel.release, scenario, (folder, &result))?;
        let figures = Figures::of(&format!("On Linux {}", kernel.release), (folder, REPLAYED), &result)?;
        Ok((replayed, figures))
    }

    /// What another algorithm makes of the path.
    fn other(&self, case: &Case) -> Result<Option<(String, f64)>> {
        let Some(other) = &self.judge.compared else { return Ok(None) };
        Ok(Some((self.args.compared_with.clone(), median(self.judge.of(other, case, Interrupt(self.interrupt))?))))
    }

    fn description(&self) -> String {
        format!("A path found by a search: {}, {}", self.args.subject.title(), self.judge.objective.heading())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_folders_have_no_path() {
        assert_eq!(plain("./a/mine.bpf.c"), "mine");
        assert_eq!(plain("native:cubic"), "native-cubic");
    }
}
