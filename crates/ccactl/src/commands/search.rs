//! `ccactl search`: on which path does an algorithm do worst? In the simulator first, then on a kernel.

use super::carry_out::{How, carry_out, interrupt_flag};
use super::{bench_view, lab, output};
use crate::error::{Context, Error, Result};
use ccactl_abi::exit;
use ccactl_host::{outln, terminal};
use ccactl_lab::kernel::Kernel;
use ccactl_loader::{Choice, is_file, settle_algorithm};
use ccactl_report::output::write_whole;
use ccactl_scenario::units::{Buffer, Rate, Span};
use ccactl_scenario::{Scenario, ScenarioFile};
use ccactl_search::{
    Best, Bounds, Case, Contestant, Effort, EventDomain, Figures, Finding, Gene, Judge, Kind, Objective, Replayed,
    Setting, evolve, page, shrink,
};
use ccactl_suites::results;
use ccactl_testbed::bench::{ATTEMPTS, Backend, Interrupt, OutputDir};
use indicatif::{ProgressBar, ProgressStyle};
use std::num::NonZeroUsize;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;
use std::sync::atomic::AtomicBool;

/// Paths of a generation.
const POPULATION: usize = 32;
/// Runs of the finding, in the simulator and on the kernel.
const RUNS: u32 = 3;
/// What is asked beside the algorithm, so that one sees what the path does to anyone.
const COMMON: &str = "native:cubic";

/// Names in the folder of a search.
const SCENARIO: &str = "scenario.toml";
const SIMULATED: &str = "simulated";
const REPLAYED: &str = "replayed";
const PAGE: &str = "finding.html";
const FINDING: &str = "finding.json";

#[derive(clap::Args)]
pub struct Args {
    /// Algorithm: a name of `ccactl list`, a file (`.bpf.c`), or native:NAME for the kernel's own
    #[arg(value_name = "ALGO")]
    algorithm: String,
    /// Begin with a named set of tunables; `ccactl show ALGO` lists them, and --set comes on top
    #[arg(long, value_name = "NAME")]
    preset: Option<String>,
    /// Set a tunable; `ccactl show ALGO` lists them
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = output::name_value)]
    set: Vec<(String, String)>,
    /// What is to be as bad as can be: `use` of the link, standing `queue`, others that `starve`, `unfair` shares, time to `recover`
    #[arg(long, value_name = "WHAT", default_value_t = Objective::Use)]
    objective: Objective,
    /// What flows beside it have, where the objective is about others
    #[arg(long, value_name = "ALGO", default_value = COMMON)]
    rival: String,
    /// Look for paths on which it does worse than this algorithm
    #[arg(long, value_name = "ALGO")]
    compared_with: Option<String>,
    #[command(flatten)]
    bounds: BoundsArgs,
    /// Length of a run
    #[arg(long, value_name = "TIME", default_value = "20s")]
    duration: Span,
    /// About how many paths to look at
    #[arg(long, value_name = "N", default_value_t = 1000)]
    paths: usize,
    /// Simulated runs of each path; the one in the middle counts
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=99))]
    runs: u32,
    /// Another seed looks elsewhere; the same finds the same
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Runs side by side [default: one per CPU]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
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

/// Within which paths are looked for. A range is `A..B`, a single value stands for itself.
#[derive(clap::Args)]
struct BoundsArgs {
    /// Rate of the link
    #[arg(long, value_name = "RATE", default_value = "5Mbit/s..50Mbit/s")]
    rate: Between<Rate>,
    /// Base RTT
    #[arg(long, value_name = "TIME", default_value = "10ms..100ms")]
    rtt: Between<Span>,
    /// Buffer of the link
    #[arg(long, value_name = "SIZE", default_value = "0.5bdp..4bdp")]
    buffer: Between<Buffer>,
    /// Probability of random loss
    #[arg(long, value_name = "P", default_value = "0..0.002")]
    loss: Between<f64>,
    /// Largest jitter
    #[arg(long, value_name = "TIME", default_value = "0s..10ms")]
    jitter: Between<Span>,
    /// ACKs come back at multiples of this time only
    #[arg(long, value_name = "TIME", default_value = "0s..20ms")]
    ack_batch: Between<Span>,
    /// When the rivals begin
    #[arg(long, value_name = "TIME", default_value = "0s..5s")]
    rival_start: Between<Span>,
    /// Flows of the algorithm, and as many rivals
    #[arg(long, value_name = "N", default_value = "1")]
    flows: Between<u32>,
    /// How much may happen on the way, at most
    #[arg(long, value_name = "N", default_value_t = 4)]
    events: usize,
    /// What may happen, in percent of the path's own: another `rate` of the link, another base `rtt`, a `burst` of packets of others;
    /// all three unless one is named
    #[arg(long = "event", value_name = "KIND=PERCENT")]
    kinds: Vec<EventRange>,
}

