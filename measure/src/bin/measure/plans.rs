//! Which benches make which table.

use crate::jobs::Job;
use crate::{catalogue, figures, invariants, swaps, tables};
use ccactl_abi::{ALGORITHMS, Algorithm};
use std::path::Path;

/// A series of benches and what is made of it.
pub struct Plan {
    pub groups: Vec<Vec<Job>>,
    pub finish: fn(&Path, &Settings) -> Result<Outcome, String>,
}

/// What a series ends with.
pub struct Outcome {
    /// Markdown.
    pub text: String,
    /// Whether everything that was judged holds; tables without a judgement always do.
    pub holds: bool,
}

impl Outcome {
    pub fn table(text: String) -> Self {
        Self { text, holds: true }
    }
}

/// How a series is carried out.
#[derive(Debug, Default)]
pub struct Settings {
    /// Only try the machinery out.
    pub quick: bool,
    /// Where benches run, as `--lab` of `ccactl bench` names it; on this host when there is none.
    pub lab: Option<String>,
    /// Algorithms to which a series over the whole registry is narrowed; empty = all.
    pub only: Vec<String>,
}

impl Settings {
    /// The chosen rows of the registry, in its order.
    pub fn algorithms(&self) -> Vec<&'static Algorithm> {
        ALGORITHMS.iter().filter(|algorithm| self.chooses(algorithm.name)).collect()
    }

    pub fn chooses(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == name)
    }

    fn check(&self) -> Result<(), String> {
        let unknown = self.only.iter().find(|name| Algorithm::by_name(name).is_none());
        unknown.map_or(Ok(()), |name| Err(format!("--only {name}: expected names of `ccactl list`")))
    }
}

/// Algorithms of the catalogue that have a native twin on every kernel.
pub const TWINS: &[&str] = &["reno", "cubic", "bbr"];
/// Buffers of P0, in BDP.
pub const P0_BUFFERS: &[&str] = &["5", "0.8"];
/// Algorithms of P1.
pub const P1_ALGORITHMS: &[&str] = &["bbr", "bbrv2", "f-bbrv2"];
/// Buffers of P1 (0.7 is quoted there in the text), in BDP.
pub const P1_BUFFERS: &[&str] = &["0.5", "0.7", "1", "2", "4", "7"];
/// Random loss of P1, in per cent.
pub const P1_LOSSES: &[&str] = &["0", "0.5"];

/// The plan of that name.
pub fn by_name(name: &str, settings: &Settings) -> Result<Option<Plan>, String> {
    settings.check()?;
    let quick = settings.quick;
    Ok(Some(match name {
        "fidelity" => Plan { groups: fidelity(quick), finish: |dir, _| Ok(Outcome::table(tables::fidelity(dir)?)) },
        "fairness" => Plan { groups: fairness(quick), finish: |dir, _| Ok(Outcome::table(tables::fairness(dir)?)) },
        "loss" => Plan { groups: loss(quick), finish: |dir, _| Ok(Outcome::table(tables::loss(dir)?)) },
        "catalogue" => Plan { groups: catalogue::groups(settings), finish: catalogue::tables },
        "figures" => Plan { groups: figures::groups(settings), finish: figures::draw },
        "invariants" => Plan { groups: invariants::groups(settings), finish: invariants::table },
        "swaps" => Plan { groups: swaps::groups(settings), finish: swaps::tables },
        _ => return Ok(None),
    }))
}

/// Jobs in groups of at most `side_by_side`.
pub fn grouped(jobs: Vec<Job>, side_by_side: usize) -> Vec<Vec<Job>> {
    jobs.chunks(side_by_side).map(<[Job]>::to_vec).collect()
}

/// Both twins over the same link at the same time, 3 × 30 s.
fn fidelity(quick: bool) -> Vec<Vec<Job>> {
    let (duration, repeat) = if quick { ("5s", "1") } else { ("30s", "3") };
    let mut groups = Vec::new();
    for buffer in P0_BUFFERS {
        for twin in TWINS {
            let jobs = [format!("native:{twin}"), (*twin).to_owned()].map(|algorithm| Job {
                label: fidelity_label(&algorithm, buffer),
                scenario: "single",
                args: args(&[
                    ("flow[0].algorithm", &algorithm),
                    ("link.buffer", &format!("{{ bdp = {buffer} }}")),
                    ("duration", duration),
                    ("repeat", repeat),
                ]),
            });
            groups.push(jobs.to_vec());
        }
    }
    groups
}

/// The three versions against CUBIC at the same buffer.
fn fairness(quick: bool) -> Vec<Vec<Job>> {
    let duration = if quick { "5s" } else { "150s" };
    let group = |buffer: &&str| {
        let job = |algorithm: &&str| Job {
            label: fairness_label(algorithm, buffer),
            scenario: "fbbrv2-vs-cubic",
            args: args(&[
                ("flow[0].name", algorithm),
                ("flow[0].algorithm", algorithm),
                ("link.buffer", &format!("{{ bdp = {buffer} }}")),
                ("duration", duration),
            ]),
        };
        P1_ALGORITHMS.iter().map(job).collect()
    };
    P1_BUFFERS.iter().map(group).collect()
}

/// One flow with and without random loss.
fn loss(quick: bool) -> Vec<Vec<Job>> {
    let duration = if quick { "5s" } else { "150s" };
    let group = |percent: &&str| {
        let fraction = percent.parse::<f64>().expect("a number of the plan") / 100.0;
        let job = |algorithm: &&str| Job {
            label: loss_label(algorithm, percent),
            scenario: "single-p1",
            args: args(&[
                ("flow[0].algorithm", algorithm),
                ("link.loss", &format!("{fraction:?}")),
                ("duration", duration),
            ]),
        };
        P1_ALGORITHMS.iter().map(job).collect()
    };
    P1_LOSSES.iter().map(group).collect()
}

pub fn args(changes: &[(&str, &str)]) -> Vec<String> {
    changes.iter().flat_map(|(field, value)| ["--set".to_owned(), format!("{field}={value}")]).collect()
}

/// An algorithm of the registry for the only flow, as every kernel takes it.
pub fn only_flow(algorithm: &Algorithm, changes: &[(&str, &str)]) -> Vec<String> {
    let mut all = args(&[("flow[0].algorithm", algorithm.name)]);
    for (name, value) in algorithm.settings_of_any_kernel() {
        all.extend(args(&[(&format!("flow[0].set.{name}"), value)]));
    }
    all.extend(args(changes));
    all
}

pub fn fidelity_label(algorithm: &str, buffer: &str) -> String {
    format!("{}-{buffer}bdp", algorithm.replace(':', "-"))
}

pub fn fairness_label(algorithm: &str, buffer: &str) -> String {
    format!("{algorithm}-vs-cubic-{buffer}bdp")
}

pub fn loss_label(algorithm: &str, percent: &str) -> String {
    format!("{algorithm}-{percent}pct")
}
