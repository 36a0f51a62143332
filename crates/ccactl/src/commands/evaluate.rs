//! `ccactl evaluate`: is an algorithm as good as CUBIC, and is it safe beside what there is? Or, of a BBR: does it do what its draft says?

use super::carrier::Carrier;
use super::carry_out::interrupt_flag;
use super::suite::work::{Done, Place, Work};
use super::{lab, output, subject};
use crate::error::{Context, Result};
use ccactl_abi::exit;
use ccactl_host::{errln, out, outln, terminal};
use ccactl_lab::kernel::Kernel;
use ccactl_loader::plain_name;
use ccactl_report::figure::paper;
use ccactl_report::output::write_whole;
use ccactl_suites::evaluation::bbr::CaseCard;
use ccactl_suites::evaluation::page::cases as case_page;
use ccactl_suites::evaluation::{
    Card, Contestant, Folders, Profile, Questions, Subject, page as card_page, plan, plan_cases,
};
use ccactl_suites::folder::{self, SuiteFolder};
use ccactl_suites::runner::{Selection, Shard};
use ccactl_suites::{Cell, Error as SuiteError, Plan, page};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    subject: subject::Subject,
    /// `rfc9743`: all criteria, three runs each; `quick`: a part of them, one run of ten seconds each; `bbr-draft`: the test cases
    /// of draft-ietf-ccwg-bbr, for an algorithm that publishes a BBR's phases
    #[arg(long, value_name = "NAME", default_value_t = Questions::Criteria(Profile::Rfc9743))]
    profile: Questions,
    /// Number of runs per path
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeat: Option<u32>,
    /// Only these paths, by their names on the card
    #[arg(long = "path", value_name = "PATH")]
    paths: Vec<String>,
    /// Run one of several parts of the paths, such as 2/8; the card is made by the command without it
    #[arg(long, value_name = "PART/PARTS")]
    shard: Option<Shard>,
    #[command(flatten)]
    work: Work,
    #[command(flatten)]
    carrier: Carrier,
    #[command(flatten)]
    lab: lab::Args,
    /// Folder of the results. The runs of CUBIC in it serve every algorithm [default: ./ccactl-evaluate-PROFILE]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Write the page of the card here too
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print the card as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> Result<ExitCode> {
    args.subject.check()?;
    let kernel = args.lab.is_asked_for().then(|| args.lab.kernel()).transpose()?;
    let folder = args.output.clone().unwrap_or_else(|| format!("ccactl-evaluate-{}", args.profile).into());
    let place =
        folder::Place { backend: args.carrier.backend(), lab: kernel.as_ref().map(|kernel| kernel.release.clone()) };
    let evaluation = Evaluation { kernel: kernel.as_ref(), interrupt: interrupt_flag()?, folder, place, args: &args };
    match args.profile {
        Questions::Criteria(profile) => evaluation.criteria(profile),
        Questions::BbrDraft => evaluation.cases(),
    }
}

struct Evaluation<'a> {
    args: &'a Args,
    kernel: Option<&'a Kernel>,
    interrupt: Arc<AtomicBool>,
    folder: PathBuf,
    place: folder::Place,
}

/// The folder of a contestant, and whether all of its cells could be run.
type Ran = (SuiteFolder, bool);

