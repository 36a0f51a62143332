//! Which benches make which table.

use crate::jobs::Job;
use crate::tables;
use std::path::Path;

/// A series of benches and the table that is made of it.
pub struct Plan {
    pub groups: Vec<Vec<Job>>,
    pub table: fn(&Path) -> Result<String, String>,
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

/// The plan of that name; `quick` only tries the machinery out.
pub fn by_name(name: &str, quick: bool) -> Option<Plan> {
    match name {
        "fidelity" => Some(Plan { groups: fidelity(quick), table: tables::fidelity }),
        "fairness" => Some(Plan { groups: fairness(quick), table: tables::fairness }),
        "loss" => Some(Plan { groups: loss(quick), table: tables::loss }),
        _ => None,
    }
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

fn args(changes: &[(&str, &str)]) -> Vec<String> {
    changes.iter().flat_map(|(field, value)| ["--set".to_owned(), format!("{field}={value}")]).collect()
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
