//! `ccactl list`

use super::output;
use crate::error::Result;
use ccactl_abi::{ALGORITHMS, Algorithm, Family, Kind, RECEIVERS, Tunable};
use ccactl_host::outln;
use ccactl_observe::policies::number;
use serde::Serialize;
use serde_json::Value;
use std::process::ExitCode;

#[derive(clap::Args)]
pub struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Row {
    /// `send`: what a socket sends; `receive`: what window it offers.
    kind: Kind,
    name: &'static str,
    kernel_name: &'static str,
    family: Family,
    summary: &'static str,
    reference: &'static str,
    tunables: Vec<TunableRow>,
}

/// A tunable in the user's numbers, not in those of the object.
#[derive(Serialize)]
pub struct TunableRow {
    name: &'static str,
    unit: &'static str,
    default: Value,
    min: Value,
    max: Value,
    doc: &'static str,
    source: &'static str,
}

impl From<&Tunable> for TunableRow {
    fn from(tunable: &Tunable) -> Self {
        Self {
            name: tunable.name,
            unit: tunable.unit,
            default: number(tunable, tunable.default_raw),
            min: number(tunable, tunable.min_raw),
            max: number(tunable, tunable.max_raw),
            doc: tunable.doc,
            source: tunable.source,
        }
    }
}

impl From<&Algorithm> for Row {
    fn from(algorithm: &Algorithm) -> Self {
        Self {
            kind: algorithm.kind,
            name: algorithm.name,
            kernel_name: algorithm.kernel_name,
            family: algorithm.family,
            summary: algorithm.summary,
            reference: algorithm.reference,
            tunables: algorithm.tunables.iter().map(TunableRow::from).collect(),
        }
    }
}

pub fn run(args: Args) -> Result<ExitCode> {
    if args.json {
        let rows: Vec<_> = ALGORITHMS.iter().chain(RECEIVERS.iter()).map(Row::from).collect();
        output::json_list("algorithms", &rows)?;
        return Ok(ExitCode::SUCCESS);
    }
    let rows: Vec<[String; 5]> = ALGORITHMS
        .iter()
        .map(|a| {
            [
                a.name.to_owned(),
                a.kernel_name.to_owned(),
                family_name(a.family),
                tunable_names(a),
                a.reference.to_owned(),
            ]
        })
        .collect();
    output::table(["NAME", "KERNEL NAME", "FAMILY", "TUNABLES", "REFERENCE"], &rows)?;
    outln!();
    let receiving: Vec<[String; 4]> = RECEIVERS
        .iter()
        .map(|a| [a.name.to_owned(), family_name(a.family), tunable_names(a), a.reference.to_owned()])
        .collect();
    output::table(["RECEIVE", "FAMILY", "TUNABLES", "REFERENCE"], &receiving)?;
    let (sending, receiving) = (rows.len(), receiving.len());
    outln!(
        "\n{sending} algorithms, and {receiving} for what a socket offers (load --receive); `ccactl show NAME` explains one"
    );
    Ok(ExitCode::SUCCESS)
}

/// The first names; a version of BBR has thirty.
fn tunable_names(algorithm: &Algorithm) -> String {
    const SHOWN: usize = 3;
    let names: Vec<&str> = algorithm.tunables.iter().take(SHOWN).map(|tunable| tunable.name).collect();
    match algorithm.tunables.len() {
        0 => "none".to_owned(),
        all if all > SHOWN => format!("{}, … ({all})", names.join(", ")),
        _ => names.join(", "),
    }
}

/// The family as it stands in JSON.
pub fn family_name(family: Family) -> String {
    serde_json::to_value(family).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}