impl Evaluation<'_> {
    fn subject(&self) -> Subject {
        let subject::Subject { algorithm, preset, set } = &self.args.subject;
        Subject { algorithm: algorithm.clone(), preset: preset.clone(), set: set.clone() }
    }

    fn criteria(&self, profile: Profile) -> Result<ExitCode> {
        let runs = self.args.repeat.unwrap_or(profile.runs());
        let planned = |contestant: &Contestant| plan(contestant, profile, runs, &self.place, &self.folder);
        let plans = [
            planned(&Contestant::Subject(self.subject()))?,
            planned(&Contestant::Cubic)?,
            planned(&Contestant::Alone)?,
        ];
        self.check_paths(&plans[0])?;
        let [(subject, first), (cubic, second), (alone, third)] =
            [self.run(&plans[0])?, self.run(&plans[1])?, self.run(&plans[2])?];
        let all_ran = first && second && third;
        if self.args.shard.is_some() {
            return Ok(end_of_a_part(all_ran));
        }
        let folders = Folders { subject: &subject, cubic: &cubic, alone: &alone };
        let card = Card::read(&title(&plans[0]), profile, &self.args.paths, folders)?;
        let name = name_of(&plans[0]);
        let page = self.write(&name, &card_page::html(&card, Some(&name)), &card_page::markdown(&card), &card)?;
        self.show(&card_page::html(&card, None), &card, &card_page::terminal(&card, terminal::width()), &page)?;
        Ok(code(all_ran))
    }

    fn cases(&self) -> Result<ExitCode> {
        let plan = plan_cases(&self.subject(), self.args.repeat.unwrap_or(CASE_RUNS), &self.place, &self.folder)?;
        self.check_paths(&plan)?;
        let (folder, all_ran) = self.run(&plan)?;
        if self.args.shard.is_some() {
            return Ok(end_of_a_part(all_ran));
        }
        let card = CaseCard::read(&title(&plan), &folder, &self.args.paths, &self.interrupt)?;
        let name = name_of(&plan);
        let figures = format!("{name}-figures");
        let drawn: Vec<paper::Figure> = case_page::drawings(&card)
            .into_iter()
            .map(|(name, _, svg)| paper::Figure { name, svg: svg.to_owned() })
            .collect();
        let drawn_into = self.folder.join(&figures);
        if drawn_into.exists() {
            std::fs::remove_dir_all(&drawn_into).with_context(|| format!("draw {} anew", drawn_into.display()))?;
        }
        if !drawn.is_empty() {
            paper::write(&drawn_into, &drawn, &[paper::Format::Svg])?;
        }
        let page =
            self.write(&name, &case_page::html(&card, Some(&name)), &case_page::markdown(&card, &figures), &card)?;
        self.show(&case_page::html(&card, None), &card, &case_page::terminal(&card, terminal::width()), &page)?;
        Ok(code(all_ran))
    }

    /// Each path that is asked for is one.
    fn check_paths(&self, plan: &Plan) -> Result<()> {
        Selection { cells: self.args.paths.clone(), ..Selection::default() }.of(&plan.matrix)?;
        Ok(())
    }

    /// Runs the cells of a plan that are asked for, and writes their pages.
    fn run(&self, whole: &Plan) -> Result<Ran> {
        let part = Plan {
            cells: cells(whole, self.args)?,
            experiment: whole.experiment.clone(),
            matrix: whole.matrix.clone(),
            folder: whole.folder.clone(),
        };
        let name = name_of(&part);
        let work = &self.args.work;
        let store = work.store.as_ref().map(|store| format!("{}/{name}", store.trim_end_matches('/')));
        let place = Place { lab: &self.args.lab, kernel: self.kernel, link: self.args.carrier.backend() };
        let is_a_part = self.args.shard.is_some();
        let Done { folder, ended } = work.carry_out(&part, place, is_a_part, store.as_deref(), &self.interrupt)?;
        for failure in &ended.failures {
            errln!("{name}: {}: {}", failure.cell, failure.error);
        }
        if !ended.elsewhere.is_empty() {
            return Err(SuiteError::Elsewhere { path: folder.path().to_owned(), cells: ended.elsewhere }.into());
        }
        page::of_cells_in(&folder, &self.interrupt)?;
        Ok((folder, ended.failures.is_empty()))
    }

    /// Writes a card beside the folder of its runs; gives the page.
    fn write(&self, name: &str, html: &str, markdown: &str, card: &impl Serialize) -> Result<PathBuf> {
        let beside = |extension: &str| self.folder.join(format!("{name}.{extension}"));
        let json = serde_json::to_string(card).context("write a card as JSON")?;
        write_whole(&beside("html"), html.as_bytes())?;
        write_whole(&beside("md"), markdown.as_bytes())?;
        write_whole(&beside("json"), format!("{json}\n").as_bytes())?;
        Ok(beside("html"))
    }

    fn show(&self, html: &str, card: &impl Serialize, text: &str, page: &Path) -> Result<()> {
        if let Some(path) = &self.args.html {
            write_whole(path, html.as_bytes())?;
        }
        if self.args.json {
            output::json(card)?;
        } else {
            out!("{text}");
            outln!("page: {}", page.display());
        }
        Ok(())
    }
}

/// Of each path of the test cases: a state machine shows at once what it does, and twice whether chance has a part in it.
const CASE_RUNS: u32 = 2;

fn end_of_a_part(all_ran: bool) -> ExitCode {
    outln!("when all parts have ended: the same command without --shard makes the card");
    code(all_ran)
}

fn code(all_ran: bool) -> ExitCode {
    if all_ran { ExitCode::SUCCESS } else { ExitCode::from(exit::FAILURE) }
}

/// The cells that are asked for: not every contestant has every path.
fn cells(whole: &Plan, args: &Args) -> Result<Vec<Cell>> {
    let has = |path: &&String| whole.matrix.iter().any(|cell| cell.id == **path);
    let paths: Vec<String> = args.paths.iter().filter(has).cloned().collect();
    if paths.is_empty() && !args.paths.is_empty() {
        return Ok(Vec::new());
    }
    Ok(Selection { shard: args.shard, cells: paths, ..Selection::default() }.of(&whole.matrix)?)
}

fn name_of(plan: &Plan) -> String {
    plan.folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// As people call it: of a file without the hash of its code.
fn title(plan: &Plan) -> String {
    let name = name_of(plan);
    let (own, set) = name.split_once('+').map_or((name.as_str(), None), |(own, set)| (own, Some(set)));
    let own = format!("{own}.bpf.o");
    let plain = plain_name(&own).trim_end_matches(".bpf.o");
    set.map_or_else(|| plain.to_owned(), |set| format!("{plain}+{set}"))
}