impl BoundsArgs {
    fn bounds(&self, duration_ms: u32) -> Result<Bounds> {
        let ms = |span: Span| (span.ns / 1_000_000) as u32;
        let hundredths = |buffer: Buffer| match buffer {
            Buffer::Bdp(multiple) => Ok((multiple * 100.0).round() as u32),
            other => {
                Err(Error::Argument(format!("--buffer: expected a multiple of the BDP such as 2bdp, found {other}")))
            }
        };
        let mut bounds = Bounds { events: self.events, ..Bounds::of_run(duration_ms) }
            .with(Gene::Rate, self.rate.each(|rate| (rate.bps / 1000) as u32), "--rate")?
            .with(Gene::Rtt, self.rtt.each(ms), "--rtt")?
            .with(Gene::Buffer, hundredths(self.buffer.0)?..=hundredths(self.buffer.1)?, "--buffer")?
            .with(Gene::Loss, self.loss.each(|share| (share * 1e6).round() as u32), "--loss")?
            .with(Gene::Jitter, self.jitter.each(ms), "--jitter")?
            .with(Gene::AckBatch, self.ack_batch.each(ms), "--ack-batch")?
            .with(Gene::RivalStart, self.rival_start.each(ms), "--rival-start")?
            .with(Gene::Flows, self.flows.each(|flows| flows), "--flows")?;
        for (gene, option) in
            [(Gene::Rate, "--rate"), (Gene::Rtt, "--rtt"), (Gene::Buffer, "--buffer"), (Gene::Flows, "--flows")]
        {
            if *bounds.domain(gene).start() == 0 {
                return Err(Error::Argument(format!("{option}: expected more than 0")));
            }
        }
        if !self.kinds.is_empty() {
            bounds.kinds = self.kinds.iter().map(|EventRange(domain)| domain.clone()).collect();
        }
        Ok(bounds)
    }
}

/// `A..B`, or one value.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Between<T>(T, T);

impl<T: Copy> Between<T> {
    fn each(&self, value: impl Fn(T) -> u32) -> RangeInclusive<u32> {
        value(self.0)..=value(self.1)
    }
}

impl<T: FromStr + Copy> FromStr for Between<T>
where
    T::Err: std::fmt::Display,
{
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (least, most) = text.split_once("..").unwrap_or((text, text));
        let parsed = |part: &str| part.parse::<T>().map_err(|error| error.to_string());
        Ok(Between(parsed(least)?, parsed(most)?))
    }
}

/// `rate`, or `rate=20..100`.
#[derive(Debug, Clone, PartialEq)]
struct EventRange(EventDomain);

impl FromStr for EventRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, percent) = text.split_once('=').map_or((text, None), |(kind, percent)| (kind, Some(percent)));
        let known = Bounds::of_run(0).kinds;
        let domain = known.into_iter().find(|domain| name_of(domain.kind) == kind);
        let mut domain = domain.ok_or_else(|| format!("expected one of {}", Kind::ALL.map(name_of).join(", ")))?;
        if let Some(percent) = percent {
            domain.percent = percent.parse::<Between<u32>>()?.each(|percent| percent);
        }
        if domain.percent.is_empty() {
            return Err("expected the smaller percentage first".to_owned());
        }
        Ok(EventRange(domain))
    }
}

fn name_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Rate => "rate",
        Kind::Rtt => "rtt",
        Kind::Burst => "burst",
    }
}

