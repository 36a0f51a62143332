//! The table of the cases, with what each run has shown and a figure of each that failed.

use super::cases::{CASES, Case};
use super::finding::Finding;
use super::trace::Trace;
use crate::evaluation::paths::BBR_PATHS;
use crate::folder::{Place, SuiteFolder};
use crate::{Error, Result, results};
use ccactl_report::figure::paper::Width;
use ccactl_report::figure::plot::{Line, Over, Plot, Point, Style, plot};
use ccactl_testbed::bench::RECORDING_FILE;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

/// What became of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Seen in every run in which the situation came about.
    Pass,
    /// Not so in one run at least.
    Fail,
    /// The situation came about in no run.
    NotSeen,
    /// No valid run.
    NotRun,
}

impl Outcome {
    /// In words.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Outcome::Pass => "pass",
            Outcome::Fail => "FAIL",
            Outcome::NotSeen => "not seen",
            Outcome::NotRun => "not run",
        }
    }
}

/// One case.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CaseRow {
    /// Section of the draft.
    pub number: &'static str,
    /// Its title.
    pub title: &'static str,
    /// Name of its scenario.
    pub path: &'static str,
    /// What that is like.
    pub description: String,
    /// What became of it.
    pub outcome: Outcome,
    /// What each run has shown.
    pub told: Vec<String>,
    /// Of the first run that failed, SVG: packets in flight, and rates.
    #[serde(skip)]
    pub figures: Vec<String>,
}

/// All cases.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CaseCard {
    /// Name of the algorithm with what was set.
    pub algorithm: String,
    /// Version of ccactl.
    pub ccactl_version: &'static str,
    /// Where the paths were, and who carried the packets.
    #[serde(flatten)]
    pub place: Place,
    /// How many of them pass.
    pub headline: String,
    /// In the order of the draft.
    pub cases: Vec<CaseRow>,
}

impl CaseCard {
    /// From the recordings of what is finished of these paths, all of them when none is named.
    ///
    /// # Errors
    /// When a result or a recording cannot be read, or a signal asked for the end.
    pub fn read(algorithm: &str, folder: &SuiteFolder, paths: &[String], interrupt: &AtomicBool) -> Result<CaseCard> {
        let mut traces: BTreeMap<&str, Vec<Trace>> = BTreeMap::new();
        let mut cases = Vec::new();
        for case in CASES.iter().filter(|case| paths.is_empty() || paths.iter().any(|path| path == case.path)) {
            Error::check(interrupt)?;
            if !traces.contains_key(case.path) {
                traces.insert(case.path, read(folder, case.path)?);
            }
            cases.push(row(case, &traces[case.path])?);
        }
        let count = |outcome| cases.iter().filter(|row| row.outcome == outcome).count();
        let mut headline = format!("{} of {} test cases pass", count(Outcome::Pass), cases.len());
        for outcome in [Outcome::Fail, Outcome::NotSeen, Outcome::NotRun] {
            if count(outcome) > 0 {
                let numbers = cases.iter().filter(|row| row.outcome == outcome).map(|row| row.number);
                headline += &format!("; {}: {}", outcome.word(), numbers.collect::<Vec<_>>().join(", "));
            }
        }
        Ok(CaseCard {
            algorithm: algorithm.to_owned(),
            ccactl_version: crate::runner::VERSION,
            place: folder.experiment().place.clone(),
            headline: format!("{algorithm}: {headline}."),
            cases,
        })
    }
}

/// The valid runs of a path.
fn read(folder: &SuiteFolder, path: &str) -> Result<Vec<Trace>> {
    if folder.finished(path)?.is_none() {
        return Ok(Vec::new());
    }
    let cell = folder.of_cell(path);
    let of = BBR_PATHS.iter().find(|of| of.name == path).expect("a test looks at every case");
    let link = of.scenario(&[])?.link;
    let steps: Vec<(f64, f64)> =
        link.rate_steps.iter().map(|step| (step.at.secs_f64(), step.rate.bps as f64)).collect();
    let runs = results::read(&cell)?.runs.into_iter().filter(|run| run.valid);
    let trace = |run: ccactl_testbed::bench::RunResult| {
        let recording = cell.join(&run.directory).join(RECORDING_FILE);
        Trace::read(&recording, run.begin_in_recording_s, run.link.rate_bps as f64, steps.clone())
    };
    runs.map(trace).collect()
}

fn row(case: &Case, traces: &[Trace]) -> Result<CaseRow> {
    let findings: Vec<Finding> = traces.iter().map(case.check).collect();
    let failed = findings.iter().position(|finding| matches!(finding, Finding::Fails(_)));
    let outcome = match failed {
        _ if findings.is_empty() => Outcome::NotRun,
        Some(_) => Outcome::Fail,
        None if findings.iter().any(|finding| matches!(finding, Finding::Holds(_))) => Outcome::Pass,
        None => Outcome::NotSeen,
    };
    let told = |finding: &Finding| match finding {
        Finding::Holds(told) => told.clone(),
        Finding::Fails(told) => format!("fails: {told}"),
        Finding::NotSeen(told) => format!("not seen: {told}"),
    };
    let path = BBR_PATHS.iter().find(|of| of.name == case.path).expect("a test looks at every case");
    Ok(CaseRow {
        number: case.number,
        title: case.title,
        path: case.path,
        description: path.scenario(&[])?.description,
        outcome,
        told: findings.iter().map(told).collect(),
        figures: failed.map_or_else(Vec::new, |failed| drawn(case, &traces[failed])),
    })
}

/// Points of a line, at most.
const POINTS: usize = 700;

fn drawn(case: &Case, trace: &Trace) -> Vec<String> {
    let every = trace.samples.len().div_ceil(POINTS).max(1);
    let line = |number: usize, name: &str, value: &dyn Fn(&super::trace::Sample) -> Option<f64>| {
        const COLORS: [&str; 4] = ["#444444", "#0072B2", "#D55E00", "#009E73"];
        let samples = trace.samples.iter().step_by(every);
        let points = samples.filter_map(|of| Some(Point { x: of.t_s, y: value(of)?, ci95: None })).collect();
        Line { name: name.to_owned(), color: COLORS[number].to_owned(), number, style: Style::Steps, points }
    };
    let figure = |what: &str, y_label: &str, lines: Vec<Line>| {
        let lines: Vec<Line> = lines.into_iter().filter(|line| !line.points.is_empty()).collect();
        let title = format!("{} {}: {what} over time", case.number, case.title);
        let (x_label, y_label) = ("Time [s]".to_owned(), y_label.to_owned());
        plot(&Plot { title, over: Over::Time, x_label, y_label, lines }, Width::Single)
    };
    let mbit = |bps: f64| bps / 1e6;
    let packets = vec![
        line(0, "in flight", &|of| Some(of.inflight_pkts)),
        line(1, "BDP", &|of| Some(of.bdp_pkts())),
        line(2, "inflight_hi", &|of| of.inflight_hi_pkts),
        line(3, "inflight_lo", &|of| of.inflight_lo_pkts),
    ];
    let rates = vec![
        line(0, "link", &|of| Some(mbit(trace.payload_bps(of.t_s)))),
        line(1, "max_bw", &|of| Some(mbit(of.max_bw_bps))),
        line(2, "bw_lo", &|of| of.bw_lo_bps.map(mbit)),
        line(3, "bw × pacing gain", &|of| Some(mbit(of.bw_bps * of.pacing_gain))),
    ];
    vec![figure("packets", "Packets", packets), figure("rates", "Payload [Mbit/s]", rates)]
}