pub fn run(args: Args) -> Result<ExitCode> {
    // What is wrong is said before anything runs.
    Choice::parse(&args.algorithm, &args.set, None)?.preset(args.preset.as_deref())?;
    let here = std::env::current_dir().context("find the current folder")?;
    let subject = Contestant {
        algorithm: settle_algorithm(&here, &args.algorithm)?,
        preset: args.preset.clone(),
        set: args.set.clone(),
    };
    let settled = |name: &String| settle_algorithm(&here, name).map(|name| Contestant::plain(&name));
    let compared = args.compared_with.as_ref().map(settled).transpose()?;
    let rival = args.objective.has_rivals().then(|| settle_algorithm(&here, &args.rival)).transpose()?;
    let duration_ms = (args.duration.ns / 1_000_000) as u32;
    let title = format!("{}-{}", plain(&args.algorithm), args.objective);
    let judge = Judge {
        setting: Setting { name: format!("search-{title}"), duration_ms, rival },
        subject,
        compared,
        objective: args.objective,
        runs: args.runs,
    };
    let bounds = args.bounds.bounds(duration_ms)?;
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
        let jobs = self.args.jobs.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
        let effort = Effort { points: self.args.paths, population: POPULATION, jobs, seed: self.args.seed };
        let bar = ProgressBar::new(self.args.paths as u64);
        bench_view::hide_if_unwanted(&bar);
        let template = "{spinner} {elapsed} {bar:30} {pos}/{len} paths, worst: {msg}";
        bar.set_style(ProgressStyle::with_template(template).expect("a constant"));
        let judge = |case: &Case| self.judge.badness(case, Interrupt(self.interrupt));
        let mut judged = 0;
        let text = |badness: f64| self.judge.objective.text(badness);
        let worst = evolve(&self.bounds, effort, &judge, &mut |now| {
            judged = now.judged;
            bar.set_position(now.judged as u64);
            bar.set_message(text(now.worst));
        })?;
        bar.set_message(format!("{}; leaving out what it does not need", text(worst.badness)));
        let best = shrink(&self.bounds, worst, &judge, &mut |best| {
            bar.set_message(format!("{}; leaving out what it does not need", text(best.badness)));
        })?;
        bar.finish_and_clear();
        Ok(Found { best, judged })
    }

    /// Runs the finding with recordings, in the simulator and on a kernel, and writes all that is known of it.
    fn write(&self, found: &Found, room: &OutputDir) -> Result<Finding> {
        let case = &found.best.point;
        let simulated = self.judge.of(&self.judge.subject, case, Interrupt(self.interrupt))?;
        let mut finding = Finding {
            algorithm: self.title(),
            objective: self.judge.objective,
            simulated,
            other: self.other(case)?,
            replayed: None,
            rival: self.judge.setting.rival.as_ref().map(|_| self.args.rival.clone()),
            case: case.clone(),
            judged: found.judged,
            seed: self.args.seed,
        };
        let text = self.judge.setting.text(case, &self.judge.subject, &self.description(), RUNS);
        let scenario = ScenarioFile::parse(SCENARIO, &text, &[]).map_err(ccactl_testbed::Error::from)?.scenario;
        room.write(SCENARIO, text.as_bytes())?;
        for (name, content) in scenario.files() {
            room.write(&name, &content)?;
        }
        let folder = room.path();
        let how = How { attempts: 1, backend: Backend::Simulator, phase: None };
        let result = carry_out(&scenario, &folder.join(SIMULATED), how, Some("the finding"), self.interrupt)?;
        let mut places = vec![Figures::of("In the simulator", (&folder.join(SIMULATED), SIMULATED), &result)?];
        if let Some(kernel) = self.kernel {
            let (replayed, figures) = self.replay(kernel, &scenario, &finding, &folder.join(REPLAYED))?;
            finding.replayed = replayed;
            places.push(figures);
        }
        write_whole(&folder.join(PAGE), page(&finding, &text, &places).as_bytes())?;
        write_whole(&folder.join(FINDING), output::json_text(&finding)?.as_bytes())?;
        Ok(finding)
    }

    fn replay(
        &self,
        kernel: &Kernel,
        scenario: &Scenario,
        finding: &Finding,
        folder: &Path,
    ) -> Result<(Option<Replayed>, Figures)> {
        terminal::note(&format!("{} runs of the finding on Linux {}", scenario.repeat, kernel.release));
        let output = OutputDir::prepare(folder)?;
        let how = How { attempts: ATTEMPTS, backend: Backend::Emulator, phase: None };
        self.args.lab.bench(kernel, scenario, &output, how, &[], self.interrupt)?;
        let result = results::read(folder)?;
        let seen = (finding.objective, finding.simulated);
        let replayed = Replayed::of(seen, &kernel.release, &finding.case, scenario, (folder, &result))?;
        let figures = Figures::of(&format!("On Linux {}", kernel.release), (folder, REPLAYED), &result)?;
        Ok((replayed, figures))
    }

    /// What another algorithm makes of the path.
    fn other(&self, case: &Case) -> Result<Option<(String, f64)>> {
        let name = self.args.compared_with.as_deref().unwrap_or(COMMON);
        if name == self.args.algorithm {
            return Ok(None);
        }
        let other = self.judge.compared.clone().unwrap_or_else(|| Contestant::plain(COMMON));
        Ok(Some((name.to_owned(), self.judge.of(&other, case, Interrupt(self.interrupt))?)))
    }

    fn title(&self) -> String {
        let preset = self.args.preset.iter().map(|preset| format!("+{preset}"));
        let set = self.args.set.iter().map(|(name, value)| format!("+{name}={value}"));
        self.args.algorithm.clone() + &preset.chain(set).collect::<String>()
    }

    fn description(&self) -> String {
        format!("A path found by a search: {}, {}", self.title(), self.judge.objective.heading())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_two_ends_or_one() {
        assert_eq!("1Mbit/s..2Mbit/s".parse(), Ok(Between(Rate { bps: 1_000_000 }, Rate { bps: 2_000_000 })));
        assert_eq!("3".parse(), Ok(Between(3_u32, 3)));
        assert_eq!("0..0.01".parse(), Ok(Between(0.0, 0.01)));
        for bad in ["", "..", "1..", "..2", "1..2..3"] {
            assert!(bad.parse::<Between<u32>>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn an_event_is_a_kind_with_a_range() {
        let range = |text: &str| text.parse::<EventRange>().map(|EventRange(domain)| domain);
        assert_eq!(range("rate=10..50"), Ok(EventDomain { kind: Kind::Rate, percent: 10..=50 }));
        assert_eq!(range("burst").unwrap().kind, Kind::Burst);
        for bad in ["", "loss", "rate=50..10", "rate=x"] {
            assert!(range(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn names_of_folders_have_no_path() {
        assert_eq!(plain("./a/mine.bpf.c"), "mine");
        assert_eq!(plain("native:cubic"), "native-cubic");
    }
}
